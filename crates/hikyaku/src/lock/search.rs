//! Passing over ranks that are gone.

use super::queue::{Desk, Holder, Turn};
use super::turn::RawMutex;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::planted::{Bug, planted};
use crate::transport::shm::layout::State;

/// What a look at the manager's words has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// It is the turn of the ticket that was asked for.
    Mine(Turn),
    /// It was, some time ago.
    Passed,
    /// Nobody has the ticket whose turn it is.
    Free,
    /// Somebody has it: this rank, as far as that is known.
    Held(Option<usize>),
}

impl RawMutex {
    /// Looks whose turn it is, and makes it the next one's as long as it is that of a rank that is gone. A thorough look asks those who
    /// are there whether they can still release the lock.
    pub(super) fn look(&self, job: &Job, mine: Option<u64>, thorough: bool) -> Result<Found> {
        let desk = Desk::of(self, job);
        // In each round somebody is passed over, or others go on meanwhile.
        for _ in 0..=self.size {
            job.initiator.check_peer(self.manager)?;
            let turn = desk.turn()?;
            let ticket = turn.ticket();
            if mine == Some(ticket) {
                return Ok(Found::Mine(turn));
            }
            if mine.is_some_and(|mine| mine < ticket) {
                return Ok(Found::Passed);
            }
            if ticket >= desk.tail()? {
                return Ok(Found::Free);
            }
            let next = match desk.holder(ticket)? {
                Holder::Waits(rank) => match self.is_gone(job, rank, thorough)? {
                    true => Turn::new(ticket + 1, true),
                    false => return Ok(Found::Held(Some(rank))),
                },
                Holder::GaveUp(_) if planted(Bug::TicketNotPassed) => return Ok(Found::Held(None)),
                Holder::GaveUp(rank) => match desk.rename(ticket, Holder::GaveUp(rank), Holder::Passed)? {
                    true => turn.next(),
                    false => continue,
                },
                Holder::Passed => turn.next(),
                Holder::Unnamed => {
                    if let Some(rank) = self.find_unnamed(job, ticket, thorough)? {
                        return Ok(Found::Held(Some(rank)));
                    }
                    // It may have been given up meanwhile.
                    if desk.holder(ticket)? != Holder::Unnamed {
                        continue;
                    }
                    Turn::new(ticket + 1, true)
                }
            };
            let next = if planted(Bug::OwnersDeathUntold) { Turn::new(next.ticket(), false) } else { next };
            if desk.move_turn(turn, next)? {
                self.hand_on(job, next)?;
            }
        }
        Ok(Found::Held(None))
    }

    /// A rank that is there, and may have a ticket whose slot does not say so.
    fn find_unnamed(&self, job: &Job, ticket: u64, thorough: bool) -> Result<Option<usize>> {
        if planted(Bug::TakersUnread) {
            return Ok(None);
        }
        for rank in Desk::of(self, job).marked(ticket)? {
            if rank != job.rank() && !self.is_gone(job, rank, thorough)? {
                return Ok(Some(rank));
            }
        }
        Ok(None)
    }

    /// Whether a rank will never touch the lock again. Fails if that cannot be known, because the rank cannot be reached.
    fn is_gone(&self, job: &Job, rank: usize, thorough: bool) -> Result<bool> {
        let has_ended = || match job.ni.end_of(rank) {
            Some(Error::Unreachable { .. }) if planted(Bug::UnreachablePassed) => Ok(true),
            // This rank had lost it before, but now its end is known.
            Some(Error::Unreachable { .. }) if self.is_told_to_have_ended(job, rank) => Ok(true),
            Some(error @ Error::Unreachable { .. }) => Err(error),
            Some(_) => Ok(true),
            None => Ok(false),
        };
        if has_ended()? {
            return Ok(true);
        }
        if !thorough || rank == job.rank() || rank == self.manager {
            return Ok(false);
        }
        match self.is_lost_to(job, rank) {
            Err(error) if error.is_end_of_peer() && error.rank() == Some(rank) => has_ended(),
            asked => asked,
        }
    }

    /// Whether this host was told of the end of a rank of another host.
    fn is_told_to_have_ended(&self, job: &Job, rank: usize) -> bool {
        let (told, _) = job.ni.memory.news_of(rank);
        matches!(told, State::Left | State::Parted | State::Dead)
    }
}
