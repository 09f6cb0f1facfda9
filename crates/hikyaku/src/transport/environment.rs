//! What a simulation replaces besides the network: time, chance, what things cost, and which program runs when.
//!
//! A rank on a real machine has none: its clock is the machine's, and its threads run as the system lets them.

use super::shm::layout::State;
use crate::error::Result;
use std::time::Instant;

/// The surroundings of one simulated rank.
pub(crate) trait Environment: Send + Sync {
    /// The time here.
    fn now(&self) -> Instant;

    /// A random number that is not 0.
    fn random(&self) -> u64;

    /// A number of this run that no other one of the process has: runs of the same seed draw the same random numbers.
    fn run(&self) -> u64;

    /// The program has entered a call of the library that communicates.
    fn call(&self);

    /// The program has copied so many bytes within its own memory.
    fn copied(&self, bytes: usize);

    /// The program looks at its memory: what has arrived by now must be there.
    fn look(&self);

    /// Fails where nobody can wait, because time does not go on there.
    fn check_wait(&self) -> Result<()>;

    /// Sleeps until something happens to this rank, or `deadline`; may return early.
    fn sleep(&self, deadline: Option<Instant>);

    /// From now on handlers run when messages arrive, until this was taken back as often as it was asked for; otherwise
    /// only inside calls of the program.
    fn serve_alone(&self, alone: bool);

    /// This rank has ended, after it had come to so many barriers. The others learn of it after everything it has sent.
    fn depart(&self, state: State, arrivals: u64);

    /// Whether this rank is over, though its program may still run for a moment: nothing comes any more.
    fn is_over(&self) -> bool;
}
