//! The network's own barrier, for groups of all ranks.
//!
//! Nothing is told along the way, so it serves plain barriers only, whose members can differ in nothing but what they did
//! before: the next call with messages, of which freeing the group is one, finds that out.

use super::super::group::Group;
use super::super::label::{Kind, Label};
use super::super::round::Round;
use crate::error::Result;
use crate::planted::{Bug, planted};
use crate::transport::hardware::NetworkBarrier;

/// See above.
pub(super) struct Gate<'g> {
    network: &'g dyn NetworkBarrier,
    color: u64,
}

impl Group<'_> {
    /// The network's barrier, if it serves this call.
    pub(super) fn gate(&self, label: Label) -> Option<Gate<'_>> {
        // No two groups lie at the same place.
        let color = self.far.as_ref()?.common_start.filter(|_| label.kind == Kind::Barrier)? as u64;
        let network = self.job.ni.far.as_ref()?.network_barrier()?;
        Some(Gate { network, color })
    }

    pub(super) fn pass_gate(&self, round: &Round, Gate { network, color }: Gate<'_>) -> Result<()> {
        network.arrive(color);
        if planted(Bug::GateOpen) {
            return Ok(());
        }
        self.wait_for_members(round, 0..self.size(), || network.has_passed(color).then_some(Ok(())))
    }
}
