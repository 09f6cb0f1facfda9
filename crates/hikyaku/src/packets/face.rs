//! What the program sees of messages in packets.

use super::inbox::Room;
use super::mover::{Mover, Shared, Traffic};
use crate::error::{Error, Result};
use crate::exchange::Buffers;
use crate::job::Job;
use crate::matching::{Keys, Matched, Source};
use crate::ni::{Awaited, By, Port, Wait, background, refuse_in_handler, stand_by};
use bytemuck::Pod;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// Messages by rank and tag that are cut into packets, sent without asking, refused where there is no room, and sent again: the message
/// exchange of the DIMMnet-1 paper, to be compared with [`Exchange`](crate::exchange::Exchange), which is faster.
///
/// A message whose receive waits is written into the program's buffer as its packets come; one that nobody waits for into a system buffer
/// ([`Buffers`]). A send copies its message, and returns; it waits only while 256 KB for that receiver are not acknowledged.
///
/// ```
/// use hikyaku::packets::Buffers;
///
/// hikyaku::local(2, |job| {
///     let packets = job.packets_with(Buffers { messages: 4, bytes: 1000 })?;
///     if job.rank() == 0 {
///         for number in 0..20 {
///             packets.send(&[number as f64; 10], 1, 7)?; // more than there is room for
///         }
///     } else {
///         for number in 0..20 {
///             let mut numbers = [0.0; 10];
///             packets.recv(&mut numbers, 0, 7)?;
///             assert_eq!(numbers, [number as f64; 10]);
///         }
///     }
///     packets.free()
/// })
/// .unwrap()
/// .into_iter()
/// .for_each(Result::unwrap);
/// ```
///
/// Dropping them waits until all receivers have what was sent to them, or have ended, or have dropped theirs: then it is thrown away. A job has
/// room for 64 of them and of [`Matching`](crate::matching::Matching) in all; only [`Packets::free`] gives the room back.
pub struct Packets<'j> {
    job: &'j Job,
    mover: Rc<Mover>,
    /// What was known when it was last looked whether senders have ended in the middle of a message.
    looked: Cell<(u64, u64)>,
}

impl std::fmt::Debug for Packets<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Packets").field("rank", &self.port().rank()).finish_non_exhaustive()
    }
}

impl Job {
    /// Prepares messages in packets, with buffers for as many ranks as there are. All ranks call it together.
    ///
    /// # Errors
    /// If there is no port (`HIKYAKU_PORTS`) on some rank: then on all.
    #[track_caller]
    pub fn packets(&self) -> Result<Packets<'_>> {
        self.packets_with(Buffers::of(self.size()))
    }

    /// [`Job::packets`] with buffers of this size, which may differ from rank to rank: each says what it keeps of every other one.
    ///
    /// # Errors
    /// As [`Job::packets`], and if a rank says what makes no buffer.
    #[track_caller]
    pub fn packets_with(&self, buffers: Buffers) -> Result<Packets<'_>> {
        self.enter(&"packets");
        refuse_in_handler()?;
        if let Some(wrong) = buffers.wrong() {
            return Err(self.disagree_on_packets(wrong));
        }
        let shared = Shared::new(self.size(), buffers);
        let hears = shared.clone();
        // A rank that has no room for it takes part all the same: the others must not wait for it.
        let made = self.open().and_then(|port| {
            let handler = port.register_library(move |context, message| hears.hear(context, message))?;
            Ok((port, handler))
        });
        let number = made.as_ref().ok().map(|(_, handler)| handler.number());
        let agreed = self.agree_on_packets(number);
        let (port, handler) = made?;
        agreed.inspect_err(|_| port.unregister_library(handler))?;
        stand_by(&port);
        let mover = Rc::new(Mover::new(port, handler, shared));
        background::register(&self.ni.workplaces, &mover);
        Ok(Packets { job: self, mover, looked: Cell::default() })
    }
}

impl Packets<'_> {
    fn port(&self) -> &Port {
        &self.mover.port
    }

    /// Ends them on all ranks, which call it together, and with it gives up messages that nobody has received.
    ///
    /// # Errors
    /// If a rank has ended.
    #[track_caller]
    pub fn free(self) -> Result<()> {
        self.port().enter(&"free");
        refuse_in_handler()?;
        let (job, handler) = (self.job, self.mover.handler);
        // Others may still wait for what this rank keeps for them, until all have come here.
        job.barrier()?;
        self.mover.shared.tables().inbox.close();
        self.settle();
        self.port().initiator.await_handled(&|_| true)?;
        // Afterwards nobody says anything.
        job.barrier()?;
        drop(self);
        job.unregister_library(handler);
        Ok(())
    }

    /// What is kept of a rank.
    #[cfg(test)]
    pub(super) fn cost(&self, source: usize) -> usize {
        self.mover.shared.tables().inbox.cost(source)
    }

    /// How many packets have gone, and how many in vain.
    pub fn traffic(&self) -> Traffic {
        self.mover.traffic()
    }

    /// Sends a message to `rank` under `tag`. It is copied; the call waits while too much for that receiver is not acknowledged.
    ///
    /// # Errors
    /// When the receiver has ended.
    #[track_caller]
    pub fn send<T: Pod>(&self, data: &[T], rank: usize, tag: u64) -> Result<()> {
        self.port().enter(&"send");
        refuse_in_handler()?;
        self.port().initiator.check_peer(rank)?;
        self.port().initiator.tick();
        let data: &[u8] = bytemuck::cast_slice(data);
        self.mover.step();
        if !self.mover.add(rank, tag, data) {
            let waiting = self.begin_wait();
            let wait = Wait::on_rank(rank).always().of(Awaited::Key(None));
            self.port().wait_until(wait, || self.mover.add(rank, tag, data).then_some(()))?;
            drop(waiting);
        }
        self.mover.step();
        Ok(())
    }

    /// Receives the first message of a rank, or of any ([`Source::Any`]), under a tag, or any of several ([`Keys`]). Waits for one if there
    /// is none yet.
    ///
    /// If the message is longer than the buffer, the call fails with [`Error::Overlong`], and the message is lost; [`Packets::probe`] tells
    /// how long it is.
    ///
    /// # Errors
    /// When the sender has ended and has sent no such message.
    #[track_caller]
    pub fn recv<T: Pod>(&self, into: &mut [T], from: impl Into<Source>, tags: impl Into<Keys>) -> Result<Matched> {
        self.port().enter(&"recv");
        self.receive(bytemuck::cast_slice_mut(into), size_of::<T>(), from.into(), tags.into(), None)
    }

    /// [`Packets::recv`] that waits for at most `timeout`, and then fails with [`Error::Timeout`]. A message that comes later, or of which
    /// only a part has come, waits for another receive.
    #[track_caller]
    pub fn recv_for<T: Pod>(
        &self,
        into: &mut [T],
        from: impl Into<Source>,
        tags: impl Into<Keys>,
        timeout: Duration,
    ) -> Result<Matched> {
        self.port().enter(&"recv_for");
        self.receive(bytemuck::cast_slice_mut(into), size_of::<T>(), from.into(), tags.into(), Some(timeout))
    }

    /// Waits for a message, and tells of it: who has sent it, its tag and its bytes. It stays, and the next receive that takes it gets it.
    ///
    /// # Errors
    /// As [`Packets::recv`].
    #[track_caller]
    pub fn probe(&self, from: impl Into<Source>, tags: impl Into<Keys>) -> Result<Matched> {
        self.port().enter(&"probe");
        let (from, tags) = (from.into(), tags.into());
        let _waiting = self.begin_wait();
        self.begin(from)?;
        let look = || self.mover.shared.tables().inbox.probe(from, tags);
        self.await_news(from, tags, None, look)?
    }

    /// What [`Packets::probe`] tells, if there is such a message now.
    ///
    /// # Errors
    /// When the sender does not exist, or has sent nonsense.
    pub fn try_probe(&self, from: impl Into<Source>, tags: impl Into<Keys>) -> Result<Option<Matched>> {
        let (from, tags) = (from.into(), tags.into());
        // Whoever asks again and again waits, too: what is wanted may be behind something else.
        let _waiting = self.begin_wait();
        self.begin(from)?;
        self.bury_ended();
        self.mover.shared.tables().inbox.probe(from, tags).transpose()
    }

    fn begin(&self, from: Source) -> Result<()> {
        refuse_in_handler()?;
        self.port().ni().check_rank(if let Source::Rank(rank) = from { rank } else { self.port().rank() })?;
        self.port().progress();
        self.mover.step();
        Ok(())
    }

    /// Waits until a look finds something, which it can only when something has come.
    fn await_news<R>(
        &self,
        from: Source,
        tags: Keys,
        timeout: Option<Duration>,
        mut look: impl FnMut() -> Option<R>,
    ) -> Result<R> {
        let by = if let Source::Rank(rank) = from { By::Rank(rank) } else { By::Anyone };
        let deadline = timeout.and_then(|timeout| self.port().ni().now().checked_add(timeout));
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(self.port().ni().now()));
            let wait = Wait::on(by).always().at_most(left).of(Awaited::Key(tags.exact()));
            let mut seen = None;
            let waited = self.port().wait_until(wait, || {
                let news = Some(self.mover.shared.news());
                if news == std::mem::replace(&mut seen, news) && self.is_looked() {
                    return None;
                }
                look().map(Some).or_else(|| (!self.is_looked()).then_some(None))
            });
            match waited {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => self.bury_ended(),
                // Of what this rank sends to itself, some may be on its way.
                Err(error) if !matches!(error, Error::Timeout { .. }) && self.has_heard_itself() => match look() {
                    Some(found) => return Ok(found),
                    None if self.mover.is_pending(self.port().rank()) => {}
                    None => return Err(error),
                },
                Err(Error::Timeout { .. }) => return Err(Error::Timeout { after: timeout.unwrap_or_default() }),
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether this rank has sent something to itself, and has now heard more of it.
    fn has_heard_itself(&self) -> bool {
        let news = self.mover.shared.news();
        if self.mover.is_pending(self.port().rank()) {
            self.mover.step();
            self.port().ni().empty_rings();
            self.mover.step();
        }
        news != self.mover.shared.news()
    }

    /// Whether nobody can have ended in the middle of a message since that was looked at.
    fn is_looked(&self) -> bool {
        let departures = self.port().ni().departures();
        departures == 0 || self.looked.get() == (departures, self.mover.shared.news())
    }

    /// What has begun to come of ranks that have ended is forgotten.
    fn bury_ended(&self) {
        let ni = self.port().ni();
        if self.is_looked() {
            return;
        }
        self.looked.set((ni.departures(), self.mover.shared.news()));
        let mut ended = self.mover.shared.tables().inbox.unfinished();
        ended.retain(|rank| *rank != self.port().rank() && ni.check_departed(By::Rank(*rank)).is_err());
        if ended.is_empty() {
            return;
        }
        // What was sent before the end counts.
        ni.empty_rings();
        self.mover.step();
        ended.into_iter().for_each(|rank| self.mover.shared.tables().inbox.bury(rank));
    }

    fn receive(
        &self,
        into: &mut [u8],
        element: usize,
        from: Source,
        tags: Keys,
        timeout: Option<Duration>,
    ) -> Result<Matched> {
        self.begin(from)?;
        // SAFETY: borrowed for the time of this call, which withdraws it.
        let room = unsafe { Room::new(into.as_mut_ptr(), into.len()) };
        let mut tables = self.mover.shared.tables();
        let matched = match tables.inbox.take(from, tags, room) {
            Some(taken) => {
                drop(tables);
                // Whoever was refused is asked again.
                self.mover.step();
                taken?
            }
            None => {
                let number = tables.inbox.post(from, tags, room);
                drop(tables);
                self.await_posted(number, from, tags, timeout)?
            }
        };
        let Matched { rank, key, len: bytes } = matched;
        let element = element.max(1);
        match bytes % element {
            0 => Ok(Matched { rank, key, len: bytes / element }),
            _ => Err(Error::Uneven { from: rank, key, bytes, element }),
        }
    }

    /// Waits for a receive that was begun. It has ended when this returns, also by a panic of a handler.
    fn await_posted(&self, number: u64, from: Source, tags: Keys, timeout: Option<Duration>) -> Result<Matched> {
        let withdraws = Withdraws { mover: &self.mover, number };
        let waiting = self.begin_wait();
        let waited = self.await_news(from, tags, timeout, || self.mover.shared.tables().inbox.ended(number));
        drop(waiting);
        std::mem::forget(withdraws);
        let ended = waited.unwrap_or_else(|error| {
            // It may have come at the last moment.
            self.mover.shared.tables().inbox.withdraw(number).unwrap_or(Err(error))
        });
        // A sender may have to be told.
        self.mover.step();
        ended
    }

    fn begin_wait(&self) -> Waiting<'_> {
        self.mover.shared.tables().inbox.wait(true);
        Waiting(&self.mover)
    }

    /// Waits until all receivers have everything. It stops waiting for one only when that has ended.
    fn settle(&self) {
        self.mover.step();
        let is_done = || self.mover.first_pending().is_none() && self.mover.has_called();
        while !is_done() {
            let rank = self.mover.first_pending();
            let by = rank.map_or(By::Anyone, By::Rank);
            let moved = self.port().wait_until(Wait::on(by).always(), || {
                let is_over = is_done() || self.mover.first_pending() != rank;
                is_over.then_some(())
            });
            match (moved, rank) {
                (Ok(()), _) => {}
                (Err(_), Some(rank)) => self.mover.give_up(rank),
                (Err(_), None) => return,
            }
        }
    }
}

impl Drop for Packets<'_> {
    fn drop(&mut self) {
        // In a forked child they are the parent's.
        if self.port().ni().is_forked() {
            return;
        }
        self.mover.shared.tables().inbox.close();
        if std::thread::panicking() {
            // Nothing is waited for, but it goes on in later waits of this thread, if there are any.
            std::mem::forget(self.mover.clone());
            self.mover.step();
        } else {
            self.settle();
        }
    }
}

/// What a call has posted ends with it.
struct Withdraws<'p> {
    mover: &'p Mover,
    number: u64,
}

impl Drop for Withdraws<'_> {
    fn drop(&mut self) {
        self.mover.shared.tables().inbox.withdraw(self.number);
    }
}

/// A call that waits.
struct Waiting<'p>(&'p Mover);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.shared.tables().inbox.wait(false);
    }
}
