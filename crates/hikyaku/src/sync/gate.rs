//! A gate that is shut until whoever keeps it has decided: threads wait at it, and then all pass or none.

use super::atomic::{AtomicU32, Ordering};
use super::futex;

const SHUT: u32 = 0;
const OPEN: u32 = 1;
const NEVER: u32 = 2;

/// The word the threads wait on.
#[derive(Debug)]
pub struct Gate(AtomicU32);

/// The right to decide. Dropped without a decision, nobody passes: whatever becomes of the keeper, nobody waits for ever.
#[derive(Debug)]
pub struct Keeper<'g> {
    gate: &'g Gate,
    verdict: u32,
}

impl Gate {
    /// A gate that is shut.
    pub fn new() -> Gate {
        Gate(AtomicU32::new(SHUT))
    }

    /// Takes the right to decide.
    pub fn keep(&self) -> Keeper<'_> {
        Keeper { gate: self, verdict: NEVER }
    }

    /// Waits for the decision: true if it is open. What the keeper did before is seen after.
    pub fn pass(&self) -> bool {
        loop {
            match self.0.load(Ordering::Acquire) {
                SHUT => futex::wait(&self.0, SHUT, None),
                verdict => return verdict == OPEN,
            }
        }
    }
}

impl Default for Gate {
    fn default() -> Gate {
        Gate::new()
    }
}

impl Keeper<'_> {
    /// Lets everybody pass.
    pub fn open(mut self) {
        self.verdict = OPEN;
    }
}

impl Drop for Keeper<'_> {
    fn drop(&mut self) {
        self.gate.0.store(self.verdict, Ordering::Release);
        futex::wake_all(&self.gate.0);
    }
}
