//! Ports that threads share.

use crate::support::{beside, expect_error, other};
use hikyaku::{By, Error, Job, PortPool, Until};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier};

/// What was forgotten is lost; the thread that forgot it hears so and does not wait, and what is left of the pool serves everybody.
pub fn a_lent_port_is_forgotten(job: &Job) {
    let (total, pool) = (job.symmetric::<u64>(1).unwrap(), job.pool(2).unwrap());
    std::mem::forget(pool.take().unwrap());
    for _ in 0..10 {
        let port = pool.take().unwrap();
        port.fetch_add(total.at(0, 0), 1).unwrap();
        expect_error!(pool.take(), Error::NoPort { .. });
    }
    let add = || pool.take().unwrap().fetch_add(total.at(0, 0), 1).unwrap();
    beside(job, (0..10).map(|_| || assert!(add() < 40)), || {});
    std::mem::forget(pool.take().unwrap());
    expect_error!(pool.take(), Error::NoPort { .. });
    assert!(pool.try_take().is_none());
    drop(pool);
    job.barrier().unwrap();
    assert_eq!(job.pull_one(total.at(0, 0)).unwrap(), 40);
    job.barrier().unwrap();
}

/// Each has what the other asks for: both hear that there is none, and go on.
pub fn threads_that_have_a_port_ask_for_another(job: &Job) {
    const THREADS: usize = 2;
    let (pool, other_pool) = (job.pool(THREADS).unwrap(), job.pool(1).unwrap());
    let _gone = other_pool.try_take();
    // Simulated ranks have one thread.
    let is_alone = job.is_simulated();
    let gate = Barrier::new(if is_alone { 1 } else { THREADS });
    let both = || {
        let first = pool.take().unwrap();
        let _second = if is_alone { pool.try_take() } else { None };
        gate.wait();
        expect_error!(pool.take(), Error::NoPort { .. });
        // Of no pool: two pools would do as well.
        expect_error!(other_pool.take(), Error::NoPort { .. });
        gate.wait();
        first.sync().unwrap();
    };
    beside(job, (0..THREADS).map(|_| &both), || {});
    assert!(pool.try_take().is_some());
    job.barrier().unwrap();
}

/// It may take one that is free. It does not wait for one, and with the one it has it does not wait, either.
pub fn a_handler_asks_for_a_port(job: &Job) {
    let pool = Arc::new(job.pool(1).unwrap());
    let words = Arc::new(job.symmetric::<u64>(2).unwrap());
    let (in_handler, there) = (pool.clone(), words.clone());
    job.register_handler(1, move |_, message| {
        let from = message.source;
        match in_handler.take() {
            Ok(port) => {
                expect_error!(port.wait(there.here(0), Until::Equal(77)), Error::InHandler);
                port.word(there.at(from, 0), 1).unwrap();
            }
            Err(error) => {
                assert!(matches!(error, Error::InHandler), "{error:?}");
                there.set(1, 1);
            }
        }
    })
    .unwrap();
    job.barrier().unwrap();
    job.send(other(job), 1, 0, [0; 6], &[]).unwrap();
    job.wait(words.here(0), Until::Equal(1)).unwrap();
    job.barrier().unwrap();
    // Everybody has it before the first message.
    let lent = pool.take().unwrap();
    job.barrier().unwrap();
    lent.send(other(job), 1, 0, [0; 6], &[]).unwrap();
    lent.wait(words.here(1), Until::Equal(1)).unwrap();
    drop(lent);
    job.barrier().unwrap();
}

/// Whatever was under way, and however often.
pub fn a_panic_gives_a_port_back(job: &Job) {
    let (words, pool) = (job.symmetric::<u64>(100).unwrap(), job.pool(1).unwrap());
    for turn in 1..=20 {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let port = pool.take().unwrap();
            port.push(words.at(other(job), 0), &[turn; 100]).unwrap();
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
    }
    let port = pool.take().unwrap();
    port.word(words.at(other(job), 0), 99).unwrap();
    job.wait(words.here(0), Until::Equal(99)).unwrap();
    assert_eq!(words.get(99), 20);
    drop(port);
    job.barrier().unwrap();
}

/// Its ports work as long as they are there.
pub fn a_pool_outlives_its_job(job: &Job) {
    let (pool, words) =
        hikyaku::local(1, |inner| (inner.pool(2).unwrap(), inner.symmetric::<u64>(8).unwrap())).unwrap().remove(0);
    let add = || {
        for _ in 0..100 {
            pool.take().unwrap().fetch_add(words.at(0, 0), 1).unwrap();
        }
    };
    beside(job, (0..10).map(|_| &add), || {});
    assert_eq!(words.get(0), 1000);
    expect_error!(pool.take().unwrap().push(job.symmetric::<u64>(1).unwrap().here(0), &[1]), Error::ForeignArea);
    drop(words);
    pool.take().unwrap().sync().unwrap();
}

/// Of nothing, of ports of several jobs, of more than there can be.
pub fn pools_are_made_up(job: &Job) {
    let nobody = PortPool::new(Vec::new()).unwrap();
    assert!(nobody.is_empty() && nobody.try_take().is_none());
    expect_error!(nobody.take(), Error::NoPort { .. });
    expect_error!(job.pool(1000), Error::NoPort { .. });
    let theirs = || hikyaku::local(1, |inner| inner.open().unwrap()).unwrap().remove(0);
    let mixed = PortPool::new(vec![theirs(), job.open().unwrap(), theirs()]).unwrap();
    let word = job.symmetric::<u64>(1).unwrap();
    let (one, two, three) = (mixed.take().unwrap(), mixed.take().unwrap(), mixed.take().unwrap());
    expect_error!(mixed.take(), Error::NoPort { .. });
    expect_error!(one.push(word.here(0), &[1]), Error::ForeignArea);
    two.push(word.here(0), &[1]).unwrap();
    expect_error!(three.push(word.here(0), &[1]), Error::ForeignArea);
    assert_eq!(word.get(0), 1);
    let many: Vec<_> = (0..65).map(|_| theirs()).collect();
    expect_error!(PortPool::new(many), Error::Invalid(_));
}

/// It waits with one while others share the rest.
pub fn a_lent_port_is_used_while_its_thread_waits(job: &Job) {
    let (words, pool) = (job.symmetric::<u64>(2).unwrap(), job.pool(2).unwrap());
    let waiting = pool.take().unwrap();
    let peer = other(job);
    let tell = || pool.take().unwrap().fetch_add(words.at(peer, 0), 1).unwrap();
    let wait = || assert_eq!(waiting.wait_from(By::Rank(peer), words.here(0), Until::Equal(50)).unwrap(), 50);
    beside(job, (0..50).map(|_| || assert!(tell() < 50)), wait);
    job.barrier().unwrap();
}
