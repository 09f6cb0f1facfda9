//! Which call of the program a port is in, and for how long nothing has moved there.

use super::awaited::Wait;
use std::cell::Cell;
use std::fmt;
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

    /// Gives `tell` the call with what it waits for, and where it stands in the program, if that is known.
    pub fn describe(&self, wait: &Wait, tell: impl FnOnce(fmt::Arguments<'_>, fmt::Arguments<'_>)) {
        let awaited = &wait.awaited;
        let Some(site) = self.site.get() else { return tell(format_args!("a wait ({awaited})"), format_args!("")) };
        match NAMER.get().and_then(|namer| namer()) {
            Some(name) => tell(format_args!("{name}({awaited})"), format_args!("")),
            None => tell(format_args!("{}({awaited})", site.name), format_args!("{}", site.place)),
        }
    }
}
