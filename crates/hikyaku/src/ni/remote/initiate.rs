//! The initiator's side: sending operations, and hearing of their end.

use super::direct::Direct;
use super::operation::{Act, Data, Manner, Operation, REACHED};
use super::target::Target;
use super::token;
use crate::error::Result;
use crate::ni::Ni;
use crate::ni::account::StatusWord;
use crate::ni::call::CallSlot;
use crate::ni::loan::Loan;
use crate::ni::message::{Calling, refuse_in_handler};
use crate::ni::operation::Atomic;
use crate::ni::port::Port;
use crate::ni::wait::{By, Progress};
use crate::planted::{Bug, planted};
use crate::sync::bell::ANY;
use crate::transport::core::Posted;
use crate::transport::hardware::Multicast;
use crate::transport::remote_memory::RemoteKey;
use crate::transport::shm::ring::PAYLOAD_MAX;
use crate::transport::{Parcel, TAIL_BYTES_MAX};

/// Operations that nobody answers.
impl Port {
    /// A push of any length, then words at an offset of the rank's heap, of which the first is written last: whoever sees it sees
    /// everything.
    pub(crate) fn push_then(&self, to: Target, data: &[u8], then: usize, tail: &[u64]) -> Result<()> {
        self.in_pieces(&Operation::push_then(to, data, then, tail), |piece, _| self.submit_quietly(piece))
    }

    /// A word.
    pub(crate) fn word_quietly(&self, to: Target, value: u64) -> Result<()> {
        self.submit_quietly(&Operation::word(to, value))
    }

    fn submit_quietly(&self, operation: &Operation<'_>) -> Result<()> {
        if self.ni.performs_here(operation) {
            return Ok(());
        }
        self.submit_operation(operation, || token::QUIET, |_| ())
    }
}

/// Operations that nobody answers, sent now or not at all: for protocols that have a wait of their own. False while there is no room.
impl Ni {
    /// [`Port::push_then`] of what fits a packet. `prepared`: its description is an old one.
    pub(crate) fn try_push_then(
        &self,
        to: Target,
        data: &[u8],
        then: usize,
        tail: &[u64],
        prepared: bool,
    ) -> Result<bool> {
        let manner = if prepared { Manner::Prepared } else { Manner::Plain };
        self.try_quietly(&Operation::push_then(to, data, then, tail).in_manner(manner))
    }

    /// A push of what fits a packet.
    pub(crate) fn try_push(&self, to: Target, data: &[u8]) -> Result<bool> {
        self.try_quietly(&Operation::push(to, data))
    }

    /// A push of what fits a packet, whose bytes the transport may read until the loan is over.
    ///
    /// # Safety
    /// They stay as they are until then, or until the loan is dropped.
    pub(crate) unsafe fn try_push_lent(&self, to: Target, data: &[u8], loan: &Loan) -> Result<bool> {
        let operation = Operation::push(to, data);
        self.check_rank(to.rank)?;
        let Some(far) = self.far.as_ref().filter(|_| !self.is_common(&to)) else { return self.try_quietly(&operation) };
        if self.holds_back(to.rank) {
            return Ok(false);
        }
        let (packet, body) = operation.encode(token::QUIET);
        loan.begin();
        // SAFETY: the caller's promise.
        let posted = unsafe { far.post(to.rank, &packet, body, Some(loan.token)) };
        if !matches!(posted, Ok(Posted::Posted)) {
            loan.unlent();
        }
        Ok(posted? != Posted::Busy)
    }

    /// Whether bodies of the longest packets to `rank` are worth a loan.
    pub(crate) fn lends_to(&self, rank: usize) -> bool {
        self.far.as_ref().is_some_and(|far| far.capabilities().lent_min <= self.payload_max(rank))
            && !self.is_near(rank)
    }

    /// A word.
    pub(crate) fn try_word(&self, to: Target, value: u64) -> Result<bool> {
        self.try_quietly(&Operation::word(to, value))
    }

    /// A word that nobody is expected to wait for: it may travel with the next packet.
    pub(crate) fn try_patient_word(&self, to: Target, value: u64) -> Result<bool> {
        self.try_quietly(&Operation::word(to, value).in_manner(Manner::Patient))
    }

    /// What is not in memory that the ranks of this host share is on another host.
    fn try_quietly(&self, operation: &Operation<'_>) -> Result<bool> {
        if self.performs_here(operation) {
            return Ok(true);
        }
        self.check_rank(operation.at.rank)?;
        let (packet, body) = operation.encode(token::QUIET);
        if self.holds_back(operation.at.rank) {
            return Ok(false);
        }
        // SAFETY: the operation's bytes can be read; without a token they are copied.
        unsafe { self.post_body(operation.at.rank, &packet, body) }
    }

    /// A push with words behind it for all other ranks at once, at offsets of their heaps: what is to be sent.
    pub(crate) fn multicast_then(&self, to: usize, data: &[u8], then: usize, tail: &[u64]) -> Parcel {
        // The packet names no rank.
        let to = Target::in_heap(self, self.rank, to);
        let (packet, _) = Operation::push_then(to, data, then, tail).encode(token::QUIET);
        let payload = [data, bytemuck::cast_slice(tail)].concat();
        Parcel { source: self.rank, packet, payload: payload.into() }
    }

    /// Sends it; false while there is no room.
    pub(crate) fn try_multicast(&self, network: &dyn Multicast, parcel: &Parcel) -> Result<bool> {
        self.check_rank(self.rank)?;
        network.multicast(parcel)
    }

    /// Payload bytes of one packet to or from `rank`.
    pub(crate) fn payload_max(&self, rank: usize) -> usize {
        match &self.far {
            Some(far) if !self.is_near(rank) => far.capabilities().payload_max - TAIL_BYTES_MAX,
            _ => PAYLOAD_MAX - TAIL_BYTES_MAX,
        }
    }
}

/// Operations that are counted.
impl Port {
    /// A push of any length; `status` is written when it is done.
    pub(crate) fn push_routed(&self, to: Target, data: Data<'_>, status: Option<StatusWord>) -> Result<()> {
        self.count(Operation { at: to, act: Act::Push(data), manner: Manner::Plain }, status)
    }

    /// A push of any length, then a word at an offset of the rank's heap.
    pub(crate) fn push_notify_routed(&self, to: Target, data: Data<'_>, then: u64, value: u64) -> Result<()> {
        let tail = value.to_ne_bytes();
        self.count(Operation { at: to, act: Act::PushThen { data, then, tail: &tail }, manner: Manner::Plain }, None)
    }

    /// A word. Operations of a port arrive in order, so it follows all pushes.
    pub(crate) fn word_routed(&self, to: Target, value: u64) -> Result<()> {
        self.count(Operation::word(to, value), None)
    }

    fn count(&self, operation: Operation<'_>, status: Option<StatusWord>) -> Result<()> {
        debug_assert!(!self.ni.is_common(&operation.at), "what is mapped is written in place");
        if self.count_direct(&operation, status)? {
            return Ok(());
        }
        self.in_pieces(&operation, |piece, is_last| self.count_piece(piece, status.filter(|_| is_last)))
    }

    fn count_piece(&self, piece: &Operation<'_>, status: Option<StatusWord>) -> Result<()> {
        let (account, rank) = (&self.ni.accounts[self.index], piece.at.rank);
        self.routed.set(true);
        // Counted when it is sent: others may be sent while this waits for room.
        let start = || token::counted(self.index, account.start(rank, self.size(), status), status.is_none());
        self.submit_operation(piece, start, |sent| {
            if !sent {
                account.cancel(rank);
            }
        })
    }

    /// Whether this port has routed operations that may be under way.
    #[inline(always)]
    pub(crate) fn has_routed(&self) -> bool {
        self.routed.get()
    }

    /// Waits until everything this port has sent to `rank` is done there, also what nobody answers.
    pub(crate) fn settle_quiet(&self, rank: usize) -> Result<()> {
        // Nothing is sent for it, but settling asks whether it is done.
        self.ni.accounts[self.index].start(rank, self.size(), None);
        self.settle(rank)
    }

    /// Waits until everything this port has routed to `rank` is done there.
    pub(crate) fn settle(&self, rank: usize) -> Result<()> {
        if !self.is_settled(rank) && !planted(Bug::CountUnread) {
            let settled = self.ask_settled(rank).and_then(|()| {
                let settled = || self.is_settled(rank).then_some(());
                self.wait_until(By::Rank(rank), None, ANY, Progress::Always, settled)
            });
            // A rank that leaves says before what is done.
            if let Err(error) = settled
                && !self.is_settled(rank)
            {
                if error.is_peer_fault() {
                    self.ni.accounts[self.index].write_off(rank);
                    self.ni.direct.iter().for_each(|direct| direct.write_off(self.index, rank));
                }
                return Err(error);
            }
        }
        self.routed.set(!self.unsettled().is_empty());
        Ok(())
    }

    /// Whether everything that this port has routed to `rank` is done.
    fn is_settled(&self, rank: usize) -> bool {
        let is_direct_settled = |direct: &Direct| direct.is_settled(self.index, rank);
        self.ni.accounts[self.index].is_settled(rank) && self.ni.direct.as_ref().is_none_or(is_direct_settled)
    }

    /// The ranks to which something of this port is under way.
    fn unsettled(&self) -> Vec<usize> {
        let mut ranks = self.ni.accounts[self.index].unsettled();
        if let Some(direct) = &self.ni.direct {
            ranks.extend(direct.unsettled(self.index));
            ranks.sort_unstable();
            ranks.dedup();
        }
        ranks
    }

    /// Waits until everything this port has routed is done; a rank that has ended does not keep the others from being waited for.
    pub(crate) fn settle_all(&self) -> Result<()> {
        let unsettled = self.unsettled();
        // All are asked before any is waited for; who cannot be asked cannot be waited for either.
        for rank in &unsettled {
            let _ = self.ask_settled(*rank);
        }
        unsettled.into_iter().map(|rank| self.settle(rank)).fold(Ok(()), Result::and)
    }

    /// Asks to be told when everything up to now is done at `rank`.
    fn ask_settled(&self, rank: usize) -> Result<()> {
        let account = &self.ni.accounts[self.index];
        let Some(number) = account.ask(rank) else { return Ok(()) };
        let at = Target::of_unknown_area(rank, 0);
        let sent = self.submit_operation(
            &Operation { at, act: Act::Settle, manner: Manner::Plain },
            || token::counted(self.index, number, false),
            |_| (),
        );
        if sent.is_err() {
            account.ask_again(rank);
        }
        sent
    }
}

/// Operations whose answer is waited for.
impl Port {
    pub(crate) fn atomic_routed(&self, at: Target, operation: Atomic) -> Result<u64> {
        refuse_in_handler()?;
        match self.atomic_direct(at, operation)? {
            Some(before) => Ok(before),
            None => Ok(self.ask(at, Act::Change(operation))?.slot.words()[0]),
        }
    }

    /// What a far rank knows of its area `id`: key, kind, start, bytes; and how the network reaches it, if it does.
    pub(crate) fn ask_area(&self, rank: usize, id: u32) -> Result<([u64; 4], Option<RemoteKey>)> {
        let words = self.ask(Target::of_unknown_area(rank, id), Act::Open)?.slot.words();
        let [area_key, kind, start, bytes, base, key] = words;
        let reach = (kind & REACHED != 0).then_some(RemoteKey { base, key, bytes });
        Ok(([area_key, kind & !REACHED, start, bytes], reach))
    }

    fn ask(&self, at: Target, act: Act<'_>) -> Result<Answered<'_>> {
        refuse_in_handler()?;
        let calling = self.begin_call(at.rank)?;
        let slot = &self.ni.calls[self.index];
        let token = slot.open(self.index);
        self.submit_operation(&Operation { at, act, manner: Manner::Plain }, || token, |_| ())?;
        self.await_answer(at.rank, token)?;
        Ok(Answered { slot, _calling: calling })
    }
}

/// An answer that has come. No other call of the port begins before it was read.
struct Answered<'p> {
    slot: &'p CallSlot,
    _calling: Calling<'p>,
}

/// Sending.
impl Port {
    /// Calls `each` with parts of the operation that fit a packet, in order, and whether it is the last.
    fn in_pieces(
        &self,
        operation: &Operation<'_>,
        mut each: impl FnMut(&Operation<'_>, bool) -> Result<()>,
    ) -> Result<()> {
        let (Act::Push(data) | Act::PushThen { data, .. }) = operation.act else { return each(operation, true) };
        let max = match self.ni.is_common(&operation.at) {
            true => usize::MAX,
            false => self.ni.payload_max(operation.at.rank),
        };
        let mut from = 0;
        while data.len() - from > max {
            let piece = Act::Push(data.part(from, max));
            each(&Operation { at: operation.at.plus(from), act: piece, ..*operation }, false)?;
            from += max;
        }
        let rest = data.part(from, max);
        let act = match operation.act {
            Act::PushThen { then, tail, .. } => Act::PushThen { data: rest, then, tail },
            _ => Act::Push(rest),
        };
        each(&Operation { at: operation.at.plus(from), act, ..*operation }, true)
    }

    /// Sends an operation, waiting for room. Each time it is tried `start` gives its token, and `tried` hears whether it was sent.
    fn submit_operation(&self, operation: &Operation<'_>, start: impl Fn() -> u64, tried: impl Fn(bool)) -> Result<()> {
        let rank = operation.at.rank;
        self.check_peer(rank)?;
        let attempt = || {
            let sent = self.try_operation(operation, start());
            tried(matches!(sent, Ok(true)));
            match sent {
                Ok(true) => Some(Ok(())),
                Ok(false) => None,
                Err(error) => Some(Err(error)),
            }
        };
        match attempt() {
            Some(sent) => {
                self.tick();
                sent
            }
            None => {
                refuse_in_handler()?;
                self.wait_until(By::Rank(rank), None, ANY, Progress::Always, attempt)?
            }
        }
    }

    /// Sends an operation now; false while there is no room.
    pub(super) fn try_operation(&self, operation: &Operation<'_>, token: u64) -> Result<bool> {
        let (packet, body) = operation.encode(token);
        // SAFETY: the operation's bytes can be read; without a token they are copied.
        unsafe { self.lane.borrow_mut().try_send_body(&self.ni, operation.at.rank, &packet, body) }
    }
}
