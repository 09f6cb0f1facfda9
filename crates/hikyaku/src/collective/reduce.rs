//! Combining contributions: reduce, allreduce, scan, exscan. For reduce_scatter see `uneven`.
//!
//! Contributions are combined in the order of ranks, so results are the same every time (what that means over several hosts: see
//! `far`; who combines what on one host: `fold`). Functions get slices of private memory, never of memory that a peer can write.

use super::group::Group;
use super::label::{Kind, Label, REDUCE_END};
use super::operation::{Combination, Marked, Operation};
use super::room::{SCRATCH_BYTES, Scratch};
use crate::error::Result;
use bytemuck::Pod;

impl Group<'_> {
    /// Combines the `data` of all members; the result is in `data` of member `root`. The others keep theirs.
    ///
    /// ```
    /// use hikyaku::collective::Max;
    ///
    /// hikyaku::local(3, |job| {
    ///     let world = job.world()?;
    ///     let mut data = [job.rank() as i32, -(job.rank() as i32)];
    ///     world.reduce(&mut data, Max, 0)?;
    ///     if job.rank() == 0 {
    ///         assert_eq!(data, [2, 0]);
    ///     }
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    #[track_caller]
    pub fn reduce<T: Pod, O: Operation<T>>(&self, data: &mut [T], operation: O, root: usize) -> Result<()> {
        self.begin(&"reduce")?;
        self.run_reduce(data, Marked::new(operation), root)
    }

    pub(super) fn run_reduce<T: Pod, O: Operation<T>>(&self, data: &mut [T], operation: O, root: usize) -> Result<()> {
        let label = Label::new(Kind::Reduce, size_of_val(data)).root(root).code(O::CODE).element(size_of::<T>());
        self.check_root(label)?;
        self.combine(label, data, operation)
    }

    /// Combines the `data` of all members; the result is in `data` of all.
    ///
    /// ```
    /// # hikyaku::local(3, |job| {
    /// use hikyaku::collective::Max;
    /// let mut numbers = [job.rank() as i64, -(job.rank() as i64)];
    /// job.world()?.allreduce(&mut numbers, Max)?;
    /// assert_eq!(numbers, [2, 0]);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[track_caller]
    pub fn allreduce<T: Pod, O: Operation<T>>(&self, data: &mut [T], operation: O) -> Result<()> {
        self.begin(&"allreduce")?;
        self.run_allreduce(data, Marked::new(operation))
    }

    pub(super) fn run_allreduce<T: Pod, O: Operation<T>>(&self, data: &mut [T], operation: O) -> Result<()> {
        let label = Label::new(Kind::Allreduce, size_of_val(data)).code(O::CODE).element(size_of::<T>());
        self.combine(label, data, operation)
    }

    /// Combines the `data` of all members up to this one, itself included; the result is in `data`.
    ///
    /// ```
    /// use hikyaku::collective::Sum;
    ///
    /// hikyaku::local(4, |job| {
    ///     let world = job.world()?;
    ///     let mut place = [10u64];
    ///     world.scan(&mut place, Sum)?;
    ///     assert_eq!(place, [10 * (job.rank() as u64 + 1)]);
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    #[track_caller]
    pub fn scan<T: Pod, O: Operation<T>>(&self, data: &mut [T], operation: O) -> Result<()> {
        self.begin(&"scan")?;
        self.run_scan(data, Marked::new(operation))
    }

    pub(super) fn run_scan<T: Pod, O: Operation<T>>(&self, data: &mut [T], operation: O) -> Result<()> {
        let label = Label::new(Kind::Scan, size_of_val(data)).code(O::CODE).element(size_of::<T>());
        self.combine(label, data, operation)
    }

    /// Combines the `data` of all members before this one; the result is in `data`. Before the first there is none: its `data`
    /// stays as it is.
    ///
    /// ```
    /// use hikyaku::collective::Sum;
    ///
    /// hikyaku::local(4, |job| {
    ///     let world = job.world()?;
    ///     // Where each member's part of a common file begins.
    ///     let bytes = 100 * (job.rank() as u64 + 1);
    ///     let mut start = [bytes];
    ///     world.exscan(&mut start, Sum)?;
    ///     let start = if job.rank() == 0 { 0 } else { start[0] };
    ///     assert_eq!(start, [0, 100, 300, 600][job.rank()]);
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    #[track_caller]
    pub fn exscan<T: Pod, O: Operation<T>>(&self, data: &mut [T], operation: O) -> Result<()> {
        self.begin(&"exscan")?;
        self.run_exscan(data, Marked::new(operation))
    }

    pub(super) fn run_exscan<T: Pod, O: Operation<T>>(&self, data: &mut [T], operation: O) -> Result<()> {
        let label = Label::new(Kind::Exscan, size_of_val(data)).code(O::CODE).element(size_of::<T>());
        self.combine(label, data, operation)
    }

    #[inline(always)]
    fn combine<T: Pod, O: Operation<T>>(&self, label: Label, data: &mut [T], operation: O) -> Result<()> {
        const { assert!(align_of::<T>() <= align_of::<Scratch>()) };
        let combine = |total: &mut [u8], input: &[u8]| {
            operation.combine(bytemuck::cast_slice_mut(total), bytemuck::cast_slice(input))
        };
        let how = Combination { element: size_of::<T>(), combine: &combine };
        self.combine_elements(label, bytemuck::cast_slice_mut(data), &how)
    }

    /// Combines what all members give, where the elements are only bytes.
    #[inline(always)]
    pub(super) fn combine_elements(&self, label: Label, data: &mut [u8], how: &Combination<'_>) -> Result<()> {
        self.check_elements(label, data.len(), how.element)?;
        self.quit_on_panic(|| self.reach().combine(label, data, how))
    }

    /// Refuses elements that cannot be combined, and too many of them.
    #[inline(always)]
    pub(super) fn check_elements(&self, label: Label, bytes: usize, element: usize) -> Result<()> {
        if element == 0 || element > SCRATCH_BYTES {
            let reason = format!("elements of {element} bytes cannot be combined: 1 to {SCRATCH_BYTES} bytes can");
            return Err(self.refuse(label, reason));
        }
        if matches!(label.kind, Kind::Reduce | Kind::ReduceScatter) && bytes >= REDUCE_END {
            let reason = format!("{bytes} bytes are too many to be reduced at once: fewer than {REDUCE_END} can");
            return Err(self.refuse(label, reason));
        }
        Ok(())
    }
}
