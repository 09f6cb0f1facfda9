//! Buffers of the program that an operation uses while it is under way, as addresses.

use super::parts::Parts;
use crate::error::Result;
use crate::memory::copy;

/// Where a receive puts its message.
#[derive(Debug)]
pub(super) struct Room {
    start: *mut u8,
    bytes: usize,
    then: Option<Box<Then>>,
}

/// What becomes of a message that has come.
#[derive(Debug)]
enum Then {
    /// Its parts are put in their places, from a range's begin on. It is in this buffer if it is long.
    Unpack { parts: Parts, into: *mut u8, packed: Packed },
    /// It is copied to here, too.
    Copy(*mut u8),
}

/// Memory by its address alone, until this is dropped: transfers write to it, so nobody may have a reference to it meanwhile, as a box has.
/// It begins as zeros: a peer may say that it has written what it has not.
#[derive(Debug)]
struct Packed(*mut [u8]);

impl Packed {
    fn new(bytes: usize) -> Packed {
        Packed(Box::into_raw(vec![0; bytes].into_boxed_slice()))
    }

    /// Its first bytes.
    ///
    /// # Safety
    /// It has as many, and no transfer writes to it any more.
    unsafe fn first(&self, bytes: usize) -> &[u8] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.0.cast(), bytes) }
    }
}

impl Drop for Packed {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and nobody else frees it.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

// SAFETY: whoever has it may write there, whatever the thread.
unsafe impl Send for Room {}

impl Room {
    /// # Safety
    /// The memory stays, and nobody else uses it, until this is dropped and every transfer that was told of it has ended.
    pub unsafe fn new(start: *mut u8, bytes: usize) -> Room {
        Room { start, bytes, then: None }
    }

    /// For a message that is put in parts of a range.
    ///
    /// # Safety
    /// As for [`Room::new`], for all parts from `into` on.
    pub unsafe fn of_parts(parts: Parts, into: *mut u8) -> Room {
        let bytes = parts.bytes();
        let packed = Packed::new(bytes);
        let start = packed.0.cast();
        Room { start, bytes, then: Some(Box::new(Then::Unpack { parts, into, packed })) }
    }

    /// For a message of which a twin is kept.
    ///
    /// # Safety
    /// As for [`Room::new`], for both.
    pub unsafe fn with_twin(start: *mut u8, twin: *mut u8, bytes: usize) -> Room {
        Room { start, bytes, then: Some(Box::new(Then::Copy(twin))) }
    }

    pub fn start(&self) -> *mut u8 {
        self.start
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes a message; false if it does not fit.
    #[inline]
    pub fn fill(&self, data: &[u8]) -> Result<bool> {
        if data.len() > self.bytes {
            return Ok(false);
        }
        match self.then.as_deref() {
            None => self.copy_in(data),
            Some(then) => self.fill_and(data, then)?,
        }
        Ok(true)
    }

    #[cold]
    #[inline(never)]
    fn fill_and(&self, data: &[u8], then: &Then) -> Result<()> {
        match then {
            // SAFETY: it fits, and the memory is this one's.
            Then::Unpack { parts, into, .. } => unsafe { parts.unpack(data, *into) },
            Then::Copy(_) => {
                self.copy_in(data);
                self.finish(data.len())
            }
        }
    }

    /// A message that fits.
    #[inline]
    fn copy_in(&self, data: &[u8]) {
        if !data.is_empty() {
            // SAFETY: it fits, and the memory is this one's.
            unsafe { copy::copy(self.start, data.as_ptr(), data.len()) };
        }
    }

    /// A message of so many bytes, which is where it was to come, is put where it belongs.
    #[inline]
    pub fn finish(&self, bytes: usize) -> Result<()> {
        match self.then.as_deref() {
            None => Ok(()),
            // SAFETY: no message is longer than the buffer, it has come, and the memory is this one's.
            Some(Then::Unpack { parts, into, packed }) => unsafe { parts.unpack(packed.first(bytes), *into) },
            Some(Then::Copy(twin)) => {
                // SAFETY: as above.
                unsafe { copy::copy(*twin, self.start, bytes) };
                Ok(())
            }
        }
    }
}

/// What a send takes its message from.
#[derive(Debug)]
pub(super) enum Data {
    /// Memory of the program.
    Lent { start: *const u8, bytes: usize },
    /// A copy of it, which the send goes on from.
    Own(Box<[u8]>),
}

impl Data {
    /// # Safety
    /// The memory stays as it is until this is dropped or made a copy, and every transfer that was told of it has ended.
    pub unsafe fn lent(start: *const u8, bytes: usize) -> Data {
        Data::Lent { start, bytes }
    }

    pub fn as_slice(&self) -> &[u8] {
        match self {
            Data::Lent { bytes: 0, .. } => &[],
            // SAFETY: what whoever made it has promised.
            Data::Lent { start, bytes } => unsafe { std::slice::from_raw_parts(*start, *bytes) },
            Data::Own(copy) => copy,
        }
    }

    /// Goes on from a copy.
    pub fn own(&mut self) {
        if let Data::Lent { .. } = self {
            *self = Data::Own(self.as_slice().into());
        }
    }
}
