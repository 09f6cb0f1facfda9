//! One cache line per writer: what is written by different cores never shares a line.

use super::Shared;

/// A value alone on its cache line.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Line<T>(pub T);

// SAFETY: padding aside, the bytes are those of `T`, and nobody reads the padding.
unsafe impl<T: Shared> Shared for Line<T> {}

impl<T> core::ops::Deref for Line<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}
