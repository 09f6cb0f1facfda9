//! The non-blocking calls of a group that have not ended, one after the other in the order they were started: calls are
//! numbered, so all members must do them in the same order.
//!
//! The first one runs as a coroutine: the same code as for a blocking call, suspended where it would wait.

use super::group::Group;
use super::trouble::PATROL;
use crate::error::{Error, Result};
use crate::ni::background::{self, Background, moved};
use crate::ni::coroutine::Coroutine;
use crate::ni::failure::Hold;
use crate::ni::message::refuse_in_handler;
use crate::ni::rest::Rest;
use crate::ni::wait::{By, Progress};
use crate::sync::bell::ANY;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// Why a call did not succeed.
pub(super) enum Failure {
    Error(Error),
    /// A function of the program panicked.
    Panic(Box<dyn Any + Send>),
}

/// What became of a call.
pub(super) type Outcome = std::result::Result<(), Failure>;

/// A call that was started.
pub(super) type Work = Box<dyn FnOnce() -> Outcome>;

/// See above. Calls have tickets, counted from 1.
#[derive(Default)]
pub(super) struct Queue {
    waiting: RefCell<VecDeque<Work>>,
    current: Cell<Option<Coroutine<Outcome>>>,
    running: Cell<bool>,
    started: Cell<u64>,
    ended: Cell<u64>,
    failures: RefCell<Vec<(u64, Failure)>>,
}

impl Queue {
    /// Appends a call; gives its ticket.
    pub fn push(&self, work: Work) -> u64 {
        self.waiting.borrow_mut().push_back(work);
        self.started.set(self.started.get() + 1);
        self.advance(true);
        self.started.get()
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.started.get() == self.ended.get()
    }

    pub fn has_ended(&self, ticket: u64) -> bool {
        self.ended.get() >= ticket
    }

    /// What became of a call that has ended, once.
    pub fn outcome(&self, ticket: u64) -> Outcome {
        let mut failures = self.failures.borrow_mut();
        let place = failures.iter().position(|(of, _)| *of == ticket);
        place.map_or(Ok(()), |place| Err(failures.swap_remove(place).1))
    }

    /// The error of a call that has ended.
    pub fn error(&self, ticket: u64) -> Option<Error> {
        let failures = self.failures.borrow();
        let failure = failures.iter().find(|(of, _)| *of == ticket);
        failure.and_then(|(_, failure)| if let Failure::Error(error) = failure { Some(error.clone()) } else { None })
    }

    /// In a forked child nothing goes on: what was under way there is the parent's. Nowhere else may it be let go, since peers may
    /// be at its buffers.
    fn forget(&self) {
        std::mem::forget(self.current.take());
        std::mem::forget(self.waiting.take());
        self.ended.set(self.started.get());
    }

    fn end(&self, result: Outcome) {
        moved();
        let ticket = self.ended.get() + 1;
        if let Err(failure) = result {
            self.failures.borrow_mut().push((ticket, failure));
        }
        self.ended.set(ticket);
    }
}

impl Background for Queue {
    fn advance(&self, _: bool) {
        // A function of the program may come back here.
        if self.is_empty() || self.running.replace(true) {
            return;
        }
        loop {
            let next = match self.current.take() {
                Some(current) => Ok(current),
                None => match self.waiting.borrow_mut().pop_front() {
                    Some(work) => Coroutine::new(work),
                    None => break,
                },
            };
            match next {
                Ok(mut current) => match current.resume() {
                    Some(result) => self.end(result),
                    None => {
                        self.current.set(Some(current));
                        break;
                    }
                },
                // Without memory for a stack it waits right here.
                Err(work) => self.end(work()),
            }
        }
        self.running.set(false);
    }
}

impl Group<'_> {
    /// A blocking call comes after all that were started before.
    #[inline(always)]
    pub(super) fn settle(&self) -> Result<()> {
        if self.queue.is_empty() { Ok(()) } else { self.settle_queue() }
    }

    #[cold]
    fn settle_queue(&self) -> Result<()> {
        refuse_in_handler()?;
        if self.queue.running.get() {
            return Err(Error::InFunction);
        }
        self.move_until(|| self.queue.is_empty())
    }

    /// Moves the started calls on, until what is to be awaited has come. Whatever the error, no call is let go that has not
    /// ended.
    pub(super) fn move_until(&self, done: impl Fn() -> bool) -> Result<()> {
        refuse_in_handler()?;
        let myself = By::Rank(self.job.ni.rank);
        self.watch_queue();
        while !done() {
            // Every wait moves them on. The call under way looks around now and then, so this must not sleep for long.
            match self.job.wait_until(myself, Some(PATROL), ANY, Progress::Seldom, || done().then_some(())) {
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
        background::ensure(&self.job.ni, &self.queue);
    }

    /// This rank can wait no more (it counts as dead, say): its calls find that out by themselves, each in the way that lets nobody
    /// touch its buffers afterwards. Such a call may wait for a member that is still there (`wait_out`).
    #[cold]
    fn end_calls(&self, error: &Error, done: &dyn Fn() -> bool) {
        self.fail(error.clone());
        let mut rest = Rest::new(&self.job.ni);
        while !done() {
            self.job.ni.progress();
            self.queue.advance(true);
            rest.wait();
        }
    }

    /// Moves calls on until `done`, where nothing may keep it from that: the panic of a handler waits for the next call.
    #[cold]
    pub(super) fn move_until_whatever_happens(&self, done: impl Fn() -> bool) {
        let (_hold, mut rest) = (Hold::enter(), Rest::new(&self.job.ni));
        while !done() {
            // Also where no wait is possible.
            if self.move_until(&done).is_err() && !done() {
                self.queue.advance(true);
                rest.wait();
            }
        }
    }
}
