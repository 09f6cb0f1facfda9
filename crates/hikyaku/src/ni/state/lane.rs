//! What one port sends through: rings to ranks of this host, the transport to others.

use crate::transport::shm::layout::Local;
use crate::transport::shm::ring::Producer;
use std::collections::BTreeMap;

/// The sending ends of one port.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    pub port: usize,
    /// Per rank of this host; empty until the first message.
    pub to: Vec<Option<Box<Producer>>>,
    /// Messages to ranks that have ended without having handled them: so many of each are not asked for any more.
    pub given_up: BTreeMap<usize, u64>,
    /// What goes into a ring is private first: others may be writing it.
    pub scratch: Vec<u8>,
}

impl Lane {
    pub fn fresh(port: usize) -> Lane {
        Lane { port, ..Lane::default() }
    }

    /// Enters a ring to one of `count` ranks of this host.
    #[cold]
    pub fn enter(&mut self, to: Local, count: usize) -> &mut Producer {
        if self.to.is_empty() {
            self.to.resize_with(count, || None);
        }
        self.to[to.0 as usize].insert(Box::default())
    }
}
