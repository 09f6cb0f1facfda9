//! The protocols on shared words, explored by a model checker: every interleaving (up to a number of preemptions)
//! and every value the memory model lets a load return.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p hikyaku --test 'loom*' --release
//! ```
//!
//! A model that cannot fail proves nothing. Each says which weakening of the library it was seen to catch.
//! Sleeping goes to the queue in `sync/futex.rs`, so a lost wake-up ends as loom's "deadlock".
//! Memory whose use must be ordered is an `UnsafeCell` of loom's, which reports any access that is not.

#![cfg(loom)]

mod model;

use hikyaku::sync::atomic::{AtomicU64, Ordering};
use hikyaku::sync::bell::{ANY, Bell, CREW};
use hikyaku::sync::departure::depart;
use hikyaku::sync::fence::Fences;
use hikyaku::sync::gate::Gate;
use hikyaku::sync::guard::Guard;
use hikyaku::sync::places::Places;
use hikyaku::transport::shm::ring::{Consumer, LINE_COUNT, Packet, Producer, Ring};
use loom::sync::Arc;
use loom::thread;
use model::{Memory, explore};

/// Both sides fence under loom, which knows no membarrier.
const FENCES: Fences = Fences::Symmetric;

// ---------------------------------------------------------------------------------------------------------- ring

fn message(number: u64) -> (Packet, Vec<u8>) {
    // Parts of words and whole ones. The fifth message takes the place of the first in the payload ring.
    let bytes = [5, 8, 3, 8][number as usize % 4];
    let payload = (0..bytes).map(|i| (number * 16 + i) as u8).collect();
    let arguments = std::array::from_fn(|i| number * 10 + i as u64);
    (Packet { handler: number as u16, kind: 1, payload_bytes: bytes as u16, address: !number, arguments }, payload)
}

fn receive(consumer: &mut Consumer, ring: &Ring, number: u64) -> Option<bool> {
    let packet = consumer.peek(ring).expect("no sender wrote nonsense")?;
    let (expected, payload) = message(number);
    assert_eq!(packet, expected, "lost, torn or reordered");
    let mut got = vec![0; packet.payload_bytes as usize];
    consumer.payload(ring, &mut got);
    assert_eq!(got, payload, "payload torn");
    Some(consumer.advance(ring, &packet))
}

/// Several laps through a ring that is full in between: what goes in comes out, whole and in order.
///
/// Fails with: the head stored or loaded relaxed (words of another lap); `returned` stored or loaded relaxed, or
/// returned one message early (a line overwritten before it is read).
#[test]
fn a_ring_keeps_order_and_content() {
    const MESSAGES: u64 = 2 * LINE_COUNT as u64 + 1;
    explore(2, || {
        let ring = Arc::new(Ring::new());
        let sender = {
            let ring = ring.clone();
            thread::spawn(move || {
                let mut producer = Producer::default();
                for number in 0..MESSAGES {
                    let (packet, payload) = message(number);
                    while !producer.try_send(&ring, &packet, &payload) {
                        thread::yield_now();
                    }
                }
            })
        };
        let mut consumer = Consumer::default();
        for number in 0..MESSAGES {
            while receive(&mut consumer, &ring, number).is_none() {
                thread::yield_now();
            }
        }
        assert_eq!(consumer.peek(&ring), Ok(None));
        sender.join().unwrap();
    });
}

/// Sender and receiver sleep instead of looking again: on a full ring and on an empty one.
///
/// Fails with: a receiver that returns room without ringing; a sender that does not ring; either fence of the bell
/// left out.
#[test]
fn a_ring_wakes_both_ends() {
    const MESSAGES: u64 = LINE_COUNT as u64 + 1;
    explore(3, || {
        let shared = Arc::new((Ring::new(), Bell::new(), Bell::new()));
        let sender = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (ring, own_bell, peer_bell) = &*shared;
                let mut producer = Producer::default();
                for number in 0..MESSAGES {
                    let packet = Packet { address: number, ..Packet::default() };
                    let mut sent = producer.try_send(ring, &packet, &[]);
                    while !sent {
                        own_bell.sleep(FENCES, 0, ANY, None, || {
                            sent = producer.try_send(ring, &packet, &[]);
                            sent
                        });
                    }
                    peer_bell.ring(FENCES, ANY);
                }
            })
        };
        let (ring, peer_bell, own_bell) = &*shared;
        let mut consumer = Consumer::default();
        for number in 0..MESSAGES {
            let mut packet = consumer.peek(ring).unwrap();
            while packet.is_none() {
                own_bell.sleep(FENCES, 0, ANY, None, || {
                    packet = consumer.peek(ring).unwrap();
                    packet.is_some()
                });
            }
            let packet = packet.unwrap();
            assert_eq!(packet.address, number);
            if consumer.advance(ring, &packet) {
                peer_bell.ring(FENCES, ANY);
            }
        }
        sender.join().unwrap();
    });
}

// ---------------------------------------------------------------------------------------------------------- bell

/// Waits as `Port::wait` does, without the spinning.
fn sleep_until(bell: &Bell, cell: usize, watch: u64, ready: impl Fn() -> bool) {
    while !ready() {
        bell.sleep(FENCES, cell, watch, None, &ready);
    }
}

/// No lost wake-up, also by the second of two sleeps, whose watch differs from the first.
///
/// Fails with: the fence of `ring` left out; the fence of `sleep` left out; the sequence number read after `awake`, or
/// not moved; the watch set after the fence; a wake-up without a wake-up call.
#[test]
fn a_bell_wakes_its_sleeper() {
    explore(4, || {
        let shared = Arc::new((Bell::new(), AtomicU64::new(0), AtomicU64::new(0)));
        let sender = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (bell, first, second) = &*shared;
                first.store(1, Ordering::Release);
                bell.ring(FENCES, 11);
                second.store(1, Ordering::Release);
                bell.ring(FENCES, 22);
            })
        };
        let (bell, first, second) = &*shared;
        sleep_until(bell, 0, 11, || first.load(Ordering::Acquire) == 1);
        sleep_until(bell, 0, 22, || second.load(Ordering::Acquire) == 1);
        sender.join().unwrap();
    });
}

/// Two threads of a rank sleep on one bell, each for its own word, one of them for anything.
///
/// Fails with: what is listed above; a sender that wakes only the first cell; a bit cleared by a plain store (the
/// other sleeper's goes with it).
#[test]
fn two_watches_on_one_bell() {
    explore(3, || {
        let shared = Arc::new((Bell::new(), AtomicU64::new(0), AtomicU64::new(0)));
        let sleepers: Vec<_> = [(0usize, 11u64), (1, ANY)]
            .into_iter()
            .map(|(cell, watch)| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (bell, first, second) = &*shared;
                    let word = if cell == 0 { first } else { second };
                    sleep_until(bell, cell, watch, || word.load(Ordering::Acquire) == 1);
                })
            })
            .collect();
        let (bell, first, second) = &*shared;
        first.store(1, Ordering::Release);
        bell.ring(FENCES, 11);
        second.store(1, Ordering::Release);
        bell.ring(FENCES, 22);
        for sleeper in sleepers {
            sleeper.join().unwrap();
        }
    });
}

/// Two workers of a crew sleep, and two pieces of work come, one for each: nobody sleeps while there is work, though none that has found some
/// looks for more.
///
/// Fails with: the fence of `ring_one` left out; a bit that is taken without moving the sequence number; a ring for a sleeper that has just
/// found something else, which is not passed on.
#[test]
fn a_crew_is_woken_one_by_one() {
    fn take(work: &AtomicU64) -> bool {
        let mut seen = work.load(Ordering::Acquire);
        while seen > 0 {
            match work.compare_exchange(seen, seen - 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }
    explore(2, || {
        let shared = Arc::new((Bell::new(), AtomicU64::new(0)));
        let workers: Vec<_> = [0usize, 1]
            .into_iter()
            .map(|cell| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (bell, work) = &*shared;
                    let mut has_work = take(work);
                    while !has_work {
                        bell.sleep(FENCES, cell, CREW | 1, None, || {
                            has_work = take(work);
                            has_work
                        });
                        has_work = has_work || take(work);
                    }
                })
            })
            .collect();
        let (bell, work) = &*shared;
        for _ in 0..2 {
            work.fetch_add(1, Ordering::AcqRel);
            bell.ring_one(FENCES, CREW | 1);
        }
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

/// `ring_all` (a rank died) wakes whoever sleeps, whatever for.
///
/// Fails with: a `ring_all` that wakes only the watchers of one word, or only the sleepers it sees without a fence.
#[test]
fn ring_all_wakes_everyone() {
    explore(4, || {
        let shared = Arc::new((Bell::new(), AtomicU64::new(0)));
        let sleeper = {
            let shared = shared.clone();
            thread::spawn(move || sleep_until(&shared.0, 1, 11, || shared.1.load(Ordering::SeqCst) == 1))
        };
        shared.1.fetch_add(1, Ordering::SeqCst);
        shared.0.ring_all();
        sleeper.join().unwrap();
    });
}

/// An armed thread misses no ring, though it never goes to `sleep`: each moves the sequence number it waits on.
///
/// Fails with: the fence of `arm` left out; the sequence number read after the look at the word.
#[test]
fn an_armed_bell_misses_nothing() {
    explore(4, || {
        let shared = Arc::new((Bell::new(), AtomicU64::new(0)));
        let sender = {
            let shared = shared.clone();
            thread::spawn(move || {
                for value in 1..=2 {
                    shared.1.store(value, Ordering::Release);
                    shared.0.ring(FENCES, 11);
                }
            })
        };
        let (bell, word) = &*shared;
        bell.arm(FENCES, 1);
        loop {
            let seen = bell.sequence(1);
            if word.load(Ordering::Acquire) == 2 {
                break;
            }
            bell.await_sequence(1, seen, None);
        }
        bell.disarm(1);
        sender.join().unwrap();
    });
}

// --------------------------------------------------------------------------------------------------- word after data

/// What `push_notify` and `wait` do on mapped memory: bytes by relaxed stores, the word released, the bell rung;
/// the word acquired, bytes by relaxed loads. Whoever sees the word sees the data, also after a sleep.
///
/// Fails with: the word stored relaxed; the word loaded relaxed.
#[test]
fn a_word_arrives_after_its_data() {
    explore(4, || {
        let shared = Arc::new((Bell::new(), [AtomicU64::new(0), AtomicU64::new(0)], AtomicU64::new(0)));
        let sender = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (bell, data, flag) = &*shared;
                for word in data {
                    word.store(7, Ordering::Relaxed);
                }
                flag.store(1, Ordering::Release);
                bell.ring(FENCES, 11);
            })
        };
        let (bell, data, flag) = &*shared;
        sleep_until(bell, 0, 11, || flag.load(Ordering::Acquire) == 1);
        assert!(data.iter().all(|word| word.load(Ordering::Relaxed) == 7), "the word came before the data");
        sender.join().unwrap();
    });
}

// ---------------------------------------------------------------------------------------------------------- guard

/// The owner revokes while a peer operates, several times in a row. The memory is freed after the revocation: no
/// operation touches it then, and every operation before is over.
///
/// Fails with: either fence left out; the mark set after the key was checked; the way out not released; the way in
/// not released (the owner that waits for the first operation may see only the mark of the second); an owner that
/// does not wait.
#[test]
fn nobody_is_inside_after_a_revocation() {
    explore(4, || {
        let shared = Arc::new((Guard::new(), AtomicU64::new(77), Memory::new(Some(0u64))));
        let peer = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (guard, key, memory) = &*shared;
                for _ in 0..2 {
                    let _inside = guard.enter(FENCES);
                    if key.load(Ordering::Acquire) == 77 {
                        let value = memory.get().expect("not freed");
                        memory.set(Some(value + 1));
                    }
                }
            })
        };
        let (guard, key, memory) = &*shared;
        key.store(0, Ordering::SeqCst);
        FENCES.heavy();
        if let Some(number) = guard.occupied() {
            while !guard.left(number) {
                thread::yield_now();
            }
        }
        // Whoever comes now is refused, so this is exclusive.
        memory.set(None);
        peer.join().unwrap();
        drop(guard.enter(FENCES));
    });
}

/// An operation that enters after the revocation finds the key gone, without any help from the owner's waiting.
///
/// Fails with: a key left in place.
#[test]
fn whoever_enters_after_a_revocation_is_refused() {
    explore(4, || {
        let shared = Arc::new((Guard::new(), AtomicU64::new(77), AtomicU64::new(0)));
        let peer = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (guard, key, revoked) = &*shared;
                let over = revoked.load(Ordering::Acquire) == 1;
                let _inside = guard.enter(FENCES);
                let allowed = key.load(Ordering::Acquire) == 77;
                assert!(!(over && allowed), "allowed after the revocation");
            })
        };
        let (guard, key, revoked) = &*shared;
        key.store(0, Ordering::SeqCst);
        FENCES.heavy();
        if let Some(number) = guard.occupied() {
            while !guard.left(number) {
                thread::yield_now();
            }
        }
        revoked.store(1, Ordering::Release);
        peer.join().unwrap();
    });
}

// --------------------------------------------------------------------------------------------------------- entry

/// An id that is used again: whoever looks gets the words of one description, never a mixture. Fails without the
/// release fence of `Entry::publish`, with `key` stored relaxed, and without the second look.
#[test]
fn an_entry_gives_words_that_belong_together() {
    explore(3, || {
        let entry = Arc::new(hikyaku::sync::entry::Entry::new());
        assert!(entry.publish(1, [10, 11, 12]));
        let reader = {
            let entry = entry.clone();
            thread::spawn(move || {
                if let Some((key, words)) = entry.look() {
                    assert_eq!(words, [key * 10, key * 10 + 1, key * 10 + 2], "words of another description");
                }
            })
        };
        assert!(!entry.publish(9, [0; 3]), "an entry that is taken");
        assert!(entry.revoke(1) && !entry.revoke(1));
        assert!(entry.publish(2, [20, 21, 22]));
        reader.join().unwrap();
    });
}

// ------------------------------------------------------------------------------------------------------ departure

/// A rank ends: whoever sleeps for it wakes up and knows it, and whoever sees how it ended sees that one has ended.
/// Two tell of the end at the same time, and the graver state stays.
///
/// Fails with: a state written before `departures` is raised, or after the bells are rung; bells not rung; a state that
/// is stored, or changed relaxed.
#[test]
fn the_end_of_a_rank_is_known_to_all() {
    const LEFT: u64 = 2;
    const DEAD: u64 = 3;
    explore(2, || {
        let shared = Arc::new((AtomicU64::new(0), AtomicU64::new(1), Bell::new()));
        let tellers: Vec<_> = [DEAD, LEFT]
            .into_iter()
            .map(|ended| {
                let shared = shared.clone();
                thread::spawn(move || depart(&shared.0, &shared.1, ended, [&shared.2].into_iter()))
            })
            .collect();
        let (departures, state, bell) = &*shared;
        if state.load(Ordering::Acquire) != 1 {
            assert_ne!(departures.load(Ordering::Relaxed), 0, "ended, and nobody has");
        }
        sleep_until(bell, 0, 11, || departures.load(Ordering::SeqCst) != 0 && state.load(Ordering::Acquire) == DEAD);
        for teller in tellers {
            teller.join().unwrap();
        }
        assert_eq!(state.load(Ordering::Acquire), DEAD);
    });
}

/// Threads at a gate: none passes before it was decided, all learn of it, and what was done before is seen. Fails if the
/// keeper stores relaxed, if `pass` loads relaxed, or if nobody is woken.
#[test]
fn a_gate_opens_for_all_or_none() {
    for opens in [true, false] {
        explore(3, move || {
            let shared = Arc::new((Gate::new(), Memory::new(0u64)));
            let waiting: Vec<_> = (0..2)
                .map(|_| {
                    let shared = shared.clone();
                    thread::spawn(move || {
                        let (gate, memory) = &*shared;
                        assert_eq!(gate.pass(), opens);
                        assert_eq!(memory.get(), 7);
                    })
                })
                .collect();
            let (gate, memory) = &*shared;
            let keeper = gate.keep();
            memory.set(7);
            if opens {
                keeper.open()
            } else {
                drop(keeper)
            }
            waiting.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }
}

// --------------------------------------------------------------------------------------------------------- places

/// Threads take places and give them back, more threads than places: a place is one thread's at a time, what is kept there is as the one
/// before has left it, and none is lost.
///
/// Fails with: a place taken relaxed, or given back relaxed (what is kept there is not ordered); taken by a load and a store (two have it).
#[test]
fn a_place_is_one_threads_at_a_time() {
    const PLACES: usize = 2;
    const TURNS: u64 = 2;
    // Counts per place how often somebody had it.
    fn take_turns(shared: &(Places, [Memory<u64>; PLACES])) -> u64 {
        let (places, kept) = shared;
        let mut had = 0;
        for _ in 0..TURNS {
            if let Some(place) = places.take() {
                kept[place].set(kept[place].get() + 1);
                places.give(place);
                had += 1;
            }
        }
        had
    }
    explore(3, || {
        // The first place is somebody else's for good.
        let shared = Arc::new((Places::new(PLACES, 1), [Memory::new(0), Memory::new(0)]));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || take_turns(&shared))
            })
            .collect();
        let had: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        let (places, kept) = &*shared;
        assert_eq!((kept[0].get(), kept[1].get()), (0, had), "somebody had it alone each time");
        assert!(had >= TURNS, "whoever found it taken was not alone");
        assert_eq!((places.take(), places.take()), (Some(1), None), "it is there again");
    });
    // Both threads find a place where there are as many as threads.
    explore(3, || {
        let shared = Arc::new((Places::new(PLACES, 0), [Memory::new(0), Memory::new(0)]));
        let other = {
            let shared = shared.clone();
            thread::spawn(move || take_turns(&shared))
        };
        assert_eq!(take_turns(&shared) + other.join().unwrap(), 2 * TURNS);
        assert_eq!(shared.1[0].get() + shared.1[1].get(), 2 * TURNS);
    });
}
