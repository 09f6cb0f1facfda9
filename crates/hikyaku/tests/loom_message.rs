//! The words of a slot, explored by a model checker like the protocols in `loom.rs`.

#![cfg(loom)]

mod model;

use hikyaku::message::wire::deal::Stopped;
use hikyaku::message::wire::node::{End, Next, Node, Reached};
use hikyaku::message::wire::search::{High, find_member};
use hikyaku::message::wire::slot::{Deal, Head, HeadInfo, HeadKind, Marks, Post, bounce_of, bounce_value};
use hikyaku::sync::bell::{ANY, Bell};
use hikyaku::sync::fence::Fences;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use model::{Memory, explore};
use std::collections::VecDeque;

/// Both sides fence under loom, which knows no membarrier.
const FENCES: Fences = Fences::Symmetric;

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
                    head.publish(number, HeadInfo::new(HeadKind::Bounce, 8, number + 4, value));
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
            assert_eq!((told.kind(), told.bytes(), told.taken()), (HeadKind::Bounce, 8, number + 4));
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

/// A chunk that cannot be copied: both sides learn of it, when nobody writes any more. Fails if `Deal::spoil` is called after
/// `Deal::copied`.
#[test]
fn both_sides_learn_that_a_chunk_was_not_copied() {
    const BAD: u64 = 1;
    fn copy_good_chunks(deal: &Deal, claim: Claim, buffer: &[Memory<u64>; CHUNKS as usize]) -> bool {
        while let Some(chunk) = claim(deal, 1, CHUNKS) {
            match chunk {
                BAD => deal.spoil(1, 14),
                good => buffer[good as usize].set(good),
            }
            deal.copied();
        }
        while !deal.done(1, CHUNKS) {
            thread::yield_now();
        }
        deal.spoiled(1) == Some(14)
    }
    explore(3, || {
        let shared = Arc::new((Deal::new(), [0u64; 3].map(Memory::new)));
        shared.0.open(1);
        let sender = {
            let shared = shared.clone();
            thread::spawn(move || assert!(copy_good_chunks(&shared.0, Deal::claim, &shared.1)))
        };
        assert!(copy_good_chunks(&shared.0, Deal::claim_back, &shared.1));
        // The buffer is the receiver's own again.
        shared.1.iter().for_each(|chunk| chunk.set(7));
        sender.join().unwrap();
    });
}

/// The words of a long message and the buffers it may go to, or come from; of these, the one that is told of.
struct Long {
    head: Head,
    post: Post,
    deal: Deal,
    spot: AtomicU64,
    buffers: [[Memory<u64>; PARTS as usize]; 2],
    /// What the sender has, as long as it is not done.
    source: Memory<u64>,
}

const PARTS: u64 = 2;

impl Long {
    fn new() -> Long {
        let buffers = [0; 2].map(|_| [0u64; PARTS as usize].map(Memory::new));
        let (spot, source) = (AtomicU64::new(9), Memory::new(100));
        Long { head: Head::new(), post: Post::new(), deal: Deal::new(), spot, buffers, source }
    }

    /// Which buffer the other side tells of, looked at by whoever has claimed a chunk.
    fn told(&self) -> &[Memory<u64>; PARTS as usize] {
        &self.buffers[self.spot.load(Ordering::Relaxed) as usize]
    }

    /// As `Core::post_as_is`.
    fn post(&self, buffer: u64) -> bool {
        self.spot.store(buffer, Ordering::Relaxed);
        let opened = self.deal.try_open(1);
        if opened {
            self.post.publish(0, true);
        }
        opened
    }

    /// As `Core::withdraw`: false if it was too late, and the message has come.
    fn withdraw(&self) -> bool {
        loop {
            match self.deal.close(1, || PARTS) {
                Stopped::Now => {
                    self.post.publish(0, false);
                    return true;
                }
                Stopped::Late if self.deal.done(1, PARTS) => return false,
                Stopped::Late | Stopped::Soon => thread::yield_now(),
            }
        }
    }

    /// As `Core::help`: copies what it can; true when all is copied.
    fn help(&self) -> bool {
        if self.post.look().1 {
            while let Some(part) = self.deal.claim(1, PARTS) {
                self.told()[part as usize].set(self.source.get() + part);
                self.deal.copied();
            }
        }
        self.deal.done(1, PARTS)
    }
}

/// A receive that is given up, and another one posted in its place, while the sender copies: nobody writes to the buffer of
/// the first any more, and the message comes whole to one of the two.
///
/// Fails if the sender looks at the want before it claims, or if the receiver tells of it after it has opened the deal (as it
/// once was: a claim then went by the number of the message alone, which the second receive has too); if `Deal::close`
/// succeeds while a claimed chunk is not counted, or although all were claimed; if it leaves the deal open; if the deal is
/// opened again with the chunks counted that went to the first receive.
#[test]
fn nobody_writes_after_a_withdrawal() {
    explore(3, || {
        let shared = Arc::new(Long::new());
        assert!(shared.post(0));
        let sender = {
            let shared = shared.clone();
            thread::spawn(move || {
                while !shared.help() {
                    thread::yield_now();
                }
                // The buffer is the sender's own again.
                shared.source.set(0);
            })
        };
        let [first, second] = &shared.buffers;
        let withdrawn = shared.withdraw();
        if withdrawn {
            // The buffer is the receiver's own again.
            first.iter().for_each(|part| part.set(7));
            assert!(shared.post(1));
            while let Some(part) = shared.deal.claim_back(1, PARTS) {
                second[part as usize].set(shared.source.get() + part);
                shared.deal.copied();
            }
            while !shared.deal.done(1, PARTS) {
                thread::yield_now();
            }
        }
        let came = if withdrawn { second } else { first };
        assert_eq!(came.each_ref().map(Memory::get), [100, 101]);
        came.iter().for_each(|part| part.set(8));
        sender.join().unwrap();
        assert_eq!(came.each_ref().map(Memory::get), [8; PARTS as usize]);
        if withdrawn {
            assert_eq!(first.each_ref().map(Memory::get), [7; PARTS as usize]);
        }
    });
}

/// A send that is given up goes on from a copy, while its receiver posts, gives its receive up, and posts again: nobody
/// reads the old buffer any more, and the message comes whole.
///
/// Fails if the receiver looks at the offer before it claims; if `Deal::hold` succeeds while a claimed chunk is not counted;
/// if `Deal::try_open` opens what is held, or stores without comparing; if `Deal::let_go` or `Deal::copied` is relaxed.
#[test]
fn nobody_reads_after_a_recall() {
    for gives_up_too in [false, true] {
        explore(3, move || recall(gives_up_too));
    }
}

fn recall(gives_up_too: bool) {
    let shared = Arc::new(Long::new());
    let [old, copy] = &shared.buffers;
    for (part, (old, copy)) in old.iter().zip(copy).enumerate() {
        old.set(100 + part as u64);
        copy.set(100 + part as u64);
    }
    shared.spot.store(0, Ordering::Relaxed);
    shared.head.publish(1, HeadInfo::new(HeadKind::Offer, 0, 0, 0));
    let sender = {
        let shared = shared.clone();
        thread::spawn(move || {
            while shared.deal.hold(1, PARTS) != Stopped::Now {
                if shared.deal.done(1, PARTS) {
                    break;
                }
                thread::yield_now();
            }
            // The buffer is the sender's own again.
            shared.buffers[0].iter().for_each(|part| part.set(7));
            shared.spot.store(1, Ordering::Relaxed);
            shared.deal.let_go(1);
        })
    };
    let open = || {
        while !shared.deal.try_open(1) {
            thread::yield_now();
        }
    };
    assert!(shared.head.look(1).is_some());
    open();
    if gives_up_too && shared.withdraw() {
        open();
    }
    while !shared.deal.done(1, PARTS) {
        while let Some(part) = shared.deal.claim_back(1, PARTS) {
            assert_eq!(shared.told()[part as usize].get(), 100 + part);
            shared.deal.copied();
        }
        thread::yield_now();
    }
    sender.join().unwrap();
}

/// Waits as `Port::wait_until` does, without the spinning.
fn wait_until<R>(bell: &Bell, mut ready: impl FnMut() -> Option<R>) -> R {
    let mut found = ready();
    while found.is_none() {
        bell.sleep(FENCES, 0, ANY, None, || {
            found = ready();
            found.is_some()
        });
    }
    found.unwrap()
}

/// The words of one slot, and what travels in its line.
struct Slot {
    head: Head,
    post: Post,
    line: Memory<u64>,
}

impl Slot {
    fn new() -> Slot {
        Slot { head: Head::new(), post: Post::new(), line: Memory::new(0) }
    }

    /// Whether all of `sent` messages were taken.
    fn is_free(&self, sent: u64) -> bool {
        self.post.look().0 == sent
    }

    /// Message `number`, into the line of a free slot.
    fn put(&self, number: u64, value: u64, receiver: &Bell) {
        self.line.set(value);
        self.head.publish(number, HeadInfo::new(HeadKind::Line, 8, 0, 0));
        receiver.ring(FENCES, ANY);
    }

    /// Message `number`, which has come.
    fn take(&self, number: u64, sender: &Bell) -> u64 {
        let value = self.line.get();
        self.post.publish(number, false);
        sender.ring(FENCES, ANY);
        value
    }
}

/// Two senders, and a receiver that takes what comes from either and sleeps when there is nothing: every message is taken
/// once, those of a sender in their order, and a sender waits, asleep, until its slot is free.
///
/// Fails if `find_member` leaves a member out; if `Head` or `Post` is stored or loaded relaxed; if a sender does not wait for
/// its slot; if either side rings before its word is stored, or not at all; if either fence of the bell is left out.
#[test]
fn messages_of_any_source_are_all_found() {
    const SENDERS: usize = 2;
    // How many each sends. A search that does not come back to the sender it found last would miss one.
    const MESSAGES: [u64; SENDERS] = [1, 2];
    explore(2, || {
        let shared = Arc::new((Bell::new(), [(Slot::new(), Bell::new()), (Slot::new(), Bell::new())]));
        let send = |sender: usize| {
            let shared = shared.clone();
            thread::spawn(move || {
                let (receiver, senders) = &*shared;
                let (slot, bell) = &senders[sender];
                for number in 1..=MESSAGES[sender] {
                    wait_until(bell, || slot.is_free(number - 1).then_some(()));
                    slot.put(number, number * 10 + sender as u64, receiver);
                }
            })
        };
        let threads = [send(0), send(1)];
        let (bell, senders) = &*shared;
        let (mut taken, mut turn) = ([0; SENDERS], 0);
        for _ in 0..MESSAGES.iter().sum() {
            let waits = |member: &usize| senders[*member].0.head.look(taken[*member] + 1).is_some();
            let member = wait_until(bell, || find_member(turn, SENDERS, waits));
            turn = (member + 1) % SENDERS;
            taken[member] += 1;
            let (slot, sender) = &senders[member];
            assert_eq!(slot.take(taken[member], sender), taken[member] * 10 + member as u64, "lost or out of order");
        }
        assert_eq!(taken, MESSAGES);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// A sender that uses slots in any order, and a receiver that takes whatever is there and looks only at slots below the
/// limit: it never sleeps past a message.
///
/// Fails if the limit is raised after the ring, if it goes down with a lower slot (`High::raise` without its
/// comparison), if it stays at the first slot or is one too low, and if the receiver looks no more once it is among the
/// sleepers.
#[test]
fn messages_of_any_slot_are_all_found() {
    // The limit rises with the last message, or could go down with it.
    for order in [[0, 1], [1, 0]] {
        explore(4, move || find_both(order));
    }
}

fn find_both(order: [usize; 2]) {
    let shared = Arc::new((Bell::new(), Bell::new(), High::new(), [Slot::new(), Slot::new()]));
    let sender = {
        let shared = shared.clone();
        thread::spawn(move || {
            let (receiver, _, high, slots) = &*shared;
            let mut told = 0;
            for slot in order {
                high.raise(&mut told, slot);
                slots[slot].put(1, slot as u64, receiver);
            }
        })
    };
    let (bell, sender_bell, high, slots) = &*shared;
    let mut taken = [0; 2];
    for _ in order {
        let waits = |slot: &usize| slots[*slot].head.look(taken[*slot] + 1).is_some();
        let slot = wait_until(bell, || high.find_slot(slots.len(), waits));
        taken[slot] += 1;
        assert_eq!(slots[slot].take(taken[slot], sender_bell), slot as u64);
    }
    assert_eq!(taken, [1; 2]);
    sender.join().unwrap();
}

/// Sends that found their slot in use lie in the spare buffer. Whatever the sender waits for, it moves them on as soon as
/// the receiver's post tells that the slot is free, also if it sleeps by then.
///
/// Fails if the receiver does not ring after its post, or rings before; if `Post::publish` stores relaxed; if sends leave
/// the spare buffer while their slot is not free; and if the sender moves them only before it goes to sleep, not in
/// its last look.
#[test]
fn spooled_sends_are_moved_by_any_wait() {
    const MESSAGES: u64 = 3;
    explore(3, || {
        let shared = Arc::new(([Bell::new(), Bell::new()], Slot::new(), Slot::new()));
        let sender = {
            let shared = shared.clone();
            thread::spawn(move || {
                let ([own, peer], slot, answer) = &*shared;
                // Buffered mode: none of these sends waits.
                let (mut sent, mut spool) = (0, VecDeque::from_iter(1..=MESSAGES));
                let mut move_spooled = || {
                    while !spool.is_empty() && slot.is_free(sent) {
                        sent += 1;
                        slot.put(sent, spool.pop_front().unwrap() * 10, peer);
                    }
                };
                wait_until(own, || {
                    move_spooled();
                    answer.head.look(1)
                });
                assert_eq!((answer.take(1, peer), sent), (7, MESSAGES));
            })
        };
        let ([peer, own], slot, answer) = &*shared;
        for number in 1..=MESSAGES {
            wait_until(own, || slot.head.look(number));
            assert_eq!(slot.take(number, peer), number * 10, "lost or out of order");
        }
        // Only now comes what the sender waits for.
        answer.put(1, 7, peer);
        sender.join().unwrap();
    });
}

/// Nodes of the sender; the place of each is its index and 1.
struct Nodes([(Node, Memory<u64>); 2]);

impl Nodes {
    fn at(&self, start: u64) -> &(Node, Memory<u64>) {
        &self.0[start as usize - 1]
    }
}

/// The sender's side of a slot with a chain: what `spool` and `chain` keep.
struct Chained<'a> {
    slot: &'a Slot,
    link: &'a Next,
    nodes: &'a Nodes,
    end: End,
    sent: u64,
    /// (node, number of its message) of those not known to be taken.
    lane: VecDeque<(u64, u64)>,
    /// The last one that was.
    tail: Option<u64>,
    free: Vec<u64>,
}

impl Chained<'_> {
    /// A node is given back when a later one was taken. Its memory may then serve for anything.
    fn give_back(&mut self) {
        let taken = self.slot.post.look().0;
        while let Some((node, _)) = self.lane.front().copied().filter(|(_, number)| *number <= taken) {
            self.lane.pop_front();
            if let Some(passed) = self.tail.replace(node) {
                self.nodes.at(passed).1.set(0);
                self.free.push(passed);
            }
        }
    }

    fn send(&mut self, value: u64, own: &Bell, receiver: &Bell) {
        self.give_back();
        self.sent += 1;
        if self.lane.is_empty() && self.slot.is_free(self.sent - 1) {
            self.end.leave(self.link);
            return self.slot.put(self.sent, value, receiver);
        }
        let start = wait_until(own, || {
            self.give_back();
            self.free.pop()
        });
        let (node, bytes) = self.nodes.at(start);
        node.describe(self.sent, 8);
        bytes.set(value);
        self.end.append(start, self.link, |last| &self.nodes.at(last).0);
        receiver.ring(FENCES, ANY);
        self.lane.push_back((start, self.sent));
    }
}

/// A sender that never waits for its slot, with memory for two messages in its chain, and a receiver that takes what is in
/// the head or the chain and sleeps when there is nothing. Every message comes once and in order, and nobody looks at a node
/// that was given back.
///
/// Fails if `Next::lead` stores relaxed or `Next::follow` loads relaxed; if a chain is left after the head was published, or
/// not at all; if a new chain is not led to; if a node is appended where the receiver does not look, or keeps its old
/// `next`; if a node is given back as soon as its own message was taken; if the receiver stays in a chain after a message
/// that came by the head, or goes back to its beginning after each node; if the sender does not ring after appending.
#[test]
fn messages_of_a_chain_are_all_found() {
    const MESSAGES: u64 = 5;
    explore(2, || {
        let nodes = Nodes([(Node::new(), Memory::new(0)), (Node::new(), Memory::new(0))]);
        let shared = Arc::new(([Bell::new(), Bell::new()], Slot::new(), Next::new(), nodes));
        let sender = {
            let shared = shared.clone();
            thread::spawn(move || {
                let ([own, receiver], slot, link, nodes) = &*shared;
                let (lane, tail, free) = (VecDeque::new(), None, vec![1, 2]);
                let mut chained = Chained { slot, link, nodes, end: End::default(), sent: 0, lane, tail, free };
                (1..=MESSAGES).for_each(|number| chained.send(number * 10, own, receiver));
            })
        };
        let ([sender_bell, own], slot, link, nodes) = &*shared;
        let mut reached = Reached::default();
        for number in 1..=MESSAGES {
            let in_chain = wait_until(own, || match slot.head.look(number) {
                Some(_) => Some(None),
                None => reached.find(number, link, |start| Some(&nodes.at(start).0)).map(Some),
            });
            let value = match in_chain {
                None => {
                    reached = Reached::default();
                    slot.take(number, sender_bell)
                }
                Some(start) => {
                    let (node, bytes) = nodes.at(start);
                    assert_eq!(node.bytes(), 8);
                    let value = bytes.get();
                    reached = Reached::at(start);
                    slot.post.publish(number, false);
                    sender_bell.ring(FENCES, ANY);
                    value
                }
            };
            assert_eq!(value, number * 10, "lost or out of order");
        }
        sender.join().unwrap();
    });
}
