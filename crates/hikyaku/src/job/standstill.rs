//! A job in which every rank waits and nothing moves: who waits for what, from whom, since when, and where in the program.
//!
//! Ranks say so themselves when a wait takes long ([`crate::transport::shm::waiting`]). Whoever watches them looks now and then, and draws
//! the conclusion here.

use super::asleep;
use crate::transport::shm::layout::{JobMemory, Local, State};
use crate::transport::shm::waiting::{self, Seen, Whom};
use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often to look.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(400);
/// How long every rank must have waited.
const STILL: Duration = Duration::from_millis(1000);
/// Rows of a table at most: a large job does not say more by more of them.
const ROWS_MAX: usize = 32;

/// One rank, as whoever watches it sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct View {
    pub rank: usize,
    pub presence: Presence,
    /// Barriers it has come to.
    pub arrivals: u64,
    pub waits: Vec<Standing>,
}

impl View {
    /// A rank of which nothing is known.
    pub fn unknown(rank: usize) -> View {
        View { rank, presence: Presence::Works, arrivals: 0, waits: Vec::new() }
    }

    /// Whether it is still so, whatever the clock says.
    pub fn is_as(&self, other: &View) -> bool {
        let waits = |view: &View| view.waits.iter().map(|wait| wait.wait).collect::<Vec<_>>();
        (self.presence, self.arrivals) == (other.presence, other.arrivals) && waits(self) == waits(other)
    }
}

/// Whether a rank could still do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Some thread of it may.
    Works,
    /// All its ports wait, or all its threads do.
    Waits,
    /// It has ended.
    Gone,
}

/// A wait of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// The port, and a number that changes with its waits.
    pub wait: (usize, u64),
    pub whom: Whom,
    pub waited: Duration,
    pub ends: bool,
    pub call: String,
    pub place: String,
}

impl Standing {
    /// Whether it has lasted for long, and will not end by itself.
    fn is_long(&self) -> bool {
        !self.ends && self.waited >= STILL
    }
}

/// The ranks of one host, which are processes, by their numbers in the job.
pub(crate) fn look(memory: &JobMemory, ranks: &[usize]) -> Vec<View> {
    look_now(memory, ranks, |threads| asleep::others_sleep(threads[0], |thread| threads.contains(&thread)))
}

/// Ranks that are threads of this process. Threads that were there before them are not theirs.
pub(crate) fn look_here(memory: &JobMemory, ranks: &[usize], before: &BTreeSet<u32>) -> Vec<View> {
    let waiting: BTreeSet<u32> =
        look_at(memory, ranks, waiting::now()).into_iter().flat_map(|look| look.threads).collect();
    let is_known = |thread| before.contains(&thread) || waiting.contains(&thread);
    // The same for all of them.
    let sleep = LazyCell::new(|| asleep::others_sleep(std::process::id(), is_known));
    look_now(memory, ranks, |_| *sleep)
}

/// The ranks of a host. `others_sleep` is asked about those whose threads wait in some of their ports, all for long: whether their other
/// threads can do nothing either.
fn look_now(memory: &JobMemory, ranks: &[usize], others_sleep: impl Fn(&[u32]) -> bool) -> Vec<View> {
    let looks = look_at(memory, ranks, waiting::now());
    let seem_to_stand =
        looks.iter().map(|look| look.seems_to_stand() && others_sleep(&look.threads)).collect::<Vec<_>>();
    let again = if seem_to_stand.contains(&true) { look_at(memory, ranks, waiting::now()) } else { looks.clone() };
    let view = |((look, again), seems): ((Look, Look), bool)| {
        let mut view = look.view;
        // Nobody has come back from a wait and put the others to sleep.
        if seems && view.is_as(&again.view) {
            view.presence = Presence::Waits;
        }
        // One that was killed in a wait has not taken back what it said.
        if view.presence == Presence::Gone {
            view.waits.clear();
        }
        view
    };
    looks.into_iter().zip(again).zip(seem_to_stand).map(view).collect()
}

/// The ranks of a simulated host whose run has ended.
pub(crate) fn look_back(memory: &JobMemory, ranks: &[usize]) -> Vec<View> {
    look_at(memory, ranks, waiting::END).into_iter().map(|look| look.view).collect()
}

/// A rank, and its threads that wait.
#[derive(Clone)]
struct Look {
    view: View,
    threads: Vec<u32>,
}

impl Look {
    /// Whether some of its ports wait for long, and all others may have nobody who uses them.
    fn seems_to_stand(&self) -> bool {
        self.view.presence == Presence::Works
            && !self.view.waits.is_empty()
            && self.view.waits.iter().all(Standing::is_long)
    }
}

fn look_at(memory: &JobMemory, ranks: &[usize], now: Duration) -> Vec<Look> {
    let look = |(local, rank): (usize, &usize)| {
        let block = memory.block(Local(local as u32));
        let mut threads = Vec::new();
        let mut standing = |(port, seen): (usize, Option<Seen>)| {
            let Seen { turn, whom, since, ends, thread, call, place } = seen?;
            threads.push(thread);
            Some(Standing { wait: (port, turn), whom, waited: now.saturating_sub(since), ends, call, place })
        };
        let open = block.life.ports.load(Ordering::Relaxed);
        let waits: Vec<_> = block.waits.iter().map(|wait| wait.read()).enumerate().filter_map(&mut standing).collect();
        let presence = match block.life.state() {
            State::Joined if !waits.is_empty() && waits.len() >= open.count_ones() as usize => Presence::Waits,
            State::Starting | State::Joined => Presence::Works,
            _ => Presence::Gone,
        };
        let arrivals = block.life.arrivals.load(Ordering::Relaxed);
        Look { view: View { rank: *rank, presence, arrivals, waits }, threads }
    };
    ranks.iter().enumerate().map(look).collect()
}

/// What has been told of a job.
#[derive(Debug, Default)]
pub(crate) struct Standstill {
    told: Option<Vec<(usize, (usize, u64))>>,
}

/// What there is to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// Nothing moves: a text for the user.
    Stands(String),
    /// It does again.
    Moves,
}

impl Standstill {
    /// Looks at all ranks of the job; whether there is something to tell, which is told once.
    pub fn judge(&mut self, views: &[View]) -> Option<News> {
        let waits = || views.iter().flat_map(|view| view.waits.iter().map(|wait| (view.rank, wait)));
        let stands = views.iter().all(|view| view.presence != Presence::Works)
            && waits().next().is_some()
            && waits().all(|(_, wait)| wait.is_long());
        if !stands {
            return self.told.take().map(|_| News::Moves);
        }
        let now: Vec<_> = waits().map(|(rank, wait)| (rank, wait.wait)).collect();
        if self.told.as_ref() == Some(&now) {
            return None;
        }
        self.told = Some(now);
        let shortest = waits().map(|(_, wait)| wait.waited).min().unwrap_or_default();
        let mut text = format!("nothing has moved for {:.1} s: every rank waits\n", shortest.as_secs_f64());
        text.push_str(&explain(views));
        Some(News::Stands(text))
    }
}

/// Who waits for what, and why that does not end.
pub(crate) fn explain(views: &[View]) -> String {
    let mut text = table(views);
    if let Some(sentence) = circle(views) {
        text.push_str(&sentence);
        text.push('\n');
    }
    text
}

/// Who waits for what; empty if nobody does.
pub(crate) fn table(views: &[View]) -> String {
    let mut rows = vec![["rank", "waits in", "for", "since", "at"].map(str::to_string)];
    for view in views {
        for wait in &view.waits {
            let whom = match whom(views, view, wait) {
                Target::Rank(rank) => format!("rank {rank}"),
                Target::Anyone => "any rank".into(),
            };
            let since = format!("{:.1} s", wait.waited.as_secs_f64());
            rows.push([view.rank.to_string(), wait.call.clone(), whom, since, wait.place.clone()]);
        }
    }
    let hidden = rows.len().saturating_sub(ROWS_MAX + 1);
    rows.truncate(ROWS_MAX + 1);
    if rows.len() == 1 {
        return String::new();
    }
    let widths: [usize; 5] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let mut text = String::new();
    for row in rows {
        let cells: Vec<_> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        let _ = writeln!(text, "  {}", cells.join("  ").trim_end());
    }
    if hidden > 0 {
        let _ = writeln!(text, "  ... and {hidden} more");
    }
    text
}

enum Target {
    Rank(usize),
    Anyone,
}

/// Whom a rank waits for. At a barrier that is one that has not come.
fn whom(views: &[View], view: &View, wait: &Standing) -> Target {
    match wait.whom {
        Whom::Rank(rank) if rank != view.rank => Target::Rank(rank),
        Whom::Barrier(number) => match views.iter().find(|other| other.rank != view.rank && other.arrivals < number) {
            Some(late) => Target::Rank(late.rank),
            None => Target::Anyone,
        },
        Whom::Rank(_) | Whom::Anyone => Target::Anyone,
    }
}

/// Ranks that wait for each other, in a sentence.
fn circle(views: &[View]) -> Option<String> {
    let next = |rank: usize| {
        let view = views.iter().find(|view| view.rank == rank)?;
        match whom(views, view, view.waits.first()?) {
            Target::Rank(rank) => Some(rank),
            Target::Anyone => None,
        }
    };
    let mut open = None;
    for start in views.iter().filter(|view| !view.waits.is_empty()) {
        let mut way = vec![start.rank];
        while let Some(rank) = next(*way.last()?) {
            if let Some(at) = way.iter().position(|before| *before == rank) {
                way.push(rank);
                return Some(sentence(&way[at..]));
            }
            way.push(rank);
        }
        open.get_or_insert(way);
    }
    // No circle: somebody waits for anyone.
    let way = open?;
    let last = way.last()?;
    let end = format!("rank {last} waits for any rank, and no rank is left that could do something");
    let mut text =
        if way.len() > 1 { format!("{}; {end}.", sentence(&way).trim_end_matches('.')) } else { format!("{end}.") };
    text[..1].make_ascii_uppercase();
    Some(text)
}

fn sentence(way: &[usize]) -> String {
    let mut text = format!("Rank {} waits for rank {}", way[0], way[1]);
    for rank in &way[2..] {
        let _ = write!(text, ", which waits for rank {rank}");
    }
    text.push('.');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(rank: usize, whom: Whom, call: &str) -> View {
        let wait = Standing {
            wait: (1, 2),
            whom,
            waited: Duration::from_millis(1500),
            ends: false,
            call: call.into(),
            place: format!("src/main.rs:{rank}:1"),
        };
        View { rank, presence: Presence::Waits, arrivals: rank as u64, waits: vec![wait] }
    }

    fn text_of(views: &[View]) -> String {
        match Standstill::default().judge(views) {
            Some(News::Stands(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_circle_is_told_as_a_table_and_a_sentence() {
        let views =
            [view(0, Whom::Rank(1), "recv(8 bytes, slot 0)"), view(1, Whom::Rank(0), "send(800000 bytes, slot 3)")];
        assert_eq!(
            text_of(&views),
            "nothing has moved for 1.5 s: every rank waits\n\
            \x20 rank  waits in                    for     since  at\n\
            \x20 0     recv(8 bytes, slot 0)       rank 1  1.5 s  src/main.rs:0:1\n\
            \x20 1     send(800000 bytes, slot 3)  rank 0  1.5 s  src/main.rs:1:1\n\
            Rank 0 waits for rank 1, which waits for rank 0.\n"
        );
    }

    #[test]
    fn who_is_late_at_a_barrier_is_named() {
        let views = [view(0, Whom::Rank(1), "allreduce()"), view(1, Whom::Barrier(1), "barrier()")];
        assert!(text_of(&views).ends_with("Rank 0 waits for rank 1, which waits for rank 0.\n"));
    }

    #[test]
    fn a_word_that_nobody_writes_has_no_circle() {
        let views = [view(0, Whom::Anyone, "wait(word = 1)"), view(1, Whom::Rank(0), "recv(8 bytes, slot 0)")];
        let text = text_of(&views);
        assert!(text.ends_with("Rank 0 waits for any rank, and no rank is left that could do something.\n"), "{text}");
        let views = [view(0, Whom::Rank(1), "recv(8 bytes, slot 0)"), view(1, Whom::Anyone, "wait(word = 1)")];
        let text = text_of(&views);
        let expected =
            "Rank 0 waits for rank 1; rank 1 waits for any rank, and no rank is left that could do something.\n";
        assert!(text.ends_with(expected), "{text}");
    }

    #[test]
    fn nothing_is_told_while_somebody_works_or_has_a_deadline() {
        let stands = [view(0, Whom::Rank(1), "recv()"), view(1, Whom::Rank(0), "recv()")];
        let mut works = stands.clone();
        works[1].presence = Presence::Works;
        assert_eq!(Standstill::default().judge(&works), None);
        let mut ends = stands.clone();
        ends[0].waits[0].ends = true;
        assert_eq!(Standstill::default().judge(&ends), None);
        let mut short = stands.clone();
        short[0].waits[0].waited = Duration::from_millis(500);
        assert_eq!(Standstill::default().judge(&short), None);
        let mut gone = stands.clone();
        gone[1].presence = Presence::Gone;
        gone[1].waits.clear();
        assert!(Standstill::default().judge(&gone).is_some());
        gone[0] = gone[1].clone();
        assert_eq!(Standstill::default().judge(&gone), None, "all have ended");
    }

    #[test]
    fn it_is_told_once_and_so_is_that_it_is_over() {
        let mut views = [view(0, Whom::Rank(1), "recv()"), view(1, Whom::Rank(0), "recv()")];
        let mut standstill = Standstill::default();
        assert!(matches!(standstill.judge(&views), Some(News::Stands(_))));
        assert_eq!(standstill.judge(&views), None);
        views[0].waits[0].wait = (1, 6);
        assert!(matches!(standstill.judge(&views), Some(News::Stands(_))), "another wait");
        views[0].presence = Presence::Works;
        assert_eq!(standstill.judge(&views), Some(News::Moves));
        assert_eq!(standstill.judge(&views), None);
    }

    #[test]
    fn a_large_job_is_told_in_a_few_rows() {
        let views: Vec<_> = (0..1000).map(|rank| view(rank, Whom::Rank((rank + 1) % 1000), "recv()")).collect();
        let text = table(&views);
        assert_eq!(text.lines().count(), 1 + ROWS_MAX + 1);
        assert!(text.ends_with("... and 968 more\n"));
    }
}
