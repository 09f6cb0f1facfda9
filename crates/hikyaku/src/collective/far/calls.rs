//! What a far group does otherwise than by a tree.

use super::super::group::Group;
use super::super::label::Label;
use super::super::reduce::Combination;
use super::super::room::Room;
use super::super::round::Round;
use super::long::is_long;
use super::pieces;
use crate::error::Result;
use crate::planted::{Bug, planted};
use crate::sync::barrier::partner;

impl Group<'_> {
    /// The member a distance below.
    fn below(&self, distance: usize) -> usize {
        (self.rank() + self.size() - distance) % self.size()
    }

    /// The network's own barrier, or a butterfly of empty messages.
    pub(in super::super) fn far_barrier(&self, label: Label) -> Result<()> {
        let round = self.begin(label)?;
        if let Some(gate) = self.gate(&round) {
            return self.pass_gate(&round, gate);
        }
        for step in 0.. {
            let Some(above) = partner(self.rank(), self.size(), step) else { break };
            if planted(Bug::ButterflyShort) && partner(self.rank(), self.size(), step + 1).is_none() {
                break;
            }
            self.tell(&round, above, 0, &[])?;
            self.hear(&round, self.below(1 << step), 0, &mut [])?;
        }
        Ok(())
    }

    /// By the network's multicast, or a tree.
    #[cold]
    pub(in super::super) fn far_broadcast(&self, label: Label, data: &mut [u8]) -> Result<()> {
        match self.cast() {
            Some(cast) => self.cast_broadcast(label, cast, data),
            None if is_long(data.len()) => self.long_broadcast(label, data),
            None => self.tree_broadcast(label, data).map(drop),
        }
    }

    /// In step `k` a member passes on what it has of the `2^k` members up to it, so the order of ranks is kept.
    pub(in super::super) fn far_scan(&self, label: Label, data: &mut [u8], how: &Combination<'_>) -> Result<()> {
        let round = self.begin(label)?;
        let step_bytes = super::PIECE_BYTES / how.element * how.element;
        let mut total = Room::of(data.len().min(step_bytes));
        let count = data.len().div_ceil(step_bytes).max(1);
        for index in 0..count {
            let end = ((index + 1) * step_bytes).min(data.len());
            let piece = &mut data[index * step_bytes..end];
            let mut distance = 1;
            while distance < self.size() {
                if self.rank() + distance < self.size() {
                    self.tell(&round, self.rank() + distance, index, piece)?;
                }
                if self.rank() >= distance {
                    let total = &mut total.bytes()[..piece.len()];
                    self.hear(&round, self.rank() - distance, index, total)?;
                    match planted(Bug::ScanDisordered) {
                        true => (how.combine)(piece, total),
                        false => {
                            (how.combine)(total, piece);
                            piece.copy_from_slice(total);
                        }
                    }
                }
                distance *= 2;
            }
        }
        Ok(())
    }

    pub(in super::super) fn far_gather(&self, label: Label, mine: &[u8], all: &mut [u8]) -> Result<()> {
        let round = self.begin(label)?;
        if self.rank() != label.root {
            return self.tell_all(&round, label.root, mine);
        }
        all[label.root * mine.len()..][..mine.len()].copy_from_slice(mine);
        // Each begins with the next one, so that those who come first are not always the same.
        for distance in 1..self.size() {
            let member = (label.root + distance) % self.size();
            self.hear_all(&round, member, &mut all[member * mine.len()..][..mine.len()])?;
        }
        Ok(())
    }

    pub(in super::super) fn far_scatter(&self, label: Label, all: &[u8], mine: &mut [u8]) -> Result<()> {
        let round = self.begin(label)?;
        if self.rank() != label.root {
            return self.hear_all(&round, label.root, mine);
        }
        mine.copy_from_slice(&all[label.root * mine.len()..][..mine.len()]);
        for distance in 1..self.size() {
            let member = (label.root + distance) % self.size();
            self.tell_all(&round, member, &all[member * mine.len()..][..mine.len()])?;
        }
        Ok(())
    }

    /// In step `k` a member passes the `2^k` blocks that it has on to the member as far below it: those of itself and of
    /// the members above it.
    pub(in super::super) fn far_allgather(&self, label: Label, mine: &[u8], all: &mut [u8]) -> Result<()> {
        let round = self.begin(label)?;
        let (rank, size, block) = (self.rank(), self.size(), mine.len());
        let mut blocks = vec![0u8; all.len()];
        blocks[..block].copy_from_slice(mine);
        let mut distance = 1;
        while distance < size {
            let count = distance.min(size - distance);
            let (have, come) = blocks.split_at_mut(distance * block);
            self.exchange_far(
                &round,
                self.below(distance),
                &have[..count * block],
                (rank + distance) % size,
                &mut come[..count * block],
            )?;
            distance *= 2;
        }
        for (place, data) in blocks.chunks(block.max(1)).enumerate().take(if block == 0 { 0 } else { size }) {
            all[(rank + place) % size * block..][..block].copy_from_slice(data);
        }
        Ok(())
    }

    pub(in super::super) fn far_alltoall(&self, label: Label, blocks: &[u8], into: &mut [u8]) -> Result<()> {
        let round = self.begin(label)?;
        let (rank, size) = (self.rank(), self.size());
        let block = blocks.len() / size;
        into[rank * block..][..block].copy_from_slice(&blocks[rank * block..][..block]);
        for distance in 1..size {
            let (above, below) = ((rank + distance) % size, self.below(distance));
            let (data, target) = (&blocks[above * block..][..block], below * block..(below + 1) * block);
            self.exchange_far(&round, above, data, below, &mut into[target])?;
        }
        Ok(())
    }

    /// Sends to one member and receives as much from another, piece by piece, since slots are few.
    fn exchange_far(&self, round: &Round, to: usize, data: &[u8], from: usize, into: &mut [u8]) -> Result<()> {
        for (index, piece) in pieces(data.len()) {
            self.tell(round, to, index, &data[piece.clone()])?;
            self.hear(round, from, index, &mut into[piece])?;
        }
        Ok(())
    }

    fn tell_all(&self, round: &Round, member: usize, data: &[u8]) -> Result<()> {
        pieces(data.len()).try_for_each(|(index, piece)| self.tell(round, member, index, &data[piece]))
    }

    fn hear_all(&self, round: &Round, member: usize, into: &mut [u8]) -> Result<()> {
        pieces(into.len()).try_for_each(|(index, piece)| self.hear(round, member, index, &mut into[piece]))
    }
}
