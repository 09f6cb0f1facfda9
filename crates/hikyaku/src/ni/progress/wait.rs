//! Waiting: spin while every rank has a core of its own, then yield, then sleep.
//!
//! Every wait of the library passes through here: it runs handlers meanwhile, notices ranks that have ended, raises what
//! handlers have panicked with elsewhere, and keeps deadlines.

use crate::error::{Error, Result};
use crate::ni::interface::Ni;
use crate::ni::receive::engine::PASSES_MAX;
use crate::ni::state::awaited::{By, Progress};
use crate::ni::state::inside::refuse_in_handler;
use crate::ni::state::pace::{Step, Turn};
use crate::ni::state::{background, coroutine};
use crate::transport::environment::Environment;
use std::time::Duration;

impl Ni {
    /// The one wait loop: until `ready`, the end of `by`, or the timeout. It sleeps at the bell of `port`.
    pub(crate) fn wait_until<R>(
        &self,
        port: usize,
        by: By,
        timeout: Option<Duration>,
        watch: u64,
        progress: Progress,
        mut ready: impl FnMut() -> Option<R>,
    ) -> Result<R> {
        refuse_in_handler()?;
        let ni = self;
        ni.check_by(by)?;
        // A panic that goes through a coroutine must not be taken for one of the program beside it, so it is not suspended then.
        // A simulated one is: it waits by letting others run.
        if coroutine::is_inside() && (ni.environment.is_some() || !coroutine::is_unwinding()) {
            return self.wait_suspended(by, timeout, ready);
        }
        if let Some(environment) = &ni.environment {
            return self.wait_simulated(&**environment, by, timeout, ready);
        }
        let mut turn = Turn::new(ni.pace, timeout);
        // What a far rank stores is stored by this one, when it looks.
        let always = progress == Progress::Always || ni.is_by_far(by);
        loop {
            let look_around = turn.look_around();
            if (look_around || always) && ni.progress() == Some(true) {
                // A rank that serves others is busy: the next message is as near as the last one.
                turn.restart();
            }
            if look_around {
                ni.failure.raise();
                if background::advance(false) {
                    turn.restart();
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
                Step::Spin => std::hint::spin_loop(),
                Step::Yield => rustix::thread::sched_yield(),
                Step::Late(after) => return Err(Error::Timeout { after }),
                Step::Sleep(left) => {
                    ni.watch(by);
                    let mut result = None;
                    ni.mine().bell.sleep(ni.fences, port, watch, Some(left), || {
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
        by: By,
        timeout: Option<Duration>,
        mut ready: impl FnMut() -> Option<R>,
    ) -> Result<R> {
        let ni = self;
        let deadline = timeout.and_then(|after| Some((environment.now().checked_add(after)?, after)));
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
    fn empty_rings(&self) {
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
