//! The promises of a link, over a wire with every fault; and that each rule of the protocol is needed to keep them.

use super::frame::{Body, Frame, HEAD_BYTES};
use super::link::Refused;
use super::serial::Serial;
use super::wire::{Faults, LATENCY_PS, Plan, ROUND_TRIP_PS, run};
use super::*;
use crate::planted::{Bug, with_bug};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::cell::Cell;
use std::ops::Range;

fn faults() -> impl Strategy<Value = Faults> {
    const LONGEST: Time = 500 * LATENCY_PS;
    let percent = || prop_oneof![Just(0), 0..=50u64];
    let cut = || prop_oneof![Just(0..0), (0..LONGEST, 0..LONGEST).prop_map(|(start, length)| start..start + length)];
    let percents = (percent(), percent(), percent(), percent(), percent(), percent());
    (percents, [cut(), cut()], 0..LONGEST).prop_map(|(percents, cuts, until): (_, [Range<Time>; 2], _)| {
        let (loss, duplication, reordering, delay, corruption, ghosts) = percents;
        Faults { loss, duplication, reordering, delay, corruption, ghosts, cuts, until }
    })
}

fn plans() -> impl Strategy<Value = Plan> {
    let messages = || prop_oneof![Just(0), 1..20usize, 1..300usize];
    (any::<u64>(), 1..40usize, 0..40usize, [messages(), messages()], any::<[bool; 3]>(), faults()).prop_map(
        |(seed, window, message_bytes_max, messages, [slow, slow_too, is_fitted], faults)| Plan {
            seed,
            window,
            message_bytes_max,
            messages,
            is_slow: [slow, slow_too],
            is_fitted,
            faults,
        },
    )
}

proptest! {
    #![proptest_config(Config::with_cases(1000))]

    /// Exactly once, in order, in bounded memory, and settled soon after the faults end.
    #[test]
    fn messages_arrive_once_and_in_order_over_a_wire_with_faults(plan in plans()) {
        run(&plan).map_err(TestCaseError::fail)?;
    }

    /// A peer that writes whole frames of nonsense can cheat us of messages, but not bring us down or fill our memory.
    #[test]
    fn nonsense_from_the_peer_does_no_harm(
        settings_window in 1..20usize,
        frames in proptest::collection::vec((0..4u8, any::<bool>(), -50..50i32, any::<u32>(), -50..50i32), 0..200),
    ) {
        let settings = Settings { window: settings_window, message_bytes_max: 8, ..Settings::for_round_trip(ROUND_TRIP_PS) };
        let mut link = Link::new(settings, 1);
        let around = |place: i32| Serial(Serial::FIRST.0.wrapping_add_signed(place));
        for (now, (kind, answer, place, number, acknowledged)) in frames.into_iter().enumerate() {
            let now = now as Time * LATENCY_PS;
            let message = [1; 16];
            let body = match kind {
                0 => Body::Request { first: around(place), count: number },
                1 => Body::Acknowledgement { answer },
                _ => Body::Data { serial: around(place), answer, message: &message[..number as usize % 10] },
            };
            link.receive(now, &Frame { epoch: 1, acknowledged: around(acknowledged), body }.encode());
            link.tick(now);
            if let Ok(()) = link.send(Box::new([2])) {
                while link.next_frame(now).is_some() {}
            }
            if answer {
                while let Some(message) = link.next_message() {
                    prop_assert!(message.len() <= settings.message_bytes_max);
                }
            }
            prop_assert!(link.held() <= 2 * settings.window);
        }
    }
}

const QUIET: Plan = Plan {
    seed: 1,
    window: 16,
    message_bytes_max: 100,
    messages: [1000, 0],
    is_slow: [false; 2],
    is_fitted: false,
    faults: Faults {
        loss: 0,
        duplication: 0,
        reordering: 0,
        delay: 0,
        corruption: 0,
        ghosts: 0,
        cuts: [0..0, 0..0],
        until: 0,
    },
};

#[test]
fn a_perfect_wire_carries_nothing_twice_and_few_acknowledgements() {
    let [sender, receiver] = run(&QUIET).unwrap();
    assert_eq!(sender, Counters { sent: 1000, ..Counters::default() });
    assert_eq!(receiver, Counters { acknowledgements: 63, ..Counters::default() }, "one for each window, and the rest");
}

#[test]
fn acknowledgements_ride_on_answers() {
    let settings = Settings::for_round_trip(ROUND_TRIP_PS);
    let mut ends = [Link::new(settings, 1), Link::new(settings, 1)];
    for round in 0..100 {
        for from in [0, 1] {
            ends[from].send(Box::new([round])).unwrap();
            talk(&mut ends, 0);
            assert_eq!(ends[1 - from].next_message().as_deref(), Some(&[round][..]));
        }
    }
    assert_eq!(ends[1].counters(), Counters { sent: 100, ..Counters::default() });
    assert!(ends[0].is_settled() && !ends[1].is_settled());
    let now = ends[0].next_timeout().unwrap();
    assert_eq!(now, settings.acknowledge_delay_ps, "the last one has nothing to ride on");
    ends[0].tick(now);
    talk(&mut ends, now);
    assert_eq!(ends[0].counters(), Counters { sent: 100, acknowledgements: 1, ..Counters::default() });
    assert!(ends[1].is_settled());
}

#[test]
fn every_kind_of_fault_is_seen_and_counted() {
    let faults = Faults {
        loss: 20,
        duplication: 20,
        reordering: 20,
        delay: 5,
        corruption: 5,
        ghosts: 20,
        until: Time::MAX / 2,
        ..Faults::default()
    };
    let [sender, receiver] = run(&Plan { faults, ..QUIET }).unwrap();
    assert_eq!(sender.sent, 1000);
    for count in
        [sender.resent, sender.timeouts, receiver.requests, receiver.duplicates, receiver.corrupt, receiver.strays]
    {
        assert!(count > 10, "{sender:?} {receiver:?}");
    }
}

/// The link at the other end is there, but its caller takes nothing for many times the silence that breaks a link.
fn a_slow_peer_is_not_lost() -> Result<(), String> {
    let settings = Settings { attempts_max: 2, window: 2, ..Settings::for_round_trip(ROUND_TRIP_PS) };
    let mut ends = [Link::new(settings, 1), Link::new(settings, 1)];
    ends[0].send(Box::new([1])).map_err(|refused| format!("{refused:?}"))?;
    let mut now = 0;
    for _ in 0..100 {
        talk(&mut ends, now);
        now = ends[0].next_timeout().ok_or("gave up, or what was not taken was acknowledged")?;
        ends[0].tick(now);
    }
    talk(&mut ends, now);
    if ends[1].next_message().as_deref() != Some(&[1][..]) {
        return Err("the message is lost".into());
    }
    talk(&mut ends, now);
    if ends[0].is_settled() && !ends[0].is_broken() { Ok(()) } else { Err("not settled".into()) }
}

/// Lets the links exchange frames until both are silent.
fn talk(ends: &mut [Link; 2], now: Time) {
    loop {
        let frames = ends.each_mut().map(|link| link.next_frame(now));
        if frames == [None, None] {
            return;
        }
        for (to, frame) in [1, 0].into_iter().zip(frames) {
            if let Some(frame) = frame {
                ends[to].receive(now, &frame);
            }
        }
    }
}

/// A link whose peer is asked for a sign of life after 10 round trips, and may be silent for 35.
fn watchful() -> Link {
    let settings = Settings::for_round_trip(ROUND_TRIP_PS);
    let silence_max_ps = 35 * ROUND_TRIP_PS;
    Link::new(Settings { keep_alive_ps: 10 * ROUND_TRIP_PS, silence_max_ps, attempts_max: u32::MAX, ..settings }, 1)
}

/// The next moment of either end, at which both do what is due.
fn go_on(ends: &mut [Link; 2]) -> Option<Time> {
    let now = ends.iter().filter_map(Link::next_timeout).min()?;
    ends.iter_mut().for_each(|link| link.tick(now));
    Some(now)
}

#[test]
fn a_peer_that_is_there_answers_when_asked_and_is_never_lost() {
    let mut ends = [watchful(), watchful()];
    for _ in 0..100 {
        let now = go_on(&mut ends).unwrap();
        talk(&mut ends, now);
    }
    assert!(ends.iter().all(|link| !link.is_broken()));
    let [one, other] = ends.map(|link| link.counters().acknowledgements);
    assert!(one + other <= 401, "a question and an answer at a time: {one} {other}");
}

#[test]
fn an_idle_link_notices_silence_in_time() {
    let mut link = watchful();
    let mut now = 0;
    while !link.is_broken() {
        while link.next_frame(now).is_some() {}
        now = link.next_timeout().unwrap();
        link.tick(now);
    }
    assert!((45 * ROUND_TRIP_PS..=55 * ROUND_TRIP_PS).contains(&now), "{now}");
    assert_eq!(link.counters().acknowledgements, 4);
}

/// Time that passed without this end, which was stopped, is no silence of the peer.
#[test]
fn whoever_was_stopped_asks_again_before_it_gives_up() {
    let mut ends = [watchful(), watchful()];
    ends[0].send(Box::new([1])).unwrap();
    let _lost = ends[0].next_frame(0);
    let now = 10_000 * ROUND_TRIP_PS;
    ends[0].tick(now);
    assert!(!ends[0].is_broken());
    talk(&mut ends, now);
    assert_eq!(ends[1].next_message().as_deref(), Some(&[1][..]));
    talk(&mut ends, now);
    let now = go_on(&mut ends).unwrap();
    talk(&mut ends, now);
    assert!(ends[0].is_settled() && !ends[0].is_broken());
}

/// The peer was stopped too, and takes a while: as long as it ever has.
#[test]
fn whoever_was_stopped_gives_the_peer_as_much_time_as_before() {
    let mut link = watchful();
    link.send(Box::new([1])).unwrap();
    while link.next_frame(0).is_some() {}
    let begin = 10_000 * ROUND_TRIP_PS;
    let mut now = begin;
    link.tick(now);
    while !link.is_broken() {
        while link.next_frame(now).is_some() {}
        now = link.next_timeout().unwrap();
        link.tick(now);
    }
    assert!((30 * ROUND_TRIP_PS..=80 * ROUND_TRIP_PS).contains(&(now - begin)), "{}", now - begin);
}

/// Nothing ever comes back.
fn a_lost_peer_is_noticed() -> Result<(), String> {
    let settings = Settings::for_round_trip(ROUND_TRIP_PS);
    let mut link = Link::new(settings, 1);
    link.send(Box::new([1])).map_err(|refused| format!("{refused:?}"))?;
    let mut frames = 0;
    let mut now = 0;
    while !link.is_broken() {
        while link.next_frame(now).is_some() {
            frames += 1;
        }
        now = link.next_timeout().ok_or("no timeout")?;
        if now > Time::from(settings.attempts_max + 1) * settings.timeout_max_ps {
            return Err("not noticed in time".into());
        }
        link.tick(now);
    }
    let is_over = link.next_frame(now).is_none() && link.next_timeout().is_none() && !link.is_settled();
    let refused = link.send(Box::new([2])) == Err(Refused { reason: Refusal::Broken, message: Box::new([2]) });
    if frames == settings.attempts_max + 1 && is_over && refused { Ok(()) } else { Err(format!("{link:?}")) }
}

/// One message of many is lost: it is made up for in a round trip, not after a timeout.
fn a_gap_is_filled_without_a_timeout() -> Result<(), String> {
    let settings = Settings::for_round_trip(ROUND_TRIP_PS);
    let mut ends = [Link::new(settings, 1), Link::new(settings, 1)];
    for byte in 0..3 {
        ends[0].send(Box::new([byte])).map_err(|refused| format!("{refused:?}"))?;
    }
    let lost = ends[0].next_frame(0);
    talk(&mut ends, 0);
    let taken: Vec<u8> = core::iter::from_fn(|| ends[1].next_message()).map(|message| message[0]).collect();
    if lost.is_some() && taken == [0, 1, 2] { Ok(()) } else { Err(format!("took {taken:?}")) }
}

/// After a long time without the peer, the next loss is made up for as soon as ever.
fn timeouts_begin_anew_with_progress() -> Result<(), String> {
    let settings = Settings::for_round_trip(ROUND_TRIP_PS);
    let mut ends = [Link::new(settings, 1), Link::new(settings, 1)];
    ends[0].send(Box::new([1])).map_err(|refused| format!("{refused:?}"))?;
    let mut now = 0;
    for _ in 0..10 {
        while ends[0].next_frame(now).is_some() {}
        now = ends[0].next_timeout().ok_or("no timeout")?;
        ends[0].tick(now);
    }
    talk(&mut ends, now);
    ends[1].next_message().ok_or("the message is lost")?;
    talk(&mut ends, now);
    ends[0].send(Box::new([2])).map_err(|refused| format!("{refused:?}"))?;
    while ends[0].next_frame(now).is_some() {}
    let wait = ends[0].next_timeout().ok_or("no timeout")? - now;
    if wait == settings.timeout_ps { Ok(()) } else { Err(format!("a timeout of {wait}")) }
}

#[test]
fn messages_are_refused_with_a_reason_and_given_back() {
    let settings = Settings { window: 1, message_bytes_max: 2, ..Settings::for_round_trip(ROUND_TRIP_PS) };
    let mut link = Link::new(settings, 1);
    let long: Box<[u8]> = Box::new([0; 3]);
    assert_eq!(link.send(long.clone()), Err(Refused { reason: Refusal::TooLong, message: long }));
    assert_eq!(link.send(Box::new([1, 2])), Ok(()));
    assert_eq!(link.send(Box::new([3])), Err(Refused { reason: Refusal::Full, message: [3].into() }));
    assert_eq!(link.next_frame(0).unwrap().len(), HEAD_BYTES + 2);
}

/// A one-way cut that does not heal ends at both ends, also at the one that still hears the other.
#[test]
fn both_ends_notice_that_one_way_is_cut() {
    let settings = Settings { attempts_max: 5, ..Settings::for_round_trip(ROUND_TRIP_PS) };
    let mut ends = [Link::new(settings, 1), Link::new(settings, 1)];
    for link in &mut ends {
        link.send(Box::new([1])).unwrap();
    }
    let mut now = 0;
    loop {
        while ends[0].next_frame(now).is_some() {}
        while let Some(frame) = ends[1].next_frame(now) {
            ends[0].receive(now, &frame);
        }
        let Some(next) = ends.iter().filter_map(Link::next_timeout).min() else { break };
        now = next;
        for link in &mut ends {
            link.tick(now);
        }
    }
    assert!(ends[0].is_broken() && ends[1].is_broken());
    assert!(now < 2 * 6 * settings.timeout_max_ps);
    assert_eq!(ends[0].next_message().as_deref(), Some(&[1][..]), "what came can still be taken");
}

/// Plans that are alike each time, until one fails.
fn faulty_wire() -> Result<(), String> {
    let config = Config { cases: 500, max_shrink_iters: 0, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let count = Cell::new(0);
    let result = runner.run(&plans(), |plan| {
        count.set(count.get() + 1);
        run(&plan).map(|_| ()).map_err(TestCaseError::fail)
    });
    result.map_err(|error| format!("plan {}: {error}", count.get()))
}

/// Every rule broken in turn is noticed, by the faulty wire or by one of the scenes above, which find nothing otherwise.
#[test]
fn every_planted_bug_is_caught() {
    type Check = fn() -> Result<(), String>;
    let checks: [(Check, &[Bug]); 5] = [
        (
            faulty_wire,
            &[
                Bug::ChecksumUnread,
                Bug::EpochUnread,
                Bug::WrapForgotten,
                Bug::DuplicatesTaken,
                Bug::GapsSkipped,
                Bug::GapsAcknowledged,
                Bug::NothingRequested,
                Bug::NeverAcknowledgedAlone,
                Bug::AnswersForgotten,
                Bug::CopyGivenUpEarly,
                Bug::WindowIgnored,
                Bug::OldAcknowledgementsBelieved,
                Bug::RequestsIgnored,
                Bug::TimeoutsIgnored,
            ],
        ),
        (a_gap_is_filled_without_a_timeout, &[Bug::NothingRequested, Bug::RequestsIgnored]),
        (timeouts_begin_anew_with_progress, &[Bug::BackoffKept]),
        (a_lost_peer_is_noticed, &[Bug::SilenceIgnored]),
        (a_slow_peer_is_not_lost, &[Bug::SlownessTakenForSilence]),
    ];
    for (check, bugs) in checks {
        check().expect("without a bug");
        for bug in bugs {
            match with_bug(*bug, check) {
                Ok(()) => panic!("{bug:?} was not noticed"),
                Err(error) => println!("{bug:?}: {}", error.lines().next().unwrap_or_default()),
            }
        }
    }
}

/// Frames as they come from a wire that anybody may write to. Some are given the right checksum, or only that would be tried.
#[test]
fn fuzz_frames() {
    let frame = |body| Frame { epoch: 1, acknowledged: Serial::FIRST, body }.encode();
    let data = |answer| Body::Data { serial: Serial::FIRST, answer, message: &[7; 5][..] };
    let bodies = [
        data(false),
        data(true),
        Body::Acknowledgement { answer: false },
        Body::Request { first: Serial::FIRST, count: 3 },
    ];
    // Which are summed up again, how long each is, and the frames.
    let samples: Vec<Vec<u8>> = bodies
        .into_iter()
        .flat_map(|body| [0u8, 1].map(|summed| [&[summed, frame(body).len() as u8][..], &frame(body)].concat()))
        .collect();
    crate::fuzz::run("frames", &samples, |input| {
        let settings = Settings { window: 5, message_bytes_max: 8, ..Settings::for_round_trip(ROUND_TRIP_PS) };
        let mut link = Link::new(settings, 1);
        let mut input = crate::fuzz::Reader(input);
        for now in 0..8 {
            let [summed, length] = *input.take(2) else { break };
            let mut bytes = input.take(length as usize).to_vec();
            if summed & 1 == 1 && bytes.len() >= HEAD_BYTES {
                let sum = super::checksum::crc32c(&[&bytes[..HEAD_BYTES - 4], &bytes[HEAD_BYTES..]]);
                bytes[HEAD_BYTES - 4..HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
            }
            if let Ok(frame) = Frame::decode(&bytes) {
                assert_eq!(frame.encode(), bytes);
            }
            let now = now * LATENCY_PS;
            let _ = link.send(Box::new([2]));
            link.receive(now, &bytes);
            link.tick(now);
            assert!((0..1000).any(|_| link.next_frame(now).is_none()), "frames without end");
            assert!(link.held() <= 2 * settings.window);
            if let Some(message) = link.next_message() {
                assert!(message.len() <= settings.message_bytes_max);
            }
        }
    });
}
