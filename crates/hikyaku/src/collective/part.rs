//! The words and buffers of one member of a group, in its own memory, mapped by all members.

use super::words::{Ask, Finished, Mark, SLOT_COUNT};
use crate::error::Result;
use crate::job::choice::BUFFER_MAX;
use crate::memory::segment::PAGE_BYTES;
use crate::memory::span::Span;
use crate::message::wire::slot::{Deal, Marks};
use crate::ni::Ni;
use crate::sync::atomic::AtomicU64;
use crate::sync::barrier::{Counter, Flags};
use crate::sync::line::Line;
use crate::sync::shared;

/// Bytes of a contribution that travels in the entry itself.
pub(super) const INLINE_MAX: usize = 48;
/// Bytes of a contribution that is copied into a buffer; longer ones go in several rounds.
pub(super) const BUFFER_BYTES: usize = BUFFER_MAX;

/// Bytes of one of the two larger buffers that a member takes when they are first needed; see `stage`.
pub(super) const HALF_BYTES: usize = 256 * 1024;
/// Bytes of both.
pub(super) const STAGE_BYTES: usize = 2 * HALF_BYTES;

shared! {
    /// The words of a member.
    #[derive(Debug)]
    pub(super) struct Part {
        /// What the member asks for in each call. Written by the member alone, read by whoever needs it.
        pub entries: [Entry; SLOT_COUNT as usize],
        /// Number of the call whose result lies in the slot's buffer. Written by the member, or for it by the last to
        /// arrive.
        pub results: [Mark; SLOT_COUNT as usize],
        /// Which pieces of the contribution in the slot's buffer are there. Written by the member alone.
        pub pieces: [Marks; SLOT_COUNT as usize],
        /// Calls the member has finished.
        pub finished: Finished,
        /// Not 0 once somebody found that the calls do not fit together. Written by peers, of whom the first stays. It ends
        /// the call with an error; nothing else is ordered by it.
        pub alarm: Line<AtomicU64>,
        /// Members that will not touch this part any more. Written by peers.
        pub leavers: Counter,
        /// Not 0 once the member receives no messages any more. Written by the member.
        pub deaf: Mark,
        /// The last call in which others must not read this member's own buffer any more. Written by the member.
        pub closed: Mark,
        /// Chunks of a long buffer that this member receives, claimed by it and by whoever helps.
        pub deal: Line<Deal>,
        /// Arrivals, in the part of the first member, for crowded cores; see `barrier`.
        pub counter: Counter,
        /// The flags of the butterfly barrier, each written by one peer.
        pub flags: Flags,
    }
}

shared! {
    /// What a member asks for in one call. Two lines, of which one is used: a neighbour's would be fetched along.
    #[derive(Debug)]
    #[repr(align(128))]
    pub(super) struct Entry {
        pub ask: Ask,
        payload: [AtomicU64; INLINE_MAX / 8],
    }
}

impl Entry {
    /// The bytes of the contribution.
    #[inline(always)]
    pub fn payload(&self) -> Span<'_> {
        Span::from(&self.payload[..])
    }
}

/// Bytes of the words, behind which the buffers begin.
pub(super) const WORD_BYTES: usize = size_of::<Part>().next_multiple_of(PAGE_BYTES);
/// What each member takes from its heap for a group.
pub(super) const PART_BYTES: usize = WORD_BYTES + SLOT_COUNT as usize * BUFFER_BYTES;

/// A member's part, found.
#[derive(Clone, Copy)]
pub(super) struct Member<'m> {
    /// Its rank in the job.
    pub rank: usize,
    /// Where it begins in the rank's heap.
    pub start: usize,
    /// Where it is mapped, if the rank is near.
    span: Option<Span<'m>>,
    /// Its words, if it has such: found once, and used in every call.
    words: Option<&'m Part>,
}

impl<'m> Member<'m> {
    /// The part of `rank`, of so many bytes at `start` of its heap, which that rank told.
    pub fn find(ni: &'m Ni, rank: usize, start: u64, bytes: usize) -> Result<Member<'m>> {
        ni.check_own_part(rank, start, bytes)?;
        let span = ni.near_span(rank, start, bytes as u64);
        let words = span.and_then(|span| span.try_at(0));
        Ok(Member { rank, start: start as usize, span, words })
    }

    /// Whether it is not mapped here.
    pub fn is_far(self) -> bool {
        self.span.is_none()
    }

    /// The bytes of it, which is near.
    #[inline(always)]
    pub fn span(self) -> Span<'m> {
        self.span.expect("a member of this host")
    }

    /// The words of it, which is near and of a group.
    #[inline(always)]
    pub fn part(self) -> &'m Part {
        self.words.expect("a member of a group of this host")
    }

    /// Its buffer for a slot.
    #[inline(always)]
    pub fn buffer(self, slot: usize) -> Span<'m> {
        self.span().part(WORD_BYTES + slot * BUFFER_BYTES, BUFFER_BYTES)
    }
}
