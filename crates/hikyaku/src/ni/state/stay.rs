//! Which call of the program a port is in, and for how long nothing has moved there.

use super::awaited::Wait;
use std::cell::Cell;
use std::panic::Location;
use std::sync::OnceLock;
use std::time::Duration;

/// Gives the call that the program has made in another language.
pub type Namer = fn() -> Option<&'static str>;

static NAMER: OnceLock<Namer> = OnceLock::new();

/// Waits of this program are told under the names that its calls have in another language. The first one to say so is asked.
pub fn name_calls_by(namer: Namer) {
    let _ = NAMER.set(namer);
}

/// A call of the program.
#[derive(Clone, Copy, Debug)]
struct CallSite {
    name: &'static &'static str,
    place: &'static Location<'static>,
}

/// What a port is in.
#[derive(Debug, Default)]
pub(crate) struct Stay {
    site: Cell<Option<CallSite>>,
    /// Since when nothing has moved, by the monotonic clock.
    pub since: Cell<Option<Duration>>,
    /// Whoever watches the job was told.
    pub told: Cell<bool>,
}

impl Stay {
    /// The program has made this call, which may wait.
    #[inline(always)]
    #[track_caller]
    pub fn enter(&self, name: &'static &'static str) {
        self.site.set(Some(CallSite { name, place: Location::caller() }));
    }

    /// The call, what it waits for, and where it stands in the program, if that is known.
    pub fn describe(&self, wait: &Wait) -> (String, String) {
        let Some(site) = self.site.get() else { return (format!("a wait ({})", wait.awaited), String::new()) };
        match NAMER.get().and_then(|namer| namer()) {
            Some(name) => (format!("{name}({})", wait.awaited), String::new()),
            None => (format!("{}({})", site.name, wait.awaited), site.place.to_string()),
        }
    }
}
