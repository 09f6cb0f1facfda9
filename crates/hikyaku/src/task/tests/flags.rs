//! Words that tasks wait for, while others keep the worker busy.

use super::alone;
use crate::Until;
use crate::task::when;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A worker that has long tasks to run, and very many flags to look at, finds the one that was set before it has run many of them.
#[test]
fn a_flag_among_many_is_found_between_long_tasks() {
    const FLAGS: usize = 500;
    const TASKS: usize = 60;
    const LONG: Duration = Duration::from_micros(200);
    let before = alone(|job| {
        let words = job.symmetric::<u64>(FLAGS)?;
        let (words, done, found) = (&words, &AtomicUsize::new(0), &AtomicUsize::new(0));
        job.tasks(1, |tasks| {
            for index in 0..FLAGS {
                tasks.urgent(when(words.here(index), Until::Equal(1)), move |_, _| {
                    Ok(if index == FLAGS / 2 {
                        found.store(done.load(Ordering::Relaxed), Ordering::Relaxed)
                    })
                })?;
            }
            for number in 1..=TASKS {
                tasks.task((), move |port, ()| {
                    let begin = Instant::now();
                    while begin.elapsed() < LONG {
                        std::hint::spin_loop();
                    }
                    if number == 1 {
                        port.word(words.at(0, FLAGS / 2), 1)?;
                    }
                    if number == TASKS {
                        (0..FLAGS).try_for_each(|index| port.word(words.at(0, index), 1))?;
                    }
                    Ok(done.store(number, Ordering::Relaxed))
                })?;
            }
            Ok(())
        })?;
        Ok(found.load(Ordering::Relaxed))
    });
    assert!(before <= 3, "it was found after {before} tasks");
}
