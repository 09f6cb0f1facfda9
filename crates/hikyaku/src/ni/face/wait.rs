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
    /// Waits for a word in this rank's own memory, which a peer changes by a word, a notification or an atomic operation. Returns the
    /// value that ended the wait. Reads after this call see everything that the writer wrote before.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let flag = job.symmetric::<u64>(1)?;
    /// if job.rank() == 0 {
    ///     job.word(flag.at(1, 0), 42)?;
    /// } else {
    ///     assert_eq!(job.wait(flag.here(0), hikyaku::Until::AtLeast(40))?, 42);
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[inline]
    #[track_caller]
    pub fn wait(&self, word: Place<'_, u64>, until: Until) -> Result<u64> {
        self.wait_from(By::Anyone, word, until)
    }

    /// Waits for a word in this rank's own memory. The wait ends early, with an error, only if `by` is gone.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// use hikyaku::{By, Until};
    /// let flag = job.symmetric::<u64>(1)?;
    /// let peer = 1 - job.rank();
    /// job.word(flag.at(peer, 0), 1)?;
    /// // An error if `peer` dies or leaves, whatever happens to other ranks.
    /// job.wait_from(By::Rank(peer), flag.here(0), Until::Equal(1))?;
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[inline]
    #[track_caller]
    pub fn wait_from(&self, by: By, word: Place<'_, u64>, until: Until) -> Result<u64> {
        self.wait_for(by, word, until, None)
    }

    /// Waits for a word in this rank's own memory, for `timeout` at most. The wait ends early only if `by` is gone.
    ///
    /// ```
    /// # hikyaku::local(1, |job| {
    /// use hikyaku::{By, Error, Until};
    /// use std::time::Duration;
    /// let flag = job.symmetric::<u64>(1)?;
    /// let late = job.wait_for(By::Anyone, flag.here(0), Until::Equal(1), Some(Duration::from_millis(1)));
    /// assert!(matches!(late, Err(Error::Timeout { .. })));
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
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

    /// Waits for one of several events, for `timeout` at most; returns the index of one that has happened.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// use hikyaku::{By, Event, Until};
    /// let flags = job.symmetric::<u64>(2)?;
    /// job.word(flags.at(1 - job.rank(), 1), 1)?;
    /// let events = [0, 1].map(|index| Event::Word(flags.here(index), Until::Equal(1)));
    /// assert_eq!(job.wait_any(By::Anyone, &events, None)?, 1); // the second has happened
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
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
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// job.register_handler(1, |_, message| println!("from rank {}", message.source))?;
    /// job.barrier()?; // the handler exists everywhere
    /// let peer = 1 - job.rank();
    /// job.send(peer, 1, 0, [0; 6], b"hello")?;
    /// job.wait_handled(hikyaku::By::Rank(peer), 1, 1)?; // the message from `peer` was handled
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[track_caller]
    pub fn wait_handled(&self, by: By, id: u16, count: u64) -> Result<()> {
        check_handler(id)?;
        self.enter(&"wait_handled");
        self.wait_until(Wait::on(by).always().of(Awaited::Handler(id, count)), || {
            (self.initiator.ni.runs_of(id) >= count).then_some(())
        })
    }

    /// How many times handler `id` has run on this rank.
    ///
    /// ```
    /// # hikyaku::local(1, |job| {
    /// job.register_handler(1, |_, _| {})?;
    /// job.send(0, 1, 0, [0; 6], &[])?;
    /// job.wait_handled(hikyaku::By::Anyone, 1, 1)?;
    /// assert_eq!(job.handled(1), 1);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn handled(&self, id: u16) -> u64 {
        self.initiator.ni.look();
        self.initiator.ni.failure.raise();
        self.initiator.ni.runs_of(id)
    }

    /// Reads a word of this rank's own memory, without waiting.
    ///
    /// ```
    /// # hikyaku::local(1, |job| {
    /// let flag = job.symmetric::<u64>(1)?;
    /// job.word(flag.here(0), 3)?;
    /// while job.poll(flag.here(0))? != 3 {
    ///     // compute something here
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
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

    /// How often this port was rung for while it slept: for layers above.
    pub(crate) fn rings(&self) -> u32 {
        self.initiator.ni.mine().bell.sequence(self.initiator.index)
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

/// Somebody works with this port again.
pub fn at_work(port: &Port) {
    port.initiator.ni.at_work(port.initiator.index);
}

/// How many ports the rank of this one has, open or not, with that of its interface.
pub fn port_count(port: &Port) -> usize {
    port.initiator.ni.memory.layout.ports
}
