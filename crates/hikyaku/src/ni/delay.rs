//! A wait that takes long is told to whoever watches the job: which call it is, for whom it waits, where it stands in the program.
//!
//! A call says who it is by [`Port::enter`], two stores on its way to a wait. All else is done by a thread that has slept for
//! [`TOLD_AFTER`].

use super::port::Port;
use super::wait::{Until, Wait};
use crate::transport::shm::waiting::{self, Waiting, Whom};
use std::cell::Cell;
use std::fmt::{Display, Formatter};
use std::panic::Location;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Waits that are over before are nobody's business.
const TOLD_AFTER: Duration = Duration::from_millis(300);

/// What a wait is for, as the program would say it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Awaited {
    /// What the call says by itself.
    Nothing,
    Word(Until),
    /// One of so many.
    Events(usize),
    /// Its so manieth run.
    Handler(u16, u64),
    Message {
        slot: usize,
        bytes: usize,
    },
    /// Any message of a slot, or of any.
    AnyMessage(Option<usize>),
}

impl Display for Awaited {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match *self {
            Awaited::Nothing => Ok(()),
            Awaited::Word(Until::Equal(value)) => write!(f, "word = {value}"),
            Awaited::Word(Until::NotEqual(value)) => write!(f, "word other than {value}"),
            Awaited::Word(Until::AtLeast(value)) => write!(f, "word >= {value}"),
            Awaited::Events(count) => write!(f, "{count} events"),
            Awaited::Handler(id, count) => write!(f, "handler {id}, run {count}"),
            Awaited::Message { slot, bytes } => write!(f, "{bytes} bytes, slot {slot}"),
            Awaited::AnyMessage(Some(slot)) => write!(f, "slot {slot}"),
            Awaited::AnyMessage(None) => write!(f, "any slot"),
        }
    }
}

/// A call of the program.
#[derive(Clone, Copy, Debug)]
struct CallSite {
    name: &'static &'static str,
    place: &'static Location<'static>,
}

/// How long a port has waited, over all waits of one call.
#[derive(Debug, Default)]
pub(crate) struct Stay {
    site: Cell<Option<CallSite>>,
    /// Since when nothing has moved, by the monotonic clock.
    since: Cell<Option<Duration>>,
    /// Whoever watches was told.
    told: Cell<bool>,
}

/// Gives the call that the program has made in another language.
pub type Namer = fn() -> Option<&'static str>;

static NAMER: OnceLock<Namer> = OnceLock::new();

/// Waits of this program are told under the names that its calls have in another language. The first one to say so is asked.
pub fn name_calls_by(namer: Namer) {
    let _ = NAMER.set(namer);
}

/// Nobody works with this port: whoever watches the job does not wonder what it does.
pub fn stand_by(port: &Port) {
    port.ni.mine().life.ports.fetch_and(!(1 << port.index), Ordering::Relaxed);
}

impl Port {
    /// The program has made this call, which may wait.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn enter(&self, name: &'static &'static str) {
        self.stay.site.set(Some(CallSite { name, place: Location::caller() }));
    }

    pub(super) fn delay_of<'p>(&'p self, wait: &'p Wait) -> Delay<'p> {
        Delay { port: self, wait, stays: false }
    }

    fn waiting(&self) -> &Waiting {
        &self.ni.mine().waits[self.index]
    }

    /// Its call, what it waits for, and where in the program.
    pub(super) fn describe(&self, wait: &Wait) -> (String, String) {
        let Some(site) = self.stay.site.get() else { return (format!("a wait ({})", wait.awaited), String::new()) };
        match NAMER.get().and_then(|namer| namer()) {
            Some(name) => (format!("{name}({})", wait.awaited), String::new()),
            None => (format!("{}({})", site.name, wait.awaited), site.place.to_string()),
        }
    }
}

/// How long one wait takes.
pub(super) struct Delay<'p> {
    port: &'p Port,
    wait: &'p Wait,
    /// The caller comes back.
    stays: bool,
}

impl Delay<'_> {
    /// Before it sleeps, at most for `time`: gives for how long.
    #[cold]
    pub fn before_sleep(&mut self, time: Duration) -> Duration {
        let stay = &self.port.stay;
        if stay.told.get() {
            return time;
        }
        let now = waiting::now();
        let since = stay.since.get().unwrap_or(now);
        stay.since.set(Some(since));
        let waited = now.saturating_sub(since);
        if waited < TOLD_AFTER {
            return time.min(TOLD_AFTER - waited);
        }
        let (call, place) = self.port.describe(self.wait);
        let whom = match self.wait.whom() {
            // It is decided elsewhere whose end matters.
            Whom::Rank(rank) if rank == self.port.rank() => Whom::Anyone,
            whom => whom,
        };
        self.port.waiting().publish(whom, since, self.wait.ends(), &call, &place);
        stay.told.set(true);
        time
    }

    /// Something has moved.
    #[inline]
    pub fn over(&mut self) {
        let stay = &self.port.stay;
        if stay.since.get().is_some() {
            stay.since.set(None);
            if stay.told.replace(false) {
                self.port.waiting().clear();
            }
        }
    }

    /// It ends because it was long enough: if its caller is going to wait on, nothing has moved.
    pub fn keep_on_patrol(&mut self) {
        self.stays = !self.wait.ends();
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
