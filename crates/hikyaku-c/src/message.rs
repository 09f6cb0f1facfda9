//! Active messages.
//!
//! A handler in C gets a pointer to its context, which is never followed before it was found to be the one of the
//! handler that runs on this thread now: one kept for later is refused.

use crate::entry::{self, Code, give, guarded, required, with_job, with_port};
use crate::error::Failure;
use crate::thread;
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

/// `hk_handler`.
pub type CHandler = unsafe extern "C" fn(*mut c_void, *const CMessage, *mut c_void);

/// A handler of the program, with what it wants to be given.
struct Handler {
    run: CHandler,
    user: *mut c_void,
}

// SAFETY: the header tells that a handler runs on whichever thread finds the message.
unsafe impl Send for Handler {}

impl Handler {
    fn handle(&self, context: &mut Context<'_>, message: &Message<'_>) {
        let c_message = CMessage {
            source: message.source as c_int,
            address: message.address,
            arguments: message.arguments,
            payload: message.payload.as_ptr().cast(),
            payload_bytes: message.payload.len(),
        };
        let context: *mut c_void = (&raw mut *context).cast();
        // SAFETY: a function of the program that takes these; the message lives during the call.
        thread::run_handler(context, || unsafe { (self.run)(context, &c_message, self.user) });
    }
}

/// Runs a call of a handler on its context.
fn with_context(
    context: *mut c_void,
    body: impl FnOnce(&mut Context<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if !thread::is_current(context) {
        return Err(Failure::Context);
    }
    // SAFETY: the context that `Handler::handle` was given, on this thread, while it runs; it does not use it meanwhile.
    body(unsafe { &mut *context.cast::<Context<'_>>() })
}

/// The words at `arguments`, or zeros.
///
/// # Safety
/// Null, or six words can be read there.
#[inline(always)]
unsafe fn words(arguments: *const Arguments) -> Arguments {
    if arguments.is_null() {
        return [0; ARGUMENT_COUNT];
    }
    // SAFETY: the caller's promise.
    unsafe { arguments.read_unaligned() }
}

/// Registers a handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_handler_register(id: u16, handler: Option<CHandler>, user: *mut c_void) -> c_int {
    with_job(|job| {
        let run = handler.ok_or(Failure::Null("the handler"))?;
        let handler = Handler { run, user };
        Ok(job.register_handler(id, move |context, message| handler.handle(context, message))?)
    })
}

/// Removes a handler.
#[unsafe(no_mangle)]
pub extern "C" fn hk_handler_remove(id: u16) -> c_int {
    with_job(|job| Ok(job.unregister_handler(id)?))
}

/// Runs a call that sends words and a payload.
///
/// # Safety
/// They can be read; `arguments` may be null.
#[inline(always)]
unsafe fn with_message<C: Code>(
    arguments: *const Arguments,
    payload: *const c_void,
    payload_bytes: usize,
    send: impl FnOnce(&Port, Arguments, &[u8]) -> core_hikyaku::Result<C>,
) -> c_int {
    with_port(|port| {
        // SAFETY: the caller's promise.
        let sent = unsafe {
            let words = words(arguments);
            entry::payload(payload, payload_bytes, |payload| send(port, words, payload))?
        };
        Ok(sent?)
    })
}

/// Sends a message, waiting for room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_send(
    rank: c_int,
    handler: u16,
    address: u64,
    arguments: *const Arguments,
    payload: *const c_void,
    payload_bytes: usize,
) -> c_int {
    let send = |port: &Port, words, payload: &[u8]| port.send(rank as usize, handler, address, words, payload);
    // SAFETY: the caller's to read.
    unsafe { with_message(arguments, payload, payload_bytes, send) }
}

/// Sends a message if there is room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_try_send(
    rank: c_int,
    handler: u16,
    address: u64,
    arguments: *const Arguments,
    payload: *const c_void,
    payload_bytes: usize,
) -> c_int {
    let send = |port: &Port, words, payload: &[u8]| port.try_send(rank as usize, handler, address, words, payload);
    // SAFETY: the caller's to read.
    unsafe { with_message(arguments, payload, payload_bytes, send) }
}

/// Runs a handler of a peer and waits for its reply.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_call(
    rank: c_int,
    handler: u16,
    arguments: *const Arguments,
    payload: *const c_void,
    payload_bytes: usize,
    reply: *mut Arguments,
) -> c_int {
    let call = |port: &Port, words, payload: &[u8]| {
        let answer = port.call(rank as usize, handler, words, payload)?;
        // SAFETY: null, or the caller's to write.
        unsafe { give(reply, answer) };
        Ok(())
    };
    // SAFETY: the caller's to read.
    unsafe { with_message(arguments, payload, payload_bytes, call) }
}

/// Inside a handler: sends a further message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_context_send(
    context: *mut c_void,
    rank: c_int,
    handler: u16,
    address: u64,
    arguments: *const Arguments,
    payload: *const c_void,
    payload_bytes: usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's to read.
        unsafe {
            let words = words(arguments);
            entry::payload(payload, payload_bytes, |payload| {
                with_context(context, |context| Ok(context.send(rank as usize, handler, address, words, payload)?))
            })?
        }
    })
}

/// Inside a handler: answers a call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_context_reply(context: *mut c_void, arguments: *const Arguments) -> c_int {
    guarded(|| {
        // SAFETY: the caller's to read.
        let words = unsafe { words(arguments) };
        with_context(context, |context| Ok(context.reply(words)?))
    })
}

/// Inside a handler: asks to be run again later.
#[unsafe(no_mangle)]
pub extern "C" fn hk_context_retry(context: *mut c_void) -> c_int {
    guarded(|| {
        with_context(context, |context| {
            context.retry_later();
            Ok(())
        })
    })
}

/// Runs what has arrived.
#[unsafe(no_mangle)]
pub extern "C" fn hk_progress() -> c_int {
    with_port(|port| Ok(port.progress()))
}

/// How often a handler has run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_handled(id: u16, count: *mut u64) -> c_int {
    with_port(|port| {
        required(count, "the count to be given")?;
        if id >= HANDLER_COUNT {
            return Err(Error::HandlerTaken { id, max: HANDLER_COUNT }.into());
        }
        // SAFETY: not null, and the caller's to write.
        unsafe { give(count, port.handled(id)) };
        Ok(())
    })
}
