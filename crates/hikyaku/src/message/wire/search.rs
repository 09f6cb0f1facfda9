//! Searching for a message when the receive does not say from where: among the members, among the slots of one.
//!
//! Neither search needs anything that senders would have to agree on: each looks at the heads, which only their senders
//! write. That of slots looks below a limit, which a sender raises before the message that needs it is announced.

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::shared;

shared! {
    /// One more than the highest slot a peer has sent on. Written by the sender, read by the receiver; it guards nothing, so it
    /// needs no order but to be there when the receiver is told of the message.
    #[derive(Debug)]
    pub struct High(AtomicU64);
}

impl High {
    /// The sender is about to use `slot`; `told` is what it told last. It never goes down: a higher slot may still hold a
    /// message.
    #[inline(always)]
    pub fn raise(&self, told: &mut u64, slot: usize) {
        if slot as u64 >= *told {
            *told = slot as u64 + 1;
            self.0.store(*told, Ordering::Relaxed);
        }
    }

    /// The lowest slot in use that `waits`. What a peer told is not believed beyond `slots`.
    #[inline(always)]
    pub fn find_slot(&self, slots: usize, waits: impl FnMut(&usize) -> bool) -> Option<usize> {
        let high = self.0.load(Ordering::Relaxed) as usize;
        (0..high.min(slots)).find(waits)
    }

    /// For models; in a job it is zeroed mapped memory.
    pub fn new() -> High {
        High(AtomicU64::new(0))
    }
}

impl Default for High {
    fn default() -> High {
        High::new()
    }
}

/// The first of `count` members that `waits`, beginning with `first`.
#[inline(always)]
pub fn find_member(first: usize, count: usize, waits: impl FnMut(&usize) -> bool) -> Option<usize> {
    (0..count).map(|step| (first + step) % count).find(waits)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_limit_only_rises_and_is_not_believed() {
        let (high, mut told) = (High::new(), 0);
        assert_eq!(high.find_slot(8, |_| true), None);
        high.raise(&mut told, 5);
        high.raise(&mut told, 2);
        assert_eq!(told, 6);
        assert_eq!(high.find_slot(8, |slot| *slot >= 5), Some(5));
        assert_eq!(high.find_slot(8, |slot| *slot >= 6), None);
        high.raise(&mut told, usize::MAX >> 1);
        assert_eq!(high.find_slot(8, |slot| *slot >= 8), None);
    }

    #[test]
    fn nobody_is_always_first() {
        let found = |first| find_member(first, 3, |member| *member != 1);
        assert_eq!([found(0), found(1), found(2)], [Some(0), Some(2), Some(2)]);
        assert_eq!(find_member(2, 3, |member| *member == 1), Some(1));
        assert_eq!(find_member(2, 3, |_| false), None);
    }
}
