//! The messages of a job, or of some of its ranks: how they are made, and what is asked of them as a whole.

use super::state::core::Core;
use super::state::pending::Started;
use super::wire::layout::{DOMAINS, Layout};
use super::wire::roster::Roster;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::job::keep::Anchor;
use crate::ni::{Port, Symmetric};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// When a send may return before its message was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Never: a send returns when its message was received.
    Synchronous,
    /// If the message has at most [`EAGER_MAX`](crate::message::EAGER_MAX) bytes, which are copied; a longer one waits for its receive.
    Standard,
    /// As `Standard`, but a send that has waited this long is copied into the spare buffer ([`Messages::set_spare`]) and returns. With
    /// zero this is MPI's buffered mode.
    Spool(Duration),
}

/// Send and receive between the ranks of a job.
///
/// ```
/// hikyaku::local(2, |job| {
///     let messages = job.messages(16)?;               // slots 0 to 15 between every two ranks
///     if job.rank() == 0 {
///         messages.send(&[1.0, 2.0, 3.0], 1, 7)?;
///     } else {
///         let mut data = [0.0; 3];
///         assert_eq!(messages.recv(&mut data, 0, 7)?, 3);
///         assert_eq!(data, [1.0, 2.0, 3.0]);
///     }
///     job.barrier()
/// })
/// .unwrap();
/// ```
pub struct Messages<'j> {
    pub(super) port: Anchor<'j>,
    pub(super) mode: Cell<Mode>,
    pub(super) core: Rc<Core>,
    /// The list of the last scope, for the next one.
    pub(super) started: Cell<Started>,
    /// How many scopes there were.
    pub(super) scopes: Cell<u32>,
}

impl std::fmt::Debug for Messages<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Messages").field("slots", &self.core.slots).finish_non_exhaustive()
    }
}

/// Slots per pair at most: a head tells 24 bits of a number, a C `int` names a slot.
pub const SLOTS_MAX: usize = 1 << 20;

impl Job {
    /// Prepares `slots` slots between every two ranks. All ranks call it together.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let messages = job.messages(4)?; // four slots between every two ranks
    /// if job.rank() == 0 {
    ///     messages.send(&[1.5, 2.5], 1, 3)?;
    /// } else {
    ///     let mut numbers = [0.0; 2];
    ///     assert_eq!(messages.recv(&mut numbers, 0, 3)?, 2);
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn messages(&self, slots: usize) -> Result<Messages<'_>> {
        self.messages_in(slots, |bytes| self.symmetric_for_messages(bytes))
    }

    /// Prepares `slots` slots between every two ranks for what only the library says.
    pub(crate) fn channel(&self, slots: usize) -> Result<Messages<'_>> {
        self.messages_in(slots, |bytes| self.symmetric_for_channel(bytes))
    }

    fn messages_in(&self, slots: usize, allocate: impl Fn(usize) -> Result<Symmetric<u8>>) -> Result<Messages<'_>> {
        let start = self.messages_area(slots, allocate)?;
        Ok(Messages::of_all(self, slots, start))
    }

    /// Memory of every rank for `slots` slots between every two of them: where it begins in their heaps.
    pub(crate) fn messages_area(
        &self,
        slots: usize,
        allocate: impl Fn(usize) -> Result<Symmetric<u8>>,
    ) -> Result<usize> {
        let bytes = match Messages::bytes_for(slots, self.size()) {
            Ok(bytes) => bytes,
            // Takes part in the agreement all the same: the others must not wait for this rank.
            Err(error) => {
                return Err(match allocate(usize::MAX) {
                    Err(earlier @ (Error::InHandler | Error::InFunction | Error::ForkedChild)) => earlier,
                    _ => error,
                });
            }
        };
        // Numbers of slots that make whole pages of the same size differ by what is added: the others compare the sum.
        Ok(allocate(bytes + slots)?.start)
    }
}

impl<'j> Messages<'j> {
    /// What each of `members` ranks needs for `slots` slots with each other.
    pub(crate) fn bytes_for(slots: usize, members: usize) -> Result<usize> {
        if slots == 0 || slots > SLOTS_MAX {
            return Err(Error::Invalid(format!("1 to {SLOTS_MAX} slots per pair, not {slots}")));
        }
        Ok(Layout::new(DOMAINS * slots).peer_bytes * members)
    }

    /// Messages between `members`, given as (rank in the job, where its part of its heap begins), of which this rank
    /// is number `me`. Each part holds [`Messages::bytes_for`] zeroed bytes of that rank's heap.
    pub(crate) fn over(port: &'j Port, slots: usize, members: &[(usize, usize)], me: usize) -> Messages<'j> {
        Messages::between(port, slots, Roster::Listed(members.into()), members.len(), me)
    }

    /// Messages between all ranks, in memory that begins at `start` of their heaps and is used by nothing else.
    pub(crate) fn of_all(port: &'j Port, slots: usize, start: usize) -> Messages<'j> {
        Messages::between(port, slots, Roster::World(start), port.size(), port.rank())
    }

    fn between(port: &'j Port, slots: usize, roster: Roster, size: usize, me: usize) -> Messages<'j> {
        let core = Core::new(port.ni().clone(), slots, roster, size, me);
        let port = Anchor::new(port);
        Messages { port, mode: Cell::new(Mode::Standard), core, started: Cell::default(), scopes: Cell::new(0) }
    }
}

impl<'j> Messages<'j> {
    /// The port that these messages use.
    pub fn port(&self) -> &'j Port {
        self.port.get()
    }

    /// The port is there now.
    ///
    /// # Safety
    /// As for [`Anchor::aim`].
    pub(crate) unsafe fn aim(&self, port: &Port) {
        // SAFETY: the caller's promise.
        unsafe { self.port.aim(port) };
    }

    /// The rank in the job of a member.
    pub(crate) fn rank_of(&self, member: usize) -> Result<usize> {
        self.core.check(member, 0)?;
        Ok(self.core.rank_of(member))
    }

    /// Fails if there is no such slot.
    pub(crate) fn check_slot(&self, slot: usize) -> Result<()> {
        self.core.check(self.core.me, slot)
    }

    /// A number of these messages that all members know, and no other messages of the job have at the same time; `None` if they
    /// belong to the job itself, and go with it.
    pub(crate) fn identity(&self) -> Option<u64> {
        let mix = |sum: u64, word: usize| (sum ^ word as u64).wrapping_mul(0x100_0000_01b3);
        match &self.core.roster {
            Roster::World(_) => None,
            Roster::Listed(members) => {
                let words = members.iter().flat_map(|(rank, start)| [*rank, *start]);
                Some(words.fold(0xcbf2_9ce4_8422_2325, mix) | 1)
            }
        }
    }

    /// Slots between every two ranks.
    pub fn slots(&self) -> usize {
        self.core.slots
    }

    /// This rank's number among those these messages are between.
    pub fn rank(&self) -> usize {
        self.core.me
    }

    /// Number of ranks these messages are between.
    pub fn size(&self) -> usize {
        self.core.size
    }

    /// When sends return.
    pub fn mode(&self) -> Mode {
        self.mode.get()
    }

    /// Sets when sends return. For `Spool`, give it a spare buffer first.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// use hikyaku::message::Mode;
    /// let messages = job.messages(1)?;
    /// messages.set_mode(Mode::Synchronous);
    /// if job.rank() == 0 {
    ///     messages.send(&[1], 1, 0)?; // returns when rank 1 has received it
    /// } else {
    ///     messages.recv(&mut [0], 0, 0)?;
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn set_mode(&self, mode: Mode) {
        self.mode.set(mode);
        self.core.is_synchronous.set(mode == Mode::Synchronous);
    }
}
