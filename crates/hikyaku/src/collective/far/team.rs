//! What algorithms see of a call: some members, numbered from 0, of which this one is one, and messages between them.
//!
//! An algorithm that is written for a team runs among the members of a host, whose messages go through mapped memory, among
//! one member of each host, and among all.

use super::group::FarGroup;
use super::list::List;
use super::pieces::PIECE_BYTES;
use crate::collective::round::Round;
use crate::collective::slots::SLOTS;
use crate::error::Result;
use std::ops::Range;

/// Members in a call.
pub(super) struct Team<'t> {
    pub group: FarGroup<'t, 't>,
    pub round: &'t Round,
    pub list: List<'t>,
}

impl Team<'_> {
    pub fn size(&self) -> usize {
        self.list.len()
    }

    pub fn place(&self) -> usize {
        self.list.place
    }

    /// Sends one piece.
    pub fn tell(&self, to: usize, piece: &[u8]) -> Result<()> {
        self.group.tell(self.round, self.list.member(to), 0, piece)
    }

    /// Receives one piece.
    pub fn hear(&self, from: usize, piece: &mut [u8]) -> Result<()> {
        self.group.hear(self.round, self.list.member(from), 0, piece)
    }

    /// Sends and receives at the same time, whatever the lengths. What is empty is not sent.
    pub fn exchange(&self, to: usize, data: &[u8], from: usize, into: &mut [u8]) -> Result<()> {
        self.group.transfer(self.round, (self.list.member(to), data), (self.list.member(from), into))
    }

    /// Gives each other member a part of `data`, and gets one from each into a part of `into`.
    pub fn trade(
        &self,
        data: &[u8],
        part: impl Fn(usize) -> Range<usize>,
        into: &mut [u8],
        place_of: impl Fn(usize) -> Range<usize>,
    ) -> Result<()> {
        let (place, size) = (self.place(), self.size());
        let others = || (1..size).map(move |distance| ((place + distance) % size, (place + size - distance) % size));
        // What fits the slots waits for nobody, so all of it is under way at once.
        if others().all(|(to, _)| part(to).len() <= SLOTS * PIECE_BYTES) {
            others().try_for_each(|(to, _)| self.exchange(to, &data[part(to)], to, &mut []))?;
            return others().try_for_each(|(_, from)| self.exchange(from, &[], from, &mut into[place_of(from)]));
        }
        // Each to another at a time, so that none gets everything at once.
        others().try_for_each(|(to, from)| self.exchange(to, &data[part(to)], from, &mut into[place_of(from)]))
    }
}
