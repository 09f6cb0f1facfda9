//! Reductions of elements whose type is known only when the program runs: the ground of interfaces to other languages.

use super::group::Group;
use super::label::{Kind, Label};
use super::operation::{Combination, FUNCTION, Marked, Operation};
use super::pending::{Handle, Scope};
use crate::error::Result;
use std::borrow::Cow;

/// What is known of elements that are only bytes here.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    bytes: usize,
    code: u8,
}

/// Combines its second slice into the first.
type Combine<'f> = &'f dyn Fn(&mut [u8], &[u8]);

impl Elements {
    /// Elements of `bytes` bytes, combined by a function of the program.
    pub fn new(bytes: usize) -> Elements {
        Elements { bytes, code: FUNCTION }
    }

    /// Elements combined by one of the operations of this module, which the members then compare.
    pub fn known<T, O: Operation<T>>() -> Elements {
        Elements { bytes: size_of::<T>(), code: O::CODE }
    }

    /// Bytes of an element.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Group<'_> {
    /// [`Group::reduce`] of elements that are bytes. `data` holds whole elements; `combine` gets slices of equal length, and
    /// combines the second into the first. The second lies at a multiple of 64 bytes, and the first as `data`, at whole
    /// elements from its beginning.
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
    ///     world.reduce_elements(&mut data, Elements::new(3), &add, 0)?;
    ///     assert_eq!(data, if job.rank() == 0 { [3, 7, 7, 6, 7, 7] } else { [1, 7, 7, 2, 7, 7] });
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    #[track_caller]
    pub fn reduce_elements(
        &self,
        data: &mut [u8],
        elements: Elements,
        combine: &dyn Fn(&mut [u8], &[u8]),
        root: usize,
    ) -> Result<()> {
        self.begin(&"reduce_elements")?;
        let combine = Marked::new(combine);
        self.run_reduce_elements(data, elements, &|total, input| combine.run(|combine| combine(total, input)), root)
    }

    fn run_reduce_elements(
        &self,
        data: &mut [u8],
        elements: Elements,
        combine: Combine<'_>,
        root: usize,
    ) -> Result<()> {
        let label = self.label(Kind::Reduce, data, elements)?.root(root);
        self.check_root(label)?;
        self.combine_elements(label, data, &Combination { element: elements.bytes, combine })
    }

    /// [`Group::allreduce`] likewise.
    #[track_caller]
    pub fn allreduce_elements(
        &self,
        data: &mut [u8],
        elements: Elements,
        combine: &dyn Fn(&mut [u8], &[u8]),
    ) -> Result<()> {
        self.begin(&"allreduce_elements")?;
        let combine = Marked::new(combine);
        self.run_elements(Kind::Allreduce, data, elements, &|total, input| combine.run(|combine| combine(total, input)))
    }

    /// [`Group::scan`] likewise.
    #[track_caller]
    pub fn scan_elements(&self, data: &mut [u8], elements: Elements, combine: &dyn Fn(&mut [u8], &[u8])) -> Result<()> {
        self.begin(&"scan_elements")?;
        let combine = Marked::new(combine);
        self.run_elements(Kind::Scan, data, elements, &|total, input| combine.run(|combine| combine(total, input)))
    }

    /// [`Group::exscan`] likewise.
    #[track_caller]
    pub fn exscan_elements(
        &self,
        data: &mut [u8],
        elements: Elements,
        combine: &dyn Fn(&mut [u8], &[u8]),
    ) -> Result<()> {
        self.begin(&"exscan_elements")?;
        let combine = Marked::new(combine);
        self.run_elements(Kind::Exscan, data, elements, &|total, input| combine.run(|combine| combine(total, input)))
    }

    /// [`Group::reduce_scatter`] likewise: `counts` are in elements, and `combine` gets its first slice as `mine` lies.
    #[track_caller]
    pub fn reduce_scatter_elements(
        &self,
        data: &[u8],
        mine: &mut [u8],
        counts: &[usize],
        elements: Elements,
        combine: &dyn Fn(&mut [u8], &[u8]),
    ) -> Result<()> {
        self.begin(&"reduce_scatter_elements")?;
        let combine = Marked::new(combine);
        let marked = |total: &mut [u8], input: &[u8]| combine.run(|combine| combine(total, input));
        self.run_reduce_scatter_elements(data, mine, counts, elements, &marked)
    }

    fn run_reduce_scatter_elements(
        &self,
        data: &[u8],
        mine: &mut [u8],
        counts: &[usize],
        elements: Elements,
        combine: Combine<'_>,
    ) -> Result<()> {
        let label = self.label(Kind::ReduceScatter, data, elements)?;
        self.label(Kind::ReduceScatter, mine, elements)?;
        self.run_scattered(label, data, mine, counts, &Combination { element: elements.bytes, combine })
    }

    /// Without a root.
    fn run_elements(&self, kind: Kind, data: &mut [u8], elements: Elements, combine: Combine<'_>) -> Result<()> {
        let label = self.label(kind, data, elements)?;
        self.combine_elements(label, data, &Combination { element: elements.bytes, combine })
    }

    fn label(&self, kind: Kind, data: &[u8], elements: Elements) -> Result<Label> {
        let label = Label::new(kind, data.len()).code(elements.code).element(elements.bytes);
        match data.len().is_multiple_of(elements.bytes.max(1)) {
            true => Ok(label),
            false => {
                let reason = format!("{} bytes are no whole elements of {} bytes", data.len(), elements.bytes);
                Err(self.refuse(label, reason))
            }
        }
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts [`Group::reduce_elements`].
    ///
    /// ```
    /// use hikyaku::collective::Elements;
    ///
    /// hikyaku::local(3, |job| {
    ///     let world = job.world()?;
    ///     let mut data = [job.rank() as u8; 4];
    ///     world.scope(|scope| {
    ///         let keep_last = |total: &mut [u8], input: &[u8]| total.copy_from_slice(input);
    ///         let call = scope.ireduce_elements(&mut data, Elements::new(2), keep_last, 0)?;
    ///         scope.wait(call)
    ///     })?;
    ///     assert_eq!(data, [if job.rank() == 0 { 2 } else { job.rank() as u8 }; 4]);
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    pub fn ireduce_elements(
        &self,
        data: &'env mut [u8],
        elements: Elements,
        combine: impl Fn(&mut [u8], &[u8]) + 'env,
        root: usize,
    ) -> Result<Handle<'scope>> {
        let combine = Marked::new(combine);
        self.start(move |group| {
            let marked = |total: &mut [u8], input: &[u8]| combine.run(|combine| combine(total, input));
            group.run_reduce_elements(data, elements, &marked, root)
        })
    }

    /// Starts [`Group::allreduce_elements`].
    pub fn iallreduce_elements(
        &self,
        data: &'env mut [u8],
        elements: Elements,
        combine: impl Fn(&mut [u8], &[u8]) + 'env,
    ) -> Result<Handle<'scope>> {
        let combine = Marked::new(combine);
        self.start(move |group| {
            let marked = |total: &mut [u8], input: &[u8]| combine.run(|combine| combine(total, input));
            group.run_elements(Kind::Allreduce, data, elements, &marked)
        })
    }

    /// Starts [`Group::scan_elements`].
    pub fn iscan_elements(
        &self,
        data: &'env mut [u8],
        elements: Elements,
        combine: impl Fn(&mut [u8], &[u8]) + 'env,
    ) -> Result<Handle<'scope>> {
        let combine = Marked::new(combine);
        self.start(move |group| {
            let marked = |total: &mut [u8], input: &[u8]| combine.run(|combine| combine(total, input));
            group.run_elements(Kind::Scan, data, elements, &marked)
        })
    }

    /// Starts [`Group::exscan_elements`].
    pub fn iexscan_elements(
        &self,
        data: &'env mut [u8],
        elements: Elements,
        combine: impl Fn(&mut [u8], &[u8]) + 'env,
    ) -> Result<Handle<'scope>> {
        let combine = Marked::new(combine);
        self.start(move |group| {
            let marked = |total: &mut [u8], input: &[u8]| combine.run(|combine| combine(total, input));
            group.run_elements(Kind::Exscan, data, elements, &marked)
        })
    }

    /// Starts [`Group::reduce_scatter_elements`].
    pub fn ireduce_scatter_elements(
        &self,
        data: &'env [u8],
        mine: &'env mut [u8],
        counts: impl Into<Cow<'env, [usize]>>,
        elements: Elements,
        combine: impl Fn(&mut [u8], &[u8]) + 'env,
    ) -> Result<Handle<'scope>> {
        let (combine, counts) = (Marked::new(combine), counts.into());
        self.start(move |group| {
            let marked = |total: &mut [u8], input: &[u8]| combine.run(|combine| combine(total, input));
            group.run_reduce_scatter_elements(data, mine, &counts, elements, &marked)
        })
    }
}
