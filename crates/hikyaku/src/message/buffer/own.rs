//! Where the buffers of long messages to oneself are. Other members are told in shared memory, which any rank may write; what
//! is read there leads a rank to memory of others, never to its own. So a rank keeps to itself what it would tell itself, by
//! the words where it would, and whether the buffer is still there: a send may have ended before its receive looks.

use super::spot::Buffer;
use crate::message::wire::slot::Spot;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// By the address of the words.
#[derive(Debug, Default)]
pub(in crate::message) struct OwnSpots {
    notes: RefCell<HashMap<usize, Note>>,
    /// Noted so far: words are used again.
    noted: Cell<u64>,
}

#[derive(Debug)]
struct Note {
    number: u64,
    buffer: Buffer,
    is_there: bool,
}

/// The buffer is there until this is dropped.
#[derive(Debug)]
pub(in crate::message) struct Own {
    spots: Rc<OwnSpots>,
    place: usize,
    number: u64,
}

impl OwnSpots {
    /// Notes a buffer, in place of what was noted there before.
    pub fn note(self: &Rc<Self>, spot: &Spot, buffer: Buffer) -> Own {
        let (place, number) = (&raw const *spot as usize, self.noted.get() + 1);
        self.noted.set(number);
        self.notes.borrow_mut().insert(place, Note { number, buffer, is_there: true });
        Own { spots: self.clone(), place, number }
    }

    /// What was noted last, and whether it is still there.
    pub fn find(&self, spot: &Spot) -> Option<(Buffer, bool)> {
        self.notes.borrow().get(&(&raw const *spot as usize)).map(|note| (note.buffer, note.is_there))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let mut notes = self.spots.notes.borrow_mut();
        if let Some(note) = notes.get_mut(&self.place).filter(|note| note.number == self.number) {
            note.is_there = false;
        }
    }
}
