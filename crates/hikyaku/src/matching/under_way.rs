//! Operations under way: beginning them, waiting for them, looking at them, taking them back.

use super::arrival::Envelope;
use super::buffer::{Data, Room};
use super::keys::{Pattern, Source};
use super::messages::Matching;
use super::mover::Mover;
use super::outgoing::SendId;
use super::tables::ReceiveId;
use crate::error::{Error, Result};
use crate::ni::{Awaited, By, Wait, refuse_in_handler};
use std::time::Duration;

/// Whose end ends a receive.
pub(super) fn by(pattern: Pattern) -> By {
    match pattern.source {
        Source::Rank(rank) => By::Rank(rank),
        Source::Any => By::Anyone,
    }
}

impl Matching<'_> {
    pub(super) fn check(&self, pattern: Pattern) -> Result<()> {
        let rank = if let Source::Rank(rank) = pattern.source { rank } else { self.port().rank() };
        self.port().ni().check_rank(rank)
    }

    #[inline]
    pub(super) fn start_send(&self, data: Data, rank: usize, key: u64) -> Result<Option<SendId>> {
        refuse_in_handler()?;
        self.port().ni().check_rank(rank)?;
        self.port().initiator.tick();
        self.mover.start_send(data, rank, key)
    }

    #[inline]
    pub(super) fn start_receive(&self, room: Room, pattern: Pattern) -> Result<(ReceiveId, bool)> {
        refuse_in_handler()?;
        self.check(pattern)?;
        self.port().initiator.tick();
        Ok(self.mover.post(pattern, room))
    }

    pub(super) fn wait_for(&self, pattern: Pattern, patience: Option<Duration>) -> Wait {
        let key = (pattern.keys.ignored == 0).then_some(pattern.keys.key);
        Wait::on(by(pattern)).always().at_most(patience).of(Awaited::Key(key))
    }

    /// How a receive has ended; `None` if it has not when the time is over. An error has ended it, except where nothing can be waited
    /// for.
    #[track_caller]
    pub(super) fn wait_receive(
        &self,
        id: ReceiveId,
        pattern: Pattern,
        patience: Option<Duration>,
    ) -> Result<Option<Envelope>> {
        if let Some(ended) = self.mover.shared.tables().ended(id) {
            return ended.map(Some);
        }
        refuse_in_handler()?;
        self.await_receive(id, pattern, patience)
    }

    /// The same for one that has not ended yet.
    #[inline]
    #[track_caller]
    pub(super) fn await_receive(
        &self,
        id: ReceiveId,
        pattern: Pattern,
        patience: Option<Duration>,
    ) -> Result<Option<Envelope>> {
        let look = || self.mover.shared.tables().ended(id);
        match self.port().wait_until(self.wait_for(pattern, patience), self.mover.when_news(look)) {
            Ok(ended) => ended.map(Some),
            Err(Error::Timeout { .. }) => Ok(None),
            Err(error) => self.withdraw_receive(id).unwrap_or(Err(error)).map(Some),
        }
    }

    /// Ends a receive; how it has ended if it was over before.
    pub(super) fn withdraw_receive(&self, id: ReceiveId) -> Option<Result<Envelope>> {
        self.mover.step();
        self.mover.withdraw_receive(id)
    }

    /// One look at a receive. If whoever it waits for has ended, so has the receive.
    pub(super) fn test_receive(&self, id: ReceiveId, pattern: Pattern) -> Result<Option<Envelope>> {
        refuse_in_handler()?;
        self.check(pattern)?;
        self.port().progress();
        self.mover.step();
        let look = || self.mover.shared.tables().ended(id);
        if let Some(ended) = look() {
            return ended.map(Some);
        }
        match self.port().ni().check_departed(by(pattern)) {
            Ok(()) => Ok(None),
            Err(error) => {
                // What was sent before the end counts.
                self.port().ni().empty_rings();
                self.withdraw_receive(id).unwrap_or(Err(error)).map(Some)
            }
        }
    }

    /// Waits for a send; false if it has not ended when the time is over. An error has ended it, except where nothing can be waited
    /// for.
    #[track_caller]
    pub(super) fn wait_send(&self, id: SendId, rank: usize, patience: Option<Duration>) -> Result<bool> {
        if let Some(ended) = self.mover.ended_send(id) {
            return ended.map(|()| true);
        }
        refuse_in_handler()?;
        let wait = Wait::on_rank(rank).always().at_most(patience).of(Awaited::Key(None));
        match self.port().wait_until(wait, self.mover.when_news(|| self.mover.ended_send(id))) {
            Ok(ended) => ended.map(|()| true),
            Err(Error::Timeout { .. }) => Ok(false),
            Err(error) => {
                self.mover.withdraw_send(id);
                Err(error)
            }
        }
    }

    /// One look at a send. If its receiver has ended, so has the send.
    pub(super) fn test_send(&self, id: SendId, rank: usize) -> Result<bool> {
        refuse_in_handler()?;
        self.port().ni().check_rank(rank)?;
        self.port().progress();
        self.mover.step();
        if let Some(ended) = self.mover.ended_send(id) {
            return ended.map(|()| true);
        }
        match self.port().ni().check_departed(By::Rank(rank)) {
            Ok(()) => Ok(false),
            Err(error) => {
                self.mover.withdraw_send(id);
                Err(error)
            }
        }
    }
}

impl Mover {
    /// Looks when something has come or ended, and the first time.
    #[inline]
    pub(super) fn when_news<R>(&self, mut look: impl FnMut() -> Option<R>) -> impl FnMut() -> Option<R> {
        let mut seen = None;
        move || {
            self.step();
            let stamp = Some(self.stamp());
            if stamp == seen {
                return None;
            }
            seen = stamp;
            look()
        }
    }
}

/// What a call has started ends with it, also if a handler panics in it.
pub(super) struct WithdrawsSend<'m>(pub &'m Mover, pub SendId);

impl Drop for WithdrawsSend<'_> {
    fn drop(&mut self) {
        self.0.withdraw_send(self.1);
    }
}

pub(super) struct WithdrawsReceive<'m>(pub &'m Mover, pub ReceiveId);

impl Drop for WithdrawsReceive<'_> {
    fn drop(&mut self) {
        self.0.withdraw_receive(self.1);
    }
}
