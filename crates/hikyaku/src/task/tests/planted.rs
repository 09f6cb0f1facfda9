//! Bugs of tasks that are planted, each caught in virtual time, where a rank that waits for ever is found out at once.

use crate::planted::{Bug, catches};
use crate::sim::{Machine, Sim};
use crate::task::{Data, when};
use crate::{Error, Job, Result, Until};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// So many simulated ranks, which all have to succeed.
fn simulated(ranks: usize, run: impl Fn(&Job) -> Result<()> + Sync) {
    let sim = Sim::new(Machine::plain(), ranks, 1).time_limit(Duration::from_secs(1));
    sim.run(run).unwrap().results.into_iter().for_each(|result| result.unwrap());
}

/// An urgent task comes first, but not before what it depends on.
fn urgent_tasks_wait_for_data() {
    simulated(1, |job| {
        let (datum, seen) = (Data::new(0u64), &AtomicU64::new(0));
        job.tasks(1, |tasks| {
            let note = |value: u64| seen.store(10 * seen.load(Ordering::Relaxed) + value, Ordering::Relaxed);
            tasks.task(datum.write(), |_, value| Ok(*value = 1))?;
            tasks.urgent(datum.read(), move |_, value| Ok(note(*value)))?;
            tasks.task(datum.read(), move |_, value| Ok(note(*value)))?;
            tasks.urgent(datum.write(), |_, value| Ok(*value = 2))?;
            tasks.task(datum.read(), move |_, value| Ok(note(*value)))
        })?;
        Ok(assert_eq!(seen.load(Ordering::Relaxed), 112))
    });
}

/// Words go to and fro between two ranks that have nothing else to do.
fn words_wake_tasks() {
    simulated(2, |job| {
        let words = job.symmetric::<u64>(4)?;
        let (words, peer) = (&words, 1 - job.rank());
        job.tasks(1, |tasks| {
            for turn in 0..4 {
                match (turn + job.rank()) % 2 {
                    0 if turn == 0 => tasks.task((), move |port, ()| port.word(words.at(peer, turn), 1))?,
                    0 => tasks.task(when(words.here(turn - 1), Until::Equal(1)).by(peer), move |port, _| {
                        port.word(words.at(peer, turn), 1)
                    })?,
                    _ => tasks.task(when(words.here(turn), Until::Equal(1)).by(peer), |_, _| Ok(()))?,
                }
            }
            Ok(())
        })?;
        job.barrier()
    });
}

/// Who waits for a word of a rank that ends gets an error.
fn the_end_of_a_rank_is_told() {
    simulated(2, |job| {
        let words = job.symmetric::<u64>(1)?;
        if job.rank() == 1 {
            return Ok(());
        }
        let waited = job.tasks(1, |tasks| tasks.task(when(words.here(0), Until::Equal(1)).by(1), |_, _| Ok(())));
        Ok(assert!(matches!(waited, Err(Error::PeerLeft { .. })), "{waited:?}"))
    });
}

/// After one has failed, no other task is run.
fn a_failure_ends_the_scope() {
    simulated(1, |job| {
        let (datum, run) = (Data::new(()), &AtomicU64::new(0));
        let failed = job.tasks(1, |tasks| {
            tasks.task(datum.write(), |_, _| Err(Error::Invalid("as it should".into())))?;
            tasks.task(datum.write(), |_, _| Ok(run.store(1, Ordering::Relaxed)))
        });
        Ok(assert!(failed.is_err() && run.load(Ordering::Relaxed) == 0))
    });
}

/// A future that waits is dropped when it is cancelled, and who joins it is told.
fn cancelled_futures_end() {
    simulated(1, |job| {
        let words = job.symmetric::<u64>(1)?;
        let words = &words;
        job.tasks(1, |tasks| {
            let never = tasks.spawn_joined(async move { tasks.word(words.here(0), Until::Equal(1)).await })?;
            tasks.spawn(async move {
                crate::task::yield_now().await;
                never.cancel();
                Ok(assert_eq!(never.await, None))
            })
        })
    });
}

#[test]
fn planted_bugs_are_caught() {
    catches(urgent_tasks_wait_for_data, &[Bug::ReadersPassWriters, Bug::WritersPassReaders]);
    catches(words_wake_tasks, &[Bug::WordsUnseenAtRest]);
    catches(the_end_of_a_rank_is_told, &[Bug::EndOfWriterUnseen]);
    catches(a_failure_ends_the_scope, &[Bug::FailureIgnored]);
    catches(cancelled_futures_end, &[Bug::CancelUntold]);
}
