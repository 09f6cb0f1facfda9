//! The words of a slot, explored by a model checker like the protocols in `loom.rs`.

#![cfg(loom)]

use hikyaku::message::slot::{Deal, Head, Kind, Post, Told};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

/// Memory whose use only the protocol orders: loom reports two accesses that nothing orders.
struct Memory(UnsafeCell<u64>);

// SAFETY: sharing it unordered is what the models look for; loom stops at the first such access.
unsafe impl Sync for Memory {}

impl Memory {
    fn new() -> Memory {
        Memory(UnsafeCell::new(0))
    }

    fn get(&self) -> u64 {
        // SAFETY: loom has checked that no write overlaps.
        self.0.with(|value| unsafe { *value })
    }

    fn set(&self, new: u64) {
        // SAFETY: loom has checked that no other access overlaps.
        self.0.with_mut(|value| unsafe { *value = new })
    }
}

fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(model);
}

/// Messages through one bounce buffer: the receiver reads what belongs to the head, and the sender writes again only
/// after it was taken. Fails if `Head::publish` or `Post::publish` stores relaxed.
#[test]
fn a_slot_hands_its_buffer_back_and_forth() {
    explore(3, || {
        let shared = Arc::new((Head::new(), Post::new(), Memory::new()));
        let sender = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (head, post, bounce) = &*shared;
                for number in 1..=2 {
                    while post.look().0 + 1 < number {
                        thread::yield_now();
                    }
                    bounce.set(number * 10);
                    head.publish(number, Told { kind: Kind::Bounce, bytes: 8, taken: number + 4, value: number });
                }
            })
        };
        let (head, post, bounce) = &*shared;
        for number in 1..=2 {
            let told = loop {
                if let Some(told) = head.look(number) {
                    break told;
                }
                thread::yield_now();
            };
            assert_eq!(told, Told { kind: Kind::Bounce, bytes: 8, taken: number + 4, value: number });
            assert_eq!(bounce.get(), number * 10);
            post.publish(number, false);
        }
        sender.join().unwrap();
    });
}

const CHUNKS: u64 = 2;

fn copy_chunks(deal: &Deal, number: u64, buffer: &[Memory; CHUNKS as usize]) {
    while let Some(chunk) = deal.claim(number, CHUNKS) {
        // Two who had claimed the same chunk would race here.
        buffer[chunk as usize].set(number * 100 + chunk);
        deal.copied();
    }
}

/// A long message copied by both sides: every chunk once, and all of them before either side goes on. Fails if
/// `Deal::copied` is relaxed, or if `Deal::claim` adds without looking at the number.
#[test]
fn both_sides_copy_each_chunk_once() {
    explore(3, || {
        let shared = Arc::new((Deal::new(), Post::new(), [Memory::new(), Memory::new()]));
        let sender = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (deal, post, buffer) = &*shared;
                while !post.look().1 {
                    thread::yield_now();
                }
                copy_chunks(deal, 1, buffer);
                while !deal.done(1, CHUNKS) {
                    thread::yield_now();
                }
            })
        };
        let (deal, post, buffer) = &*shared;
        deal.open(1);
        post.publish(0, true);
        copy_chunks(deal, 1, buffer);
        while !deal.done(1, CHUNKS) {
            thread::yield_now();
        }
        assert_eq!([buffer[0].get(), buffer[1].get()], [100, 101]);
        sender.join().unwrap();
    });
}

/// A receive that is given up: after a successful withdrawal nobody writes to its buffer. Fails if `Deal::withdraw`
/// succeeds although a chunk was claimed.
#[test]
fn nobody_writes_after_a_withdrawal() {
    explore(3, || {
        let shared = Arc::new((Deal::new(), Post::new(), [Memory::new(), Memory::new()]));
        let (deal, post, _) = &*shared;
        deal.open(1);
        post.publish(0, true);
        let sender = {
            let shared = shared.clone();
            thread::spawn(move || copy_chunks(&shared.0, 1, &shared.2))
        };
        let (deal, post, buffer) = &*shared;
        if deal.withdraw(1) {
            post.publish(0, false);
        } else {
            while !deal.done(1, CHUNKS) {
                thread::yield_now();
            }
        }
        // The buffer is the receiver's own again.
        buffer[0].set(7);
        buffer[1].set(7);
        sender.join().unwrap();
        assert_eq!([buffer[0].get(), buffer[1].get()], [7, 7]);
    });
}
