//! Active messages.
//!
//! A handler in C gets a pointer to its context, which is never followed before it was found to be the one of the
//! handler that runs on this thread now: one kept for later is refused.

use crate::entry::{Code, guarded, with_job, with_port};
use crate::error::Failure;
use crate::given::{Function, In, Out, Source, Target, User, exported};
use crate::thread::{self, with_context};
use core_hikyaku::{ARGUMENT_COUNT, Arguments, Context, Error, HANDLER_COUNT, Message, PAYLOAD_MAX, Port};
use std::ffi::{c_int, c_void};

// The header says so.
const _: () = assert!(ARGUMENT_COUNT == 6 && HANDLER_COUNT == 256 && PAYLOAD_MAX == 8192);

/// `hk_message`.
#[repr(C)]
pub struct CMessage {
    source: c_int,
    address: u64,
    arguments: Arguments,
    payload: *const c_void,
    payload_bytes: usize,
}

/// A handler of the program, with what it wants to be given.
struct Handler {
    run: Function,
    user: User,
}

impl Handler {
    fn handle(&self, context: &mut Context<'_>, message: &Message<'_>) {
        let c_message = CMessage {
            source: message.source as c_int,
            address: message.address,
            arguments: message.arguments,
            payload: message.payload.as_ptr().cast(),
            payload_bytes: message.payload.len(),
        };
        thread::run_handler(context, |context| self.run.run(context, &c_message, self.user));
    }
}

exported! {
    /// Registers a handler.
    pub fn hk_handler_register(id: u16, handler: Option<Function>, user: User) -> c_int {
        with_job(|job| {
            let run = handler.ok_or(Failure::Null("the handler"))?;
            let handler = Handler { run, user };
            Ok(job.register_handler(id, move |context, message| handler.handle(context, message))?)
        })
    }

    /// Removes a handler.
    pub fn hk_handler_remove(id: u16) -> c_int {
        with_job(|job| Ok(job.unregister_handler(id)?))
    }
}

/// Runs a call that sends words and a payload.
#[inline(always)]
fn with_message<C: Code>(
    arguments: In<'_, Arguments>,
    payload: Source<'_>,
    payload_bytes: usize,
    send: impl FnOnce(&Port, Arguments, &[u8]) -> core_hikyaku::Result<C>,
) -> c_int {
    with_port(|port| {
        let words = arguments.words();
        Ok(payload.payload(payload_bytes, |payload| send(port, words, payload))??)
    })
}

exported! {
    /// Sends a message, waiting for room.
    pub fn hk_send(
        rank: c_int,
        handler: u16,
        address: u64,
        arguments: In<'_, Arguments>,
        payload: Source<'_>,
        payload_bytes: usize,
    ) -> c_int {
        let send = |port: &Port, words, payload: &[u8]| port.send(rank as usize, handler, address, words, payload);
        with_message(arguments, payload, payload_bytes, send)
    }

    /// Sends a message if there is room.
    pub fn hk_try_send(
        rank: c_int,
        handler: u16,
        address: u64,
        arguments: In<'_, Arguments>,
        payload: Source<'_>,
        payload_bytes: usize,
    ) -> c_int {
        let send = |port: &Port, words, payload: &[u8]| port.try_send(rank as usize, handler, address, words, payload);
        with_message(arguments, payload, payload_bytes, send)
    }

    /// Runs a handler of a peer and waits for its reply.
    pub fn hk_call(
        rank: c_int,
        handler: u16,
        arguments: In<'_, Arguments>,
        payload: Source<'_>,
        payload_bytes: usize,
        reply: Out<'_, Arguments>,
    ) -> c_int {
        let call = |port: &Port, words, payload: &[u8]| {
            let answer = port.call(rank as usize, handler, words, payload)?;
            reply.give(answer);
            Ok(())
        };
        with_message(arguments, payload, payload_bytes, call)
    }

    /// Runs a handler of a peer and waits for its reply, with bytes.
    pub fn hk_call_with(
        rank: c_int,
        handler: u16,
        arguments: In<'_, Arguments>,
        payload: Source<'_>,
        payload_bytes: usize,
        words: Out<'_, Arguments>,
        reply: Target<'_>,
        reply_max: usize,
        reply_bytes: Out<'_, usize>,
    ) -> c_int {
        // None is longer, however much room there is.
        let room = reply_max.min(PAYLOAD_MAX);
        with_port(|port| {
            let (asked, reply) = (arguments.words(), reply.bytes(room)?);
            let call = |payload: &[u8]| port.call_with(rank as usize, handler, asked, payload, reply);
            let (answer, bytes) = payload.payload(payload_bytes, call)??;
            words.give(answer);
            reply_bytes.give(bytes);
            Ok(())
        })
    }

    /// Inside a handler: sends a further message.
    pub fn hk_context_send(
        context: *mut c_void,
        rank: c_int,
        handler: u16,
        address: u64,
        arguments: In<'_, Arguments>,
        payload: Source<'_>,
        payload_bytes: usize,
    ) -> c_int {
        guarded(|| {
            let words = arguments.words();
            payload.payload(payload_bytes, |payload| {
                with_context(context, |context| Ok(context.send(rank as usize, handler, address, words, payload)?))
            })?
        })
    }

    /// Inside a handler: answers a call.
    pub fn hk_context_reply(context: *mut c_void, arguments: In<'_, Arguments>) -> c_int {
        guarded(|| {
            let words = arguments.words();
            with_context(context, |context| Ok(context.reply(words)?))
        })
    }

    /// Inside a handler: answers a call, with bytes.
    pub fn hk_context_reply_with(
        context: *mut c_void,
        arguments: In<'_, Arguments>,
        payload: Source<'_>,
        payload_bytes: usize,
    ) -> c_int {
        guarded(|| {
            let words = arguments.words();
            payload.payload(payload_bytes, |payload| {
                with_context(context, |context| Ok(context.reply_with(words, payload)?))
            })?
        })
    }

    /// Inside a handler: asks to be run again later.
    pub fn hk_context_retry(context: *mut c_void) -> c_int {
        guarded(|| {
            with_context(context, |context| {
                context.retry_later();
                Ok(())
            })
        })
    }

    /// Runs what has arrived.
    pub fn hk_progress() -> c_int {
        with_port(|port| Ok(port.progress()))
    }

    /// How often a handler has run.
    pub fn hk_handled(id: u16, count: Out<'_, u64>) -> c_int {
        with_port(|port| {
            count.required("the count to be given")?;
            if id >= HANDLER_COUNT {
                return Err(Error::HandlerTaken { id, max: HANDLER_COUNT }.into());
            }
            count.give(port.handled(id));
            Ok(())
        })
    }
}
