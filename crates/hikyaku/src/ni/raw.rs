//! Remote operations by addresses, for interfaces to other languages: the ground of those on slices.

use super::place::{Place, Reach};
use super::port::Port;
use super::remote::Data;
use crate::error::{Error, Result};
use crate::memory::copy;
use bytemuck::Pod;
use std::sync::atomic::{AtomicU64, Ordering};

/// Remote operations on local memory that no slice can stand for, since peers may change it meanwhile.
pub trait RawPort: sealed::Sealed {
    /// [`Port::push`] from `len` elements at `data`, which peers may change meanwhile.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn push_from<T: Pod>(&self, to: Place<'_, T>, data: *const T, len: usize) -> Result<()>;

    /// [`Port::pull`] into `len` elements at `into`, which peers may change meanwhile.
    ///
    /// # Safety
    /// They can be written.
    unsafe fn pull_into<T: Pod>(&self, from: Place<'_, T>, into: *mut T, len: usize) -> Result<()>;

    /// [`Port::push_notify`] from `len` elements at `data`, which peers may change meanwhile.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn push_notify_from<T: Pod>(
        &self,
        to: Place<'_, T>,
        data: *const T,
        len: usize,
        flag: Place<'_, u64>,
        value: u64,
    ) -> Result<()>;

    /// [`Port::push_status`] from `len` elements at `data`, which peers may change meanwhile.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn push_status_from<T: Pod>(
        &self,
        to: Place<'_, T>,
        data: *const T,
        len: usize,
        status: Place<'_, u64>,
        value: u64,
    ) -> Result<()>;

    /// [`Port::pull_status`] into `len` elements at `into`, which peers may change meanwhile.
    ///
    /// # Safety
    /// They can be written.
    unsafe fn pull_status_into<T: Pod>(
        &self,
        from: Place<'_, T>,
        into: *mut T,
        len: usize,
        status: Place<'_, u64>,
        value: u64,
    ) -> Result<()>;

    /// The address of a place that is mapped here: any element of a symmetric area of this host. An area that may be revoked has
    /// none. Who writes when is the caller's business.
    fn mapped_address<T: Pod>(&self, place: Place<'_, T>) -> Result<*mut T>;

    /// A word of a place that is mapped here, which all ranks of the host read and write whole.
    ///
    /// ```
    /// # use hikyaku::ffi::RawPort;
    /// # use std::sync::atomic::Ordering;
    /// # hikyaku::local(2, |job| {
    /// let area = job.symmetric::<u64>(4)?;
    /// job.mapped_word(area.at(1 - job.rank(), 3))?.fetch_add(5, Ordering::AcqRel);
    /// job.barrier()?;
    /// assert_eq!(area.get(3), 5);
    /// # hikyaku::Result::Ok(()) }).unwrap();
    /// ```
    fn mapped_word<'a>(&self, place: Place<'a, u64>) -> Result<&'a AtomicU64>;
}

impl RawPort for Port {
    #[inline]
    unsafe fn push_from<T: Pod>(&self, to: Place<'_, T>, data: *const T, len: usize) -> Result<()> {
        self.tick();
        let Some(target) = self.ni.pointer_to(&to, len) else {
            // SAFETY: the caller's promise.
            return unsafe { self.push_elsewhere(to, data, len) };
        };
        // SAFETY: found for that many elements; the caller's promise.
        unsafe { copy::copy_away(target, data.cast(), len * size_of::<T>()) };
        Ok(())
    }

    #[inline]
    unsafe fn pull_into<T: Pod>(&self, from: Place<'_, T>, into: *mut T, len: usize) -> Result<()> {
        self.tick();
        let Some(source) = self.ni.pointer_to(&from, len) else {
            // SAFETY: the caller's promise.
            return unsafe { self.pull_elsewhere(from, into, len) };
        };
        // SAFETY: found for that many elements; the caller's promise.
        unsafe { copy::copy(into.cast(), source, len * size_of::<T>()) };
        Ok(())
    }

    #[inline]
    unsafe fn push_notify_from<T: Pod>(
        &self,
        to: Place<'_, T>,
        data: *const T,
        len: usize,
        flag: Place<'_, u64>,
        value: u64,
    ) -> Result<()> {
        if to.rank != flag.rank {
            return Err(Error::NotMine { rank: flag.rank });
        }
        // SAFETY: the caller's promise.
        let elsewhere = || unsafe { self.notify_elsewhere(to, data, len, flag, value) };
        let Some(target) = self.ni.pointer_to(&to, len) else { return elsewhere() };
        let Some(word) = self.ni.pointer_to(&flag, 1) else { return elsewhere() };
        self.tick();
        if self.has_routed() {
            self.settle(to.rank)?;
        }
        // SAFETY: found for that many elements, and for one aligned `u64` accessed atomically; the caller's promise.
        unsafe {
            copy::copy_away(target, data.cast(), len * size_of::<T>());
            AtomicU64::from_ptr(word.cast()).store(value, Ordering::Release);
        }
        self.ni.notify(flag.rank, self.ni.watch_of(word));
        Ok(())
    }

    unsafe fn push_status_from<T: Pod>(
        &self,
        to: Place<'_, T>,
        data: *const T,
        len: usize,
        status: Place<'_, u64>,
        value: u64,
    ) -> Result<()> {
        let status_word = self.own_status(status)?;
        let reach = self.ni.resolve(to, len)?;
        // As long as the place, so it can be counted.
        let (start, bytes) = (data.cast(), len * size_of::<T>());
        // SAFETY: the caller's promise.
        unsafe {
            match (reach, status_word) {
                (Reach::Area(area, offset), Some(word)) => {
                    self.push_area(area, offset, start, bytes, Some((word, value)))
                }
                (Reach::Far(target), Some(word)) => {
                    self.push_routed(target, Data::shared(start, bytes), Some((word, value)))
                }
                _ => {
                    self.push_from(to, data, len)?;
                    self.flush(to.rank)?;
                    self.word(status, value)
                }
            }
        }
    }

    unsafe fn pull_status_into<T: Pod>(
        &self,
        from: Place<'_, T>,
        into: *mut T,
        len: usize,
        status: Place<'_, u64>,
        value: u64,
    ) -> Result<()> {
        self.own_status(status)?;
        // SAFETY: the caller's promise.
        unsafe { self.pull_into(from, into, len)? };
        self.word(status, value)
    }

    fn mapped_address<T: Pod>(&self, place: Place<'_, T>) -> Result<*mut T> {
        match self.ni.resolve(place, 1)? {
            Reach::Pointer(address) => Ok(address.cast()),
            Reach::Area(..) => Err(Error::Invalid("an area that its owner may revoke has no lasting address".into())),
            Reach::Far(_) => Err(Error::Invalid("memory of a rank on another host has no address here".into())),
        }
    }

    fn mapped_word<'a>(&self, place: Place<'a, u64>) -> Result<&'a AtomicU64> {
        let address = self.mapped_address(place)?;
        // SAFETY: an aligned word of a symmetric area, which the place borrows and which keeps its memory mapped. Everybody reaches
        // it by atomics or by copies that are no accesses to the compiler.
        Ok(unsafe { AtomicU64::from_ptr(address) })
    }
}

mod sealed {
    /// Only ports of the library have it.
    pub trait Sealed {}

    impl Sealed for super::Port {}
}
