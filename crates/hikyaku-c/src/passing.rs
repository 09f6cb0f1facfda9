//! Messages by rank and tag, by an engine that one argument chooses. The header has the full description of each.
//!
//! They are of the init thread alone.

use crate::entry::with_everyone;
use crate::error::Failure;
use crate::given::{Out, Source, Target, exported};
use crate::thread;
use crate::wait::timeout;
use core_hikyaku::Error;
use core_hikyaku::passing::{Engine, MessagePassing};
use std::cell::RefCell;
use std::ffi::c_int;
use std::rc::Rc;

thread_local! {
    static OPEN: RefCell<Option<Rc<MessagePassing<'static>>>> = const { RefCell::new(None) };
}

/// The job ends, and everything of this with it.
pub fn clear() {
    drop(OPEN.take());
}

fn passing() -> Result<Rc<MessagePassing<'static>>, Failure> {
    let open = OPEN.with_borrow(Clone::clone);
    open.ok_or_else(|| Error::Invalid("call hk_passing_open first, on all ranks".into()).into())
}

/// What `hk_engine` means.
fn engine(engine: c_int, slots: usize) -> Result<Engine, Failure> {
    Ok(match engine {
        0 => Engine::Slots(slots),
        1 => Engine::Matched,
        2 => Engine::Exchange,
        3 => Engine::Packets,
        _ => return Err(Failure::Choice { what: "hk_engine", value: engine.into() }),
    })
}

exported! {
    /// Prepares messages by an engine.
    pub fn hk_passing_open(by: c_int, slots: usize) -> c_int {
        with_everyone(|_| {
            if passing().is_ok() {
                return Err(Error::Invalid("hk_passing_open was called already".into()).into());
            }
            let made = thread::lasting_job()?.message_passing(engine(by, slots)?)?;
            OPEN.set(Some(Rc::new(made)));
            Ok(())
        })
    }

    /// Ends them.
    pub fn hk_passing_close() -> c_int {
        with_everyone(|_| {
            passing()?;
            match OPEN.take().map(Rc::try_unwrap) {
                Some(Ok(open)) => Ok(open.free()?),
                Some(Err(used)) => {
                    // By a function that runs in the middle of another call with it.
                    OPEN.set(Some(used));
                    Err(Error::InFunction.into())
                }
                None => Ok(()),
            }
        })
    }

    /// Sends a message.
    pub fn hk_passing_send(data: Source<'_>, size: usize, rank: c_int, tag: u64) -> c_int {
        with_everyone(|_| Ok(passing()?.send(data.bytes(size)?, rank as usize, tag)?))
    }

    /// Receives a message.
    pub fn hk_passing_recv(
        into: Target<'_>,
        size: usize,
        rank: c_int,
        tag: u64,
        timeout_ms: c_int,
        got: Out<'_, usize>,
    ) -> c_int {
        with_everyone(|_| {
            let (passing, into, rank) = (passing()?, into.bytes(size)?, rank as usize);
            got.give(match timeout(timeout_ms) {
                None => passing.recv(into, rank, tag)?,
                Some(timeout) => passing.recv_for(into, rank, tag, timeout)?,
            });
            Ok(())
        })
    }

    /// Waits for a message.
    pub fn hk_passing_probe(rank: c_int, tag: u64, size: Out<'_, usize>) -> c_int {
        with_everyone(|_| {
            size.give(passing()?.probe(rank as usize, tag)?);
            Ok(())
        })
    }
}
