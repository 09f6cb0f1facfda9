//! The same as several threads of two ranks do by the library, without it: mapped memory, flags, and a wait that spins and then yields, as
//! ours does. It is what so many threads can reach on these cores.

use crate::bench::limit::Mapped;
use hikyaku::collective::Worker;
use hikyaku::ffi::RawPort;
use hikyaku::{Result, Symmetric};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// As long as ours spin: where all threads have a core, and where they share them. Then nobody spins for an answer of so many bytes.
const SPIN: Duration = Duration::from_micros(100);
const SPIN_SHARED: Duration = Duration::from_micros(3);
const LONG: usize = 16 << 10;
/// Looks between two looks at the clock.
const LOOKS: u32 = 32;

/// Words on a line.
const LINE: usize = 8;
/// What a message has on its own line: more has a place of its own.
const ON_LINE: usize = 2;

/// Words that a thread needs for so many messages at once, and for their answer.
pub const fn words(messages: usize) -> usize {
    (messages + 1) * LINE
}

/// A thread and the one that it talks with: lines with a flag and 8 bytes, each a message, and memory for one that is longer.
pub struct Bare<'w> {
    here: Vec<[&'w AtomicU64; 2]>,
    there: Vec<[&'w AtomicU64; 2]>,
    data: Mapped<'w>,
    is_shared: bool,
}

impl<'w> Bare<'w> {
    /// Of the thread whose lines begin at `first`, and whose memory is that.
    pub fn new(
        worker: &'w Worker<'_>,
        lines: &'w Symmetric<u64>,
        first: usize,
        messages: usize,
        data: Mapped<'w>,
        is_shared: bool,
    ) -> Result<Bare<'w>> {
        let word = |rank, line: usize, at| worker.mapped_word(lines.at(rank, first + line * LINE + at));
        let line = |rank, line| Ok([word(rank, line, 0)?, word(rank, line, 1)?]);
        let of = |rank| (0..=messages).map(|at| line(rank, at)).collect::<Result<Vec<_>>>();
        Ok(Bare { here: of(worker.rank())?, there: of(1 - worker.rank())?, data, is_shared })
    }

    /// Writes a message to the other rank's memory, then its flag.
    pub fn give(&self, line: usize, round: u32, message: &[u32]) {
        let [flag, data] = self.there[line];
        match *message {
            [one] => data.store(one.into(), Ordering::Relaxed),
            [one, other] => data.store(u64::from(one) | u64::from(other) << 32, Ordering::Relaxed),
            _ => self.data.copy_there(message),
        }
        flag.store(round.into(), Ordering::Release);
    }

    /// Waits for a flag, then reads the message.
    pub fn take(&self, line: usize, round: u32, into: &mut [u32]) {
        let [flag, data] = self.here[line];
        let spin = match self.is_shared {
            true if size_of_val(into) >= LONG => Duration::ZERO,
            true => SPIN_SHARED,
            false => SPIN,
        };
        wait(flag, round.into(), spin);
        if into.len() > ON_LINE {
            return self.data.copy_here(into);
        }
        let words = data.load(Ordering::Relaxed);
        into.iter_mut().zip([words as u32, (words >> 32) as u32]).for_each(|(into, word)| *into = word);
    }
}

fn wait(flag: &AtomicU64, value: u64, spin: Duration) {
    let (mut begin, mut looks) = (None, 0u32);
    while flag.load(Ordering::Acquire) != value {
        looks += 1;
        if looks % LOOKS != 0 {
            spin_loop();
        } else if begin.get_or_insert_with(Instant::now).elapsed() >= spin {
            while flag.load(Ordering::Acquire) != value {
                std::thread::yield_now();
            }
        }
    }
}
