//! From one member to all.

use super::group::Group;
use super::label::{Kind, Label};
use crate::error::{Error, Result};
use bytemuck::Pod;

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
    #[track_caller]
    pub fn broadcast<T: Pod>(&self, data: &mut [T], root: usize) -> Result<()> {
        self.begin(&"broadcast")?;
        self.run_broadcast(data, root)
    }

    #[inline]
    pub(super) fn run_broadcast<T: Pod>(&self, data: &mut [T], root: usize) -> Result<()> {
        let data: &mut [u8] = bytemuck::cast_slice_mut(data);
        let label = Label::new(Kind::Broadcast, data.len()).root(root);
        self.check_root(label)?;
        self.reach().broadcast(label, data)
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
}
