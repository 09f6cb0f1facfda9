//! Which ranks of a job are on which host.

use super::shm::layout::Local;
use crate::error::{Error, Result};

/// Which host each rank of a job is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hosts {
    of: Box<[u32]>,
    /// Each rank's number on its host.
    locals: Box<[u32]>,
    /// Ranks of each host.
    counts: Box<[u32]>,
}

impl Hosts {
    /// All ranks on one.
    pub fn one(size: usize) -> Hosts {
        Hosts { of: vec![0; size].into(), locals: (0..size as u32).collect(), counts: [size as u32].into() }
    }

    /// Each rank on the host of this number; hosts are numbered from 0 without gaps.
    pub fn new(of: &[u32]) -> Result<Hosts> {
        let count = of.iter().map(|host| *host as usize + 1).max().unwrap_or(0);
        if of.is_empty() || count > of.len() {
            return Err(Error::Invalid(format!("{} ranks cannot be on {count} hosts", of.len())));
        }
        let mut counts = vec![0u32; count];
        let mut locals = Vec::with_capacity(of.len());
        for host in of {
            locals.push(counts[*host as usize]);
            counts[*host as usize] += 1;
        }
        match counts.iter().position(|count| *count == 0) {
            Some(host) => Err(Error::Invalid(format!("host {host} has no ranks"))),
            None => Ok(Hosts { of: of.into(), locals: locals.into(), counts: counts.into() }),
        }
    }

    /// Number of ranks.
    pub fn size(&self) -> usize {
        self.of.len()
    }

    /// Number of hosts.
    pub fn count(&self) -> usize {
        self.counts.len()
    }

    /// The host of a rank.
    pub fn host_of(&self, rank: usize) -> usize {
        self.of[rank] as usize
    }

    /// How many ranks a host has.
    pub fn ranks_on(&self, host: usize) -> usize {
        self.counts[host] as usize
    }

    /// A rank's number on its host.
    pub fn local_of(&self, rank: usize) -> Local {
        Local(self.locals[rank])
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn hosts_may_have_their_ranks_in_any_order() {
        let hosts = Hosts::new(&[1, 0, 1, 0, 0]).unwrap();
        assert_eq!((hosts.size(), hosts.count(), hosts.ranks_on(0), hosts.ranks_on(1)), (5, 2, 3, 2));
        let locals: Vec<_> = (0..5).map(|rank| hosts.local_of(rank).0).collect();
        assert_eq!(locals, [0, 0, 1, 1, 2]);
        assert_eq!(Hosts::new(&[0, 0, 0]).unwrap(), Hosts::one(3));
        for wrong in [&[][..], &[1, 1], &[0, 2], &[0, u32::MAX]] {
            assert!(Hosts::new(wrong).is_err(), "{wrong:?}");
        }
    }
}
