//! Reductions of elements whose type is known only when the program runs: the ground of interfaces to other languages.

use super::group::Group;
use super::label::{Kind, Label};
use super::operation::{FUNCTION, Operation};
use super::reduce::Combination;
use crate::error::Result;

/// How elements are combined that are only bytes here.
#[derive(Clone, Copy)]
pub struct Elements<'f> {
    bytes: usize,
    code: u8,
    combine: &'f dyn Fn(&mut [u8], &[u8]),
}

impl std::fmt::Debug for Elements<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Elements").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl<'f> Elements<'f> {
    /// Elements of `bytes` bytes, combined by a function of the program: its second slice into the first, which has the
    /// same length, a multiple of `bytes`. The second lies at a multiple of 64 bytes, and the first as the data that
    /// were given, at whole elements from their beginning.
    pub fn new(bytes: usize, combine: &'f dyn Fn(&mut [u8], &[u8])) -> Elements<'f> {
        Elements { bytes, code: FUNCTION, combine }
    }

    /// The same for one of the operations of this module, which the members then compare.
    pub fn known<T, O: Operation<T>>(combine: &'f dyn Fn(&mut [u8], &[u8])) -> Elements<'f> {
        Elements { bytes: size_of::<T>(), code: O::CODE, combine }
    }

    /// Combines the second slice into the first, of the same length.
    pub fn combine(&self, total: &mut [u8], input: &[u8]) {
        (self.combine)(total, input);
    }

    fn how(&self) -> Combination<'f> {
        Combination { element: self.bytes, combine: self.combine }
    }
}

impl Group<'_> {
    /// [`Group::reduce`] of elements that are bytes. `data` holds whole elements.
    ///
    /// ```
    /// use hikyaku::collective::Elements;
    ///
    /// hikyaku::local(3, |job| {
    ///     let world = job.world()?;
    ///     // Elements of three bytes, of which the first is added.
    ///     let add = |total: &mut [u8], input: &[u8]| {
    ///         for (total, input) in total.chunks_mut(3).zip(input.chunks(3)) {
    ///             total[0] += input[0];
    ///         }
    ///     };
    ///     let mut data = [1, 7, 7, 2, 7, 7];
    ///     world.reduce_elements(&mut data, Elements::new(3, &add), 0)?;
    ///     assert_eq!(data, if job.rank() == 0 { [3, 7, 7, 6, 7, 7] } else { [1, 7, 7, 2, 7, 7] });
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    pub fn reduce_elements(&self, data: &mut [u8], elements: Elements<'_>, root: usize) -> Result<()> {
        self.settle()?;
        let label = self.label(Kind::Reduce, data, elements)?.root(root);
        self.check_root(label)?;
        self.combine_elements(label, data, &elements.how())
    }

    /// [`Group::allreduce`] likewise.
    pub fn allreduce_elements(&self, data: &mut [u8], elements: Elements<'_>) -> Result<()> {
        self.settle()?;
        let label = self.label(Kind::Allreduce, data, elements)?;
        self.combine_elements(label, data, &elements.how())
    }

    /// [`Group::scan`] likewise.
    pub fn scan_elements(&self, data: &mut [u8], elements: Elements<'_>) -> Result<()> {
        self.settle()?;
        let label = self.label(Kind::Scan, data, elements)?;
        self.combine_elements(label, data, &elements.how())
    }

    fn label(&self, kind: Kind, data: &[u8], elements: Elements<'_>) -> Result<Label> {
        let label = Label::new(kind, data.len()).code(elements.code);
        match data.len().is_multiple_of(elements.bytes.max(1)) {
            true => Ok(label),
            false => {
                let reason = format!("{} bytes are no whole elements of {} bytes", data.len(), elements.bytes);
                Err(self.refuse(label, reason))
            }
        }
    }
}
