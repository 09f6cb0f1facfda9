//! A group whose members are all mapped here.

use crate::collective::group::Group;
use std::ops::Deref;

/// The protocols on words and buffers that all members map are methods of this; it is a group of which that is known.
pub(in crate::collective) struct NearGroup<'g, 'j>(pub &'g Group<'j>);

impl Clone for NearGroup<'_, '_> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for NearGroup<'_, '_> {}

impl<'j> Deref for NearGroup<'_, 'j> {
    type Target = Group<'j>;

    #[inline(always)]
    fn deref(&self) -> &Group<'j> {
        self.0
    }
}
