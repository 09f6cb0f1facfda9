//! What a port waits for, where whoever watches the job can read it.
//!
//! Only a thread that has slept for a while writes it, so a wait that is soon over costs nothing here. A reader believes nothing: what it
//! finds is any bytes, and may be changing.

use crate::sync::atomic::{AtomicU64, Ordering, fence};
use crate::sync::shared;
use std::fmt::{self, Display, Write};
use std::time::Duration;

/// Room for the call and for where it stands in the program.
const TEXT_WORDS: usize = 25;
const TEXT_BYTES: usize = TEXT_WORDS * 8;

/// The two lowest bits of the turn.
const FREE: u64 = 0;
const WRITING: u64 = 1;
const WAITS: u64 = 2;

shared! {
    /// The wait of one port.
    #[derive(Debug)]
    pub struct Waiting {
        /// Moves on with every change; its lowest bits say whether there is a wait.
        turn: AtomicU64,
        /// For whom: see [`Whom`].
        whom: AtomicU64,
        /// Which barrier, if it is one.
        barrier: AtomicU64,
        /// Since when, by the monotonic clock.
        since: AtomicU64,
        /// Not 0: it ends by itself.
        ends: AtomicU64,
        /// The thread, by its number in the system.
        thread: AtomicU64,
        bytes: AtomicU64,
        text: [AtomicU64; TEXT_WORDS],
    }
}

/// Who could end a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whom {
    /// Any rank.
    Anyone,
    /// This one.
    Rank(usize),
    /// Every rank, by coming to this barrier.
    Barrier(u64),
}

const ANYONE: u64 = u64::MAX;
const BARRIER: u64 = u64::MAX - 1;

/// What was read of a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Another number means another wait.
    pub turn: u64,
    pub whom: Whom,
    /// When it began, by [`now`].
    pub since: Duration,
    /// Whether it has a deadline of its own.
    pub ends: bool,
    /// The thread, by its number in the system.
    pub thread: u32,
    /// The call.
    pub call: String,
    /// Where it stands in the program; empty if that is not known.
    pub place: String,
}

/// The end of a simulated run, by a clock that is only good for telling how long before it something was.
pub const END: Duration = Duration::from_secs(1 << 32);

/// The monotonic clock, which all processes of a host share.
pub fn now() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

impl Waiting {
    /// Says what its thread waits for, without an allocation. The call must fit; of a long place the end is kept.
    pub fn publish(&self, whom: Whom, since: Duration, ends: bool, call: impl Display, place: impl Display) {
        let turn = (self.turn.load(Ordering::Relaxed) >> 2).wrapping_add(1) << 2;
        self.turn.store(turn | WRITING, Ordering::Relaxed);
        fence(Ordering::Release);
        let (code, barrier) = match whom {
            Whom::Anyone => (ANYONE, 0),
            Whom::Barrier(number) => (BARRIER, number),
            Whom::Rank(rank) => (rank as u64, 0),
        };
        self.whom.store(code, Ordering::Relaxed);
        self.barrier.store(barrier, Ordering::Relaxed);
        self.since.store(since.as_nanos() as u64, Ordering::Relaxed);
        self.ends.store(ends as u64, Ordering::Relaxed);
        self.thread.store(rustix::thread::gettid().as_raw_nonzero().get() as u64, Ordering::Relaxed);
        let mut text = [0; TEXT_BYTES];
        let mut head = Head { text: &mut text[..TEXT_BYTES / 2], used: 0 };
        // Neither fails: what does not fit is left out.
        let _ = write!(head, "{call}");
        let place_at = head.used + 1;
        let mut tail = Tail { text: &mut text[place_at..], used: 0 };
        let _ = write!(tail, "{place}");
        let bytes = place_at + tail.used;
        self.bytes.store(bytes as u64, Ordering::Relaxed);
        for (word, bytes) in self.text.iter().zip(text.chunks_exact(8)) {
            word.store(u64::from_le_bytes(bytes.try_into().expect("8 bytes")), Ordering::Relaxed);
        }
        self.turn.store(turn | WAITS, Ordering::Release);
    }

    /// Its thread does not wait any more.
    pub fn clear(&self) {
        let turn = self.turn.load(Ordering::Relaxed);
        self.turn.store((turn >> 2) << 2 | FREE, Ordering::Release);
    }

    /// What its thread waits for, if it does and is not just saying so.
    pub fn read(&self) -> Option<Seen> {
        let turn = self.turn.load(Ordering::Acquire);
        if turn & 3 != WAITS {
            return None;
        }
        let whom = match self.whom.load(Ordering::Relaxed) {
            ANYONE => Whom::Anyone,
            BARRIER => Whom::Barrier(self.barrier.load(Ordering::Relaxed)),
            rank => Whom::Rank(rank as usize),
        };
        let since = Duration::from_nanos(self.since.load(Ordering::Relaxed));
        let ends = self.ends.load(Ordering::Relaxed) != 0;
        let thread = self.thread.load(Ordering::Relaxed) as u32;
        let bytes = (self.bytes.load(Ordering::Relaxed) as usize).min(TEXT_BYTES);
        let text: Vec<u8> = self.text.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
        fence(Ordering::Acquire);
        if self.turn.load(Ordering::Relaxed) != turn {
            return None;
        }
        let mut parts = text[..bytes].splitn(2, |byte| *byte == 0).map(harmless);
        let (call, place) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        Some(Seen { turn, whom, since, ends, thread, call, place })
    }
}

/// Keeps the beginning of what is written.
struct Head<'t> {
    text: &'t mut [u8],
    used: usize,
}

impl Write for Head<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let fits = part.len().min(self.text.len() - self.used);
        self.text[self.used..][..fits].copy_from_slice(&part.as_bytes()[..fits]);
        self.used += fits;
        Ok(())
    }
}

/// Keeps the end of what is written.
struct Tail<'t> {
    text: &'t mut [u8],
    used: usize,
}

impl Write for Tail<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = self.text.len();
        let part = &part.as_bytes()[part.len().saturating_sub(room)..];
        let forgotten = (self.used + part.len()).saturating_sub(room);
        self.text.copy_within(forgotten..self.used, 0);
        let kept = self.used - forgotten;
        self.text[kept..][..part.len()].copy_from_slice(part);
        self.used = kept + part.len();
        Ok(())
    }
}

/// What can be shown on a terminal, whoever wrote it.
fn harmless(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().map(|shown| if shown.is_control() { '?' } else { shown }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting() -> Waiting {
        let word = || AtomicU64::new(0);
        let text = std::array::from_fn(|_| word());
        let (turn, whom, barrier, since, ends) = (word(), word(), word(), word(), word());
        Waiting { turn, whom, barrier, since, ends, thread: word(), bytes: word(), text }
    }

    #[test]
    fn what_was_said_is_read_until_it_is_over() {
        let waiting = waiting();
        assert_eq!(waiting.read(), None);
        let since = Duration::from_millis(5);
        waiting.publish(Whom::Rank(3), since, false, "recv(slot 2)", "src/main.rs:10:4");
        let seen = waiting.read().unwrap();
        assert_eq!((seen.whom, seen.since, seen.ends), (Whom::Rank(3), since, false));
        assert_eq!(seen.thread, rustix::thread::gettid().as_raw_nonzero().get() as u32);
        assert_eq!((seen.call.as_str(), seen.place.as_str()), ("recv(slot 2)", "src/main.rs:10:4"));
        waiting.publish(Whom::Barrier(7), since, true, "barrier()", "");
        let next = waiting.read().unwrap();
        assert_eq!((next.whom, next.ends, next.place.as_str()), (Whom::Barrier(7), true, ""));
        assert_ne!(next.turn, seen.turn);
        waiting.clear();
        assert_eq!(waiting.read(), None);
    }

    #[test]
    fn the_end_of_a_long_place_is_kept() {
        let waiting = waiting();
        let place = format!("{}/src/main.rs:10:4", "folder/".repeat(60));
        waiting.publish(Whom::Anyone, Duration::ZERO, false, "wait()", &place);
        let seen = waiting.read().unwrap();
        assert!(seen.place.ends_with("folder//src/main.rs:10:4") && seen.place.len() > 100, "{seen:?}");
        // In parts, of which the first is too long by itself, and with a call that is too long.
        let (folders, call) = ("folder/".repeat(60), "wait".repeat(60));
        waiting.publish(Whom::Anyone, Duration::ZERO, false, &call, format_args!("{folders}{}:{}", "main.rs", 10));
        let seen = waiting.read().unwrap();
        assert_eq!(seen.call, call[..TEXT_BYTES / 2]);
        assert!(seen.place.ends_with("folder/main.rs:10"), "{seen:?}");
        assert_eq!(seen.call.len() + 1 + seen.place.len(), TEXT_BYTES);
    }

    #[test]
    fn whatever_a_hostile_rank_writes_can_be_shown() {
        let waiting = waiting();
        waiting.text.iter().for_each(|word| word.store(0x1b5b_ff0a_0d07_7f9b, Ordering::Relaxed));
        waiting.bytes.store(u64::MAX, Ordering::Relaxed);
        waiting.turn.store(WAITS, Ordering::Relaxed);
        let seen = waiting.read().unwrap();
        assert!(seen.call.chars().chain(seen.place.chars()).all(|shown| !shown.is_control()), "{seen:?}");
    }
}
