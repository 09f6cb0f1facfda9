//! A group whose members are on several hosts.

use super::state::Far;
use crate::collective::group::Group;
use crate::collective::label::Label;
use crate::collective::round::Round;
use crate::error::Result;
use crate::message::Messages;
use crate::ni::refuse_in_handler;
use crate::sync::Shared;
use std::ops::Deref;

/// The protocols by messages between the members are methods of this; it is a group of which it is known that it has `far`.
pub(in crate::collective) struct FarGroup<'g, 'j> {
    pub group: &'g Group<'j>,
    pub(super) far: &'g Far,
}

impl Clone for FarGroup<'_, '_> {
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for FarGroup<'_, '_> {}

impl<'j> Deref for FarGroup<'_, 'j> {
    type Target = Group<'j>;

    fn deref(&self) -> &Group<'j> {
        self.group
    }
}

impl<'g, 'j> FarGroup<'g, 'j> {
    /// A group that has members on several hosts.
    pub fn new(group: &'g Group<'j>, far: &'g Far) -> FarGroup<'g, 'j> {
        FarGroup { group, far }
    }

    /// The slots between the members, made with the group.
    pub(super) fn far_slots(self) -> &'g Messages<'j> {
        self.group.slots.get().expect("made with the group")
    }

    /// Where the part of each member lies in its heap, in a group of all ranks that has one place.
    pub(super) fn common_start(self) -> usize {
        self.far.common_start.expect("asked before")
    }

    /// Something in the own part.
    pub(super) fn own<T: Shared>(self, offset: usize) -> &'g T {
        self.members[self.rank()].span().at(offset)
    }

    /// Begins the next call.
    pub(super) fn begin(self, label: Label) -> Result<Round> {
        refuse_in_handler()?;
        self.port.ni().check_rank(self.port.ni().rank)?;
        if self.broken.borrow().is_some() {
            return Err(self.why_broken());
        }
        let number = self.number.get() + 1;
        let round = Round::new(label, number, self.history.get());
        self.number.set(number);
        self.history.set(round.checksum());
        self.show(&round);
        Ok(round)
    }
}
