//! How each rank is reached: a pointer to its memory, or none.

use crate::transport::hosts::Hosts;
use crate::transport::shm::layout::{Block, JobMemory, Local};
use std::sync::Arc;

/// How a rank is reached. Its addresses are null if it is far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub heap: *mut u8,
    pub block: *const Block,
    pub local: Local,
    pub host: u32,
}

/// How the ranks of one host reach all ranks of the job. They share it; each holds the address of the table itself, since every
/// operation begins there.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    to: Arc<[Route]>,
    /// Ranks of this host, by their number on it.
    near: Arc<[usize]>,
    hosts: usize,
}

// SAFETY: the pointers lead into the host's memory, which whoever holds the routes keeps mapped; all access goes through raw
// copies and atomics.
unsafe impl Send for Routes {}
// SAFETY: as above.
unsafe impl Sync for Routes {}

impl Routes {
    /// From `host`, whose memory this is.
    pub fn from(hosts: &Hosts, host: usize, memory: &JobMemory) -> Routes {
        assert!(memory.layout.size == hosts.size() && memory.layout.count == hosts.ranks_on(host));
        let far = Route { heap: std::ptr::null_mut(), block: std::ptr::null(), local: Local(u32::MAX), host: 0 };
        let to = (0..hosts.size())
            .map(|rank| match hosts.host_of(rank) == host {
                false => Route { host: hosts.host_of(rank) as u32, ..far },
                true => {
                    let local = hosts.local_of(rank);
                    // SAFETY: inside the segment.
                    let heap = unsafe { memory.segment.base().add(memory.layout.heap(local)) };
                    Route { heap, block: memory.block(local), local, host: host as u32 }
                }
            })
            .collect();
        let near = (0..hosts.size()).filter(|rank| hosts.host_of(*rank) == host).collect();
        Routes { to, near, hosts: hosts.count() }
    }

    /// To `rank`, which exists.
    #[inline(always)]
    pub fn to(&self, rank: usize) -> &Route {
        &self.to[rank]
    }

    /// To `rank`, without a check.
    ///
    /// # Safety
    /// The job has such a rank.
    #[inline(always)]
    pub unsafe fn to_unchecked(&self, rank: usize) -> &Route {
        debug_assert!(rank < self.to.len());
        // SAFETY: the caller's promise.
        unsafe { self.to.get_unchecked(rank) }
    }

    /// The control block of `rank`, which exists, if it is near.
    #[inline(always)]
    pub fn block_of(&self, rank: usize) -> Option<&Block> {
        // SAFETY: null, or the block of a rank of this host, whose memory whoever holds the routes keeps mapped; it is made of atomics.
        unsafe { self.to(rank).block.as_ref() }
    }

    /// The ranks of this host, in the order of their numbers on it.
    pub fn near(&self) -> &[usize] {
        &self.near
    }

    /// Number of ranks.
    pub fn size(&self) -> usize {
        self.to.len()
    }

    /// Whether all ranks of the job are on this host.
    pub fn are_all_near(&self) -> bool {
        self.near.len() == self.to.len()
    }

    /// Number of hosts.
    pub fn host_count(&self) -> usize {
        self.hosts
    }
}
