//! Waiting: spin while every rank has a core of its own, then yield, then sleep.
//!
//! Every wait of the library passes through here: it runs handlers meanwhile, notices ranks that have ended, raises what
//! handlers have panicked with elsewhere, and keeps deadlines.

use super::delay::Awaited;
use super::engine::PASSES_MAX;
use super::message::{HANDLER_COUNT, refuse_in_handler};
use super::place::Place;
use super::port::Port;
use super::{Ni, background, coroutine};
use crate::error::{Error, Result};
use crate::sync::bell::ANY;
use crate::transport::environment::Environment;
use crate::transport::shm::waiting::Whom;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long to spin and to yield before sleeping.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    spin: Duration,
    idle: Duration,
}

impl Pace {
    /// `crowded`: there are more ranks than cores, so spinning only keeps the awaited rank from running.
    pub fn new(crowded: bool) -> Pace {
        let spin = if crowded { Duration::ZERO } else { Duration::from_micros(100) };
        Pace { spin, idle: Duration::from_millis(1) }
    }

    #[inline(always)]
    fn first_phase(&self) -> Phase {
        if self.spin.is_zero() { Phase::Yield } else { Phase::Spin }
    }
}

/// Who is expected to end the wait: its death ends it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum By {
    /// Any peer. The death of any rank ends the wait, and so does one that leaves because it could not reach another.
    Anyone,
    /// This rank.
    Rank(usize),
    /// Every rank, each of which must arrive at the barrier of this number.
    Barrier(u64),
}

/// How the awaited thing comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// By a handler that runs here: look for messages all the time.
    Always,
    /// By a store of a peer: look for messages now and then.
    Seldom,
}

/// How long a wait lasts if nothing comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    Unlimited,
    /// As long as the program says.
    AtMost(Duration),
    /// So long at a time: its caller looks around and comes back.
    Patrol(Duration),
}

/// A wait: for whom, for what, how and how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    by: By,
    patience: Patience,
    watch: u64,
    progress: Progress,
    /// What whoever watches the job is told.
    pub(super) awaited: Awaited,
    /// The rank that has not done its part, where `by` does not tell.
    pub(super) late: Option<usize>,
}

impl Wait {
    /// For something that `by` stores.
    #[inline]
    pub fn on(by: By) -> Wait {
        Wait {
            by,
            patience: Patience::Unlimited,
            watch: ANY,
            progress: Progress::Seldom,
            awaited: Awaited::Nothing,
            late: None,
        }
    }

    /// For something that `rank` stores.
    #[inline]
    pub fn on_rank(rank: usize) -> Wait {
        Wait::on(By::Rank(rank))
    }

    /// For something that a handler does.
    #[inline]
    pub fn always(self) -> Wait {
        Wait { progress: Progress::Always, ..self }
    }

    /// Gives up after this time, if there is one.
    #[inline]
    pub fn at_most(self, time: Option<Duration>) -> Wait {
        Wait { patience: time.map_or(Patience::Unlimited, Patience::AtMost), ..self }
    }

    /// Gives up after this time, and whoever waits looks around and comes back.
    #[inline]
    pub fn patrol(self, time: Duration) -> Wait {
        Wait { patience: Patience::Patrol(time), ..self }
    }

    /// Is woken by this word alone.
    #[inline]
    fn watch(self, watch: u64) -> Wait {
        Wait { watch, ..self }
    }

    /// What is awaited, in the words of the program.
    #[inline]
    pub fn of(self, awaited: Awaited) -> Wait {
        Wait { awaited, ..self }
    }

    /// Who has not done its part.
    #[inline]
    pub fn late(self, rank: Option<usize>) -> Wait {
        Wait { late: rank, ..self }
    }

    fn timeout(&self) -> Option<Duration> {
        match self.patience {
            Patience::Unlimited => None,
            Patience::AtMost(time) | Patience::Patrol(time) => Some(time),
        }
    }

    /// Whether it ends by itself.
    pub(super) fn ends(&self) -> bool {
        matches!(self.patience, Patience::AtMost(_))
    }

    /// Who could end it.
    pub(super) fn whom(&self) -> Whom {
        match (self.late, self.by) {
            (Some(rank), _) | (None, By::Rank(rank)) => Whom::Rank(rank),
            (None, By::Anyone) => Whom::Anyone,
            (None, By::Barrier(number)) => Whom::Barrier(number),
        }
    }
}

/// What a word is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Until {
    /// The word equals the value.
    Equal(u64),
    /// The word differs from the value.
    NotEqual(u64),
    /// The word, as an unsigned number, is at least the value.
    AtLeast(u64),
}

impl Until {
    #[inline(always)]
    fn met(self, word: u64) -> bool {
        match self {
            Until::Equal(value) => word == value,
            Until::NotEqual(value) => word != value,
            Until::AtLeast(value) => word >= value,
        }
    }
}

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
        let (word, watch) = self.own_word(word)?;
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
        self.ni.check_by(by)?;
        let checks = events.iter().map(|event| self.check_of(event)).collect::<Result<Vec<_>>>()?;
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
        let wait = Wait::on(by).always().of(Awaited::Handler(id, count));
        self.wait_until(wait, || (self.runs(id) >= count).then_some(()))
    }

    /// How many times handler `id` has run on this rank.
    pub fn handled(&self, id: u16) -> u64 {
        self.ni.look();
        self.ni.failure.raise();
        self.runs(id)
    }

    fn runs(&self, id: u16) -> u64 {
        self.ni.handled.get(id as usize).map_or(0, |count| count.load(Ordering::Acquire))
    }

    /// One look at a word of this rank's own memory, without waiting.
    #[inline]
    pub fn poll(&self, word: Place<'_, u64>) -> Result<u64> {
        self.tick();
        self.ni.look();
        Ok(self.own_word(word)?.0.load(Ordering::Acquire))
    }

    fn check_of<'s>(&'s self, event: &Event<'_>) -> Result<Box<dyn Fn() -> bool + 's>> {
        match *event {
            Event::Word(word, until) => {
                let (word, _) = self.own_word(word)?;
                Ok(Box::new(move || until.met(word.load(Ordering::Acquire))))
            }
            Event::Handler(id, count) => {
                check_handler(id)?;
                Ok(Box::new(move || self.runs(id) >= count))
            }
        }
    }

    /// The one wait loop: until `ready`, the end of whom it waits for, or its timeout.
    pub(crate) fn wait_until<R>(&self, wait: Wait, mut ready: impl FnMut() -> Option<R>) -> Result<R> {
        refuse_in_handler()?;
        let ni = &*self.ni;
        let (by, timeout) = (wait.by, wait.timeout());
        ni.check_by(by)?;
        // A panic that goes through a coroutine must not be taken for one of the program beside it, so it is not suspended then.
        // A simulated one is: it waits by letting others run.
        if coroutine::is_inside() && (ni.environment.is_some() || !coroutine::is_unwinding()) {
            return self.wait_suspended(by, timeout, ready);
        }
        if let Some(environment) = &ni.environment {
            return self.wait_simulated(&**environment, &wait, ready);
        }
        let mut turn = Turn::new(ni.pace, timeout);
        // What a far rank stores is stored by this one, when it looks.
        let always = wait.progress == Progress::Always || ni.is_by_far(by);
        // Not where its caller comes back: what it waits for is then the same.
        let mut delay = self.delay_of(&wait);
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
                    let rung = ni.mine().bell.sleep(ni.fences, self.index, wait.watch, Some(left), || {
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
        let ni = &*self.ni;
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
}

impl Port {
    /// Of a simulated rank, which is told when there is something to look at.
    #[cold]
    fn wait_simulated<R>(
        &self,
        environment: &dyn Environment,
        wait: &Wait,
        mut ready: impl FnMut() -> Option<R>,
    ) -> Result<R> {
        let ni = &*self.ni;
        let (by, timeout) = (wait.by, wait.timeout());
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
}

fn check_handler(id: u16) -> Result<()> {
    if id < HANDLER_COUNT { Ok(()) } else { Err(Error::HandlerTaken { id, max: HANDLER_COUNT }) }
}

impl Ni {
    /// Fails if `by` does not exist, and always in a forked child.
    fn check_by(&self, by: By) -> Result<()> {
        self.check_rank(if let By::Rank(rank) = by { rank } else { self.rank })
    }

    /// Whether the awaited thing comes from a far rank. Where near ranks may be awaited too, looking at the network all the time
    /// would hold those up.
    fn is_by_far(&self, by: By) -> bool {
        let is_far = |by| match by {
            By::Rank(rank) => !self.is_near(rank),
            By::Anyone | By::Barrier(_) => self.routes.near().len() == 1,
        };
        self.far.is_some() && is_far(by)
    }

    /// The time, as waits of this rank see it.
    pub(crate) fn now(&self) -> Instant {
        self.environment.as_ref().map_or_else(Instant::now, |environment| environment.now())
    }

    /// The program looks at its memory outside of a wait.
    #[inline(always)]
    pub(crate) fn look(&self) {
        if let Some(environment) = &self.environment {
            environment.look();
        }
    }

    /// Lets others run, in a loop that waits for them.
    #[cold]
    pub(crate) fn relax(&self) {
        match &self.environment {
            Some(environment) => environment.look(),
            None => rustix::thread::sched_yield(),
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

/// The course of one wait.
struct Turn {
    pace: Pace,
    timeout: Option<Duration>,
    turns: u32,
    /// Taken late: the clock costs as much as a short wait.
    begin: Option<Instant>,
    /// When there was last something to do, as far as the clock was looked at.
    idle_since: Option<Instant>,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Spin,
    Yield,
    Sleep,
}

enum Step {
    Spin,
    Yield,
    Sleep(Duration),
    Late(Duration),
}

/// A sleeper looks around so often though nobody has woken it: a hostile rank may have spoilt the words by which it is woken, and then
/// the end of that rank ends the wait all the same.
const SLEEP_MAX: Duration = Duration::from_secs(1);
/// Turns of a spinning wait between two looks at messages and departures.
const LOOK_AROUND_TURNS: u32 = 16;
/// Turns of a spinning wait between two looks at the clock.
const CLOCK_TURNS: u32 = 512;

impl Turn {
    fn new(pace: Pace, timeout: Option<Duration>) -> Turn {
        Turn { pace, timeout, turns: 0, begin: None, idle_since: None, phase: pace.first_phase() }
    }

    /// Begins again with spinning; the timeout goes on.
    #[inline(always)]
    fn restart(&mut self) {
        self.phase = self.pace.first_phase();
        self.idle_since = None;
    }

    #[inline(always)]
    fn look_around(&self) -> bool {
        self.phase != Phase::Spin || self.turns % LOOK_AROUND_TURNS == LOOK_AROUND_TURNS - 1
    }

    #[inline(always)]
    fn next(&mut self) -> Step {
        self.turns = self.turns.wrapping_add(1);
        if self.phase == Phase::Spin && !self.turns.is_multiple_of(CLOCK_TURNS) {
            return Step::Spin;
        }
        self.slow_next()
    }

    #[cold]
    fn slow_next(&mut self) -> Step {
        let now = Instant::now();
        let waited = now - *self.begin.get_or_insert(now);
        let idle = now - *self.idle_since.get_or_insert(now);
        if let Some(timeout) = self.timeout.filter(|timeout| waited >= *timeout) {
            return Step::Late(timeout);
        }
        if self.phase == Phase::Spin && idle >= self.pace.spin {
            self.phase = Phase::Yield;
        }
        if self.phase == Phase::Yield && idle >= self.pace.idle {
            self.phase = Phase::Sleep;
        }
        match self.phase {
            Phase::Spin => Step::Spin,
            Phase::Yield => Step::Yield,
            Phase::Sleep => Step::Sleep(self.timeout.map_or(SLEEP_MAX, |timeout| (timeout - waited).min(SLEEP_MAX))),
        }
    }
}
