//! One cache line per writer: what is written by different cores never shares a line.

/// A value alone on its cache line.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Line<T>(pub T);

impl<T> core::ops::Deref for Line<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}
