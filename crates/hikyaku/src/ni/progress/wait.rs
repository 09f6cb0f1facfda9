//! Waiting: spin while every rank has a core of its own, then yield, then sleep.
//!
//! Every wait of the library passes through here: it runs handlers meanwhile, notices ranks that have ended, raises what
//! handlers have panicked with elsewhere, and keeps deadlines.

use super::delay::{Delay, Stuck};
use crate::error::{Error, Result};
use crate::ni::interface::Ni;
use crate::ni::receive::engine::PASSES_MAX;
use crate::ni::state::awaited::{By, Progress, Wait};
use crate::ni::state::inside::refuse_in_handler;
use crate::ni::state::pace::{Step, Turn};
use crate::ni::state::stay::Stay;
use crate::ni::state::{background, coroutine};
use crate::sync::bell::ANY;
use crate::transport::environment::Environment;
use std::time::Duration;

impl Ni {
    /// The one wait loop: until `ready`, the end of whom it waits for, or its timeout. It sleeps at the bell of `port`, whose call is
    /// known by `stay`.
    pub(crate) fn wait_until<R>(
        &self,
        port: usize,
        stay: &Stay,
        wait: Wait,
        mut ready: impl FnMut() -> Option<R>,
    ) -> Result<R> {
        refuse_in_handler()?;
        let ni = self;
        let (by, timeout) = (wait.by, wait.timeout());
        ni.check_by(by)?;
        // A panic that goes through a coroutine must not be taken for one of the program beside it, so it is not suspended then.
        // A simulated one is: it waits by letting others run.
        if coroutine::is_inside() && (ni.environment.is_some() || !coroutine::is_unwinding()) {
            return self.wait_suspended(by, timeout, ready);
        }
        if let Some(environment) = &ni.environment {
            return self.wait_simulated(&**environment, port, stay, &wait, ready);
        }
        let sleeps_at_once = wait.is_drowsy || Delay::goes_on(stay, &wait);
        let pace = ni.pace(wait.is_long);
        let mut turn = if sleeps_at_once { Turn::resumed(pace, timeout) } else { Turn::new(pace, timeout) };
        // What a far rank stores is stored by this one, when it looks.
        let always = wait.progress == Progress::Always || ni.is_by_far(by);
        let mut delay = Delay::new(ni, port, stay, &wait);
        loop {
            let look_around = turn.look_around();
            if (look_around || always) && ni.progress() == Some(true) {
                // A rank that serves others is busy: the next message is as near as the last one.
                turn.restart();
                delay.over();
            }
            if look_around {
                ni.failure.raise();
                if background::advance(false) {
                    turn.restart();
                    delay.over();
                }
            }
            if let Some(result) = ready() {
                return Ok(result);
            }
            if look_around
                && ni.departures() != 0
                && let Err(error) = ni.find_departed(by)
            {
                // What was done before the end counts, also what lies in the rings.
                ni.empty_rings();
                return ready().ok_or_else(|| ni.failing(error));
            }
            match turn.next() {
                // A look at the transport is pause enough, and what comes meanwhile waits.
                Step::Spin if always && ni.far.is_some() => (),
                Step::Spin => std::hint::spin_loop(),
                Step::Yield => rustix::thread::sched_yield(),
                Step::Late(after) => {
                    delay.keep_on_patrol();
                    return Err(Error::Timeout { after });
                }
                Step::Sleep(left) => {
                    ni.watch(by);
                    let mut result = None;
                    let left = delay.before_sleep(left);
                    // What goes on beside it is rung for by other names.
                    let watch = if background::rests() { wait.watch } else { ANY };
                    let rung = ni.mine().bell.sleep(ni.fences, port, watch, Some(left), || {
                        // A thread that is in the engine now may have looked at the rings before the last message
                        // came: only an own look that finds nothing allows to sleep.
                        if ni.progress() != Some(false) {
                            return true;
                        }
                        let moved = background::advance(true);
                        result = ready();
                        let ended = ni.departures() != 0 && ni.find_departed(by).is_err();
                        moved || result.is_some() || ended || ni.failure.is_due()
                    });
                    if let Some(result) = result {
                        return Ok(result);
                    }
                    if rung {
                        delay.over();
                    }
                }
            }
        }
    }

    /// The wait of a coroutine: one look each time it is resumed. Handlers run, and everything else moves on, in the wait
    /// or the call that resumes it.
    #[cold]
    fn wait_suspended<R>(&self, by: By, timeout: Option<Duration>, mut ready: impl FnMut() -> Option<R>) -> Result<R> {
        let ni = self;
        let deadline = timeout.and_then(|after| Some((ni.now().checked_add(after)?, after)));
        loop {
            if let Some(result) = ready() {
                background::moved();
                return Ok(result);
            }
            if ni.departures() != 0
                && let Err(error) = ni.find_departed(by)
            {
                ni.empty_rings();
                return ready().ok_or_else(|| ni.failing(error));
            }
            if let Some((deadline, after)) = deadline
                && ni.now() >= deadline
            {
                return Err(Error::Timeout { after });
            }
            if ni.environment.as_ref().is_some_and(|environment| environment.is_over()) {
                return Err(Error::PeerDead { rank: ni.rank });
            }
            coroutine::suspend();
        }
    }

    /// Of a simulated rank, which is told when there is something to look at.
    #[cold]
    fn wait_simulated<R>(
        &self,
        environment: &dyn Environment,
        port: usize,
        stay: &Stay,
        wait: &Wait,
        mut ready: impl FnMut() -> Option<R>,
    ) -> Result<R> {
        let ni = self;
        let (by, timeout) = (wait.by, wait.timeout());
        let deadline = timeout.and_then(|after| Some((environment.now().checked_add(after)?, after)));
        let _stuck = Stuck::new(Delay::new(ni, port, stay, wait), environment);
        loop {
            environment.look();
            let worked = ni.progress() == Some(true);
            ni.failure.raise();
            let moved = background::advance(true);
            if let Some(result) = ready() {
                return Ok(result);
            }
            environment.check_wait()?;
            if ni.departures() != 0
                && let Err(error) = ni.find_departed(by)
            {
                ni.empty_rings();
                return ready().ok_or_else(|| ni.failing(error));
            }
            if let Some((deadline, after)) = deadline
                && environment.now() >= deadline
            {
                return Err(Error::Timeout { after });
            }
            if environment.is_over() {
                return Err(Error::PeerDead { rank: ni.rank });
            }
            if !worked && !moved {
                environment.sleep(deadline.map(|(deadline, _)| deadline));
            }
        }
    }

    /// Handles everything that arrived before this call.
    #[cold]
    pub(crate) fn empty_rings(&self) {
        let mut passes = 0;
        while passes < PASSES_MAX {
            match self.progress() {
                Some(false) => return,
                Some(true) => passes += 1,
                // Another thread is at it; what it has seen so far may not be all.
                None => self.relax(),
            }
        }
    }
}
