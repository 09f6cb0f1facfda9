//! The words by which members of a group follow each other through its calls, explored by a model checker like the
//! protocols in `loom.rs`. Slots are two here, so that every third call uses one again.

#![cfg(loom)]

mod model;

use hikyaku::collective::words::{Ask, Finished, Floor, Mark, SLOT_COUNT};
use hikyaku::message::wire::slot::Marks;
use hikyaku::sync::atomic::{Ordering, fence};
use hikyaku::sync::barrier::Counter;
use hikyaku::sync::bell::{ANY, Bell};
use hikyaku::sync::fence::Fences;
use loom::sync::Arc;
use loom::thread;
use model::{Memory, explore};

/// Both sides fence under loom, which knows no membarrier.
const FENCES: Fences = Fences::Symmetric;

/// A member's part, with a cell in place of each slot's buffer.
struct Part {
    asks: [Ask; SLOT_COUNT as usize],
    buffers: [Memory<u64>; SLOT_COUNT as usize],
    results: [Mark; SLOT_COUNT as usize],
    /// The second piece of each contribution, and the mark that it is there.
    second: [Memory<u64>; SLOT_COUNT as usize],
    pieces: [Marks; SLOT_COUNT as usize],
    finished: Finished,
    bell: Bell,
}

/// A group as one of its members sees it.
struct Member {
    rank: usize,
    parts: Arc<(Vec<Part>, Counter)>,
    floor: Floor,
}

fn argument_of(number: u64) -> u64 {
    // Calls that differ, so that a look can mix those of two calls.
    100 + number
}

fn value_of(rank: usize, number: u64) -> u64 {
    number * 10 + rank as u64
}

fn slot_of(number: u64) -> usize {
    (number % SLOT_COUNT) as usize
}

impl Member {
    fn part(&self) -> &Part {
        &self.parts.0[self.rank]
    }

    fn others(&self) -> impl Iterator<Item = &Part> {
        self.parts.0.iter().enumerate().filter(|(rank, _)| *rank != self.rank).map(|(_, part)| part)
    }

    fn notify_all(&self) {
        self.others().for_each(|part| part.bell.ring(FENCES, ANY));
    }

    /// As `Group::wait`: looks, then sleeps.
    fn wait(&self, mut ready: impl FnMut() -> bool) {
        let mut over = ready();
        while !over {
            self.part().bell.sleep(FENCES, 0, ANY, None, || {
                over = ready();
                over
            });
        }
    }

    /// As `Group::await_done`.
    fn await_finished(&self, number: u64) {
        let parts = &self.parts.0;
        let (mut next, mut told) = (0, false);
        self.wait(|| {
            while next < parts.len() && (next == self.rank || parts[next].finished.get() >= number) {
                next += 1;
            }
            if next < parts.len() && !told {
                (next..parts.len()).for_each(|member| parts[member].finished.want());
                told = true;
            }
            next == parts.len()
        });
    }

    /// As `Group::enter_keeping`.
    fn enter(&self, number: u64, spare: u64) {
        if let Some(needed) = self.floor.lacks(number, spare) {
            self.await_finished(needed);
            self.floor.raise(needed);
        }
    }

    fn contribute(&self, number: u64) {
        self.part().buffers[slot_of(number)].set(value_of(self.rank, number));
        self.publish(number);
    }

    fn publish(&self, number: u64) {
        self.part().asks[slot_of(number)].publish(number, argument_of(number));
    }

    fn await_member(&self, rank: usize, number: u64) {
        self.wait(|| {
            let (head, argument) = self.parts.0[rank].asks[slot_of(number)].look();
            assert!(head != number || argument == argument_of(number), "the argument of another call");
            head == number
        });
    }

    fn take(&self, rank: usize, number: u64) {
        assert_eq!(self.parts.0[rank].buffers[slot_of(number)].get(), value_of(rank, number));
    }

    fn finish(&self, number: u64) {
        if self.part().finished.set(FENCES, number) {
            self.notify_all();
        }
    }

    /// A call in which two members read from each other.
    fn exchange(&self, number: u64) {
        self.enter(number, 0);
        self.contribute(number);
        self.notify_all();
        self.await_member(1 - self.rank, number);
        self.take(1 - self.rank, number);
        self.floor.saw_everyone(number);
        self.finish(number);
    }

    /// A call in which the others read from the first, which does not wait for them.
    fn broadcast(&self, number: u64) {
        self.enter(number, 0);
        if self.rank == 0 {
            self.contribute(number);
            self.notify_all();
        } else {
            self.await_member(0, number);
            self.take(0, number);
        }
        self.finish(number);
    }
}

/// Explores what each member of a group of `size` does.
fn explore_group(size: usize, preemptions: usize, body: impl Fn(&Member) + Copy + Send + Sync + 'static) {
    explore(preemptions, move || {
        let part = |_| Part {
            asks: Default::default(),
            buffers: [Memory::new(0), Memory::new(0)],
            results: Default::default(),
            second: [Memory::new(0), Memory::new(0)],
            pieces: Default::default(),
            finished: Finished::default(),
            bell: Bell::new(),
        };
        let parts = Arc::new(((0..size).map(part).collect::<Vec<_>>(), Counter::new()));
        let others: Vec<_> = (1..size)
            .map(|rank| {
                let parts = parts.clone();
                thread::spawn(move || body(&Member { rank, parts, floor: Floor::default() }))
            })
            .collect();
        body(&Member { rank: 0, parts, floor: Floor::default() });
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

/// Calls in which everybody reads from everybody: a slot is used again without a look at who has finished.
///
/// Fails with: the head stored or loaded relaxed, or before the argument.
#[test]
fn a_slot_is_used_again_after_everyone_was_seen() {
    explore_group(2, 2, |member| {
        for number in 1..=SLOT_COUNT + 1 {
            assert_eq!(member.floor.lacks(number, 0), None, "known without a look");
            member.exchange(number);
        }
    });
}

/// Contributions in two pieces, of which the second comes after the entry: nobody reads it before, nor that of the call that
/// used the slot last.
///
/// Fails with: a mark set or looked at relaxed, or set before its piece; a wake-up before the last piece.
#[test]
fn the_second_piece_is_read_when_it_is_there() {
    explore_group(2, 2, |member| {
        for number in 1..=SLOT_COUNT + 1 {
            let slot = slot_of(number);
            member.enter(number, 0);
            if member.rank == 0 {
                member.contribute(number);
                member.part().second[slot].set(value_of(0, number) + 1);
                member.part().pieces[slot].set(1, number);
                member.notify_all();
            } else {
                let root = &member.parts.0[0];
                member.await_member(0, number);
                member.take(0, number);
                member.wait(|| root.pieces[slot].has(1, number));
                assert_eq!(root.second[slot].get(), value_of(0, number) + 1);
            }
            member.finish(number);
        }
    });
}

/// One call in two pieces, and then broadcasts: who was seen in the first call has not finished it.
///
/// Fails with: a floor raised to the call in which everybody was seen.
#[test]
fn who_was_seen_has_not_finished() {
    explore_group(2, 2, |member| {
        member.exchange(1);
        (2..=SLOT_COUNT + 1).for_each(|number| member.broadcast(number));
    });
}

/// Broadcasts: the first member runs ahead until the slots are used up, and then sleeps until the others have finished.
///
/// Fails with: `Finished` stored or loaded relaxed; its fence left out; `want` not called; a slot used a call early.
#[test]
fn a_slot_is_used_again_after_everyone_finished() {
    explore_group(2, 2, |member| (1..=SLOT_COUNT + 1).for_each(|number| member.broadcast(number)));
}

/// The first waits for two others, of whom the second is looked at only when the first has finished: maybe within the
/// sleep, after the fence.
///
/// Fails with: a member that asks to be told only by the one it looks at.
#[test]
fn whoever_waits_for_several_is_woken_by_each() {
    explore_group(3, 2, |member| match member.rank {
        0 => member.await_finished(1),
        _ => member.finish(1),
    });
}

/// A member learns from another's entry, made with a slot to spare, that its own next slot is free: it never looks
/// at the third itself.
///
/// Fails with: a slot to spare that was not waited for; the head relaxed; a floor raised too little.
#[test]
fn a_keeper_tells_that_the_next_slot_is_free() {
    explore_group(3, 1, |member| match member.rank {
        // In call 1 member 2 reads from member 1; call 2 is a broadcast by member 0; in call 3 member 1 writes again.
        0 => {
            member.finish(1);
            member.enter(2, 1);
            member.contribute(2);
            member.notify_all();
        }
        1 => {
            member.contribute(1);
            member.notify_all();
            member.finish(1);
            member.await_member(0, 2);
            member.take(0, 2);
            member.floor.saw_keeper(2);
            assert_eq!(member.floor.lacks(3, 0), None, "known without a look");
            member.contribute(3);
        }
        _ => {
            member.await_member(1, 1);
            member.take(1, 1);
            member.finish(1);
        }
    });
}

/// The last to arrive combines all contributions in the place of the first one's; the others take the result from
/// there.
///
/// Fails with: the result's mark set or looked at relaxed, or set before the result; an arrival that does not release
/// or not acquire.
#[test]
fn the_last_to_arrive_leaves_the_result() {
    explore_group(3, 2, |member| {
        let first = &member.parts.0[0];
        member.contribute(1);
        if member.parts.1.add(1) == 3 {
            (0..3).for_each(|rank| member.take(rank, 1));
            first.buffers[slot_of(1)].set(99);
            first.results[slot_of(1)].set(1);
            member.notify_all();
        } else {
            member.wait(|| first.results[slot_of(1)].get() == 1);
            assert_eq!(first.buffers[slot_of(1)].get(), 99);
        }
        member.finish(1);
    });
}

/// A root that gives up closes its buffer, and waits for those who may be reading. Nobody reads after that.
///
/// Fails with: either fence left out; a reader that looks at the mark before it shows its entry; `Finished` relaxed; a
/// root that does not wait.
#[test]
fn nobody_reads_a_closed_buffer() {
    explore(4, || {
        let shared = Arc::new((Ask::default(), Finished::default(), Mark::default(), Memory::new(7)));
        let reader = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (ask, finished, closed, buffer) = &*shared;
                ask.publish(1, 0);
                fence(Ordering::SeqCst);
                if closed.get() < 1 {
                    assert_eq!(buffer.get(), 7, "read after it was taken back");
                }
                finished.set(FENCES, 1);
            })
        };
        let (ask, finished, closed, buffer) = &*shared;
        closed.set(1);
        fence(Ordering::SeqCst);
        while ask.look().0 == 1 && finished.get() < 1 {
            thread::yield_now();
        }
        buffer.set(0);
        reader.join().unwrap();
    });
}
