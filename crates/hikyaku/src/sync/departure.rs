//! Telling everybody that a rank has ended.
//!
//! ```text
//!   whoever knows                           whoever waits
//!   departures += 1                         departures != 0?  a word that hardly ever changes
//!   state = how it ended                        state of the ranks it waits for
//!   ring all bells                          sleeps at its own bell
//! ```
//! In this order: whoever knows which rank has ended finds `departures` raised in every later call.

use super::atomic::{AtomicU64, Ordering};
use super::bell::Bell;

/// Writes that a rank has ended. A higher state stays: whoever is dead does not leave any more.
pub fn depart<'a>(departures: &AtomicU64, state: &AtomicU64, ended: u64, bells: impl Iterator<Item = &'a Bell>) {
    departures.fetch_add(1, Ordering::SeqCst);
    state.fetch_max(ended, Ordering::SeqCst);
    bells.for_each(Bell::ring_all);
}
