//! What a program can ask for and set by number.

use crate::blacs::Blacs;
use crate::error::Outcome;
use crate::grid::Grid;
use crate::topology::Settings;
use std::cell::Cell;

/// The largest message number there is said to be. Messages have none here; programs may ask all the same.
pub const MESSAGE_NUMBER_MAX: i32 = i32::MAX;

const SYSTEM_HANDLE: i32 = 0;
const MESSAGE_NUMBERS: i32 = 1;
const DEBUG_LEVEL: i32 = 2;
const HANDLE_OF_GRID: i32 = 10;
const BROADCAST_RINGS: i32 = 11;
const BROADCAST_BRANCHES: i32 = 12;
const COMBINE_RINGS: i32 = 13;
const COMBINE_BRANCHES: i32 = 14;
const REPEATABLE: i32 = 15;
const COHERENT: i32 = 16;

/// An answer: one number, or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// One.
    One(i32),
    /// Two.
    Two(i32, i32),
    /// Nothing has that number.
    Unknown,
}

impl Blacs<'_> {
    /// What `what` is.
    pub fn get(&self, context: i32, what: i32) -> Outcome<Answer> {
        let of_grid = |ask: &dyn Fn(&Grid<'_>) -> i32| Ok(Answer::One(ask(&*self.grid(context)?)));
        match what {
            SYSTEM_HANDLE | DEBUG_LEVEL => Ok(Answer::One(0)),
            MESSAGE_NUMBERS => Ok(Answer::Two(0, MESSAGE_NUMBER_MAX)),
            HANDLE_OF_GRID => Ok(Answer::One(self.handle_of(context)?)),
            BROADCAST_RINGS => of_grid(&|grid| grid.broadcasts.get().rings),
            BROADCAST_BRANCHES => of_grid(&|grid| grid.broadcasts.get().branches),
            COMBINE_RINGS => of_grid(&|grid| grid.combines.get().rings),
            COMBINE_BRANCHES => of_grid(&|grid| grid.combines.get().branches),
            REPEATABLE => of_grid(&|grid| grid.repeatable.get()),
            COHERENT => of_grid(&|grid| grid.coherent.get()),
            _ => Ok(Answer::Unknown),
        }
    }

    /// Sets `what`; gives a warning if that cannot be.
    pub fn set(&self, context: i32, what: i32, value: i32) -> Outcome<Option<String>> {
        let warning = match what {
            SYSTEM_HANDLE => "Cannot set BLACS system context, can only BLACS_GET".into(),
            MESSAGE_NUMBERS => "No need to set message ID range".into(),
            DEBUG_LEVEL => "Cannot set BLACS debug level".into(),
            HANDLE_OF_GRID => "Cannot set BLACS context, can only BLACS_GET".into(),
            BROADCAST_RINGS | COMBINE_RINGS if value == 0 => "The number of rings cannot be set to zero".into(),
            BROADCAST_BRANCHES | COMBINE_BRANCHES if value <= 0 => {
                format!("Illegal number of branches ({value}); must be strictly positive")
            }
            BROADCAST_RINGS..=COHERENT => {
                change(&*self.grid(context)?, what, value);
                return Ok(None);
            }
            _ => format!("Unknown WHAT ({what})"),
        };
        Ok(Some(warning))
    }
}

fn change(grid: &Grid<'_>, what: i32, value: i32) {
    let rings = |settings: &Cell<Settings>| settings.set(Settings { rings: value, ..settings.get() });
    let branches = |settings: &Cell<Settings>| settings.set(Settings { branches: value, ..settings.get() });
    match what {
        BROADCAST_RINGS => rings(&grid.broadcasts),
        BROADCAST_BRANCHES => branches(&grid.broadcasts),
        COMBINE_RINGS => rings(&grid.combines),
        COMBINE_BRANCHES => branches(&grid.combines),
        REPEATABLE => grid.repeatable.set(value),
        _ => grid.coherent.set(value),
    }
}
