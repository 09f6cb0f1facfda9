//! A broadcast by the network's multicast, through two static buffers of every member, used in turn (FMPL, section 5.2).
//!
//! ```text
//!   root                                                   member
//!                                                <------   ready: what it asks for; its buffers are free
//!   piece 1 into buffer 1, with what it asks for ------>   copies it out
//!   piece 2 into buffer 0                        ------>   copies it out     (meanwhile)
//!                                                <------   has taken piece 1
//!   piece 3 into buffer 1                        ------>
//! ```
//! A multicast names the same place at all ranks, so the parts of all members must lie at the same offset of their heaps. Each
//! rank can be the root, and members are ready only when they have taken everything of the broadcasts before. The last two
//! pieces are not answered: the next broadcast begins with that.

use super::group::FarGroup;
use super::multicast::{Cast, CastWords, network};
use crate::collective::label::Label;
use crate::collective::round::Round;
use crate::error::Result;
use crate::ni::Target;
use crate::planted::{Bug, planted};

impl<'g> FarGroup<'g, '_> {
    /// Of a group whose broadcasts go by the network's multicast.
    pub(super) fn cast(self) -> Option<&'g Cast> {
        self.far.cast.as_ref()
    }

    pub(super) fn cast_broadcast(self, label: Label, cast: &Cast, data: &mut [u8]) -> Result<()> {
        let round = self.begin(label)?;
        let before = cast.pieces.get();
        let count = data.len().div_ceil(cast.buffer_bytes).max(1) as u64;
        cast.pieces.set(before + count);
        if self.rank() == label.root {
            let mut pieces = data.chunks(cast.buffer_bytes);
            return (1..=count).try_for_each(|index| {
                self.await_taken(&round, cast, before + 1, (before + index).saturating_sub(1))?;
                self.cast_piece(&round, cast, before + index, pieces.next().unwrap_or(&[]))
            });
        }
        let answer = |words: &[u64]| self.answer_root(&round, cast, label.root, words);
        answer(&[before + 1, round.head, round.argument])?;
        let mut pieces = data.chunks_mut(cast.buffer_bytes);
        for index in 1..=count {
            let piece = pieces.next().unwrap_or_default();
            self.take_piece(&round, cast, label.root, before + index, piece)?;
            if index + 2 <= count {
                answer(&[before + index + 1])?;
            }
        }
        Ok(())
    }

    /// Waits until all others are ready and have taken what was in the buffer of the next piece.
    fn await_taken(self, round: &Round, cast: &Cast, ready: u64, taken: u64) -> Result<()> {
        for member in (0..self.size()).filter(|member| *member != self.rank()) {
            let told = self.own::<CastWords>(cast.answer(member));
            let needed = if planted(Bug::CastUnanswered) { ready } else { ready.max(taken) };
            let asks = self.wait_for_member(round, member, || {
                let (number, asks) = told.look();
                (number >= needed).then_some(Ok(asks))
            })?;
            if asks != [round.head, round.argument] {
                return Err(self.disagree(round, member, asks));
            }
        }
        Ok(())
    }

    fn cast_piece(self, round: &Round, cast: &Cast, number: u64, piece: &[u8]) -> Result<()> {
        let (network, start) = (network(self.port.get()).expect("asked before"), self.common_start());
        let buffer = number as usize % 2;
        let (to, then) = (start + cast.buffer(buffer), start + cast.flag(buffer));
        let tail = [number, round.head, round.argument];
        let parcel = self.port.ni().multicast_then(to, piece, then, &tail);
        let sent = || self.port.ni().try_multicast(network, &parcel);
        self.wait_for_members(round, 0..self.size(), || sent().map(|sent| sent.then_some(())).transpose())
    }

    fn take_piece(self, round: &Round, cast: &Cast, root: usize, number: u64, into: &mut [u8]) -> Result<()> {
        let buffer = number as usize % 2;
        let told = self.own::<CastWords>(cast.flag(buffer));
        let asks = self.wait_for_member(round, root, || {
            let (seen, asks) = told.look();
            (seen == number).then_some(Ok(asks))
        })?;
        if asks != [round.head, round.argument] {
            return Err(self.disagree(round, root, asks));
        }
        self.members[self.rank()].span().part(cast.buffer(buffer), into.len()).copy_out(into);
        if let Some(environment) = &self.port.ni().environment {
            environment.copied(into.len());
        }
        Ok(())
    }

    /// Tells the root how far this member is.
    fn answer_root(self, round: &Round, cast: &Cast, root: usize, words: &[u64]) -> Result<()> {
        let ni = &**self.port.ni();
        let place = self.members[root].start + cast.answer(self.rank());
        let to = Target::in_heap(self.members[root].rank, place);
        let told = || match words {
            [word] => ni.try_word(to, *word),
            _ => ni.try_push_then(to, &[], place, words, true),
        };
        self.wait_for_member(round, root, || told().map(|told| told.then_some(())).transpose())
    }
}
