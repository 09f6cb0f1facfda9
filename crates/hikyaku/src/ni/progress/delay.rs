//! A wait that takes long is told to whoever watches the job: which call it is, for whom it waits, where it stands in the program.
//!
//! A call says who it is by [`Stay::enter`], two stores on its way to a wait. All else is done by a thread that has slept for
//! [`TOLD_AFTER`].

use crate::ni::interface::Ni;
use crate::ni::state::awaited::Wait;
use crate::ni::state::stay::Stay;
use crate::transport::environment::Environment;
use crate::transport::shm::waiting::{self, Waiting, Whom};
use std::time::{Duration, Instant};

/// Waits that are over before are nobody's business.
const TOLD_AFTER: Duration = Duration::from_millis(300);

/// How long one wait takes.
pub(super) struct Delay<'p> {
    ni: &'p Ni,
    port: usize,
    stay: &'p Stay,
    wait: &'p Wait,
    /// The caller comes back.
    stays: bool,
}

impl<'p> Delay<'p> {
    pub fn new(ni: &'p Ni, port: usize, stay: &'p Stay, wait: &'p Wait) -> Delay<'p> {
        Delay { ni, port, stay, wait, stays: false }
    }

    /// Whether a patrol comes back to a wait in which it slept, and nothing has moved since.
    #[inline(always)]
    pub fn goes_on(stay: &Stay, wait: &Wait) -> bool {
        wait.is_patrol() && stay.since.get().is_some()
    }

    fn record(&self) -> &Waiting {
        &self.ni.mine().waits[self.port]
    }

    /// Before it sleeps, at most for `time`: gives for how long.
    #[cold]
    pub fn before_sleep(&mut self, time: Duration) -> Duration {
        if self.stay.told.get() {
            return time;
        }
        let now = waiting::now();
        let since = self.stay.since.get().unwrap_or(now);
        self.stay.since.set(Some(since));
        let waited = now.saturating_sub(since);
        if waited < TOLD_AFTER {
            return time.min(TOLD_AFTER - waited);
        }
        self.tell(since);
        self.stay.told.set(true);
        time
    }

    fn tell(&self, since: Duration) {
        let whom = match self.wait.whom() {
            // It is decided elsewhere whose end matters.
            Whom::Rank(rank) if rank == self.ni.rank => Whom::Anyone,
            whom => whom,
        };
        let (record, ends) = (self.record(), self.wait.ends());
        self.stay.describe(self.wait, |call, place| record.publish(whom, since, ends, call, place));
    }

    /// Something has moved.
    #[inline]
    pub fn over(&mut self) {
        end(self.ni, self.port, self.stay);
    }

    /// It ends because it was long enough: if its caller is going to wait on ([`Patrol`]), nothing has moved.
    pub fn keep_on_patrol(&mut self) {
        self.stays = !self.wait.ends();
    }
}

/// Nobody waits there any more.
#[inline]
fn end(ni: &Ni, port: usize, stay: &Stay) {
    if stay.since.get().is_some() {
        stay.since.set(None);
        if stay.told.replace(false) {
            ni.mine().waits[port].clear();
        }
    }
}

/// Several waits for one thing, between which whoever waits looks around. They are one wait for whoever watches the job, until this is
/// dropped.
pub(crate) struct Patrol<'p> {
    ni: &'p Ni,
    port: usize,
    stay: &'p Stay,
}

impl<'p> Patrol<'p> {
    pub fn new(ni: &'p Ni, port: usize, stay: &'p Stay) -> Patrol<'p> {
        Patrol { ni, port, stay }
    }
}

impl Drop for Patrol<'_> {
    fn drop(&mut self) {
        end(self.ni, self.port, self.stay);
    }
}

/// The wait of a simulated rank. If it never ends, the rank is unwound, and this tells what it was.
pub(super) struct Stuck<'p> {
    delay: Delay<'p>,
    environment: &'p dyn Environment,
    begin: Instant,
}

impl<'p> Stuck<'p> {
    pub fn new(delay: Delay<'p>, environment: &'p dyn Environment) -> Stuck<'p> {
        // A panic that was caught has left one, or this is what is dropped after a wait that never ended.
        if !std::thread::panicking() && delay.record().read().is_some() {
            delay.record().clear();
        }
        Stuck { delay, environment, begin: environment.now() }
    }
}

impl Drop for Stuck<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && self.delay.record().read().is_none() {
            let waited = self.environment.now().saturating_duration_since(self.begin);
            self.delay.tell(waiting::END.saturating_sub(waited));
        }
    }
}

impl Drop for Delay<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.stays {
            self.over();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::TOLD_AFTER;
    use crate::ni::Wait;
    use std::time::{Duration, Instant};

    #[test]
    fn waits_of_a_patrol_are_told_as_one_until_it_ends() {
        crate::local(1, |job| {
            let record = || job.ni.mine().waits[job.initiator.index].read();
            let patrol = job.patrol();
            let begin = Instant::now();
            while record().is_none() {
                let wait = Wait::on_rank(0).patrol(Duration::from_millis(20));
                assert!(job.wait_until(wait, || None::<()>).is_err());
                assert!(begin.elapsed() < 100 * TOLD_AFTER, "it is never told");
            }
            assert!(begin.elapsed() >= TOLD_AFTER);
            drop(patrol);
            assert_eq!(record(), None);
        })
        .unwrap();
    }

    #[test]
    fn a_patrol_spins_once() {
        crate::local(1, |job| {
            let _patrol = job.patrol();
            let looks = |mut count: u32| {
                let wait = Wait::on_rank(0).patrol(Duration::from_millis(20));
                let look = || {
                    count += 1;
                    None::<()>
                };
                assert!(job.wait_until(wait, look).is_err());
                count
            };
            // A wait that spins looks thousands of times; one that sleeps, before and after.
            assert!(looks(0) > 10);
            for _ in 0..5 {
                assert!(looks(0) < 10);
            }
        })
        .unwrap();
    }
}
