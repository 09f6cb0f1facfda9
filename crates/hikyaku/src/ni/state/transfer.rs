//! A port's pulls and pushes in pieces: each piece is a request that is answered, several are under way, and so are several transfers.
//!
//! ```text
//!   port                                             whoever receives (one thread at a time)
//!   open: where the bytes are here, and there
//!   next, post, next, post ... at most WINDOW        each answer says which piece it is: copied to its place, under
//!   is it over?                                      the desk's lock; then the next pieces are posted
//!   all there, refused or given up: close            an answer that comes later finds it closed
//! ```
//! One thread at a time posts pieces of a transfer, without the lock: a transport may hand over answers meanwhile. Whoever has closed a
//! transfer knows that nobody reads or writes its bytes any more: what comes later does not find it, and nobody is posting.

use super::form::Form;
use super::packed::Packed;
use crate::error::{Error, Refusal, Result};
use crate::memory::parts::marks::Marks;
use crate::ni::wire::onward::{ONWARD_BYTES, Onward};
use crate::ni::wire::operation::{Manner, Operation};
use crate::ni::wire::target::Target;
use crate::ni::wire::token;
use crate::planted::{Bug, planted};
use crate::sync::brief::lock;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

/// Requests of one transfer under way.
const WINDOW: usize = 16;
/// Transfers that a port can have open.
const OPEN_MAX: usize = 1 << INDEX_BITS;
/// Bits of the number in a token that say where in the table a transfer is.
const INDEX_BITS: u32 = 16;

/// The scope of transfers that their caller waits for. Nobody else ends them.
pub(crate) const AWAITED: u32 = 0;
/// The scope of transfers by addresses.
pub(crate) const BY_ADDRESS: u32 = 1;
/// The scope of copies between other ranks, which end by themselves: who waits for them asks the desk.
const COPIES: u32 = 2;
/// The first of the program's scopes.
pub(crate) const FIRST_SCOPE: u32 = 3;

/// What a port transfers.
#[derive(Debug, Default)]
pub(crate) struct TransferDesk(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    orders: Vec<Order>,
    /// Places that are free.
    closed: Vec<usize>,
    /// Orders so far.
    number: u64,
    /// Copies that are open.
    copies: usize,
    /// Orders with pieces that are still to be posted after the first look: with which rank, and where.
    unposted: BTreeSet<(usize, usize)>,
}

#[derive(Debug)]
struct Order {
    /// 0 when it is closed.
    token: u64,
    /// Whose it is; see [`TransferDesk::open`].
    scope: u32,
    at: Target,
    form: Form,
    /// Of a copy: where it goes, and in the words that travel.
    onward: Option<Arc<(usize, [u8; ONWARD_BYTES])>>,
    /// What its form leads to, if that is not the program's.
    kept: Option<Kept>,
    /// Pieces that were posted, and that were answered.
    asked: usize,
    arrived: usize,
    /// Somebody is posting a piece.
    posting: bool,
    trouble: Option<Trouble>,
}

/// What a transfer needs of its own as long as it is open. The form has its address: it is shared, since whoever moves a box says that nobody
/// else looks into it.
#[derive(Debug)]
#[expect(dead_code, reason = "read by the address in the form")]
enum Kept {
    Packed(Arc<Packed>),
    Marks(Arc<[u64]>),
}

#[derive(Clone, Copy, Debug)]
enum Trouble {
    Refused(u64),
    Nonsense,
}

// SAFETY: the address is followed only while the transfer is open: then whoever opened it keeps the bytes.
unsafe impl Send for Order {}

impl Order {
    fn total(&self) -> usize {
        self.form.total()
    }

    /// Passes over pieces in which there is nothing to ask for.
    fn skip_empty(&mut self) {
        // SAFETY: it is open.
        while self.asked < self.total() && unsafe { self.form.is_empty(self.asked) } {
            self.asked += 1;
            self.arrived += 1;
        }
    }

    /// Of a copy that is under way: to which rank.
    fn copy_to(&self) -> Option<usize> {
        if self.token == 0 || self.is_over() { None } else { self.onward.as_ref().map(|onward| onward.0) }
    }

    fn is_unposted(&self) -> bool {
        self.asked < self.total()
    }

    fn is_over(&self) -> bool {
        let early = if planted(Bug::TransfersEndEarly) { self.total().min(1) } else { 0 };
        self.trouble.is_some() || self.arrived + early >= self.total()
    }

    fn outcome(&self) -> Result<()> {
        let rank = self.at.rank;
        match (self.trouble, self.at.area()) {
            (None, _) => Ok(()),
            (Some(Trouble::Nonsense), _) => Err(Error::PeerMisbehaved { rank, what: "an answer of the wrong size" }),
            (Some(Trouble::Refused(code)), area) => Err(match (Refusal::from_u64(code), area) {
                (Refusal::UnknownArea, Some(id)) => Error::AreaRevoked { rank, id },
                (reason, _) => Error::Refused { rank, reason },
            }),
        }
    }
}

impl Table {
    fn find(&mut self, token: u64) -> Option<&mut Order> {
        self.orders.get_mut(index_of(token)).filter(|order| order.token == token)
    }

    /// An order that waits for this peer's answers.
    fn of(&mut self, token: u64, source: usize) -> Option<&mut Order> {
        self.find(token).filter(|order| order.at.rank == source)
    }

    /// A copy that is over makes room for others, once nobody posts a piece of it.
    fn retire(&mut self, token: u64) {
        if self.find(token).is_some_and(|order| order.scope == COPIES && order.is_over() && !order.posting) {
            self.close(token);
        }
    }

    fn close(&mut self, token: u64) {
        let Some(order) = self.find(token) else { return };
        order.token = 0;
        let (rank, is_copy) = (order.at.rank, order.onward.take().is_some());
        order.kept = None;
        self.copies -= usize::from(is_copy);
        self.strike(token, rank);
        self.closed.push(index_of(token));
    }

    /// Nothing of an order with `rank` is to be posted any more.
    fn strike(&mut self, token: u64, rank: usize) {
        self.unposted.remove(&(rank, index_of(token)));
    }
}

/// Where in the table a transfer is.
fn index_of(token: u64) -> usize {
    token::number_of(token) as usize % OPEN_MAX
}

impl TransferDesk {
    fn table(&self) -> MutexGuard<'_, Table> {
        // Nothing in here panics while the table is changed.
        lock(&self.0)
    }

    /// A new transfer, for whoever has this `scope`: its token. It is not the one of any other transfer of this port.
    ///
    /// # Safety
    /// What it moves can be written, or read, here until it is closed, and the marks read; peers may change the bytes meanwhile.
    pub unsafe fn open(&self, (port, scope): (usize, u32), at: Target, form: Form) -> Result<u64> {
        let mut table = self.table();
        let index = table.closed.pop().unwrap_or(table.orders.len());
        if index == OPEN_MAX {
            return Err(Error::Invalid(format!(
                "{OPEN_MAX} transfers of this port are under way; wait for some first"
            )));
        }
        table.number += 1;
        let token = token::transferred(port, table.number << INDEX_BITS | index as u64);
        let (onward, kept, asked, arrived, posting, trouble) = (None, None, 0, 0, false, None);
        let mut order = Order { token, scope, at, form, onward, kept, asked, arrived, posting, trouble };
        order.skip_empty();
        match table.orders.get_mut(index) {
            Some(place) => *place = order,
            None => table.orders.push(order),
        }
        Ok(token)
    }

    /// A new push of parts that were packed.
    pub fn open_packed(&self, owner: (usize, u32), to: Target, packed: Packed) -> Result<u64> {
        let packed = Arc::new(packed);
        let form = Form::Packed { packed: Arc::as_ptr(&packed), pieces: packed.len() };
        // SAFETY: the order keeps it.
        let token = unsafe { self.open(owner, to, form)? };
        self.keep(token, Kept::Packed(packed));
        Ok(token)
    }

    /// A new pull of marked units of `unit` bytes, in pieces of so many units, which is a multiple of 64.
    ///
    /// # Safety
    /// All marked units can be written from `into` on until it is closed; peers may change them meanwhile.
    pub unsafe fn open_marked(
        &self,
        owner: (usize, u32),
        from: Target,
        (into, unit, piece): (*mut u8, usize, usize),
        marks: Marks<'_>,
    ) -> Result<u64> {
        let words: Arc<[u64]> = (0..marks.words()).map(|index| marks.word(index)).collect();
        let form = Form::Marked { into, unit, units: marks.units(), words: words.as_ptr(), piece };
        // SAFETY: the caller's promise; the order keeps the marks.
        let token = unsafe { self.open(owner, from, form)? };
        self.keep(token, Kept::Marks(words));
        Ok(token)
    }

    /// Nobody looks at what a form leads to before it is kept but whoever opens it, who still has it.
    fn keep(&self, token: u64, kept: Kept) {
        if let Some(order) = self.table().find(token) {
            order.kept = Some(kept);
        }
    }

    /// A piece of a transfer to be posted, unless there is none now, or somebody is at it.
    pub fn next(&self, token: u64) -> Option<Piece<'_>> {
        let mut table = self.table();
        let order = table.find(token)?;
        let is_due = order.is_unposted() && order.asked < order.arrived + WINDOW;
        if order.posting || order.trouble.is_some() || !is_due {
            return None;
        }
        order.posting = true;
        // SAFETY: it is closed only after this piece was dropped.
        let cut = unsafe { order.form.cut(order.asked) };
        let operation = Operation { at: order.at.plus(cut.offset), act: cut.act, manner: Manner::Plain };
        Some(Piece { desk: self, token, operation, is_posted: false })
    }

    /// The first transfer that has pieces left to be posted, by rank and place in the table, from there on.
    pub fn unposted(&self, from: (usize, usize)) -> Option<(u64, (usize, usize))> {
        let table = self.table();
        let at = *table.unposted.range(from..).next()?;
        Some((table.orders[at.1].token, at))
    }

    /// An answer has come: the piece at `position` of a pull, or that one of a push is there.
    pub fn take(&self, token: u64, source: usize, position: u64, piece: &[u8]) {
        let mut table = self.table();
        let Some(order) = table.of(token, source) else { return };
        // SAFETY: it is open.
        if !unsafe { order.form.take(position, piece) } {
            order.trouble = Some(Trouble::Nonsense);
        }
        order.arrived += 1;
        if order.trouble.is_some() {
            table.strike(token, source);
        }
        table.retire(token);
    }

    /// A request was refused.
    pub fn refuse(&self, token: u64, source: usize, reason: u64) {
        let mut table = self.table();
        if let Some(order) = table.of(token, source) {
            order.trouble.get_or_insert(Trouble::Refused(reason));
            table.strike(token, source);
            table.retire(token);
        }
    }

    /// How a transfer has ended, and with which rank it is; no end while it is under way.
    pub fn outcome(&self, token: u64, scope: u32) -> Option<(usize, Option<Result<()>>)> {
        let mut table = self.table();
        let order = table.find(token).filter(|order| order.scope == scope)?;
        Some((order.at.rank, order.is_over().then(|| order.outcome())))
    }

    /// The ranks of these transfers; nothing if one of them is none of this scope.
    pub fn ranks_of(&self, scope: u32, tokens: &[u64]) -> Option<Vec<usize>> {
        let mut table = self.table();
        let rank = |token: &u64| table.find(*token).filter(|order| order.scope == scope).map(|order| order.at.rank);
        tokens.iter().map(rank).collect()
    }

    /// The first of these transfers that is over, or that somebody else has ended.
    pub fn first_over(&self, tokens: &[u64]) -> Option<usize> {
        let mut table = self.table();
        tokens.iter().position(|token| table.find(*token).is_none_or(|order| order.is_over()))
    }

    /// The first transfer at this place in the table or behind it that a scope has open, or anybody, and the place behind it.
    pub fn opened(&self, scope: Option<u32>, from: usize) -> Option<(u64, usize)> {
        let table = self.table();
        let is_its = |order: &Order| order.token != 0 && scope.is_none_or(|scope| order.scope == scope);
        let at = (from..table.orders.len()).find(|at| is_its(&table.orders[*at]))?;
        Some((table.orders[at].token, at + 1))
    }

    /// The ranks that transfers are under way with.
    pub fn unsettled(&self) -> Vec<usize> {
        let table = self.table();
        table.orders.iter().filter(|order| order.token != 0 && !order.is_over()).map(|order| order.at.rank).collect()
    }

    /// Whether no transfer with `rank` is under way.
    pub fn is_settled(&self, rank: usize) -> bool {
        let under_way = |order: &Order| order.token != 0 && order.at.rank == rank && !order.is_over();
        !self.table().orders.iter().any(under_way)
    }

    /// Nobody reads or writes the bytes of a transfer any more when this returns.
    pub fn close(&self, token: u64) {
        loop {
            let mut table = self.table();
            let Some(order) = table.find(token) else { return };
            if !order.posting {
                return table.close(token);
            }
            // Posting waits for nobody.
            drop(table);
            std::thread::yield_now();
        }
    }

    /// Closes what a scope has left open, or anybody.
    pub fn close_all(&self, scope: Option<u32>) {
        let mut from = 0;
        while let Some((token, next)) = self.opened(scope, from) {
            self.close(token);
            from = next;
        }
    }
}

/// Copies between other ranks.
impl TransferDesk {
    /// A new copy of bytes of one rank to another: its token. It is closed when it is over.
    pub fn open_copy(&self, port: usize, from: Target, (bytes, piece): (usize, usize), onward: &Onward) -> Result<u64> {
        let kept = Arc::new((onward.to.rank, onward.encode()));
        let form = Form::Copy { onward: kept.1.as_ptr(), bytes, piece };
        // SAFETY: what it reads here are the words that the order keeps.
        let token = unsafe { self.open((port, COPIES), from, form)? };
        let mut table = self.table();
        if let Some(order) = table.find(token) {
            order.onward = Some(kept);
            table.copies += 1;
        }
        Ok(token)
    }

    /// Whose fault a refusal of a copy is that came from this rank: its own, or that of the rank that the copy is for.
    pub fn to_blame(&self, token: u64, source: usize, is_target: bool) -> Option<usize> {
        let mut table = self.table();
        let to = table.of(token, source)?.copy_to()?;
        Some(if is_target { to } else { source })
    }

    /// A copy under way whose ranks, source and target, are such ones.
    pub fn find_copy(&self, mut is_such: impl FnMut(usize, usize) -> bool) -> Option<(u64, usize, usize)> {
        let table = self.table();
        if table.copies == 0 {
            return None;
        }
        let all = table.orders.iter().filter_map(|order| Some((order.token, order.at.rank, order.copy_to()?)));
        all.into_iter().find(|(_, from, to)| is_such(*from, *to))
    }

    /// How many copies are open.
    pub fn copy_count(&self) -> usize {
        self.table().copies
    }
}

/// A piece that its holder posts; nobody else posts one of that transfer meanwhile, nor closes it.
pub(crate) struct Piece<'d> {
    desk: &'d TransferDesk,
    pub token: u64,
    pub operation: Operation<'d>,
    is_posted: bool,
}

impl Piece<'_> {
    /// It was posted.
    pub fn posted(mut self) {
        self.is_posted = true;
    }
}

impl Drop for Piece<'_> {
    fn drop(&mut self) {
        let mut table = self.desk.table();
        let Some(order) = table.find(self.token) else { return };
        if self.is_posted {
            order.asked += 1;
            order.skip_empty();
        }
        order.posting = false;
        let (rank, is_left) = (order.at.rank, order.is_unposted() && order.trouble.is_none());
        match is_left {
            true => drop(table.unposted.insert((rank, index_of(self.token)))),
            false => table.strike(self.token, rank),
        }
        table.retire(self.token);
    }
}
