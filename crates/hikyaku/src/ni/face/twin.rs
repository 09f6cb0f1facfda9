//! What some memory was when it was pulled, to know later what has changed.

use super::bitmap::Bitmap;
use super::partial::{changed_units, copy_units};
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
    pub(super) fn check_of(&self, data: &[T]) -> Result<()> {
        match self.len() == data.len() {
            true => Ok(()),
            false => Err(Error::Invalid(format!(
                "a twin of {} elements is none of {}; pull it with as many",
                self.len(),
                data.len()
            ))),
        }
    }

    /// The elements of `data` that differ from it.
    ///
    /// ```
    /// let changed = hikyaku::Twin::of(&[1, 2, 3]).changes(&[1, 7, 3])?;
    /// assert_eq!((changed.count(), changed.get(1)), (1, true));
    /// # hikyaku::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// When it has not as many elements as `data`.
    pub fn changes(&self, data: &[T]) -> Result<Bitmap> {
        self.check_of(data)?;
        let (now, before) = (bytemuck::cast_slice(data), bytemuck::cast_slice(&self.elements));
        Ok(Bitmap::from_words(&changed_units(now, before, size_of::<T>(), self.len()), self.len()))
    }

    /// It becomes as `data` is, where the bitmap is set.
    ///
    /// # Errors
    /// When it has not as many elements as `data` and as the bitmap.
    pub fn take_over(&mut self, data: &[T], marked: &Bitmap) -> Result<()> {
        self.check_of(data)?;
        if marked.len() != data.len() {
            return Err(Error::OutOfBounds { index: 0, count: marked.len(), len: data.len() });
        }
        let (into, from) = (bytemuck::cast_slice_mut(&mut self.elements), bytemuck::cast_slice(data));
        copy_units(into, from, size_of::<T>(), marked.words());
        Ok(())
    }

    /// Where elements from `first` on differ from what others have now, both `data` and the twin become as it is; how many differ.
    pub(crate) fn replace(&mut self, first: usize, now: &[T], data: &mut [T]) -> usize {
        let range = first..first + now.len();
        let (unit, now_bytes) = (size_of::<T>(), bytemuck::cast_slice(now));
        let before = &mut self.elements[range.clone()];
        let words = changed_units(now_bytes, bytemuck::cast_slice(before), unit, now.len());
        let changed = words.iter().map(|word| word.count_ones() as usize).sum();
        if changed > 0 {
            copy_units(bytemuck::cast_slice_mut(before), now_bytes, unit, &words);
            copy_units(bytemuck::cast_slice_mut(&mut data[range]), now_bytes, unit, &words);
        }
        changed
    }

    pub(super) fn elements(&mut self) -> &mut [T] {
        &mut self.elements
    }
}
