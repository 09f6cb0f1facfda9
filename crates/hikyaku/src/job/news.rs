//! Telling other hosts which ranks have ended, where no launcher of ours does.
//!
//! ```text
//!   a host                                              each other host
//!   the first rank that still takes part    -------->   the first rank that does
//!   sees the end of another                             writes it into its host's memory, where all look
//! ```
//! A rank that leaves tells of itself, and again of those of its host that have ended before it. If whoever was told, or whoever tells,
//! ends too, the next one takes its place and everything is told again: to hear it twice does no harm. A whole host that is lost has
//! nobody to tell of it: its silence is noticed by the transport.

use crate::ni::Ni;
use crate::transport::shm::layout::State;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a rank that ends tries to tell.
const PATIENCE: Duration = Duration::from_secs(1);

/// The end of a rank of this host.
#[derive(Clone, Copy, Debug)]
struct End {
    rank: usize,
    state: State,
    barriers: u64,
}

/// What other hosts are told, and were told so far.
#[derive(Debug)]
pub(super) struct News {
    ends: Vec<End>,
    hosts: Vec<Host>,
}

/// Another host.
#[derive(Debug)]
struct Host {
    ranks: Vec<usize>,
    /// Who was told there.
    hearer: Option<usize>,
    /// How many of the ends.
    told: usize,
}

/// What became of an attempt to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// Nobody is left to be told.
    Nobody,
    All,
    /// There was no room for some of it.
    Some,
}

impl News {
    /// Nothing so far.
    pub fn new(ni: &Ni) -> News {
        let mut hosts: Vec<Vec<usize>> = vec![Vec::new(); ni.routes.host_count()];
        for rank in (0..ni.routes.size()).filter(|rank| !ni.is_near(*rank)) {
            hosts[ni.routes.to(rank).host as usize].push(rank);
        }
        hosts.retain(|ranks| !ranks.is_empty());
        let host = |ranks| Host { ranks, hearer: None, told: 0 };
        News { ends: Vec::new(), hosts: hosts.into_iter().map(host).collect() }
    }

    /// Looks for ends of other ranks of this host.
    fn find_ends(&mut self, ni: &Ni) {
        for rank in ni.routes.near().iter().copied().filter(|rank| *rank != ni.rank) {
            let state = ni.state_of(rank);
            if state.is_over() && !self.ends.iter().any(|end| end.rank == rank) {
                self.ends.push(End { rank, state, barriers: barriers(ni, rank) });
            }
        }
    }

    /// Looks for ends of other ranks of this host, and tells of them if that is this rank's part. When to look again, at the latest.
    pub fn look(&mut self, ni: &Ni) -> Option<Duration> {
        self.find_ends(ni);
        let near = ni.routes.near().iter().copied();
        let state = |rank: usize| ni.state_of(rank);
        let is_first = near.clone().find(|rank| !state(*rank).is_over()) == Some(ni.rank);
        let told = if is_first { self.spread(ni) } else { Told::All };
        match told {
            Told::Some => Some(Duration::from_millis(5)),
            // Whoever was told may end before it has heard.
            _ if !self.ends.is_empty() => Some(Duration::from_millis(500)),
            _ => None,
        }
    }

    /// Tells one rank of each host what was not told there yet.
    fn spread(&mut self, ni: &Ni) -> Told {
        let mut outcome = Told::Nobody;
        for host in &mut self.hosts {
            let hearer = host.ranks.iter().copied().find(|rank| ni.end_of(*rank).is_none());
            if hearer != host.hearer {
                (host.hearer, host.told) = (hearer, 0);
            }
            let Some(hearer) = hearer else { continue };
            if outcome == Told::Nobody {
                outcome = Told::All;
            }
            while let Some(end) = self.ends.get(host.told) {
                match ni.tell_of_end(hearer, end.rank, end.state, end.barriers) {
                    Ok(true) => host.told += 1,
                    // An error says that it has ended: the next look finds another.
                    Ok(false) | Err(_) => {
                        outcome = Told::Some;
                        break;
                    }
                }
            }
        }
        outcome
    }
}

/// Tells the other hosts that this rank ends, and which others of its host have: nobody may be left there to tell of them. Everything that
/// it has sent before should have arrived.
pub(super) fn tell_own_end(ni: &Ni, state: State) {
    let Some(far) = &ni.far else { return };
    let mut news = News::new(ni);
    news.find_ends(ni);
    news.ends.push(End { rank: ni.rank, state, barriers: barriers(ni, ni.rank) });
    let deadline = Instant::now() + PATIENCE;
    loop {
        match news.spread(ni) {
            Told::Nobody => return,
            Told::All if far.drained_but(&|rank| ni.state_of(rank).is_over()) => return,
            _ if Instant::now() >= deadline => return,
            _ => {}
        }
        if ni.serve_far() != Some(true) {
            ni.relax();
        }
    }
}

/// How many barriers a rank of this host has come to.
fn barriers(ni: &Ni, rank: usize) -> u64 {
    ni.routes.block_of(rank).map_or(0, |block| block.life.arrivals.load(Ordering::Acquire))
}
