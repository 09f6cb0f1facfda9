//! Tasks: what one costs, and how soon one starts that waits for a word of the other rank.

use super::{Effort, Round};
use crate::bench::plan::Kind;
use hikyaku::task::{Data, Tasks, when, yield_now};
use hikyaku::{Job, Result, Symmetric, Until};
use std::collections::VecDeque;
use std::hint::black_box;

/// Tasks in a row before they are waited for.
const BATCH: u64 = 1000;

/// The words that ranks hand to each other, and how often.
pub struct Work<'a> {
    job: &'a Job,
    effort: Effort,
    words: Symmetric<u64>,
}

impl<'a> Work<'a> {
    pub fn new(job: &'a Job, effort: Effort) -> Result<Work<'a>> {
        Ok(Work { job, effort, words: job.symmetric(1)? })
    }

    /// One repetition of everything.
    pub fn measure(&self, round: &mut Round<'_>) -> Result<()> {
        round.note(Kind::LimitTask, 0, self.by_one(|_| Ok(boxed_functions()))?);
        round.note(
            Kind::TaskEmpty,
            0,
            self.by_one(|tasks| (0..BATCH).try_for_each(|_| tasks.task((), |_, ()| Ok(()))))?,
        );
        let datum = Data::new(0u64);
        let add = |tasks: &Tasks<'_, '_>| {
            (0..BATCH).try_for_each(|_| tasks.task(datum.write(), |_, value| Ok(*value = black_box(*value + 1))))
        };
        round.note(Kind::TaskChain, 0, self.by_one(add)?);
        let taken = (self.job.rank() == 0).then(|| self.effort.operations / BATCH * BATCH);
        assert_eq!(datum.into_inner().expect("no task has it"), taken.unwrap_or(0), "each has added one");
        round.note(Kind::TaskSwitch, 0, self.by_one(switches)?);
        round.note(Kind::TaskFlag, 8, self.relay()?);
        Ok(())
    }

    /// What rank 0 takes for each of many, submitted and run by one thread, ns.
    fn by_one(&self, batch: impl Fn(&Tasks<'_, '_>) -> Result<()>) -> Result<f64> {
        let job = self.job;
        job.barrier()?;
        let (begin, batches) = (job.now(), self.effort.operations / BATCH);
        if job.rank() == 0 {
            job.tasks(1, |tasks| {
                (0..batches).try_for_each(|_| {
                    batch(tasks)?;
                    tasks.wait()
                })
            })?;
        }
        let time = job.now() - begin;
        job.barrier()?;
        Ok(time.as_nanos() as f64 / (batches * BATCH) as f64)
    }

    /// A word from rank to rank, by tasks that wait for it, one way, ns.
    fn relay(&self) -> Result<f64> {
        let (job, turns) = (self.job, self.effort.round_trips);
        self.words.set(0, 0);
        job.barrier()?;
        let begin = job.now();
        job.tasks(1, |tasks| {
            // One that waits while the other runs.
            await_turn(tasks, job.rank(), &self.words, 1, turns)?;
            await_turn(tasks, job.rank(), &self.words, 2, turns)?;
            if job.rank() == 0 { job.word(self.words.at(1, 0), 1) } else { Ok(()) }
        })?;
        let time = job.now() - begin;
        job.barrier()?;
        assert_eq!(self.words.get(0), turns, "every turn was taken");
        Ok(time.as_nanos() as f64 / (2 * turns) as f64)
    }
}

/// Limit: functions on the heap, put into a queue and called.
fn boxed_functions() {
    let mut queue: VecDeque<Box<dyn FnOnce() -> u64>> = VecDeque::new();
    queue.extend((0..BATCH).map(|number| Box::new(move || black_box(number)) as Box<dyn FnOnce() -> u64>));
    let sum: u64 = queue.into_iter().map(|work| work()).sum();
    assert_eq!(sum, BATCH * (BATCH - 1) / 2);
}

/// Two futures that take turns.
fn switches<'s>(tasks: &Tasks<'s, '_>) -> Result<()> {
    (0..2).try_for_each(|_| {
        tasks.spawn(async {
            for _ in 0..BATCH / 2 {
                yield_now().await;
            }
            Ok(())
        })
    })
}

/// A task that waits for the other rank's word, answers it, and submits the one after the next.
fn await_turn<'s>(
    tasks: &'s Tasks<'s, '_>,
    rank: usize,
    words: &'s Symmetric<u64>,
    turn: u64,
    turns: u64,
) -> Result<()> {
    let peer = 1 - rank;
    tasks.task(when(words.here(0), Until::AtLeast(turn)).by(peer), move |port, _| {
        if rank == 1 || turn < turns {
            port.word(words.at(peer, 0), turn + (1 - rank as u64))?;
        }
        if turn + 2 <= turns { await_turn(tasks, rank, words, turn + 2, turns) } else { Ok(()) }
    })
}
