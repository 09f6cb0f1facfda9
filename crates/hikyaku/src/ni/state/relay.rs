//! What this rank has sent on for others: a third rank asked for it, and hears from this one how it has ended.
//!
//! ```text
//!   initiator          this rank                                   target
//!   asks  ---------->  entered here, sent on ------------------->  written
//!   done  <----------  struck out, passed on <-------------------  answered
//!                      the target has ended: struck out, refused
//! ```

use crate::sync::brief::lock;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// So many may be under way; what comes beyond that waits.
const RELAYS_MAX: usize = 4096;

/// What was sent on and not answered.
#[derive(Debug, Default)]
pub(crate) struct Relays {
    table: Mutex<Table>,
    /// How many there are. Orders nothing: who adds them also looks for them.
    count: AtomicUsize,
}

#[derive(Debug, Default)]
struct Table {
    number: u64,
    under_way: BTreeMap<u64, Relay>,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Relay {
    /// Who has asked, and by which token it knows what.
    pub initiator: usize,
    pub token: u64,
    /// Where it was sent.
    pub to: usize,
}

impl Relays {
    fn table(&self) -> MutexGuard<'_, Table> {
        // Nothing in here panics while the table is changed.
        lock(&self.table)
    }

    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    pub fn is_full(&self) -> bool {
        self.count.load(Ordering::Relaxed) >= RELAYS_MAX
    }

    /// Enters one; its number.
    pub fn add(&self, relay: Relay) -> u64 {
        let mut table = self.table();
        table.number += 1;
        let number = table.number;
        table.under_way.insert(number, relay);
        self.count.store(table.under_way.len(), Ordering::Relaxed);
        number
    }

    /// Strikes out the one of this number, if it was sent to this rank: whoever else names it is not believed.
    pub fn take(&self, number: u64, from: usize) -> Option<Relay> {
        let mut table = self.table();
        let relay = *table.under_way.get(&number).filter(|relay| relay.to == from)?;
        table.under_way.remove(&number);
        self.count.store(table.under_way.len(), Ordering::Relaxed);
        Some(relay)
    }

    /// Strikes out what was sent to ranks that have ended.
    pub fn take_lost(&self, mut has_ended: impl FnMut(usize) -> bool) -> Vec<Relay> {
        let mut table = self.table();
        let lost: Vec<(u64, Relay)> = table
            .under_way
            .iter()
            .filter(|(_, relay)| has_ended(relay.to))
            .map(|(key, relay)| (*key, *relay))
            .collect();
        table.under_way.retain(|number, _| lost.binary_search_by_key(number, |(lost, _)| *lost).is_err());
        self.count.store(table.under_way.len(), Ordering::Relaxed);
        lost.into_iter().map(|(_, relay)| relay).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_target_answers() {
        let relays = Relays::default();
        let [one, two] = [(1, 5), (2, 6)].map(|(token, to)| Relay { initiator: 9, token, to });
        let [first, second] = [one, two].map(|relay| relays.add(relay));
        assert_eq!(relays.take(first, 6), None);
        assert_eq!(relays.take(second + 1, 6), None);
        assert_eq!(relays.take(first, 5), Some(one));
        assert_eq!(relays.take(first, 5), None, "once");
        assert_eq!(relays.take_lost(|rank| rank == 5), []);
        assert_eq!(relays.take_lost(|rank| rank == 6), [two]);
        assert!(relays.is_empty() && !relays.is_full());
    }
}
