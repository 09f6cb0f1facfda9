//! Near or far: which protocols a group uses follows from its members, and is asked here, once per call.

use super::far::group::FarGroup;
use super::group::Group;
use super::label::Label;
use super::near::group::NearGroup;
use super::operation::Combination;
use super::spread::{Spread, longest};
use crate::error::Result;
use std::ops::Range;

/// A group as its protocols see it.
pub(super) enum Reach<'g, 'j> {
    /// All members are mapped here.
    Near(NearGroup<'g, 'j>),
    /// They are on several hosts.
    Far(FarGroup<'g, 'j>),
}

impl<'j> Group<'j> {
    /// By which protocols the members reach each other.
    #[inline(always)]
    pub(super) fn reach(&self) -> Reach<'_, 'j> {
        match &self.far {
            None => Reach::Near(NearGroup(self)),
            Some(far) => Reach::Far(FarGroup::new(self, far)),
        }
    }

    /// This group, if all members are mapped here.
    pub(super) fn near(&self) -> Option<NearGroup<'_, 'j>> {
        match self.reach() {
            Reach::Near(near) => Some(near),
            Reach::Far(_) => None,
        }
    }
}

/// Each call checks its arguments before, and is all members' from here on.
impl Reach<'_, '_> {
    #[inline(always)]
    pub fn barrier(self, label: Label) -> Result<()> {
        match self {
            Reach::Near(group) => group.near_barrier(label),
            Reach::Far(group) => group.far_barrier(label),
        }
    }

    #[inline(always)]
    pub fn broadcast(self, label: Label, data: &mut [u8]) -> Result<()> {
        match self {
            Reach::Near(group) => group.near_broadcast(label, data),
            Reach::Far(group) => group.far_broadcast(label, data),
        }
    }

    /// Reduce, allreduce or scan, by the kind of the label.
    #[inline(always)]
    pub fn combine(self, label: Label, data: &mut [u8], how: &Combination<'_>) -> Result<()> {
        match self {
            Reach::Near(group) => group.near_combine(label, data, how),
            Reach::Far(group) => group.far_combine(label, data, how),
        }
    }

    pub fn gather(self, label: Label, mine: &[u8], all: &mut [u8], spread: Spread<'_>) -> Result<()> {
        match self {
            Reach::Near(group) => group.near_gather(label, mine, all, spread),
            Reach::Far(group) => group.far_gather(label, mine, all, spread),
        }
    }

    pub fn allgather(self, label: Label, mine: &[u8], all: &mut [u8]) -> Result<()> {
        match self {
            Reach::Near(group) => group.near_allgather(label, mine, all, Spread::Even(mine.len())),
            Reach::Far(group) => group.far_allgather(label, mine, all),
        }
    }

    /// Of blocks of different lengths.
    pub fn allgatherv(self, label: Label, mine: &[u8], all: &mut [u8], ranges: &[Range<usize>]) -> Result<()> {
        match self {
            Reach::Near(group) => {
                group.near_allgather(label, mine, all, Spread::Uneven { ranges, longest: longest(ranges) })
            }
            Reach::Far(group) => group.far_allgatherv(label, mine, all, ranges),
        }
    }

    pub fn scatter(self, label: Label, all: &[u8], mine: &mut [u8], spread: Spread<'_>) -> Result<()> {
        match self {
            Reach::Near(group) => group.near_scatter(label, all, mine, spread),
            Reach::Far(group) => group.far_scatter(label, all, mine, spread),
        }
    }

    pub fn alltoall(self, label: Label, blocks: (&[u8], Spread<'_>), into: (&mut [u8], Spread<'_>)) -> Result<()> {
        match self {
            Reach::Near(group) => group.near_alltoall(label, blocks, into),
            Reach::Far(group) => group.far_alltoall(label, blocks, into),
        }
    }

    /// Each member gets the combination of all members' blocks at its range.
    pub fn reduce_scatter(
        self,
        label: Label,
        data: &[u8],
        mine: &mut [u8],
        ranges: &[Range<usize>],
        how: &Combination<'_>,
    ) -> Result<()> {
        match self {
            Reach::Near(group) => group.near_reduce_scatter(label, data, mine, &ranges[group.rank()], how),
            Reach::Far(group) => group.far_reduce_scatter(label, data, mine, ranges, how),
        }
    }

    /// This member cannot go on with the call it has entered last: the others must not wait for it.
    pub fn quit(self) {
        match self {
            Reach::Near(group) => group.near_quit(),
            Reach::Far(group) => group.far_quit(),
        }
    }

    /// Enters a call that no other member can have asked for, so that nobody waits for this one.
    pub fn refuse(self, odd: Label) -> Result<()> {
        match self {
            Reach::Near(group) => group.near_refuse(odd),
            Reach::Far(group) => group.far_refuse(odd),
        }
    }
}
