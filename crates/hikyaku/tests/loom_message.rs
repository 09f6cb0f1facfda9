//! The words of a slot, explored by a model checker like the protocols in `loom.rs`.

#![cfg(loom)]

mod model;

use hikyaku::message::slot::{Deal, Head, Kind, Marks, Post, Told, bounce_of, bounce_value};
use loom::sync::Arc;
use loom::thread;
use model::{Memory, explore};

/// Messages through one bounce buffer of two pieces: the receiver reads the first as soon as the head is there, the second
/// when it is marked, and the sender writes again only after both were taken. Fails if `Head::publish`, `Marks::set` or
/// `Post::publish` stores relaxed, if `look` or `has` loads relaxed, or if a mark of the last turn is taken for this one's.
#[test]
fn a_slot_hands_its_buffer_back_and_forth() {
    explore(3, || {
        let shared = Arc::new((Head::new(), Post::new(), Marks::new(), [Memory::new(0u64), Memory::new(0u64)]));
        let sender = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (head, post, marks, pieces) = &*shared;
                for number in 1..=2 {
                    while post.look().0 + 1 < number {
                        thread::yield_now();
                    }
                    pieces[0].set(number * 10);
                    let value = bounce_value(5, number);
                    head.publish(number, Told { kind: Kind::Bounce, bytes: 8, taken: number + 4, value });
                    pieces[1].set(number * 20);
                    marks.set(1, number);
                }
            })
        };
        let (head, post, marks, pieces) = &*shared;
        for number in 1..=2 {
            let told = loop {
                if let Some(told) = head.look(number) {
                    break told;
                }
                thread::yield_now();
            };
            assert_eq!((told.kind, told.bytes, told.taken), (Kind::Bounce, 8, number + 4));
            let (bounce, turn) = bounce_of(told.value);
            assert_eq!((bounce, turn), (5, number));
            assert_eq!(pieces[0].get(), number * 10);
            while !marks.has(1, turn) {
                thread::yield_now();
            }
            assert_eq!(pieces[1].get(), number * 20);
            post.publish(number, false);
        }
        sender.join().unwrap();
    });
}

const CHUNKS: u64 = 3;

type Claim = fn(&Deal, u64, u64) -> Option<u64>;

fn copy_chunks(deal: &Deal, number: u64, claim: Claim, buffer: &[Memory<u64>; CHUNKS as usize]) {
    while let Some(chunk) = claim(deal, number, CHUNKS) {
        // Two who had claimed the same chunk would race here.
        buffer[chunk as usize].set(number * 100 + chunk);
        deal.copied();
    }
}

/// A long message copied by both sides, from either end: every chunk once, and all of them before either side goes on. Fails if
/// `Deal::copied` is relaxed, or if `Deal::claim` adds without looking at the number.
#[test]
fn both_sides_copy_each_chunk_once() {
    explore(3, || {
        let shared = Arc::new((Deal::new(), Post::new(), [0u64; 3].map(Memory::new)));
        let sender = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (deal, post, buffer) = &*shared;
                while !post.look().1 {
                    thread::yield_now();
                }
                copy_chunks(deal, 1, Deal::claim, buffer);
                while !deal.done(1, CHUNKS) {
                    thread::yield_now();
                }
            })
        };
        let (deal, post, buffer) = &*shared;
        deal.open(1);
        post.publish(0, true);
        copy_chunks(deal, 1, Deal::claim_back, buffer);
        while !deal.done(1, CHUNKS) {
            thread::yield_now();
        }
        assert_eq!(buffer.each_ref().map(Memory::get), [100, 101, 102]);
        sender.join().unwrap();
    });
}

/// A receive that is given up: after a successful withdrawal nobody writes to its buffer. Fails if `Deal::withdraw`
/// succeeds although a chunk was claimed.
#[test]
fn nobody_writes_after_a_withdrawal() {
    explore(3, || {
        let shared = Arc::new((Deal::new(), Post::new(), [0u64; 3].map(Memory::new)));
        let (deal, post, _) = &*shared;
        deal.open(1);
        post.publish(0, true);
        let sender = {
            let shared = shared.clone();
            thread::spawn(move || copy_chunks(&shared.0, 1, Deal::claim, &shared.2))
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
        buffer.iter().for_each(|chunk| chunk.set(7));
        sender.join().unwrap();
        assert_eq!(buffer.each_ref().map(Memory::get), [7; 3]);
    });
}
