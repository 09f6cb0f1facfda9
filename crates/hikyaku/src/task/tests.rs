//! Tests of tasks on threads of one process: order, ends, misuse. Those that every kind of job passes are in `hikyaku-testing`.

use super::{Data, when, yield_now};
use crate::sync::brief::lock;
use crate::{Error, Result, Until, local};
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

mod flags;
mod planted;
mod thrown;

fn alone<R: Send>(run: impl Fn(&crate::Job) -> Result<R> + Sync) -> R {
    local(1, run).unwrap().remove(0).unwrap()
}

/// What a random task does: which data it names, and which of them it writes.
#[derive(Clone, Debug)]
struct Step {
    names: Vec<(usize, bool)>,
    number: u64,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let names = proptest::collection::btree_map(0usize..6, any::<bool>(), 0..5);
    let step = (names, 1u64..1000).prop_map(|(names, number)| Step { names: names.into_iter().collect(), number });
    proptest::collection::vec(step, 0..60)
}

/// The order in which things are done can be read from the values.
fn mix(value: &mut u64, seen: &[u64], number: u64) {
    for seen in seen {
        *value = value.rotate_left(7) ^ seen;
    }
    *value = value.wrapping_mul(0x9e37_79b9).wrapping_add(number);
}

fn one_after_the_other(steps: &[Step]) -> Vec<u64> {
    let mut values: Vec<u64> = (0..6).collect();
    for step in steps {
        let seen: Vec<_> = step.names.iter().filter(|(_, writes)| !writes).map(|(name, _)| values[*name]).collect();
        for (name, _) in step.names.iter().filter(|(_, writes)| *writes) {
            mix(&mut values[*name], &seen, step.number);
        }
    }
    values
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever tasks name, on however many threads: the result is that of running them in the order of submission.
    #[test]
    fn tasks_do_what_a_loop_does(steps in steps(), workers in 1usize..4) {
        let expected = one_after_the_other(&steps);
        let got = alone(|job| {
            let data: Vec<_> = (0..6u64).map(Data::new).collect();
            job.tasks(workers, |tasks| {
                for Step { names, number } in &steps {
                    let reads: Vec<_> = names.iter().filter(|(_, w)| !w).map(|(name, _)| data[*name].read()).collect();
                    let writes: Vec<_> = names.iter().filter(|(_, w)| *w).map(|(name, _)| data[*name].write()).collect();
                    tasks.task((reads, writes), move |_, (reads, writes)| {
                        let seen: Vec<_> = reads.into_iter().copied().collect();
                        writes.into_iter().for_each(|value| mix(value, &seen, *number));
                        Ok(())
                    })?;
                }
                Ok(())
            })?;
            Ok(data.into_iter().map(|datum| datum.into_inner().unwrap()).collect::<Vec<_>>())
        });
        prop_assert_eq!(got, expected);
    }
}

#[test]
fn tasks_spawn_tasks() {
    fn tree<'s>(tasks: &'s super::Tasks<'s, '_>, depth: u32, leaves: &'s AtomicU64) -> Result<()> {
        if depth == 0 {
            leaves.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        (0..2).try_for_each(|_| tasks.task((), move |_, ()| tree(tasks, depth - 1, leaves)))
    }
    for workers in [1, 3] {
        let leaves = AtomicU64::new(0);
        alone(|job| job.tasks(workers, |tasks| tree(tasks, 12, &leaves)));
        assert_eq!(leaves.into_inner(), 1 << 12);
    }
}

/// Two threads that submit tasks of the same two data never make each wait for the other.
#[test]
fn data_are_entered_together() {
    alone(|job| {
        let (a, b) = (Data::new(0u64), Data::new(0u64));
        job.tasks(4, |tasks| {
            for way in 0..4 {
                let (a, b) = (&a, &b);
                tasks.task((), move |_, ()| {
                    for _ in 0..2000 {
                        let both = if way % 2 == 0 { (a.write(), b.write()) } else { (b.write(), a.write()) };
                        tasks.task(both, |_, (one, other)| {
                            *one += 1;
                            *other += 1;
                            Ok(())
                        })?;
                    }
                    Ok(())
                })?;
            }
            Ok(())
        })?;
        assert_eq!((a.into_inner().unwrap(), b.into_inner().unwrap()), (8000, 8000));
        Ok(())
    });
}

#[test]
fn a_datum_cannot_be_named_twice() {
    alone(|job| {
        let a = Data::new(0);
        let dropped = Data::new(());
        job.tasks(1, |tasks| {
            let held = dropped.clone();
            let twice = tasks.task((a.read(), a.write()), move |_, _| {
                let _held = held;
                panic!("it would alias")
            });
            assert!(matches!(twice, Err(Error::Invalid(_))), "{twice:?}");
            // It has left nothing behind.
            tasks.task(a.write(), |_, a| Ok(*a += 1))
        })?;
        assert!(dropped.into_inner().is_ok(), "the function was dropped");
        assert_eq!(a.into_inner().unwrap(), 1);
        Ok(())
    });
}

#[test]
fn many_data_can_be_named() {
    alone(|job| {
        let all: Vec<_> = (0..100u64).map(Data::new).collect();
        let sum = Data::new(0);
        job.tasks(2, |tasks| {
            let mut reads: Vec<_> = all.iter().map(Data::read).collect();
            reads.reverse();
            tasks.task((reads, sum.write()), |_, (all, sum)| Ok(*sum = all.into_iter().sum::<u64>()))
        })?;
        assert_eq!(sum.into_inner().unwrap(), 4950);
        Ok(())
    });
}

/// The panic goes on in the scope; what had not begun is dropped, not run, and nothing is left behind.
#[test]
fn a_panic_ends_the_scope() {
    for workers in [1, 3] {
        alone(|job| {
            let (datum, ran) = (Data::new(0), AtomicUsize::new(0));
            let flag = job.symmetric::<u64>(1)?;
            let result = catch_unwind(AssertUnwindSafe(|| {
                job.tasks(workers, |tasks| {
                    tasks.task(datum.write(), |_, _| panic!("on purpose"))?;
                    let ran = &ran;
                    tasks.task(datum.write(), move |_, _| {
                        ran.fetch_add(1, Ordering::Relaxed);
                        Ok(())
                    })?;
                    tasks.task(when(flag.here(0), Until::Equal(9)), |_, _| unreachable!())?;
                    tasks.spawn(async { tasks.word(flag.here(0), Until::Equal(9)).await.map(drop) })?;
                    tasks.spawn(std::future::pending())?;
                    tasks.spawn_local(std::future::pending())
                })
            }));
            assert_eq!(*result.unwrap_err().downcast_ref::<&str>().unwrap(), "on purpose");
            assert_eq!(ran.into_inner(), 0);
            assert_eq!(datum.into_inner().unwrap(), 0);
            // And the next scope is as any other.
            job.tasks(workers, |tasks| tasks.task((), |_, ()| Ok(())))
        });
    }
}

#[test]
fn an_error_of_a_task_is_that_of_the_scope() {
    alone(|job| {
        let datum = Data::new(0);
        let result = job.tasks(2, |tasks| {
            tasks.task(datum.write(), |_, _| Err(Error::Invalid("first".into())))?;
            tasks.task(datum.write(), |_, _| Err(Error::Invalid("second".into())))?;
            let waited = tasks.wait();
            assert!(matches!(&waited, Err(Error::Invalid(text)) if text == "first"), "{waited:?}");
            assert!(tasks.is_cancelled());
            Ok(())
        });
        assert!(matches!(&result, Err(Error::Invalid(text)) if text == "first"), "{result:?}");
        Ok(())
    });
}

#[test]
fn an_error_or_a_panic_of_the_body_drops_its_tasks() {
    alone(|job| {
        let flag = job.symmetric::<u64>(1)?;
        let never = || when(flag.here(0), Until::Equal(1));
        let result = job.tasks(2, |tasks| {
            tasks.task(never(), |_, _| unreachable!())?;
            Err::<(), _>(Error::Invalid("no more".into()))
        });
        assert!(matches!(&result, Err(Error::Invalid(text)) if text == "no more"), "{result:?}");
        let result = catch_unwind(AssertUnwindSafe(|| {
            job.tasks(2, |tasks| {
                tasks.task(never(), |_, _| unreachable!())?;
                if job.size() == 1 {
                    panic!("of the body");
                }
                Ok(())
            })
        }));
        assert_eq!(*result.unwrap_err().downcast_ref::<&str>().unwrap(), "of the body");
        Ok(())
    });
}

#[test]
fn what_is_cancelled_is_dropped_and_no_error() {
    alone(|job| {
        let (flag, held) = (job.symmetric::<u64>(1)?, Data::new(()));
        let given = job.tasks(3, |tasks| {
            let flag = &flag;
            for _ in 0..10 {
                let (in_task, in_future) = (held.clone(), held.clone());
                tasks.task(when(flag.here(0), Until::Equal(1)), move |_, _| {
                    drop(in_task);
                    unreachable!()
                })?;
                tasks.spawn(async move {
                    let _held = in_future;
                    tasks.word(flag.here(0), Until::Equal(1)).await.map(drop)
                })?;
            }
            tasks.task((), |_, ()| Ok(tasks.cancel()))?;
            Ok(5)
        })?;
        assert_eq!(given, 5);
        assert!(held.into_inner().is_ok(), "all were dropped");
        Ok(())
    });
}

#[test]
fn a_panic_of_a_destructor_is_one_of_the_task() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in a destructor");
        }
    }
    alone(|job| {
        let result = catch_unwind(AssertUnwindSafe(|| {
            job.tasks(1, |tasks| {
                let datum = Data::new(Bomb);
                tasks.task(datum.read(), |_, _| Ok(()))?;
                // The task has the last handle.
                drop(datum);
                Ok(())
            })
        }));
        assert_eq!(*result.unwrap_err().downcast_ref::<&str>().unwrap(), "in a destructor");
        Ok(())
    });
}

#[test]
fn only_the_body_waits_for_all() {
    alone(|job| {
        job.tasks(2, |tasks| {
            tasks.task((), |_, ()| match tasks.wait() {
                Err(Error::Invalid(_)) => Ok(()),
                other => panic!("{other:?}"),
            })?;
            tasks.wait()?;
            // There is nothing to wait for.
            tasks.wait()
        })
    });
}

#[test]
fn what_was_waited_for_can_be_looked_at() {
    alone(|job| {
        let (datum, flag) = (Data::new(1), job.symmetric::<u64>(1)?);
        job.tasks(2, |tasks| {
            tasks.task(datum.write(), |_, value| Ok(*value = 2))?;
            tasks.wait()?;
            assert_eq!(datum.look(|value| *value), Some(2));
            tasks.task((when(flag.here(0), Until::Equal(1)), datum.write()), |_, (_, value)| Ok(*value = 3))?;
            assert_eq!(datum.look(|value| *value), None, "a task is going to write it");
            job.word(flag.here(0), 1)?;
            tasks.wait()?;
            assert_eq!(datum.look(|value| *value), Some(3));
            Ok(())
        })
    });
}

/// Two jobs, two scopes, one datum: whoever comes first, first.
#[test]
fn scopes_may_share_data() {
    let count = Data::new(0u64);
    local(3, |job| {
        job.tasks(2, |tasks| {
            for _ in 0..1000 {
                tasks.task(count.write(), |_, count| Ok(*count += 1))?;
            }
            Ok(())
        })
    })
    .unwrap()
    .into_iter()
    .for_each(Result::unwrap);
    assert_eq!(count.into_inner().unwrap(), 3000);
}

#[test]
fn handles_can_be_forgotten() {
    alone(|job| {
        let flag = job.symmetric::<u64>(1)?;
        job.tasks(2, |tasks| {
            let datum = Data::new(vec![1]);
            std::mem::forget(datum.read());
            std::mem::forget(datum.write());
            tasks.task(datum.write(), |_, value| Ok(value.push(2)))?;
            std::mem::forget(datum);
            let flag = &flag;
            tasks.spawn(async move {
                let mut word = Box::pin(tasks.word(flag.here(0), Until::Equal(1)));
                std::future::poll_fn(|context| {
                    assert!(word.as_mut().poll(context).is_pending());
                    std::task::Poll::Ready(())
                })
                .await;
                std::mem::forget(word);
                std::mem::forget(tasks.spawn_joined(async { Ok(1) })?);
                Ok(())
            })?;
            tasks.wait()?;
            job.word(flag.here(0), 1)
        })
    });
}

/// A plain task may wait: it costs its worker, and the others go on.
#[test]
fn a_task_may_wait_in_the_middle() {
    alone(|job| {
        let flag = job.symmetric::<u64>(1)?;
        job.tasks(2, |tasks| {
            let flag = &flag;
            tasks.task((), move |port, ()| port.wait(flag.here(0), Until::Equal(1)).map(drop))?;
            tasks.task((), move |port, ()| port.word(flag.here(0), 1))
        })
    });
}

#[test]
fn futures_take_turns_and_wait_for_each_other() {
    alone(|job| {
        let log = std::sync::Mutex::new(Vec::new());
        job.tasks(1, |tasks| {
            let log = &log;
            for name in [1, 2] {
                tasks.spawn(async move {
                    for _ in 0..3 {
                        lock(log).push(name);
                        yield_now().await;
                    }
                    Ok(())
                })?;
            }
            Ok(())
        })?;
        assert_eq!(log.into_inner().unwrap(), [1, 2, 1, 2, 1, 2]);
        Ok(())
    });
}

#[test]
fn many_futures_wait_for_words() {
    alone(|job| {
        let (words, sum) = (job.symmetric::<u64>(500)?, AtomicU64::new(0));
        job.tasks(3, |tasks| {
            let (words, sum) = (&words, &sum);
            for index in 0..500 {
                tasks.spawn(async move {
                    let value = tasks.word(words.here(index), Until::NotEqual(0)).await?;
                    sum.fetch_add(value, Ordering::Relaxed);
                    Ok(())
                })?;
            }
            tasks.spawn(async move {
                for index in (0..500).rev() {
                    tasks.port(|port| port.word(words.here(index), 2))?;
                    yield_now().await;
                }
                Ok(())
            })
        })?;
        assert_eq!(sum.into_inner(), 1000);
        Ok(())
    });
}

#[test]
fn a_panic_of_a_handler_ends_the_scope() {
    alone(|job| {
        job.register_handler(1, |_, _| panic!("in a handler"))?;
        let flag = job.symmetric::<u64>(1)?;
        let result = catch_unwind(AssertUnwindSafe(|| {
            job.tasks(2, |tasks| {
                tasks.task(when(flag.here(0), Until::Equal(1)), |_, _| unreachable!())?;
                tasks.task((), |port, ()| port.send(0, 1, 0, [0; 6], &[]))
            })
        }));
        assert_eq!(*result.unwrap_err().downcast_ref::<&str>().unwrap(), "in a handler");
        Ok(())
    });
}

#[test]
fn a_scope_inside_a_scope() {
    alone(|job| {
        let datum = Data::new(0);
        job.tasks(2, |outer| {
            outer.task(datum.write(), |_, value| Ok(*value += 1))?;
            job.tasks(2, |inner| {
                inner.task(datum.write(), |_, value| Ok(*value += 1))?;
                outer.task(datum.write(), |_, value| Ok(*value += 1))
            })
        })?;
        assert_eq!(datum.into_inner().unwrap(), 3);
        Ok(())
    });
}

#[test]
fn impossible_scopes_are_errors() {
    alone(|job| {
        assert!(matches!(job.tasks(0, |_| Ok(())), Err(Error::Invalid(_))));
        assert!(job.tasks(1000, |_| Ok(())).is_err(), "there are not so many ports");
        let flag = job.symmetric::<u64>(1)?;
        job.tasks(1, |tasks| {
            assert!(tasks.task(when(flag.at(0, 1), Until::Equal(1)), |_, _| Ok(())).is_err(), "out of bounds");
            assert!(tasks.task(when(flag.at(1, 0), Until::Equal(1)), |_, _| Ok(())).is_err(), "no such rank");
            assert!(tasks.task(when(flag.here(0), Until::Equal(1)).by(7), |_, _| Ok(())).is_err(), "no such rank");
            std::thread::scope(|threads| {
                let other = threads.spawn(|| (tasks.wait().is_err(), tasks.port(|_| Ok(())).is_err()));
                assert_eq!(other.join().unwrap(), (true, true));
            });
            Ok(())
        })
    });
}

#[test]
fn workers_sleep_and_wake() {
    alone(|job| {
        let (flag, count) = (job.symmetric::<u64>(1)?, AtomicUsize::new(0));
        job.tasks(3, |tasks| {
            for round in 1..=20 {
                // Long enough for all to sleep.
                std::thread::sleep(Duration::from_millis(if round % 5 == 0 { 20 } else { 0 }));
                let count = &count;
                let add = move || {
                    count.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                };
                (0..10).try_for_each(|_| tasks.task((), move |_, ()| add()))?;
                tasks.task(when(flag.here(0), Until::AtLeast(round)), move |_, _| add())?;
                std::thread::sleep(Duration::from_millis(if round % 7 == 0 { 20 } else { 0 }));
                job.word(flag.here(0), round)?;
                tasks.wait()?;
                assert_eq!(count.load(Ordering::Relaxed), 11 * round as usize);
            }
            Ok(())
        })
    });
}

#[test]
fn a_task_that_waits_keeps_nobody_from_the_next() {
    alone(|job| {
        let flag = job.symmetric::<u64>(1)?;
        let datum = Data::new(());
        job.tasks(2, |tasks| {
            let flag = &flag;
            // The other worker is there, and has nothing to do later.
            tasks.task((), |_, ()| Ok(std::thread::sleep(Duration::from_millis(30))))?;
            std::thread::sleep(Duration::from_millis(10));
            tasks.task(datum.write(), move |_, _| {
                tasks.urgent((), |port, ()| port.wait(flag.here(0), Until::Equal(1)).map(drop))
            })?;
            tasks.task(datum.write(), |port, _| port.word(flag.here(0), 1))
        })
    });
}
