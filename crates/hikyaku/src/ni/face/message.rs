//! Active messages: sending them, and calling a handler for its reply.

use super::port::Port;
use crate::error::{Error, Result};
use crate::ni::receive::dispatch::{Context, Message};
use crate::ni::state::call::CallSlot;
use crate::ni::state::inside::refuse_in_handler;
use crate::ni::wire::message::{Arguments, HANDLER_COUNT, check_handler};
use crate::transport::packet::kind;
use crate::transport::shm::ring::Packet;

impl Port {
    /// Registers a handler under `id` (0 to 255) on this rank. Register on all ranks, then [`crate::Job::barrier`], before
    /// anyone sends to it.
    ///
    /// A handler runs when a message has arrived and this rank is inside a call of the library (or at any time, after
    /// [`Port::start_ni_thread`]). Handlers of a rank run one at a time. A handler may send messages, but must not wait.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// let sum = Arc::new(AtomicU64::new(0));
    /// let adds = sum.clone();
    /// job.register_handler(7, move |_, message| {
    ///     adds.fetch_add(message.arguments[0], Ordering::Relaxed);
    /// })?;
    /// job.barrier()?; // the handler exists everywhere
    /// job.send(1 - job.rank(), 7, 0, [5, 0, 0, 0, 0, 0], &[])?;
    /// job.wait_handled(hikyaku::By::Anyone, 7, 1)?;
    /// assert_eq!(sum.load(Ordering::Relaxed), 5);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// # Panics
    /// If a handler panics, its message is consumed, and the panic propagates through the library call that ran the handler. If it cannot
    /// (in a destructor while the thread unwinds, in a wait that must not be interrupted, on the library's own thread), the next call of
    /// the rank that can panic does. If the program survives, calls ([`Port::call`]) that such a handler did not answer fail at their
    /// callers with [`crate::Refusal::HandlerPanicked`].
    pub fn register_handler(
        &self,
        id: u16,
        handler: impl FnMut(&mut Context<'_>, &Message<'_>) + Send + 'static,
    ) -> Result<()> {
        refuse_in_handler()?;
        self.initiator.ni.check_rank(self.initiator.ni.rank)?;
        check_handler(id)?;
        let registered = self.initiator.ni.engine().register(id, Box::new(handler));
        // The engine is free again: what a refused handler owns is dropped now.
        registered.map_err(|_| Error::HandlerTaken { id, max: HANDLER_COUNT })
    }

    /// Removes a handler; messages for it are refused from now on.
    ///
    /// ```
    /// # hikyaku::local(1, |job| {
    /// job.register_handler(7, |_, _| {})?;
    /// job.unregister_handler(7)?;
    /// assert!(job.call(0, 7, [0; 6], &[]).is_err()); // nobody handles it
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn unregister_handler(&self, id: u16) -> Result<()> {
        refuse_in_handler()?;
        if check_handler(id).is_err() {
            return Err(Error::UnknownHandler { id });
        }
        let removed = self.initiator.ni.engine().unregister(id);
        // The engine is free again: what the handler owns is dropped now.
        removed.map(drop).ok_or(Error::UnknownHandler { id })
    }

    /// Sends an active message: runs handler `handler` of `rank` with an address word, six argument words and a payload of up to
    /// [`crate::PAYLOAD_MAX`] bytes. Waits while that rank does not keep up. The handler has run after
    /// [`Port::sync`] or a barrier. A rank that leaves with unhandled messages says so on standard error.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// job.register_handler(1, |_, message| assert_eq!(message.payload, b"payload"))?;
    /// job.barrier()?; // the handler exists everywhere
    /// job.send(1 - job.rank(), 1, 0, [1, 2, 3, 4, 5, 6], b"payload")?;
    /// job.wait_handled(hikyaku::By::Anyone, 1, 1)?;
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[inline]
    pub fn send(&self, rank: usize, handler: u16, address: u64, arguments: Arguments, payload: &[u8]) -> Result<()> {
        let packet = Packet { handler, kind: kind::USER, payload_bytes: payload.len() as u16, address, arguments };
        self.initiator.note_messaged(true);
        self.initiator.submit(rank, &packet, payload)
    }

    /// Sends an active message, but fails at once with [`Error::Busy`] if the rank does not keep up.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// use hikyaku::Error;
    /// job.register_handler(1, |_, _| {})?;
    /// job.barrier()?;
    /// loop {
    ///     match job.try_send(1 - job.rank(), 1, 0, [0; 6], &[]) {
    ///         Err(Error::Busy { .. }) => {} // do something else, then try again
    ///         done => break done?,
    ///     }
    /// }
    /// job.wait_handled(hikyaku::By::Anyone, 1, 1)?;
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn try_send(
        &self,
        rank: usize,
        handler: u16,
        address: u64,
        arguments: Arguments,
        payload: &[u8],
    ) -> Result<()> {
        let packet = Packet { handler, kind: kind::USER, payload_bytes: payload.len() as u16, address, arguments };
        self.initiator.note_messaged(true);
        self.initiator.try_submit(rank, &packet, payload)
    }

    /// Runs handler `handler` of `rank` and waits for its reply: what it passes to [`Context::reply`], or six zeros if it does not reply.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// job.register_handler(2, |context, message| {
    ///     let _ = context.reply(message.arguments.map(|word| 2 * word));
    /// })?;
    /// job.barrier()?; // the handler exists everywhere
    /// let reply = job.call(1 - job.rank(), 2, [1, 2, 3, 4, 5, 6], &[])?;
    /// assert_eq!(reply, [2, 4, 6, 8, 10, 12]);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[track_caller]
    pub fn call(&self, rank: usize, handler: u16, arguments: Arguments, payload: &[u8]) -> Result<Arguments> {
        self.call_slot(rank, handler, arguments, payload, CallSlot::words)
    }

    /// Runs handler `handler` of `rank` and waits for its reply: the words and the bytes that it passes to [`Context::reply_with`]. The
    /// bytes are written to `reply`; returns the words and the number of bytes. A reply longer than `reply` is an error, and nothing is
    /// written; none is longer than [`crate::PAYLOAD_MAX`] bytes.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let names = ["Ise", "Edo"];
    /// job.register_handler(2, move |context, message| {
    ///     let name = names[message.arguments[0] as usize];
    ///     let _ = context.reply_with([name.len() as u64, 0, 0, 0, 0, 0], name.as_bytes());
    /// })?;
    /// job.barrier()?; // the handler exists everywhere
    /// let mut reply = [0; 100];
    /// let (words, bytes) = job.call_with(1 - job.rank(), 2, [1, 0, 0, 0, 0, 0], b"request", &mut reply)?;
    /// assert_eq!((words[0], &reply[..bytes]), (3, &b"Edo"[..]));
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[track_caller]
    pub fn call_with(
        &self,
        rank: usize,
        handler: u16,
        arguments: Arguments,
        payload: &[u8],
        reply: &mut [u8],
    ) -> Result<(Arguments, usize)> {
        let room = reply.len();
        let read = |slot: &CallSlot| (slot.words(), slot.read_payload(reply));
        let (words, bytes) = self.call_slot(rank, handler, arguments, payload, read)?;
        if bytes > room {
            return Err(Error::ReplyTooLong { rank, bytes, room });
        }
        Ok((words, bytes))
    }

    /// Makes a call; no other call of the port begins before its answer was read.
    #[track_caller]
    fn call_slot<R>(
        &self,
        rank: usize,
        handler: u16,
        arguments: Arguments,
        payload: &[u8],
        read: impl FnOnce(&CallSlot) -> R,
    ) -> Result<R> {
        refuse_in_handler()?;
        self.enter(&"call");
        let by = &self.initiator;
        let _calling = by.begin_call(rank)?;
        let slot = &by.ni.calls[by.index];
        let token = slot.open(by.index);
        let packet =
            Packet { handler, kind: kind::CALL, payload_bytes: payload.len() as u16, address: token, arguments };
        by.submit(rank, &packet, payload)?;
        by.await_answer(rank, token)?;
        Ok(read(slot))
    }
}
