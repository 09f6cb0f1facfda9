//! Waiting for words and handlers.

use crate::entry::with_port;
use crate::error::Failure;
use crate::given::{In, Out, exported};
use crate::handle::Handle;
use core_hikyaku::{By, Error, Event, HANDLER_COUNT, Port, Until};
use std::ffi::c_int;
use std::time::Duration;

/// `hk_event`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CEvent {
    kind: c_int,
    until: c_int,
    area: Handle,
    offset: usize,
    value: u64,
    handler: u16,
}

/// As in the header.
const EVENT_COUNT_MAX: usize = 65536;

impl CEvent {
    fn event<'a>(&self, port: &Port) -> Result<Event<'a>, Failure> {
        match self.kind {
            0 => {
                Ok(Event::Word(self.area.entry()?.own_word(port.rank(), self.offset)?, until(self.until, self.value)?))
            }
            1 => handled(self.handler, self.value),
            kind => Err(Failure::Choice { what: "hk_event_kind", value: kind.into() }),
        }
    }
}

fn handled<'a>(id: u16, count: u64) -> Result<Event<'a>, Failure> {
    match id < HANDLER_COUNT {
        true => Ok(Event::Handler(id, count)),
        false => Err(Error::HandlerTaken { id, max: HANDLER_COUNT }.into()),
    }
}

#[inline(always)]
fn until(until: c_int, value: u64) -> Result<Until, Failure> {
    match until {
        0 => Ok(Until::Equal(value)),
        1 => Ok(Until::NotEqual(value)),
        2 => Ok(Until::AtLeast(value)),
        _ => Err(Failure::Choice { what: "hk_until", value: until.into() }),
    }
}

/// A rank that does not exist would never end a wait.
#[inline(always)]
fn by(port: &Port, by: c_int) -> Result<By, Failure> {
    match by {
        -1 => Ok(By::Anyone),
        rank if (rank as usize) < port.size() => Ok(By::Rank(rank as usize)),
        rank => Err(Error::NoSuchRank { rank: rank as usize, size: port.size() }.into()),
    }
}

/// None for one that is negative.
pub fn timeout(timeout_ms: c_int) -> Option<Duration> {
    u64::try_from(timeout_ms).ok().map(Duration::from_millis)
}

exported! {
    /// Waits for a word.
    pub fn hk_wait(
        area: Handle,
        offset: usize,
        until_kind: c_int,
        value: u64,
        by_rank: c_int,
        timeout_ms: c_int,
        seen: Out<'_, u64>,
    ) -> c_int {
        with_port(|port| {
            let (until, by) = (until(until_kind, value)?, by(port, by_rank)?);
            let timeout = timeout(timeout_ms);
            let found =
                area.with_own_word(port.rank(), offset, move |word| Ok(port.wait_for(by, word, until, timeout)?))?;
            seen.give(found);
            Ok(())
        })
    }

    /// Waits until a handler has run so many times.
    pub fn hk_wait_handled(id: u16, count: u64, by_rank: c_int, timeout_ms: c_int) -> c_int {
        with_port(|port| {
            port.wait_any(by(port, by_rank)?, &[handled(id, count)?], timeout(timeout_ms))?;
            Ok(())
        })
    }

    /// Waits for one of several events.
    pub fn hk_wait_any(events: In<'_, CEvent>, count: usize, by_rank: c_int, timeout_ms: c_int) -> c_int {
        with_port(|port| {
            if count == 0 || count > EVENT_COUNT_MAX {
                return Err(Failure::Choice { what: "number of events to wait for", value: count as i64 });
            }
            let events = events.slice(count, "the events")?;
            let events = events.iter().map(|event| event.event(port)).collect::<Result<Vec<_>, _>>()?;
            Ok(port.wait_any(by(port, by_rank)?, &events, timeout(timeout_ms))?)
        })
    }

    /// One look at a word.
    pub fn hk_poll(area: Handle, offset: usize, value: Out<'_, u64>) -> c_int {
        with_port(|port| {
            value.required("the value to be given")?;
            let found = area.with_own_word(port.rank(), offset, move |word| Ok(port.poll(word)?))?;
            value.give(found);
            Ok(())
        })
    }
}
