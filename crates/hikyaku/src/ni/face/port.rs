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

/// One independent way into the network interface of a rank. [`crate::Job`] has one; a thread gets its own from
/// [`Port::open`].
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

    /// Opens another port of this rank, for another thread.
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

    /// Whether the memory of `rank` is mapped here: operations on its symmetric memory and its areas are then done when
    /// the call returns. Otherwise `rank` is far: what a push or a word did is told by [`Port::flush`], and what reads
    /// waits for the answer of its network interface, so a handler cannot. Far memory is gone when its rank leaves.
    pub fn is_mapped(&self, rank: usize) -> Result<bool> {
        self.initiator.ni.check_rank(rank)?;
        Ok(self.initiator.ni.is_near(rank))
    }

    /// How many frames this rank has refused that came from the network: not of this job, forged, damaged or repeated. A network that
    /// doubles frames makes some.
    pub fn refused_frames(&self) -> u64 {
        self.initiator.ni.far.as_ref().map_or(0, |far| far.refused())
    }

    /// How many hosts the ranks of the job are on.
    pub fn host_count(&self) -> usize {
        self.initiator.ni.routes.host_count()
    }

    /// The host of `rank`, counted from 0. Ranks of one host have each other's memory mapped.
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

    /// Whether rank's private (registered) memory is reached by a system call from here; otherwise it is reached
    /// through its network interface. Ranks that are threads need neither.
    pub fn reaches_private_memory(&self, rank: usize) -> Result<bool> {
        self.initiator.ni.check_rank(rank)?;
        Ok(self.initiator.ni.is_near(rank)
            && (self.initiator.ni.threads || rank == self.initiator.ni.rank || self.initiator.ni.crosses_to(rank)))
    }

    /// Whether `rank` is alive and has not left.
    pub fn is_present(&self, rank: usize) -> Result<bool> {
        self.initiator.ni.check_rank(rank)?;
        self.initiator.ni.look();
        self.initiator.ni.failure.raise();
        Ok(!self.initiator.ni.state_of(rank).is_over())
    }

    /// Runs the handlers of messages that have arrived, and moves on what this thread has under way; true if there was
    /// anything to do. Waiting calls do so by themselves.
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
