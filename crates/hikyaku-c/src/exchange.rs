//! Message exchange. The header has the full description of each.
//!
//! It is of the init thread alone.

use crate::entry::with_everyone;
use crate::error::Failure;
use crate::given::{Out, Source, Target, exported};
use crate::matching::{CMatched, source};
use crate::thread;
use crate::wait::timeout;
use core_hikyaku::Error;
use core_hikyaku::exchange::{Buffers, Exchange};
use core_hikyaku::matching::Keys;
use std::cell::RefCell;
use std::ffi::c_int;
use std::rc::Rc;

thread_local! {
    static OPEN: RefCell<Option<Rc<Exchange<'static>>>> = const { RefCell::new(None) };
}

/// The job ends, and everything of this with it.
pub fn clear() {
    drop(OPEN.take());
}

fn exchange() -> Result<Rc<Exchange<'static>>, Failure> {
    let open = OPEN.with_borrow(Clone::clone);
    open.ok_or_else(|| Error::Invalid("call hk_exchange_open first, on all ranks".into()).into())
}

exported! {
    /// Prepares message exchange.
    pub fn hk_exchange_open(messages: usize, bytes: usize) -> c_int {
        with_everyone(|job| {
            if exchange().is_ok() {
                return Err(Error::Invalid("hk_exchange_open was called already".into()).into());
            }
            let usual = Buffers::of(job.size());
            let or = |given: usize, usual: usize| if given == 0 { usual } else { given };
            let buffers = Buffers { messages: or(messages, usual.messages), bytes: or(bytes, usual.bytes) };
            let made = Rc::new(thread::lasting_job()?.exchange_with(buffers)?);
            OPEN.set(Some(made));
            Ok(())
        })
    }

    /// Ends it.
    pub fn hk_exchange_close() -> c_int {
        with_everyone(|_| {
            exchange()?;
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
    pub fn hk_exchange_send(data: Source<'_>, size: usize, rank: c_int, tag: u64) -> c_int {
        with_everyone(|_| Ok(exchange()?.send(data.bytes(size)?, rank as usize, tag)?))
    }

    /// Receives a message.
    pub fn hk_exchange_recv(
        into: Target<'_>,
        size: usize,
        rank: c_int,
        tag: u64,
        ignored: u64,
        timeout_ms: c_int,
        matched: Out<'_, CMatched>,
    ) -> c_int {
        with_everyone(|_| {
            let (into, tags) = (into.bytes(size)?, Keys::with_ignored(tag, ignored));
            let received = match timeout(timeout_ms) {
                Some(timeout) => exchange()?.recv_for(into, source(rank), tags, timeout)?,
                None => exchange()?.recv(into, source(rank), tags)?,
            };
            matched.give(received.into());
            Ok(())
        })
    }

    /// Whether there is a message.
    pub fn hk_exchange_iprobe(rank: c_int, tag: u64, ignored: u64, matched: Out<'_, CMatched>) -> c_int {
        with_everyone(|_| {
            let there = exchange()?.try_probe(source(rank), Keys::with_ignored(tag, ignored))?;
            there.inspect(|there| matched.give((*there).into()));
            Ok(there.is_some())
        })
    }
}
