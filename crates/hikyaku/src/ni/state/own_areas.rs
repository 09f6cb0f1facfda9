//! A rank's own areas as it knows them itself, in private memory.
//!
//! The table in the control block is for peers to read, and any of them may write there. The owner writes it and never reads
//! it: what it does for others, or with its own areas, goes by this one. So does whether one of its threads is inside an
//! operation on them, which a revocation waits for.

use crate::sync::entry::{Entry, WORD_COUNT};
use crate::sync::guard::Guard;
use crate::transport::shm::layout::AREA_COUNT;
use std::sync::OnceLock;

/// See above.
#[derive(Debug)]
pub(crate) struct OwnAreas {
    /// By id; made when the first area is, which most ranks never do.
    entries: OnceLock<Box<[Entry]>>,
    /// One mark per port: inside an operation on an own area. One besides for whoever serves far ranks, who does so beside the engine.
    guards: Box<[Guard]>,
}

impl OwnAreas {
    pub fn new(ports: usize) -> OwnAreas {
        OwnAreas { entries: OnceLock::new(), guards: (0..=ports).map(|_| Guard::new()).collect() }
    }

    /// Enters an area; false if its id is taken, or there is none.
    pub fn publish(&self, id: u32, key: u64, words: [u64; WORD_COUNT]) -> bool {
        let entries = self.entries.get_or_init(|| (0..AREA_COUNT).map(|_| Entry::new()).collect());
        entries.get(id as usize).is_some_and(|entry| entry.publish(key, words))
    }

    /// An area's key and description.
    pub fn look(&self, id: u32) -> Option<(u64, [u64; WORD_COUNT])> {
        self.entry(id)?.look()
    }

    /// Whether the area is still the one of `key`.
    pub fn is(&self, id: u32, key: u64) -> bool {
        self.entry(id).is_some_and(|entry| entry.is(key))
    }

    /// Takes the area of `key` away; false if it was gone before.
    pub fn revoke(&self, id: u32, key: u64) -> bool {
        self.entry(id).is_some_and(|entry| entry.revoke(key))
    }

    /// The mark of a port.
    #[inline]
    pub fn guard(&self, port: usize) -> &Guard {
        &self.guards[port]
    }

    /// The mark of whoever serves far ranks.
    pub fn far_guard(&self) -> &Guard {
        &self.guards[self.guards.len() - 1]
    }

    /// Waits for those threads that are inside an operation, after an area was taken away and a heavy fence.
    pub fn await_left(&self, relax: impl Fn()) {
        for guard in &self.guards {
            let Some(number) = guard.occupied() else { continue };
            while !guard.left(number) {
                relax();
            }
        }
    }

    fn entry(&self, id: u32) -> Option<&Entry> {
        self.entries.get()?.get(id as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::fence::Fences;
    use std::cell::{Cell, RefCell};

    #[test]
    fn a_revocation_waits_for_whoever_serves_far_ranks_though_the_engine_has_left() {
        let areas = OwnAreas::new(3);
        let far = RefCell::new(Some(areas.far_guard().enter(Fences::Symmetric)));
        drop(areas.guard(0).enter(Fences::Symmetric));
        let looks = Cell::new(0);
        areas.await_left(|| {
            looks.set(looks.get() + 1);
            if looks.get() == 10 {
                far.take();
            }
        });
        assert_eq!(looks.get(), 10);
    }
}
