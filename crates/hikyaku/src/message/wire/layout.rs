//! What lies where: each rank holds, for every peer, the words of all slots and some bounce buffers.

use super::far::FarSlot;
use super::node::Next;
use super::search::High;
use super::slot::{Deal, Head, Marks, PIECE_BYTES, PIECE_COUNT, Payload, Post, Spot};
use crate::memory::span::Span;
use crate::ni::Ni;
use crate::sync::Shared;
use crate::sync::line::Line;
use std::ptr::NonNull;
use std::sync::Arc;

/// By source, and of any source.
pub(in crate::message) const DOMAINS: usize = 2;
/// The longest message that fits a line.
pub(in crate::message) const SHORT_MAX: usize = size_of::<Payload>();
/// Buffers for messages that are too long for a line and too short for a deal, per pair of ranks and direction.
pub(in crate::message) const BOUNCE_COUNT: usize = 8;
/// Bytes of each: the longest message that is sent without its receive.
pub const EAGER_MAX: usize = PIECE_COUNT * PIECE_BYTES;

/// Offsets within what a rank holds for one peer.
#[derive(Clone, Copy, Debug)]
pub(in crate::message) struct Layout {
    heads: usize,
    posts: usize,
    lines: usize,
    wants: usize,
    deals: usize,
    links: usize,
    pub high: usize,
    marks: usize,
    bounces: usize,
    pub peer_bytes: usize,
}

impl Layout {
    /// For `entries` slots of all domains.
    pub fn new(entries: usize) -> Layout {
        let mut end = 0;
        let mut part = |bytes: usize| {
            let start = end;
            end += bytes.next_multiple_of(64);
            start
        };
        let heads = part(entries * size_of::<Head>());
        let posts = part(entries * size_of::<Post>());
        let lines = part(entries * size_of::<Payload>());
        let wants = part(entries * size_of::<Line<Spot>>());
        let deals = part(entries * size_of::<Line<Deal>>());
        let links = part(entries * size_of::<Next>());
        let high = part(size_of::<High>());
        let marks = part(BOUNCE_COUNT * size_of::<Marks>());
        let bounces = part(BOUNCE_COUNT * EAGER_MAX);
        // A far pair has its own words in place of all before these.
        assert!(entries * size_of::<FarSlot>() <= high);
        // Peers write different parts: no page is shared, so that an idle pair takes no memory.
        let peer_bytes = end.next_multiple_of(crate::memory::segment::PAGE_BYTES);
        Layout { heads, posts, lines, wants, deals, links, high, marks, bounces, peer_bytes }
    }

    /// Where a bounce buffer begins.
    pub fn bounce(&self, number: usize) -> usize {
        assert!(number < BOUNCE_COUNT);
        self.bounces + number * EAGER_MAX
    }
}

/// What one rank holds for one peer, mapped.
#[derive(Clone, Copy)]
pub(in crate::message) struct Side<'a> {
    base: *mut u8,
    layout: &'a Layout,
}

/// Where a rank holds what it has for one peer. It stays mapped as long as this is there.
pub(in crate::message) struct Home {
    base: NonNull<u8>,
    /// What lies there where. Of its own, so that nothing has to be compared with the size when it is used.
    layout: Layout,
    /// Keeps the memory.
    _ni: Arc<Ni>,
}

impl Home {
    /// By this layout at `start` of the heap of `rank`, which is near.
    pub fn find(ni: &Arc<Ni>, rank: usize, start: usize, layout: Layout) -> Home {
        let found = ni.near_bytes(rank, start as u64, layout.peer_bytes as u64).and_then(NonNull::new);
        Home { base: found.expect("a part of the heap of a near member"), layout, _ni: ni.clone() }
    }

    /// What is there.
    #[inline(always)]
    pub fn side(&self) -> Side<'_> {
        Side { base: self.base.as_ptr(), layout: &self.layout }
    }
}

impl<'a> Side<'a> {
    /// Where it begins.
    #[inline(always)]
    pub fn start(&self) -> *mut u8 {
        self.base
    }

    /// What is in a span, by a layout of as many bytes.
    pub fn over(span: Span<'a>, layout: &'a Layout) -> Side<'a> {
        Side { base: span.part(0, layout.peer_bytes).start(), layout }
    }

    #[inline(always)]
    pub fn head(self, entry: usize) -> &'a Head {
        self.at(self.layout.heads + entry * size_of::<Head>())
    }

    #[inline(always)]
    pub fn post(self, entry: usize) -> &'a Post {
        self.at(self.layout.posts + entry * size_of::<Post>())
    }

    #[inline(always)]
    pub fn line(self, entry: usize) -> &'a Payload {
        self.at(self.layout.lines + entry * size_of::<Payload>())
    }

    /// The line, as the place of an offer.
    #[inline(always)]
    pub fn offer(self, entry: usize) -> &'a Spot {
        self.at(self.layout.lines + entry * size_of::<Payload>())
    }

    #[inline(always)]
    pub fn want(self, entry: usize) -> &'a Spot {
        self.at(self.layout.wants + entry * size_of::<Line<Spot>>())
    }

    #[inline(always)]
    pub fn deal(self, entry: usize) -> &'a Deal {
        self.at(self.layout.deals + entry * size_of::<Line<Deal>>())
    }

    /// Where the chain of a slot begins.
    #[inline(always)]
    pub fn link(self, entry: usize) -> &'a Next {
        self.at(self.layout.links + entry * size_of::<Next>())
    }

    #[inline(always)]
    pub fn high(self) -> &'a High {
        self.at(self.layout.high)
    }

    /// Which pieces of a bounce buffer have come.
    #[inline(always)]
    pub fn marks(self, bounce: usize) -> &'a Marks {
        assert!(bounce < BOUNCE_COUNT);
        self.at(self.layout.marks + bounce * size_of::<Marks>())
    }

    /// The first byte of a bounce buffer.
    #[inline(always)]
    pub fn bounce(self, number: usize) -> *mut u8 {
        // SAFETY: inside the part, by the layout.
        unsafe { self.base.add(self.layout.bounce(number)) }
    }

    /// The words of a slot of a far pair.
    pub fn far(self, entry: usize) -> &'a FarSlot {
        self.at(entry * size_of::<FarSlot>())
    }

    #[inline(always)]
    fn at<T: Shared>(self, offset: usize) -> &'a T {
        debug_assert!(offset + size_of::<T>() <= self.layout.peer_bytes);
        // SAFETY: callers of the functions above check the entry against the number of entries, so the offset lies in
        // this part and is aligned; `T` is made of atomics.
        unsafe { &*(self.base.add(offset) as *const T) }
    }
}
