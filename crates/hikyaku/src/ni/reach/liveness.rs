//! How the other ranks are, as this one sees it.
//!
//! Ranks of the same host say so in its memory. Of ranks of other hosts the host's memory holds what was told here; and what a
//! rank finds out by itself, that one cannot be reached any more, it keeps to itself. So views may differ for a while.
//! What is told here comes from the agent of the host, or from a rank of the other host where there are no agents.

use crate::error::{Error, Result};
use crate::ni::base::Base;
use crate::ni::state::awaited::By;
use crate::planted::{Bug, planted};
use crate::transport::core::{Loss, Posted};
use crate::transport::packet::kind;
use crate::transport::shm::layout::{Blame, State};
use crate::transport::shm::ring::Packet;
use std::sync::atomic::Ordering;

impl Base {
    /// Moves on whenever a rank has ended or was lost. Read in every wait.
    #[inline(always)]
    pub(crate) fn departures(&self) -> u64 {
        self.memory.header().departures.load(Ordering::Relaxed) + self.lost.count()
    }

    /// Whether no rank has died, was lost, or left because it had lost another.
    pub(crate) fn has_no_deaths(&self) -> bool {
        self.memory.header().deaths.load(Ordering::Acquire) == 0 && self.lost.is_none()
    }

    /// How a rank is, which exists.
    #[cold]
    pub(crate) fn state_of(&self, rank: usize) -> State {
        match self.near_block(rank) {
            Some(block) => block.life.state(),
            None => match (self.memory.news_of(rank).0, self.lost.why(rank)) {
                (_, None) if planted(Bug::NewsUnread) => State::Joined,
                (told, None) => told,
                (State::Dead, Some(_)) => State::Dead,
                (State::Parted, Some(Loss::Left)) => State::Parted,
                // One that has left was lost before if its farewell did not come: what it sent may be missing.
                (_, Some(Loss::Left)) => State::Left,
                (_, Some(Loss::Dead)) => State::Dead,
                (_, Some(Loss::Unreachable(_))) => State::Unreachable,
            },
        }
    }

    /// How many barriers a rank had come to that has left: to all, as long as only it has said so itself.
    fn arrivals_of(&self, rank: usize) -> u64 {
        match self.near_block(rank) {
            Some(block) => block.life.arrivals.load(Ordering::Acquire),
            None => match self.memory.news_of(rank) {
                (state, arrivals) if state.is_over() => arrivals,
                _ => u64::MAX,
            },
        }
    }

    /// Fails if `by` does not exist, and always in a forked child.
    pub(crate) fn check_by(&self, by: By) -> Result<()> {
        self.check_rank(if let By::Rank(rank) = by { rank } else { self.rank })
    }

    /// Whether the awaited thing comes from a far rank. Where near ranks may be awaited too, looking at the network all the time
    /// would hold those up.
    pub(crate) fn is_by_far(&self, by: By) -> bool {
        let is_far = |by| match by {
            By::Rank(rank) => !self.is_near(rank),
            By::Anyone | By::Barrier(_) => self.routes.near().len() == 1,
        };
        self.far.is_some() && is_far(by)
    }

    /// This rank waits for another, whose silence must not go unnoticed.
    #[cold]
    pub(crate) fn watch(&self, by: By) {
        if let (By::Rank(rank), Some(far)) = (by, &self.far)
            && !self.is_near(rank)
        {
            far.watch(rank);
        }
    }

    /// A rank cannot be reached any more.
    pub(crate) fn lose(&self, rank: usize, why: Loss) {
        if planted(Bug::LossForgotten) {
            return;
        }
        self.lost.add(rank, why);
        // What sleeps here may wait for it.
        self.mine().bell.ring_all();
    }

    /// Tells a far rank, and with it all ranks of its host, that a rank of this host has ended; false if there is no room now.
    pub(crate) fn tell_of_end(&self, to: usize, rank: usize, state: State, barriers: u64) -> Result<bool> {
        let Some(far) = &self.far else { return Ok(true) };
        let arguments = [state as u64, barriers, 0, 0, 0, 0];
        let packet = Packet { kind: kind::NEWS, address: rank as u64, arguments, ..Packet::default() };
        Ok(far.post_copy(to, &packet, &[])? != Posted::Busy)
    }

    /// A far rank tells of an end. It is believed of ranks of its own host.
    #[cold]
    pub(crate) fn hear_of_end(&self, source: usize, packet: &Packet) {
        let [state, barriers, ..] = packet.arguments;
        let (rank, state) = (packet.address as usize, State::told(state));
        let is_theirs = rank < self.routes.size() && self.routes.to(rank).host == self.routes.to(source).host;
        if is_theirs && !self.is_near(rank) && state.is_over() && self.memory.news_of(rank).0 < state {
            self.memory.tell_of(rank, state, barriers);
        }
    }

    /// The error of a rank in this state, unless it takes part.
    pub(crate) fn end_of(&self, rank: usize) -> Option<Error> {
        match self.state_of(rank) {
            State::Starting | State::Joined => None,
            State::Left | State::Parted => Some(Error::PeerLeft { rank }),
            State::Dead => Some(Error::PeerDead { rank }),
            State::Unreachable => {
                Some(self.lost.why(rank).map_or_else(|| lost_by_launcher(rank), |why| why.error(rank)))
            }
        }
    }

    /// A call fails with this error.
    pub(crate) fn failing(&self, error: Error) -> Error {
        if matches!(error, Error::Unreachable { .. }) {
            self.lost.note_missed();
        }
        self.blame(&error);
        error
    }

    /// Leaves word of a call that fails because a peer has ended: if this rank ends too, the launcher knows who was first.
    pub(crate) fn blame(&self, error: &Error) {
        if let (true, Some(rank)) = (error.is_end_of_peer(), error.rank()) {
            let blame = Blame { rank, was_dead: matches!(error, Error::PeerDead { .. }) };
            self.mine().life.blame.store(blame.word(), Ordering::Relaxed);
        }
    }

    /// As what this rank leaves. Where a call has failed because another rank could not be reached, which only this one may know,
    /// the others must not wait for what it would have done.
    pub(crate) fn leaves_as(&self) -> State {
        if self.lost.is_missed() { State::Parted } else { State::Left }
    }

    /// Fails if `by` has ended, and with it the call that asks.
    #[cold]
    pub fn check_departed(&self, by: By) -> Result<()> {
        self.find_departed(by).map_err(|error| self.failing(error))
    }

    /// Whether no end so far matters to a wait: at the end of a job others leave all the time, and to look at every rank each time
    /// takes long where there are many.
    fn is_no_matter(&self, by: By) -> bool {
        let header = self.memory.header();
        // Before what follows: whoever is counted here has told how it ended.
        let departures = header.departures.load(Ordering::Acquire);
        match by {
            By::Rank(_) => false,
            By::Barrier(number) => self.has_no_deaths() && !header.shortfall.load(Ordering::Acquire) >= number,
            // Somebody is there who may end the wait.
            By::Anyone => self.has_no_deaths() && departures + 1 < self.size() as u64,
        }
    }

    /// As [`Base::check_departed`], for a call that may succeed all the same: if it does not, it says so by [`Base::failing`].
    #[cold]
    pub(crate) fn find_departed(&self, by: By) -> Result<()> {
        if self.is_no_matter(by) {
            return Ok(());
        }
        match by {
            By::Rank(rank) => {
                self.check_rank(rank)?;
                self.end_of(rank).map_or(Ok(()), Err)
            }
            By::Barrier(number) => {
                let misses = |rank: usize| match self.end_of(rank)? {
                    Error::PeerLeft { rank } if self.arrivals_of(rank) >= number => None,
                    error => Some(error),
                };
                (0..self.size()).find_map(misses).map_or(Ok(()), Err)
            }
            By::Anyone => {
                let mut left = None;
                let mut present = false;
                for rank in (0..self.size()).filter(|rank| *rank != self.rank) {
                    match self.end_of(rank) {
                        None => present = true,
                        Some(error @ Error::PeerLeft { .. }) if self.state_of(rank) == State::Left => {
                            left = Some(error)
                        }
                        Some(error) => return Err(error),
                    }
                }
                // Nobody is left who could end the wait.
                left.filter(|_| !present).map_or(Ok(()), Err)
            }
        }
    }
}

/// Of a rank of which this one has found out nothing by itself.
fn lost_by_launcher(rank: usize) -> Error {
    Error::Unreachable { rank, tried: "the launcher has lost its host".into() }
}

#[cfg(test)]
mod tests {
    use crate::sim::{Faults, Machine, Partition, Sim};
    use crate::{By, Error, Until};
    use std::time::Duration;

    /// Rank 1 loses rank 2, gives up and leaves; rank 0 reaches both, and waits for what either may do.
    #[test]
    fn whoever_leaves_after_a_loss_is_not_waited_for() {
        let cut = Partition { ranks: vec![1], both_ways: true, start: Duration::from_micros(50), end: Duration::MAX };
        let sim = Sim::new(Machine::plain(), 4, 1).hosts(|rank| [0, 0, 1, 0][rank]);
        let run = sim.faults(Faults { partitions: vec![cut], ..Faults::default() }).run(|job| {
            let word = job.symmetric::<u64>(1).unwrap();
            match job.rank() {
                0 => job.wait(word.here(0), Until::Equal(1)).map(drop),
                1 => loop {
                    job.word(word.at(2, 0), 7).and_then(|()| job.flush(2))?;
                },
                2 => job.wait_from(By::Rank(1), word.here(0), Until::Equal(1)).map(drop),
                // Leaves because it is done: that alone ends no wait.
                _ => Ok(()),
            }
        });
        let results = run.unwrap().results;
        assert!(matches!(results[0], Err(Error::PeerLeft { rank: 1 | 2 })), "{:?}", results[0]);
        assert!(matches!(results[1], Err(Error::Unreachable { rank: 2, .. })), "{:?}", results[1]);
        // It has lost rank 1 as well, or hears first that it has left.
        assert!(matches!(&results[2], Err(error) if error.rank() == Some(1)), "{:?}", results[2]);
    }
}
