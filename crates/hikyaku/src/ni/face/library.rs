//! Active messages of layers above: their handlers have ids that no program can use.

use super::port::Port;
use crate::error::{Error, Result};
use crate::ni::receive::dispatch::{Context, Handler, Message};
use crate::ni::wire::message::{Arguments, HANDLER_COUNT, LIBRARY_HANDLERS, LibraryHandler};
use crate::transport::packet::kind;
use crate::transport::shm::ring::Packet;

impl Port {
    /// Registers a handler under the first id that is free.
    pub(crate) fn register_library(
        &self,
        handler: impl FnMut(&mut Context<'_>, &Message<'_>) + Send + 'static,
    ) -> Result<LibraryHandler> {
        let mut handler: Handler = Box::new(handler);
        let mut engine = self.initiator.ni.engine();
        for id in HANDLER_COUNT..HANDLER_COUNT + LIBRARY_HANDLERS {
            match engine.register(id, handler) {
                Ok(()) => return Ok(LibraryHandler::of(id)),
                Err(refused) => handler = refused,
            }
        }
        Err(Error::Invalid(format!("a job has room for {LIBRARY_HANDLERS} of these")))
    }

    /// Removes a handler.
    pub(crate) fn unregister_library(&self, handler: LibraryHandler) {
        let removed = self.initiator.ni.engine().unregister(handler.id());
        // The engine is free again.
        drop(removed);
    }

    /// Sends a message to a handler of a layer above; false where there is no room now. Messages of a port arrive in order.
    #[inline]
    pub(crate) fn try_post(
        &self,
        rank: usize,
        handler: LibraryHandler,
        address: u64,
        arguments: Arguments,
        payload: &[u8],
    ) -> Result<bool> {
        let packet =
            Packet { handler: handler.id(), kind: kind::USER, payload_bytes: payload.len() as u16, address, arguments };
        self.initiator.try_post(rank, &packet, payload)
    }
}
