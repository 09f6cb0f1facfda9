//! Where an operation goes: (rank, area, index), never a raw address.

use super::opened::Opened;
use crate::error::{Error, Result};
use crate::ni::base::Base;
use crate::ni::state::routes::Routes;
use crate::ni::wire::target::Target;
use bytemuck::Pod;
use std::marker::PhantomData;

/// The target of an operation: some elements of an area of a rank.
pub struct Place<'a, T> {
    pub(crate) ground: Ground<'a>,
    pub(crate) rank: usize,
    pub(crate) index: usize,
    pub(crate) len: usize,
    pub(crate) element: PhantomData<fn() -> T>,
}

impl<T> Clone for Place<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Place<'_, T> {}

impl<T> std::fmt::Debug for Place<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} index {} of {}", self.rank, self.index, self.len)
    }
}

impl<'a, T: Pod> Place<'a, T> {
    /// This place, seen as elements of another type: bytes as a word, say. Fails unless one begins there.
    #[inline]
    pub fn cast<U: Pod>(self) -> Result<Place<'a, U>> {
        let (from, to) = (size_of::<T>(), size_of::<U>());
        // An index too large for its bytes to be counted is beyond any area.
        let bytes = self.index.saturating_mul(from);
        let aligned = match self.ground {
            Ground::Symmetric { .. } => align_of::<U>() <= crate::memory::heap::LINE_BYTES,
            Ground::Area(area) => area.start % align_of::<U>() as u64 == 0,
        };
        if to == 0 || !bytes.is_multiple_of(to) || !aligned {
            return Err(Error::Misaligned { index: self.index });
        }
        let (rank, ground, len) = (self.rank, self.ground, self.len * from / to);
        Ok(Place { ground, rank, index: bytes / to, len, element: PhantomData })
    }
}

impl<'a, T> Place<'a, T> {
    /// Element `index` of an area of one rank.
    pub(crate) fn in_area(area: &'a Opened, index: usize) -> Place<'a, T> {
        let len = area.bytes / size_of::<T>();
        Place { ground: Ground::Area(area), rank: area.rank, index, len, element: PhantomData }
    }
}

impl<'a, T> Place<'a, T> {
    /// So many elements further.
    pub(crate) fn plus(self, count: usize) -> Place<'a, T> {
        Place { index: self.index.saturating_add(count), ..self }
    }

    /// This place, seen as elements of another type that are as long, and aligned alike.
    #[inline(always)]
    pub(crate) fn alike<U>(self) -> Place<'a, U> {
        assert!(size_of::<T>() == size_of::<U>() && align_of::<T>() == align_of::<U>());
        let Place { ground, rank, index, len, .. } = self;
        Place { ground, rank, index, len, element: PhantomData }
    }
}

impl<T> Place<'_, T> {
    /// The rank it is on.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Whether it is in memory that every rank has alike.
    pub(crate) fn is_symmetric(&self) -> bool {
        matches!(self.ground, Ground::Symmetric { .. })
    }

    /// The index of the element.
    pub fn index(&self) -> usize {
        self.index
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Ground<'a> {
    Symmetric { job: u64, start: usize },
    Area(&'a Opened),
}

/// What a place resolves to.
pub(crate) enum Reach<'a> {
    /// Mapped here: the address.
    Pointer(*mut u8),
    /// An area of one rank, at a byte offset; whether there is a pointer depends on the area.
    Area(&'a Opened, usize),
    /// The heap of a rank that is not mapped here.
    Far(Target),
}

impl Base {
    /// The address of `count` elements of symmetric memory that is mapped here: what nearly every operation is about.
    /// `None` where it is not so simple, or wrong.
    #[inline(always)]
    pub fn pointer_to<T>(&self, place: &Place<'_, T>, count: usize) -> Option<*mut u8> {
        self.pointer_by(&self.routes, place, count)
    }

    /// As [`Base::pointer_to`], by the routes of this interface that somebody has nearer at hand.
    #[inline(always)]
    pub fn pointer_by<T>(&self, routes: &Routes, place: &Place<'_, T>, count: usize) -> Option<*mut u8> {
        let Ground::Symmetric { job, start } = place.ground else { return None };
        // One comparison covers both an index and a count that are too large, without overflow.
        if place.index > place.len || count > place.len - place.index {
            return None;
        }
        if place.rank >= self.size() || job != self.ground {
            return None;
        }
        let heap = routes.to(place.rank).heap;
        if heap.is_null() {
            return None;
        }
        // Index and count were checked, and the area lies in the rank's heap.
        Some(heap.wrapping_add(start + place.index * size_of::<T>()))
    }

    /// Checks a place for `count` elements and finds how it is reached.
    pub fn resolve<'a, T>(&self, place: Place<'a, T>, count: usize) -> Result<Reach<'a>> {
        if let Some(pointer) = self.pointer_to(&place, count) {
            return Ok(Reach::Pointer(pointer));
        }
        self.check_rank(place.rank)?;
        if place.index > place.len || count > place.len - place.index {
            return Err(out_of_bounds(place.index, count, place.len));
        }
        let offset = place.index * size_of::<T>();
        let (job, reach) = match place.ground {
            Ground::Symmetric { job, start } => (job, Reach::Far(Target::in_heap(place.rank, start + offset))),
            Ground::Area(area) => (area.job, Reach::Area(area, offset)),
        };
        if job == self.ground { Ok(reach) } else { Err(Error::ForeignArea) }
    }

    /// A name for a mapped word that all ranks agree on, to ring for.
    #[inline(always)]
    pub fn watch_of(&self, word: *mut u8) -> u64 {
        (word as u64).wrapping_sub(self.heaps as u64) | 1 << 63
    }

    /// The name of the word that some of its bytes belong to.
    #[inline(always)]
    pub fn watch_around(&self, bytes: *mut u8) -> u64 {
        self.watch_of(bytes.map_addr(|address| address & !7))
    }
}

#[cold]
fn out_of_bounds(index: usize, count: usize, len: usize) -> Error {
    Error::OutOfBounds { index, count, len }
}
