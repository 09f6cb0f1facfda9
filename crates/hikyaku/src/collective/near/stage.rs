//! A long broadcast through two larger buffers of the root in job memory, used in turn: the root fills one while the
//! others read the other. Larger than the buffers of a part, so that members which share cores do much whenever they
//! get one, and small enough for a cache.
//!
//! What counts is how many lines a core must fetch, from the last cache or from another core: the root those of its data
//! and of the buffer; the first reader of another core those of the buffer and of its target; the others there only those
//! of their targets. On some processors a line that another core reads goes away from the one that wrote it; there a
//! reader beside the root fetches both too, unless it comes first. Targets written past the caches are not fetched.
//!
//! An alltoall uses those of all members: what a member gives to all others lies there at once, where the buffers of a part
//! would need a round for every few bytes of a block in a large group.

use super::group::NearGroup;
use super::source::Source;
use crate::collective::label::Label;
use crate::collective::part::{HALF_BYTES, STAGE_BYTES};
use crate::collective::round::Round;
use crate::error::Result;

impl NearGroup<'_, '_> {
    /// Where the own buffers are in the own heap; `None` without memory for them.
    pub(in crate::collective) fn stage(self) -> Option<usize> {
        if self.stage.get().is_none() {
            self.stage.set(self.port.ni().take_heap(STAGE_BYTES).ok());
        }
        self.stage.get()
    }

    /// The own buffers, as the others are told of them.
    pub(in crate::collective) fn own_stage(self) -> Source {
        let told = |start| Source::staged(self.port.ni().own_span(start, STAGE_BYTES));
        self.stage().map_or(Source::in_rounds(), told)
    }

    pub(in crate::collective) fn broadcast_staged(self, label: Label, source: Source, data: &mut [u8]) -> Result<()> {
        let uncached = self.is_uncached(data.len());
        for (index, piece) in data.chunks_mut(HALF_BYTES).enumerate() {
            let half = index % 2;
            let offset = half * HALF_BYTES;
            if self.rank() == label.root {
                self.await_half(half)?;
                self.fill(offset, piece);
                let round = self.enter_keeping(label, 1)?;
                self.use_half(half, &round);
                self.publish(&round);
                self.notify_all();
                self.finish(&round);
            } else {
                let round = self.enter(label)?;
                self.publish(&round);
                self.await_member(&round, label.root)?;
                let rank = self.members[label.root].rank;
                let read = source.read_mapped(uncached, self.port.ni(), rank, STAGE_BYTES, offset, piece);
                self.saw_keeper(&round);
                self.finish(&round);
                read.map_err(|error| self.fail(error))?;
            }
        }
        Ok(())
    }

    /// The buffer that was not used last.
    pub(in crate::collective) fn next_half(self) -> usize {
        let [first, second] = self.staged.get();
        (second < first) as usize
    }

    /// Waits until nobody reads any more what was in one of the buffers.
    pub(in crate::collective) fn await_half(self, half: usize) -> Result<()> {
        let before = self.staged.get()[half];
        if self.floor.has(before) { Ok(()) } else { self.await_done(before) }
    }

    /// What is in one of the buffers belongs to a call.
    pub(in crate::collective) fn use_half(self, half: usize, round: &Round) {
        let mut staged = self.staged.get();
        staged[half] = round.number;
        self.staged.set(staged);
    }

    /// Copies into the own buffers.
    pub(in crate::collective) fn fill(self, offset: usize, piece: &[u8]) {
        let start = self.stage.get().expect("the own buffers are there");
        self.port.ni().own_memory(start, STAGE_BYTES).part(offset, piece.len()).copy_in(piece);
    }
}
