//! The non-blocking calls of a group that have not ended, one after the other in the order they were started: calls are
//! numbered, so all members must do them in the same order.
//!
//! The first one runs as a coroutine: the same code as for a blocking call, suspended where it would wait.

use crate::error::Error;
use crate::ni::{Background, Coroutine, background::moved};
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

    /// Whether a call is being moved on: a function of the program asks.
    pub fn is_running(&self) -> bool {
        self.running.get()
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
    pub fn forget(&self) {
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
