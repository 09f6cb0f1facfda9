//! Tasks, their data, and their wakers.

use super::check_refused;
use crate::support::{expect_error, lock, spin_until};
use hikyaku::task::{Awaits, Data, Joined, Tasks, when, yield_now};
use hikyaku::{Error, Job, Until};
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

fn workers(job: &Job) -> usize {
    if job.is_simulated() { 1 } else { 3 }
}

/// Handles, what tasks would name, futures that wait and results of futures: the scope ends all the same, and what comes later harms
/// nobody.
pub fn everything_of_a_scope_is_forgotten(job: &Job) {
    for round in 1..=10 {
        let flag = job.symmetric::<u64>(1).unwrap();
        job.tasks(workers(job), |tasks| {
            let flag = &flag;
            let datum = Data::new(vec![round; 100]);
            std::mem::forget((datum.read(), datum.write(), when(flag.here(0), Until::Equal(1))));
            tasks.task(datum.write(), |_, values| Ok(values.push(1)))?;
            std::mem::forget(datum);
            tasks.spawn(async move {
                let mut word = Box::pin(tasks.word(flag.here(0), Until::Equal(1)));
                poll_fn(|context| Poll::Ready(assert!(word.as_mut().poll(context).is_pending()))).await;
                std::mem::forget(word);
                std::mem::forget(tasks.spawn_joined(async { Ok(vec![1; 100]) })?);
                Ok(())
            })?;
            tasks.wait()?;
            job.word(flag.here(0), 1)
        })
        .unwrap();
        job.free(flag).unwrap();
    }
}

/// A waker of a future is kept, and used when the future, its scope and what it borrowed are gone.
pub fn wakers_outlive_their_scope(job: &Job) {
    let wakers = Mutex::new(Vec::<Waker>::new());
    for local in [false, true] {
        let borrowed = vec![7u8; 1000];
        job.tasks(workers(job), |tasks| {
            let (wakers, borrowed) = (&wakers, &borrowed);
            let future = async move {
                poll_fn(|context| {
                    let mut wakers = lock(wakers);
                    wakers.push(context.waker().clone());
                    if wakers.len() % 3 == 0 {
                        return Poll::Ready(());
                    }
                    context.waker().wake_by_ref();
                    Poll::Pending
                })
                .await;
                assert!(borrowed.iter().all(|byte| *byte == 7));
                Ok(())
            };
            if local { tasks.spawn_local(future) } else { tasks.spawn(future) }
        })
        .unwrap();
    }
    let wakers = wakers.into_inner().unwrap();
    assert_eq!(wakers.len(), 6);
    std::thread::scope(|threads| {
        threads.spawn(|| wakers.iter().for_each(Waker::wake_by_ref)).join().unwrap();
    });
    wakers.into_iter().for_each(Waker::wake);
    job.barrier().unwrap();
}

/// Tasks panic again and again, while others wait for what they would have written, and for flags that never come.
pub fn tasks_panic_all_the_time(job: &Job) {
    let flag = job.symmetric::<u64>(1).unwrap();
    for round in 0..20 {
        let (datum, kept) = (Data::new(0), Data::new(()));
        let result = catch_unwind(AssertUnwindSafe(|| {
            job.tasks(workers(job), |tasks| {
                for number in 0..20 {
                    let held = kept.clone();
                    tasks.task(datum.write(), move |_, value| {
                        let _held = held;
                        if number == round {
                            resume_unwind(Box::new("on purpose"));
                        }
                        Ok(*value += 1)
                    })?;
                }
                tasks.task((when(flag.here(0), Until::Equal(1)), datum.write()), |_, _| unreachable!())
            })
        }));
        assert_eq!(*result.unwrap_err().downcast_ref::<&str>().unwrap(), "on purpose");
        assert_eq!(datum.into_inner().unwrap(), round);
        assert!(kept.into_inner().is_ok(), "nothing is left of them");
    }
    job.barrier().unwrap();
}

/// Where nothing can be waited for there are no scopes; data can be looked at anywhere.
pub fn handlers_and_functions_use_tasks(job: &Job) {
    let datum = Data::new(5u64);
    let seen = datum.clone();
    job.register_handler(1, move |_, _| assert!(seen.look(|value| *value).is_none_or(|value| value >= 5))).unwrap();
    job.barrier().unwrap();
    job.tasks(workers(job), |tasks| {
        for _ in 0..100 {
            tasks.task(datum.write(), |port, value| {
                *value += 1;
                port.send((port.rank() + 1) % port.size(), 1, 0, [0; 6], &[])
            })?;
        }
        Ok(())
    })
    .unwrap();
    job.barrier().unwrap();
    let combine = |total: &mut [u64], input: &[u64]| {
        check_refused(job.tasks(1, |_| Ok(())));
        super::add(total, input);
    };
    let mut sum = [1u64];
    job.world().unwrap().allreduce(&mut sum, combine).unwrap();
    assert_eq!(sum, [job.size() as u64]);
    job.barrier().unwrap();
}

/// A datum that a task has is named by a task that it spawns and waits for in vain: the wait is refused, and the child runs later.
pub fn a_task_waits_for_its_child(job: &Job) {
    let datum = Data::new(0);
    job.tasks(workers(job), |tasks| {
        let datum = &datum;
        tasks.task(datum.write(), move |_, value| {
            tasks.task(datum.write(), |_, value| Ok(*value *= 10))?;
            expect_error!(tasks.wait(), Error::Invalid(_));
            Ok(*value = 3)
        })
    })
    .unwrap();
    assert_eq!(datum.into_inner().unwrap(), 30);
    job.barrier().unwrap();
}

/// Drops are counted, however they come about.
struct Counted<'c>(&'c AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A waker that does something else when it is used: drops what it holds, polls a future where it stands, or panics.
struct Trap(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Trap {
    fn waker(what: impl FnOnce() + Send + 'static) -> Waker {
        Waker::from(Arc::new(Trap(Mutex::new(Some(Box::new(what))))))
    }
}

impl Wake for Trap {
    fn wake(self: Arc<Self>) {
        let what = lock(&self.0).take();
        if let Some(what) = what {
            what();
        }
    }
}

/// Futures cancel themselves, inside of their own poll and in a destructor, hold their own results, and cancel those that cancel them; the
/// results leave the scope, and are polled and cancelled afterwards.
pub fn futures_cancel_themselves(job: &Job) {
    let drops = AtomicUsize::new(0);
    let mut kept: Vec<Joined<u64>> = Vec::new();
    for round in 0..20 {
        let (slots, late) = (Mutex::new(Vec::<Joined<u64>>::new()), Mutex::new(Vec::new()));
        job.tasks(workers(job), |tasks| {
            let (slots, late, drops) = (&slots, &late, &drops);
            for number in 0..4 {
                let held = Counted(drops);
                let joined = tasks.spawn_joined(async move {
                    let _held = held;
                    for turn in 0..10 {
                        if turn == number {
                            lock(slots).iter().for_each(Joined::cancel);
                        }
                        yield_now().await;
                    }
                    Ok(round)
                })?;
                lock(slots).push(joined);
            }
            tasks.wait()?;
            lock(late).extend(std::mem::take(&mut *lock(slots)));
            Ok(())
        })
        .unwrap();
        kept.extend(late.into_inner().unwrap());
    }
    assert_eq!(drops.load(Ordering::SeqCst), 80);
    for mut joined in kept {
        joined.cancel();
        let polled = Pin::new(&mut joined).poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Ready(_)));
        assert!(Pin::new(&mut joined).poll(&mut Context::from_waker(Waker::noop())).is_ready());
    }
    job.barrier().unwrap();
}

/// Words that are awaited with wakers of the program's own, which drop, panic, and look at data that tasks write; in futures that are
/// moved between threads and dropped there while the word is written.
pub fn wakers_set_traps(job: &Job) {
    if job.is_simulated() {
        return;
    }
    let flag = job.symmetric::<u64>(1).unwrap();
    for round in 1..=30u64 {
        let datum = Data::new(0u64);
        let result = catch_unwind(AssertUnwindSafe(|| {
            job.tasks(workers(job), |tasks| {
                let flag = &flag;
                tasks.task(datum.write(), |_, value| Ok(*value += 1))?;
                let seen = datum.clone();
                let waker = Trap::waker(move || {
                    seen.look(|value| assert!(*value <= 2));
                    drop(seen);
                    if round % 3 == 0 {
                        resume_unwind(Box::new("on purpose"));
                    }
                });
                std::thread::scope(|threads| {
                    let mut word = Box::pin(tasks.word(flag.here(0), Until::AtLeast(round)));
                    assert!(word.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
                    let moved = threads.spawn(move || {
                        for _ in 0..round % 5 * 100 {
                            let _ = word.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                        }
                        let polled = word.as_mut().poll(&mut Context::from_waker(&waker));
                        drop(word);
                        polled.is_ready()
                    });
                    job.word(flag.here(0), round).unwrap();
                    let _ = tasks.wait();
                    moved.join().unwrap();
                });
                tasks.task(datum.write(), |_, value| Ok(*value += 1))
            })
        }));
        assert!(result.is_ok_and(|ended| ended.is_ok()) || round % 3 == 0);
        assert!(datum.into_inner().is_ok_and(|value| value <= 2));
    }
    job.barrier().unwrap();
}

/// What wakes futures of any executor is dropped by one of the wakers that it uses, in the middle of a poll, and on another thread, and it
/// outlives what it was made by.
pub fn events_are_dropped_by_their_wakers(job: &Job) {
    if job.is_simulated() {
        return;
    }
    let flag = job.symmetric::<u64>(1).unwrap();
    for round in 1..=10u64 {
        let port = job.open().unwrap();
        let events = Arc::new(port.events().unwrap());
        drop(port);
        let held = events.clone();
        let is_used = Arc::new(AtomicUsize::new(0));
        let used = is_used.clone();
        let waker = Trap::waker(move || {
            drop(held);
            used.store(1, Ordering::SeqCst);
        });
        {
            let mut word = Box::pin(events.word(flag.here(0), Until::AtLeast(round)));
            assert!(word.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            if round % 2 == 0 {
                std::mem::forget(word);
            }
        }
        drop(waker);
        std::thread::scope(|threads| {
            threads.spawn(move || drop(events));
            job.word(flag.here(0), round).unwrap();
        });
        while is_used.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
    }
    job.barrier().unwrap();
}

/// Scopes in futures of scopes, whose inner ones submit to the outer ones and wait for them; and all of them fail.
pub fn scopes_are_nested_and_fail(job: &Job) {
    for round in 0..10 {
        let (outer_datum, inner_datum, drops) = (Data::new(0u64), Data::new(0u64), AtomicUsize::new(0));
        let result = catch_unwind(AssertUnwindSafe(|| {
            job.tasks(1, |outer| {
                let (outer_datum, inner_datum, drops) = (&outer_datum, &inner_datum, &drops);
                outer.spawn_local(async move {
                    yield_now().await;
                    job.tasks(1, |inner| {
                        for number in 0..10 {
                            let held = Counted(drops);
                            outer.task(outer_datum.write(), move |_, value| {
                                let _held = held;
                                Ok(*value += 1)
                            })?;
                            let held = Counted(drops);
                            inner.task(inner_datum.write(), move |_, value| {
                                let _held = held;
                                if number == round {
                                    resume_unwind(Box::new("on purpose"));
                                }
                                Ok(*value += 1)
                            })?;
                            if number == 5 {
                                expect_error!(outer.wait(), Error::Invalid(_));
                            }
                        }
                        // Behind all of them, in a scope that goes on when this one has ended.
                        outer.task((outer_datum.write(), inner_datum.read()), |_, (value, _)| Ok(*value += 1))?;
                        if round % 2 == 0 { Ok(inner.cancel()) } else { Ok(()) }
                    })
                })
            })
        }));
        assert_eq!(result.is_err(), round % 2 == 1, "what fails inside fails outside");
        assert_eq!(drops.load(Ordering::SeqCst), 20, "round {round}");
        assert!(outer_datum.into_inner().is_ok() && inner_datum.into_inner().is_ok());
    }
    job.barrier().unwrap();
}

/// Threads that are no workers submit tasks, spawn futures and cancel them, while the scope fails.
pub fn threads_submit_while_a_scope_fails(job: &Job) {
    if job.is_simulated() {
        return;
    }
    for round in 0..20u64 {
        let (drops, spawned, datum) = (AtomicUsize::new(0), AtomicUsize::new(0), Data::new(0u64));
        let result = job.tasks(workers(job), |tasks| {
            let (drops, spawned, datum) = (&drops, &spawned, &datum);
            std::thread::scope(|threads| {
                for thread in 0..3 {
                    threads.spawn(move || {
                        for number in 0..50 {
                            let (one, other) = (Counted(drops), Counted(drops));
                            spawned.fetch_add(2, Ordering::SeqCst);
                            tasks
                                .task(datum.write(), move |_, value| {
                                    let _one = one;
                                    *value += 1;
                                    if (thread, number) == (1, round) {
                                        Err(Error::Invalid("on purpose".into()))
                                    } else {
                                        Ok(())
                                    }
                                })
                                .unwrap();
                            let joined = tasks
                                .spawn_joined(async move {
                                    let _other = other;
                                    yield_now().await;
                                    Ok(())
                                })
                                .unwrap();
                            if number % 2 == 0 {
                                joined.cancel();
                            }
                        }
                    });
                }
            });
            Ok(())
        });
        expect_error!(result, Error::Invalid(_));
        assert_eq!(drops.load(Ordering::SeqCst), spawned.load(Ordering::SeqCst));
        assert!(datum.into_inner().is_ok());
    }
    job.barrier().unwrap();
}

/// A future that has never come to its end, and gives way again and again, keeps no other one from looking again.
pub fn a_future_never_rests(job: &Job) {
    for local in [false, true] {
        let is_done = AtomicBool::new(false);
        job.tasks(1, |tasks| {
            let is_done = &is_done;
            let restless = async move {
                while !is_done.load(Ordering::SeqCst) {
                    yield_now().await;
                }
                Ok(())
            };
            if local { tasks.spawn_local(restless) } else { tasks.spawn(restless) }?;
            tasks.spawn(async move {
                let mut looks = 0;
                let look = || {
                    looks += 1;
                    Ok((looks > 5).then_some(()))
                };
                tasks.until(look).await?;
                Ok(is_done.store(true, Ordering::SeqCst))
            })
        })
        .unwrap();
    }
    job.barrier().unwrap();
}

/// Nor does one of the first thread keep that from what other threads have woken.
pub fn a_future_of_the_first_thread_never_rests(job: &Job) {
    if job.is_simulated() {
        return;
    }
    for _ in 0..10 {
        let (is_done, kept) = (AtomicBool::new(false), Mutex::new(None::<Waker>));
        std::thread::scope(|threads| {
            threads.spawn(|| {
                let woken = || {
                    let waker = lock(&kept).take();
                    waker.map(Waker::wake).is_some()
                };
                spin_until(woken);
            });
            job.tasks(1, |tasks| {
                let (is_done, kept) = (&is_done, &kept);
                tasks.spawn(async move {
                    let mut has_slept = false;
                    poll_fn(|context| {
                        if std::mem::replace(&mut has_slept, true) {
                            return Poll::Ready(());
                        }
                        *lock(kept) = Some(context.waker().clone());
                        Poll::Pending
                    })
                    .await;
                    Ok(is_done.store(true, Ordering::SeqCst))
                })?;
                tasks.spawn_local(async move {
                    while !is_done.load(Ordering::SeqCst) {
                        yield_now().await;
                    }
                    Ok(())
                })
            })
            .unwrap();
        });
    }
    job.barrier().unwrap();
}

/// A task that submits itself again, behind itself, keeps nothing from running that was there before.
pub fn a_task_follows_itself(job: &Job) {
    fn follow<'s>(tasks: &'s Tasks<'s, '_>, datum: &'s Data<u64>, is_done: &'s AtomicBool) -> hikyaku::Result<()> {
        tasks.task(datum.write(), move |_, count| {
            *count += 1;
            if is_done.load(Ordering::SeqCst) { Ok(()) } else { follow(tasks, datum, is_done) }
        })
    }
    let (datum, is_done) = (Data::new(0), AtomicBool::new(false));
    job.tasks(1, |tasks| {
        follow(tasks, &datum, &is_done)?;
        let is_done = &is_done;
        tasks.task((), move |_, ()| Ok(is_done.store(true, Ordering::SeqCst)))
    })
    .unwrap();
    assert!(datum.into_inner().is_ok_and(|count| count > 0));
    job.barrier().unwrap();
}

/// A task blocks its worker until something has run that is ready there, while the other worker has something to do all the time.
pub fn a_task_blocks_what_is_ready_behind_it(job: &Job) {
    if job.is_simulated() {
        return;
    }
    for _ in 0..10 {
        let is_done = AtomicBool::new(false);
        job.tasks(2, |tasks| {
            let is_done = &is_done;
            tasks.spawn(async move {
                while !is_done.load(Ordering::SeqCst) {
                    yield_now().await;
                }
                Ok(())
            })?;
            tasks.task((), move |_, ()| {
                tasks.task((), move |_, ()| Ok(is_done.store(true, Ordering::SeqCst)))?;
                while !is_done.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
                Ok(())
            })
        })
        .unwrap();
    }
    job.barrier().unwrap();
}

/// A waker that counts those of its kind.
struct Living(Arc<AtomicUsize>);

impl Living {
    fn waker(count: &Arc<AtomicUsize>) -> Waker {
        count.fetch_add(1, Ordering::SeqCst);
        Waker::from(Arc::new(Living(count.clone())))
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Wake for Living {
    fn wake(self: Arc<Self>) {}
}

/// The result of a future is awaited by another waker each time it is asked for: no more than the last is kept.
pub fn a_result_is_awaited_by_ever_other_wakers(job: &Job) {
    let (flag, living) = (job.symmetric::<u64>(1).unwrap(), Arc::new(AtomicUsize::new(0)));
    job.tasks(workers(job), |tasks| {
        let flag = &flag;
        let mut joined =
            tasks.spawn_joined(async move { tasks.word(flag.here(0), Until::Equal(1)).await.map(|_| ()) })?;
        for _ in 0..1000 {
            let waker = Living::waker(&living);
            assert!(Pin::new(&mut joined).poll(&mut Context::from_waker(&waker)).is_pending());
            drop(waker);
            assert_eq!(living.load(Ordering::SeqCst), 1);
        }
        joined.cancel();
        Ok(())
    })
    .unwrap();
    assert_eq!(living.load(Ordering::SeqCst), 0);
    job.free(flag).unwrap();
}

/// Workers have slept before there was anything that must be asked again and again: one wakes up for it, though the others are busy.
pub fn workers_slept_before_the_first_look(job: &Job) {
    if job.is_simulated() {
        return;
    }
    job.tasks(2, |tasks| {
        std::thread::sleep(Duration::from_millis(50));
        let is_woken = Arc::new(AtomicBool::new(false));
        let woken = is_woken.clone();
        let waker = Trap::waker(move || woken.store(true, Ordering::SeqCst));
        let mut look = Box::pin(tasks.until(|| Ok(None::<()>)));
        assert!(look.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        // Of this thread nobody is served meanwhile.
        let begin = Instant::now();
        while !is_woken.load(Ordering::SeqCst) {
            assert!(begin.elapsed() < Duration::from_secs(5), "nobody asks");
            std::thread::yield_now();
        }
        Ok(())
    })
    .unwrap();
    job.barrier().unwrap();
}
