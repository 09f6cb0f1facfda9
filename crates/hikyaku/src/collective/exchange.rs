//! Moving blocks between members: gather, allgather, scatter, alltoall.
//!
//! All go in pieces of a buffer: whoever has something puts it there (in a scatter the root into the buffers of the
//! others), and whoever wants it copies it out. Buffers are used in turn, so that filling one and emptying another go on
//! at the same time. An alltoall that does not fit the buffers of a part goes through larger ones (see `stage`): each round
//! is a meeting of all, which costs more than the bytes where members share cores.

use super::group::Group;
use super::label::{Kind, Label};
use super::spread::Spread;
use crate::error::Result;
use bytemuck::Pod;

impl Group<'_> {
    /// Collects the `mine` of all members in `all` of member `root`, in the order of ranks. `all` has room for as many
    /// elements from every member at the root; the others may give an empty one.
    ///
    /// ```
    /// hikyaku::local(3, |job| {
    ///     let world = job.world()?;
    ///     let mine = [job.rank() as u32, 7];
    ///     let mut all = [0; 6];
    ///     world.gather(&mine, &mut all, 1)?;
    ///     if job.rank() == 1 {
    ///         assert_eq!(all, [0, 7, 1, 7, 2, 7]);
    ///     }
    ///     world.allgather(&mine, &mut all)?;
    ///     assert_eq!(all, [0, 7, 1, 7, 2, 7]);
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    #[track_caller]
    pub fn gather<T: Pod>(&self, mine: &[T], all: &mut [T], root: usize) -> Result<()> {
        self.begin(&"gather")?;
        self.run_gather(mine, all, root)
    }

    pub(super) fn run_gather<T: Pod>(&self, mine: &[T], all: &mut [T], root: usize) -> Result<()> {
        let label = Label::new(Kind::Gather, size_of_val(mine)).root(root);
        self.check_root(label)?;
        if self.rank() == root {
            self.check_blocks(label, mine.len(), all.len())?;
        }
        let (mine, all): (&[u8], &mut [u8]) = (bytemuck::cast_slice(mine), bytemuck::cast_slice_mut(all));
        self.reach().gather(label, mine, all, Spread::Even(mine.len()))
    }

    /// Collects the `mine` of all members in `all` of every member, in the order of ranks.
    ///
    /// ```
    /// # hikyaku::local(3, |job| {
    /// let mut all = [0; 3];
    /// job.world()?.allgather(&[job.rank()], &mut all)?;
    /// assert_eq!(all, [0, 1, 2]);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[track_caller]
    pub fn allgather<T: Pod>(&self, mine: &[T], all: &mut [T]) -> Result<()> {
        self.begin(&"allgather")?;
        self.run_allgather(mine, all)
    }

    pub(super) fn run_allgather<T: Pod>(&self, mine: &[T], all: &mut [T]) -> Result<()> {
        self.gather_everywhere(Kind::Allgather, mine, all)
    }

    /// Gathers for a call that is no `allgather` of the program: members that make one meanwhile do not take part.
    pub(super) fn gather_everywhere<T: Pod>(&self, kind: Kind, mine: &[T], all: &mut [T]) -> Result<()> {
        let label = Label::new(kind, size_of_val(mine));
        self.check_blocks(label, mine.len(), all.len())?;
        let (mine, all): (&[u8], &mut [u8]) = (bytemuck::cast_slice(mine), bytemuck::cast_slice_mut(all));
        self.reach().allgather(label, mine, all)
    }

    /// Gives each member its block of the `all` of member `root`: `mine.len()` elements, in the order of ranks. Others
    /// than the root may give an empty `all`.
    ///
    /// ```
    /// hikyaku::local(3, |job| {
    ///     let world = job.world()?;
    ///     let mut mine = [0; 2];
    ///     let all = if job.rank() == 0 { vec![1, 2, 3, 4, 5, 6] } else { vec![] };
    ///     world.scatter(&all, &mut mine, 0)?;
    ///     assert_eq!(mine, [2 * job.rank() + 1, 2 * job.rank() + 2]);
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    #[track_caller]
    pub fn scatter<T: Pod>(&self, all: &[T], mine: &mut [T], root: usize) -> Result<()> {
        self.begin(&"scatter")?;
        self.run_scatter(all, mine, root)
    }

    pub(super) fn run_scatter<T: Pod>(&self, all: &[T], mine: &mut [T], root: usize) -> Result<()> {
        let label = Label::new(Kind::Scatter, size_of_val(mine)).root(root);
        self.check_root(label)?;
        if self.rank() == root {
            self.check_blocks(label, mine.len(), all.len())?;
        }
        let (mine, all): (&mut [u8], &[u8]) = (bytemuck::cast_slice_mut(mine), bytemuck::cast_slice(all));
        let spread = Spread::Even(mine.len());
        self.reach().scatter(label, all, mine, spread)
    }

    /// Gives every member its block of the `blocks` of every member: block `m` of member `k` becomes block `k` of the
    /// `into` of member `m`. Both have the same length, a multiple of the number of members.
    ///
    /// ```
    /// hikyaku::local(2, |job| {
    ///     let world = job.world()?;
    ///     let blocks = [10 * job.rank(), 10 * job.rank() + 1];
    ///     let mut into = [0; 2];
    ///     world.alltoall(&blocks, &mut into)?;
    ///     assert_eq!(into, [job.rank(), 10 + job.rank()]);
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    #[track_caller]
    pub fn alltoall<T: Pod>(&self, blocks: &[T], into: &mut [T]) -> Result<()> {
        self.begin(&"alltoall")?;
        self.run_alltoall(blocks, into)
    }

    pub(super) fn run_alltoall<T: Pod>(&self, blocks: &[T], into: &mut [T]) -> Result<()> {
        let size = self.size();
        let label = Label::new(Kind::Alltoall, size_of_val(blocks) / size);
        if !blocks.len().is_multiple_of(size) {
            let reason = format!("{} elements make no equal blocks for {size} members", blocks.len());
            return Err(self.refuse(label, reason));
        }
        self.check_blocks(label, blocks.len() / size, into.len())?;
        let (blocks, into): (&[u8], &mut [u8]) = (bytemuck::cast_slice(blocks), bytemuck::cast_slice_mut(into));
        let spread = Spread::Even(blocks.len() / size);
        self.reach().alltoall(label, (blocks, spread), (into, spread))
    }

    /// Refuses a slice that does not hold one block per member.
    pub(super) fn check_blocks(&self, label: Label, block: usize, all: usize) -> Result<()> {
        match block.checked_mul(self.size()) == Some(all) {
            true => Ok(()),
            false => {
                let members = self.size();
                Err(self.refuse(label, format!("{members} blocks of {block} elements do not make {all} elements")))
            }
        }
    }
}
