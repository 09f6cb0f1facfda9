//! Counting arrivals at a barrier, and telling all ranks when the last has come. Whoever has the manager's memory mapped does it for
//! itself; for all others the manager's interface does ([`crate::ni::receive`]).
//!
//! ```text
//!   rank                        the manager's interface                     every rank
//!   Arrive, one packet  ----->  notes that this rank has come, counts it
//!                               the last one: adds 1, once per host  ---->  its releases: one more
//! ```
//! The packets of the release need nothing but the place of the words and [`Base::parties`], both of which are there before anybody
//! arrives. A release is an addition, so it does not matter in which order those of different senders come. One that is lost is no
//! harm: the count has it. There is nothing to re-arm: the counts go on.

use crate::memory::copy;
use crate::memory::span::Span;
use crate::ni::base::Base;
use crate::ni::state::party::Party;
use crate::ni::wire::operation::{Act, Data, Manner, Operation};
use crate::ni::wire::target::Target;
use crate::ni::wire::token;
use crate::planted::{Bug, planted};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// At each rank: how many barriers all have come to, as far as it was told. On a line of its own: the manager looks at it while others
/// are counted.
pub(crate) const RELEASES: usize = 0;
/// Words at the manager: how many arrivals there were, of all ranks and barriers.
pub(crate) const COUNT: usize = 8;
/// At the manager, from here on: how often each rank has arrived.
pub(crate) const ARRIVALS: usize = COUNT + 1;

/// At the manager, where not all ranks take part: how many do, and from the next word on a bit for each of them.
pub(crate) fn members_at(size: usize) -> usize {
    ARRIVALS + size
}

/// How many words each rank has for a barrier.
pub(crate) fn words_of(size: usize) -> usize {
    members_at(size) + 1 + size.div_ceil(64)
}

/// The words of a barrier at its manager, mapped here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Roll<'m> {
    words: Span<'m>,
    size: usize,
}

impl Roll<'_> {
    fn word(&self, index: usize) -> &AtomicU64 {
        self.words.at(index * 8)
    }

    /// A far rank has come for the `number`th time; whether it is the last. Once, however often it says so.
    pub fn count(&self, rank: usize, number: u64) -> bool {
        self.word(ARRIVALS + rank).fetch_max(number, Ordering::AcqRel) < number && self.count_one()
    }

    /// This rank has come for the `number`th time; whether it is the last. `between` the two steps it may die.
    pub fn count_own(&self, rank: usize, number: u64, between: impl FnOnce()) -> bool {
        let arrivals = self.word(ARRIVALS + rank);
        // The line would come for the load, and once more for the store.
        copy::expect_write(arrivals.as_ptr().cast(), 8);
        if arrivals.load(Ordering::Relaxed) >= number {
            return false;
        }
        // Nobody else writes there. And before it is counted: whoever leaves afterwards has arrived, as anybody can see.
        arrivals.store(number, Ordering::Release);
        between();
        self.count_one()
    }

    fn count_one(&self) -> bool {
        let counted = self.word(COUNT).fetch_add(1, Ordering::SeqCst).wrapping_add(1);
        let members = self.members().unwrap_or(self.size as u64);
        counted.wrapping_add(planted(Bug::ArrivalsMiscounted).into()).is_multiple_of(members)
    }

    /// How many take part; none if all do.
    fn members(&self) -> Option<u64> {
        Some(self.word(members_at(self.size)).load(Ordering::Relaxed)).filter(|members| *members != 0)
    }

    /// Whether a rank takes part, if not all do.
    fn has(&self, rank: usize) -> bool {
        self.word(members_at(self.size) + 1 + rank / 64).load(Ordering::Relaxed) >> (rank % 64) & 1 != 0
    }
}

impl Base {
    /// The ranks of other hosts.
    pub(crate) fn parties(&self) -> Arc<[Party]> {
        self.parties.get(&self.routes)
    }

    /// Who writes for a party: the first that is there. If there is none, the first will say so.
    pub(crate) fn writer_of(&self, party: &Party) -> usize {
        let is_there = |rank: &usize| self.departures() == 0 || self.end_of(*rank).is_none();
        party.ranks.iter().copied().find(is_there).unwrap_or(party.ranks[0])
    }

    /// The words of a barrier, if they can be there and are mapped here.
    pub(crate) fn roll(&self, at: &Target) -> Option<Roll<'_>> {
        let (is_common, size) = (at.is_heap() && self.is_near(at.rank), self.routes.size());
        let words = is_common.then(|| self.near_span(at.rank, at.offset, 8 * words_of(size) as u64)).flatten()?;
        words.start().addr().is_multiple_of(8).then_some(Roll { words, size })
    }

    /// Tells all who take part that all have come to a barrier whose words are at this offset of every heap: `tell` sends an operation to another
    /// host. Those that take longer come first. `between` two steps the rank may die.
    pub(crate) fn release(
        &self,
        roll: &Roll<'_>,
        offset: u64,
        between: impl Fn(),
        mut tell: impl FnMut(&Operation<'_>),
    ) {
        let then = offset + 8 * RELEASES as u64;
        let are_all = roll.members().is_none();
        if self.spans_hosts() {
            let parties = match are_all {
                true => self.parties(),
                // Never more of them than of all ranks.
                false => Party::all(&self.routes, |rank| roll.has(rank)).into(),
            };
            for party in &*parties {
                let one = Target::in_heap(self.writer_of(party), then as usize);
                let several = if party.ranks.len() > 1 { one.of_several(party.locals) } else { None };
                let act = Act::PushAdd { data: Data::EMPTY, then, amount: 1 };
                tell(&Operation { at: several.unwrap_or(one), act, manner: Manner::Plain });
            }
        }
        let words = || {
            let near = self.routes.near().iter().filter(|rank| are_all || roll.has(**rank));
            near.filter_map(|rank| Some((*rank, self.near_span(*rank, then, 8)?.at::<AtomicU64>(0))))
        };
        // Lines that others poll come at the same time, and not one after the other.
        words().for_each(|(_, word)| copy::expect_write(word.as_ptr().cast(), 8));
        for (rank, word) in words() {
            between();
            word.fetch_add(1, Ordering::AcqRel);
            self.notify(rank, self.watch_of(word.as_ptr().cast()));
        }
    }

    /// Sends an operation of a release; false while there is no room. Whoever has ended needs none.
    pub(crate) fn tell(&self, operation: &Operation<'_>) -> bool {
        let has_ended = |rank| self.departures() != 0 && self.end_of(rank).is_some();
        has_ended(operation.at.rank) || !matches!(self.post_operation(operation, token::QUIET), Ok(false))
    }
}
