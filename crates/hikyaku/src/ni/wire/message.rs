//! What an active message can carry.

use crate::error::{Error, Result};
pub use crate::transport::shm::ring::{ARGUMENT_COUNT, PAYLOAD_MAX};

/// Handler ids a rank has.
pub const HANDLER_COUNT: u16 = 256;

/// Further ids, which only the library uses: of handlers that layers above register for themselves.
pub(in crate::ni) const LIBRARY_HANDLERS: u16 = 64;

/// A handler of a layer above the interface. No program can use its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LibraryHandler(u16);

impl LibraryHandler {
    pub(in crate::ni) fn of(id: u16) -> LibraryHandler {
        LibraryHandler(id)
    }

    pub(in crate::ni) fn id(self) -> u16 {
        self.0
    }

    /// Counted from 0.
    pub fn number(self) -> u16 {
        self.0 - HANDLER_COUNT
    }
}

/// The words of an active message.
pub type Arguments = [u64; ARGUMENT_COUNT];

/// Fails for what no message can carry.
#[inline(always)]
pub(in crate::ni) fn check_content(handler: u16, payload: &[u8]) -> Result<()> {
    if payload.len() > PAYLOAD_MAX {
        return Err(Error::PayloadTooLong { bytes: payload.len(), max: PAYLOAD_MAX });
    }
    check_handler(handler)
}

/// Fails for a handler that no rank can have.
#[inline(always)]
pub(in crate::ni) fn check_handler(id: u16) -> Result<()> {
    if id < HANDLER_COUNT { Ok(()) } else { Err(Error::HandlerTaken { id, max: HANDLER_COUNT }) }
}
