//! What goes on after a call has returned: messages and collective calls of a group, on buffers that the program lends.
//!
//! A call that starts something takes its buffer for `'static` ([`Source`], [`Target`]): the header demands that it stays, and is left
//! alone, until the program has heard that what was started has ended. No lifetime says that, so such a buffer is handed to what
//! was started, here, and nobody else gets it.

use super::error::Outcome;
use crate::given::{Source, Target};
use core_hikyaku::collective::Scope;
use core_hikyaku::ffi::{RawMessages, open_scope};
use core_hikyaku::message::{Messages, Received};
use core_hikyaku::{Error, Group};
use std::ops::Deref;
use std::rc::Rc;

/// Bytes that a send may read until it has ended.
#[derive(Clone, Copy, Debug)]
pub struct LentSource {
    start: *const u8,
    size: usize,
}

impl LentSource {
    pub fn new(buf: Source<'static>, size: usize) -> Outcome<LentSource> {
        Ok(LentSource { start: buf.address(size)?, size })
    }
}

/// Bytes that a receive may write until it has ended.
#[derive(Clone, Copy, Debug)]
pub struct LentTarget {
    start: *mut u8,
    size: usize,
}

impl LentTarget {
    pub fn new(buf: Target<'static>, size: usize) -> Outcome<LentTarget> {
        Ok(LentTarget { start: buf.address(size)?, size })
    }
}

/// The messages of a group. What does not block is started and ended here alone, so it is never that of a scope or of a prepared
/// transfer of the Rust library.
pub struct Slots(Messages<'static>);

impl Deref for Slots {
    type Target = Messages<'static>;

    #[inline(always)]
    fn deref(&self) -> &Messages<'static> {
        &self.0
    }
}

impl Slots {
    pub fn new(messages: Messages<'static>) -> Slots {
        Slots(messages)
    }

    pub fn into_inner(self) -> Messages<'static> {
        self.0
    }

    /// Starts a send.
    #[inline(always)]
    pub fn isend(&self, data: LentSource, rank: usize, slot: usize) -> Result<(), Error> {
        // SAFETY: lent until the send has ended.
        unsafe { self.0.isend(data.start, data.size, rank, slot) }
    }

    /// Starts a receive.
    #[inline(always)]
    pub fn irecv(&self, into: LentTarget, rank: usize, slot: usize) -> Result<(), Error> {
        // SAFETY: lent until the receive has ended.
        unsafe { self.0.irecv(into.start, into.size, rank, slot) }
    }

    /// Receives from whatever slot.
    pub fn recv_any_slot_into(&self, into: LentTarget, rank: usize) -> Result<Received, Error> {
        let into = match into.start.is_null() {
            true => &mut [],
            // SAFETY: lent until this receive has ended, and no longer than a slice may be.
            false => unsafe { std::slice::from_raw_parts_mut(into.start, into.size) },
        };
        self.0.recv_any_slot(into, rank)
    }

    /// Waits for a send.
    #[inline(always)]
    pub fn isend_wait(&self, rank: usize, slot: usize) -> Result<(), Error> {
        // SAFETY: only what is here starts sends of these messages.
        unsafe { self.0.isend_wait(rank, slot) }
    }

    /// Waits for a receive; the bytes that came.
    #[inline(always)]
    pub fn irecv_wait(&self, rank: usize, slot: usize) -> Result<usize, Error> {
        // SAFETY: only what is here starts receives of these messages.
        unsafe { self.0.irecv_wait(rank, slot) }
    }

    /// Whether a send has ended.
    #[inline(always)]
    pub fn isend_test(&self, rank: usize, slot: usize) -> Result<bool, Error> {
        // SAFETY: only what is here starts sends of these messages.
        unsafe { self.0.isend_test(rank, slot) }
    }

    /// The bytes that came, once a receive has ended.
    #[inline(always)]
    pub fn irecv_test(&self, rank: usize, slot: usize) -> Result<Option<usize>, Error> {
        // SAFETY: only what is here starts receives of these messages.
        unsafe { self.0.irecv_test(rank, slot) }
    }

    /// Reserves a slot for sends of one buffer.
    pub fn reserve_send(&self, data: LentSource, rank: usize, slot: usize) -> Result<ReservedSend, Error> {
        self.0.reserve_send(rank, slot)?;
        Ok(ReservedSend { data, rank, slot })
    }

    /// Reserves a slot for receives into one buffer.
    pub fn reserve_recv(&self, into: LentTarget, rank: usize, slot: usize) -> Result<ReservedReceive, Error> {
        self.0.reserve_recv(rank, slot)?;
        Ok(ReservedReceive { into, rank, slot })
    }
}

/// A slot of a group that belongs to a prepared send of it.
#[derive(Debug)]
pub struct ReservedSend {
    data: LentSource,
    rank: usize,
    slot: usize,
}

impl ReservedSend {
    /// Starts the send, on the messages that the slot was reserved of.
    #[inline(always)]
    pub fn start(&self, slots: &Slots) -> Result<(), Error> {
        // SAFETY: lent until the send has ended; reserved when this was made.
        unsafe { slots.0.isend_reserved(self.data.start, self.data.size, self.rank, self.slot) }
    }

    pub fn release(self, slots: &Slots) -> Result<(), Error> {
        // SAFETY: reserved when this was made, and it goes with it.
        unsafe { slots.0.release_send(self.rank, self.slot) }
    }
}

/// A slot of a group that belongs to a prepared receive of it.
#[derive(Debug)]
pub struct ReservedReceive {
    into: LentTarget,
    rank: usize,
    slot: usize,
}

impl ReservedReceive {
    /// Starts the receive, on the messages that the slot was reserved of.
    #[inline(always)]
    pub fn start(&self, slots: &Slots) -> Result<(), Error> {
        // SAFETY: lent until the receive has ended; reserved when this was made.
        unsafe { slots.0.irecv_reserved(self.into.start, self.into.size, self.rank, self.slot) }
    }

    pub fn release(self, slots: &Slots) -> Result<(), Error> {
        // SAFETY: reserved when this was made, and it goes with it.
        unsafe { slots.0.release_recv(self.rank, self.slot) }
    }
}

/// A group, and its collective calls under way, which refer to it.
pub struct Members {
    /// Dropped before the group.
    calls: Scope<'static, 'static>,
    /// Stays where it is when this moves.
    group: Rc<Group<'static>>,
}

impl Members {
    pub fn new(group: Group<'static>) -> Members {
        let group = Rc::new(group);
        // SAFETY: `calls` goes before `group`, so the group outlives whatever refers to it.
        let lasting: &'static Group<'static> = unsafe { &*Rc::as_ptr(&group) };
        // SAFETY: the group is not moved; it and the scope stay until all calls were waited for (`is_idle`), as the
        // program has promised of the buffers.
        let calls = unsafe { open_scope(lasting) };
        Members { calls, group }
    }

    #[inline(always)]
    pub fn group(&self) -> &Group<'static> {
        &self.group
    }

    #[inline(always)]
    pub fn calls(&self) -> &Scope<'static, 'static> {
        &self.calls
    }

    /// The group, when no calls are left.
    pub fn into_group(self) -> Group<'static> {
        let Members { calls, group } = self;
        drop(calls);
        Rc::into_inner(group).expect("nobody else has it")
    }
}
