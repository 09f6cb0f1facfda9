//! Symmetric memory: every rank takes the same part of its heap, so an offset means the same everywhere.

use super::Job;
use super::collective::{NO_PORT, Operation};
use crate::error::{Error, Result};
use crate::ni::{Symmetric, no_room};
use bytemuck::Pod;
use std::marker::PhantomData;
use std::sync::atomic::Ordering;

impl Job {
    /// Allocates `len` zeroed elements on every rank. All ranks call it together with the same arguments. If it fails on one rank, it
    /// fails on all.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let table = job.symmetric::<[f64; 3]>(100)?; // on every rank
    /// let peer = 1 - job.rank();
    /// job.push(table.at(peer, job.rank()), &[[1.0, 2.0, 3.0]])?;
    /// job.barrier()?;
    /// assert_eq!(table.get(peer), [1.0, 2.0, 3.0]);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn symmetric<T: Pod>(&self, len: usize) -> Result<Symmetric<T>> {
        self.allocate(Operation::Allocate, len)
    }

    /// Allocates bytes for messages on every rank; pages are taken when they are first touched, since most ranks use little of it.
    pub(crate) fn symmetric_for_messages(&self, bytes: usize) -> Result<Symmetric<u8>> {
        self.allocate(Operation::Messages, bytes)
    }

    /// Allocates bytes on every rank for messages by which the library alone speaks.
    pub(crate) fn symmetric_for_channel(&self, bytes: usize) -> Result<Symmetric<u8>> {
        self.allocate(Operation::Channel, bytes)
    }

    /// Allocates bytes on every rank for messages of an endpoint; `None` on one that has no port for it.
    pub(crate) fn symmetric_for_endpoint(&self, bytes: Option<usize>) -> Result<Symmetric<u8>> {
        self.allocate(Operation::Endpoint, bytes.unwrap_or(NO_PORT as usize))
    }

    /// Allocates elements on every rank for what ranks tell each other when they form a group.
    pub(crate) fn symmetric_for_group<T: Pod>(&self, len: usize) -> Result<Symmetric<T>> {
        self.allocate(Operation::Group, len)
    }

    /// Allocates bytes on every rank for a region.
    pub(crate) fn symmetric_for_region(&self, bytes: usize) -> Result<Symmetric<u8>> {
        self.allocate(Operation::RegionMemory, bytes)
    }

    /// Allocates bytes on every rank for a queue. Only its owner uses more than a line of it.
    pub(crate) fn symmetric_for_queue(&self, bytes: usize, is_owner: bool) -> Result<Symmetric<u8>> {
        self.allocate_as(Operation::QueueMemory, bytes, is_owner)
    }

    /// Allocates bytes on every rank for message exchange; pages are taken when they are first touched.
    pub(crate) fn symmetric_for_exchange(&self, bytes: usize) -> Result<Symmetric<u8>> {
        self.allocate_as(Operation::Exchange, bytes, false)
    }

    fn allocate<T: Pod>(&self, operation: Operation, len: usize) -> Result<Symmetric<T>> {
        let is_sparse = matches!(operation, Operation::Messages | Operation::Channel | Operation::Endpoint);
        self.allocate_as(operation, len, !is_sparse)
    }

    fn allocate_as<T: Pod>(&self, operation: Operation, len: usize, commit: bool) -> Result<Symmetric<T>> {
        crate::ni::refuse_in_handler()?;
        self.check_uninterrupted()?;
        self.ni.check_rank(self.ni.rank)?;
        let possible = size_of::<T>() > 0 && align_of::<T>() <= 64;
        // An impossible size takes part in the agreement all the same: the others must not wait for it.
        let bytes = len.checked_mul(size_of::<T>()).filter(|_| possible).unwrap_or(usize::MAX);
        let Ok(mut heap) = self.symmetric.try_borrow_mut() else { return Err(inside_another()) };
        let start = heap.take(bytes);
        let own = match start {
            Some(start) => self.ni.ready_memory(start, bytes, commit),
            None if bytes == usize::MAX => {
                Err(Error::Invalid(format!("{len} elements of {} bytes make no area", size_of::<T>())))
            }
            None => Err(no_room(bytes, heap.largest_free())),
        };
        // What a rank asks for is compared as (for what, bytes); equal requests on equal heaps give equal places.
        let agreed = self.agree(operation, bytes as u64, own);
        match (agreed, start) {
            (Ok(()), Some(start)) => Ok(Symmetric { ni: self.ni.clone(), start, len, element: PhantomData }),
            (agreed, start) => {
                // Others may have got it, if this rank only does not know that all have come.
                let is_unsure = self.is_in_barrier() || agreed.as_ref().is_err_and(Error::is_end_of_peer);
                if let Some(start) = start.filter(|_| !is_unsure) {
                    heap.give(start, bytes);
                }
                Err(agreed.err().unwrap_or_else(|| no_room(bytes, 0)))
            }
        }
    }

    /// All ranks have come to free an area, and what each has sent there without waiting for it has been done. What that has set off may
    /// still be on its way.
    pub(crate) fn begin_free<T: Pod>(&self, area: &Symmetric<T>) -> Result<()> {
        crate::ni::refuse_in_handler()?;
        self.initiator.settle_hints()?;
        self.agree(Operation::Free, area.start as u64, Ok(()))
    }

    /// Frees a symmetric area. All ranks call it together. An area that is only dropped stays allocated until the
    /// job ends.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let table = job.symmetric::<u8>(1 << 20)?;
    /// job.free(table)?; // by all ranks, as it was made
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn free<T: Pod>(&self, area: Symmetric<T>) -> Result<()> {
        crate::ni::refuse_in_handler()?;
        if area.ni.ground != self.ni.ground || area.ni.rank != self.ni.rank {
            return Err(Error::ForeignArea);
        }
        if self.symmetric.try_borrow_mut().is_err() {
            return Err(inside_another());
        }
        // Also what no flush waits for.
        self.initiator.settle_hints()?;
        self.agree(Operation::Free, area.start as u64, Ok(()))?;
        // Everybody has given the area up, so nobody writes there any more.
        let bytes = area.len * size_of::<T>();
        std::sync::atomic::fence(Ordering::SeqCst);
        self.ni.forget_statuses(area.start, bytes);
        self.ni.memory.segment.release(self.ni.own_span(area.start, bytes), bytes);
        self.symmetric.borrow_mut().give(area.start, bytes);
        Ok(())
    }
}

/// A function of the program that a wait has run must not ask for what that wait is part of.
fn inside_another() -> Error {
    Error::Invalid("symmetric memory is allocated right now; a function that runs meanwhile cannot ask for more".into())
}
