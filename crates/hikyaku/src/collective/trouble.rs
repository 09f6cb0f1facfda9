//! Groups of no use: a group in which a call failed is broken, for its members are out of step.
//!
//! How members find out is different for near groups (`alarm`) and for those over hosts (`far::alarm`).

use super::group::Group;
use super::label::{Label, REFUSED_BYTES};
use crate::error::{Error, Result};
use crate::ni::{By, Hold, Rest, Wait, refuse_in_handler};
use std::time::Duration;

/// A member that slept this long looks whether the others ask for the same: one that had nothing to wait for does not
/// tell.
pub(super) const PATROL: Duration = Duration::from_millis(200);

impl Group<'_> {
    /// The program panicked in the middle of a call: the others must not wait for this member.
    #[cold]
    pub(super) fn quit_after_panic(&self) {
        self.quit_with(Error::Invalid("a panic has ended a call of this group".into()));
    }

    /// This member cannot go on with the call it has entered last: the others must not wait for it. The error that every later
    /// call gets.
    #[cold]
    pub(super) fn quit_with(&self, error: Error) -> Error {
        let is_broken = self.broken.borrow().is_some();
        // A forked child has no say.
        if !is_broken && self.port.ni().check_rank(self.port.ni().rank).is_ok() {
            self.reach().quit();
        }
        self.fail(error)
    }

    /// Runs something that calls functions of the program, which may panic: handlers too, in every wait.
    #[inline(always)]
    pub(super) fn quit_on_panic<R>(&self, work: impl FnOnce() -> R) -> R {
        struct Quits<'g, 'j>(&'g Group<'j>);
        impl Drop for Quits<'_, '_> {
            fn drop(&mut self) {
                self.0.quit_after_panic();
            }
        }
        let quits = Quits(self);
        let result = work();
        std::mem::forget(quits);
        result
    }

    /// Waits until nobody is at a buffer of this member any more, or `by` has ended, which is as good. Nothing may keep it from
    /// that, so the panic of a handler waits for the next call. In a forked child there is nothing to wait for.
    ///
    /// Buffers that a member reaches by itself are private memory of the program, so there is no way but to wait for it, even if
    /// it is another one that has written that it is there. Meanwhile this rank sleeps, and serves others.
    #[cold]
    pub(super) fn wait_out(&self, by: By, mut done: impl FnMut() -> Option<()>) {
        let (_hold, mut rest) = (Hold::enter(), Rest::new(self.port.ni()));
        while done().is_none() && self.port.ni().check_departed(by).is_ok() {
            // Also where no wait is possible.
            if self.port.wait_until(Wait::on(by), &mut done).is_err() {
                rest.wait();
            }
        }
    }

    /// Remembers that the group is of no use any more.
    #[cold]
    pub(super) fn fail(&self, error: Error) -> Error {
        let error = self.broken.borrow_mut().get_or_insert(error).clone();
        self.port.ni().blame(&error);
        error
    }

    /// Fails where every call would: before memory is taken for one.
    pub(super) fn check_usable(&self) -> Result<()> {
        refuse_in_handler()?;
        self.port.ni().check_rank(self.port.ni().rank)?;
        if self.broken.borrow().is_some() { Err(self.why_broken()) } else { Ok(()) }
    }

    /// The error that every later call gets.
    #[cold]
    pub(super) fn why_broken(&self) -> Error {
        self.broken.borrow().clone().expect("only a broken group is asked")
    }

    /// This member cannot do what it was asked: the others must not wait for it.
    #[cold]
    pub(super) fn refuse(&self, label: Label, reason: String) -> Error {
        let odd = Label { bytes: REFUSED_BYTES, ..label };
        match self.reach().refuse(odd) {
            Ok(()) => {
                self.broken.replace(Some(Error::Invalid(reason.clone())));
                Error::Invalid(reason)
            }
            Err(error) => error,
        }
    }
}
