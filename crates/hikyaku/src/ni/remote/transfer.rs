//! Transfers in pieces, with several requests under way: reading bytes of another rank while the caller waits, and pulls and pushes that
//! go on beside the program.
//!
//! Those that go on beside it go by packets, also where the network reaches memory by itself.

use super::initiator::Initiator;
use super::onesided::OneSided;
use crate::error::{Error, Result};
use crate::memory::copy;
use crate::ni::state::awaited::{By, Wait};
use crate::ni::state::form::{Form, Local};
use crate::ni::state::inside::refuse_in_handler;
use crate::ni::state::transfer::{AWAITED, TransferDesk};
use crate::ni::wire::target::Target;
use std::time::Duration;

impl Initiator {
    /// Reads `bytes` bytes.
    ///
    /// # Safety
    /// They can be written at `into`; peers may change them meanwhile.
    pub unsafe fn pull_routed(&self, from: Target, into: *mut u8, bytes: usize) -> Result<()> {
        let ni = &*self.ni;
        if ni.is_common(&from) {
            let source = ni.common_bytes(&from, bytes as u64).expect("the library's own places");
            // SAFETY: memory of a rank of this host, which stays mapped; the caller's promise.
            unsafe { copy::copy(into, source, bytes) };
            return Ok(());
        }
        refuse_in_handler()?;
        if ni.is_near(from.rank) {
            self.settle(from.rank)?;
        }
        if let Some(network) = OneSided::of(self)
            // SAFETY: the caller's promise.
            && unsafe { network.pull(from, into, bytes)? }
        {
            return Ok(());
        }
        let form = Form::Plain { local: Local::Into(into), bytes, piece: ni.payload_max(from.rank) };
        // SAFETY: the caller's promise.
        unsafe { self.pull_form(from, form) }
    }

    /// Waits until everything of such a pull is here.
    ///
    /// # Safety
    /// As for [`TransferDesk::open`].
    pub(super) unsafe fn pull_form(&self, from: Target, form: Form) -> Result<()> {
        // SAFETY: the caller's promise; it is closed when this returns.
        let open = Open { by: self, token: unsafe { self.desk().open((self.index, AWAITED), from, form)? } };
        let step = || -> Result<Option<()>> {
            if let Some(ended) = self.desk().outcome(open.token, AWAITED).and_then(|(_, ended)| ended) {
                return ended.map(Some);
            }
            // What has come makes room for further requests.
            self.post_pieces(from.rank, open.token)?;
            Ok(None)
        };
        self.wait_for_rank(from.rank, || step().transpose())?
    }

    /// Reads bytes.
    pub fn pull_bytes(&self, from: Target, into: &mut [u8]) -> Result<()> {
        // SAFETY: a live slice, borrowed mutably.
        unsafe { self.pull_routed(from, into.as_mut_ptr(), into.len()) }
    }

    /// Starts a transfer with a far rank: its token, until [`Initiator::end_transfer`].
    ///
    /// # Safety
    /// So many bytes can be written, or read, there until then; peers may change them meanwhile.
    pub unsafe fn start_transfer(&self, scope: u32, at: Target, local: Local, bytes: usize) -> Result<u64> {
        debug_assert!(!self.ni.is_near(at.rank), "what is near is done at once");
        refuse_in_handler()?;
        self.check_peer(at.rank)?;
        let form = Form::Plain { local, bytes, piece: self.ni.payload_max(at.rank) };
        // SAFETY: the caller's promise.
        let token = unsafe { self.desk().open((self.index, scope), at, form)? };
        self.start_pieces(at.rank, token)
    }

    /// Posts the first pieces of a transfer that was opened; its token.
    pub(super) fn start_pieces(&self, rank: usize, token: u64) -> Result<u64> {
        self.note_routed(true);
        if let Err(error) = self.post_pieces(rank, token) {
            self.desk().close(token);
            return Err(error);
        }
        self.tick();
        Ok(token)
    }

    /// Whether a transfer of this scope is over, and how it has ended; an error also for one that is none of this scope.
    pub fn test_transfer(&self, scope: u32, token: u64) -> Result<Option<Result<()>>> {
        self.ni.check_rank(self.ni.rank)?;
        if !matches!(self.desk().outcome(token, scope), Some((_, Some(_)))) {
            self.ni.look();
            self.ni.progress();
            self.ni.failure.raise();
            self.drive_transfers();
        }
        let (rank, ended) = self.desk().outcome(token, scope).ok_or_else(foreign)?;
        match ended {
            Some(ended) => Ok(Some(ended)),
            // What cannot come any more has come to an end too.
            None => Ok(self.check_peer(rank).err().map(Err)),
        }
    }

    /// Waits until a transfer of this scope is over; how it has ended, or nothing if that takes longer than `patience`.
    pub fn await_transfer(&self, scope: u32, token: u64, patience: Option<Duration>) -> Result<Option<Result<()>>> {
        self.ni.check_rank(self.ni.rank)?;
        let rank = match self.desk().outcome(token, scope).ok_or_else(foreign)? {
            (_, Some(ended)) => return Ok(Some(ended)),
            (rank, None) => rank,
        };
        refuse_in_handler()?;
        let ready = || {
            self.drive_transfers();
            match self.ni.drive_transfer(self.index, token) {
                // What a handler has ended meanwhile is none any more.
                Ok(_) => self.desk().outcome(token, scope).map_or_else(|| Some(Err(foreign())), |(_, ended)| ended),
                Err(error) => Some(Err(error)),
            }
        };
        match self.wait_until(Wait::on_rank(rank).always().at_most(patience), ready) {
            Err(Error::Timeout { .. }) if patience.is_some() => Ok(None),
            // Whoever has ended takes the transfer along.
            ended => Ok(Some(ended.and_then(|ended| ended))),
        }
    }

    /// Waits until one of several transfers of this scope is over: which, and how it has ended. Nothing if that takes longer than
    /// `patience`.
    pub fn await_any_transfer(
        &self,
        scope: u32,
        tokens: &[u64],
        patience: Option<Duration>,
    ) -> Result<Option<(usize, Result<()>)>> {
        self.ni.check_rank(self.ni.rank)?;
        let ranks = self.desk().ranks_of(scope, tokens).ok_or_else(foreign)?;
        // The wait itself notices the end of the first one's rank.
        let first = *ranks.first().ok_or_else(foreign)?;
        let first_gone = || ranks.iter().position(|rank| self.ni.find_departed(By::Rank(*rank)).is_err());
        let ready = || {
            self.drive_transfers();
            let over = self.desk().first_over(tokens);
            over.or_else(|| if self.ni.departures() == 0 { None } else { first_gone() })
        };
        let found = match self.desk().first_over(tokens) {
            Some(over) => Ok(over),
            None => {
                refuse_in_handler()?;
                self.wait_until(Wait::on_rank(first).always().at_most(patience), ready)
            }
        };
        match found {
            // Of a rank that has ended, what was done before counts.
            Ok(at) => Ok(self.await_transfer(scope, tokens[at], None)?.map(|ended| (at, ended))),
            Err(Error::Timeout { .. }) if patience.is_some() => Ok(None),
            Err(error) => Ok(Some((0, Err(error)))),
        }
    }

    /// Ends a transfer, whether it is over or not: its bytes are the program's again.
    pub fn end_transfer(&self, token: u64) {
        // In a forked child nobody is at them, and locks may be held for ever.
        if !self.ni.is_forked() {
            self.desk().close(token);
        }
    }

    /// The first transfer at this place or behind it that a scope has open, and the place behind it.
    pub fn transfer_of(&self, scope: u32, from: usize) -> Option<(u64, usize)> {
        if self.ni.is_forked() { None } else { self.desk().opened(Some(scope), from) }
    }

    /// Ends all transfers of a scope, or of the port.
    pub fn end_transfers(&self, scope: Option<u32>) {
        if !self.ni.is_forked() {
            self.desk().close_all(scope);
        }
    }

    /// Posts what has found no room before. An error of a transfer is for whoever waits for it.
    pub fn drive_transfers(&self) {
        self.ni.drive_transfers(self.index);
    }

    pub fn desk(&self) -> &TransferDesk {
        &self.ni.transfers[self.index]
    }

    fn post_pieces(&self, rank: usize, token: u64) -> Result<()> {
        if !self.ni.is_near(rank) {
            return self.ni.drive_transfer(self.index, token).map(drop);
        }
        // Only a port's holder writes into its rings.
        while let Some(piece) = self.desk().next(token) {
            if !self.try_operation(&piece.operation, token)? {
                break;
            }
            piece.posted();
        }
        Ok(())
    }
}

#[cold]
fn foreign() -> Error {
    Error::Invalid("this transfer was started in another scope, or has ended".into())
}

/// A transfer that its caller waits for; closed when dropped.
struct Open<'i> {
    by: &'i Initiator,
    token: u64,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.by.end_transfer(self.token);
    }
}
