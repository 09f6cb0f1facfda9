//! Message passing by slots: FMPL. Send and receive without queues and searches.
//!
//! Rests on: `job`. Leaves out: groups of ranks and collective operations.
//!
//! A slot is an exclusive place per (sender, receiver, index), so a message needs no matching: its line is the one the
//! receiver looks at. Short messages travel in that line; longer ones through a bounce buffer in memory that both
//! map; long ones are copied once, from the sender's buffer into the receiver's, by both sides at the same time.
//!
//! Each folder uses only those above it in this list.
//!
//! | folder | what is in it |
//! |---|---|
//! | `wire` | the words that two ranks meet on, and where they lie |
//! | `buffer` | buffers of the program, and copying between them |
//! | `state` | what a rank keeps to itself |
//! | `near` | messages between ranks of one host |
//! | `far` | messages between ranks of different hosts |
//! | `operation` | what the program asks for, at once or under way |

pub(crate) mod buffer;
mod far;
mod near;
pub(crate) mod operation;
mod state;
pub(crate) mod wire;

pub use operation::columns::Columns;
pub use operation::prepared::{PreparedReceive, PreparedSend};
pub use operation::receive::Received;
pub use operation::scope::{ReceiveHandle, Scope, SendHandle};
pub use operation::spool::SpoolReport;
pub use wire::layout::EAGER_MAX;

use crate::error::{Error, Result};
use crate::job::Job;
use crate::ni::Ni;
use crate::ni::background::{self, Background};
use crate::ni::place::Symmetric;
use buffer::own::OwnSpots;
use operation::pending::Pending;
use operation::scope::Started;
use operation::spool::Spool;
use state::link::{Link, Links};
use state::peer::Peer;
use state::pool::Pool;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use wire::layout::Layout;
use wire::roster::Roster;

/// When a send may return before its receive is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Never: a send returns when its message was taken.
    Synchronous,
    /// When the message fits a slot or a bounce buffer ([`EAGER_MAX`]); a longer one waits.
    Standard,
    /// As `Standard`, and a send that has waited this long is copied into the spare buffer
    /// ([`Messages::set_spare`]) and returns. Zero: buffered mode.
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
    job: &'j Job,
    mode: Cell<Mode>,
    core: Rc<Core>,
    /// The list of the last scope, for the next one.
    started: Cell<Started>,
    /// How many scopes there were.
    scopes: Cell<u32>,
}

/// What goes on without the program's calls: other waits of this thread move it too.
struct Core {
    ni: Arc<Ni>,
    layout: Layout,
    slots: usize,
    /// Sends wait for their receives here, so most likely at the others too.
    is_synchronous: Cell<bool>,
    /// Which ranks the members are, and where their parts lie.
    roster: Roster,
    /// How many there are, of which this rank is number `me`.
    size: usize,
    me: usize,
    links: Links,
    /// Far members that are owed something.
    owing: RefCell<Vec<usize>>,
    /// Members whose death was told by a receive from anyone.
    mourned: RefCell<HashSet<usize>>,
    spool: RefCell<Spool>,
    /// Sends in it.
    spooled: Cell<usize>,
    /// Nodes for chains.
    pool: RefCell<Pool>,
    pending: RefCell<Pending>,
    /// Buffers of long messages to oneself.
    own_spots: Rc<OwnSpots>,
    /// Where the next search for a message of any rank begins, so that none is always first.
    turn: Cell<usize>,
}

impl Background for Core {
    fn advance(&self, all: bool) {
        self.pay();
        self.move_spooled();
        self.advance_pending(all);
    }
}

impl std::fmt::Debug for Messages<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Messages").field("slots", &self.core.slots).finish_non_exhaustive()
    }
}

/// Slots per pair at most: a head tells 24 bits of a number, a C `int` names a slot.
pub const SLOTS_MAX: usize = 1 << 20;
/// By source, and of any source.
const DOMAINS: usize = 2;

impl Job {
    /// Prepares `slots` slots between every two ranks. All ranks call it together.
    pub fn messages(&self, slots: usize) -> Result<Messages<'_>> {
        self.messages_in(slots, |bytes| self.symmetric_for_messages(bytes))
    }

    /// Prepares `slots` slots between every two ranks for what only the library says.
    pub(crate) fn channel(&self, slots: usize) -> Result<Messages<'_>> {
        self.messages_in(slots, |bytes| self.symmetric_for_channel(bytes))
    }

    fn messages_in(&self, slots: usize, allocate: impl Fn(usize) -> Result<Symmetric<u8>>) -> Result<Messages<'_>> {
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
        let area = allocate(bytes + slots)?;
        Ok(Messages::between(self, slots, Roster::World(area.start), self.size(), self.rank()))
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
    pub(crate) fn over(job: &'j Job, slots: usize, members: &[(usize, usize)], me: usize) -> Messages<'j> {
        Messages::between(job, slots, Roster::Listed(members.into()), members.len(), me)
    }

    fn between(job: &'j Job, slots: usize, roster: Roster, size: usize, me: usize) -> Messages<'j> {
        let ni = job.ni.clone();
        let layout = Layout::new(DOMAINS * slots);
        let core = Rc::new(Core {
            ni,
            layout,
            slots,
            is_synchronous: Cell::new(false),
            roster,
            size,
            me,
            links: Links::new(size),
            owing: RefCell::default(),
            mourned: RefCell::default(),
            spool: RefCell::default(),
            spooled: Cell::new(0),
            pool: RefCell::default(),
            pending: RefCell::default(),
            own_spots: Rc::default(),
            turn: Cell::new(0),
        });
        background::register(&core.ni, &core);
        Messages { job, mode: Cell::new(Mode::Standard), core, started: Cell::default(), scopes: Cell::new(0) }
    }
}

impl<'j> Messages<'j> {
    /// Gives back the memory of messages that no member uses any more.
    pub(crate) fn give_part(self) {
        let core = self.core.clone();
        drop(self);
        core.give_nodes();
        core.ni.give_heap(core.roster.part(core.me), core.layout.peer_bytes * core.size);
    }

    /// The job.
    pub fn job(&self) -> &'j Job {
        self.job
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
    pub fn set_mode(&self, mode: Mode) {
        self.mode.set(mode);
        self.core.is_synchronous.set(mode == Mode::Synchronous);
    }
}

impl Core {
    /// What this rank keeps to itself about `member`.
    #[inline(always)]
    fn state(&self, member: usize) -> &RefCell<Peer> {
        self.link(member).state()
    }

    /// The program has entered a call that sends to `member` or receives from it.
    #[inline(always)]
    fn enter(&self, member: usize) {
        if let (Some(environment), Link::Far(_)) = (&self.ni.environment, self.link(member)) {
            environment.call();
        }
    }

    /// The rank of a member in the job.
    #[inline(always)]
    fn rank_of(&self, member: usize) -> usize {
        self.roster.rank(member)
    }

    /// Checks a member and a slot, and in a forked child refuses both.
    #[inline(always)]
    fn check(&self, member: usize, slot: usize) -> Result<()> {
        if member >= self.size || self.ni.is_forked() {
            return Err(self.bad_member(member));
        }
        if slot < self.slots { Ok(()) } else { Err(Error::NoSuchSlot { slot, slots: self.slots }) }
    }

    #[cold]
    fn bad_member(&self, member: usize) -> Error {
        // Every rank of the job is out of range in a forked child.
        self.ni.check_rank(self.ni.rank).err().unwrap_or(Error::NoSuchRank { rank: member, size: self.size })
    }

    #[cold]
    fn slot_busy(&self, member: usize, entry: usize) -> Error {
        Error::SlotBusy { rank: self.rank_of(member), slot: entry % self.slots }
    }
}
