//! Gather, allgather, scatter and alltoall of a near group, in pieces of a buffer. Blocks of different lengths go in as many rounds
//! as the longest of them needs.

use super::group::NearGroup;
use super::source::{Access, Source};
use crate::collective::label::Label;
use crate::collective::part::{BUFFER_BYTES, HALF_BYTES};
use crate::collective::round::Round;
use crate::collective::spread::{Spread, clip, pieces};
use crate::error::Result;
use std::ops::Range;

impl NearGroup<'_, '_> {
    pub(in crate::collective) fn near_gather(
        self,
        label: Label,
        mine: &[u8],
        all: &mut [u8],
        spread: Spread<'_>,
    ) -> Result<()> {
        let root = label.root;
        let is_root = self.rank() == root;
        for piece in pieces(spread.longest(), BUFFER_BYTES) {
            let own = &mine[clip(&piece, mine.len())];
            let round = self.enter(label)?;
            if !is_root {
                self.contribute(&round, own);
                self.notify(root);
            } else {
                self.publish(&round);
                for member in 0..self.size() {
                    let target = &mut all[spread.piece(member, &piece)];
                    if member == root {
                        target.copy_from_slice(own);
                    } else {
                        self.await_member(&round, member)?;
                        self.take(&round, member, target.len(), 0, target)?;
                    }
                }
                self.saw_everyone(&round);
            }
            self.finish(&round);
        }
        Ok(())
    }

    pub(in crate::collective) fn near_allgather(
        self,
        label: Label,
        mine: &[u8],
        all: &mut [u8],
        spread: Spread<'_>,
    ) -> Result<()> {
        for piece in pieces(spread.longest(), BUFFER_BYTES) {
            let own = &mine[clip(&piece, mine.len())];
            let round = self.enter(label)?;
            self.contribute(&round, own);
            self.notify_all();
            self.await_members(&round, self.size())?;
            for member in self.others_in_turn() {
                let target = &mut all[spread.piece(member, &piece)];
                self.take(&round, member, target.len(), 0, target)?;
            }
            all[spread.piece(self.rank(), &piece)].copy_from_slice(own);
            self.saw_everyone(&round);
            self.finish(&round);
        }
        Ok(())
    }

    pub(in crate::collective) fn near_scatter(
        self,
        label: Label,
        all: &[u8],
        mine: &mut [u8],
        spread: Spread<'_>,
    ) -> Result<()> {
        let root = label.root;
        let is_root = self.rank() == root;
        for piece in pieces(spread.longest(), BUFFER_BYTES) {
            let own = clip(&piece, mine.len());
            if is_root {
                let round = self.enter_keeping(label, 1)?;
                for member in self.others_in_turn() {
                    // The buffer, not the entry, of which the member itself is the only writer.
                    self.put_in_buffer(&round, member, 0, &all[spread.piece(member, &piece)]);
                }
                self.publish(&round);
                self.notify_all();
                mine[own].copy_from_slice(&all[spread.piece(root, &piece)]);
                self.finish(&round);
            } else {
                let round = self.enter(label)?;
                self.publish(&round);
                self.await_member(&round, root)?;
                self.take_from_buffer(&round, self.rank(), 0, &mut mine[own]);
                self.saw_keeper(&round);
                self.finish(&round);
            }
        }
        Ok(())
    }

    /// The longest block is the same at all members, given and taken.
    pub(in crate::collective) fn near_alltoall(
        self,
        label: Label,
        (blocks, given): (&[u8], Spread<'_>),
        (into, taken): (&mut [u8], Spread<'_>),
    ) -> Result<()> {
        let alltoall = Alltoall { group: self, label, block: given.longest(), blocks, given, taken };
        match given.longest().saturating_mul(self.size()) > BUFFER_BYTES && alltoall.by_stages(into)? {
            true => Ok(()),
            false => alltoall.by_buffers(into),
        }
    }

    /// Waits until all members have entered a call that this one has published. Where they share cores, only the last one
    /// wakes the others: each of them could do nothing but go to sleep again.
    fn await_all(self, round: &Round) -> Result<()> {
        if self.crowded && self.size() > 2 {
            if self.arrive(round)? {
                self.notify_all();
            } else {
                self.await_arrivals(round)?;
            }
        } else {
            self.notify_all();
        }
        self.await_members(round, self.size())
    }

    /// The other members, beginning with the next one: so that they do not all read the same at once.
    fn others_in_turn(self) -> impl Iterator<Item = usize> {
        let (rank, size) = (self.rank(), self.size());
        (1..size).map(move |distance| (rank + distance) % size)
    }
}

/// One alltoall of blocks of at most `block` bytes.
struct Alltoall<'a, 'j> {
    group: NearGroup<'a, 'j>,
    label: Label,
    block: usize,
    blocks: &'a [u8],
    given: Spread<'a>,
    taken: Spread<'a>,
}

impl Alltoall<'_, '_> {
    /// Through the larger buffers of all members; false, and then nothing was exchanged, if a member has none.
    fn by_stages(&self, into: &mut [u8]) -> Result<bool> {
        for trip in trips(self.group.size(), self.block, HALF_BYTES) {
            if !self.exchange_staged(&trip, into)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Through the buffers of the parts.
    fn by_buffers(&self, into: &mut [u8]) -> Result<()> {
        trips(self.group.size(), self.block, BUFFER_BYTES).try_for_each(|trip| self.exchange(&trip, into))
    }

    /// One round of an alltoall.
    fn exchange(&self, trip: &Trip, into: &mut [u8]) -> Result<()> {
        let Alltoall { group, label, blocks, given, taken, .. } = *self;
        let round = group.enter(label)?;
        for (offset, data) in trip.given(group.rank(), given, blocks) {
            group.put_in_buffer(&round, group.rank(), offset, data);
        }
        group.publish(&round);
        group.await_all(&round)?;
        if let Some(offset) = trip.offset_of(group.rank()) {
            for member in group.others_in_turn() {
                group.take_from_buffer(&round, member, offset, trip.place(member, taken, into));
            }
            trip.keep(group.rank(), (blocks, given), (into, taken));
        }
        group.saw_everyone(&round);
        group.finish(&round);
        Ok(())
    }

    /// One round of an alltoall through larger buffers. Each member tells where its own is, so that all know whether all have
    /// one; which they find out in the first round.
    fn exchange_staged(&self, trip: &Trip, into: &mut [u8]) -> Result<bool> {
        let Alltoall { group, label, blocks, given, taken, .. } = *self;
        let (half, stage) = (group.next_half(), group.stage());
        if stage.is_some() {
            group.await_half(half)?;
            for (offset, data) in trip.given(group.rank(), given, blocks) {
                group.fill(half * HALF_BYTES + offset, data);
            }
        }
        let span = |start| group.port.ni().own_span(start + half * HALF_BYTES, HALF_BYTES);
        let mine = stage.map_or(Source::in_rounds(), |start| Source::staged(span(start)));
        let round = group.enter(label)?;
        group.use_half(half, &round);
        group.contribute(&round, bytemuck::bytes_of(&mine));
        group.await_all(&round)?;
        let told = |member: usize| group.value_of::<Source>(&round, member);
        let is_staged = |member: usize| told(member).way == Access::Staged as u64;
        // What this member knows itself it does not read from where others may write.
        let all = stage.is_some() && group.others_in_turn().all(is_staged);
        let read = match trip.offset_of(group.rank()).filter(|_| all) {
            Some(offset) => group.others_in_turn().try_for_each(|member| {
                let (rank, target) = (group.members[member].rank, trip.place(member, taken, into));
                told(member).read_mapped(false, group.port.ni(), rank, HALF_BYTES, offset, target)
            }),
            None => Ok(()),
        };
        if all {
            trip.keep(group.rank(), (blocks, given), (into, taken));
        }
        group.saw_everyone(&round);
        group.finish(&round);
        read.map_err(|error| group.fail(error))?;
        Ok(all)
    }
}

/// What one round of an alltoall moves: a piece of the blocks for some members.
struct Trip {
    takers: Range<usize>,
    piece: Range<usize>,
}

/// The rounds of an alltoall of blocks of `block` bytes through buffers of `buffer` bytes, each of which holds a piece for every
/// member; of a very large group, for some of them.
fn trips(size: usize, block: usize, buffer: usize) -> impl Iterator<Item = Trip> {
    let window = size.min(buffer / 64);
    (0..size).step_by(window).flat_map(move |first| {
        let takers = first..(first + window).min(size);
        pieces(block, buffer / window).map(move |piece| Trip { takers: takers.clone(), piece })
    })
}

impl Trip {
    /// What `giver` puts into its buffer, and where.
    fn given<'b>(&self, giver: usize, given: Spread<'b>, blocks: &'b [u8]) -> impl Iterator<Item = (usize, &'b [u8])> {
        let (takers, piece) = (self.takers.clone(), self.piece.clone());
        let others = takers.enumerate().filter(move |(_, taker)| *taker != giver);
        others.map(move |(place, taker)| (place * piece.len(), &blocks[given.piece(taker, &piece)]))
    }

    /// Where in the buffer of any other the piece for `taker` lies, if there is one.
    fn offset_of(&self, taker: usize) -> Option<usize> {
        self.takers.contains(&taker).then(|| (taker - self.takers.start) * self.piece.len())
    }

    /// Where the piece of `giver` belongs.
    fn place<'b>(&self, giver: usize, taken: Spread<'_>, into: &'b mut [u8]) -> &'b mut [u8] {
        &mut into[taken.piece(giver, &self.piece)]
    }

    /// Copies the piece of `rank` for itself, if there is one.
    fn keep(&self, rank: usize, (blocks, given): (&[u8], Spread<'_>), (into, taken): (&mut [u8], Spread<'_>)) {
        if self.takers.contains(&rank) {
            self.place(rank, taken, into).copy_from_slice(&blocks[given.piece(rank, &self.piece)]);
        }
    }
}
