//! An endpoint of libfabric with everything it needs, behind safe calls: frames go in, and come back when they are free.
//!
//! A frame belongs to the program or to libfabric. `send` and `receive` hand it over, and a completion brings it back; so nobody reads
//! or writes its bytes meanwhile.

use crate::lent::{Context, Frame, Inner, Lent, Purpose};
use crate::library::{Library, Offer};
use crate::object::{Device, Object, Queue, Region, check, failed};
use crate::sys::{
    Av, AvAttr, CqMsgEntry, Domain, Ep, FI_ADDR_UNSPEC, FI_AV_TABLE, FI_EAVAIL, FI_ENABLE, FI_RECV, FI_SEND, Fabric,
};
use hikyaku::Result;
use std::ffi::c_void;
use std::os::fd::BorrowedFd;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

/// Completions that are taken at a time.
const BATCH: usize = 16;
/// What a closed endpoint says.
const CLOSED: isize = -(libc::ENOTCONN as isize);
/// Bytes of the longest address.
const ADDRESS_BYTES_MAX: usize = 128;

/// What is over: a frame that is back.
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

/// An endpoint. Fields are closed in their order, and the endpoint before them.
pub struct Port {
    ep: Object<Ep>,
    /// What libfabric has; freed when the endpoint is closed, and never if it cannot be.
    lent: Lent<Inner>,
    queue: Queue,
    pub(crate) device: Arc<Device>,
    must_register: bool,
    /// See [`Port::note_cut`].
    is_cut: bool,
}

// SAFETY: it was opened for use by any thread (`FI_THREAD_SAFE`).
unsafe impl Send for Port {}

impl Drop for Port {
    fn drop(&mut self) {
        self.close();
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
            let queue = Queue::open(&domain, frames)?;
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
            let must_register = offer.must_register();
            let device = Arc::new(Device { av, domain, fabric, offer });
            let ep = endpoint(&device, &queue)?;
            Ok(Port { ep, lent: Lent::default(), queue, device, must_register, is_cut: false })
        }
    }

    /// A peer is out of reach, and libfabric may hold messages to it that were sent in part. Closing an endpoint with such a connection
    /// makes libfabric 1 crash now and then. It works on its endpoints only while it is called for them, so one that is never used again
    /// is as good as closed; later versions work on all at once, and are closed.
    pub fn note_cut(&mut self) {
        self.is_cut = !self.offer().revokes() && Library::get().is_ok_and(Library::is_first);
    }

    /// Closes the endpoint: peers reach nothing any more, and it sends and receives nothing. False if libfabric refuses.
    pub fn close(&mut self) -> bool {
        if self.is_cut && !self.ep.is_closed() {
            self.ep.abandon();
            std::mem::forget(std::mem::take(&mut self.lent));
            return true;
        }
        let is_closed = self.ep.close();
        if !is_closed {
            std::mem::forget(std::mem::take(&mut self.lent));
        }
        is_closed
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.ep.is_closed()
    }

    /// What it was opened on.
    pub fn offer(&self) -> &Offer {
        &self.device.offer
    }

    /// Readable when [`Port::completions`] may find something, after [`Port::may_sleep`] said so.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.queue.descriptor()
    }

    /// By what others reach it.
    ///
    /// # Errors
    /// When libfabric does not say.
    pub fn address(&self) -> Result<Vec<u8>> {
        if self.ep.is_closed() {
            return Err(failed("asking for the address", CLOSED));
        }
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
        let (av, from) = (self.device.av.get(), padded.as_ptr().cast());
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
        // SAFETY: the bytes stay where they are as long as the frame, which closes the region first.
        let region = || unsafe { Region::new(&self.device, bytes.as_ptr(), bytes.len(), FI_SEND | FI_RECV, 0) };
        let region = if self.must_register { Some(region()?) } else { None };
        Ok(Frame(Box::new(Inner { context: Context::new(Purpose::Send), region, bytes })))
    }

    fn description(frame: &Frame) -> *mut c_void {
        frame.0.region.as_ref().map_or(null_mut(), Region::description)
    }

    /// Sends the first bytes of a frame.
    ///
    /// # Errors
    /// With the frame, when libfabric does not take it.
    pub fn send(&mut self, mut frame: Frame, bytes: usize, to: u64) -> std::result::Result<(), Refused> {
        if self.ep.is_closed() {
            return Err(Refused::Never(frame, CLOSED));
        }
        frame.0.context.purpose = Purpose::Send;
        let (start, bytes) = (frame.0.bytes.as_ptr(), bytes.min(frame.0.bytes.len()));
        let (description, ep) = (Port::description(&frame), self.ep.get());
        let lent = self.lent.lend(frame.0);
        // SAFETY: a live endpoint; the frame stays where it is until its completion.
        let code = unsafe { ((*(*ep).msg).send)(ep, start.cast(), bytes, description, to, lent.as_ptr().cast()) };
        self.taken(lent, code)
    }

    /// Sends bytes that are copied at once, no more than the offer's `inject_max`; false when there is no room now.
    ///
    /// # Errors
    /// An error of libfabric.
    pub fn inject(&mut self, bytes: &[u8], to: u64) -> std::result::Result<bool, isize> {
        if self.ep.is_closed() {
            return Err(CLOSED);
        }
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
        if self.ep.is_closed() {
            return Err(Refused::Never(frame, CLOSED));
        }
        frame.0.context.purpose = Purpose::Receive;
        let (start, bytes) = (frame.0.bytes.as_mut_ptr(), frame.0.bytes.len());
        let (description, ep) = (Port::description(&frame), self.ep.get());
        let lent = self.lent.lend(frame.0);
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
        let frame = Frame(unsafe { self.lent.back(lent) });
        Err(if is_again(code) { Refused::Again(frame) } else { Refused::Never(frame, code) })
    }

    /// Takes what has completed, and lets libfabric go on with what is under way.
    pub fn completions(&mut self, into: &mut Vec<Completion>) {
        let mut entries = [CqMsgEntry { op_context: null_mut(), flags: 0, len: 0 }; BATCH];
        let count = self.queue.read(&mut entries);
        if count == -FI_EAVAIL
            && let Some((context, code)) = self.queue.read_error()
        {
            self.over(context, Err(code), into);
        }
        for entry in entries.iter().take(count.max(0) as usize) {
            self.over(entry.op_context, Ok(entry.len), into);
        }
    }

    /// An operation is over: so many bytes, or what libfabric says.
    fn over(&mut self, context: *mut c_void, end: std::result::Result<usize, isize>, into: &mut Vec<Completion>) {
        let Some(context) = NonNull::new(context.cast::<Context>()) else { return };
        // SAFETY: libfabric gives the context of each operation back once, when it is over.
        let purpose = unsafe { (*context.as_ptr()).purpose };
        // SAFETY: as above; a frame begins with its context.
        let frame = Frame(unsafe { self.lent.back(context.cast()) });
        let is_receive = purpose == Purpose::Receive;
        into.push(match end {
            Ok(bytes) if is_receive => {
                let bytes = bytes.min(frame.bytes().len());
                Completion::Received(frame, bytes)
            }
            Ok(_) => Completion::Sent(frame),
            Err(code) => Completion::Failed { is_receive, frame, code },
        });
    }

    /// Whether one may sleep on the descriptor; if not, something may have completed.
    pub fn may_sleep(&mut self) -> bool {
        self.ep.is_closed() || self.queue.may_sleep(&self.device)
    }
}

/// Opens an endpoint that uses this queue of completions.
///
/// # Errors
/// When libfabric says so.
pub fn endpoint(device: &Device, queue: &Queue) -> Result<Object<Ep>> {
    let Device { av, domain, offer, .. } = device;
    // SAFETY: live objects of libfabric, made and bound by their tables as the headers say.
    unsafe {
        let ep: Object<Ep> = Object::make("opening an endpoint", |made| {
            ((*(*domain.get()).ops).endpoint)(domain.get(), offer.info(), made, null_mut())
        })?;
        let own = (*ep.fid()).ops;
        check("binding addresses", ((*own).bind)(ep.fid(), av.fid(), 0) as isize)?;
        check("binding completions", ((*own).bind)(ep.fid(), queue.fid(), FI_SEND | FI_RECV) as isize)?;
        check("enabling an endpoint", ((*own).control)(ep.fid(), FI_ENABLE, null_mut()) as isize)?;
        Ok(ep)
    }
}

/// Whether libfabric has no room now.
pub fn is_again(code: isize) -> bool {
    code == -(libc::EAGAIN as isize)
}
