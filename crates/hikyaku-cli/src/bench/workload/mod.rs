//! What the ranks of the benchmark do: the limit of the machine, and each operation of the library. Every test checks
//! the bytes it moved.
//!
//! | file | concept |
//! |---|---|
//! | `remote` | pushes, pulls, words, atomic operations, active messages |
//! | `partial` | parts of a range: stride, bitmap, diff |
//! | `forms` | the same by pulls, messages and multicasts |
//! | `indirect` | pointers, chains of commands, paths |
//! | `lock` | locks |
//! | `matching` | messages that are matched by keys |
//! | `exchange` | message exchange, beside other engines; queues |
//! | `task` | tasks |
//! | `message` | send and receive |
//! | `phases` | where the time of a short message goes |
//! | `prepared` | transfers that are set up once and started many times |
//! | `collective` | what all ranks do together |
//! | `cholesky` | a factorisation by tiles |
//! | `threads`, `bare_threads` | several threads of two ranks; the same without the library |
//! | `pair` | two ranks on two hosts |
//! | `hosts_parts` | parts of a range, and copies, between them |
//! | `hosts`, `bare`, `trains` | and bare sockets between them; those that carry much |
//! | `fabric` | and libfabric |
//! | `turns` | messages there and back |
//! | `effort` | how often |

mod bare;
mod bare_threads;
mod cholesky;
mod collective;
mod effort;
mod exchange;
mod fabric;
mod forms;
mod hosts;
mod hosts_parts;
mod indirect;
mod lock;
mod matching;
mod message;
mod pair;
mod partial;
mod phases;
mod prepared;
mod remote;
mod sleeper;
mod task;
mod threads;
mod trains;
mod turns;

use super::limit;
use super::part::Part;
use super::plan::{Figure, Figures, Kind};
use hikyaku::{Job, Result, Symmetric};
use std::time::{Duration, Instant};

pub use bare::FRAME;
pub use cholesky::{CREWS, SHAPES, bytes as tile_bytes, measure as measure_cholesky};
pub use collective::{BROADCAST_BANDWIDTH_SIZES, BROADCAST_SIZES, SCALING, SLOTS, tests as collective_tests};
pub use effort::Effort;
pub use exchange::{
    COMPARED as ENGINES_COMPARED, ITEM as QUEUE_ITEM, LONG as EXCHANGED_LONG, SHORT as EXCHANGED_SHORT,
};
pub use fabric::measure as measure_fabric;
pub use hosts::measure as measure_hosts;
pub use indirect::{BLOCKS, CHAINED, CURVE_SIZES as PATH_CURVE_SIZES, PATH_SIZES};
pub use matching::{CROWDS as MATCHED_CROWDS, LONG as MATCHED_LONG, SHORT as MATCHED_SHORT};
pub use message::{BANDWIDTH_SIZES as MESSAGE_BANDWIDTH_SIZES, LATENCY_SIZES as MESSAGE_LATENCY_SIZES, POSTED};
pub use partial::RANGE as PARTIAL_RANGE;
pub use threads::{
    COUNTED as THREADS_COUNTED, LONG as THREADS_LONG, SIZES as THREADS_SIZES, THREADS, VARIABLE as THREADS_VARIABLE,
    measure as measure_threads,
};

/// Fewer repetitions, where they take longer than they should.
const REPETITIONS_MIN: usize = 3;
const ENOUGH: Duration = Duration::from_secs(12);

/// Ranks of the test of queues: two that push, one that pops.
pub const QUEUE_RANKS: usize = 3;
/// The sizes that long messages are compared with memcpy at.
pub const COPY_SIZES: [usize; 3] = [64 << 10, 1 << 20, 16 << 20];
/// The sizes that are handed over with nothing around it.
pub const HAND_OVER_SIZES: [usize; 3] = [1 << 10, 4 << 10, 8 << 10];

/// What was measured in one repetition: each test in its turn.
struct Round<'a> {
    figures: &'a mut Figures,
    ranks: usize,
    /// The first repetition only warms up.
    counts: bool,
}

impl Round<'_> {
    fn note(&mut self, kind: Kind, bytes: usize, value: f64) {
        if self.counts {
            self.figures.add(Figure { kind, bytes, ranks: self.ranks, values: vec![value] });
        }
    }
}

/// Measures the given parts, together with the limits they are compared with. Rank 0 gives the figures.
pub fn measure(job: &Job, parts: &[Part], effort: Effort) -> Result<Figures> {
    let mut figures = Figures::default();
    let pair = job.size() == 2;
    let wanted = |part| parts.contains(&part);
    let remote = if pair && wanted(Part::Remote) { Some(remote::Remote::new(job, effort)?) } else { None };
    let talk = if pair && wanted(Part::Messages) { Some(message::Talk::new(job, effort)?) } else { None };
    let parts_of = if pair && wanted(Part::Partial) { Some(partial::Parts::new(job, effort)?) } else { None };
    let through = if pair && wanted(Part::Indirect) { Some(indirect::Indirect::new(job, effort)?) } else { None };
    let locks = if pair && wanted(Part::Locks) { Some(lock::Locks::new(job, effort)?) } else { None };
    let work = if pair && wanted(Part::Tasks) { Some(task::Work::new(job, effort)?) } else { None };
    let matched = if pair && wanted(Part::Matching) { Some(matching::Matched::new(job, effort)?) } else { None };
    let exchanged = if pair && wanted(Part::Exchange) { Some(exchange::Exchanged::new(job, effort)?) } else { None };
    let is_queue = job.size() == QUEUE_RANKS && wanted(Part::Exchange);
    let mut queued = if is_queue { Some(exchange::Queued::new(job, effort)?) } else { None };
    let tests = collective::tests(parts, job.size());
    let mut together = if tests.is_empty() { None } else { Some(collective::Together::new(job, tests, effort)?) };
    let handed = job.symmetric(limit::HAND_OVER_AREA)?;
    let words = if pair && effort.physical { limit_sizes(parts).into_iter().max().unwrap_or(0) / 8 } else { 0 };
    let (source, mut target) = (limit::large_vector(words), limit::large_vector(words));
    let (begin, verdict) = (job.now(), job.symmetric(1)?);
    for repetition in 0..=effort.repetitions {
        if repetition > REPETITIONS_MIN && !all_go_on(job, &verdict, begin)? {
            break;
        }
        let mut round = Round { figures: &mut figures, ranks: job.size(), counts: repetition > 0 };
        if pair && effort.physical {
            round.note(Kind::LimitFlag, 8, limit::hand_over(job, &handed, 0, effort.round_trips)?);
            for bytes in HAND_OVER_SIZES {
                let time = limit::hand_over(job, &handed, bytes / 8, effort.long_round_trips())?;
                round.note(Kind::LimitHandOver, bytes, time);
            }
            for bytes in limit_sizes(parts) {
                let (source, target) = (&source[..bytes / 8], &mut target[..bytes / 8]);
                let (one, two) = limit::memcpy(job, source, target, effort.rounds_for(bytes) / 2)?;
                round.note(Kind::LimitCopy, bytes, one);
                round.note(Kind::LimitCopyTwo, bytes, two);
            }
        }
        if let Some(remote) = &remote {
            remote.measure(&mut round)?;
        }
        if let Some(parts) = &parts_of {
            parts.measure(&mut round)?;
        }
        if let Some(through) = &through {
            through.measure(&mut round)?;
        }
        if let Some(locks) = &locks {
            locks.measure(&mut round)?;
        }
        if let Some(work) = &work {
            work.measure(&mut round)?;
        }
        if let Some(talk) = &talk {
            talk.measure(&mut round)?;
        }
        if let Some(matched) = &matched {
            matched.measure(&mut round)?;
        }
        if let Some(exchanged) = &exchanged {
            exchanged.measure(&mut round)?;
        }
        if let Some(queued) = &mut queued {
            queued.measure(&mut round, effort.physical)?;
        }
        if let Some(together) = &mut together {
            together.measure(&mut round)?;
        }
    }
    Ok(figures)
}

/// Rank 0 decides for all whether there is time for another repetition.
fn all_go_on(job: &Job, verdict: &Symmetric<u64>, begin: Instant) -> Result<bool> {
    if job.rank() == 0 {
        let go_on = job.now() - begin < ENOUGH;
        (0..job.size()).try_for_each(|rank| job.word(verdict.at(rank, 0), go_on as u64))?;
    }
    job.barrier()?;
    let go_on = verdict.get(0) == 1;
    // Nobody decides anew before all have looked.
    job.barrier()?;
    Ok(go_on)
}

/// The sizes that some part compares with memcpy.
fn limit_sizes(parts: &[Part]) -> Vec<usize> {
    match parts.contains(&Part::Remote) {
        true => remote::BANDWIDTH_SIZES.to_vec(),
        false => COPY_SIZES.to_vec(),
    }
}

/// All words between the first and the last, which every round has checked, are those of the pattern.
fn check_whole(got: &[u64], what: &str) {
    if let [_, middle @ .., _] = got {
        assert!(middle.iter().zip(1..).all(|(word, i)| *word == limit::pattern(i)), "{what} words were damaged");
    }
}
