//! What some memory was when it was pulled, to know later what has changed.

use crate::error::{Error, Result};
use bytemuck::Pod;

/// A copy of elements as they were pulled, or last pushed: [`Port::push_diff`](crate::Port::push_diff) pushes only those that differ
/// from it. So several ranks can change one range at once, each its own elements.
#[derive(Clone, Debug)]
pub struct Twin<T> {
    elements: Box<[T]>,
}

impl<T: Pod> Twin<T> {
    /// Of elements as they are now: for a range of which all ranks know the content.
    pub fn of(elements: &[T]) -> Twin<T> {
        Twin { elements: elements.into() }
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Fails unless it has as many elements as `data`.
    pub(crate) fn check_of(&self, data: &[T]) -> Result<()> {
        match self.len() == data.len() {
            true => Ok(()),
            false => Err(Error::Invalid(format!(
                "a twin of {} elements is none of {}; pull it with as many",
                self.len(),
                data.len()
            ))),
        }
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.elements)
    }

    pub(super) fn elements(&mut self) -> &mut [T] {
        &mut self.elements
    }
}
