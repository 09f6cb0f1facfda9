//! From one to all.
//!
//! * Short: in the root's entry, or in its buffer; the root does not wait.
//! * Long: the others read the root's memory where it is, all at the same time; the root waits until they have.
//! * Long, where some member may not read it, or where members share cores: through two larger buffers, see `stage`; or
//!   if there is no memory for them, or little to do, piece by piece through the small ones.

use super::group::NearGroup;
use super::source::{Access, Source};
use crate::collective::label::Label;
use crate::collective::part::{BUFFER_BYTES, Member};
use crate::error::Result;
use crate::job::choice::{Call, Version};
use crate::memory::cache;

impl NearGroup<'_, '_> {
    #[inline(always)]
    pub(in crate::collective) fn near_broadcast(self, label: Label, data: &mut [u8]) -> Result<()> {
        if self.choice.is_tree(Call::Broadcast, data.len()) && self.tree_broadcast(label, data)? {
            return Ok(());
        }
        match data.len() {
            0..=BUFFER_BYTES => self.broadcast_short(label, data),
            _ => self.broadcast_long(label, data),
        }
    }

    #[inline]
    fn broadcast_short(self, label: Label, data: &mut [u8]) -> Result<()> {
        self.note(Version::Buffers);
        if self.rank() == label.root {
            let round = self.enter_keeping(label, 1)?;
            self.contribute(&round, data);
            self.notify_all();
            self.finish(&round);
            return Ok(());
        }
        let round = self.enter(label)?;
        self.publish(&round);
        self.await_member(&round, label.root)?;
        self.take(&round, label.root, data.len(), 0, data)?;
        self.saw_keeper(&round);
        self.finish(&round);
        Ok(())
    }

    fn broadcast_long(self, label: Label, data: &mut [u8]) -> Result<()> {
        let private = self.all_reach_all(label)?;
        let is_root = self.rank() == label.root;
        let mut source = if is_root { self.way_of(data, private) } else { Source::in_rounds() };
        self.broadcast_short(label, bytemuck::bytes_of_mut(&mut source))?;
        match source.way {
            way if way == Access::Mapped as u64 || way == Access::Private as u64 => {
                self.note(Version::Direct);
                match is_root {
                    true => self.be_read(label, data),
                    false => self.read_root(label, source, data),
                }
            }
            way if way == Access::Staged as u64 => {
                self.note(Version::Stage);
                self.broadcast_staged(label, source, data)
            }
            _ => data.chunks_mut(BUFFER_BYTES).try_for_each(|piece| self.broadcast_short(label, piece)),
        }
    }

    /// Whether the caches do not hold a long broadcast. All others write it, so together they may need more than a cache
    /// holds, where this member alone would not.
    pub(in crate::collective) fn is_uncached(self, bytes: usize) -> bool {
        cache::is_too_small_for(bytes.saturating_mul(self.size()))
    }

    /// How the root gives its data.
    fn way_of(self, data: &[u8], private: bool) -> Source {
        let ni = &**self.port.ni();
        let source = Source::of(ni, data.as_ptr(), data.len());
        let reached = ni.threads || private || source.way == Access::Mapped as u64;
        let version = match self.choice.chosen(Call::Broadcast, data.len()) {
            None if ni.threads || source.way == Access::Mapped as u64 => Version::Direct,
            _ => self.version(Call::Broadcast, data.len()),
        };
        match version {
            Version::Direct if reached => source,
            Version::Direct | Version::Stage => self.own_stage(),
            _ => Source::in_rounds(),
        }
    }

    /// Whether every member reads the private memory of every other; found out by all together at the first need.
    pub(in crate::collective) fn all_reach_all(self, label: Label) -> Result<bool> {
        let ni = &**self.port.ni();
        if ni.threads {
            return Ok(true);
        }
        if let Some(known) = self.reached.get() {
            return Ok(known);
        }
        let reaches = |member: &Member| member.rank == ni.rank || ni.crosses_to(member.rank);
        let mine = [self.members.iter().all(reaches) as u8];
        let round = self.enter(Label { bytes: 1, ..label })?;
        self.contribute(&round, &mine);
        self.notify_all();
        self.await_members(&round, self.size())?;
        // What this member knows itself it does not read from where others may write.
        let all = mine[0] == 1 && (0..self.size()).all(|member| self.value_of::<u8>(&round, member) == 1);
        self.saw_everyone(&round);
        self.finish(&round);
        self.reached.set(Some(all));
        Ok(all)
    }
}
