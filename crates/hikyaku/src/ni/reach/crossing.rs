//! Private memory of another process of this host, which a system call reaches where the kernel allows it
//! ([`crate::transport::shm::cross`]).

use crate::error::Error;
use crate::ni::base::{Base, UNREACHED};
use crate::ni::state::awaited::By;
use crate::transport::shm::cross;
use crate::transport::shm::layout::Local;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long the end of a process may take to be told.
const NEWS_PATIENCE: Duration = Duration::from_secs(1);

impl Base {
    /// The process of a near rank, 0 if it has none.
    pub(crate) fn process_of(&self, rank: usize) -> i32 {
        match self.processes[self.local_of(rank).0 as usize].load(Ordering::Relaxed) {
            0 => self.told_process(self.local_of(rank)),
            noted => noted,
        }
    }

    fn told_process(&self, local: Local) -> i32 {
        i32::try_from(self.memory.block(local).life.process.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Notes which process each rank of this host is, now that all have said so: who changes its mind later is not listened to.
    pub(crate) fn note_processes(&self) {
        for (local, noted) in self.memory.layout.locals().zip(&self.processes) {
            noted.store(self.told_process(local), Ordering::Relaxed);
        }
    }

    /// Whether private memory of `rank` can be reached by a system call; asked once per peer.
    pub(crate) fn crosses_to(&self, rank: usize) -> bool {
        self.crossing(rank).is_some()
    }

    /// The process in which private memory of `rank` is reached by a system call, if it is.
    pub(crate) fn crossing(&self, rank: usize) -> Option<i32> {
        if !self.is_near(rank) {
            return None;
        }
        match self.cross[self.local_of(rank).0 as usize].load(Ordering::Relaxed) {
            0 => self.find_crossing(rank),
            UNREACHED => None,
            process => Some(process),
        }
    }

    /// What a peer says of its process is believed once, and not if it says to be this one: what is written there would be
    /// written here. Of others it could say so as well, and write there itself.
    #[cold]
    fn find_crossing(&self, rank: usize) -> Option<i32> {
        let local = self.local_of(rank);
        let life = &self.memory.block(local).life;
        let (process, address) = (self.process_of(rank), life.probe_address.load(Ordering::Relaxed));
        let value = life.probe_value.load(Ordering::Relaxed);
        let forbidden = std::env::var_os("HIKYAKU_CROSS").is_some_and(|v| v == "off");
        let is_other = process > 0 && process as u32 != std::process::id();
        let works = is_other && !forbidden && cross::probe(process, address, value).is_ok();
        // Another thread may have been first.
        let found = if works { process } else { UNREACHED };
        let kept = self.cross[local.0 as usize].compare_exchange(0, found, Ordering::Relaxed, Ordering::Relaxed);
        Some(kept.err().unwrap_or(found)).filter(|process| *process != UNREACHED)
    }

    /// Why the private memory of `rank` could not be reached. If its process is gone: how the rank has ended. The kernel may
    /// know of that before whoever watches the ranks has told, who shall be the first to say so.
    #[cold]
    pub(crate) fn why_unreached(&self, rank: usize, error: Error) -> Error {
        if !cross::is_gone(&error) {
            return error;
        }
        let deadline = Instant::now() + NEWS_PATIENCE;
        while Instant::now() < deadline {
            if let Err(ended) = self.check_departed(By::Rank(rank)) {
                return ended;
            }
            self.relax();
        }
        Error::PeerDead { rank }
    }
}
