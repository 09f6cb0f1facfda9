//! Promises of the transport, between endpoints of one process over `lo`.

use super::*;
use crate::error::Error;
use crate::transport::core::{Armed, Body, Loss, Posted, Sink, Token, Transport};
use crate::transport::shm::ring::Packet;
use std::net::UdpSocket;
use std::time::Instant;

const SECRET: [u8; SECRET_BYTES] = [7; SECRET_BYTES];
/// For what should take no time, on a machine that others use too.
pub(super) const PATIENCE: Duration = Duration::from_secs(300);

fn config() -> Config {
    Config { faults: Some(FaultRates::default()), ..Config::new("127.0.0.1:0".parse().unwrap(), SECRET) }
}

/// Without the wire of faults around the socket, and so with trains.
pub(super) fn plain() -> Config {
    Config { faults: None, ..config() }
}

/// Endpoints of ranks 0 and up.
pub(super) fn endpoints(configs: &[Config]) -> Vec<Endpoint> {
    let bound: Vec<Bound> = configs.iter().map(|config| Bound::new(config.clone()).unwrap()).collect();
    let addresses: Vec<_> = bound.iter().map(|bound| Some(bound.address().unwrap())).collect();
    bound.into_iter().enumerate().map(|(rank, bound)| bound.start(rank, addresses.clone()).unwrap()).collect()
}

/// Remembers everything.
#[derive(Default)]
pub(super) struct Taken {
    pub messages: Vec<(usize, u64, Vec<u8>)>,
    pub completed: Vec<Token>,
    pub lost: Vec<(usize, Loss)>,
}

impl Sink for Taken {
    fn message(&mut self, from: usize, packet: &Packet, payload: &[u8]) {
        assert_eq!(packet.arguments[5], 77);
        self.messages.push((from, packet.address, payload.to_vec()));
    }
    fn completed(&mut self, token: Token) {
        assert!(!self.completed.contains(&token));
        self.completed.push(token);
    }
    fn lost(&mut self, rank: usize, why: Loss) {
        self.lost.push((rank, why));
    }
}

fn packet(address: u64) -> Packet {
    Packet { address, arguments: [1, 2, 3, 4, 5, 77], ..Packet::default() }
}

pub(super) fn bytes(number: u64, len: usize) -> Vec<u8> {
    (0..len as u64).map(|at| (number.wrapping_mul(31).wrapping_add(at) % 251) as u8).collect()
}

pub(super) fn post(from: &Endpoint, to: usize, number: u64, body: &[u8], token: Option<Token>) -> Posted {
    // SAFETY: the tests below leave bodies with tokens where they are.
    unsafe { from.post(to, &packet(number), Body::of(body), token) }.unwrap()
}

/// Polls until it is so.
pub(super) fn poll_until(ends: &[Endpoint], taken: &mut [Taken], mut is_so: impl FnMut(&[Taken]) -> bool) {
    let start = Instant::now();
    while !is_so(taken) {
        for (end, taken) in ends.iter().zip(taken.iter_mut()) {
            end.poll(taken);
        }
        let counters = || ends.iter().map(Endpoint::counters).collect::<Vec<_>>();
        let lost = || taken.iter().map(|taken| &taken.lost).collect::<Vec<_>>();
        assert!(start.elapsed() < PATIENCE, "{:?}, lost: {:?}", counters(), lost());
    }
}

fn taken(count: usize) -> Vec<Taken> {
    (0..count).map(|_| Taken::default()).collect()
}

/// Sends messages of many lengths both ways, with and without tokens, and checks that all arrive once and in order.
fn exchange(ends: &[Endpoint], count: u64) {
    let mut taken = taken(2);
    let length = |number: u64| match number % 7 {
        0 => 0,
        1 => 8,
        2 => 100,
        3 => 1500,
        4 => 5000,
        5 => 20_000 + number as usize % 1000,
        _ => 56 << 10,
    };
    let bodies: Vec<Vec<u8>> = (0..count).map(|number| bytes(number, length(number))).collect();
    let (mut sent, mut tokens) = ([0u64; 2], [0usize; 2]);
    let start = Instant::now();
    while (0..2).any(|end| taken[end].messages.len() < count as usize || taken[end].completed.len() < tokens[end]) {
        for end in 0..2 {
            while sent[end] < count {
                let number = sent[end];
                let token = (number % 2 == 0).then_some(Token(number));
                match post(&ends[end], 1 - end, number, &bodies[number as usize], token) {
                    Posted::Busy => break,
                    Posted::Posted => tokens[end] += 1,
                    Posted::Done => (),
                }
                sent[end] += 1;
            }
            ends[end].poll(&mut taken[end]);
        }
        assert!(start.elapsed() < PATIENCE, "{sent:?} {:?}", ends.iter().map(Endpoint::counters).collect::<Vec<_>>());
    }
    for (end, taken) in taken.iter().enumerate() {
        for (number, (message, body)) in taken.messages.iter().zip(&bodies).enumerate() {
            assert_eq!((message.0, message.1), (1 - end, number as u64));
            assert!(message.2 == *body, "message {number}");
        }
        assert_eq!(taken.messages.len(), count as usize);
        assert!(tokens[end] > 0 && taken.lost.is_empty());
    }
    poll_until(ends, &mut [Taken::default(), Taken::default()], |_| ends.iter().all(|end| end.drained()));
}

#[test]
fn messages_of_all_lengths_arrive_once_and_in_order() {
    exchange(&endpoints(&[plain(), plain()]), 300);
}

#[test]
fn frames_as_short_as_those_of_ethernet_do_too() {
    let narrow = Config { frame_max: 1472, ..plain() };
    exchange(&endpoints(&[narrow.clone(), narrow]), 300);
}

#[test]
fn kernels_that_do_not_cut_and_join_trains_will_do() {
    let narrow = Config { frame_max: 1472, trains: false, ..plain() };
    exchange(&endpoints(&[narrow.clone(), narrow]), 300);
}

/// Frames that are not sealed are sent from where the bodies are, in parts.
#[test]
fn bodies_that_are_not_copied_arrive_too() {
    for (frame_max, trains, faults) in
        [(1472, true, None), (1472, false, None), (65_000, true, None), (1472, true, Some(0.1))]
    {
        let faults = faults.map(|rate| FaultRates { loss: rate, double: rate, reorder: rate, damage: 0.0, seed: 5 });
        let open = Config { secret: None, frame_max, trains, faults, ..plain() };
        exchange(&endpoints(&[open.clone(), open]), 200);
    }
}

#[test]
fn addresses_of_the_other_family_will_do() {
    let v6 = Config { bind: "[::1]:0".parse().unwrap(), ..plain() };
    exchange(&endpoints(&[v6.clone(), v6]), 100);
}

#[test]
fn a_fifth_of_all_frames_may_be_lost_doubled_reordered_and_damaged() {
    for (seed, frame_max) in [(1, 1472), (2, 65_000), (3, 9000)] {
        let faults = FaultRates { loss: 0.2, double: 0.2, reorder: 0.2, damage: 0.2, seed };
        // On a busy machine, round trips are long, and some frames are lost many times in a row: that is not what this is about.
        let config = Config { faults: Some(faults), frame_max, silence: PATIENCE, ..config() };
        let ends = endpoints(&[config.clone(), config]);
        exchange(&ends, 100);
        for end in &ends {
            let counters = end.counters();
            assert!(counters.forged > 5 && counters.links.resent > 5 && counters.replayed > 5, "{counters:?}");
        }
    }
}

#[test]
fn many_ranks_talk_to_many() {
    let ends = endpoints(&vec![plain(); 5]);
    let mut taken = taken(5);
    for number in 0..100 {
        for (from, end) in ends.iter().enumerate() {
            for to in (0..5).filter(|to| *to != from) {
                assert_eq!(post(end, to, number, &bytes(number, 9), None), Posted::Done);
            }
        }
    }
    poll_until(&ends, &mut taken, |taken| taken.iter().all(|taken| taken.messages.len() == 400));
    for taken in &taken {
        for from in 0..5 {
            let mine = taken.messages.iter().filter(|message| message.0 == from).map(|message| message.1);
            assert!(mine.clone().count() == 0 || mine.eq(0..100));
        }
    }
}

#[test]
fn a_sender_that_is_not_acknowledged_is_told_to_wait_and_recovers() {
    let ends = endpoints(&[plain(), plain()]);
    let mut taken = taken(2);
    let mut sent = 0;
    let body = bytes(1, 8000);
    while post(&ends[0], 1, sent, &body, None) != Posted::Busy {
        sent += 1;
        assert!(sent < 100_000, "memory without bounds");
    }
    poll_until(&ends, &mut taken, |taken| taken[1].messages.len() as u64 == sent);
    assert_eq!(post(&ends[0], 1, sent, &body, None), Posted::Done);
    poll_until(&ends, &mut taken, |taken| taken[1].messages.len() as u64 == sent + 1);
    assert!(taken[1].messages.iter().map(|message| message.1).eq(0..=sent));
}

/// Whoever waits for room may sleep until a poll has something to tell of, and nothing but acknowledgements may come.
#[test]
fn a_poll_tells_that_there_is_room_again() {
    let ends = endpoints(&[plain(), plain()]);
    let (mut taken, body, mut sent) = (taken(2), bytes(1, 8000), 0);
    while post(&ends[0], 1, sent, &body, None) != Posted::Busy {
        sent += 1;
    }
    let start = Instant::now();
    while !ends[0].poll(&mut taken[0]) {
        ends[1].poll(&mut taken[1]);
        assert!(start.elapsed() < PATIENCE, "nobody is told");
    }
    assert!(taken[0].messages.is_empty() && taken[0].completed.is_empty() && taken[0].lost.is_empty());
    // Once.
    poll_until(&ends, &mut taken, |taken| taken[1].messages.len() as u64 == sent);
    while !ends[0].drained() {
        assert!(!ends[0].poll(&mut taken[0]));
        ends[1].poll(&mut taken[1]);
    }
    assert_eq!(post(&ends[0], 1, sent, &body, None), Posted::Done);
}

fn is_unreachable(lost: &[(usize, Loss)], rank: usize) -> bool {
    matches!(lost, [(lost, Loss::Unreachable(tried))] if *lost == rank && tried.contains("127.0.0.1"))
}

#[test]
fn a_silent_peer_is_lost_within_the_bound_and_its_tokens_come_back() {
    let quick = Config { silence: Duration::from_millis(500), ..plain() };
    let mut ends = endpoints(&[quick.clone(), quick]);
    let mut taken = taken(2);
    let body = bytes(3, 9000);
    assert_eq!(post(&ends[0], 1, 1, &[], None), Posted::Done);
    poll_until(&ends, &mut taken, |taken| taken[1].messages.len() == 1);
    // From now on it says nothing.
    let _silent = ends.pop();
    let start = Instant::now();
    assert_eq!(post(&ends[0], 1, 2, &body, Some(Token(5))), Posted::Posted);
    // Nobody waits for a rank of which it is known that it has ended.
    assert!(!ends[0].drained() && ends[0].drained_but(&|rank| rank == 1) && !ends[0].drained_but(&|rank| rank == 0));
    poll_until(&ends, &mut taken[..1], |taken| !taken[0].lost.is_empty() && !taken[0].completed.is_empty());
    assert!(start.elapsed() >= Duration::from_millis(300), "{:?}", start.elapsed());
    assert!(is_unreachable(&taken[0].lost, 1), "{:?}", taken[0].lost);
    assert_eq!(taken[0].completed, [Token(5)]);
    // SAFETY: no body.
    let error = unsafe { ends[0].post(1, &packet(1), Body::EMPTY, None) }.unwrap_err();
    assert!(matches!(error, Error::Unreachable { rank: 1, .. }), "{error}");
    assert!(ends[0].drained());
}

#[test]
fn silence_is_noticed_where_nothing_is_under_way_and_where_nothing_ever_was() {
    let quick = Config { silence: Duration::from_millis(500), ..plain() };
    let mut ends = endpoints(&vec![quick; 3]);
    let mut taken = taken(3);
    ends[0].watch(2);
    post(&ends[0], 1, 1, &[], None);
    poll_until(&ends, &mut taken, |taken| taken[1].messages.len() == 1);
    // Long after the bound nobody is lost who is there.
    let start = Instant::now();
    poll_until(&ends, &mut taken, |_| start.elapsed() > Duration::from_millis(1500));
    assert!(taken.iter().all(|taken| taken.lost.is_empty()), "{:?}", taken[0].lost);
    let _silent: Vec<_> = ends.drain(1..).collect();
    poll_until(&ends, &mut taken[..1], |taken| taken[0].lost.len() == 2);
}

#[test]
fn a_peer_that_leaves_says_so() {
    let mut ends = endpoints(&[plain(), plain()]);
    let mut taken = taken(2);
    post(&ends[1], 0, 1, b"the last word", None);
    poll_until(&ends, &mut taken, |taken| taken[0].messages.len() == 1);
    ends[1].leave();
    drop(ends.pop());
    poll_until(&ends, &mut taken[..1], |taken| !taken[0].lost.is_empty());
    assert_eq!(taken[0].lost, [(1, Loss::Left)]);
    // SAFETY: no body.
    let error = unsafe { ends[0].post(1, &packet(1), Body::EMPTY, None) }.unwrap_err();
    assert!(matches!(error, Error::PeerLeft { rank: 1 }), "{error}");
}

#[test]
fn a_peer_that_talks_but_does_not_hear_is_lost() {
    let quick = Config { silence: Duration::from_millis(500), ..config() };
    let deaf = Config { faults: Some(FaultRates { loss: 1.0, ..FaultRates::default() }), ..quick.clone() };
    let ends = endpoints(&[deaf, quick]);
    let mut taken = taken(2);
    post(&ends[0], 1, 1, &[], None);
    post(&ends[1], 0, 1, &[], None);
    poll_until(&ends, &mut taken, |taken| taken.iter().all(|taken| !taken.lost.is_empty()));
    assert!(is_unreachable(&taken[0].lost, 1) && is_unreachable(&taken[1].lost, 0), "{:?}", taken[0].lost);
    assert_eq!(taken[0].messages.len(), 1, "this way was whole");
}

#[test]
fn hostile_datagrams_change_nothing() {
    // What a rank sends passes a socket that listens in.
    let bound: Vec<Bound> = (0..2).map(|_| Bound::new(plain()).unwrap()).collect();
    let tap = UdpSocket::bind("127.0.0.1:0").unwrap();
    tap.set_nonblocking(true).unwrap();
    let addresses: Vec<_> = bound.iter().map(|bound| bound.address().unwrap()).collect();
    let mut bound = bound.into_iter();
    let ends = [
        bound.next().unwrap().start(0, vec![Some(addresses[0]), Some(tap.local_addr().unwrap())]).unwrap(),
        bound.next().unwrap().start(1, addresses.iter().copied().map(Some).collect()).unwrap(),
    ];
    let (mut taken, mut chance) = (taken(2), crate::transport::sim::chance::Chance::new(5));
    let mut sent = 0;
    let mut hostile = 0;
    let mut buffer = vec![0; 1 << 16];
    let start = Instant::now();
    while hostile < 3000 || taken[1].messages.len() < sent as usize {
        if hostile < 3000 && post(&ends[0], 1, sent, &bytes(sent, chance.below(200) as usize), None) == Posted::Done {
            sent += 1;
        }
        while let Ok(count) = tap.recv(&mut buffer) {
            let frame = &buffer[..count];
            let forge = |mut frame: Vec<u8>, changes: &[(usize, u8)]| {
                changes.iter().for_each(|(at, change)| frame[*at % count] ^= change);
                tap.send_to(&frame, addresses[1]).unwrap();
            };
            let change = 1 + chance.below(255) as u8;
            forge(frame.to_vec(), &[(chance.below(count as u64) as usize, change)]);
            forge(frame[..chance.below(count as u64) as usize].iter().copied().chain([1]).collect(), &[]);
            forge((0..count).map(|_| chance.below(256) as u8).collect(), &[]);
            tap.send_to(frame, addresses[1]).unwrap();
            // Replayed at once, and from another rank, and back to its sender.
            forge(frame.to_vec(), &[]);
            forge(frame.to_vec(), &[(20, 1)]);
            tap.send_to(frame, addresses[0]).unwrap();
            hostile += 6;
            ends[1].poll(&mut taken[1]);
        }
        ends[0].poll(&mut taken[0]);
        ends[1].poll(&mut taken[1]);
        assert!(start.elapsed() < PATIENCE, "{:?}", ends[1].counters());
    }
    for (number, message) in taken[1].messages.iter().enumerate() {
        assert_eq!((message.0, message.1), (0, number as u64));
        assert_eq!(message.2, bytes(number as u64, message.2.len()));
    }
    assert_eq!(taken[1].messages.len(), sent as usize);
    let counters = ends[1].counters();
    assert!(counters.strangers > 100 && counters.forged > 100 && counters.replayed > 100, "{counters:?}");
    assert!(taken[0].messages.is_empty() && taken.iter().all(|taken| taken.lost.is_empty()));
}

#[test]
fn another_jobs_frames_are_not_heard() {
    let other = Config { secret: Some([8; SECRET_BYTES]), silence: Duration::from_millis(300), ..plain() };
    let ends = endpoints(&[plain(), other]);
    let mut taken = taken(2);
    post(&ends[1], 0, 1, &[], None);
    poll_until(&ends, &mut taken, |taken| !taken[0].messages.is_empty() || !taken[1].lost.is_empty());
    assert!(taken[0].messages.is_empty() && ends[0].counters().forged > 2);
    assert_eq!(ends[0].link_count(), 0);
}

#[test]
fn a_rank_that_was_lost_is_not_heard_again() {
    let quick = Config { silence: Duration::from_millis(200), ..plain() };
    let ends = endpoints(&[quick.clone(), quick]);
    let mut taken = taken(2);
    post(&ends[0], 1, 1, &[], None);
    // The other is not polled, so it is silent.
    poll_until(&ends[..1], &mut taken[..1], |taken| !taken[0].lost.is_empty());
    post(&ends[1], 0, 1, &[], None);
    let start = Instant::now();
    while ends[0].counters().strays == 0 && taken[0].messages.is_empty() && start.elapsed() < Duration::from_secs(2) {
        for (end, taken) in ends.iter().zip(&mut taken) {
            end.poll(taken);
        }
    }
    assert!(ends[0].counters().strays > 0 && taken[0].messages.is_empty());
}

#[test]
fn planted_bugs_are_caught() {
    use crate::planted::{Bug, catches};
    catches(another_jobs_frames_are_not_heard, &[Bug::LinksForStrangers, Bug::TagUnread]);
    catches(a_rank_that_was_lost_is_not_heard_again, &[Bug::LostHeardAgain]);
}

#[test]
fn wrong_calls_are_told() {
    let ends = endpoints(&[plain(), plain()]);
    let long = vec![0; (56 << 10) + 1];
    // SAFETY: bodies outlive the calls, and nothing is posted.
    let error = |to, body: &[u8]| unsafe { ends[0].post(to, &packet(1), Body::of(body), None) }.unwrap_err();
    assert!(matches!(error(1, &long), Error::PayloadTooLong { .. }));
    assert!(matches!(error(2, &[]), Error::NoSuchRank { rank: 2, size: 2 }));
    let alone = Bound::new(plain()).unwrap().start(0, vec![None, None]).unwrap();
    // SAFETY: no body.
    let near = unsafe { alone.post(1, &packet(1), Body::EMPTY, None) };
    assert!(matches!(near, Err(Error::Invalid(_))));
}

#[test]
fn a_recalled_body_is_its_owners_at_once() {
    let open = Config { secret: None, ..plain() };
    for config in [plain(), open.clone(), Config { frame_max: 1472, ..open }] {
        recall_all(&endpoints(&[config.clone(), config]));
    }
}

fn recall_all(ends: &[Endpoint]) {
    let mut taken = taken(2);
    let mut bodies: Vec<Vec<u8>> = (0..40).map(|number| bytes(number, 50_000)).collect();
    let post = |(number, body): (usize, &Vec<u8>)| post(&ends[0], 1, number as u64, body, Some(Token(number as u64)));
    // Where all is slow there is not room for all of them.
    let count = bodies.iter().enumerate().map(post).take_while(|posted| *posted == Posted::Posted).count();
    assert!(count > 0);
    for (number, body) in bodies[..count].iter_mut().enumerate() {
        assert!(ends[0].recall(1, Token(number as u64)));
        body.fill(0);
    }
    assert!(!ends[0].recall(1, Token(99)));
    poll_until(ends, &mut taken, |taken| taken[1].messages.len() == count);
    poll_until(ends, &mut taken, |_| ends[0].drained());
    assert!(taken[0].completed.is_empty());
    assert!(taken[1].messages.iter().all(|message| message.2 == bytes(message.1, 50_000)));
}

#[test]
fn two_parts_of_a_body_arrive_as_one() {
    for secret in [Some(SECRET), None] {
        let plain = || Config { secret, ..plain() };
        send_two_parts(&endpoints(&[plain(), Config { frame_max: 1000, ..plain() }]));
    }
}

fn send_two_parts(ends: &[Endpoint]) {
    let mut taken = taken(2);
    let (main, tail) = (bytes(1, 30_000), bytes(2, 64));
    let body = Body::of(&main).then(tail.as_ptr(), tail.len());
    for (from, token) in [(0, None), (0, Some(Token(1))), (1, None), (1, Some(Token(2)))] {
        // SAFETY: both parts outlive the test.
        unsafe { ends[from].post(1 - from, &packet(9), body, token) }.unwrap();
    }
    poll_until(ends, &mut taken, |taken| {
        taken.iter().all(|taken| taken.messages.len() == 2 && taken.completed.len() == 1)
    });
    assert!(taken.iter().flat_map(|taken| &taken.messages).all(|message| message.2 == [&main[..], &tail].concat()));
}

/// Answers every message, and panics at one.
struct Echo<'a>(&'a Endpoint);

impl Sink for Echo<'_> {
    fn message(&mut self, from: usize, packet: &Packet, payload: &[u8]) {
        assert!(!self.0.poll(&mut Taken::default()), "a poll in a poll");
        assert_ne!(packet.address, 13, "as asked for");
        assert_eq!(post(self.0, from, packet.address, payload, None), Posted::Done);
    }
    fn completed(&mut self, _: Token) {}
    fn lost(&mut self, _: usize, _: Loss) {}
}

#[test]
fn a_sink_may_post_and_may_panic() {
    let ends = endpoints(&[plain(), plain()]);
    let mut taken = Taken::default();
    let start = Instant::now();
    let mut panics = 0;
    for number in 0..20 {
        assert_eq!(post(&ends[0], 1, number, &[3; 3000], None), Posted::Done);
    }
    while taken.messages.len() < 19 {
        let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ends[1].poll(&mut Echo(&ends[1]))));
        panics += usize::from(polled.is_err());
        ends[0].poll(&mut taken);
        assert!(start.elapsed() < PATIENCE);
    }
    assert_eq!(panics, 1);
    assert!(taken.messages.iter().map(|message| message.1).eq((0..20).filter(|number| *number != 13)));
}

#[test]
fn one_may_sleep_until_something_arrives_or_a_timer_is_due() {
    let ends = endpoints(&[plain(), plain()]);
    let mut taken = taken(2);
    post(&ends[0], 1, 1, &[], None);
    poll_until(&ends, &mut taken, |taken| taken[1].messages.len() == 1 && ends[0].drained());
    // Both sleep as they are told to; the first then hears from the second.
    let (sent_at, start) = (Duration::from_millis(300), Instant::now());
    let mut wakes = 0;
    while taken[0].messages.is_empty() {
        if start.elapsed() >= sent_at && taken[1].messages.len() == 1 {
            post(&ends[1], 0, 2, &[], None);
            taken[1].messages.push((0, 0, Vec::new()));
        }
        match ends[0].arm() {
            Armed::Ready => (),
            Armed::Until(until) => {
                let until = until.expect("a peer that is watched").min(start + sent_at);
                let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
                let descriptor = ends[0].descriptor().unwrap();
                let mut entry = [rustix::event::PollFd::new(&descriptor, rustix::event::PollFlags::IN)];
                rustix::event::poll(&mut entry, Some(&left.try_into().unwrap())).unwrap();
            }
        }
        wakes += 1;
        ends[0].poll(&mut taken[0]);
        assert!(start.elapsed() < PATIENCE);
    }
    assert!(wakes < 50, "{wakes} looks in 300 ms");
}

/// Whether the timer ends a sleep before anything else would.
fn is_woken(end: &Endpoint) -> bool {
    let timer = end.timer().unwrap();
    let mut entry = [rustix::event::PollFd::new(&timer, rustix::event::PollFlags::IN)];
    let wait = rustix::fs::Timespec { tv_sec: 0, tv_nsec: 300_000_000 };
    rustix::event::poll(&mut entry, Some(&wait)).unwrap() == 1
}

#[test]
fn what_is_posted_to_a_transport_that_sleeps_ends_its_sleep() {
    let ends = endpoints(&[plain(), plain()]);
    let mut taken = taken(2);
    post(&ends[0], 1, 1, &[], None);
    poll_until(&ends, &mut taken, |taken| taken[1].messages.len() == 1 && ends[0].drained());
    let sleep = || {
        while ends[0].arm() == Armed::Ready {
            ends[0].poll(&mut Taken::default());
        }
    };
    sleep();
    assert!(!is_woken(&ends[0]), "nothing was posted");
    // One that nobody takes is due again.
    post(&ends[0], 1, 2, &[], None);
    assert!(is_woken(&ends[0]));
    poll_until(&ends, &mut taken, |taken| taken[1].messages.len() == 2 && ends[0].drained());
    // One that waits for company.
    sleep();
    let patient = Packet { kind: crate::transport::packet::kind::CREDIT, ..packet(3) };
    // SAFETY: there is no body.
    assert_eq!(unsafe { ends[0].post(1, &patient, Body::of(&[]), None) }.unwrap(), Posted::Done);
    ends[1].poll(&mut taken[1]);
    assert_eq!(taken[1].messages.len(), 2, "it waits");
    assert!(is_woken(&ends[0]));
    poll_until(&ends, &mut taken, |taken| taken[1].messages.len() == 3);
}
