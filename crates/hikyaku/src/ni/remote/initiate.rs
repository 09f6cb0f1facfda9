//! Operations by packets: quiet, counted and asked ones.

use super::initiator::{Calling, Initiator};
use super::onesided::OneSided;
use crate::error::Result;
use crate::memory::atomic::{Atomic, Change};
use crate::ni::state::account::StatusWord;
use crate::ni::state::call::CallSlot;
use crate::ni::state::inside::refuse_in_handler;
use crate::ni::wire::operation::{Act, Data, Manner, Operation, REACHED};
use crate::ni::wire::tail::Tail;
use crate::ni::wire::target::Target;
use crate::ni::wire::token;
use crate::transport::remote_memory::RemoteKey;

/// Operations that nobody answers.
impl Initiator {
    /// A push of any length, then words at an offset of the rank's heap, of which the first is written last: whoever sees it sees
    /// everything.
    pub fn push_then(&self, to: Target, data: &[u8], then: usize, tail: &[u64]) -> Result<()> {
        self.in_pieces(&Operation::push_then(to, data, then, tail), |piece, _| self.submit_quietly(piece))
    }

    /// A word.
    pub fn word_quietly(&self, to: Target, value: u64) -> Result<()> {
        self.submit_quietly(&Operation::word(to, value))
    }

    /// This rank comes to a barrier for the `number`th time, whose words are in the heap of a far rank. Who frees them waits for it.
    pub fn arrive(&self, at: Target, number: u64) -> Result<()> {
        self.note_hint(at.rank);
        self.submit_quietly(&Operation { at, act: Act::Arrive { number }, manner: Manner::Plain })
    }

    fn submit_quietly(&self, operation: &Operation<'_>) -> Result<()> {
        if self.ni.performs_here(operation) {
            return Ok(());
        }
        self.submit_operation(operation, || token::QUIET, |_| ())
    }
}

/// Operations that are counted.
impl Initiator {
    /// A push of any length; `status` is written when it is done.
    pub fn push_routed(&self, to: Target, data: Data<'_>, status: Option<StatusWord>) -> Result<()> {
        self.count(Operation { at: to, act: Act::Push(data), manner: Manner::Plain }, status)
    }

    /// A push of any length, then a word at an offset of the rank's heap.
    pub fn push_notify_routed(&self, to: Target, data: Data<'_>, then: u64, value: u64) -> Result<()> {
        let tail = Tail::Words(std::slice::from_ref(&value));
        self.count(Operation { at: to, act: Act::PushThen { data, then, tail }, manner: Manner::Plain }, None)
    }

    /// A push of any length, then an addition to a word at an offset of the rank's heap.
    pub fn push_add_routed(&self, to: Target, data: Data<'_>, then: u64, amount: u64) -> Result<()> {
        self.count(Operation { at: to, act: Act::PushAdd { data, then, amount }, manner: Manner::Plain }, None)
    }

    /// An addition to a word, of which nobody wants to know what was there.
    pub fn add_routed(&self, to: Target, amount: u64) -> Result<()> {
        self.count(
            Operation { at: to, act: Act::Change(Change::Word(Atomic::Add(amount))), manner: Manner::Plain },
            None,
        )
    }

    /// A word. Operations of a port arrive in order, so it follows all pushes.
    pub fn word_routed(&self, to: Target, value: u64) -> Result<()> {
        self.count(Operation::word(to, value), None)
    }

    pub(super) fn count(&self, operation: Operation<'_>, status: Option<StatusWord>) -> Result<()> {
        debug_assert!(!self.ni.is_common(&operation.at), "what is mapped is written in place");
        let operation = match OneSided::of(self) {
            None => operation,
            Some(network) => match network.count(operation, status)? {
                None => return Ok(()),
                Some(rest) => rest,
            },
        };
        self.in_pieces(&operation, |piece, is_last| self.count_piece(piece, status.filter(|_| is_last)))
    }

    fn count_piece(&self, piece: &Operation<'_>, status: Option<StatusWord>) -> Result<()> {
        let (account, rank) = (&self.ni.accounts[self.index], piece.at.rank);
        self.note_routed(true);
        // Counted when it is sent: others may be sent while this waits for room.
        let start =
            || token::counted(self.index, account.start(rank, self.ni.memory.layout.size, status), status.is_none());
        self.submit_operation(piece, start, |sent| {
            if !sent {
                account.cancel(rank);
            }
        })
    }
}

/// Operations whose answer is waited for.
impl Initiator {
    /// Changes a number; gives its bits from before.
    pub fn change_routed(&self, at: Target, change: Change) -> Result<u64> {
        refuse_in_handler()?;
        // What a network does by itself is asked of it for words alone.
        if let (Some(network), Change::Word(operation)) = (OneSided::of(self), change)
            && let Some(before) = network.atomic(at, operation)?
        {
            return Ok(before);
        }
        Ok(self.ask(at, Act::Change(change))?.slot.words()[0])
    }

    /// What a far rank knows of its area `id`: key, kind, start, bytes; and how the network reaches it, if it does.
    pub fn ask_area(&self, rank: usize, id: u32) -> Result<([u64; 4], Option<RemoteKey>)> {
        let words = self.ask(Target::of_unknown_area(rank, id), Act::Open)?.slot.words();
        let [area_key, kind, start, bytes, base, key] = words;
        let reach = (kind & REACHED != 0).then_some(RemoteKey { base, key, bytes });
        Ok(([area_key, kind & !REACHED, start, bytes], reach))
    }

    fn ask(&self, at: Target, act: Act<'_>) -> Result<Answered<'_>> {
        self.ask_and_tell(at, act, |_| ())
    }

    /// Tells `tried` whether the question was sent.
    pub(super) fn ask_and_tell(&self, at: Target, act: Act<'_>, tried: impl Fn(bool)) -> Result<Answered<'_>> {
        refuse_in_handler()?;
        let calling = self.begin_call(at.rank)?;
        let slot = &self.ni.calls[self.index];
        let token = slot.open(self.index);
        self.submit_operation(&Operation { at, act, manner: Manner::Plain }, || token, tried)?;
        self.await_answer(at.rank, token)?;
        Ok(Answered { slot, _calling: calling })
    }
}

/// An answer that has come. No other call of the port begins before it was read.
pub(super) struct Answered<'p> {
    slot: &'p CallSlot,
    _calling: Calling<'p>,
}
