//! Matching by labels is what a walk through lists would do.

use super::arrival::Envelope;
use super::buffer::Room;
use super::keys::{Keys, Pattern, Source};
use super::tables::{ReceiveId, Tables};
use super::wire::Offer;
use proptest::prelude::*;
use std::collections::VecDeque;

/// What happens to the tables.
#[derive(Clone, Copy, Debug)]
enum Step {
    Message {
        source: usize,
        key: u64,
    },
    Offer {
        source: usize,
        key: u64,
    },
    Receive(Pattern),
    /// One of the receives so far.
    Withdraw(usize),
    Probe(Pattern),
}

fn pattern() -> impl Strategy<Value = Pattern> {
    let source = prop_oneof![(0usize..3).prop_map(Source::Rank), Just(Source::Any)];
    let ignored = prop_oneof![4 => Just(0), 2 => Just(u64::MAX), 1 => Just(1), 1 => Just(2), 1 => Just(3)];
    (source, 0u64..4, ignored).prop_map(|(source, key, ignored)| Pattern::new(source, Keys::with_ignored(key, ignored)))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0usize..3, 0u64..4).prop_map(|(source, key)| Step::Message { source, key }),
        2 => (0usize..3, 0u64..4).prop_map(|(source, key)| Step::Offer { source, key }),
        5 => pattern().prop_map(Step::Receive),
        2 => any::<usize>().prop_map(Step::Withdraw),
        1 => pattern().prop_map(Step::Probe),
    ]
}

/// Lists that are walked through.
#[derive(Default)]
struct Model {
    /// Messages, in order: their numbers, and whether they are long.
    messages: Vec<(u64, usize, u64, bool)>,
    /// Receives, in order: their places, and what they take.
    waiting: Vec<(usize, Pattern)>,
    /// What each receive got.
    got: Vec<Option<(u64, bool)>>,
}

impl Model {
    fn arrive(&mut self, message: (u64, usize, u64, bool)) {
        let (number, source, key, is_long) = message;
        match self.waiting.iter().position(|(_, pattern)| pattern.matches(source as u32, key)) {
            Some(at) => self.got[self.waiting.remove(at).0] = Some((number, is_long)),
            None => {
                let at = self.messages.iter().position(|(other, ..)| *other > number);
                self.messages.insert(at.unwrap_or(self.messages.len()), message);
            }
        }
    }

    fn first(&self, pattern: Pattern) -> Option<usize> {
        self.messages.iter().position(|(_, source, key, _)| pattern.matches(*source as u32, *key))
    }
}

#[test]
fn a_message_that_comes_back_is_before_those_that_came_after_it() {
    let mut tables = Tables::new(1, 0);
    let mut room = [0u8; 8];
    let mut post = |tables: &mut Tables, key: u64| {
        // SAFETY: it stays as long as the tables.
        tables.post(Pattern::new(0, key), unsafe { Room::new(room.as_mut_ptr(), 8) })
    };
    tables.offer(0, 7, Offer { bytes: 8, which: 0, slot: None });
    let (takes_it, _) = post(&mut tables, 7);
    tables.bring(0, 7, &[1; 8]);
    tables.bring(0, 9, &[2; 8]);
    // Now what is left is listed, and nothing else is there.
    assert!(post(&mut tables, 9).1);
    assert!(tables.withdraw(takes_it, |_| true).is_none());
    let (again, has_ended) = post(&mut tables, 7);
    assert!(!has_ended && tables.transfer(again).is_some(), "the message behind it came first");
}

/// How a message comes.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// Of so many lines.
    Frame(u64),
    Message,
    Offer,
}

proptest! {
    /// What comes by the lane and what is told otherwise overtake each other at will, and are taken in the order in which they were sent.
    #[test]
    fn two_ways_keep_one_order(
        ways in proptest::collection::vec(prop_oneof![(1u64..6).prop_map(Way::Frame), Just(Way::Message), Just(Way::Offer)], 1..60),
        turns in proptest::collection::vec(any::<bool>(), 1..80),
    ) {
        let mut tables = Tables::new(2, 0);
        let (mut frames, mut told, mut written) = (VecDeque::new(), VecDeque::new(), 0);
        for (number, way) in (0u64..).zip(&ways) {
            match way {
                Way::Frame(lines) => {
                    frames.push_back((number, *lines, told.len() as u64));
                    written += lines;
                }
                other => told.push_back((number, *other, written)),
            }
        }
        let mut next = 0;
        // At last everything has come.
        for is_frame in turns.into_iter().chain([true, false].repeat(ways.len())) {
            if is_frame {
                if let Some((number, lines, told)) = frames.front()
                    && tables.has_told(1, *told)
                {
                    tables.take_frame(1, 7, &number.to_le_bytes(), *lines);
                    frames.pop_front();
                }
            } else if let Some((number, way, after)) = told.pop_front() {
                match way {
                    Way::Offer => tables.hear_offer(1, 7, Offer { bytes: 8, which: number, slot: None }, after),
                    _ => tables.hear_message(1, 7, &number.to_le_bytes(), after),
                }
            }
            while tables.probe(Pattern::new(1, 7)).is_some() {
                let mut room = [0xee; 8];
                // SAFETY: nothing is written to it after this turn.
                let (id, has_ended) = tables.post(Pattern::new(1, 7), unsafe { Room::new(room.as_mut_ptr(), 8) });
                let number = if has_ended { u64::from_le_bytes(room) } else { tables.transfer(id).unwrap().offer.which };
                prop_assert_eq!(number, next);
                next += 1;
            }
        }
        prop_assert_eq!(next, ways.len() as u64);
    }

    #[test]
    fn labels_find_what_lists_would(steps in proptest::collection::vec(step(), 1..150)) {
        let (mut tables, mut model) = (Tables::new(3, 0), Model::default());
        let (mut receives, mut sent) = (Vec::<(Pattern, ReceiveId, Box<[u8; 8]>)>::new(), Vec::new());
        for step in steps {
            let number = sent.len() as u64;
            match step {
                Step::Message { source, key } => {
                    sent.push((source, key));
                    tables.bring(source, key, &number.to_le_bytes());
                    model.arrive((number, source, key, false));
                }
                Step::Offer { source, key } => {
                    sent.push((source, key));
                    tables.offer(source, key, Offer { bytes: 8, which: number, slot: None });
                    model.arrive((number, source, key, true));
                }
                Step::Receive(pattern) => {
                    let mut room = Box::new([0xee; 8]);
                    // SAFETY: the box stays as long as the tables, and is looked at when nobody writes.
                    let (id, _) = tables.post(pattern, unsafe { Room::new(room.as_mut_ptr(), 8) });
                    receives.push((pattern, id, room));
                    let found = model.first(pattern).map(|at| model.messages.remove(at));
                    model.got.push(found.map(|(number, _, _, is_long)| (number, is_long)));
                    if found.is_none() {
                        model.waiting.push((receives.len() - 1, pattern));
                    }
                }
                Step::Withdraw(which) if !receives.is_empty() => {
                    let at = which % receives.len();
                    let ended = tables.withdraw(receives[at].1, |_| true);
                    model.waiting.retain(|(other, _)| *other != at);
                    match model.got[at].take() {
                        Some((number, true)) => {
                            prop_assert!(ended.is_none());
                            let (source, key) = sent[number as usize];
                            model.arrive((number, source, key, true));
                        }
                        Some((number, false)) => {
                            let (source, key) = sent[number as usize];
                            prop_assert_eq!(ended.unwrap().unwrap(), Envelope { source, key, bytes: 8 });
                            prop_assert_eq!(u64::from_le_bytes(*receives[at].2), number);
                        }
                        None => prop_assert!(ended.is_none()),
                    }
                }
                Step::Withdraw(_) => {}
                Step::Probe(pattern) => {
                    let expected = model.first(pattern).map(|at| model.messages[at]);
                    let expected = expected.map(|(_, source, key, _)| Envelope { source, key, bytes: 8 });
                    prop_assert_eq!(tables.probe(pattern), expected);
                }
            }
        }
        for (at, (_, id, room)) in receives.iter().enumerate() {
            match model.got[at] {
                Some((number, true)) => {
                    prop_assert_eq!(tables.transfer(*id).map(|transfer| transfer.offer.which), Some(number));
                }
                Some((number, false)) => {
                    prop_assert!(tables.ended(*id).is_some());
                    prop_assert_eq!(u64::from_le_bytes(**room), number);
                }
                None => prop_assert!(tables.ended(*id).is_none() && tables.transfer(*id).is_none()),
            }
        }
    }
}
