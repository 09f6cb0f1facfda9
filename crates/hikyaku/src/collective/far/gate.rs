//! The network's own barrier, for groups of all ranks.
//!
//! Nothing is told along the way, so what a member asks for, and asked for before, is part of the color: members who differ
//! never pass, and find out why as everyone does who has waited for long.

use super::group::FarGroup;
use crate::collective::round::Round;
use crate::error::Result;
use crate::planted::{Bug, planted};
use crate::transport::hardware::NetworkBarrier;

/// See above.
pub(super) struct Gate<'g> {
    network: &'g dyn NetworkBarrier,
    color: u64,
}

impl<'g> FarGroup<'g, '_> {
    /// The network's barrier, if it serves this call.
    pub(super) fn gate(self, round: &Round) -> Option<Gate<'g>> {
        // No two groups lie at the same place.
        let place = self.far.common_start? as u64;
        let color = place << 16 | round.checksum() as u64;
        let network = self.group.port.ni().hardware.as_ref()?.barrier()?;
        Some(Gate { network, color })
    }

    pub(super) fn pass_gate(self, round: &Round, Gate { network, color }: Gate<'_>) -> Result<()> {
        network.arrive(color);
        if planted(Bug::GateOpen) {
            return Ok(());
        }
        self.wait_for_members(round, 0..self.size(), || network.has_passed(color).then_some(Ok(())))
    }
}
