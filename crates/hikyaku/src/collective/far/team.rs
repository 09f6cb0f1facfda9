//! What algorithms see of a call: some members, numbered from 0, of which this one is one, and messages between them.
//!
//! An algorithm that is written for a team runs among the members of a host, whose messages go through mapped memory, among
//! one member of each host, and among all.

use super::super::group::Group;
use super::super::round::Round;
use super::super::tree::SLOTS;
use super::PIECE_BYTES;
use crate::error::Result;
use std::ops::Range;

/// Some members, and this one's place among them.
#[derive(Clone, Copy)]
pub(super) struct List<'f> {
    /// `None`: those from `first` on.
    members: Option<&'f [u32]>,
    first: usize,
    len: usize,
    pub place: usize,
}

impl<'f> List<'f> {
    pub fn of(members: &'f [u32], place: usize) -> List<'f> {
        List { members: Some(members), first: 0, len: members.len(), place }
    }

    pub fn range(first: usize, len: usize, place: usize) -> List<'f> {
        List { members: None, first, len, place }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The member at a place.
    pub fn member(&self, place: usize) -> usize {
        self.members.map_or(self.first + place, |members| members[place] as usize)
    }
}

/// Members in a call.
pub(super) struct Team<'t> {
    pub group: &'t Group<'t>,
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
