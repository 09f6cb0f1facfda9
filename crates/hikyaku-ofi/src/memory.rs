//! Memory that ranks reach of each other: what is registered here, and transfers under way. Part of what the endpoint's lock guards.

use crate::object::{Region, base};
use crate::reach::{BY_PEERS, Reach, Started, Way};
use crate::state::{Ready, State};
use hikyaku::Result;
use hikyaku::spi::{Registration, RemoteFailure, RemoteKey, RemotePlace, Start, Token};

/// Endpoints for transfers, of all ranks. Each costs a few descriptors and a connection.
pub const REACHES_MAX: usize = 16;

/// What there is.
#[derive(Default)]
pub struct Memory {
    /// By their handles.
    regions: Vec<Option<Region>>,
    reaches: Vec<Reach>,
    registered: u64,
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
        let index = match self.reach(rank as u32, to) {
            Ok(Some(index)) => index,
            Ok(None) => return Ok(Start::Busy),
            Err(_) => return Ok(self.withdraw(token)),
        };
        let reach = &mut self.memory.reaches[index];
        // SAFETY: the caller's promise.
        match unsafe { reach.start(&mut self.port, way, bytes, at, token) } {
            Started::Yes => {
                self.link(rank)?.transfers += 1;
                Ok(Start::Started)
            }
            Started::Busy => {
                self.link(rank)?.is_busy = true;
                Ok(Start::Busy)
            }
            Started::No => Ok(self.withdraw(token)),
        }
    }

    /// Libfabric cannot do a transfer, and has done nothing of it.
    #[cold]
    fn withdraw(&mut self, token: Token) -> Start {
        self.ready.push_back(Ready::Ended(token, Err(RemoteFailure::Withdrawn)));
        Start::Started
    }

    /// An endpoint for the next transfer with a rank: one that is idle, or a new one; `None` while all are busy.
    fn reach(&mut self, rank: u32, to: u64) -> Result<Option<usize>> {
        let reaches = &mut self.memory.reaches;
        let is_idle = |reach: &Reach| reach.under_way.is_none();
        if let Some(index) = reaches.iter().position(|reach| reach.rank == rank && is_idle(reach)) {
            return Ok(Some(index));
        }
        if reaches.len() == REACHES_MAX {
            // The one that was opened first.
            let Some(index) = reaches.iter().position(is_idle) else { return Ok(None) };
            if !reaches[index].close() {
                return Ok(None);
            }
            reaches.remove(index);
        }
        reaches.push(Reach::open(&self.port, to, rank)?);
        Ok(Some(reaches.len() - 1))
    }

    /// A transfer is over, by what libfabric says.
    pub fn end_transfer(&mut self, rank: u32, token: Token, end: std::result::Result<(), isize>) {
        let of_it = |reach: &Reach| reach.rank == rank && reach.under_way == Some(token);
        // Others were given up.
        let Some(index) = self.memory.reaches.iter().position(of_it) else { return };
        self.memory.reaches[index].under_way = None;
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
        self.memory.reaches.iter().any(|reach| reach.under_way == Some(token))
    }

    /// Gives up a transfer; false if libfabric may be at its bytes all the same.
    pub fn give_up(&mut self, token: Token) -> bool {
        let index = self.memory.reaches.iter().position(|reach| reach.under_way == Some(token));
        index.is_none_or(|index| self.close_reach(index))
    }

    /// Gives up all transfers with a rank that is lost. What cannot be is given up by whoever takes its bytes back.
    pub fn give_up_all(&mut self, rank: u32) {
        let mut index = 0;
        while index < self.memory.reaches.len() {
            if self.memory.reaches[index].rank != rank || !self.close_reach(index) {
                index += 1;
            }
        }
    }

    fn close_reach(&mut self, index: usize) -> bool {
        if !self.memory.reaches[index].close() {
            return false;
        }
        let reach = self.memory.reaches.remove(index);
        if let Some(token) = reach.under_way {
            self.note_end(reach.rank);
            self.ready.push_back(Ready::Ended(token, Err(RemoteFailure::Lost)));
        }
        true
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // What libfabric may go on to use stays where it is.
        if !self.memory.reaches.iter_mut().all(Reach::close) {
            std::mem::forget(std::mem::take(&mut self.port.transfers));
        }
    }
}

/// Whether a transfer was refused as a whole by the target, or by libfabric itself.
fn is_refusal(code: isize) -> bool {
    [libc::EACCES, libc::EINVAL, libc::ENOSYS, libc::EOPNOTSUPP, libc::ENOKEY, libc::EKEYREJECTED]
        .iter()
        .any(|refusal| code == -(*refusal as isize))
}
