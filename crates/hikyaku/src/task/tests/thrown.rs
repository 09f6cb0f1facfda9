//! Whatever destructors and wakers of the program throw, a scope ends whole.

use super::alone;
use crate::Until;
use crate::task::{Data, when};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Its destructor panics, unless something is unwinding already.
struct Sore;

impl Drop for Sore {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("a payload that is dropped");
        }
    }
}

/// Its destructor throws such a payload.
struct Thrower;

impl Drop for Thrower {
    fn drop(&mut self) {
        std::panic::panic_any(Sore);
    }
}

#[test]
fn a_scope_ends_whole_whatever_is_thrown() {
    alone(|job| {
        let datum = Data::new(0u64);
        let (held, is_held) = (datum.clone(), std::sync::Barrier::new(2));
        std::thread::scope(|threads| {
            threads.spawn(|| {
                held.look(|_| {
                    is_held.wait();
                    std::thread::sleep(Duration::from_millis(50));
                })
            });
            is_held.wait();
            let ended = AtomicU64::new(0);
            let result = catch_unwind(AssertUnwindSafe(|| {
                let borrowed = [7u64; 100];
                job.tasks(1, |tasks| {
                    let ended = Counted(&ended);
                    let borrowed = &borrowed;
                    tasks.task(datum.write(), move |_, value| {
                        let _ended = ended;
                        *value = borrowed[9];
                        Ok(())
                    })?;
                    let thrower = Data::new(Thrower);
                    tasks.task(thrower.read(), |_, _| panic!("the first"))?;
                    drop(thrower);
                    Ok(())
                })
            }));
            assert_eq!(*result.unwrap_err().downcast::<&str>().unwrap(), "the first");
            assert_eq!(ended.load(Ordering::SeqCst), 1, "the task that waited has ended before its scope has");
        });
        Ok(())
    });
}

/// Counts when it is dropped.
struct Counted<'a>(&'a AtomicU64);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

struct BadWaker;

impl std::task::Wake for BadWaker {
    fn wake(self: std::sync::Arc<Self>) {
        panic!("a waker");
    }
}

#[test]
fn a_waker_that_panics_is_a_failure_of_the_scope() {
    alone(|job| {
        let flag = job.symmetric::<u64>(1)?;
        let ended = AtomicU64::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            job.tasks(2, |tasks| {
                let flag = &flag;
                let mut word = Box::pin(tasks.word(flag.here(0), Until::Equal(1)));
                let waker = std::task::Waker::from(std::sync::Arc::new(BadWaker));
                assert!(word.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
                std::mem::forget(word);
                let counted = Counted(&ended);
                tasks.task(when(flag.here(0), Until::Equal(1)), move |_, _| {
                    let _counted = counted;
                    Ok(())
                })?;
                tasks.task((), |port, ()| port.word(flag.here(0), 1))
            })
        }));
        assert_eq!(*result.unwrap_err().downcast::<&str>().unwrap(), "a waker");
        assert_eq!(ended.load(Ordering::SeqCst), 1);
        Ok(())
    });
}

#[test]
fn a_future_whose_destructor_panics_is_a_failure() {
    alone(|job| {
        let result = catch_unwind(AssertUnwindSafe(|| {
            job.tasks(2, |tasks| {
                tasks.spawn(async {
                    let _sore = Sore;
                    std::future::pending::<()>().await;
                    Ok(())
                })?;
                tasks.task((), |_, ()| Ok(tasks.cancel()))
            })
        }));
        assert_eq!(*result.unwrap_err().downcast::<&str>().unwrap(), "a payload that is dropped");
        Ok(())
    });
}

#[test]
fn events_go_on_after_a_waker_that_panics() {
    alone(|job| {
        let flags = job.symmetric::<u64>(1)?;
        let events = job.open()?.events()?;
        let mut word = Box::pin(events.word(flags.here(0), Until::Equal(1)));
        let bad = std::task::Waker::from(std::sync::Arc::new(BadWaker));
        assert!(word.as_mut().poll(&mut std::task::Context::from_waker(&bad)).is_pending());
        std::thread::sleep(Duration::from_millis(20));
        struct Unpark(std::thread::Thread);
        impl std::task::Wake for Unpark {
            fn wake(self: std::sync::Arc<Self>) {
                self.0.unpark();
            }
        }
        let good = std::task::Waker::from(std::sync::Arc::new(Unpark(std::thread::current())));
        job.word(flags.here(0), 1)?;
        let begin = std::time::Instant::now();
        while word.as_mut().poll(&mut std::task::Context::from_waker(&good)).is_pending() {
            assert!(begin.elapsed() < Duration::from_secs(5), "nobody is woken any more");
            std::thread::park_timeout(Duration::from_millis(100));
        }
        let mut later = Box::pin(events.word(flags.here(0), Until::Equal(2)));
        assert!(later.as_mut().poll(&mut std::task::Context::from_waker(&good)).is_pending());
        job.word(flags.here(0), 2)?;
        while later.as_mut().poll(&mut std::task::Context::from_waker(&good)).is_pending() {
            assert!(begin.elapsed() < Duration::from_secs(5), "nobody is woken any more");
            std::thread::park_timeout(Duration::from_secs(5));
        }
        Ok(())
    });
}
