//! Memory that ranks reach of each other: what is registered here, and transfers under way. Part of what the endpoint's lock guards.

use crate::object::{Region, base};
use crate::opening::Opening;
use crate::reach::{BY_PEERS, Over, Reach, Started, Way};
use crate::state::{Ready, State};
use hikyaku::Result;
use hikyaku::spi::{Registration, RemoteFailure, RemoteKey, RemotePlace, Start, Token};
use std::time::{Duration, Instant};

/// Transfers that are under way at most, each by an endpoint of its own.
const REACHES_MAX: usize = 16;
/// When one tries again to open an endpoint.
const REOPEN_AFTER: Duration = Duration::from_secs(1);

/// What there is.
#[derive(Default)]
pub struct Memory {
    /// By their handles.
    regions: Vec<Option<Region>>,
    reaches: Vec<Reach>,
    opening: Option<Opening>,
    /// When none could be opened.
    failed_at: Option<Instant>,
    registered: u64,
}

impl Memory {
    /// Whether as many transfers are under way as there may be.
    fn is_full(&self) -> bool {
        self.reaches.len() == REACHES_MAX && !self.reaches.iter().any(Reach::is_idle)
    }
}

impl State {
    /// Lets peers reach memory.
    ///
    /// # Errors
    /// When libfabric does not.
    ///
    /// # Safety
    /// It stays until it is deregistered.
    pub unsafe fn register(&mut self, start: *mut u8, bytes: usize) -> Result<Registration> {
        let memory = &mut self.memory;
        memory.registered += 1;
        // Where the provider lets one choose, nobody who does not know the secret of the job can guess it.
        let key = self.marks.key(self.me, memory.registered);
        // SAFETY: the caller's promise.
        let region = unsafe { Region::new(&self.port.device, start, bytes, BY_PEERS, key)? };
        let base = base(self.port.offer().mr_mode(), start);
        let key = RemoteKey { base, key: region.key(), bytes: bytes as u64 };
        memory.regions.push(Some(region));
        Ok(Registration { handle: memory.regions.len() as u64 - 1, key })
    }

    /// Nobody reaches memory any more.
    pub fn deregister(&mut self, handle: u64) {
        // A provider that writes by the processor goes on with what it has begun, so only the end of the endpoint ends it.
        while !self.port.offer().revokes() && !self.port.close() {
            std::thread::yield_now();
        }
        if self.port.is_closed() {
            self.sleep.remove(self.port.descriptor());
        }
        if let Some(region) = self.memory.regions.get_mut(handle as usize) {
            *region = None;
        }
    }

    /// Starts a transfer.
    ///
    /// # Errors
    /// When there is no such rank, or it is lost.
    ///
    /// # Safety
    /// The own bytes can be read or written until the token comes back, or [`State::give_up`] is true.
    pub unsafe fn transfer(
        &mut self,
        rank: usize,
        (way, bytes): (Way, usize),
        at: &RemotePlace,
        is_fenced: bool,
        token: Token,
    ) -> Result<Start> {
        let link = self.link(rank)?;
        if let Some(why) = &link.loss {
            return Err(why.error(rank));
        }
        if !link.is_open() {
            return Ok(Start::Busy);
        }
        let (to, under_way) = (link.to, link.transfers);
        if is_fenced && under_way > 0 {
            return Ok(Start::Busy);
        }
        if bytes > self.port.offer().message_max() {
            return Ok(self.withdraw(token));
        }
        if self.memory.is_full() {
            return Ok(Start::Busy);
        }
        // Packets do not wait until there is an endpoint, nor for its connection: they have theirs.
        let Some(reach) = self.reach(rank as u32) else { return Ok(self.withdraw(token)) };
        // SAFETY: the caller's promise.
        match unsafe { reach.start((rank as u32, to), (way, bytes), at, token) } {
            Started::Yes => {
                self.link(rank)?.transfers += 1;
                Ok(Start::Started)
            }
            Started::Busy | Started::No => Ok(self.withdraw(token)),
        }
    }

    /// Libfabric cannot do a transfer, or not yet, and has done nothing of it.
    #[cold]
    fn withdraw(&mut self, token: Token) -> Start {
        self.ready.push_back(Ready::Ended(token, Err(RemoteFailure::Withdrawn)));
        Start::Started
    }

    /// An endpoint for the next transfer with a rank: one that is idle, best one that has a connection to it. If there is none, another
    /// one is opened, for later transfers.
    fn reach(&mut self, rank: u32) -> Option<&mut Reach> {
        let memory = &mut self.memory;
        if let Some(end) = memory.opening.as_mut().and_then(Opening::end) {
            memory.opening = None;
            match end {
                Ok(reach) => memory.reaches.push(reach),
                Err(_) => memory.failed_at = Some(Instant::now()),
            }
        }
        let known = memory.reaches.iter().position(|reach| reach.is_idle() && reach.knows(rank));
        if let Some(index) = known.or_else(|| memory.reaches.iter().position(Reach::is_idle)) {
            return memory.reaches.get_mut(index);
        }
        let is_too_soon = memory.failed_at.is_some_and(|at| at.elapsed() < REOPEN_AFTER);
        if memory.opening.is_none() && !is_too_soon {
            match Opening::start(self.port.device.clone(), self.sleep.clone()) {
                Ok(opening) => memory.opening = Some(opening),
                Err(_) => memory.failed_at = Some(Instant::now()),
            }
        }
        None
    }

    /// Sees to transfers that are under way.
    pub fn look_at_transfers(&mut self) {
        self.look_at_reaches(|reach| reach.under_way().is_some());
    }

    /// The same, and to connections.
    pub fn look_at_all_reaches(&mut self) {
        self.look_at_reaches(|_| true);
    }

    fn look_at_reaches(&mut self, which: impl Fn(&Reach) -> bool) {
        // From the last on: one that is closed is removed.
        for index in (0..self.memory.reaches.len()).rev() {
            let reach = &mut self.memory.reaches[index];
            if which(reach)
                && let Some(over) = reach.look()
            {
                self.end_transfer(index, over);
            }
        }
    }

    /// Whether no endpoint for transfers has anything to say.
    pub fn may_reaches_sleep(&mut self) -> bool {
        self.memory.reaches.iter_mut().all(Reach::may_sleep)
    }

    /// A transfer is over, by what libfabric says.
    fn end_transfer(&mut self, index: usize, over: Over) {
        let Over { rank, token, end } = over;
        self.note_end(rank);
        let end = end.map_err(|code| {
            if is_refusal(code) {
                return RemoteFailure::Withdrawn;
            }
            if !self.port.offer().revokes() {
                self.fail(rank as usize, code);
                return RemoteFailure::Lost;
            }
            // The connection of this transfer alone is broken: its target has taken the memory back, or is gone. Packets find out.
            self.close_reach(index);
            if let Some(link) = self.links.get_mut(&rank) {
                link.is_busy = true;
            }
            RemoteFailure::Withdrawn
        });
        self.ready.push_back(Ready::Ended(token, end));
    }

    fn note_end(&mut self, rank: u32) {
        if let Some(link) = self.links.get_mut(&rank) {
            link.transfers -= 1;
        }
    }

    /// Whether a transfer is under way.
    pub fn is_under_way(&self, token: Token) -> bool {
        self.find(token).is_some()
    }

    /// Gives up a transfer; false if libfabric may be at its bytes all the same.
    pub fn give_up(&mut self, token: Token) -> bool {
        self.find(token).is_none_or(|index| self.close_reach(index))
    }

    /// Gives up all transfers with a rank that is lost. What cannot be is given up by whoever takes its bytes back.
    pub fn give_up_all(&mut self, rank: u32) {
        for index in (0..self.memory.reaches.len()).rev() {
            if self.memory.reaches[index].under_way().is_some_and(|(with, _)| with == rank) {
                self.close_reach(index);
            }
        }
    }

    /// The endpoint of a transfer.
    fn find(&self, token: Token) -> Option<usize> {
        self.memory.reaches.iter().position(|reach| reach.under_way().is_some_and(|(_, of_it)| of_it == token))
    }

    fn close_reach(&mut self, index: usize) -> bool {
        if !self.memory.reaches[index].close() {
            return false;
        }
        let reach = self.memory.reaches.remove(index);
        if let Some((rank, token)) = reach.under_way() {
            self.note_end(rank);
            self.ready.push_back(Ready::Ended(token, Err(RemoteFailure::Lost)));
        }
        true
    }
}

/// Whether a transfer was refused as a whole by the target, or by libfabric itself.
fn is_refusal(code: isize) -> bool {
    [libc::EACCES, libc::EINVAL, libc::ENOSYS, libc::EOPNOTSUPP, libc::ENOKEY, libc::EKEYREJECTED]
        .iter()
        .any(|refusal| code == -(*refusal as isize))
}
