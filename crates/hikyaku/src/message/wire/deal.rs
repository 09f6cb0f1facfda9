//! The deal of a long message: its chunks, of which whoever claims one copies it.
//!
//! ```text
//!   receiver                                        sender
//!   want   = where the bytes go                     offer = where they are
//!   open                                            head  = there is an offer
//!   claim a chunk from the back                     claim a chunk from the front
//!   look where the offer is, copy, count it         look where the want is, copy, count it
//! ```
//! **A claim keeps both buffers where they are**, until its chunk is counted as copied: it must come before the look at where
//! the other side's buffer is. A side that gives its buffer up first takes away what nobody has claimed, then waits for what
//! was claimed and not counted yet, which is one chunk at most and needs no help of its own. Only then does it tell of another
//! buffer, and let claims in again. So no number tells one receive of a message from the next, and none can come round: a look
//! made before the claim may be at something old, a look made after it cannot.
//!
//! * A receiver that gives up *closes* the deal. The message stays with its sender, whatever was copied, and the next
//!   receive opens the deal anew. If all chunks were claimed it is too late: the message comes.
//! * A sender that gives up *holds* the deal, opened or not, makes its offer point to a copy, and lets go.
//!
//! The words of a deal may be spoilt by a third rank, or the other side may be stopped in the middle of its chunk: then the wait for
//! what was claimed takes long (`ni::progress::rest`). A receiver leaves a buffer of the library behind rather than waiting on, and the deal
//! is not opened anew while it says that somebody copies. A sender calls the message lost: what the receiver reads from
//! then on is not taken for it.

use crate::sync::atomic::{AtomicU64, Ordering, fence};
use crate::sync::shared;

shared! {
    /// See above.
    #[derive(Debug)]
    pub struct Deal {
        /// number << 32 | closed << 31 | chunks claimed from the back << 16 | held << 15 | chunks claimed from the front.
        claimed: AtomicU64,
        /// number << 32 | chunks copied.
        copied: AtomicU64,
        /// The last message that was refused because it did not fit.
        refused: AtomicU64,
        /// The last message of which a chunk could not be copied: number << 16 | errno.
        spoiled: AtomicU64,
        /// The last message that its sender gave up without a copy.
        lost: AtomicU64,
    }
}

/// Chunks of a message at most: either side may claim them all.
pub const CHUNKS_MAX: usize = 0x7fff;
const FRONT: u64 = 1;
const BACK: u64 = 1 << 16;
/// The sender lets nobody claim. More than all chunks, so that a claim need not look for it.
const HELD: u64 = 1 << 15;
/// The receiver lets nobody claim.
const CLOSED: u64 = 1 << 31;
const NUMBER_SHIFT: u32 = 32;
const NUMBER_MASK: u64 = 0xffff_ffff;

/// What became of giving a buffer up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Nobody uses it any more.
    Now,
    /// The other side is copying a chunk; to be tried again.
    Soon,
    /// All chunks were claimed, so it ends by being copied.
    Late,
}

fn is_of(seen: u64, number: u64) -> bool {
    seen >> NUMBER_SHIFT == number & NUMBER_MASK
}

/// Whether the deal is already that of a later message.
fn is_behind(number: u64, seen: u64) -> bool {
    let ahead = (seen >> NUMBER_SHIFT).wrapping_sub(number) & NUMBER_MASK;
    ahead != 0 && ahead < 1 << 31
}

/// Chunks claimed by both sides.
fn claims(seen: u64) -> u64 {
    let counts = seen & NUMBER_MASK & !(HELD | CLOSED);
    counts % BACK + counts / BACK
}

impl Deal {
    /// The receiver opens the deal for message `number`, before it tells of it. For those whose deals are never closed or held.
    pub fn open(&self, number: u64) {
        self.copied.store(number << NUMBER_SHIFT, Ordering::Relaxed);
        self.claimed.store(number << NUMBER_SHIFT, Ordering::Release);
    }

    /// The receiver opens the deal for a message that either side may give up; false while its sender holds it, or still copies for
    /// a receive that was given up. The want was written.
    pub fn try_open(&self, number: u64) -> bool {
        let mut seen = self.claimed.load(Ordering::Acquire);
        loop {
            if is_of(seen, number) && (seen & HELD != 0 || self.is_being_copied(seen)) {
                return false;
            }
            // Nobody has claimed anything of this message, or it was closed and counted.
            self.copied.store(number << NUMBER_SHIFT, Ordering::Relaxed);
            if self.spoiled(number).is_some() {
                // By an earlier receive, which was given up.
                self.spoiled.store(0, Ordering::Relaxed);
            }
            let opened = number << NUMBER_SHIFT;
            match self.claimed.compare_exchange(seen, opened, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
    }

    /// Whether somebody has claimed a chunk and not counted it yet. A receive that was given up may have left that behind.
    fn is_being_copied(&self, claimed: u64) -> bool {
        claims(claimed) > 0 && self.copied.load(Ordering::Acquire) != claimed & !NUMBER_MASK | claims(claimed)
    }

    /// Claims the next chunk of message `number`, of `count`, from the first on.
    #[inline]
    pub fn claim(&self, number: u64, count: u64) -> Option<u64> {
        self.claim_one(number, count, FRONT).map(|claims| claims % BACK)
    }

    /// Claims the next chunk from the last on: so each side copies about the same chunks of every message, whose lines stay in its
    /// cache.
    #[inline]
    pub fn claim_back(&self, number: u64, count: u64) -> Option<u64> {
        self.claim_one(number, count, BACK).map(|claims| count - 1 - claims / BACK)
    }

    #[inline(always)]
    fn claim_one(&self, number: u64, count: u64, one: u64) -> Option<u64> {
        let mut seen = self.claimed.load(Ordering::Acquire);
        loop {
            let claims = seen & NUMBER_MASK;
            if !is_of(seen, number) || claims % BACK + claims / BACK >= count {
                return None;
            }
            match self.claimed.compare_exchange_weak(seen, seen + one, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(claims),
                Err(now) => seen = now,
            }
        }
    }

    /// The sender cannot copy the chunk it has claimed last: the receive that is there now is not what it was before the claim.
    #[cold]
    pub fn give_back(&self) {
        // The claim has kept the deal open, so it is still of this message.
        self.claimed.fetch_sub(FRONT, Ordering::AcqRel);
    }

    /// A claimed chunk of message `number` cannot be copied, for which the kernel gave `errno`. It counts as copied all the
    /// same, so that nobody waits for it and both sides still find out when nobody copies any more.
    #[cold]
    pub fn spoil(&self, number: u64, errno: i32) {
        self.spoiled.store(number << 16 | errno as u64 & 0xffff, Ordering::Release);
    }

    /// Why a chunk of message `number`, which is done, could not be copied, if so.
    #[inline]
    pub fn spoiled(&self, number: u64) -> Option<i32> {
        let seen = self.spoiled.load(Ordering::Acquire);
        (seen >> 16 == number & (u64::MAX >> 16)).then_some((seen & 0xffff) as i32)
    }

    /// A claimed chunk was copied, or spoiled.
    #[inline]
    pub fn copied(&self) {
        self.copied.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether all chunks of message `number` were copied. The receiver may have opened the next deal already.
    #[inline]
    pub fn done(&self, number: u64, count: u64) -> bool {
        let seen = self.copied.load(Ordering::Acquire);
        let of = (seen >> NUMBER_SHIFT).wrapping_sub(number) & NUMBER_MASK;
        (of == 0 && seen & NUMBER_MASK >= count) || (of != 0 && of < 1 << 31)
    }

    /// The receiver has no room for message `number`.
    pub fn refuse(&self, number: u64) {
        self.refused.store(number, Ordering::Release);
    }

    /// Whether message `number` was refused.
    pub fn was_refused(&self, number: u64) -> bool {
        self.refused.load(Ordering::Acquire) == number
    }

    /// The receiver takes back the deal it has opened for message `number`. `count`: of how many chunks, asked only if some
    /// were claimed, since then the offer is there to be looked at.
    #[cold]
    pub fn close(&self, number: u64, count: impl Fn() -> u64) -> Stopped {
        self.stop(number, CLOSED, count)
    }

    /// The sender keeps the receiver from claiming chunks of message `number`, of `count`, whether it has opened the deal or
    /// not.
    #[cold]
    pub fn hold(&self, number: u64, count: u64) -> Stopped {
        self.stop(number, HELD, || count)
    }

    fn stop(&self, number: u64, by: u64, count: impl Fn() -> u64) -> Stopped {
        let mut seen = self.claimed.load(Ordering::Acquire);
        loop {
            if is_behind(number, seen) {
                return Stopped::Late;
            }
            let was_closed = !is_of(seen, number) || seen & CLOSED != 0;
            let was_stopped = was_closed || seen & HELD != 0;
            if !was_stopped && claims(seen) > 0 && claims(seen) >= count() {
                return Stopped::Late;
            }
            let stopped = if is_of(seen, number) { seen | by } else { number << NUMBER_SHIFT | CLOSED | by };
            if let Err(now) = self.claimed.compare_exchange(seen, stopped, Ordering::AcqRel, Ordering::Acquire) {
                seen = now;
                continue;
            }
            let copied = self.copied.load(Ordering::Acquire) & NUMBER_MASK;
            // The sender, who is here, copies nothing, and neither does a receiver that has closed.
            let is_settled = by == HELD && was_closed || copied == claims(stopped);
            return if is_settled { Stopped::Now } else { Stopped::Soon };
        }
    }

    /// The sender lets claims of message `number` in again, if it is still the one; what it has written is seen by them.
    #[cold]
    pub fn let_go(&self, number: u64) {
        let mut seen = self.claimed.load(Ordering::Acquire);
        while is_of(seen, number) && seen & HELD != 0 {
            match self.claimed.compare_exchange(seen, seen & !HELD, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    /// The sender of message `number` has nothing to go on with: it never lets go, or does not know who is at its buffer. What
    /// it writes there from now on is not taken for the message.
    #[cold]
    pub fn lose(&self, number: u64) {
        self.lost.store(number, Ordering::Release);
        fence(Ordering::SeqCst);
    }

    /// Whether message `number` was lost. To be asked when all that was copied is counted.
    #[inline]
    pub fn is_lost(&self, number: u64) -> bool {
        self.lost.load(Ordering::Acquire) == number
    }

    /// For models; in a job it is zeroed mapped memory.
    pub fn new() -> Deal {
        Deal {
            claimed: AtomicU64::new(0),
            copied: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            spoiled: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        }
    }
}

impl Default for Deal {
    fn default() -> Deal {
        Deal::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const COUNT: u64 = 3;

    fn close(deal: &Deal, number: u64) -> Stopped {
        deal.close(number, || COUNT)
    }

    #[test]
    fn a_closed_deal_is_opened_again_from_the_beginning() {
        let deal = Deal::new();
        assert!(deal.try_open(1));
        assert_eq!(deal.claim(1, COUNT), Some(0));
        assert_eq!(close(&deal, 1), Stopped::Soon, "a chunk is being copied");
        assert_eq!(deal.claim(1, COUNT), None);
        deal.spoil(1, 14);
        deal.copied();
        assert_eq!((close(&deal, 1), close(&deal, 1)), (Stopped::Now, Stopped::Now));
        assert!(deal.try_open(1) && !deal.done(1, COUNT));
        assert_eq!(deal.spoiled(1), None, "that was the other receive");
        assert_eq!(
            (deal.claim(1, COUNT), deal.claim_back(1, COUNT), deal.claim(1, COUNT)),
            (Some(0), Some(2), Some(1))
        );
        assert_eq!(close(&deal, 1), Stopped::Late);
    }

    #[test]
    fn what_was_given_back_is_claimed_by_the_other_side() {
        let deal = Deal::new();
        assert!(deal.try_open(7));
        assert_eq!(deal.claim(7, 1), Some(0));
        deal.give_back();
        assert_eq!(close(&deal, 7), Stopped::Now);
        assert!(deal.try_open(7));
        assert_eq!((deal.claim_back(7, 1), deal.claim(7, 1)), (Some(0), None));
    }

    #[test]
    fn a_held_message_is_neither_opened_nor_claimed() {
        let deal = Deal::new();
        assert!(deal.try_open(1));
        // The receiver is not there for the next one.
        assert_eq!(deal.hold(2, COUNT), Stopped::Now);
        assert!(!deal.try_open(2));
        deal.let_go(2);
        assert_eq!(deal.claim_back(2, COUNT), None, "to let go is not to open");
        assert!(deal.try_open(2));
        // It is there.
        assert_eq!(deal.claim_back(2, COUNT), Some(2));
        assert_eq!(deal.hold(2, COUNT), Stopped::Soon);
        deal.copied();
        assert_eq!(deal.hold(2, COUNT), Stopped::Now);
        assert_eq!(deal.claim_back(2, COUNT), None);
        // Both give up.
        assert_eq!(close(&deal, 2), Stopped::Now);
        assert!(!deal.try_open(2));
        deal.let_go(2);
        assert!(deal.try_open(2));
        assert_eq!(deal.claim_back(2, COUNT), Some(2));
    }

    #[test]
    fn a_sender_that_comes_late_leaves_the_next_deal_alone() {
        let deal = Deal::new();
        for number in [1, u32::MAX as u64, 1 << 32] {
            assert!(deal.try_open(number + 1));
            assert_eq!(deal.hold(number, COUNT), Stopped::Late);
            deal.let_go(number);
            assert_eq!(deal.claim(number + 1, COUNT), Some(0));
            assert_eq!(deal.hold(number, COUNT), Stopped::Late);
        }
    }

    #[test]
    fn what_is_lost_stays_lost_and_the_next_message_comes() {
        let deal = Deal::new();
        assert_eq!(deal.hold(1, COUNT), Stopped::Now);
        deal.lose(1);
        assert!(deal.is_lost(1) && !deal.try_open(1));
        assert!(deal.try_open(2) && !deal.is_lost(2));
        assert_eq!(deal.claim(2, COUNT), Some(0));
    }
}
