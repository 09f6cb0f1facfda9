//! Blocking calls come after those that were started before, and wait for them.

use super::group::Group;
use super::trouble::PATROL;
use crate::error::{Error, Result};
use crate::ni::{Background, Hold, Rest, Wait, background, refuse_in_handler};
use std::time::Duration;

impl Group<'_> {
    /// The program has made this call, which comes after all that were started before.
    #[inline(always)]
    #[track_caller]
    pub(super) fn begin(&self, name: &'static &'static str) -> Result<()> {
        self.port.enter(name);
        self.await_started()
    }

    /// A blocking call comes after all that were started before.
    #[inline(always)]
    pub(super) fn await_started(&self) -> Result<()> {
        if self.queue.is_empty() { Ok(()) } else { self.await_queue() }
    }

    #[cold]
    fn await_queue(&self) -> Result<()> {
        refuse_in_handler()?;
        if self.queue.is_running() {
            return Err(Error::InFunction);
        }
        self.move_until(|| self.queue.is_empty())
    }

    /// Moves the started calls on, until what is to be awaited has come. Whatever the error, no call is let go that has not
    /// ended.
    pub(super) fn move_until(&self, done: impl Fn() -> bool) -> Result<()> {
        self.move_within(PATROL, done)
    }

    /// Likewise, with a look at `done` at least so often.
    pub(super) fn move_within(&self, patience: Duration, done: impl Fn() -> bool) -> Result<()> {
        refuse_in_handler()?;
        let wait = Wait::on_rank(self.port.ni().rank).patrol(PATROL.min(patience));
        self.watch_queue();
        let _patrol = self.port.patrol();
        while !done() {
            // Every wait moves them on. The call under way looks around now and then, so this must not sleep for long.
            match self.port.wait_until(wait, || done().then_some(())) {
                Ok(()) | Err(Error::Timeout { .. }) => {}
                Err(error @ Error::ForkedChild) => {
                    self.queue.forget();
                    return Err(error);
                }
                Err(error) => {
                    self.end_calls(&error, &done);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Waits of this thread move the calls on from now on: also in a thread that runs several programs in turn, whichever of them
    /// it is.
    pub(super) fn watch_queue(&self) {
        background::ensure(&self.port.ni().workplaces, &self.queue);
    }

    /// This rank can wait no more (it counts as dead, say): its calls find that out by themselves, each in the way that lets nobody
    /// touch its buffers afterwards. Such a call may wait for a member that is still there (`wait_out`).
    #[cold]
    fn end_calls(&self, error: &Error, done: &dyn Fn() -> bool) {
        self.fail(error.clone());
        let mut rest = Rest::new(self.port.ni());
        while !done() {
            self.port.ni().progress();
            self.queue.advance(true);
            rest.wait();
        }
    }

    /// Moves calls on until `done`, where nothing may keep it from that: the panic of a handler waits for the next call.
    #[cold]
    pub(super) fn move_until_whatever_happens(&self, done: impl Fn() -> bool) {
        let (_hold, mut rest) = (Hold::enter(), Rest::new(self.port.ni()));
        while !done() {
            // Also where no wait is possible.
            if self.move_until(&done).is_err() && !done() {
                self.queue.advance(true);
                rest.wait();
            }
        }
    }
}
