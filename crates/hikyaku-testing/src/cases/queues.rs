//! Remote queues.

use crate::support::expect_error;
use hikyaku::{Error, Job, Queue};
use std::time::Duration;

type Load = [u64; 3];

fn load(rank: usize, number: u64) -> Load {
    [rank as u64, number, ((rank as u64 + 3) * 0x9e37_79b9) ^ number]
}

fn check(next: &mut [u64], rank: usize, item: Load) {
    assert_eq!(item, load(rank, next[rank]), "of rank {rank}");
    next[rank] += 1;
}

/// All push, the owner too, in every way; one pops in every way.
pub fn items_come_once_and_in_order(job: &Job) {
    let items = if job.is_simulated() { 60 } else { 3000 };
    let size = job.size();
    for (owner, capacity) in [(0, 5), (size - 1, 100)] {
        let mut queue = job.queue::<Load>(owner, capacity).unwrap();
        assert_eq!((queue.owner(), queue.capacity()), (owner, capacity));
        match job.rank() == owner {
            true => consume(job, &mut queue, items),
            false => produce(job, &queue, items),
        }
        queue.free().unwrap();
    }
}

fn produce(job: &Job, queue: &Queue<'_, Load>, items: u64) {
    let mut next = 0;
    while next < items {
        match next % 4 {
            0 => queue.push(load(job.rank(), next)).unwrap(),
            1 => queue.push_for(load(job.rank(), next), Duration::from_secs(60)).unwrap(),
            2 => {
                let many: Vec<Load> = (next..items.min(next + 23)).map(|number| load(job.rank(), number)).collect();
                queue.push_many(&many).unwrap();
                next += many.len() as u64;
                continue;
            }
            _ => {
                while !queue.try_push(load(job.rank(), next)).unwrap() {
                    job.progress();
                }
            }
        }
        next += 1;
    }
}

fn consume(job: &Job, queue: &mut Queue<'_, Load>, items: u64) {
    let (me, size) = (job.rank(), job.size());
    // What the owner pushes itself is there at once.
    assert!(queue.try_push(load(me, 0)).unwrap());
    let (mut next, mut left) = (vec![0; size], items * (size as u64 - 1) + 1);
    while left > 0 {
        match left % 3 {
            0 => {
                let item = queue.pop().unwrap();
                check(&mut next, item.rank(), item.get());
                left -= 1;
                if left % 2 == 0 {
                    std::mem::forget(item);
                }
            }
            1 => {
                let popped = queue.pop_many(17).unwrap();
                popped.iter().for_each(|item| check(&mut next, popped.rank(), item));
                left -= popped.len() as u64;
            }
            _ => match queue.try_pop().unwrap() {
                Some(item) => {
                    let mut second = [0; 8];
                    item.read(8, &mut second);
                    assert_eq!(u64::from_ne_bytes(second), next[item.rank()]);
                    check(&mut next, item.rank(), item.get());
                    left -= 1;
                }
                None => _ = job.progress(),
            },
        }
    }
    assert!(queue.try_pop().unwrap().is_none());
}

/// There is room for as many items as were promised, and not for any number.
pub fn a_full_queue_says_so(job: &Job) {
    for capacity in [1, 2, 3, 7, 64] {
        let mut queue = job.queue::<u64>(0, capacity).unwrap();
        if job.rank() == 1 {
            let mut pushed = 0;
            while queue.try_push(pushed).unwrap() {
                pushed += 1;
            }
            assert!((capacity as u64..=4 * capacity as u64 + 4).contains(&pushed), "{pushed} of {capacity}");
            let late = queue.push_for(0, Duration::from_millis(1));
            expect_error!(late, Error::Timeout { .. });
            assert_eq!(queue.try_push_many(&[0; 10]).unwrap(), 0);
            job.barrier().unwrap();
            // The owner pops one after the other: as many as were promised always fit.
            job.barrier().unwrap();
            let again = queue.try_push_many(&vec![9; capacity]).unwrap();
            assert_eq!(again, capacity);
            job.barrier().unwrap();
        } else {
            job.barrier().unwrap();
            if job.rank() == 0 {
                for number in 0.. {
                    match queue.try_pop().unwrap() {
                        Some(item) => assert_eq!(item.get(), number),
                        None => break,
                    }
                }
            }
            job.barrier().unwrap();
            job.barrier().unwrap();
        }
        queue.free().unwrap();
    }
}

/// A producer that has left has left its items behind; the last to leave ends the wait.
pub fn producers_leave(job: &Job) {
    let mut queue = job.queue::<u64>(0, 10).unwrap();
    job.barrier().unwrap();
    if job.rank() > 0 {
        (0..5).for_each(|number| queue.push(number).unwrap());
        return;
    }
    for _ in 0..5 * (job.size() - 1) {
        assert!(queue.pop().unwrap().get() < 5);
    }
    expect_error!(queue.pop().map(drop), Error::PeerLeft { .. });
    expect_error!(queue.pop_for(Duration::from_secs(60)).map(drop), Error::PeerLeft { .. });
}

/// Nobody pushes to an owner that has left.
pub fn the_owner_leaves(job: &Job) {
    let queue = job.queue::<u64>(0, 2).unwrap();
    if job.rank() == 0 {
        return;
    }
    let error = loop {
        if let Err(error) = queue.push(1) {
            break error;
        }
    };
    assert!(matches!(error, Error::PeerLeft { rank: 0 }), "{error}");
}

/// What is wrong is an error, on all ranks where all have to do with it.
pub fn wrong_uses_of_queues_are_refused(job: &Job) {
    expect_error!(job.queue::<u64>(0, 0), Error::Invalid(_));
    expect_error!(job.queue::<u64>(0, usize::MAX), Error::Invalid(_));
    expect_error!(job.queue::<[u64; 0]>(0, 10), Error::Invalid(_));
    expect_error!(job.queue::<u64>(job.size(), 10), Error::NoSuchRank { .. });
    let differ = job.queue::<u64>(job.rank(), 10);
    expect_error!(differ, Error::Mismatch { operation: "queue", .. });
    let differ = job.queue::<u64>(0, 10 + 100 * job.rank());
    expect_error!(differ, Error::Mismatch { operation: "queue", .. });
    let mut queue = job.queue::<u64>(0, 10).unwrap();
    if job.rank() > 0 {
        expect_error!(queue.pop().map(drop), Error::Invalid(_));
        expect_error!(queue.try_pop().map(drop), Error::Invalid(_));
        expect_error!(queue.pop_many(3).map(drop), Error::Invalid(_));
    } else {
        let late = queue.pop_for(Duration::from_millis(1)).map(drop);
        expect_error!(late, Error::Timeout { .. });
    }
    queue.free().unwrap();
}
