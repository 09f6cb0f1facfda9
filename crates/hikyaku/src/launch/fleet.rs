//! All hosts of a job, as the launcher sees them.

use super::agent::TICK;
use super::command::AgentCommand;
use super::gathering::{Gathering, Verdict};
use super::host::{Departure, Ended};
use super::input::Input;
use super::output::{Display, Printed};
use super::relay::Relay;
use super::remote::{Remote, Stage, failed};
use super::sources::{Source, Sources};
use super::words::{Go, ToAgent, ToLauncher};
use super::{Ending, Hosts, Launcher};
use crate::error::{Error, Result};
use crate::job::standstill::{Presence, View};
use crate::job::wire::Absence;
use crate::transport::shm::layout::State;
use std::time::{Duration, Instant};

/// How long agents have to end by themselves when nobody speaks to them any more.
const FAREWELL: Duration = Duration::from_secs(2);

/// The hosts of a job.
pub(super) struct Fleet {
    remotes: Vec<Remote>,
    hosts: Hosts,
    ended: Vec<bool>,
    /// The start of ranks that must find each other, if they are on several hosts.
    gathering: Option<Gathering>,
    input: Input,
    relay: Option<Relay>,
    news: Vec<Ended>,
    remarks: Vec<String>,
    next_tick: Instant,
    silent_ticks_max: u32,
    /// The first host that was lost, while none may be.
    failure: Option<Error>,
    /// All agents were told to start their ranks.
    has_gone: bool,
}

impl Fleet {
    /// Starts the agents, whose commands have the signals of `mask` blocked.
    pub fn call(launcher: &Launcher, hosts: &Hosts, mask: Option<libc::sigset_t>) -> Result<Fleet> {
        let size = hosts.host_of().len();
        let mut fleet = Fleet {
            remotes: Vec::with_capacity(hosts.names().len()),
            hosts: hosts.clone(),
            ended: vec![false; size],
            gathering: (hosts.names().len() > 1).then(|| Gathering::new(size, launcher.task.config.start_patience())),
            input: Input::new(!launcher.capture, hosts.host_of()[0] as usize),
            relay: Some(Relay::start(size, Display::new(launcher, size)?)?),
            news: Vec::new(),
            remarks: Vec::new(),
            next_tick: Instant::now() + TICK,
            silent_ticks_max: launcher.host_timeout.as_secs().clamp(1, u32::MAX as u64) as u32,
            failure: None,
            has_gone: false,
        };
        for (host, name) in hosts.names().iter().enumerate() {
            let command = AgentCommand::new(launcher.agent.as_deref(), name, &launcher.agent_program)?;
            let remote = Remote::call(name, hosts.ranks_of(host), command, mask);
            fleet.remotes.push(remote.map_err(|error| match error {
                Error::Invalid(reason) => failed(name, reason),
                other => other,
            })?);
        }
        Ok(fleet)
    }

    /// The size of a heap that all hosts can have, when all are ready: then all are told to go.
    pub fn go_if_ready(&mut self) {
        let halves = self.remotes.iter().map(|remote| match remote.stage {
            Stage::Ready(half) => Some(half),
            _ => None,
        });
        let Some(Some(heap_half_bytes)) = halves.collect::<Option<Vec<u64>>>().map(|all| all.into_iter().min()) else {
            return;
        };
        self.has_gone = true;
        for host in 0..self.remotes.len() {
            let (machine_ranks, machine_ranks_before) = self.machine_ranks(host);
            let remote = &mut self.remotes[host];
            remote.stage = Stage::Going;
            remote.say(&ToAgent::Go(Go { heap_half_bytes, machine_ranks, machine_ranks_before }));
        }
    }

    /// How many ranks are on the machine that a host is a part of, and how many of them on hosts before it.
    fn machine_ranks(&self, host: usize) -> (usize, usize) {
        let machine = &self.remotes[host].machine;
        let is_same = |other: &usize| *other == host || !machine.is_empty() && self.remotes[*other].machine == *machine;
        let ranks = |hosts: std::ops::Range<usize>| hosts.filter(is_same).map(|it| self.remotes[it].ranks.len()).sum();
        (ranks(0..self.remotes.len()), ranks(0..host))
    }

    /// Whether the ranks of all hosts were started.
    pub fn has_started(&self) -> bool {
        self.remotes.iter().all(|remote| matches!(remote.stage, Stage::Started | Stage::Finished))
    }

    /// Why the job cannot be started: a host is lost, or has not answered for so long.
    pub fn start_failure(&mut self, waited: Option<Duration>) -> Option<Error> {
        let late = || {
            let waited = waited?;
            let is_late = |remote: &&Remote| !matches!(remote.stage, Stage::Started | Stage::Finished);
            let remote = self.remotes.iter().find(is_late)?;
            let reason = format!("no answer within {} s from {}", waited.as_secs(), remote.command());
            Some(failed(&remote.name, reason))
        };
        let late = late();
        self.failure.take().or(late)
    }

    /// The process of each rank, on its host.
    pub fn processes(&self) -> Vec<u32> {
        let mut processes = vec![0; self.ended.len()];
        for remote in &self.remotes {
            remote.ranks.iter().zip(&remote.processes).for_each(|(rank, process)| processes[*rank] = *process);
        }
        processes
    }

    pub fn is_over(&self) -> bool {
        self.remotes.iter().all(Remote::is_over)
    }

    pub fn watch<'a>(&'a self, sources: &mut Sources<'a>) {
        self.remotes.iter().enumerate().for_each(|(host, remote)| remote.watch(host, sources));
        self.input.watch(sources);
        if let Some(relay) = &self.relay {
            sources.reads(Source::Shown, relay.bell());
        }
    }

    pub fn time_left(&self, now: Instant) -> Duration {
        let gathering = self.gathering.as_ref().and_then(Gathering::deadline);
        gathering.map_or(self.next_tick, |at| at.min(self.next_tick)).saturating_duration_since(now)
    }

    /// Sees to what was waited for. `order` makes what an agent is to be told first.
    pub fn handle(&mut self, source: Source, order: &dyn Fn(usize) -> ToAgent) {
        match source {
            Source::FromAgent(host) => self.hear(host, order),
            Source::ToAgent(host) => self.remotes[host].write(),
            Source::Complaint(host) => self.remotes[host].hear_complaint(),
            Source::Input => {
                if let Some(bytes) = self.input.read() {
                    self.remotes[self.input.host].say(&ToAgent::Input(bytes));
                }
            }
            Source::Shown => self.note_shown(),
            _ => {}
        }
    }

    /// Does what is due.
    pub fn advance(&mut self, now: Instant) {
        if now >= self.next_tick {
            self.next_tick = now + TICK;
            for host in 0..self.remotes.len() {
                self.tick(host);
            }
        }
        let verdict = self.gathering.as_mut().and_then(|gathering| gathering.verdict(now));
        match verdict {
            Some(Verdict::Table(endpoints)) => self.say_to_all(&ToAgent::Table { endpoints }),
            Some(Verdict::Refusal(rank, absence)) => {
                if let Absence::Late(after) = absence {
                    self.remark_missing(after);
                }
                self.say_to_all(&ToAgent::Refuse { rank, absence });
            }
            None => {}
        }
    }

    /// The ranks that have ended since it was last asked.
    pub fn take_news(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.news)
    }

    /// What all ranks wait for, as far as is known.
    pub fn views(&self) -> Vec<View> {
        let now = Instant::now();
        let mut views: Vec<View> = (0..self.ended.len()).map(View::unknown).collect();
        for (at, view) in self.remotes.iter().flat_map(|remote| &remote.views) {
            let mut view = view.clone();
            view.waits.iter_mut().for_each(|wait| wait.waited += now - *at);
            let rank = view.rank;
            views[rank] = view;
        }
        for (rank, _) in self.ended.iter().enumerate().filter(|(_, ended)| **ended) {
            views[rank] = View { presence: Presence::Gone, waits: Vec::new(), ..views[rank].clone() };
        }
        views
    }

    /// Sends a signal to all ranks, if there are any.
    pub fn signal(&mut self, signal: i32) {
        if self.has_gone {
            self.say_to_all(&ToAgent::Signal(signal));
        }
    }

    /// Says what is to be said before this process stops for a while.
    pub fn flush(&mut self) {
        self.remotes.iter_mut().for_each(Remote::write);
    }

    /// Shows what is left to be shown; gives what remains of output, and what a user should know.
    pub fn finish(&mut self) -> (Printed, Vec<String>) {
        self.dismiss();
        let output = self.relay.take().map(Relay::finish).unwrap_or_default();
        (output, std::mem::take(&mut self.remarks))
    }

    fn say_to_all(&mut self, message: &ToAgent) {
        let message = message.encode();
        self.remotes.iter_mut().for_each(|remote| remote.say_encoded(&message));
    }

    fn hear(&mut self, host: usize, order: &dyn Fn(usize) -> ToAgent) {
        let heard = self.remotes[host].hear();
        let taken =
            heard.and_then(|messages| messages.into_iter().try_for_each(|message| self.take(host, message, order)));
        match taken {
            Err(why) => self.lose(host, &why),
            Ok(()) if !self.remotes[host].speaks() && !self.remotes[host].is_over() => {
                let why = self.remotes[host].explain_end();
                self.lose(host, &why);
            }
            Ok(()) => {}
        }
    }

    /// Sees to what an agent says; `Err` if that makes no sense.
    fn take(
        &mut self,
        host: usize,
        message: ToLauncher,
        order: &dyn Fn(usize) -> ToAgent,
    ) -> std::result::Result<(), String> {
        let nonsense = || Err("its agent says things that make no sense".to_owned());
        let remote = &mut self.remotes[host];
        let is_here = |rank: usize| self.hosts.host_of().get(rank) == Some(&(host as u32));
        let has_started = matches!(remote.stage, Stage::Started);
        match message {
            ToLauncher::Alive => {}
            ToLauncher::Failed(why) => return Err(why),
            ToLauncher::CannotStart { program, reason, exists } => {
                let why = format!("cannot start {program}: {reason}");
                let reason = format!("host {}: {reason}", remote.name);
                self.failure.get_or_insert(Error::CannotStart { program, reason, exists });
                return Err(why);
            }
            ToLauncher::Hi(hi) if remote.stage == Stage::Called => {
                remote.check(&hi)?;
                remote.stage = Stage::Ordered;
                remote.say(&order(host));
            }
            // A size of 0 would mean another one on each host.
            ToLauncher::Ready { heap_half_bytes, machine } if remote.stage == Stage::Ordered && heap_half_bytes > 0 => {
                remote.machine = machine;
                remote.stage = Stage::Ready(heap_half_bytes);
            }
            ToLauncher::Started { processes } if remote.stage == Stage::Going => {
                if processes.len() != remote.ranks.len() {
                    return nonsense();
                }
                remote.processes = processes;
                remote.stage = Stage::Started;
                self.input.has_started |= host == self.input.host;
            }
            ToLauncher::Arrived { rank, endpoint } if has_started && is_here(rank) => {
                let gathering = self.gathering.as_mut();
                if !gathering.is_some_and(|gathering| gathering.arrived(rank, endpoint, Instant::now())) {
                    return nonsense();
                }
            }
            ToLauncher::Ended(ended) if has_started && is_here(ended.rank) && !self.ended[ended.rank] => {
                self.note_end(host, ended);
            }
            ToLauncher::Output { rank, is_error, bytes } if has_started && is_here(rank) => {
                if !remote.note_output(bytes.len()) {
                    return nonsense();
                }
                if let Some(relay) = &self.relay {
                    relay.take(host, rank, is_error, bytes);
                }
            }
            ToLauncher::Waits(view) if has_started && is_here(view.rank) => {
                remote.views.retain(|(_, before)| before.rank != view.rank);
                remote.views.push((Instant::now(), view));
            }
            ToLauncher::Consumed(bytes) if host == self.input.host => {
                if !self.input.consumed(bytes) {
                    return nonsense();
                }
            }
            ToLauncher::Deaf if host == self.input.host => self.input.close(),
            ToLauncher::Finished if has_started && remote.ranks.iter().all(|rank| self.ended[*rank]) => {
                remote.stage = Stage::Finished;
                remote.close();
            }
            _ => return nonsense(),
        }
        Ok(())
    }

    fn note_end(&mut self, host: usize, ended: Ended) {
        self.ended[ended.rank] = true;
        if let Some(gathering) = &mut self.gathering {
            gathering.ended(ended.rank, &ended.departure);
        }
        let news = ToAgent::News { rank: ended.rank, departure: ended.departure }.encode();
        let others = self.remotes.iter_mut().enumerate().filter(|(other, _)| *other != host);
        others.for_each(|(_, remote)| remote.say_encoded(&news));
        self.news.push(ended);
    }

    /// A host is lost, and its ranks with it. They end when they find out, which takes them a while, so nobody may count on their being dead.
    fn lose(&mut self, host: usize, why: &str) {
        let remote = &mut self.remotes[host];
        remote.end();
        remote.stage = Stage::Lost;
        let lost: Vec<usize> = remote.ranks.iter().copied().filter(|rank| !self.ended[*rank]).collect();
        self.failure.get_or_insert_with(|| failed(&remote.name, why));
        self.remarks.push(format!("host {} is lost with {}: {why}", remote.name, ranks(&lost)));
        if host == self.input.host {
            self.input.close();
        }
        for rank in lost {
            let departure = Departure { state: State::Unreachable, arrivals: 0 };
            let (ending, joined, blame) = (Ending::Killed(libc::SIGKILL), false, None);
            self.note_end(host, Ended { rank, ending, joined, departure, blame });
        }
    }

    fn tick(&mut self, host: usize) {
        let remote = &mut self.remotes[host];
        if remote.is_over() || remote.stage == Stage::Called {
            return;
        }
        remote.say_alive();
        remote.silent_ticks += 1;
        if remote.silent_ticks > self.silent_ticks_max {
            self.lose(host, &format!("it has been silent for {} s", self.silent_ticks_max));
        }
    }

    fn note_shown(&mut self) {
        let Some(relay) = &self.relay else { return };
        let progress = relay.progress();
        for (host, bytes) in progress.taken {
            self.remotes[host].note_shown(bytes);
        }
        for (rank, is_error) in progress.unread {
            self.remotes[self.hosts.host_of()[rank] as usize].say(&ToAgent::Unread { rank, is_error });
        }
    }

    fn remark_missing(&mut self, after: Duration) {
        let Some(gathering) = &self.gathering else { return };
        let missing: Vec<usize> = gathering.missing().collect();
        for remote in &self.remotes {
            let of_host: Vec<usize> = missing.iter().copied().filter(|rank| remote.ranks.contains(rank)).collect();
            if !of_host.is_empty() {
                let after = after.as_secs();
                self.remarks.push(format!("{} on host {} did not join within {after} s", ranks(&of_host), remote.name));
            }
        }
    }

    /// Sees all agents end: those that have not finished end their ranks first.
    fn dismiss(&mut self) {
        self.remotes.iter_mut().for_each(Remote::close);
        let deadline = Instant::now() + FAREWELL;
        while !self.remotes.iter_mut().all(Remote::has_ended) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.remotes.iter_mut().for_each(Remote::end);
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Names ranks as people do.
fn ranks(ranks: &[usize]) -> String {
    match ranks {
        [] => "no ranks".into(),
        [rank] => format!("rank {rank}"),
        [first, .., last] if ranks.len() > 8 => format!("{} ranks from {first} to {last}", ranks.len()),
        [some @ .., last] => {
            let some: Vec<String> = some.iter().map(usize::to_string).collect();
            format!("ranks {} and {last}", some.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn ranks_are_named_as_people_do() {
        let cases: [(&[usize], &str); 4] =
            [(&[], "no ranks"), (&[3], "rank 3"), (&[1, 2], "ranks 1 and 2"), (&[1, 2, 5], "ranks 1, 2 and 5")];
        for (ranks, text) in cases {
            assert_eq!(super::ranks(ranks), text);
        }
        assert_eq!(super::ranks(&(4..20).collect::<Vec<_>>()), "16 ranks from 4 to 19");
    }
}
