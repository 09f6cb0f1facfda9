//! What one member of a tree of messages talks to.

use super::list::List;
use crate::collective::binomial::{lowest, steps};

/// Up to so many members of a host are told by one: a message costs less than another step does.
const FAN_MAX: usize = 8;

/// See above.
#[derive(Default)]
pub(super) struct Branch {
    pub parent: Option<usize>,
    /// The farthest first.
    pub children: Vec<usize>,
}

impl Branch {
    /// A tree of all members of a host; the one at place `head` is the first.
    pub fn near(list: List<'_>, head: usize) -> Branch {
        if list.len() > FAN_MAX {
            return Branch::binomial(list.len(), list.place, head, |place| list.member(place));
        }
        let others = || (1..list.len()).rev().map(|distance| list.member((head + distance) % list.len()));
        match list.place == head {
            true => Branch { parent: None, children: others().collect() },
            false => Branch { parent: Some(list.member(head)), children: Vec::new() },
        }
    }

    pub fn binomial(size: usize, place: usize, first: usize, member: impl Fn(usize) -> usize) -> Branch {
        // The tree of the first one, turned.
        let place = (place + size - first) % size;
        let at = |place: usize| member((place + first) % size);
        Branch {
            parent: (place > 0).then(|| at(place - lowest(place, size))),
            children: steps(place, size).map(|step| at(place + step)).collect(),
        }
    }
}
