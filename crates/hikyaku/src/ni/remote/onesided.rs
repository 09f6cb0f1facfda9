//! Starting operations that the network itself does, and waiting for those whose bytes are lent to it. What they rest on is in
//! [`crate::ni::state::direct`].

use super::initiator::Initiator;
use crate::error::{Error, Refusal, Result};
use crate::memory::atomic::Atomic;
use crate::ni::state::account::{Account, StatusWord};
use crate::ni::state::direct::{Direct, Lent, status_number};
use crate::ni::state::inside::refuse_in_handler;
use crate::ni::state::under_way::{Hearer, Spans};
use crate::ni::wire::operation::{Act, Data, Operation};
use crate::ni::wire::target::Target;
use crate::planted::{Bug, planted};
use crate::transport::core::Token;
use crate::transport::remote_memory::{Change, End, Get, Put, RemoteFailure, RemotePlace, Start};

/// Whoever starts operations, and a network that can do some of them by itself.
#[derive(Clone, Copy)]
pub(super) struct OneSided<'i> {
    by: &'i Initiator,
    direct: &'i Direct,
}

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

impl<'i> OneSided<'i> {
    /// `None` where packets must do everything.
    pub fn of(by: &'i Initiator) -> Option<OneSided<'i>> {
        by.ni.direct.as_ref().map(|direct| OneSided { by, direct })
    }

    /// Does a counted operation, or the part that the network can do; gives what packets must do.
    pub fn count<'a>(self, operation: Operation<'a>, status: Option<StatusWord>) -> Result<Option<Operation<'a>>> {
        let rank = operation.at.rank;
        let Some((writing, rest)) = self.writing(&operation).filter(|_| self.is_next(rank)) else {
            return Ok(Some(operation));
        };
        let limits = &self.direct.limits;
        let (bytes, max) = (writing.data.len(), limits.inject_max);
        let in_handler = bytes > max && refuse_in_handler().is_err();
        if in_handler && max < limits.transfer_min.max(1) {
            return Ok(Some(operation));
        }
        self.by.tick();
        self.settle_packets(rank)?;
        self.by.note_routed(true);
        let status = status.filter(|_| rest.is_none());
        if bytes <= max {
            self.put_counted(rank, &writing, status)?;
        } else if !in_handler {
            if !self.put_lent(rank, &writing, status)? {
                return Ok(Some(operation));
            }
        } else {
            // A handler cannot wait until its bytes are free, so they are put in pieces that are at once.
            let (last, mut from) = (bytes - max, 0);
            while from < last {
                let data = writing.data.part(from, max);
                self.put_counted(rank, &Writing { data, to: writing.to.plus(from), then: None, ..writing }, None)?;
                from += max;
            }
            let rest = Writing { data: writing.data.part(from, max), to: writing.to.plus(from), ..writing };
            self.put_counted(rank, &rest, status)?;
        }
        Ok(rest)
    }

    /// Where a target is to the network, if that is known.
    fn find(self, at: &Target, bytes: usize) -> Option<RemotePlace> {
        self.direct.find(at, bytes as u64, || self.by.ni.try_ask_key(at.rank))
    }

    fn account(self) -> &'i Account {
        &self.by.ni.accounts[self.by.index]
    }

    /// Begins an operation whose bytes are not copied, and whose end is waited for.
    fn lend(self, at: (usize, Refusal), put: Option<Spans>) -> Lent<'i> {
        Lent { direct: self.direct, token: self.direct.open(at, self.by.index, put, Hearer::Waiter(None)) }
    }

    /// The operation as a put, if it can be one, and what packets must do after it.
    fn writing<'a>(self, operation: &Operation<'a>) -> Option<(Writing<'a>, Option<Operation<'a>>)> {
        let at = &operation.at;
        let refusal = refusal_at(at);
        let find = |at: &Target, bytes: usize| self.find(at, bytes);
        let push = |data: Data<'a>| {
            let writing = Writing { data, to: find(at, data.len())?, then: None, fence: false, refusal };
            let fence = self.direct.is_written(at.rank, &writing.spans());
            Some(Writing { fence, ..writing })
        };
        let limits = &self.direct.limits;
        let rest = |act: Act<'a>| Some(Operation { at: *at, act, manner: operation.manner });
        match operation.act {
            Act::Push(data) | Act::PushThen { data, .. } | Act::PushAdd { data, .. }
                if data.len() < limits.transfer_min =>
            {
                None
            }
            Act::Push(data) => Some((push(data)?, None)),
            Act::PushThen { data, then, tail } if !limits.carries_words => {
                Some((push(data)?, rest(Act::PushThen { data: Data::EMPTY, then, tail })))
            }
            Act::PushAdd { data, then, amount } if !limits.carries_words => {
                Some((push(data)?, rest(Act::PushAdd { data: Data::EMPTY, then, amount })))
            }
            Act::PushThen { data, then, tail } => {
                let then = Some((find(&at.beside(then), 8)?, tail.only()?));
                Some((Writing { data, to: find(at, data.len())?, then, fence: true, refusal }, None))
            }
            Act::Word(value) if limits.carries_words => {
                let to = find(at, 8)?;
                Some((Writing { data: Data::EMPTY, to, then: Some((to, value)), fence: true, refusal }, None))
            }
            _ => None,
        }
    }

    /// Whether an operation may begin when the packets of this port are done, or are already: a handler cannot wait for them, and
    /// sends another one.
    fn is_next(self, rank: usize) -> bool {
        refuse_in_handler().is_ok() || self.account().is_settled(rank)
    }

    /// Waits until everything is done that this port has sent to a rank by packets.
    fn settle_packets(self, rank: usize) -> Result<()> {
        match self.account().is_settled(rank) || planted(Bug::PutsPassPackets) {
            true => Ok(()),
            false => self.by.settle(rank),
        }
    }

    fn put_counted(self, rank: usize, writing: &Writing<'_>, status: Option<StatusWord>) -> Result<()> {
        let (direct, account) = (self.direct, self.account());
        self.start(rank, || {
            let token = direct.open((rank, writing.refusal), self.by.index, Some(writing.spans()), Hearer::Account);
            if let Some(status) = status {
                account.keep_status(rank, status_number(token), status);
            }
            // SAFETY: no longer than what is read during the call.
            let started = unsafe { self.put(rank, writing, token) };
            if !matches!(started, Ok(Start::Started)) {
                account.drop_status(rank, status_number(token));
                direct.cancel(token);
            }
            started.map(|started| (started, ()))
        })
    }

    /// Puts bytes from where they are, and waits until they are there; false where packets must do it.
    fn put_lent(self, rank: usize, writing: &Writing<'_>, status: Option<StatusWord>) -> Result<bool> {
        let lent = self.start(rank, || {
            let lent = self.lend((rank, writing.refusal), Some(writing.spans()));
            // SAFETY: they can be read as long as the operation is borrowed, and nobody is at them when `lent` is dropped.
            self.started(lent, |token| unsafe { self.put(rank, writing, token) })
        })?;
        match (self.await_end(rank, &lent)?, status) {
            (Ok(_), Some((word, value))) => self.by.ni.set_status(word, value),
            (Ok(_), None) => {}
            (Err(RemoteFailure::Withdrawn), _) => return Ok(false),
            (Err(_), _) => self.account().refuse(rank, writing.refusal as u64),
        }
        Ok(true)
    }

    /// # Safety
    /// As for [`RemoteMemory::put`](crate::transport::remote_memory::RemoteMemory::put).
    unsafe fn put(self, rank: usize, writing: &Writing<'_>, token: Token) -> Result<Start> {
        let Writing { data, to, then, .. } = *writing;
        let has_word = then.is_some();
        let fence = writing.fence && !planted(Bug::WordUnfenced);
        let put = Put { from: data.start(), bytes: data.len(), to, then, event: has_word, fence };
        // SAFETY: the caller's promise.
        unsafe { self.direct.network().put(rank, &put, token) }
    }

    /// Reads bytes; false where packets must do it.
    ///
    /// # Safety
    /// They can be written at `into`; peers may change them meanwhile.
    pub unsafe fn pull(self, from: Target, into: *mut u8, bytes: usize) -> Result<bool> {
        let is_worth_it = bytes >= self.direct.limits.transfer_min.max(1);
        let Some(place) = is_worth_it.then(|| self.find(&from, bytes)).flatten() else { return Ok(false) };
        self.settle_packets(from.rank)?;
        let get = Get { from: place, into, bytes, fence: true };
        let lent = self.start(from.rank, || {
            let lent = self.lend((from.rank, refusal_at(&from)), None);
            // SAFETY: the caller's promise; nobody is at them when `lent` is dropped.
            self.started(lent, |token| unsafe { self.direct.network().get(from.rank, &get, token) })
        })?;
        match self.await_end(from.rank, &lent)? {
            Ok(_) => Ok(true),
            Err(RemoteFailure::Withdrawn) => Ok(false),
            Err(_) => Err(refused(&from)),
        }
    }

    /// Changes a word; `None` where packets must do it.
    pub fn atomic(self, at: Target, operation: Atomic) -> Result<Option<u64>> {
        if !self.direct.limits.atomics_are_shared {
            return Ok(None);
        }
        let Some(place) = self.find(&at, 8) else { return Ok(None) };
        self.settle_packets(at.rank)?;
        let change = Change { at: place, operation, event: true, fence: true };
        let lent = self.start(at.rank, || {
            let lent = self.lend((at.rank, refusal_at(&at)), None);
            self.started(lent, |token| self.direct.network().change(at.rank, &change, token))
        })?;
        self.await_end(at.rank, &lent)?.map(Some).map_err(|_| refused(&at))
    }

    /// Whether an operation has started; if not, there is none.
    fn started(self, lent: Lent<'i>, start: impl FnOnce(Token) -> Result<Start>) -> Result<(Start, Lent<'i>)> {
        let started = start(lent.token);
        if !matches!(started, Ok(Start::Started)) {
            self.direct.cancel(lent.token);
        }
        started.map(|started| (started, lent))
    }

    /// Starts an operation, waiting for room.
    fn start<T>(self, rank: usize, start: impl Fn() -> Result<(Start, T)>) -> Result<T> {
        self.by.check_peer(rank)?;
        let attempt = || match start() {
            Ok((Start::Started, started)) => Some(Ok(started)),
            Ok((Start::Busy, _)) => None,
            Err(error) => Some(Err(error)),
        };
        match attempt() {
            Some(started) => started,
            None => {
                refuse_in_handler()?;
                self.by.wait_for_rank(rank, attempt)?
            }
        }
    }

    /// Waits for the end of an operation.
    fn await_end(self, rank: usize, lent: &Lent<'_>) -> Result<End> {
        self.by.wait_for_rank(rank, || lent.direct.ended(lent.token))
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
