//! Memory that every rank has alike.

use crate::memory::span::Span;
use crate::ni::interface::Ni;
use crate::ni::reach::place::{Ground, Place};
use bytemuck::Pod;
use std::marker::PhantomData;
use std::sync::Arc;

/// An area that every rank has, of the same size and type: the global address space of a job.
///
/// It is allocated by [`crate::Job::symmetric`] on all ranks together and starts zeroed. Peers may change it at any moment, so there is
/// no `&[T]` into it: reads copy out, writes copy in. `T` is any plain type ([`bytemuck::Pod`]).
pub struct Symmetric<T> {
    pub(crate) ni: Arc<Ni>,
    /// Offset in every rank's heap.
    pub(crate) start: usize,
    pub(crate) len: usize,
    pub(crate) element: PhantomData<fn() -> T>,
}

impl<T> std::fmt::Debug for Symmetric<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Symmetric").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<T: Pod> Symmetric<T> {
    /// Elements on each rank.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Element `index` on `rank`, as the target of an operation, which checks both.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let table = job.symmetric::<u32>(10)?;
    /// job.push(table.at(1, 9), &[4])?;                   // the last element of rank 1
    /// assert!(job.push(table.at(2, 0), &[4]).is_err());  // there is no rank 2
    /// assert!(job.push(table.at(1, 10), &[4]).is_err()); // nor an element 10
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[inline(always)]
    pub fn at(&self, rank: usize, index: usize) -> Place<'_, T> {
        let ground = Ground::Symmetric { job: self.ni.ground, start: self.start };
        Place { ground, rank, index, len: self.len, element: PhantomData }
    }

    /// Element `index` on this rank.
    ///
    /// ```
    /// # hikyaku::local(1, |job| {
    /// let table = job.symmetric::<u64>(10)?;
    /// assert_eq!(job.fetch_add(table.here(0), 5)?, 0); // the own part, as one of everybody's
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[inline(always)]
    pub fn here(&self, index: usize) -> Place<'_, T> {
        self.at(self.ni.rank, index)
    }

    /// Reads an element of this rank's own part.
    ///
    /// ```
    /// # hikyaku::local(1, |job| {
    /// let table = job.symmetric::<u32>(10)?;
    /// table.set(3, 7);
    /// table.write(4, &[8, 9]);
    /// assert_eq!((table.get(3), table.to_vec()[5]), (7, 9));
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// # Panics
    /// If `index` is out of range, as a slice would.
    #[inline]
    pub fn get(&self, index: usize) -> T {
        let mut value = [T::zeroed()];
        self.read(index, &mut value);
        value[0]
    }

    /// Writes an element of this rank's own part.
    ///
    /// # Panics
    /// If `index` is out of range, as a slice would.
    #[inline]
    pub fn set(&self, index: usize, value: T) {
        self.write(index, &[value]);
    }

    /// Copies elements of this rank's own part out.
    ///
    /// # Panics
    /// If the range goes past the end.
    pub fn read(&self, index: usize, into: &mut [T]) {
        self.own(index, into.len()).copy_out(bytemuck::cast_slice_mut(into));
    }

    /// Copies elements into this rank's own part.
    ///
    /// # Panics
    /// If the range goes past the end.
    pub fn write(&self, index: usize, data: &[T]) {
        self.own(index, data.len()).copy_in(bytemuck::cast_slice(data));
    }

    /// The whole of this rank's own part, copied out.
    pub fn to_vec(&self) -> Vec<T> {
        let mut all = vec![T::zeroed(); self.len];
        self.read(0, &mut all);
        all
    }

    /// The first byte of this rank's own part, for code that keeps its own promises about who writes when.
    pub fn as_ptr(&self) -> *mut T {
        self.own(0, 0).start().cast()
    }

    /// `len` elements of another type in every rank's part, `skipped` bytes after its first. The whole is freed, not its parts.
    ///
    /// # Panics
    /// If they go past the end, or begin where no such element can.
    pub(crate) fn part<U>(&self, skipped: usize, len: usize) -> Symmetric<U> {
        assert!(skipped + len * size_of::<U>() <= self.len * size_of::<T>());
        assert!((self.start + skipped).is_multiple_of(align_of::<U>()));
        Symmetric { ni: self.ni.clone(), start: self.start + skipped, len, element: PhantomData }
    }

    #[inline]
    fn own(&self, index: usize, count: usize) -> Span<'_> {
        self.ni.look();
        assert!(
            index.checked_add(count).is_some_and(|end| end <= self.len),
            "{count} elements at index {index} go past the end of an area of {}",
            self.len
        );
        self.ni.own_memory(self.start + index * size_of::<T>(), count * size_of::<T>())
    }
}
