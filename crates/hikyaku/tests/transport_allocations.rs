//! In the steady state the transports allocate nothing: neither for short messages nor for long ones.
#![cfg(not(loom))]

use hikyaku::spi::udp::{Bound, Config};
use hikyaku::spi::{Body, Loss, Packet, Posted, Sink, Token, Transport, loopback};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(place, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Default)]
struct Count {
    messages: usize,
    completed: usize,
}

impl Sink for Count {
    fn message(&mut self, _: usize, _: &Packet, _: &[u8]) {
        self.messages += 1;
    }
    fn completed(&mut self, _: Token) {
        self.completed += 1;
    }
    fn lost(&mut self, rank: usize, why: Loss) {
        panic!("rank {rank} is lost: {why:?}");
    }
}

/// Sends messages of these lengths there and back, all at once, and waits until everything has arrived and is free.
fn round(ends: &[&dyn Transport; 2], counts: &mut [Count; 2], lengths: &[usize], data: &[u8], token: bool) {
    let mut lent = [0; 2];
    let before = [0, 1].map(|end| (counts[end].messages, counts[end].completed));
    for end in 0..2 {
        for length in lengths {
            let token = token.then_some(Token(0));
            // SAFETY: the data outlive the test.
            let posted = unsafe { ends[end].post(1 - end, &Packet::default(), Body::of(&data[..*length]), token) };
            match posted.expect("post") {
                Posted::Posted => lent[end] += 1,
                Posted::Done => (),
                Posted::Busy => panic!("too much at once"),
            }
        }
    }
    let start = Instant::now();
    let is_done = |counts: &[Count; 2]| {
        (0..2).all(|end| {
            counts[end].messages == before[end].0 + lengths.len() && counts[end].completed == before[end].1 + lent[end]
        }) && ends.iter().all(|end| end.drained())
    };
    while !is_done(counts) {
        for end in 0..2 {
            ends[end].poll(&mut counts[end]);
        }
        assert!(start.elapsed() < Duration::from_secs(60));
    }
}

fn check(ends: [&dyn Transport; 2]) {
    let data: &'static [u8] = vec![3; 56 << 10].leak();
    let mut counts = [Count::default(), Count::default()];
    let mut rounds = |count| {
        for _ in 0..count {
            round(&ends, &mut counts, &[8], data, false);
            round(&ends, &mut counts, &[8; 64], data, false);
            round(&ends, &mut counts, &[5000, 300, 20_000], data, false);
            round(&ends, &mut counts, &[56 << 10; 4], data, true);
        }
    };
    rounds(100);
    let before = COUNT.get();
    rounds(100);
    assert_eq!(COUNT.get() - before, 0, "allocations in the steady state");
}

fn udp(frame_max: usize) {
    let bound = [0, 1].map(|_| {
        let mut config = Config::new("127.0.0.1:0".parse().expect("an address"), [1; 32]);
        config.frame_max = frame_max;
        Bound::new(config).expect("bind")
    });
    let addresses: Vec<_> = bound.iter().map(|bound| Some(bound.address().expect("address"))).collect();
    let mut rank = 0..2;
    let ends = bound.map(|bound| bound.start(rank.next().unwrap_or(0), addresses.clone()).expect("start"));
    check([&ends[0], &ends[1]]);
}

#[test]
fn udp_allocates_nothing_with_long_frames() {
    udp(65_000);
}

#[test]
fn udp_allocates_nothing_with_frames_of_ethernet() {
    udp(1472);
}

#[test]
fn loopback_allocates_nothing() {
    let ends = loopback::endpoints(2).expect("endpoints");
    check([&ends[0], &ends[1]]);
}
