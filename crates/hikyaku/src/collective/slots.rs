//! The slots between the members of a group, for trees of messages.

use crate::message::Messages;
use std::cell::OnceCell;
use std::marker::PhantomData;

/// Pieces that may be under way between two members.
pub(super) const SLOTS: usize = 4;

/// The slots of a group's trees, once it was found out whether there is memory for them.
#[derive(Default)]
pub(super) struct Slots<'j> {
    /// They do not outlive `'j`. Not said here, so that a group may be borrowed for a shorter time.
    made: OnceCell<Option<Messages<'static>>>,
    job: PhantomData<Messages<'j>>,
}

impl<'j> Slots<'j> {
    pub fn is_known(&self) -> bool {
        self.made.get().is_some()
    }

    pub fn get(&self) -> Option<&Messages<'j>> {
        self.made.get().and_then(Option::as_ref)
    }

    pub fn set(&self, made: Option<Messages<'j>>) {
        // SAFETY: only the lifetime changes. It is given out with the right one, and `job` sees to it that this is not
        // dropped later.
        let made = made.map(|messages| unsafe { std::mem::transmute::<Messages<'j>, Messages<'static>>(messages) });
        assert!(self.made.set(made).is_ok(), "made once");
    }

    pub fn take(&mut self) -> Option<Messages<'j>> {
        self.made.take().flatten()
    }
}
