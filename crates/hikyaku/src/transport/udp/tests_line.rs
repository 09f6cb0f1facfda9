//! Promises of one line: numbers of frames, and what waits for company.

use super::batch::Batch;
use super::head::Head;
use super::line::{Line, Myself};
use super::tests::{Taken, plain};
use super::{Bound, Endpoint, SECRET_BYTES};
use crate::transport::core::{Body, Posted, Transport};
use crate::transport::packet::{PACKET_BYTES_MAX, kind};
use crate::transport::reliable::serial::Serial;
use crate::transport::reliable::{Body as Said, Settings};
use crate::transport::shm::ring::Packet;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// GMAC breaks if two frames under one key share their number: also those that carry the same data again have one each.
#[test]
fn no_number_is_used_twice() {
    let me = Myself { rank: 0, life: 7, secret: Some([1; SECRET_BYTES]) };
    let settings = Settings::for_round_trip(1000);
    let mut line = Line::new(&me, 1, 0, 200, settings);
    let (mut batch, mut seen) = (Batch::new(false), HashSet::new());
    let mut send = |line: &mut Line, now: u64| {
        let mut staged = true;
        while staged {
            staged = line.stage(&me, &mut batch);
            for train in batch.trains() {
                let head = Head::read(&batch.bytes(train, 0)).unwrap();
                assert!(seen.insert(head.number), "{} again", head.number);
            }
            batch.clear();
        }
        line.went(now);
        seen.len()
    };
    for number in 0..20 {
        let body = [number; 150];
        // SAFETY: a live array.
        assert_eq!(unsafe { line.copy(&[number; PACKET_BYTES_MAX], &Body::of(&body)) }, Posted::Done);
    }
    assert_eq!(send(&mut line, 0), 40, "two frames each");
    line.link.tick(settings.timeout_ps);
    assert_eq!(send(&mut line, settings.timeout_ps), 42, "the first and the last again");
    let request = Said::Request { first: Serial::FIRST, count: 10 };
    line.link.hear(settings.timeout_ps, Serial::FIRST, request, true, |_, _| None);
    assert_eq!(send(&mut line, settings.timeout_ps), 52, "those that were asked for");
}

fn post(from: &Endpoint, to: usize, packet: &Packet) {
    // SAFETY: no bytes.
    assert_eq!(unsafe { from.post(to, packet, Body::EMPTY, None) }.unwrap(), Posted::Done);
}

/// Polls until so many messages have come.
fn await_messages(end: &Endpoint, taken: &mut Taken, count: usize) {
    let start = Instant::now();
    while taken.messages.len() < count {
        end.poll(taken);
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", end.counters());
    }
}

/// What nobody waits for rides on what its sender says next, or goes when it looks again.
#[test]
fn what_may_wait_travels_with_the_next() {
    let bound: Vec<Bound> = (0..2).map(|_| Bound::new(plain()).unwrap()).collect();
    let addresses: Vec<_> = bound.iter().map(|bound| Some(bound.address().unwrap())).collect();
    let mut ends = bound.into_iter().enumerate().map(|(rank, bound)| bound.start(rank, addresses.clone()).unwrap());
    let (one, other) = (ends.next().unwrap(), ends.next().unwrap());
    let (mut of_one, mut of_other) = (Taken::default(), Taken::default());
    let plain = Packet { arguments: [0, 0, 0, 0, 0, 77], ..Packet::default() };
    let credit = Packet { kind: kind::CREDIT, ..plain };
    post(&one, 1, &plain);
    await_messages(&other, &mut of_other, 1);
    post(&other, 0, &credit);
    assert_eq!(other.counters().links.sent, 0, "nobody waits for it");
    post(&other, 0, &plain);
    assert_eq!(other.counters().links.sent, 1, "both in one frame");
    await_messages(&one, &mut of_one, 2);
    post(&other, 0, &credit);
    let start = Instant::now();
    while other.counters().links.sent < 2 {
        other.poll(&mut of_other);
        assert!(start.elapsed() < Duration::from_secs(60));
    }
    await_messages(&one, &mut of_one, 3);
    let urgent = Packet { kind: kind::ANSWER, address: 1, ..plain };
    post(&other, 0, &urgent);
    assert_eq!(other.counters().links.sent, 3, "somebody waits for this one");
}
