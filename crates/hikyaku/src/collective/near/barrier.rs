//! The barrier of a near group.
//!
//! Members use a butterfly or one counter (see [`crate::sync::barrier`]), as the table of choices says. Neither reads the
//! entries of all, so flags and counter carry a checksum of what a member asks for:
//!
//! ```text
//!   flag:     number of the call (48 bits) | checksum (16)
//!   counter:  sum of the checksums of all arrivals (16 bits) | number of arrivals (48)
//! ```

use super::group::NearGroup;
use crate::collective::label::{Kind, Label};
use crate::collective::round::Round;
use crate::error::Result;
use crate::job::choice::{Call, Version};
use crate::sync::barrier::{await_last, partner};

impl NearGroup<'_, '_> {
    #[inline(always)]
    pub(in crate::collective) fn near_barrier(self, label: Label) -> Result<()> {
        if label.kind == Kind::Barrier && self.choice.is_tree(Call::Barrier, 0) && self.tree_barrier(label)? {
            return Ok(());
        }
        self.note(if self.choice.counts { Version::Direct } else { Version::Buffers });
        let round = self.enter(label)?;
        self.publish(&round);
        if self.choice.counts {
            if self.arrive(&round)? {
                self.notify_all();
            } else {
                self.await_arrivals(&round)?;
            }
        } else {
            self.butterfly(&round)?;
        }
        self.saw_everyone(&round);
        self.finish(&round);
        Ok(())
    }

    fn butterfly(self, round: &Round) -> Result<()> {
        let value = round.number << 16 | round.checksum() as u64;
        for step in 0.. {
            let Some(peer) = partner(self.rank(), self.size(), step) else { break };
            self.part(peer).flags.set(step, value);
            self.notify(peer);
            let flags = &self.part(self.rank()).flags;
            let seen = self.wait_for_notice(*round, || {
                let seen = flags.get(step);
                (seen >> 16 >= round.number).then_some(seen)
            })?;
            // One that is a call ahead has shown the same history, or will be found out in that call.
            if seen >> 16 == round.number && seen != value {
                let distance = 1 << step;
                return Err(self.mismatch(round, (self.rank() + self.size() - distance) % self.size()));
            }
        }
        Ok(())
    }

    /// Counts this member's arrival; true for the last one, which finds out whether all arrived at the same call.
    pub(in crate::collective) fn arrive(self, round: &Round) -> Result<bool> {
        let mine = 1u64.wrapping_add((round.checksum() as u64) << COUNT_BITS);
        let complete = self.arrivals.get().wrapping_add(mine.wrapping_mul(self.size() as u64));
        self.arrivals.set(complete);
        let now = self.part(0).counter.add(mine);
        match count_of(now) == count_of(complete) {
            true if now != complete => Err(self.mismatch_of_someone(round)),
            last => Ok(last),
        }
    }

    pub(in crate::collective) fn await_arrivals(self, round: &Round) -> Result<()> {
        let (counter, complete) = (&self.part(0).counter, count_of(self.arrivals.get()));
        if await_last(|| complete.saturating_sub(count_of(counter.get()))) {
            return Ok(());
        }
        self.wait_for_notice(*round, || (count_of(counter.get()) >= complete).then_some(()))
    }
}

const COUNT_BITS: u32 = 48;

fn count_of(counter: u64) -> u64 {
    counter & ((1 << COUNT_BITS) - 1)
}
