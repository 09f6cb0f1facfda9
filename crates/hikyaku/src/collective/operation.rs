//! What numbers are combined by.
//!
//! Each operation is a loop over two private slices that the compiler turns into vector instructions. The functions are
//! called in the order of the members' ranks (over hosts, see `far`), so a result is the same every time and at every member.

use crate::ni::InFunction;
use bytemuck::{Pod, Zeroable};

/// Combines contributions of members, element by element.
///
/// Implemented by the operations of this module, and by functions `Fn(&mut [T], &[T])` that combine the second slice
/// into the first; those may be called for parts of the contributions, always of equal length. They must be associative.
///
/// A function runs inside the collective call, so it must not wait: collective calls, and all others that wait, fail in it with
/// [`crate::Error::InFunction`]. If it panics, the panic propagates through the collective call, the other members get an error, and the
/// group cannot be used any more. In non-blocking calls it has a stack of 8 MB.
///
/// ```
/// use hikyaku::collective::{AbsMax, Sum};
///
/// hikyaku::local(2, |job| {
///     let world = job.world()?;
///     let mut largest = [if job.rank() == 0 { -5.0 } else { 3.0 }];
///     world.allreduce(&mut largest, AbsMax)?;
///     assert_eq!(largest, [-5.0]);
///
///     let mut sums = [0u32, 0, 0];
///     world.allreduce(&mut sums, Sum)?;
///
///     // A function of one's own: the longest span.
///     let mut span = [[job.rank() as f32, 1.0 + job.rank() as f32]];
///     world.allreduce(&mut span, |all: &mut [[f32; 2]], more: &[[f32; 2]]| {
///         for (all, more) in all.iter_mut().zip(more) {
///             *all = [all[0].min(more[0]), all[1].max(more[1])];
///         }
///     })?;
///     assert_eq!(span, [[0.0, 2.0]]);
///     hikyaku::Result::Ok(())
/// })
/// .unwrap();
/// ```
pub trait Operation<T> {
    /// A number that tells operations and types apart; the members compare it.
    const CODE: u8;

    /// Whether it is the library's own, which calls nothing. Programs cannot name the type, so they cannot say so.
    #[doc(hidden)]
    const ORIGIN: origin::Origin = origin::Origin::PROGRAM;

    /// Combines `input` into `total`, which has the same length.
    fn combine(&self, total: &mut [T], input: &[T]);
}

/// Whether an operation with this code gives the same, but for rounding, whatever the order. Not a function of the program, of
/// which nobody knows; nor one that says whose of equal elements counts; nor the largest of numbers of which one may be no number.
pub(super) fn is_commutative(code: u8) -> bool {
    let (operation, of_integers) = (code >> 4, matches!(code & 15, 1..=4));
    match operation {
        Sum::OPERATION | Product::OPERATION => true,
        Max::OPERATION | Min::OPERATION => of_integers,
        And::OPERATION..=BitXor::OPERATION => true,
        _ => false,
    }
}

/// The code of all functions of the program.
pub(super) const FUNCTION: u8 = 0xFF;

impl<T, F: Fn(&mut [T], &[T])> Operation<T> for F {
    const CODE: u8 = FUNCTION;

    #[inline]
    fn combine(&self, total: &mut [T], input: &[T]) {
        self(total, input)
    }
}

/// Who wrote an operation.
mod origin {
    /// See [`super::Operation::ORIGIN`].
    #[derive(Clone, Copy, Debug)]
    pub struct Origin {
        pub(in crate::collective) is_library: bool,
    }

    impl Origin {
        pub(in crate::collective) const PROGRAM: Origin = Origin { is_library: false };
        pub(in crate::collective) const LIBRARY: Origin = Origin { is_library: true };
    }
}

/// An operation whose code is marked while it runs, so that it makes no calls that wait: also when it is dropped, since that may
/// happen in the middle of whatever wait moves its call on.
pub(super) struct Marked<O>(Option<O>);

impl<O> Marked<O> {
    #[inline(always)]
    pub fn new(operation: O) -> Marked<O> {
        Marked(Some(operation))
    }

    #[inline(always)]
    fn operation(&self) -> &O {
        self.0.as_ref().expect("there until it is dropped")
    }

    /// Runs code of the program.
    #[inline(always)]
    pub fn run<R>(&self, work: impl FnOnce(&O) -> R) -> R {
        let _mark = InFunction::enter();
        work(self.operation())
    }
}

impl<O> Drop for Marked<O> {
    #[inline(always)]
    fn drop(&mut self) {
        if std::mem::needs_drop::<O>() {
            let _mark = InFunction::enter();
            self.0 = None;
        }
    }
}

impl<T, O: Operation<T>> Operation<T> for Marked<O> {
    const CODE: u8 = O::CODE;
    const ORIGIN: origin::Origin = origin::Origin::LIBRARY;

    #[inline(always)]
    fn combine(&self, total: &mut [T], input: &[T]) {
        match O::ORIGIN.is_library {
            true => self.operation().combine(total, input),
            false => self.run(|operation| operation.combine(total, input)),
        }
    }
}

/// A complex number of single precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Complex32 {
    /// Real part.
    pub re: f32,
    /// Imaginary part.
    pub im: f32,
}

/// A complex number of double precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Complex64 {
    /// Real part.
    pub re: f64,
    /// Imaginary part.
    pub im: f64,
}

macro_rules! operations {
    ($($(#[$text:meta])* $name:ident = $code:literal;)*) => {
        $(
            $(#[$text])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
            pub struct $name;

            impl $name {
                const OPERATION: u8 = $code;
            }
        )*
    };
}

operations! {
    /// The sum; of integers modulo their range.
    Sum = 1;
    /// The product; of integers modulo their range.
    Product = 2;
    /// The largest.
    Max = 3;
    /// The smallest.
    Min = 4;
    /// The element of the largest absolute value, with its sign; of equal ones that of the lowest rank. A complex
    /// number counts as |re| + |im|, as in the BLAS.
    AbsMax = 5;
    /// The element of the smallest absolute value, likewise.
    AbsMin = 6;
    /// 1 if both are not 0, else 0.
    And = 7;
    /// 1 if one of them is not 0, else 0.
    Or = 8;
    /// 1 if exactly one of them is not 0, else 0.
    Xor = 9;
    /// Bits that are set in both.
    BitAnd = 10;
    /// Bits that are set in one of them.
    BitOr = 11;
    /// Bits that are set in exactly one of them.
    BitXor = 12;
}

/// The operation of a code, which may be one of another member.
pub(super) fn name_of(code: u8) -> &'static str {
    const NAMES: [&str; 13] =
        ["none", "sum", "product", "max", "min", "absmax", "absmin", "and", "or", "xor", "bitand", "bitor", "bitxor"];
    NAMES.get((code >> 4) as usize).copied().unwrap_or("a function")
}

/// The type of a code, or what is known of elements of so many bytes.
pub(super) fn type_of(code: u8, element: u64) -> String {
    const NAMES: [&str; 8] = ["i32", "i64", "u32", "u64", "f32", "f64", "Complex32", "Complex64"];
    let known = (code & 15).checked_sub(1).and_then(|at| NAMES.get(at as usize));
    known.filter(|_| code != FUNCTION).map_or_else(|| format!("{element} bytes"), |name| (*name).to_owned())
}

/// `(type = its number: operation |total, input| new total; ...)`.
macro_rules! combine {
    ($type:ty = $number:literal: $($name:ident |$total:ident, $input:ident| $new:expr;)*) => {
        $(
            impl Operation<$type> for $name {
                const CODE: u8 = $name::OPERATION << 4 | $number;
                const ORIGIN: origin::Origin = origin::Origin::LIBRARY;

                #[inline]
                fn combine(&self, total: &mut [$type], input: &[$type]) {
                    for (total, input) in total.iter_mut().zip(input) {
                        let ($total, $input) = (*total, *input);
                        *total = $new;
                    }
                }
            }
        )*
    };
}

macro_rules! integers {
    ($($type:ty = $number:literal, $abs:ident;)*) => {
        $(combine! { $type = $number:
            Sum |a, b| a.wrapping_add(b);
            Product |a, b| a.wrapping_mul(b);
            Max |a, b| if b > a { b } else { a };
            Min |a, b| if b < a { b } else { a };
            AbsMax |a, b| if size::$abs(b) > size::$abs(a) { b } else { a };
            AbsMin |a, b| if size::$abs(b) < size::$abs(a) { b } else { a };
            And |a, b| ((a != 0) & (b != 0)) as $type;
            Or |a, b| ((a != 0) | (b != 0)) as $type;
            Xor |a, b| ((a != 0) ^ (b != 0)) as $type;
            BitAnd |a, b| a & b;
            BitOr |a, b| a | b;
            BitXor |a, b| a ^ b;
        })*
    };
}

macro_rules! floats {
    ($($type:ty = $number:literal;)*) => {
        $(combine! { $type = $number:
            Sum |a, b| a + b;
            Product |a, b| a * b;
            Max |a, b| if b > a { b } else { a };
            Min |a, b| if b < a { b } else { a };
            AbsMax |a, b| if b.abs() > a.abs() { b } else { a };
            AbsMin |a, b| if b.abs() < a.abs() { b } else { a };
        })*
    };
}

macro_rules! complexes {
    ($($type:ident = $number:literal;)*) => {
        $(combine! { $type = $number:
            Sum |a, b| $type { re: a.re + b.re, im: a.im + b.im };
            Product |a, b| $type { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re };
            AbsMax |a, b| if b.re.abs() + b.im.abs() > a.re.abs() + a.im.abs() { b } else { a };
            AbsMin |a, b| if b.re.abs() + b.im.abs() < a.re.abs() + a.im.abs() { b } else { a };
        })*
    };
}

/// Absolute values of integers, which all fit the unsigned type.
mod size {
    pub fn i32(value: i32) -> u32 {
        value.unsigned_abs()
    }
    pub fn i64(value: i64) -> u64 {
        value.unsigned_abs()
    }
    pub fn u32(value: u32) -> u32 {
        value
    }
    pub fn u64(value: u64) -> u64 {
        value
    }
}

integers! { i32 = 1, i32; i64 = 2, i64; u32 = 3, u32; u64 = 4, u64; }
floats! { f32 = 5; f64 = 6; }
complexes! { Complex32 = 7; Complex64 = 8; }

/// How members' bytes are combined: an operation without its type.
pub(super) struct Combination<'f> {
    /// Bytes of an element.
    pub element: usize,
    pub combine: &'f dyn Fn(&mut [u8], &[u8]),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn combined<T: Copy>(operation: impl Operation<T>, a: T, b: T) -> T {
        let mut total = [a];
        operation.combine(&mut total, &[b]);
        total[0]
    }

    #[test]
    fn operations_do_what_they_say() {
        assert_eq!(combined(Sum, i32::MAX, 1), i32::MIN);
        assert_eq!(combined(Product, 3u64, 5), 15);
        assert_eq!(combined(Max, -1.0, 2.0), 2.0);
        assert_eq!(combined(Min, -1i64, 2), -1);
        assert_eq!(combined(AbsMax, i32::MIN, i32::MAX), i32::MIN);
        assert_eq!(combined(AbsMax, -3.0f32, 3.0), -3.0);
        assert_eq!(combined(AbsMin, 4u32, 3), 3);
        assert_eq!((combined(And, 2, 0), combined(Or, 2u32, 0), combined(Xor, 2u64, 4)), (0, 1, 0));
        assert_eq!((combined(BitAnd, 6, 3), combined(BitOr, 6u32, 3), combined(BitXor, 6u64, 3)), (2, 7, 5));
        let (a, b) = (Complex64 { re: 1.0, im: 2.0 }, Complex64 { re: 3.0, im: -1.0 });
        assert_eq!(combined(Product, a, b), Complex64 { re: 5.0, im: 5.0 });
        assert_eq!(combined(AbsMax, a, b), b);
        assert_eq!(combined(Sum, Complex32 { re: 1.0, im: 2.0 }, Complex32 { re: 1.0, im: 1.0 }).im, 3.0);
    }

    #[test]
    fn the_order_is_all_one_where_only_rounding_can_tell() {
        assert!(
            is_commutative(<Sum as Operation<f64>>::CODE) && is_commutative(<Product as Operation<Complex64>>::CODE)
        );
        assert!(is_commutative(<Max as Operation<i32>>::CODE) && is_commutative(<BitXor as Operation<u64>>::CODE));
        assert!(!is_commutative(<Max as Operation<f64>>::CODE) && !is_commutative(<AbsMax as Operation<i64>>::CODE));
        assert!(!is_commutative(FUNCTION));
    }

    #[test]
    fn codes_tell_operations_and_types_apart() {
        let codes = [
            <Sum as Operation<i32>>::CODE,
            <Sum as Operation<f64>>::CODE,
            <Max as Operation<i32>>::CODE,
            <BitXor as Operation<u64>>::CODE,
            FUNCTION,
        ];
        for (index, code) in codes.iter().enumerate() {
            assert!(codes[..index].iter().all(|other| other != code) && *code != 0);
        }
    }
}
