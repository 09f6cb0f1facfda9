//! The header of a receive: what its sender was told, so that it can write straight into the buffer.
//!
//! A receive can be given up at any moment, also while the sender writes. Then its window is aimed at a buffer of the
//! library, and what lands there belongs to the next receive of the slot: nothing is lost, nobody has to be asked, and
//! nobody writes to the old buffer.

use crate::memory::copy;
use crate::message::buffer::spot::Buffer;
use crate::ni::{Ni, Window};
use std::sync::Arc;

/// See above.
pub(in crate::message) struct Header {
    window: Window,
    /// Bytes the sender may write.
    bytes: usize,
    /// Where it writes, if not into the buffer of a receive.
    spare: Option<Vec<u8>>,
}

impl std::fmt::Debug for Header {
    /// Without the bytes, which the sender may be writing.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} of {} bytes", self.window, self.bytes)
    }
}

impl Header {
    /// The header of a receive into `buffer` from `rank`.
    ///
    /// # Safety
    /// The buffer stays, and nobody else uses it, until the header is dropped or has left the buffer.
    pub unsafe fn of(ni: &Arc<Ni>, rank: usize, buffer: Buffer) -> Option<Header> {
        // SAFETY: the caller's promise.
        let window = unsafe { Window::open(&ni.windows, rank, buffer.start, buffer.bytes)? };
        Some(Header { window, bytes: buffer.bytes, spare: None })
    }

    /// (name of the window, bytes)
    pub fn told(&self) -> (u64, u64) {
        (self.window.name, self.bytes as u64)
    }

    pub fn has_room_for(&self, bytes: usize) -> bool {
        bytes <= self.bytes
    }

    /// The receive is given up: from now on its buffer is not written.
    pub fn leave(&mut self) {
        if self.spare.is_none() {
            let mut spare = vec![0; self.bytes];
            // SAFETY: the spare buffer stays beside the window, which is dropped first.
            unsafe { self.window.aim(spare.as_mut_ptr(), spare.len()) };
            self.spare = Some(spare);
        }
    }

    /// Another receive has taken the header over, and has room for so many bytes, which are more than the sender was told of; it must be
    /// told again.
    ///
    /// The window does not lead to the buffer of that receive: how much of a message has come is not known before all of it has, and
    /// behind it the buffer stays as it is.
    pub fn widen(&mut self, bytes: usize) {
        let mut spare = vec![0; bytes];
        // SAFETY: the spare buffer stays beside the window, which is dropped first.
        unsafe { self.window.aim(spare.as_mut_ptr(), spare.len()) };
        self.bytes = bytes;
        self.spare = Some(spare);
    }

    /// `bytes` bytes have landed: they are in `buffer` afterwards, which holds as many.
    pub fn collect(self, buffer: Buffer, bytes: usize) {
        let Header { window, spare, .. } = self;
        drop(window);
        if let Some(spare) = spare {
            let bytes = &spare[..bytes];
            // SAFETY: the buffer holds as many bytes, as the caller says.
            unsafe { copy::copy(buffer.start, bytes.as_ptr(), bytes.len()) };
        }
    }
}
