//! Remote queues.

use super::check_refused;
use crate::support::other;
use hikyaku::{Job, Queue};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

/// Items that are forgotten are freed by the next pop, and never popped twice.
pub fn items_are_forgotten(job: &Job) {
    let mut queue = job.queue::<u64>(0, 3).unwrap();
    if job.rank() == 0 {
        let mut next = vec![0; job.size()];
        for turn in 0..100 * (job.size() - 1) {
            let item = queue.pop().unwrap();
            assert_eq!(item.get(), next[item.rank()]);
            next[item.rank()] += 1;
            if turn % 3 != 0 {
                std::mem::forget(item);
            }
        }
        std::mem::forget(queue.try_pop().unwrap());
    } else {
        (0..100).for_each(|number| queue.push(number).unwrap());
    }
    queue.free().unwrap();
}

/// A queue that is forgotten keeps its memory: nobody else's is written by those who push.
pub fn a_queue_is_forgotten(job: &Job) {
    for round in 1..=5u64 {
        let queue = job.queue::<u64>(0, 100).unwrap();
        let words = if job.rank() == 0 {
            std::mem::forget(queue);
            let words = job.symmetric::<u64>(1000).unwrap();
            job.barrier().unwrap();
            words
        } else {
            let words = job.symmetric::<u64>(1000).unwrap();
            (0..50).for_each(|_| assert!(queue.try_push(round).unwrap()));
            job.barrier().unwrap();
            std::mem::forget(queue);
            words
        };
        job.barrier().unwrap();
        assert!(words.to_vec().iter().all(|word| *word == 0), "round {round}");
        job.free(words).unwrap();
    }
}

/// A panic while an item is read frees it.
pub fn a_panic_drops_an_item(job: &Job) {
    let mut queue = job.queue::<u64>(0, 2).unwrap();
    if job.rank() == 0 {
        for number in 0..20 {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                let item = queue.pop().unwrap();
                assert_eq!(item.get(), number);
                resume_unwind(Box::new("on purpose"));
            }));
            assert!(caught.is_err());
        }
    } else {
        (0..20).for_each(|number| queue.push(number).unwrap());
    }
    queue.free().unwrap();
}

/// Functions that run inside a call cannot wait for others; to push where there is room and to look are no waits.
pub fn a_function_uses_a_queue(job: &Job) {
    let mut queue = job.queue::<u64>(0, 1).unwrap();
    while queue.try_push(7).unwrap() {}
    let cell = std::cell::RefCell::new(&mut queue);
    let combine = |total: &mut [u64], input: &[u64]| {
        let queue = cell.borrow();
        check_refused(job.queue::<u64>(0, 10));
        check_refused(queue.push(1));
        check_refused(queue.push_for(1, Duration::from_secs(1)));
        assert_eq!(queue.try_push_many(&[1, 2]).unwrap(), 0);
        super::add(total, input);
    };
    job.world().unwrap().allreduce(&mut vec![1u64; 100], combine).unwrap();
    job.barrier().unwrap();
    if job.rank() == 0 {
        let mut count = 0;
        while let Some(item) = queue.try_pop().unwrap() {
            assert_eq!(item.get(), 7);
            count += 1;
        }
        assert!(count >= job.size());
    }
    queue.free().unwrap();
}

/// Panics; and what ends the items of a producer whose handlers do.
const PANICS: u16 = 1;
const END: u64 = u64::MAX;

/// Handlers panic in the middle of pushes: an item that was pushed is there once, and the queue goes on.
pub fn handlers_panic_in_pushes(job: &Job) {
    job.register_handler(PANICS, |_, _| resume_unwind(Box::new("on purpose"))).unwrap();
    // A number, and the last one before it whose push has returned.
    let mut queue = job.queue::<[u64; 2]>(0, 20).unwrap();
    job.barrier().unwrap();
    if job.rank() == 1 {
        push_with_panics(job, &queue);
    } else {
        let mut popped = vec![0];
        loop {
            let [number, before] = queue.pop().unwrap().get();
            assert!(popped.binary_search(&before).is_ok(), "{before} is missing before {number}");
            if number == END {
                break;
            }
            assert!(number > *popped.last().unwrap(), "{number} after {:?}", popped.last());
            popped.push(number);
        }
    }
    job.barrier().unwrap();
    queue.free().unwrap();
}

fn push_with_panics(job: &Job, queue: &Queue<'_, [u64; 2]>) {
    let mut before = 0;
    for number in 1..3000 {
        let pushes = || {
            if number % 11 == 0 {
                job.send(1, PANICS, 0, [0; 6], &[]).unwrap();
            }
            match number % 3 {
                0 => queue.push_many(&[[number, before]]).unwrap(),
                _ => queue.push([number, before]).unwrap(),
            }
        };
        if catch_unwind(AssertUnwindSafe(pushes)).is_ok() {
            before = number;
        }
    }
    // What is left to be raised.
    while catch_unwind(AssertUnwindSafe(|| job.progress())).is_err() {}
    queue.push([END, before]).unwrap();
}

/// Items are dropped in a function, where nothing can be waited for: their producer is told of its room all the same.
pub fn a_function_drops_items(job: &Job) {
    let peer = other(job);
    let queues = [0, 1].map(|owner| RefCell::new(job.queue::<u64>(owner, 8).unwrap()));
    let (own, others) = (&queues[job.rank()], &queues[peer]);
    let vector = job.register(1, vec![0u8; 100_000]).unwrap();
    job.barrier().unwrap();
    let remote = job.open_area::<u8>(peer, 1).unwrap();
    for _ in 0..20 {
        while others.borrow().try_push(7).unwrap() {}
        job.barrier().unwrap();
        // Not all of it is there yet, where its owner must take it.
        job.push(remote.at(0), &[1; 100_000]).unwrap();
        let combine = |total: &mut [u64], input: &[u64]| {
            while own.borrow_mut().try_pop().unwrap().is_some() {}
            super::add(total, input);
        };
        job.world().unwrap().allreduce(&mut vec![1u64; 100], combine).unwrap();
        // Where nothing of it was combined here.
        while own.borrow_mut().try_pop().unwrap().is_some() {}
        job.barrier().unwrap();
        (0..8).for_each(|_| others.borrow().push(7).unwrap());
        job.barrier().unwrap();
        while own.borrow_mut().try_pop().unwrap().is_some() {}
        job.barrier().unwrap();
    }
    drop(vector);
    for queue in queues {
        queue.into_inner().free().unwrap();
    }
}
