//! Objects of libfabric, each of which is closed once, and by the process that has opened it.

use crate::library::Library;
use crate::sys::{Domain, FI_MR_VIRT_ADDR, Fabric, Fid, Mr};
use hikyaku::{Error, Result};
use std::ffi::{c_int, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

/// An object that is closed when it is dropped, by the process that has opened it: a forked child has copies of descriptors, and would
/// take its parent's sockets out of the sets that they share.
pub struct Object<T> {
    object: NonNull<T>,
    process: u32,
    is_closed: bool,
}

impl<T> Object<T> {
    /// What a call has made.
    ///
    /// # Safety
    /// It fills in an object of that type, which begins with a `Fid`, and which is owned from then on, unless it fails.
    pub unsafe fn make(what: &'static str, call: impl FnOnce(*mut *mut T) -> c_int) -> Result<Object<T>> {
        let mut made = null_mut();
        check(what, call(&mut made) as isize)?;
        let object = NonNull::new(made).ok_or_else(|| failed(what, 0))?;
        Ok(Object { object, process: std::process::id(), is_closed: false })
    }

    pub fn get(&self) -> *mut T {
        self.object.as_ptr()
    }

    pub fn fid(&self) -> *mut Fid {
        self.object.as_ptr().cast()
    }
}

impl<T> Object<T> {
    /// Closes it, if that was not done before; false if libfabric refuses, and may go on using what it was given.
    pub fn close(&mut self) -> bool {
        if self.process != std::process::id() || self.is_closed {
            return true;
        }
        // SAFETY: a live object of libfabric with its table, which is not used any more.
        self.is_closed = unsafe { ((*(*self.fid()).ops).close)(self.fid()) == 0 };
        self.is_closed
    }

    /// Whether it was closed, and must not be used any more.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }
}

impl<T> Drop for Object<T> {
    fn drop(&mut self) {
        self.close();
    }
}

pub fn failed(what: &str, code: isize) -> Error {
    let why = Library::get().map_or_else(|_| code.to_string(), |library| library.error_text(code));
    Error::Invalid(format!("libfabric: {what} failed: {why}"))
}

pub fn check(what: &'static str, code: isize) -> Result<()> {
    if code < 0 { Err(failed(what, code)) } else { Ok(()) }
}

/// A device of a network. Fields are closed in their order.
pub struct Device {
    pub domain: Object<Domain>,
    pub fabric: Object<Fabric>,
}

// SAFETY: objects of libfabric belong to no thread. Those that share a device are used and closed by one at a time.
unsafe impl Send for Device {}
// SAFETY: nothing is done with a shared one but to register memory and to close it, by whoever holds the lock of the port.
unsafe impl Sync for Device {}

/// Memory that libfabric knows, and the device that it is known to.
pub struct Region {
    region: Object<Mr>,
    _device: Arc<Device>,
}

// SAFETY: as for a device.
unsafe impl Send for Region {}

impl Region {
    /// Registers memory for some kinds of access, by a key if the provider lets one choose.
    ///
    /// # Errors
    /// When libfabric does not.
    ///
    /// # Safety
    /// The memory stays as long as the region.
    pub unsafe fn new(device: &Arc<Device>, start: *const u8, bytes: usize, access: u64, key: u64) -> Result<Region> {
        let domain = &device.domain;
        // SAFETY: a live domain; the caller's promise.
        let region: Object<Mr> = unsafe {
            Object::make("registering memory", |made| {
                let ops = (*domain.get()).mr;
                ((*ops).reg)(domain.fid(), start.cast(), bytes, access, 0, key, 0, made, null_mut())
            })?
        };
        Ok(Region { region, _device: device.clone() })
    }

    /// What the own endpoint must be told of it.
    pub fn description(&self) -> *mut c_void {
        // SAFETY: a live region.
        unsafe { (*self.region.get()).mem_desc }
    }

    /// What peers know it by.
    pub fn key(&self) -> u64 {
        // SAFETY: a live region.
        unsafe { (*self.region.get()).key }
    }
}

/// What a peer adds to offsets in memory that begins at an address.
pub fn base(mr_mode: c_int, start: *const u8) -> u64 {
    if mr_mode & FI_MR_VIRT_ADDR != 0 { start as u64 } else { 0 }
}
