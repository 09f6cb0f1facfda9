//! An endpoint of libfabric with everything it needs, behind safe calls: frames go in, and come back when they are free.
//!
//! A frame belongs to the program or to libfabric. `send` and `receive` hand it over, and a completion brings it back; so nobody reads
//! or writes its bytes meanwhile.

use crate::library::{Library, Offer};
use crate::sys::{
    Av, AvAttr, Cq, CqAttr, CqErrEntry, CqMsgEntry, Domain, Ep, FI_ADDR_UNSPEC, FI_AV_TABLE, FI_CQ_FORMAT_MSG,
    FI_EAVAIL, FI_ENABLE, FI_GETWAIT, FI_RECV, FI_SEND, FI_WAIT_FD, Fabric, Fid, Mr,
};
use hikyaku::{Error, Result};
use std::ffi::{c_int, c_void};
use std::os::fd::{BorrowedFd, RawFd};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

/// Completions that are taken at a time.
const BATCH: usize = 16;
/// Bytes of the longest address.
const ADDRESS_BYTES_MAX: usize = 128;

/// Bytes of a message. It stays where it is, whoever has it.
pub struct Frame(Box<Inner>);

/// The bytes, and what libfabric needs besides.
#[repr(C)]
struct Inner {
    /// Libfabric's own while it has the frame. It must be first: completions name a frame by it.
    context: [u64; 8],
    /// Its registration, where there must be one. It is closed before the bytes are freed, and before the device is.
    region: Option<Region>,
    bytes: Box<[u8]>,
    /// Its place in the list of those that libfabric has.
    slot: usize,
    is_receive: bool,
}

impl Frame {
    /// What it holds.
    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    /// To be filled.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0.bytes
    }
}

/// A registration, and the device that it is known to.
struct Region {
    region: Object<Mr>,
    _device: Arc<Device>,
}

/// A device of a network. Fields are closed in their order.
struct Device {
    domain: Object<Domain>,
    fabric: Object<Fabric>,
}

// SAFETY: objects of libfabric belong to no thread. Those that share a device are used and closed by one at a time.
unsafe impl Send for Device {}
// SAFETY: nothing is done with a shared one but to close it, by its last owner.
unsafe impl Sync for Device {}
// SAFETY: bytes, and a registration that belongs to no thread.
unsafe impl Send for Inner {}

/// A frame that is back.
pub enum Completion {
    /// It was sent.
    Sent(Frame),
    /// So many bytes were received.
    Received(Frame, usize),
    /// Neither. To what an error of libfabric means.
    Failed {
        /// The frame, which holds nothing.
        frame: Frame,
        /// Whether it was to receive.
        is_receive: bool,
        /// What libfabric says.
        code: isize,
    },
}

/// Why libfabric did not take a frame.
pub enum Refused {
    /// It has no room now.
    Again(Frame),
    /// It will never: an error of libfabric.
    Never(Frame, isize),
}

/// An object that is closed when it is dropped, by the process that has opened it: a forked child has copies of descriptors, and would
/// take its parent's sockets out of the sets that they share.
struct Object<T> {
    object: NonNull<T>,
    process: u32,
    is_closed: bool,
}

impl<T> Object<T> {
    /// What a call has made.
    ///
    /// # Safety
    /// It fills in an object of that type, which begins with a `Fid`, and which is owned from then on, unless it fails.
    unsafe fn make(what: &'static str, call: impl FnOnce(*mut *mut T) -> c_int) -> Result<Object<T>> {
        let mut made = null_mut();
        check(what, call(&mut made) as isize)?;
        let object = NonNull::new(made).ok_or_else(|| failed(what, 0))?;
        Ok(Object { object, process: std::process::id(), is_closed: false })
    }

    fn get(&self) -> *mut T {
        self.object.as_ptr()
    }

    fn fid(&self) -> *mut Fid {
        self.object.as_ptr().cast()
    }
}

impl<T> Object<T> {
    /// Closes it, if that was not done before; false if libfabric refuses, and may go on using what it was given.
    fn close(&mut self) -> bool {
        if self.process != std::process::id() || std::mem::replace(&mut self.is_closed, true) {
            return true;
        }
        // SAFETY: a live object of libfabric with its table, which is not used any more.
        unsafe { ((*(*self.fid()).ops).close)(self.fid()) == 0 }
    }
}

impl<T> Drop for Object<T> {
    fn drop(&mut self) {
        self.close();
    }
}

fn failed(what: &str, code: isize) -> Error {
    let why = Library::get().map_or_else(|_| code.to_string(), |library| library.error_text(code));
    Error::Invalid(format!("libfabric: {what} failed: {why}"))
}

fn check(what: &'static str, code: isize) -> Result<()> {
    if code < 0 { Err(failed(what, code)) } else { Ok(()) }
}

/// An endpoint. Fields are closed in their order, and the endpoint before them.
pub struct Port {
    ep: Object<Ep>,
    /// What libfabric has; freed when the endpoint is closed, and never if it cannot be.
    lent: Lent,
    av: Object<Av>,
    cq: Object<Cq>,
    device: Arc<Device>,
    descriptor: RawFd,
    must_register: bool,
    offer: Offer,
}

// SAFETY: it was opened for use by any thread (`FI_THREAD_SAFE`).
unsafe impl Send for Port {}

/// Frames that libfabric has.
#[derive(Default)]
struct Lent {
    slots: Vec<Option<NonNull<Inner>>>,
    free: Vec<usize>,
}

impl Lent {
    fn lend(&mut self, mut frame: Frame) -> NonNull<Inner> {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        frame.0.slot = slot;
        let frame = NonNull::from(Box::leak(frame.0));
        self.slots[slot] = Some(frame);
        frame
    }

    /// # Safety
    /// It was lent, is not yet back, and nobody else uses it any more.
    unsafe fn back(&mut self, frame: NonNull<Inner>) -> Frame {
        // SAFETY: it was a box, and it is live by the caller's promise.
        let frame = unsafe { Box::from_raw(frame.as_ptr()) };
        self.slots[frame.slot] = None;
        self.free.push(frame.slot);
        Frame(frame)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        for frame in self.slots.iter_mut().filter_map(Option::take) {
            // SAFETY: it was a box; the endpoint that had it is closed.
            drop(unsafe { Box::from_raw(frame.as_ptr()) });
        }
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        if !self.ep.close() {
            std::mem::forget(std::mem::take(&mut self.lent));
        }
    }
}

impl Port {
    /// Opens an endpoint for so many frames at most.
    ///
    /// # Errors
    /// When libfabric says so.
    pub fn open(offer: Offer, frames: usize) -> Result<Port> {
        let library = Library::get()?;
        let info = offer.info();
        // SAFETY: live objects of libfabric, each made by its tables as the headers say; attributes live as long as the calls.
        unsafe {
            let fabric: Object<Fabric> =
                Object::make("opening the network", |made| (library.fabric)((*info).fabric_attr, made, null_mut()))?;
            let domain: Object<Domain> = Object::make("opening the device", |made| {
                ((*(*fabric.get()).ops).domain)(fabric.get(), info, made, null_mut())
            })?;
            let ops = (*domain.get()).ops;
            let mut attributes = CqAttr {
                size: frames,
                flags: 0,
                format: FI_CQ_FORMAT_MSG,
                wait_obj: FI_WAIT_FD,
                signaling_vector: 0,
                wait_cond: 0,
                wait_set: null_mut(),
            };
            let cq: Object<Cq> = Object::make("opening a completion queue", |made| {
                ((*ops).cq_open)(domain.get(), &mut attributes, made, null_mut())
            })?;
            let mut attributes = AvAttr {
                kind: FI_AV_TABLE,
                rx_ctx_bits: 0,
                count: 0,
                ep_per_node: 0,
                name: std::ptr::null(),
                map_addr: null_mut(),
                flags: 0,
            };
            let av: Object<Av> = Object::make("opening a table of addresses", |made| {
                ((*ops).av_open)(domain.get(), &mut attributes, made, null_mut())
            })?;
            let ep: Object<Ep> =
                Object::make("opening an endpoint", |made| ((*ops).endpoint)(domain.get(), info, made, null_mut()))?;
            let own = (*ep.fid()).ops;
            check("binding addresses", ((*own).bind)(ep.fid(), av.fid(), 0) as isize)?;
            check("binding completions", ((*own).bind)(ep.fid(), cq.fid(), FI_SEND | FI_RECV) as isize)?;
            check("enabling an endpoint", ((*own).control)(ep.fid(), FI_ENABLE, null_mut()) as isize)?;
            let mut descriptor: c_int = -1;
            let into = (&raw mut descriptor).cast::<c_void>();
            check("asking for a descriptor", ((*(*cq.fid()).ops).control)(cq.fid(), FI_GETWAIT, into) as isize)?;
            let must_register = offer.must_register();
            let device = Arc::new(Device { domain, fabric });
            Ok(Port { ep, lent: Lent::default(), av, cq, device, descriptor, must_register, offer })
        }
    }

    /// What it was opened on.
    pub fn offer(&self) -> &Offer {
        &self.offer
    }

    /// Readable when [`Port::completions`] may find something, after [`Port::may_sleep`] said so.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: it belongs to the completion queue, which is open as long as this is borrowed.
        unsafe { BorrowedFd::borrow_raw(self.descriptor) }
    }

    /// By what others reach it.
    ///
    /// # Errors
    /// When libfabric does not say.
    pub fn address(&self) -> Result<Vec<u8>> {
        let (mut bytes, mut count) = (vec![0u8; ADDRESS_BYTES_MAX], ADDRESS_BYTES_MAX);
        // SAFETY: a live endpoint, and room for so many bytes.
        let code = unsafe { ((*(*self.ep.get()).cm).getname)(self.ep.fid(), bytes.as_mut_ptr().cast(), &mut count) };
        check("asking for the address", code as isize)?;
        bytes.truncate(count);
        Ok(bytes)
    }

    /// Enters the address of a peer; what it is to be called from then on.
    ///
    /// # Errors
    /// When it is none.
    pub fn insert(&mut self, address: &[u8]) -> Result<u64> {
        // Longer than any: what peers say is not believed.
        let mut padded = [0u8; ADDRESS_BYTES_MAX];
        padded.get_mut(..address.len()).ok_or_else(|| failed("reading an address", 0))?.copy_from_slice(address);
        let mut found = FI_ADDR_UNSPEC;
        let (av, from) = (self.av.get(), padded.as_ptr().cast());
        // SAFETY: a live table; one address, in room for the longest.
        let count = unsafe { ((*(*av).ops).insert)(av, from, 1, &mut found, 0, null_mut()) };
        if count == 1 && found != FI_ADDR_UNSPEC {
            Ok(found)
        } else {
            Err(failed("entering an address", count as isize))
        }
    }

    /// A frame for messages of so many bytes.
    ///
    /// # Errors
    /// When it cannot be registered.
    pub fn frame(&self, bytes: usize) -> Result<Frame> {
        let bytes = vec![0; bytes].into_boxed_slice();
        let region = match self.must_register {
            false => None,
            true => {
                let domain = &self.device.domain;
                // SAFETY: a live domain; the bytes stay where they are as long as the frame, which closes the region first.
                let region: Object<Mr> = unsafe {
                    Object::make("registering a frame", |made| {
                        let (start, ops) = (bytes.as_ptr().cast(), (*domain.get()).mr);
                        let access = FI_SEND | FI_RECV;
                        ((*ops).reg)(domain.fid(), start, bytes.len(), access, 0, 0, 0, made, null_mut())
                    })?
                };
                Some(Region { region, _device: self.device.clone() })
            }
        };
        Ok(Frame(Box::new(Inner { context: [0; 8], bytes, region, slot: 0, is_receive: false })))
    }

    fn description(frame: &Frame) -> *mut c_void {
        // SAFETY: a live region.
        frame.0.region.as_ref().map_or(null_mut(), |it| unsafe { (*it.region.get()).mem_desc })
    }

    /// Sends the first bytes of a frame.
    ///
    /// # Errors
    /// With the frame, when libfabric does not take it.
    pub fn send(&mut self, mut frame: Frame, bytes: usize, to: u64) -> std::result::Result<(), Refused> {
        frame.0.is_receive = false;
        let (start, bytes) = (frame.0.bytes.as_ptr(), bytes.min(frame.0.bytes.len()));
        let (description, ep) = (Port::description(&frame), self.ep.get());
        let lent = self.lent.lend(frame);
        // SAFETY: a live endpoint; the frame stays where it is until its completion.
        let code = unsafe { ((*(*ep).msg).send)(ep, start.cast(), bytes, description, to, lent.as_ptr().cast()) };
        self.taken(lent, code)
    }

    /// Sends bytes that are copied at once, no more than the offer's `inject_max`; false when there is no room now.
    ///
    /// # Errors
    /// An error of libfabric.
    pub fn inject(&mut self, bytes: &[u8], to: u64) -> std::result::Result<bool, isize> {
        let ep = self.ep.get();
        // SAFETY: a live endpoint, and live bytes.
        match unsafe { ((*(*ep).msg).inject)(ep, bytes.as_ptr().cast(), bytes.len(), to) } {
            0 => Ok(true),
            code if is_again(code) => Ok(false),
            code => Err(code),
        }
    }

    /// Receives a message into a frame, from anybody.
    ///
    /// # Errors
    /// With the frame, when libfabric does not take it.
    pub fn receive(&mut self, mut frame: Frame) -> std::result::Result<(), Refused> {
        frame.0.is_receive = true;
        let (start, bytes) = (frame.0.bytes.as_mut_ptr(), frame.0.bytes.len());
        let (description, ep) = (Port::description(&frame), self.ep.get());
        let lent = self.lent.lend(frame);
        // SAFETY: a live endpoint; the frame stays where it is until its completion.
        let code =
            unsafe { ((*(*ep).msg).recv)(ep, start.cast(), bytes, description, FI_ADDR_UNSPEC, lent.as_ptr().cast()) };
        self.taken(lent, code)
    }

    fn taken(&mut self, lent: NonNull<Inner>, code: isize) -> std::result::Result<(), Refused> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: libfabric has not taken it.
        let frame = unsafe { self.lent.back(lent) };
        Err(if is_again(code) { Refused::Again(frame) } else { Refused::Never(frame, code) })
    }

    /// Takes what has completed, and lets libfabric go on with what is under way.
    pub fn completions(&mut self, into: &mut Vec<Completion>) {
        let mut entries = [CqMsgEntry { op_context: null_mut(), flags: 0, len: 0 }; BATCH];
        let cq = self.cq.get();
        // SAFETY: a live queue of entries of that form.
        let count = unsafe { ((*(*cq).ops).read)(cq, entries.as_mut_ptr().cast(), BATCH) };
        if count == -FI_EAVAIL {
            self.failure(into);
        }
        for entry in entries.iter().take(count.max(0) as usize) {
            let Some(frame) = NonNull::new(entry.op_context.cast::<Inner>()) else { continue };
            // SAFETY: libfabric gives the context of each operation back once, when it is over.
            let frame = unsafe { self.lent.back(frame) };
            let bytes = entry.len.min(frame.0.bytes.len());
            into.push(if frame.0.is_receive { Completion::Received(frame, bytes) } else { Completion::Sent(frame) });
        }
    }

    #[cold]
    fn failure(&mut self, into: &mut Vec<Completion>) {
        // SAFETY: numbers and addresses, all of which may be zero.
        let mut entry: CqErrEntry = unsafe { std::mem::zeroed() };
        let cq = self.cq.get();
        // SAFETY: a live queue, and room for the longest entry.
        let count = unsafe { ((*(*cq).ops).readerr)(cq, &mut entry, 0) };
        let Some(frame) = NonNull::new(entry.op_context.cast::<Inner>()).filter(|_| count == 1) else { return };
        // SAFETY: as for other completions.
        let frame = unsafe { self.lent.back(frame) };
        into.push(Completion::Failed { is_receive: frame.0.is_receive, frame, code: -(entry.err as isize) });
    }

    /// Whether one may sleep on the descriptor; if not, something may have completed.
    pub fn may_sleep(&mut self) -> bool {
        let (fabric, mut queue) = (self.device.fabric.get(), self.cq.fid());
        // SAFETY: live objects.
        unsafe { ((*(*fabric).ops).trywait)(fabric, &mut queue, 1) == 0 }
    }
}

fn is_again(code: isize) -> bool {
    code == -(libc::EAGAIN as isize)
}
