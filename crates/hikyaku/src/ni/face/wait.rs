//! What the program waits for: words of its own memory, and handlers.

use super::port::Port;
use super::raw::own_word;
use crate::error::{Error, Result};
use crate::ni::progress::delay::Patrol;
use crate::ni::reach::place::Place;
use crate::ni::remote::initiator::Initiator;
use crate::ni::state::awaited::{Awaited, By, Until, Wait};
use crate::ni::wire::message::check_handler;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// One thing to wait for, among several.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A word of this rank's own memory.
    Word(Place<'a, u64>, Until),
    /// A handler has run at least so many times since the start of the job ([`Port::handled`]).
    Handler(u16, u64),
}

impl Port {
    /// Waits for a word of this rank's own memory, written by a peer's word, notification or atomic operation.
    /// Gives the value that ended the wait. Reads after it see everything the writer wrote before.
    #[inline]
    #[track_caller]
    pub fn wait(&self, word: Place<'_, u64>, until: Until) -> Result<u64> {
        self.wait_from(By::Anyone, word, until)
    }

    /// Waits for a word of this rank's own memory; only the end of `by` ends the wait early.
    #[inline]
    #[track_caller]
    pub fn wait_from(&self, by: By, word: Place<'_, u64>, until: Until) -> Result<u64> {
        self.wait_for(by, word, until, None)
    }

    /// Waits for a word of this rank's own memory, at most for `timeout`; only the end of `by` ends the wait early.
    #[inline]
    #[track_caller]
    pub fn wait_for(&self, by: By, word: Place<'_, u64>, until: Until, timeout: Option<Duration>) -> Result<u64> {
        let (word, watch) = own_word(&self.initiator, word)?;
        let ready = || {
            let value = word.load(Ordering::Acquire);
            until.met(value).then_some(value)
        };
        match ready() {
            Some(value) => Ok(value),
            None => {
                self.enter(&"wait");
                self.wait_until(Wait::on(by).at_most(timeout).watch(watch).of(Awaited::Word(until)), ready)
            }
        }
    }

    /// Waits for one of several events, at most for `timeout`; gives the index of one that has happened.
    #[track_caller]
    pub fn wait_any(&self, by: By, events: &[Event<'_>], timeout: Option<Duration>) -> Result<usize> {
        self.initiator.ni.check_by(by)?;
        let checks = events.iter().map(|event| check_of(&self.initiator, event)).collect::<Result<Vec<_>>>()?;
        if checks.is_empty() {
            return Err(Error::Invalid("waiting for none of no events would never end".into()));
        }
        self.enter(&"wait_any");
        let wait = Wait::on(by).always().at_most(timeout).of(Awaited::Events(events.len()));
        self.wait_until(wait, || checks.iter().position(|happened| happened()))
    }

    /// Waits until handler `id` of this rank has run `count` times since the start of the job.
    #[track_caller]
    pub fn wait_handled(&self, by: By, id: u16, count: u64) -> Result<()> {
        check_handler(id)?;
        self.enter(&"wait_handled");
        self.wait_until(Wait::on(by).always().of(Awaited::Handler(id, count)), || {
            (self.initiator.ni.runs_of(id) >= count).then_some(())
        })
    }

    /// How many times handler `id` has run on this rank.
    pub fn handled(&self, id: u16) -> u64 {
        self.initiator.ni.look();
        self.initiator.ni.failure.raise();
        self.initiator.ni.runs_of(id)
    }

    /// One look at a word of this rank's own memory, without waiting.
    #[inline]
    pub fn poll(&self, word: Place<'_, u64>) -> Result<u64> {
        self.initiator.tick();
        self.initiator.ni.look();
        Ok(own_word(&self.initiator, word)?.0.load(Ordering::Acquire))
    }

    /// Waits until `ready`, or until the wait ends otherwise: for layers above.
    #[inline]
    pub(crate) fn wait_until<R>(&self, wait: Wait, ready: impl FnMut() -> Option<R>) -> Result<R> {
        self.initiator.wait_until(wait, ready)
    }

    /// Several waits for one thing follow: for layers above.
    pub(crate) fn patrol(&self) -> Patrol<'_> {
        Patrol::new(&self.initiator.ni, self.initiator.index, &self.initiator.stay)
    }

    /// The program has made this call, which may wait: for layers above.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn enter(&self, name: &'static &'static str) {
        self.initiator.stay.enter(name);
    }
}

/// Whether an event has happened.
fn check_of<'p>(by: &'p Initiator, event: &Event<'_>) -> Result<Box<dyn Fn() -> bool + 'p>> {
    match *event {
        Event::Word(word, until) => {
            let (word, _) = own_word(by, word)?;
            Ok(Box::new(move || until.met(word.load(Ordering::Acquire))))
        }
        Event::Handler(id, count) => {
            check_handler(id)?;
            Ok(Box::new(move || by.ni.runs_of(id) >= count))
        }
    }
}

/// Nobody works with this port: whoever watches the job does not wonder what it does.
pub fn stand_by(port: &Port) {
    port.initiator.ni.stand_by(port.initiator.index);
}
