//! Message exchange, and messages in packets by the same calls. The header has the full description of each.
//!
//! It is of the init thread alone.

use crate::entry::with_everyone;
use crate::error::Failure;
use crate::given::{Out, Source, Target, exported};
use crate::matching::{CMatched, source};
use crate::thread;
use crate::wait::timeout;
use core_hikyaku::exchange::{Buffers, Exchange};
use core_hikyaku::matching::{Keys, Matched, Source as Of};
use core_hikyaku::packets::Packets;
use core_hikyaku::{Error, Job};
use std::cell::RefCell;
use std::ffi::c_int;
use std::rc::Rc;
use std::time::Duration;

/// By which engine messages go.
enum Mail {
    Exchange(Exchange<'static>),
    Packets(Packets<'static>),
}

impl Mail {
    fn send(&self, data: &[u8], rank: usize, tag: u64) -> core_hikyaku::Result<()> {
        match self {
            Mail::Exchange(exchange) => exchange.send(data, rank, tag),
            Mail::Packets(packets) => packets.send(data, rank, tag),
        }
    }

    fn recv(&self, into: &mut [u8], from: Of, tags: Keys, timeout: Option<Duration>) -> core_hikyaku::Result<Matched> {
        match (self, timeout) {
            (Mail::Exchange(exchange), None) => exchange.recv(into, from, tags),
            (Mail::Exchange(exchange), Some(timeout)) => exchange.recv_for(into, from, tags, timeout),
            (Mail::Packets(packets), None) => packets.recv(into, from, tags),
            (Mail::Packets(packets), Some(timeout)) => packets.recv_for(into, from, tags, timeout),
        }
    }

    fn try_probe(&self, from: Of, tags: Keys) -> core_hikyaku::Result<Option<Matched>> {
        match self {
            Mail::Exchange(exchange) => exchange.try_probe(from, tags),
            Mail::Packets(packets) => packets.try_probe(from, tags),
        }
    }

    fn free(self) -> core_hikyaku::Result<()> {
        match self {
            Mail::Exchange(exchange) => exchange.free(),
            Mail::Packets(packets) => packets.free(),
        }
    }
}

thread_local! {
    static OPEN: RefCell<Option<Rc<Mail>>> = const { RefCell::new(None) };
}

/// The job ends, and everything of this with it.
pub fn clear() {
    drop(OPEN.take());
}

fn exchange() -> Result<Rc<Mail>, Failure> {
    let open = OPEN.with_borrow(Clone::clone);
    open.ok_or_else(|| Error::Invalid("call hk_exchange_open first, on all ranks".into()).into())
}

fn open(messages: usize, bytes: usize, make: fn(&'static Job, Buffers) -> core_hikyaku::Result<Mail>) -> c_int {
    with_everyone(|job| {
        if exchange().is_ok() {
            return Err(Error::Invalid("hk_exchange_open was called already".into()).into());
        }
        let usual = Buffers::of(job.size());
        let or = |given: usize, usual: usize| if given == 0 { usual } else { given };
        let buffers = Buffers { messages: or(messages, usual.messages), bytes: or(bytes, usual.bytes) };
        let made = Rc::new(make(thread::lasting_job()?, buffers)?);
        OPEN.set(Some(made));
        Ok(())
    })
}

exported! {
    /// Prepares message exchange.
    pub fn hk_exchange_open(messages: usize, bytes: usize) -> c_int {
        open(messages, bytes, |job, buffers| job.exchange_with(buffers).map(Mail::Exchange))
    }

    /// The same by packets that a full receiver refuses.
    pub fn hk_exchange_open_packets(messages: usize, bytes: usize) -> c_int {
        open(messages, bytes, |job, buffers| job.packets_with(buffers).map(Mail::Packets))
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
            matched.give(exchange()?.recv(into, source(rank), tags, timeout(timeout_ms))?.into());
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
