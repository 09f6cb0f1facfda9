//! Which of this rank's areas peers have pinned: as long as they have, the areas stay.
//!
//! Whoever grants a pin and whoever takes an area away do so under one lock, so an area is never taken away under a pin. What a rank has
//! pinned does not count any more when that rank has ended or cannot be reached.

use crate::sync::brief::{Brief, BriefGuard};
use std::collections::{BTreeMap, BTreeSet};

/// By the keys of areas, of which each is given once.
#[derive(Debug, Default)]
pub(crate) struct Pins(Brief<Table>);

#[derive(Debug, Default)]
struct Table {
    /// How many pins a rank has in an area.
    held: BTreeMap<(u64, usize), u64>,
    /// Areas of which nothing can be pinned now, as somebody waits to take them away.
    closed: BTreeSet<u64>,
    /// And of which nothing can be pinned any more.
    ended: BTreeSet<u64>,
}

impl Table {
    fn holder(&self, key: u64, is_over: impl Fn(usize) -> bool) -> Option<usize> {
        self.held.range((key, 0)..=(key, usize::MAX)).map(|((_, rank), _)| *rank).find(|rank| !is_over(*rank))
    }
}

impl Pins {
    fn table(&self) -> BriefGuard<'_, Table> {
        // Nothing in here panics while the table is changed.
        self.0.lock()
    }

    /// A rank pins a part of an area, if that is there and not about to be taken away.
    pub fn pin(&self, key: u64, rank: usize, is_there: impl FnOnce() -> bool) -> bool {
        let mut table = self.table();
        let may_be = !table.closed.contains(&key) && !table.ended.contains(&key) && is_there();
        if may_be {
            *table.held.entry((key, rank)).or_default() += 1;
        }
        may_be
    }

    /// A rank gives one pin back; false if it has none.
    pub fn release(&self, key: u64, rank: usize) -> bool {
        let mut table = self.table();
        let Some(count) = table.held.get_mut(&(key, rank)) else { return false };
        *count -= 1;
        if *count == 0 {
            table.held.remove(&(key, rank));
        }
        true
    }

    /// A rank that has pinned some of an area and is not over.
    pub fn holder(&self, key: u64, is_over: impl Fn(usize) -> bool) -> Option<usize> {
        self.table().holder(key, is_over)
    }

    /// Nothing more of an area is pinned until it is reopened: a rank that has pinned some of it before. If there is none, nothing is any
    /// more.
    pub fn close(&self, key: u64, is_over: impl Fn(usize) -> bool) -> Option<usize> {
        let mut table = self.table();
        let holder = table.holder(key, is_over);
        if holder.is_some() {
            table.closed.insert(key)
        } else {
            table.ended.insert(key)
        };
        holder
    }

    /// An area stays after all, unless its pins have ended meanwhile.
    pub fn reopen(&self, key: u64) {
        self.table().closed.remove(&key);
    }

    /// Takes all pins of an area away; there will be no others.
    pub fn end(&self, key: u64) {
        let mut table = self.table();
        table.ended.insert(key);
        table.held.retain(|(area, _), _| *area != key);
    }

    /// The area is gone.
    pub fn forget(&self, key: u64) {
        self.end(key);
        let mut table = self.table();
        table.closed.remove(&key);
        table.ended.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nobody(_: usize) -> bool {
        false
    }

    #[test]
    fn an_area_is_held_until_the_last_pin_is_given_back() {
        let pins = Pins::default();
        assert!(!pins.pin(5, 1, || false), "there is no such area");
        assert!(pins.pin(5, 1, || true) && pins.pin(5, 1, || true) && pins.pin(6, 2, || true));
        assert_eq!(pins.close(5, nobody), Some(1));
        assert!(!pins.pin(5, 2, || true), "it is about to be taken away");
        assert!(pins.release(5, 1) && !pins.release(5, 2));
        assert_eq!(pins.holder(5, nobody), Some(1));
        assert!(pins.release(5, 1) && !pins.release(5, 1));
        assert_eq!((pins.holder(5, nobody), pins.holder(6, nobody)), (None, Some(2)));
        pins.reopen(5);
        assert!(pins.pin(5, 2, || true));
    }

    #[test]
    fn pins_of_ranks_that_have_ended_do_not_count() {
        let pins = Pins::default();
        assert!(pins.pin(5, 1, || true) && pins.pin(5, 3, || true));
        assert_eq!(pins.close(5, |rank| rank == 1), Some(3));
        pins.reopen(5);
        assert_eq!(pins.close(5, |_| true), None);
        pins.reopen(5);
        assert!(!pins.pin(5, 2, || true), "nobody had pinned it any more");
        pins.end(5);
        assert_eq!(pins.holder(5, nobody), None);
        pins.reopen(5);
        assert!(!pins.pin(5, 1, || true), "there will be no others");
        pins.forget(5);
        let table = pins.0.lock();
        assert!(table.closed.is_empty() && table.ended.is_empty());
    }
}
