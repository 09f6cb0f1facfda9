//! Pins of areas: asked for, and ended.

use super::initiator::Initiator;
use crate::error::{Error, Result};
use crate::ni::base::Base;
use crate::ni::reach::opened::Opened;
use crate::ni::state::failure::Hold;
use crate::ni::wire::operation::{Act, Manner, Operation};
use crate::ni::wire::target::Target;
use crate::ni::wire::token;
use crate::sync::bell::ANY;
use crate::sync::brief::lock;
use std::cell::Cell;

impl Initiator {
    /// Asks the owner of an area to keep it for so many bytes at an offset; waits until it does.
    pub fn pin_area(&self, area: &Opened, offset: usize, bytes: usize) -> Result<()> {
        let asked = Asked { by: self, area, is_sent: Cell::new(false) };
        let act = Act::Pin { bytes: bytes as u64 };
        let pinned = self.ask_and_tell(area.target(offset), act, |sent| asked.is_sent.set(sent)).map(drop);
        if let Ok(()) | Err(Error::Refused { .. }) = pinned {
            // The answer has come.
            asked.is_sent.set(false);
        }
        pinned.map_err(|error| area.why(error))
    }

    /// Ends a pin, after everything this port has routed to that rank; where nothing can be waited for, when this port completes what it
    /// has started.
    pub fn release_area(&self, area: &Opened) -> Result<()> {
        // A panic of a handler waits: nobody else would end the pin.
        let _hold = Hold::enter();
        match self.count(unpin(area.target(0)), None) {
            Err(Error::InHandler | Error::InFunction) => {
                self.let_go(area);
                Ok(())
            }
            ended => ended,
        }
    }

    /// Ends a pin: at once if there is room, else as soon as this port completes what it has started. Waits for nothing, so destructors can
    /// do it.
    pub fn let_go(&self, area: &Opened) {
        let at = area.target(0);
        if !self.try_release(at) {
            self.owed.borrow_mut().push(at);
            self.note_routed(true);
        }
    }

    /// Ends the pins for which there was no room. Ranks that have ended need no more.
    pub fn end_owed(&self) -> Result<()> {
        let _hold = Hold::enter();
        // Functions that run meanwhile may owe more.
        let next = || self.owed.borrow_mut().pop();
        while let Some(at) = next() {
            match self.count(unpin(at), None) {
                Err(error) if !error.is_peer_fault() => {
                    self.owed.borrow_mut().push(at);
                    return Err(error);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// This port ends: for which there is no room now, the interface ends them when there is.
    pub(super) fn leave_owed(&self) {
        let left: Vec<Target> = self.owed.take().into_iter().filter(|at| !self.try_release(*at)).collect();
        if !left.is_empty() {
            self.ni.leave_pins(left);
        }
    }

    /// Ends a pin; false if there is no room now.
    fn try_release(&self, at: Target) -> bool {
        let is_over = self.ni.is_forked() || self.ni.end_of(at.rank).is_some();
        // An error is one of a rank that is gone.
        is_over || self.try_operation(&unpin(at), token::QUIET).unwrap_or(true)
    }
}

/// A pin that was asked for. Whoever does not wait for the answer, as a panic of a handler came first, gives it back: nobody else would.
struct Asked<'a> {
    by: &'a Initiator,
    area: &'a Opened,
    is_sent: Cell<bool>,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if self.is_sent.get() {
            self.by.let_go(self.area);
        }
    }
}

fn unpin(at: Target) -> Operation<'static> {
    Operation { at, act: Act::Unpin, manner: Manner::Plain }
}

/// Pins of ports that have ended.
impl Base {
    /// There was no room to end them: the interface does, as soon as there is.
    #[cold]
    fn leave_pins(&self, mut left: Vec<Target>) {
        let mut pins = lock(&self.left_pins);
        pins.append(&mut left);
        self.lookout.note_left(pins.len());
        drop(pins);
        // Whoever sleeps has something to do.
        self.notify(self.rank, ANY);
    }

    /// What ends them.
    #[cold]
    pub fn take_left_pins(&self) -> Vec<Operation<'static>> {
        let mut pins = lock(&self.left_pins);
        self.lookout.note_left(0);
        pins.drain(..).map(unpin).collect()
    }
}
