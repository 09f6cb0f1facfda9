//! The five types of elements.

use bytemuck::Pod;
use hikyaku::collective::{Complex32, Complex64};

/// A type that combines know.
pub trait Element: Pod {
    /// What magnitudes are compared by.
    type Magnitude: PartialOrd;

    /// The sum.
    fn plus(self, other: Self) -> Self;
    /// The absolute value; of a complex number |re| + |im|.
    fn magnitude(self) -> Self::Magnitude;
    /// Whether this is less than the other, if their magnitudes are equal: by the sign; complex numbers by their real
    /// part, then by their imaginary part.
    fn is_below(self, other: Self) -> bool;
}

impl Element for i32 {
    type Magnitude = u32;
    fn plus(self, other: i32) -> i32 {
        self.wrapping_add(other)
    }
    fn magnitude(self) -> u32 {
        self.unsigned_abs()
    }
    fn is_below(self, other: i32) -> bool {
        self < other
    }
}

macro_rules! floats {
    ($($float:ty, $complex:ident;)*) => {$(
        impl Element for $float {
            type Magnitude = $float;
            fn plus(self, other: $float) -> $float {
                self + other
            }
            fn magnitude(self) -> $float {
                self.abs()
            }
            fn is_below(self, other: $float) -> bool {
                self < other
            }
        }

        impl Element for $complex {
            type Magnitude = $float;
            fn plus(self, other: $complex) -> $complex {
                $complex { re: self.re + other.re, im: self.im + other.im }
            }
            fn magnitude(self) -> $float {
                self.re.abs() + self.im.abs()
            }
            fn is_below(self, other: $complex) -> bool {
                self.re < other.re || self.re == other.re && self.im < other.im
            }
        }
    )*};
}

floats! { f32, Complex32; f64, Complex64; }
