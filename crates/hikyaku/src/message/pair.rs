//! This rank and a member: near or far, which is asked once per act, here.

use super::far::pair::FarPair;
use super::near::pair::NearPair;
use super::state::core::Core;
use super::state::link::Link;
use super::state::op::{ReceiveOp, SendOp};
use crate::error::Result;

/// See above.
#[derive(Clone, Copy)]
pub(super) enum Pair<'c> {
    Near(NearPair<'c>),
    Far(FarPair<'c>),
}

impl<'c> Pair<'c> {
    /// With a member, whose link is made if there is none.
    #[inline(always)]
    pub fn of(core: &'c Core, member: usize) -> Pair<'c> {
        Pair::by(core, core.link(member))
    }

    /// With a member, by its link.
    #[inline(always)]
    pub fn by(core: &'c Core, link: &'c Link) -> Pair<'c> {
        match link {
            Link::Near(link) => Pair::Near(NearPair { core, link }),
            Link::Far(link) => Pair::Far(FarPair { core, link }),
        }
    }

    /// With a member, if they have ever talked.
    pub fn met(core: &'c Core, member: usize) -> Option<Pair<'c>> {
        core.links.met(member).map(|link| Pair::by(core, link))
    }

    /// Takes a send as far as it goes now; true when it is done.
    #[inline]
    pub fn poke_send(self, op: &mut SendOp) -> Result<bool> {
        match self {
            Pair::Near(pair) => pair.poke_send(op),
            Pair::Far(pair) => pair.poke_send(op),
        }
    }

    /// Takes the buffer of an offered send back: when this returns, nobody reads it any more. The send goes on from a copy.
    #[cold]
    pub fn withdraw_send(self, op: &mut SendOp) {
        match self {
            Pair::Near(pair) => pair.withdraw_send(op),
            Pair::Far(pair) => pair.withdraw_send(op),
        }
    }

    /// Whether nobody reads the buffer of a send any more that has failed.
    pub fn is_over(self, op: &SendOp) -> bool {
        match self {
            // Its receiver has told nonsense, but may still read.
            Pair::Near(pair) => !op.is_offered() || pair.is_over(op),
            Pair::Far(_) => true,
        }
    }

    /// Tells the sender of a long message where it is wanted, so that it can begin without this rank (F5).
    #[inline(always)]
    pub fn post(self, op: &mut ReceiveOp) {
        match self {
            Pair::Near(pair) => pair.post(op),
            Pair::Far(pair) => pair.post(op),
        }
    }

    /// Takes a receive as far as it goes now; gives the bytes when it is done.
    #[inline]
    pub fn poke_receive(self, op: &mut ReceiveOp) -> Result<Option<usize>> {
        match self {
            Pair::Near(pair) => pair.poke_receive(op),
            Pair::Far(pair) => pair.poke_receive(op),
        }
    }

    /// Takes the buffer of a receive back: when this returns, nobody writes to it any more. The message stays for the next
    /// receive, unless all of it was on its way into this one: then this gives what became of it.
    pub fn withdraw_receive(self, op: &mut ReceiveOp) -> Option<Result<usize>> {
        match self {
            Pair::Near(pair) => pair.withdraw_receive(op),
            Pair::Far(pair) => {
                pair.withdraw_receive(op);
                None
            }
        }
    }

    /// How many bytes the message has that waits in a slot, as its sender says.
    pub fn waiting_bytes(self, entry: usize) -> Result<Option<usize>> {
        match self {
            Pair::Near(pair) => pair.waiting_bytes(entry),
            Pair::Far(pair) => Ok(pair.waiting_bytes(entry)),
        }
    }

    /// Whether a message waits in a slot.
    pub fn has_message(self, entry: usize) -> bool {
        match self {
            Pair::Near(pair) => pair.has_message(entry),
            Pair::Far(pair) => pair.has_message(entry),
        }
    }

    /// Whether everything that was sent to the member was taken, as far as is known here.
    pub fn was_taken(self) -> bool {
        match self {
            Pair::Near(pair) => pair.was_taken(),
            Pair::Far(pair) => pair.was_taken(),
        }
    }

    /// Whether a send that is meant for a receive that waits must not be offered before.
    pub fn sends_to_waiting_only(self) -> bool {
        match self {
            // A near one copies by itself.
            Pair::Near(_) => false,
            // A far one gets a copy in any case.
            Pair::Far(_) => true,
        }
    }
}
