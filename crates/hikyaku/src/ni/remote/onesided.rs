//! Starting operations that the network itself does, and waiting for those whose bytes are lent to it. What they rest on is in
//! [`super::direct`].

use super::direct::{Direct, Lent, status_number, word_of};
use super::operation::{Act, Data, Operation};
use super::target::Target;
use super::token;
use super::under_way::{Hearer, Spans};
use crate::error::{Error, Refusal, Result};
use crate::ni::account::StatusWord;
use crate::ni::message::refuse_in_handler;
use crate::ni::operation::Atomic;
use crate::ni::port::Port;
use crate::ni::wait::Wait;
use crate::planted::{Bug, planted};
use crate::transport::core::Token;
use crate::transport::remote_memory::{Change, End, Get, Put, RemotePlace, Start};

/// A push, or a word, that the network can do.
struct Writing<'a> {
    data: Data<'a>,
    to: RemotePlace,
    then: Option<(RemotePlace, u64)>,
    /// It must not pass what was started before.
    fence: bool,
    /// What it means if the network refuses it.
    refusal: Refusal,
}

impl Writing<'_> {
    fn spans(&self) -> Spans {
        let word = self.then.map_or(0..0, |(then, _)| then.offset..then.offset + 8);
        [self.to.offset..self.to.offset + self.data.len() as u64, word]
    }
}

impl Port {
    /// Does a counted operation; false where packets must do it.
    pub(super) fn count_direct(&self, operation: &Operation<'_>, status: Option<StatusWord>) -> Result<bool> {
        let Some(direct) = &self.ni.direct else { return Ok(false) };
        let rank = operation.at.rank;
        let Some(writing) = self.writing(direct, operation).filter(|_| self.is_direct_next(rank)) else {
            return Ok(false);
        };
        self.tick();
        self.settle_packets(rank)?;
        self.routed.set(true);
        let max = direct.limits.inject_max;
        if writing.data.len() <= max {
            self.put_counted(direct, rank, &writing, status)?;
        } else if refuse_in_handler().is_ok() {
            self.put_lent(direct, rank, &writing, status)?;
        } else {
            // A handler cannot wait until its bytes are free, so they are put in pieces that are at once.
            let (last, mut from) = (writing.data.len() - max, 0);
            while from < last {
                let data = writing.data.part(from, max);
                self.put_counted(
                    direct,
                    rank,
                    &Writing { data, to: writing.to.plus(from), then: None, ..writing },
                    None,
                )?;
                from += max;
            }
            let rest = Writing { data: writing.data.part(from, max), to: writing.to.plus(from), ..writing };
            self.put_counted(direct, rank, &rest, status)?;
        }
        Ok(true)
    }

    /// The operation as a put, if it can be one.
    fn writing<'a>(&self, direct: &Direct, operation: &Operation<'a>) -> Option<Writing<'a>> {
        let at = &operation.at;
        let refusal = refusal_at(at);
        let find = |at: &Target, bytes: usize| direct.find(&self.ni, at, bytes as u64);
        match operation.act {
            Act::Push(data) => {
                let writing = Writing { data, to: find(at, data.len())?, then: None, fence: false, refusal };
                let fence = direct.is_written(at.rank, &writing.spans());
                Some(Writing { fence, ..writing })
            }
            Act::PushThen { data, then, tail } => {
                let then = find(&at.beside(&self.ni, then), tail.len())?;
                let then = Some((then, word_of(tail)?));
                Some(Writing { data, to: find(at, data.len())?, then, fence: true, refusal })
            }
            Act::Word(value) => {
                let to = find(at, 8)?;
                Some(Writing { data: Data::EMPTY, to, then: Some((to, value)), fence: true, refusal })
            }
            _ => None,
        }
    }

    /// Whether an operation may begin when the packets of this port are done, or are already: a handler cannot wait for them, and
    /// sends another one.
    fn is_direct_next(&self, rank: usize) -> bool {
        refuse_in_handler().is_ok() || self.ni.accounts[self.index].is_settled(rank)
    }

    /// Waits until everything is done that this port has sent to a rank by packets.
    fn settle_packets(&self, rank: usize) -> Result<()> {
        match self.ni.accounts[self.index].is_settled(rank) || planted(Bug::PutsPassPackets) {
            true => Ok(()),
            false => self.settle(rank),
        }
    }

    fn put_counted(
        &self,
        direct: &Direct,
        rank: usize,
        writing: &Writing<'_>,
        status: Option<StatusWord>,
    ) -> Result<()> {
        let account = &self.ni.accounts[self.index];
        self.start_direct(rank, || {
            let token = direct.open((rank, writing.refusal), self.index, Some(writing.spans()), Hearer::Account);
            if let Some(status) = status {
                account.keep_status(rank, status_number(token), status);
            }
            // SAFETY: no longer than what is read during the call.
            let started = unsafe { self.put(direct, rank, writing, token) };
            if !matches!(started, Ok(Start::Started)) {
                account.drop_status(rank, status_number(token));
                direct.cancel(token);
            }
            started.map(|started| (started, ()))
        })
    }

    /// Puts bytes from where they are, and waits until they are there.
    fn put_lent(&self, direct: &Direct, rank: usize, writing: &Writing<'_>, status: Option<StatusWord>) -> Result<()> {
        let lent = self.start_direct(rank, || {
            let lent = Lent {
                direct,
                token: direct.open((rank, writing.refusal), self.index, Some(writing.spans()), Hearer::Waiter(None)),
            };
            // SAFETY: they can be read as long as the operation is borrowed, and nobody is at them when `lent` is dropped.
            self.started(direct, lent, |token| unsafe { self.put(direct, rank, writing, token) })
        })?;
        let account = &self.ni.accounts[self.index];
        match (self.await_direct(rank, &lent)?, status) {
            (Ok(_), Some(status)) => token::write_status(&self.ni, status),
            (Ok(_), None) => {}
            (Err(_), _) => account.refuse(rank, writing.refusal as u64),
        }
        Ok(())
    }

    /// # Safety
    /// As for [`RemoteMemory::put`](crate::transport::remote_memory::RemoteMemory::put).
    unsafe fn put(&self, direct: &Direct, rank: usize, writing: &Writing<'_>, token: Token) -> Result<Start> {
        let Writing { data, to, then, .. } = *writing;
        let has_word = then.is_some();
        let fence = writing.fence && !planted(Bug::WordUnfenced);
        let put = Put { from: data.start(), bytes: data.len(), to, then, event: has_word, fence };
        // SAFETY: the caller's promise.
        unsafe { direct.network().put(rank, &put, token) }
    }

    /// Reads bytes; false where packets must do it.
    ///
    /// # Safety
    /// They can be written at `into`; peers may change them meanwhile.
    pub(super) unsafe fn pull_direct(&self, from: Target, into: *mut u8, bytes: usize) -> Result<bool> {
        let Some(direct) = &self.ni.direct else { return Ok(false) };
        let Some(place) = direct.find(&self.ni, &from, bytes as u64).filter(|_| bytes > 0) else { return Ok(false) };
        self.settle_packets(from.rank)?;
        let get = Get { from: place, into, bytes, fence: true };
        let lent = self.start_direct(from.rank, || {
            let lent = Lent {
                direct,
                token: direct.open((from.rank, refusal_at(&from)), self.index, None, Hearer::Waiter(None)),
            };
            // SAFETY: the caller's promise; nobody is at them when `lent` is dropped.
            self.started(direct, lent, |token| unsafe { direct.network().get(from.rank, &get, token) })
        })?;
        self.await_direct(from.rank, &lent)?.map_err(|_| refused(&from))?;
        Ok(true)
    }

    /// Changes a word; `None` where packets must do it.
    pub(super) fn atomic_direct(&self, at: Target, operation: Atomic) -> Result<Option<u64>> {
        let Some(direct) = self.ni.direct.as_ref().filter(|direct| direct.limits.atomics_are_shared) else {
            return Ok(None);
        };
        let Some(place) = direct.find(&self.ni, &at, 8) else { return Ok(None) };
        self.settle_packets(at.rank)?;
        let change = Change { at: place, operation, event: true, fence: true };
        let lent = self.start_direct(at.rank, || {
            let lent =
                Lent { direct, token: direct.open((at.rank, refusal_at(&at)), self.index, None, Hearer::Waiter(None)) };
            self.started(direct, lent, |token| direct.network().change(at.rank, &change, token))
        })?;
        self.await_direct(at.rank, &lent)?.map(Some).map_err(|_| refused(&at))
    }

    /// Whether an operation has started; if not, there is none.
    fn started<'d>(
        &self,
        direct: &'d Direct,
        lent: Lent<'d>,
        start: impl FnOnce(Token) -> Result<Start>,
    ) -> Result<(Start, Lent<'d>)> {
        let started = start(lent.token);
        if !matches!(started, Ok(Start::Started)) {
            direct.cancel(lent.token);
        }
        started.map(|started| (started, lent))
    }

    /// Starts an operation, waiting for room.
    fn start_direct<T>(&self, rank: usize, start: impl Fn() -> Result<(Start, T)>) -> Result<T> {
        self.check_peer(rank)?;
        let attempt = || match start() {
            Ok((Start::Started, started)) => Some(Ok(started)),
            Ok((Start::Busy, _)) => None,
            Err(error) => Some(Err(error)),
        };
        match attempt() {
            Some(started) => started,
            None => {
                refuse_in_handler()?;
                self.wait_until(Wait::on_rank(rank).always(), attempt)?
            }
        }
    }

    /// Waits for the end of an operation.
    fn await_direct(&self, rank: usize, lent: &Lent<'_>) -> Result<End> {
        self.wait_until(Wait::on_rank(rank).always(), || lent.direct.ended(lent.token))
    }
}

impl RemotePlace {
    fn plus(self, bytes: usize) -> RemotePlace {
        RemotePlace { offset: self.offset + bytes as u64, ..self }
    }
}

/// What it means if the network refuses an operation there: bounds were checked before, and an area may be gone.
fn refusal_at(at: &Target) -> Refusal {
    if at.area().is_some() { Refusal::UnknownArea } else { Refusal::OutOfBounds }
}

fn refused(at: &Target) -> Error {
    Error::Refused { rank: at.rank, reason: refusal_at(at) }
}
