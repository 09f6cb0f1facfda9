//! Buffers of the program that an operation uses while it is under way, as addresses.

use crate::memory::copy;

/// Where a receive puts its message.
#[derive(Debug)]
pub(super) struct Room {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: whoever has it may write there, whatever the thread.
unsafe impl Send for Room {}

impl Room {
    /// # Safety
    /// The memory stays, and nobody else uses it, until this is dropped and every transfer that was told of it has ended.
    pub unsafe fn new(start: *mut u8, bytes: usize) -> Room {
        Room { start, bytes }
    }

    pub fn start(&self) -> *mut u8 {
        self.start
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes a message; false if it does not fit.
    #[inline]
    pub fn fill(&mut self, data: &[u8]) -> bool {
        let fits = data.len() <= self.bytes;
        if fits && !data.is_empty() {
            // SAFETY: it fits, and the memory is this one's.
            unsafe { copy::copy(self.start, data.as_ptr(), data.len()) };
        }
        fits
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
