//! A long broadcast where the root's buffer is read in place.
//!
//! ```text
//!   root                                             reader
//!   (has told where its buffer is)
//!                                                    entry[n] = where my buffer is, deal open
//!   not closed?                            <-------  looks whether the root has given up
//!   claims chunks of each reader, writes them        claims chunks, reads them
//!   waits for done                         <-------  all chunks copied: done = n
//! ```
//! Both sides copy where every rank has a core: the root would only wait.
//!
//! Nobody may read or write a buffer that its owner has taken back. A reader does not return while the root copies for
//! it. A root that cannot wait for all (a member died) closes its buffer, and then waits for those readers only that had
//! entered before; the fences see to it that a reader which the root does not see sees the closed mark.

use super::group::NearGroup;
use super::source::Source;
use crate::collective::label::Label;
use crate::collective::round::Round;
use crate::error::{Error, Refusal, Result};
use crate::memory::memcheck;
use crate::message::buffer::chunk::Chunks;
use crate::ni::{By, Wait};
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

/// How long the cause of a shut buffer may take to be known here.
const CAUSE_PATIENCE: Duration = Duration::from_secs(1);
/// How much longer than the end of whoever shut it.
const NEWS_PATIENCE: Duration = Duration::from_millis(50);

impl NearGroup<'_, '_> {
    /// The root's side.
    pub(in crate::collective) fn be_read(self, label: Label, data: &[u8]) -> Result<()> {
        // The others may read from the moment they were told.
        let entering = Round::new(label, self.number.get() + 1, self.history.get());
        let closes = Closes { group: self, round: entering };
        let round = self.enter(label)?;
        self.publish(&round);
        let given = self.help_readers(&round, data).and_then(|()| self.await_done(round.number));
        match given {
            Ok(()) => std::mem::forget(closes),
            Err(_) => drop(closes),
        }
        self.finish(&round);
        given
    }

    /// Copies for the readers, as long as they have chunks left.
    fn help_readers(self, round: &Round, data: &[u8]) -> Result<()> {
        if self.crowded {
            return Ok(());
        }
        let ni = &**self.port.ni();
        let (chunks, uncached) = (Chunks::of(data.len()), self.is_uncached(data.len()));
        for member in (0..self.size()).filter(|member| *member != self.rank()) {
            self.await_member(round, member)?;
            let rank = self.members[member].rank;
            let target: Source = self.value_of(round, member);
            let deal = &self.part(member).deal;
            while target.is_reached(ni, rank) {
                let Some(index) = deal.claim(round.number, chunks.count) else { break };
                let range = chunks.range(index);
                // SAFETY: the reader keeps its buffer, of the same size by the label, until all claimed chunks are
                // copied, and nobody else has claimed this one.
                let written = unsafe { target.write(uncached, ni, rank, chunks.bytes, range.start, &data[range]) };
                written.map_err(|error| self.unreachable(rank, error))?;
                deal.copied();
            }
            self.notify(member);
        }
        Ok(())
    }

    /// When this returns, nobody reads the buffer that this member has told of for this call.
    #[cold]
    pub(in crate::collective) fn close(self, round: &Round) {
        self.shut(round);
        self.await_readers(round);
    }

    /// Nobody that comes from now on uses the buffer that this member has told of for this call.
    #[cold]
    pub(in crate::collective) fn shut(self, round: &Round) {
        if self.port.ni().check_rank(self.port.ni().rank).is_err() {
            // A forked child: the buffer that others know of is its parent's.
            return;
        }
        self.part(self.rank()).closed.set(round.number);
        fence(Ordering::SeqCst);
        self.notify_all();
    }

    /// Waits for those that came before it was shut.
    #[cold]
    pub(in crate::collective) fn await_readers(self, round: &Round) {
        for member in (0..self.size()).filter(|member| *member != self.rank()) {
            let (part, entry) = (self.part(member), self.entry(member, round));
            let done = || {
                // Rung for by `finish`.
                part.finished.want();
                // One that asks for something else does not read, and may never finish.
                let reads = entry.ask.look() == (round.head, round.argument);
                (!reads || part.finished.get() >= round.number).then_some(())
            };
            // One that has ended does not read either.
            self.wait_out(By::Rank(self.members[member].rank), done);
        }
    }

    /// A reader's side.
    pub(in crate::collective) fn read_root(self, label: Label, source: Source, data: &mut [u8]) -> Result<()> {
        let round = self.enter(label)?;
        let chunks = Chunks::of(data.len());
        let deal = &self.part(self.rank()).deal;
        deal.open(round.number);
        // From here to the end the buffer is reached through this pointer alone, by the root too.
        let start = data.as_mut_ptr();
        let mine = Source::of(self.port.ni(), start, data.len());
        self.contribute(&round, bytemuck::bytes_of(&mine));
        fence(Ordering::SeqCst);
        if !self.crowded {
            self.notify(label.root);
        }
        let leaves = Leaves { group: self, round, root: label.root, chunks };
        let read = self.read_chunks(&round, label.root, source, chunks, start);
        let copied = self.await_helper(&round, label.root, chunks);
        std::mem::forget(leaves);
        memcheck::written_by_another(start, chunks.bytes);
        // Also after an error: the root waits for readers, not for their success.
        self.finish(&round);
        read.and(copied).map_err(|error| self.fail(error))
    }

    fn read_chunks(self, round: &Round, root: usize, source: Source, chunks: Chunks, start: *mut u8) -> Result<()> {
        let ni = &**self.port.ni();
        let rank = self.members[root].rank;
        let deal = &self.part(self.rank()).deal;
        let closed = &self.part(root).closed;
        let uncached = self.is_uncached(chunks.bytes);
        while let Some(index) = deal.claim(round.number, chunks.count) {
            if closed.get() >= round.number {
                // Claimed chunks count as copied, so that nobody waits for them.
                deal.copied();
                return Err(self.closed_by(round, rank));
            }
            let range = chunks.range(index);
            // SAFETY: the root keeps its buffer, of the same size by the label, until this member has finished, as the
            // mark is not set; nobody else has claimed this chunk of the own one.
            let read = unsafe {
                let into = std::slice::from_raw_parts_mut(start.add(range.start), range.len());
                source.read(uncached, ni, rank, chunks.bytes, range.start, into)
            };
            deal.copied();
            read.map_err(|error| self.unreachable(rank, error))?;
        }
        Ok(())
    }

    /// Waits until the root has written what it claimed. Only its own end, or that it gave up, ends this: it may be
    /// writing.
    fn await_helper(self, round: &Round, root: usize, chunks: Chunks) -> Result<()> {
        self.claim_rest(round, chunks);
        let rank = self.members[root].rank;
        let complete = || self.is_left(round, root, chunks);
        let done = match complete() {
            Some(done) => done,
            None => match self.port.wait_until(Wait::on_rank(rank), complete) {
                Ok(done) => done,
                Err(error) => {
                    // It need not be the root's end.
                    self.wait_out(By::Rank(rank), || complete().map(drop));
                    return Err(error);
                }
            },
        };
        if done { Ok(()) } else { Err(self.closed_by(round, rank)) }
    }

    /// After an error there may be chunks that nobody has claimed: the root must not begin with them.
    fn claim_rest(self, round: &Round, chunks: Chunks) {
        let deal = &self.part(self.rank()).deal;
        while deal.claim(round.number, chunks.count).is_some() {
            deal.copied();
        }
    }

    /// Whether the root does not write here any more: because all is there, or (`false`) because it gave up.
    fn is_left(self, round: &Round, root: usize, chunks: Chunks) -> Option<bool> {
        match self.part(self.rank()).deal.done(round.number, chunks.count) {
            true => Some(true),
            false => (self.part(root).closed.get() >= round.number).then_some(false),
        }
    }

    /// A member gave up, most likely because another ended.
    #[cold]
    pub(in crate::collective) fn closed_by(self, round: &Round, rank: usize) -> Error {
        let wait = |patience: Duration, cause: &dyn Fn() -> Option<Error>| {
            self.port.wait_until(Wait::on_rank(self.port.ni().rank).at_most(Some(patience)), cause)
        };
        // Whoever gave up may have been told of a death before this member.
        let departed = || self.port.ni().check_departed(By::Rank(rank)).err();
        match wait(CAUSE_PATIENCE, &|| self.check(round).err().or_else(departed)) {
            // It may have left because of such a death, and have been quicker to say so.
            Ok(Error::PeerLeft { .. }) if self.size() > 2 => {
                wait(NEWS_PATIENCE, &|| self.check(round).err()).unwrap_or(Error::PeerLeft { rank })
            }
            cause => cause.unwrap_or(Error::Refused { rank, reason: Refusal::UnknownArea }),
        }
    }

    /// A buffer could be reached before; now its owner most likely has ended.
    #[cold]
    pub(in crate::collective) fn unreachable(self, rank: usize, error: Error) -> Error {
        match self.port.ni().why_unreached(rank, error) {
            // All others see that by themselves.
            ended @ (Error::PeerDead { .. } | Error::PeerLeft { .. }) => self.fail(ended),
            error => self.quit_with(error),
        }
    }
}

/// However the root's side ends, also by a handler that panics in its waits: nobody is at its buffer afterwards.
struct Closes<'g, 'j> {
    group: NearGroup<'g, 'j>,
    round: Round,
}

impl Drop for Closes<'_, '_> {
    #[cold]
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.group.quit_after_panic();
        }
        self.group.close(&self.round);
    }
}

/// Leaves the call at a reader's side, after a panic.
struct Leaves<'g, 'j> {
    group: NearGroup<'g, 'j>,
    round: Round,
    root: usize,
    chunks: Chunks,
}

impl Drop for Leaves<'_, '_> {
    #[cold]
    fn drop(&mut self) {
        let Leaves { group, round, root, chunks } = self;
        group.quit_after_panic();
        group.claim_rest(round, *chunks);
        // The root may be writing, so this must wait for it. It is told that this member has given up, and gives up too.
        let by = By::Rank(group.members[*root].rank);
        group.wait_out(by, || group.is_left(round, *root, *chunks).map(drop));
        group.finish(round);
    }
}
