//! Waiting for everyone.

use super::group::Group;
use super::label::{Kind, Label};
use crate::error::Result;

impl Group<'_> {
    /// Waits until every member has called it. What any member wrote before, all see after; and the messages that any member has sent
    /// to handlers before ([`crate::Port::send`]) were handled. While a rank waits in this or any other collective call, its handlers run.
    ///
    /// ```
    /// hikyaku::local(3, |job| {
    ///     let data = job.symmetric::<u64>(1)?;
    ///     let world = job.world()?;
    ///     job.push(data.at((job.rank() + 1) % 3, 0), &[7])?;
    ///     world.barrier()?;
    ///     assert_eq!(data.get(0), 7);
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    #[inline]
    #[track_caller]
    pub fn barrier(&self) -> Result<()> {
        self.begin(&"barrier")?;
        self.run_barrier()
    }

    #[inline]
    pub(super) fn run_barrier(&self) -> Result<()> {
        self.barrier_of(Kind::Barrier)
    }

    #[inline]
    pub(super) fn barrier_of(&self, kind: Kind) -> Result<()> {
        if self.port.initiator.has_started() {
            self.port.initiator.complete_among(&|rank| self.members.iter().any(|member| member.rank == rank))?;
        }
        self.reach().barrier(Label::new(kind, 0))
    }
}
