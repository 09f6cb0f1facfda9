//! One independent way into the network interface.
//!
//! A port has its own ring to every peer, its own mark for operations in flight and its own place to sleep, so
//! threads that use different ports never wait for each other. It can be moved to a thread, not shared.

use crate::error::Result;
use crate::ni::interface::Ni;
use crate::ni::remote::initiator::Initiator;
use crate::ni::state::background;
use crate::ni::state::inside::refuse_in_handler;
use std::sync::Arc;
use std::time::Instant;

/// What one thread of a rank communicates through. Ports are independent and never wait for each other. [`crate::Job`] contains one;
/// other threads get theirs from [`Port::open`].
pub struct Port {
    pub(crate) initiator: Initiator,
}

impl std::fmt::Debug for Port {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Port")
            .field("rank", &self.initiator.ni.rank)
            .field("index", &self.initiator.index)
            .finish_non_exhaustive()
    }
}

impl Port {
    pub(crate) fn on(ni: &Arc<Ni>) -> Result<Port> {
        Ok(Port { initiator: Initiator::new(ni)? })
    }

    /// The network interface that it leads into.
    #[inline(always)]
    pub(crate) fn ni(&self) -> &Arc<Ni> {
        &self.initiator.ni
    }

    /// Opens another port of this rank, for another thread.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let counter = job.symmetric::<u64>(1)?;
    /// std::thread::scope(|scope| {
    ///     for _ in 0..3 {
    ///         let (port, counter) = (job.open().unwrap(), &counter);
    ///         scope.spawn(move || port.fetch_add(counter.at(0, 0), 1).unwrap());
    ///     }
    /// });
    /// job.barrier()?;
    /// assert_eq!(job.pull_one(counter.at(0, 0))?, 6);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn open(&self) -> Result<Port> {
        self.initiator.ni.check_rank(self.initiator.ni.rank)?;
        Port::on(&self.initiator.ni)
    }

    /// This rank.
    #[inline]
    pub fn rank(&self) -> usize {
        self.initiator.ni.rank
    }

    /// The number of ranks.
    #[inline]
    pub fn size(&self) -> usize {
        self.initiator.ni.memory.layout.size
    }

    /// Whether the job has more ranks than cores, so that waiting ranks yield instead of spinning.
    pub fn is_crowded(&self) -> bool {
        self.initiator.ni.crowded
    }

    /// Whether the memory of `rank` is mapped here. Operations on its symmetric memory and areas are then complete when the call returns.
    /// Otherwise `rank` is far: only [`Port::flush`] tells whether a push or a word has arrived, and calls that read wait for an answer,
    /// so they fail in handlers. The memory of a far rank is gone when that rank leaves.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// assert!(job.is_mapped(1)?); // ranks of one host
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn is_mapped(&self, rank: usize) -> Result<bool> {
        self.initiator.ni.check_rank(rank)?;
        Ok(self.initiator.ni.is_near(rank))
    }

    /// How many frames from the network this rank has refused because they were not of this job, forged, damaged or repeated. A network
    /// that duplicates frames causes some.
    pub fn refused_frames(&self) -> u64 {
        self.initiator.ni.far.as_ref().map_or(0, |far| far.refused())
    }

    /// How many hosts the ranks of the job are on.
    pub fn host_count(&self) -> usize {
        self.initiator.ni.routes.host_count()
    }

    /// The host of `rank`, counted from 0. Ranks of one host have each other's memory mapped.
    ///
    /// ```
    /// # hikyaku::local(3, |job| {
    /// let same_host = (0..job.size()).filter(|rank| job.host_of(*rank).unwrap() == job.host_of(0).unwrap());
    /// assert_eq!(same_host.count(), 3); // this job has one host
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn host_of(&self, rank: usize) -> Result<usize> {
        self.initiator.ni.check_rank(rank)?;
        Ok(self.initiator.ni.routes.to(rank).host as usize)
    }

    /// Whether this rank runs in virtual time ([`crate::sim`]). It then has one thread and no descriptors, and
    /// [`Port::now`] is its clock.
    pub fn is_simulated(&self) -> bool {
        self.initiator.ni.environment.is_some()
    }

    /// The time of this rank: that of the machine, or the virtual time of a simulated one.
    ///
    /// ```
    /// # use hikyaku::sim::{Machine, Sim};
    /// use std::time::Duration;
    ///
    /// Sim::new(Machine::plain(), 1, 1).run(|job| {
    ///     let word = job.symmetric::<u64>(1)?;
    ///     let begin = job.now();
    ///     let hour = Duration::from_secs(3600);
    ///     let event = hikyaku::Event::Word(word.here(0), hikyaku::Until::Equal(1));
    ///     assert!(job.wait_any(hikyaku::By::Anyone, &[event], Some(hour)).is_err());
    ///     assert!(job.now() - begin >= hour);
    ///     hikyaku::Result::Ok(())
    /// })?;
    /// # hikyaku::Result::Ok(())
    /// ```
    pub fn now(&self) -> Instant {
        self.initiator.ni.look();
        self.initiator.ni.now()
    }

    /// Whether the private (registered) memory of `rank` is reached by a system call. Otherwise it is reached with the help of its owner.
    /// Ranks that are threads need neither.
    pub fn reaches_private_memory(&self, rank: usize) -> Result<bool> {
        self.initiator.ni.check_rank(rank)?;
        Ok(self.initiator.ni.is_near(rank)
            && (self.initiator.ni.threads || rank == self.initiator.ni.rank || self.initiator.ni.crosses_to(rank)))
    }

    /// Whether `rank` is alive and has not left.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// job.barrier()?; // everyone has come
    /// assert!(job.is_present(1 - job.rank())?);
    /// job.barrier()?; // nobody has left before
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn is_present(&self, rank: usize) -> Result<bool> {
        self.initiator.ni.check_rank(rank)?;
        self.initiator.ni.look();
        self.initiator.ni.failure.raise();
        Ok(!self.initiator.ni.state_of(rank).is_over())
    }

    /// Runs the handlers of messages that have arrived and advances non-blocking operations of this thread; returns whether there was
    /// anything to do. Calls that wait do this by themselves.
    ///
    /// ```
    /// # hikyaku::local(1, |job| {
    /// job.register_handler(1, |_, _| {})?;
    /// job.send(0, 1, 0, [0; 6], &[])?;
    /// while job.handled(1) < 1 {
    ///     job.progress(); // between two parts of a computation
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn progress(&self) -> bool {
        self.initiator.ni.look();
        let handled = self.initiator.ni.progress() == Some(true);
        self.initiator.ni.failure.raise();
        // A handler must not wait, and a forked child has nothing under way.
        let moved = refuse_in_handler().is_ok()
            && self.initiator.ni.check_rank(self.initiator.ni.rank).is_ok()
            && background::advance(true);
        handled || moved
    }
}
