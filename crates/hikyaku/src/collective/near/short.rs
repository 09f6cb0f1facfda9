//! Allreduce of a few numbers: what fits an entry is combined by everybody for itself.
//!
//! Most programs call it between two steps and do nothing meanwhile, so its time counts. It is one line handed over in
//! each direction: a member never looks at its own entry again, whose line is in the cache of whoever has read it.

use super::group::NearGroup;
use crate::collective::label::{Kind, Label};
use crate::collective::operation::Combination;
use crate::collective::part::INLINE_MAX;
use crate::collective::room::Scratch;
use crate::error::Result;
use crate::job::choice::{Call, Version};
use crate::memory::copy;

impl NearGroup<'_, '_> {
    /// Whether it is this call, and nothing else is chosen for it. Where members
    /// share cores the last to arrive combines for all.
    #[inline(always)]
    pub(in crate::collective) fn is_short(self, label: Label) -> bool {
        label.kind == Kind::Allreduce
            && label.bytes <= INLINE_MAX
            && (self.size() <= 2 || !self.crowded)
            && !self.choice.is_tree(Call::Allreduce, label.bytes)
    }

    #[inline(always)]
    pub(in crate::collective) fn allreduce_short(
        self,
        label: Label,
        data: &mut [u8],
        how: &Combination<'_>,
    ) -> Result<()> {
        self.note(Version::Buffers);
        let round = self.enter(label)?;
        self.contribute(&round, data);
        self.notify_all();
        let bytes = data.len();
        let [mut own, mut theirs] = [const { Scratch([0; INLINE_MAX]) }; 2];
        let (own, theirs) = (&mut own.0[..bytes], &mut theirs.0[..bytes]);
        copy::copy_private(own, data);
        self.await_members(&round, self.size())?;
        // In the order of ranks: the first one's contribution starts the total.
        for member in 0..self.size() {
            match (member, member == self.rank()) {
                (0, true) => {}
                (0, false) => self.take(&round, 0, bytes, 0, data)?,
                (_, true) => (how.combine)(data, own),
                (_, false) => {
                    self.take(&round, member, bytes, 0, theirs)?;
                    (how.combine)(data, theirs);
                }
            }
        }
        self.saw_everyone(&round);
        self.finish(&round);
        Ok(())
    }
}
