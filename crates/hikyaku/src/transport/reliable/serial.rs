//! Serial numbers that wrap around.

use crate::planted::{Bug, planted};

/// The number of a message in its direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serial(pub u32);

impl Serial {
    /// What both ends begin with: shortly before the wrap, so that every run passes it.
    pub const FIRST: Serial = Serial(u32::MAX - 31);

    /// The number `count` further on.
    pub fn plus(self, count: usize) -> Serial {
        Serial(self.0.wrapping_add(count as u32))
    }

    /// How far this lies after `base`; negative when before. Right for numbers less than half of all apart, and those
    /// that meet are at most a window apart, unless a frame was under way for two thousand million others.
    pub fn after(self, base: Serial) -> i32 {
        if planted(Bug::WrapForgotten) {
            return (i64::from(self.0) - i64::from(base.0)).clamp(i32::MIN.into(), i32::MAX.into()) as i32;
        }
        self.0.wrapping_sub(base.0) as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn distances_do_not_depend_on_where_the_wrap_is(base: u32, distance in 0..=i32::MAX) {
            let later = Serial(base).plus(distance as usize);
            prop_assert_eq!(later.after(Serial(base)), distance);
            prop_assert_eq!(Serial(base).after(later), -distance);
        }
    }
}
