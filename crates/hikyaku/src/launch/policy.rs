//! What becomes of a job whose rank has died or that was asked to end: who failed first, and when the others are asked to end
//! and killed. It knows no processes, only what is told.

use super::{Ending, OnDeath};
use crate::transport::shm::layout::Blame;
use std::time::{Duration, Instant};

/// After a death the others have this long to say what they make of it.
const LAST_WORDS: Duration = Duration::from_millis(150);
/// After being asked to end they have this long to do so.
const GRACE: Duration = Duration::from_millis(350);

/// A rank that said that it dies, and whose process has not ended when the others are to be asked, has this long to do so: how it
/// ends is what the user wants to know.
const CAUSE: Duration = Duration::from_millis(350);

/// What is to be done about deaths.
#[derive(Debug)]
pub(super) struct Policy {
    on_death: OnDeath,
    /// In the order in which they were seen.
    failures: Vec<Failure>,
    stage: Stage,
    /// How long ranks have to end once the user has asked them to.
    grace: Duration,
    asked_to_end: bool,
    /// The user has pressed Ctrl-C.
    interrupted: bool,
    /// The first cause had more time to end.
    has_waited: bool,
}

/// The end of a rank that was not a good one.
#[derive(Clone, Copy, Debug)]
struct Failure {
    rank: usize,
    seen: Instant,
    crashed: bool,
    /// The ranks had been asked to end.
    asked: bool,
    /// Whose end it followed.
    blame: Option<Blame>,
}

/// How far the ranks are on the way to their end.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Running,
    /// A rank has died; the others are asked to end at this time.
    LastWords(Instant),
    /// They were asked to end and are killed at this time.
    Asked(Instant),
    Killed,
}

/// What is to be done about a user's wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// It is passed on, and is the first.
    First,
    /// It is passed on.
    Again,
    /// The ranks are killed.
    Kill,
}

impl Policy {
    pub fn new(on_death: OnDeath, grace: Duration) -> Policy {
        Policy {
            on_death,
            failures: Vec::new(),
            stage: Stage::Running,
            grace,
            asked_to_end: false,
            interrupted: false,
            has_waited: false,
        }
    }

    /// The ranks that failed: the first cause, then the others in the order in which they ended, if they had not been asked to.
    pub fn failures(&self) -> Vec<usize> {
        let Some(first) = self.first() else { return Vec::new() };
        let others = self.failures.iter().filter(|failure| !failure.asked && failure.rank != first.rank);
        std::iter::once(first).chain(others).map(|failure| failure.rank).collect()
    }

    /// A rank has ended, after a call of it had failed by the end of another, if it blames one.
    pub fn ended(&mut self, rank: usize, ending: Ending, blame: Option<Blame>, now: Instant) {
        if ending == Ending::Exited(0) {
            return;
        }
        const CRASHES: [i32; 5] = [libc::SIGKILL, libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];
        let asked = self.asked_to_end || matches!(self.stage, Stage::Asked(_) | Stage::Killed);
        let is_crash = match ending {
            Ending::Exited(_) => false,
            Ending::Killed(signal) => CRASHES.contains(&signal),
            Ending::Unknown => true,
        };
        let crashed = !asked && is_crash;
        self.failures.push(Failure { rank, seen: now, crashed, asked, blame });
        if let (OnDeath::End, Stage::Running) = (self.on_death, self.stage) {
            self.stage = Stage::LastWords(now + LAST_WORDS);
        }
    }

    /// Who failed first. Others may learn of it, and exit, before that is seen here: a rank that panics says so to its peers first and
    /// to the system last, and one that crashes says nothing.
    fn first(&self) -> Option<&Failure> {
        let seen = self.failures.first()?;
        let crash = self.failures.iter().find(|it| it.crashed && it.seen - seen.seen < LAST_WORDS);
        let mut first = crash.filter(|_| !seen.crashed).unwrap_or(seen);
        // As many steps as there are failures: ranks that go on after an error may blame each other in a circle.
        for _ in 1..self.failures.len() {
            // One that had left may have been asked to end later, and is no cause.
            let is_cause = |blame: Blame, it: &Failure| it.rank == blame.rank && (blame.was_dead || !it.asked);
            let before = first.blame.and_then(|blame| self.failures.iter().find(|it| is_cause(blame, it)));
            first = before.unwrap_or(first);
        }
        Some(first)
    }

    /// Whether somebody has followed a dead rank that has not failed here.
    fn misses_cause(&self) -> bool {
        let has_failed = |rank: usize| self.failures.iter().any(|failure| failure.rank == rank);
        let mut blames = self.failures.iter().filter_map(|failure| failure.blame);
        blames.any(|blame| blame.was_dead && !has_failed(blame.rank))
    }

    /// The user asks the job to end, by this signal. After SIGTERM, ranks have some time to do so. After others they may go on, as
    /// an interpreter does that is interrupted; a second Ctrl-C is meant.
    pub fn asked(&mut self, signal: i32, now: Instant) -> Asked {
        if signal == libc::SIGINT && std::mem::replace(&mut self.interrupted, true) {
            return Asked::Kill;
        }
        if let (libc::SIGTERM, Stage::Running) = (signal, self.stage) {
            self.stage = Stage::Asked(now + self.grace);
        }
        match std::mem::replace(&mut self.asked_to_end, true) {
            false => Asked::First,
            true => Asked::Again,
        }
    }

    /// The ranks are asked to end now.
    pub fn end(&mut self, now: Instant) {
        if let Stage::Running = self.stage {
            self.stage = Stage::LastWords(now);
        }
    }

    /// How long until something is due.
    pub fn time_left(&self, now: Instant) -> Option<Duration> {
        match self.stage {
            Stage::LastWords(at) | Stage::Asked(at) => Some(at.saturating_duration_since(now)),
            Stage::Running | Stage::Killed => None,
        }
    }

    /// The signals that are due for all ranks.
    pub fn due(&mut self, now: Instant) -> &'static [i32] {
        match self.stage {
            Stage::LastWords(at) if now >= at && !self.has_waited && self.misses_cause() => {
                self.has_waited = true;
                self.stage = Stage::LastWords(now + CAUSE);
                &[]
            }
            Stage::LastWords(at) if now >= at => {
                self.stage = Stage::Asked(now + if self.asked_to_end { self.grace } else { GRACE });
                // A stopped process would not hear the first.
                &[libc::SIGTERM, libc::SIGCONT]
            }
            Stage::Asked(at) if now >= at => {
                self.stage = Stage::Killed;
                &[libc::SIGKILL]
            }
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENT: Duration = Duration::from_secs(20);

    #[test]
    fn the_others_are_asked_and_then_killed() {
        let (mut policy, now) = (Policy::new(OnDeath::End, PATIENT), Instant::now());
        policy.ended(2, Ending::Exited(0), None, now);
        assert_eq!((policy.time_left(now), policy.failures()), (None, vec![]));
        policy.ended(1, Ending::Exited(3), None, now);
        assert_eq!((policy.time_left(now), policy.failures()), (Some(LAST_WORDS), vec![1]));
        assert!(policy.due(now).is_empty());
        assert_eq!(policy.due(now + LAST_WORDS), [libc::SIGTERM, libc::SIGCONT]);
        policy.ended(0, Ending::Killed(libc::SIGTERM), None, now);
        assert_eq!(policy.failures(), [1], "what was asked for is no failure");
        assert_eq!(policy.due(now + LAST_WORDS + GRACE), [libc::SIGKILL]);
        assert_eq!(policy.time_left(now), None);
    }

    #[test]
    fn whoever_crashed_came_first_unless_all_were_asked_to_end() {
        let now = Instant::now();
        let mut policy = Policy::new(OnDeath::Continue, PATIENT);
        policy.ended(0, Ending::Exited(1), None, now);
        policy.ended(1, Ending::Killed(libc::SIGSEGV), None, now);
        assert_eq!(policy.failures(), [1, 0]);
        assert_eq!(policy.time_left(now), None, "the others go on");
        let mut policy = Policy::new(OnDeath::End, PATIENT);
        assert_eq!(policy.asked(libc::SIGINT, now), Asked::First);
        policy.ended(0, Ending::Exited(1), None, now);
        policy.ended(1, Ending::Killed(libc::SIGKILL), None, now);
        assert_eq!(policy.failures(), [0]);
    }

    #[test]
    fn only_a_second_ctrl_c_kills_at_once() {
        let now = Instant::now();
        let mut policy = Policy::new(OnDeath::End, PATIENT);
        assert_eq!(policy.asked(libc::SIGTERM, now), Asked::First);
        assert_eq!(policy.time_left(now), Some(PATIENT));
        for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGINT] {
            assert_eq!(policy.asked(signal, now + LAST_WORDS), Asked::Again);
        }
        policy.ended(0, Ending::Killed(libc::SIGTERM), None, now);
        assert_eq!(policy.time_left(now), Some(PATIENT), "the end of one leaves the others their time");
        assert_eq!(policy.due(now + PATIENT), [libc::SIGKILL]);
        assert_eq!(policy.asked(libc::SIGINT, now), Asked::Kill);

        let mut policy = Policy::new(OnDeath::End, PATIENT);
        assert_eq!(policy.asked(libc::SIGINT, now), Asked::First);
        assert_eq!(policy.time_left(now), None, "a program may go on after that");
        policy.ended(0, Ending::Killed(libc::SIGINT), None, now);
        assert_eq!(policy.due(now + LAST_WORDS), [libc::SIGTERM, libc::SIGCONT]);
        assert_eq!(policy.time_left(now + LAST_WORDS), Some(PATIENT));
    }

    #[test]
    fn whoever_is_blamed_came_first() {
        let now = Instant::now();
        let by = |rank, was_dead| Some(Blame { rank, was_dead });
        let mut policy = Policy::new(OnDeath::End, PATIENT);
        policy.ended(2, Ending::Exited(1), by(1, false), now);
        policy.ended(1, Ending::Exited(1), by(0, true), now);
        policy.ended(0, Ending::Exited(101), None, now);
        assert_eq!(policy.failures(), [0, 2, 1]);

        let mut policy = Policy::new(OnDeath::End, PATIENT);
        policy.ended(1, Ending::Exited(1), by(0, false), now);
        policy.due(now + LAST_WORDS);
        policy.ended(0, Ending::Killed(libc::SIGTERM), None, now);
        assert_eq!(policy.failures(), [1], "rank 0 had left, and was asked to end because rank 1 failed");

        let mut policy = Policy::new(OnDeath::End, PATIENT);
        policy.ended(1, Ending::Exited(1), by(0, true), now);
        assert!(policy.due(now + LAST_WORDS).is_empty(), "rank 0 panics, which may take its time");
        assert_eq!(policy.due(now + LAST_WORDS + CAUSE), [libc::SIGTERM, libc::SIGCONT]);
        policy.ended(0, Ending::Killed(libc::SIGTERM), None, now);
        assert_eq!(policy.failures(), [0, 1]);

        let mut policy = Policy::new(OnDeath::Continue, PATIENT);
        policy.ended(0, Ending::Exited(1), by(1, true), now);
        policy.ended(1, Ending::Exited(1), by(0, true), now);
        assert_eq!(policy.failures().len(), 2, "in a circle");
    }
}
