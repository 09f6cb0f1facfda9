//! From one to all.
//!
//! * Short: in the root's entry, or in its buffer; the root does not wait.
//! * Long: the others read the root's memory where it is, all at the same time; the root waits until they have.
//! * Long, where some member may not read it: piece by piece through the root's buffers, used in turn, so that the root
//!   fills one while the others read another.

use super::group::Group;
use super::label::{Kind, Label};
use super::part::BUFFER_BYTES;
use super::round::Round;
use super::source::{Source, Way};
use crate::error::{Error, Result};
use bytemuck::Pod;

/// From this size on a system call for each reader costs less than copying twice, unless readers share cores: then what
/// one of them has just read is still in the cache for the next.
const PRIVATE_MIN: usize = 64 * 1024;

impl Group<'_> {
    /// Copies `data` of member `root` to all members.
    ///
    /// ```
    /// hikyaku::local(3, |job| {
    ///     let world = job.world()?;
    ///     let mut data = [0.0; 100];
    ///     if world.rank() == 2 {
    ///         data = [1.5; 100];
    ///     }
    ///     world.broadcast(&mut data, 2)?;
    ///     assert_eq!(data, [1.5; 100]);
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    #[inline]
    pub fn broadcast<T: Pod>(&self, data: &mut [T], root: usize) -> Result<()> {
        self.settle()?;
        self.run_broadcast(data, root)
    }

    #[inline]
    pub(super) fn run_broadcast<T: Pod>(&self, data: &mut [T], root: usize) -> Result<()> {
        let data: &mut [u8] = bytemuck::cast_slice_mut(data);
        let label = Label::new(Kind::Broadcast, data.len()).root(root);
        self.check_root(label)?;
        match data.len() {
            0..=BUFFER_BYTES => self.broadcast_short(label, data),
            _ => self.broadcast_long(label, data),
        }
    }

    /// Refuses a root that does not exist.
    #[inline(always)]
    pub(super) fn check_root(&self, label: Label) -> Result<()> {
        match label.root < self.size() {
            true => Ok(()),
            false => Err(self.no_such_root(label)),
        }
    }

    #[cold]
    fn no_such_root(&self, label: Label) -> Error {
        let reason = format!("member {} does not exist: the group has {} members", label.root, self.size());
        self.refuse(label.root(0), reason)
    }

    #[inline]
    fn broadcast_short(&self, label: Label, data: &mut [u8]) -> Result<()> {
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
        self.take(&round, label.root, data.len(), 0, data);
        self.saw_keeper(&round);
        self.finish(&round);
        Ok(())
    }

    fn broadcast_long(&self, label: Label, data: &mut [u8]) -> Result<()> {
        let ni = &*self.job.ni;
        let mut source = Source::of(ni, data.as_ptr(), data.len());
        if source.way == Way::Private as u64 && !ni.threads && (self.crowded || data.len() < PRIVATE_MIN) {
            source = Source::in_rounds();
        }
        self.broadcast_short(label, bytemuck::bytes_of_mut(&mut source))?;
        let direct = match source.way {
            way if way == Way::Mapped as u64 => true,
            way if way == Way::Private as u64 => {
                let asking = Round::new(asks_who_reaches(label.root), self.number.get() + 1, self.history.get());
                // The others may have found out and go on to read, in the call after.
                self.is_reached_by_all(label.root).inspect_err(|_| self.close(&asking.next(label)))?
            }
            _ => false,
        };
        match (direct, self.rank() == label.root) {
            (false, _) => data.chunks_mut(BUFFER_BYTES).try_for_each(|piece| self.broadcast_short(label, piece)),
            (true, true) => self.be_read(label, data),
            (true, false) => self.read_root(label, source, data),
        }
    }

    /// Whether every member reads the private memory of member `root`; found out by all together at the first need.
    fn is_reached_by_all(&self, root: usize) -> Result<bool> {
        let ni = &*self.job.ni;
        if ni.threads {
            return Ok(true);
        }
        if let Some(known) = self.reached.borrow()[root] {
            return Ok(known);
        }
        let rank = self.members[root].rank;
        let mine = [(rank == ni.rank || ni.crosses_to(rank)) as u8];
        let round = self.enter(asks_who_reaches(root))?;
        self.contribute(&round, &mine);
        self.notify_all();
        self.await_members(&round, self.size())?;
        let all = (0..self.size()).all(|member| {
            let mut theirs = [0];
            self.take(&round, member, 1, 0, &mut theirs);
            theirs == [1]
        });
        self.saw_everyone(&round);
        self.finish(&round);
        self.reached.borrow_mut()[root] = Some(all);
        Ok(all)
    }
}

/// The call by which members find out who reads the memory of `root`.
fn asks_who_reaches(root: usize) -> Label {
    Label::new(Kind::Broadcast, 0).root(root)
}
