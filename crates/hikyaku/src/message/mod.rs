//! Message passing by slots: FMPL. Send and receive without queues and searches.
//!
//! Rests on: `job`. Leaves out: groups of ranks and collective operations.
//!
//! A slot is an exclusive place per (sender, receiver, index), so a message needs no matching: its line is the one the
//! receiver looks at. Short messages travel in that line; longer ones through a bounce buffer in memory that both
//! map; long ones are copied once, from the sender's buffer into the receiver's, by both sides at the same time.
//!
//! | file | concept |
//! |---|---|
//! | `slot` | the words two ranks meet on |
//! | `layout` | where they lie |
//! | `state` | what each side keeps to itself |
//! | `spot` | where a buffer is, seen from two processes; copying between them |
//! | `send` | sending: eager, offered, synchronous |
//! | `receive` | receiving: from a slot, from any slot of a rank, from any rank |
//! | `pending` | operations that go on while the program does something else |
//! | `spool` | the spare buffer of sends that have waited long enough |

mod layout;
mod pending;
mod receive;
mod send;
pub(crate) mod slot;
mod spool;
mod spot;
mod state;

pub use layout::EAGER_MAX;
pub use pending::{ReceiveHandle, Scope, SendHandle};
pub use receive::Received;
pub use spool::SpoolReport;

use crate::error::{Error, Result};
use crate::job::Job;
use crate::ni::Ni;
use crate::ni::background::{self, Background};
use crate::ni::place::Symmetric;
use layout::{Layout, Side};
use spool::Spool;
use state::Peer;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

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
}

/// What goes on without the program's calls: other waits of this thread move it too.
struct Core {
    ni: Arc<Ni>,
    area: Symmetric<u8>,
    layout: Layout,
    slots: usize,
    peers: Vec<RefCell<Peer>>,
    spool: RefCell<Spool>,
    /// Where the next search for a message of any rank begins, so that none is always first.
    turn: Cell<usize>,
}

impl Background for Core {
    fn advance(&self) {
        self.move_spooled();
    }
}

impl std::fmt::Debug for Messages<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Messages").field("slots", &self.core.slots).finish_non_exhaustive()
    }
}

/// Slots per pair at most: a head tells 24 bits of a number, a C `int` names a slot.
const SLOTS_MAX: usize = 1 << 20;

impl Job {
    /// Prepares `slots` slots between every two ranks. All ranks call it together.
    pub fn messages(&self, slots: usize) -> Result<Messages<'_>> {
        if slots == 0 || slots > SLOTS_MAX {
            return Err(Error::Invalid(format!("1 to {SLOTS_MAX} slots per pair, not {slots}")));
        }
        // Two domains: by source, and of any source.
        let entries = 2 * slots;
        let layout = Layout::new(entries);
        let area = self.symmetric_sparse::<u8>(layout.peer_bytes * self.size())?;
        let peers = (0..self.size()).map(|_| RefCell::new(Peer::new(entries))).collect();
        let core = Rc::new(Core {
            ni: self.ni.clone(),
            area,
            layout,
            slots,
            peers,
            spool: RefCell::new(Spool::default()),
            turn: Cell::new(0),
        });
        background::register(&core);
        Ok(Messages { job: self, mode: Cell::new(Mode::Standard), core })
    }
}

impl Messages<'_> {
    /// The job.
    pub fn job(&self) -> &Job {
        self.job
    }

    /// Slots between every two ranks.
    pub fn slots(&self) -> usize {
        self.core.slots
    }

    /// When sends return.
    pub fn mode(&self) -> Mode {
        self.mode.get()
    }

    /// Sets when sends return. For `Spool`, give it a spare buffer first.
    pub fn set_mode(&self, mode: Mode) {
        self.mode.set(mode);
    }
}

impl Core {
    /// What this rank holds for `peer`.
    #[inline(always)]
    fn mine(&self, peer: usize) -> Side<'_> {
        self.side(self.ni.rank, peer)
    }

    /// What `peer` holds for this rank.
    #[inline(always)]
    fn theirs(&self, peer: usize) -> Side<'_> {
        self.side(peer, self.ni.rank)
    }

    #[inline(always)]
    fn side(&self, holder: usize, peer: usize) -> Side<'_> {
        // SAFETY: both ranks were checked; the area holds one part per rank and lives as long as `self`.
        unsafe {
            let offset = self.area.start + peer * self.layout.peer_bytes;
            Side::new(self.ni.heap_address(holder, offset), &self.layout)
        }
    }

    /// Checks a rank and a slot, and in a forked child refuses both.
    #[inline(always)]
    fn check(&self, rank: usize, slot: usize) -> Result<()> {
        self.ni.check_rank(rank)?;
        if slot < self.slots { Ok(()) } else { Err(Error::NoSuchSlot { slot, slots: self.slots }) }
    }

    #[inline(always)]
    fn notify(&self, rank: usize) {
        self.ni.notify(rank, crate::sync::bell::ANY);
    }
}
