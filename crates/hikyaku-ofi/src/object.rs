//! Objects of libfabric, each of which is closed once, and by the process that has opened it.

use crate::library::{Library, Offer};
use crate::sys::{
    Av, Cq, CqAttr, CqErrEntry, CqMsgEntry, Domain, FI_CQ_FORMAT_MSG, FI_GETWAIT, FI_MR_VIRT_ADDR, FI_WAIT_FD, Fabric,
    Fid, Mr,
};
use hikyaku::{Error, Result};
use std::ffi::{c_int, c_void};
use std::os::fd::{BorrowedFd, RawFd};
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

    /// Leaves it as it is until the process ends. Nobody may use it any more, so that libfabric does nothing with it either.
    pub fn abandon(&mut self) {
        self.is_closed = true;
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

/// A device of a network, with what all endpoints on it share. Fields are closed in their order.
pub struct Device {
    /// The table of addresses.
    pub av: Object<Av>,
    pub domain: Object<Domain>,
    pub fabric: Object<Fabric>,
    /// What it was opened on.
    pub offer: Offer,
}

// SAFETY: objects of libfabric belong to no thread, and these are used by calls that several threads may do at once (`FI_THREAD_SAFE`).
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

/// A queue of completions. Endpoints that use it are closed together with it: libfabric 1.17 asks an endpoint that was closed before its
/// queue whether one may sleep (`fi_trywait`), and so reads freed memory.
pub struct Queue {
    queue: Object<Cq>,
    /// It belongs to libfabric.
    descriptor: RawFd,
}

impl Queue {
    /// For so many completions.
    ///
    /// # Errors
    /// When libfabric says so.
    pub fn open(domain: &Object<Domain>, size: usize) -> Result<Queue> {
        let mut attributes = CqAttr {
            size,
            flags: 0,
            format: FI_CQ_FORMAT_MSG,
            wait_obj: FI_WAIT_FD,
            signaling_vector: 0,
            wait_cond: 0,
            wait_set: null_mut(),
        };
        // SAFETY: a live domain; attributes as the headers say, which live as long as the call.
        let queue: Object<Cq> = unsafe {
            Object::make("opening a completion queue", |made| {
                ((*(*domain.get()).ops).cq_open)(domain.get(), &mut attributes, made, null_mut())
            })?
        };
        let mut descriptor: c_int = -1;
        let into = (&raw mut descriptor).cast::<c_void>();
        // SAFETY: a live queue, and room for its descriptor.
        let code = unsafe { ((*(*queue.fid()).ops).control)(queue.fid(), FI_GETWAIT, into) };
        check("asking for a descriptor", code as isize)?;
        Ok(Queue { queue, descriptor })
    }

    /// What endpoints are bound to.
    pub fn fid(&self) -> *mut Fid {
        self.queue.fid()
    }

    /// Readable when there may be completions, after [`Queue::may_sleep`] said so.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: it is open as long as the queue is, which is borrowed.
        unsafe { BorrowedFd::borrow_raw(self.descriptor) }
    }

    /// Takes completions, and lets libfabric go on with what is under way: how many there were, or what libfabric says.
    pub fn read(&mut self, into: &mut [CqMsgEntry]) -> isize {
        let queue = self.queue.get();
        // SAFETY: a live queue of entries of that form, and room for so many.
        unsafe { ((*(*queue).ops).read)(queue, into.as_mut_ptr().cast(), into.len()) }
    }

    /// Takes the error that comes next: whose it is, and what libfabric says.
    #[cold]
    pub fn read_error(&mut self) -> Option<(*mut c_void, isize)> {
        // SAFETY: numbers and addresses, all of which may be zero.
        let mut entry: CqErrEntry = unsafe { std::mem::zeroed() };
        let queue = self.queue.get();
        // SAFETY: a live queue, and room for the longest entry.
        let count = unsafe { ((*(*queue).ops).readerr)(queue, &mut entry, 0) };
        (count == 1).then_some((entry.op_context, -(entry.err as isize)))
    }

    /// Whether one may sleep on the descriptor; if not, something may have completed. All endpoints that were bound to it are open.
    pub fn may_sleep(&mut self, device: &Device) -> bool {
        let (fabric, mut queue) = (device.fabric.get(), self.fid());
        // SAFETY: live objects.
        unsafe { ((*(*fabric).ops).trywait)(fabric, &mut queue, 1) == 0 }
    }
}

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
