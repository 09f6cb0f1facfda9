//! What the threads of one rank share in their network interface, explored by a model checker like the protocols in
//! `loom.rs`.

#![cfg(loom)]

mod model;

use hikyaku::ni::lookout::Lookout;
use hikyaku::sync::atomic::{AtomicU64, Ordering};
use hikyaku::sync::bell::{ANY, Bell};
use hikyaku::sync::fence::Fences;
use hikyaku::transport::shm::ring::{self, Consumer, Packet, Producer, Ring};
use loom::sync::{Arc, Mutex};
use loom::thread;
use model::explore;

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
