//! What reductions combine elements by.

use crate::{given, thread};
use bytemuck::Pod;
use core_hikyaku::collective::{Elements, Operation};

/// A function, with the elements it combines.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    pub elements: Elements,
    /// At multiples of how many bytes they lie.
    pub align: usize,
    combine: Combine,
}

/// Fortran gives the count by address.
#[derive(Clone, Copy, Debug)]
pub enum Combine {
    Library(fn(&mut [u8], &[u8])),
    C(given::Combine),
    Fortran(given::CombineFortran),
}

impl Function {
    /// One of the program, for elements of so many bytes, which may lie anywhere.
    pub fn new(bytes: usize, combine: Combine) -> Function {
        Function { elements: Elements::new(bytes), align: 1, combine }
    }

    /// One of the library's.
    pub fn known<T: Pod, O: Operation<T> + Default>() -> Function {
        fn combine<T: Pod, O: Operation<T> + Default>(total: &mut [u8], input: &[u8]) {
            // What is empty may lie anywhere.
            if !total.is_empty() {
                O::default().combine(bytemuck::cast_slice_mut(total), bytemuck::cast_slice(input));
            }
        }
        let elements = Elements::known::<T, O>();
        Function { elements, align: align_of::<T>(), combine: Combine::Library(combine::<T, O>) }
    }

    /// Combines elements; a function of the program may not make calls meanwhile.
    pub fn combine(&self, total: &mut [u8], input: &[u8]) {
        let bytes = self.elements.bytes();
        match self.combine {
            Combine::Library(combine) => combine(total, input),
            Combine::C(function) => thread::without_fmpl(|| function.combine(total, input, bytes)),
            Combine::Fortran(function) => thread::without_fmpl(|| function.combine(total, input, bytes)),
        }
    }
}
