//! Waits outside the one loop: for whoever is in the middle of a copy.
//!
//! A rank that takes a buffer back waits until nobody is at it, at most for one copy, which needs no help of this rank. It may do
//! so in a destructor, where no handlers are expected, so it is not a wait as in [`super::wait`]. It is over in microseconds,
//! with two exceptions. A process may be stopped in the middle of its copy; and a hostile rank may have written that somebody
//! copies who does not. So such a wait yields only for a moment, then sleeps; and when it has become long, whoever waits leaves
//! memory behind rather than waiting on, wherever it may.

use crate::ni::interface::Ni;
use crate::ni::state::failure::Hold;
use std::time::{Duration, Instant};

/// A copy is over within that time, if its process runs: longer than a busy machine keeps one from a core.
const PATIENCE: Duration = Duration::from_secs(3);
/// Turns that only yield, before it sleeps.
const YIELD_TURNS: u32 = 1000;
const NAP: Duration = Duration::from_millis(1);

/// The course of one such wait.
pub(crate) struct Rest<'n> {
    ni: &'n Ni,
    turns: u32,
    begin: Option<Instant>,
}

impl<'n> Rest<'n> {
    pub fn new(ni: &'n Ni) -> Rest<'n> {
        Rest { ni, turns: 0, begin: None }
    }

    /// Lets others run for a while. Gives whether it has waited for so long that nobody may be copying at all.
    #[cold]
    pub fn wait(&mut self) -> bool {
        self.turns = self.turns.saturating_add(1);
        if self.turns < YIELD_TURNS || self.ni.environment.is_some() {
            // Simulated time passes by looking, and nobody in a simulator writes what it should not.
            self.ni.relax();
            return false;
        }
        std::thread::sleep(NAP);
        self.begin.get_or_insert_with(Instant::now).elapsed() > PATIENCE
    }

    /// As [`Rest::wait`], and serves others when it has become long: for waits that may be without end.
    #[cold]
    pub fn wait_and_serve(&mut self) -> bool {
        let is_long = self.wait();
        if is_long {
            // Whoever takes a buffer back must come to the end of it, so the panic of a handler waits for the next call.
            let _hold = Hold::enter();
            self.ni.progress();
        }
        is_long
    }
}
