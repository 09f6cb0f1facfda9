//! What the threads of one rank share in their network interface, explored by a model checker like the protocols in
//! `loom.rs`.

#![cfg(loom)]

mod model;

use hikyaku::ni::state::account::{Account, StatusWord};
use hikyaku::ni::state::call::CallSlot;
use hikyaku::ni::state::lookout::Lookout;
use hikyaku::sync::atomic::{AtomicU64, Ordering};
use hikyaku::sync::bell::{ANY, Bell};
use hikyaku::sync::fence::Fences;
use hikyaku::transport::shm::ring::{self, Consumer, Packet, Producer, Ring};
use loom::sync::{Arc, Mutex};
use loom::thread;
use model::{Memory, explore};

/// Both sides fence under loom, which knows no membarrier.
const FENCES: Fences = Fences::Symmetric;

// -------------------------------------------------------------------------------------------------------- lookout

/// One rank that receives from source 1 and answers each message, with the engine's part in small.
struct Rank {
    bell: Bell,
    sender_bell: Bell,
    attached: AtomicU64,
    ring: Ring,
    /// Whether answers can be sent; those that cannot are kept.
    room: AtomicU64,
    lookout: Lookout,
    engine: Mutex<Engine>,
    answered: AtomicU64,
}

#[derive(Default)]
struct Engine {
    source: Option<(usize, Consumer)>,
    spilled: usize,
}

const SOURCE: usize = 1;

impl Rank {
    fn new(room: u64) -> Arc<Rank> {
        Arc::new(Rank {
            bell: Bell::new(),
            sender_bell: Bell::new(),
            attached: AtomicU64::new(0),
            ring: Ring::new(),
            room: AtomicU64::new(room),
            lookout: Lookout::new(2),
            engine: Mutex::new(Engine::default()),
            answered: AtomicU64::new(0),
        })
    }

    /// As `Ni::progress`.
    fn progress(&self) -> Option<bool> {
        let arrived = |source, position| {
            assert_eq!(source, SOURCE, "a ring that nobody has noted");
            ring::arrived(&self.ring, position)
        };
        if !self.lookout.anything(arrived, |_| self.attached.load(Ordering::Relaxed)) {
            return Some(false);
        }
        let mut engine = self.engine.try_lock().ok()?;
        let worked = self.run(&mut engine);
        drop(engine);
        if worked {
            self.bell.ring(FENCES, ANY);
        }
        Some(worked)
    }

    /// As `Engine::run`, one message at a time.
    fn run(&self, engine: &mut Engine) -> bool {
        let mut worked = false;
        if engine.spilled > 0 && self.answer() {
            engine.spilled -= 1;
            self.lookout.note_spilled(engine.spilled);
            worked = true;
        }
        let attached = self.attached.load(Ordering::Acquire);
        if !self.lookout.knows(0, attached) && self.lookout.note_attached(0, attached) != 0 {
            engine.source = Some((self.lookout.note_ring(SOURCE), Consumer::default()));
            self.bell.ring(FENCES, ANY);
        }
        if let Some((number, consumer)) = &mut engine.source
            && let Some(packet) = consumer.peek(&self.ring).unwrap()
        {
            worked = true;
            if !self.answer() {
                engine.spilled += 1;
                self.lookout.note_spilled(engine.spilled);
            }
            if consumer.advance(&self.ring, &packet) {
                self.sender_bell.ring(FENCES, ANY);
            }
            self.lookout.note_consumed(*number, consumer.consumed());
        }
        worked
    }

    fn answer(&self) -> bool {
        let room = self.room.load(Ordering::Acquire) == 1;
        if room {
            self.answered.store(self.answered.load(Ordering::Relaxed) + 1, Ordering::Release);
        }
        room
    }

    fn send(&self, producer: &mut Producer) {
        self.attached.fetch_or(1 << SOURCE, Ordering::SeqCst);
        let mut sent = producer.try_send(&self.ring, &Packet::default(), &[]);
        while !sent {
            self.sender_bell.sleep(FENCES, 0, ANY, None, || {
                sent = producer.try_send(&self.ring, &Packet::default(), &[]);
                sent
            });
        }
        self.bell.ring(FENCES, ANY);
    }

    /// Sleeps until so many messages are answered.
    fn serve(&self, messages: u64) {
        let done = || self.answered.load(Ordering::Acquire) == messages;
        while !done() {
            self.bell.sleep(FENCES, 0, ANY, None, || match self.progress() {
                Some(worked) => worked || done(),
                // Another thread is in the engine.
                None => self.engine.lock().is_ok(),
            });
        }
    }
}

/// A peer, a thread that looks once and goes away to compute, and a thread that sleeps whenever there is nothing to do:
/// everything is answered. A message that was missed ends as a deadlock.
fn lookout_model(
    messages: u64,
    room: u64,
    preemptions: usize,
    peer: impl Fn(&Rank, Producer) + Copy + Send + Sync + 'static,
) {
    explore(preemptions, move || {
        let rank = Rank::new(room);
        let mut producer = Producer::default();
        (1..messages).for_each(|_| rank.send(&mut producer));
        let peer = {
            let rank = rank.clone();
            thread::spawn(move || peer(&rank, producer))
        };
        let host = {
            let rank = rank.clone();
            thread::spawn(move || rank.progress())
        };
        rank.serve(messages);
        peer.join().unwrap();
        host.join().unwrap();
    });
}

/// Fails with: an engine that does not wake the sleepers after it noted a ring (the bit is seen as noted, the ring not
/// yet); `ring_count` stored or loaded relaxed (a ring that nobody has noted); attached bits not looked at.
#[test]
fn the_first_message_is_not_missed() {
    lookout_model(1, 1, 3, |rank, mut producer| rank.send(&mut producer));
}

/// The last message lies where the first was: a look with an old position finds another lap there, hence nothing.
///
/// Fails with: a position noted too far, not at all, or a message late; either fence of the bell left out.
#[test]
fn a_message_to_a_full_ring_is_not_missed() {
    lookout_model(3, 1, 1, |rank, mut producer| rank.send(&mut producer));
}

/// Fails with: `spilled` not noted or not looked at; an engine that does not wake the sleepers after work.
#[test]
fn an_answer_that_waits_for_room_is_not_missed() {
    lookout_model(1, 0, 2, |rank, mut producer| {
        rank.send(&mut producer);
        rank.room.store(1, Ordering::Release);
        rank.bell.ring(FENCES, ANY);
    });
}

// ----------------------------------------------------------------------------------------------------------- call

/// Waits for the outcome of a call as `Port::await_answer` does.
fn await_outcome(slot: &CallSlot, token: u64) -> u64 {
    loop {
        if let Some(outcome) = slot.outcome(token) {
            return outcome;
        }
        thread::yield_now();
    }
}

/// A call whose answer is waited for: its words and its payload are those of the answer. It may be a refusal.
///
/// Fails with: `done` stored or loaded relaxed; `done` stored before the words, the payload or the refusal.
#[test]
fn an_answer_arrives_as_a_whole() {
    explore(3, || {
        let slot = Arc::new(CallSlot::default());
        let tokens = [slot.open(3), slot.open(3)];
        assert!(tokens[0] != tokens[1] && tokens.map(|token| token & 0xff) == [3; 2]);
        let engine = {
            let slot = slot.clone();
            thread::spawn(move || {
                // The first was opened and never sent; should an answer come, nobody wants it.
                slot.answer(tokens[0], &[9; 6], &[9; 3]);
                slot.answer(tokens[1], &[1, 2, 3, 4, 5, 6], &[7; 5]);
            })
        };
        assert_eq!(await_outcome(&slot, tokens[1]), 0);
        assert_eq!(slot.words(), [1, 2, 3, 4, 5, 6]);
        assert_eq!(*slot.payload(), [7; 5]);
        let token = slot.open(3);
        let engine_again = {
            let slot = slot.clone();
            thread::spawn(move || slot.refuse(token, 4))
        };
        assert_eq!(await_outcome(&slot, token), 4);
        engine.join().unwrap();
        engine_again.join().unwrap();
    });
}

/// A call that is given up while its answer comes in: the next call gets its own answer and nothing of the other's.
/// The two answers come by different threads, each in the engine when it has its turn.
///
/// Fails with: a refusal that is cleared when a call begins instead of when it is answered; a token not compared; a
/// token used twice; words that are not written anew.
fn abandoned_model(late: impl Fn(&CallSlot, u64) + Copy + Send + Sync + 'static) {
    explore(3, move || {
        let shared = Arc::new((CallSlot::default(), Mutex::new(()), AtomicU64::new(0)));
        let (slot, ..) = &*shared;
        let first = slot.open(0);
        let one = {
            let shared = shared.clone();
            thread::spawn(move || {
                let _inside = shared.1.lock();
                late(&shared.0, first);
            })
        };
        let other = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (slot, engine, asked) = &*shared;
                let second = asked.load(Ordering::Acquire);
                let _inside = engine.lock();
                if second != 0 {
                    slot.answer(second, &[2; 6], &[2]);
                }
            })
        };
        let (slot, engine, asked) = &*shared;
        let second = slot.open(0);
        asked.store(second, Ordering::Release);
        other.join().unwrap();
        if slot.outcome(second).is_none() {
            // The other thread looked too early.
            let _inside = engine.lock();
            slot.answer(second, &[2; 6], &[2]);
        }
        assert_eq!(slot.outcome(second), Some(0));
        assert_eq!(slot.words(), [2; 6]);
        assert_eq!(*slot.payload(), [2]);
        one.join().unwrap();
    });
}

#[test]
fn a_late_answer_is_not_taken_for_the_next() {
    abandoned_model(|slot, token| slot.answer(token, &[1; 6], &[1; 3]));
}

#[test]
fn a_late_refusal_is_not_taken_for_the_next() {
    abandoned_model(|slot, token| slot.refuse(token, 7));
}

// -------------------------------------------------------------------------------------------------------- account

const PEER: usize = 1;
const SIZE: usize = 2;

/// A word that a status is written to; the account knows where it is.
fn status_of(word: &Memory<u64>) -> StatusWord {
    (std::ptr::from_ref(word).addr(), 7)
}

/// Of two operations, one is answered and one is refused, as `route` does it. When all are settled, the status word is
/// written and the refusal can be heard of.
///
/// Fails with: `done` added or loaded relaxed; `done` added before the status is written; an operation that is settled
/// when the first of two is; a refusal kept after `finish`.
#[test]
fn what_is_settled_is_written_and_reported() {
    explore(3, || {
        let shared = Arc::new((Account::default(), Memory::new(0)));
        let (account, word) = &*shared;
        let numbers = [account.start(PEER, SIZE, Some(status_of(word))), account.start(PEER, SIZE, None)];
        let engine = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (account, word) = &*shared;
                account.finish(PEER, numbers[0], |status| {
                    assert_eq!(status, status_of(word));
                    word.set(status.1);
                });
                account.refuse(PEER, 5);
                account.finish(PEER, numbers[1], |_| unreachable!("an operation without a status"));
            })
        };
        while !account.is_settled(PEER) {
            thread::yield_now();
        }
        assert_eq!(word.get(), 7);
        assert_eq!(account.take_refusal(), Some((PEER, 5)));
        assert_eq!(account.take_refusal(), None);
        assert!(account.unsettled().is_empty());
        engine.join().unwrap();
    });
}

/// A status word that is freed while its operation comes to an end is not written any more afterwards.
///
/// Fails with: a status written outside the lock.
#[test]
fn a_forgotten_status_is_not_written() {
    explore(4, || {
        let shared = Arc::new((Account::default(), Memory::new(0)));
        let (account, word) = &*shared;
        let number = account.start(PEER, SIZE, Some(status_of(word)));
        let engine = {
            let shared = shared.clone();
            thread::spawn(move || shared.0.finish(PEER, number, |status| shared.1.set(status.1)))
        };
        let address = status_of(word).0;
        account.forget_statuses(address..address + 8);
        // Freed, and used for something else.
        word.set(0);
        engine.join().unwrap();
        assert_eq!(word.get(), 0);
    });
}

/// Operations to a rank that has ended are given up while a last answer comes in: they stay settled.
///
/// Fails with: `done` compared for equality.
#[test]
fn what_was_written_off_stays_settled() {
    explore(4, || {
        let account = Arc::new(Account::default());
        let number = account.start(PEER, SIZE, None);
        account.start(PEER, SIZE, None);
        let engine = {
            let account = account.clone();
            thread::spawn(move || account.finish(PEER, number, |_| unreachable!("an operation without a status")))
        };
        account.write_off(PEER);
        assert!(account.is_settled(PEER));
        engine.join().unwrap();
        assert!(account.is_settled(PEER));
    });
}
