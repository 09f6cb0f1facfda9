//! The words by which members follow each other through the calls of a group, apart from where they lie.
//!
//! ```text
//!   member                                            peer
//!   call n - 8 is finished by all?  (`Floor`)
//!   the contribution, into slot n
//!   ask = what I ask for in call n, released  ----->  acquired: reads the contribution
//!                                                     finished = n, released
//!   call n + 8: finished, acquired, by all?  <------  anybody waiting for it?  then wakes all
//! ```

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::fence::Fences;
use crate::sync::line::Line;
use crate::sync::shared;
use std::cell::Cell;

/// Calls whose entries and buffers exist at the same time: so far may a member be ahead of another.
pub const SLOT_COUNT: u64 = if cfg!(loom) { 2 } else { 8 };

shared! {
    /// What a member asks for in one call. Written by the member alone, read by whoever needs it.
    #[derive(Debug, Default)]
    pub struct Ask {
        /// Number and kind of the call; stored last.
        head: AtomicU64,
        /// Size and root.
        argument: AtomicU64,
    }
}

impl Ask {
    /// Shows what the member asks for, after its contribution.
    #[inline(always)]
    pub fn publish(&self, head: u64, argument: u64) {
        // Not compared with what is there: the line may be in the cache of a peer that has looked at it.
        self.argument.store(argument, Ordering::Relaxed);
        self.head.store(head, Ordering::Release);
    }

    /// Head and argument. They belong together while the slot is not used again, that is until whoever looks has
    /// finished the call.
    #[inline(always)]
    pub fn look(&self) -> (u64, u64) {
        (self.head.load(Ordering::Acquire), self.argument.load(Ordering::Relaxed))
    }
}

shared! {
    /// Calls a member has finished: it reads nothing of them any more, and nobody needs anything of it.
    #[derive(Debug, Default)]
    pub struct Finished {
        /// Written by the member.
        number: Line<AtomicU64>,
        /// Not 0 once somebody had to wait for `number`, and wants to be told when it moves. Written by peers.
        wanted: Line<AtomicU64>,
    }
}

impl Finished {
    /// The member has finished call `number`; true if somebody wants to be told.
    #[inline(always)]
    pub fn set(&self, fences: Fences, number: u64) -> bool {
        self.number.store(number, Ordering::Release);
        fences.light();
        self.wanted.load(Ordering::Relaxed) != 0
    }

    /// The last call the member has finished.
    #[inline]
    pub fn get(&self) -> u64 {
        self.number.load(Ordering::Acquire)
    }

    /// Asks to be told. Before a member sleeps there is a fence that the other side need not repeat: either that side
    /// sees this, or a look after the fence sees its number. So this is called before the wait, not within its sleep.
    pub fn want(&self) {
        if self.wanted.load(Ordering::Relaxed) == 0 {
            self.wanted.store(1, Ordering::Relaxed);
        }
    }
}

shared! {
    /// The number of a call, stored after what it stands for.
    #[derive(Debug, Default)]
    pub struct Mark(Line<AtomicU64>);
}

impl Mark {
    /// Sets the mark.
    #[inline]
    pub fn set(&self, number: u64) {
        self.0.store(number, Ordering::Release);
    }

    /// The call the mark is set for.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// What a member knows of how far all others are: everybody has finished this call. Private to the member.
#[derive(Debug, Default)]
pub struct Floor(Cell<u64>);

impl Floor {
    /// The call that everybody must have finished before call `number` may use its slot, with `spare` slots more, if
    /// that is not known yet.
    #[inline(always)]
    pub fn lacks(&self, number: u64, spare: u64) -> Option<u64> {
        let needed = number.saturating_sub(SLOT_COUNT - spare);
        (self.0.get() < needed).then_some(needed)
    }

    /// Whether everybody is known to have finished call `number`.
    pub fn has(&self, number: u64) -> bool {
        self.0.get() >= number
    }

    /// Everybody has finished call `number`.
    #[inline(always)]
    pub fn raise(&self, number: u64) {
        self.0.set(self.0.get().max(number));
    }

    /// Everybody was seen in call `number`, so everybody has finished the one before.
    #[inline(always)]
    pub fn saw_everyone(&self, number: u64) {
        self.raise(number - 1);
    }

    /// A member that entered call `number` with a slot to spare was seen: it knew the slot after it to be free.
    #[inline(always)]
    pub fn saw_keeper(&self, number: u64) {
        self.raise((number + 1).saturating_sub(SLOT_COUNT));
    }
}
