//! Atomic operations on numbers of other ranks.

use super::port::Port;
use crate::error::Result;
use crate::memory::atomic::{Atomic, AtomicNumber, Change, add_float};
use crate::ni::reach::place::{Place, Reach};
use crate::ni::remote::initiator::Initiator;

impl Port {
    /// Changes a number atomically, wakes whoever waits for the word it is in, and returns the value it had before.
    ///
    /// ```
    /// use hikyaku::Atomic;
    /// hikyaku::local(4, |job| {
    ///     let bits = job.symmetric::<u32>(1)?;
    ///     job.atomic(bits.at(0, 0), Atomic::Or(1 << job.rank()))?;
    ///     job.barrier()?;
    ///     assert_eq!(job.pull_one(bits.at(0, 0))?, 0b1111);
    ///     job.barrier()
    /// })
    /// .unwrap();
    /// ```
    #[inline]
    pub fn atomic<T: AtomicNumber>(&self, at: Place<'_, T>, operation: Atomic<T>) -> Result<T> {
        let Initiator { ni, .. } = &self.initiator;
        self.initiator.tick();
        let change = T::change(operation);
        // Found before the operation: what comes after waits for it.
        let (before, block, bytes) = match change {
            Change::Word(operation) => {
                let Some(word) = self.initiator.word_to(&at.alike()) else {
                    return elsewhere(&self.initiator, at, change);
                };
                let block = self.initiator.routes.block_of(at.rank);
                (operation.perform(word), block, word.as_ptr().cast())
            }
            Change::Half(operation) => {
                let Some(half) = self.initiator.half_to(&at.alike()) else {
                    return elsewhere(&self.initiator, at, change);
                };
                let block = self.initiator.routes.block_of(at.rank);
                (operation.perform_on_half(half), block, half.as_ptr().map_addr(|address| address & !7).cast())
            }
            Change::AddFloat(amount) => {
                let Some(word) = self.initiator.word_to(&at.alike()) else {
                    return elsewhere(&self.initiator, at, change);
                };
                let block = self.initiator.routes.block_of(at.rank);
                (add_float(word, amount), block, word.as_ptr().cast())
            }
        };
        if let Some(block) = block {
            block.bell.ring(ni.fences, ni.watch_of(bytes));
        }
        Ok(T::from_bits(before))
    }

    /// Adds to a number atomically; returns the value it had before.
    ///
    /// ```
    /// hikyaku::local(3, |job| {
    ///     let (count, sum) = (job.symmetric::<i64>(1)?, job.symmetric::<f64>(1)?);
    ///     job.fetch_add(count.at(0, 0), -1)?;
    ///     job.fetch_add(sum.at(0, 0), 0.5)?;
    ///     job.barrier()?;
    ///     assert_eq!((job.pull_one(count.at(0, 0))?, job.pull_one(sum.at(0, 0))?), (-3, 1.5));
    ///     job.barrier()
    /// })
    /// .unwrap();
    /// ```
    #[inline]
    pub fn fetch_add<T: AtomicNumber>(&self, at: Place<'_, T>, value: T) -> Result<T> {
        self.atomic(at, Atomic::Add(value))
    }

    /// Replaces a number atomically; returns the value it had before.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let last = job.symmetric::<u64>(1)?;
    /// let before = job.swap(last.at(0, 0), job.rank() as u64 + 1)?;
    /// println!("rank {} came after {before}", job.rank()); // 0 is nobody
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[inline]
    pub fn swap<T: AtomicNumber>(&self, at: Place<'_, T>, value: T) -> Result<T> {
        self.atomic(at, Atomic::Swap(value))
    }

    /// Replaces a number by `new` if it equals `old`, bit for bit and atomically; returns the value it had before.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// // Whoever finds 0 there has the lock.
    /// let lock = job.symmetric::<u64>(1)?;
    /// while job.compare_swap(lock.at(0, 0), 0, 1)? != 0 {}
    /// // One rank at a time is here.
    /// job.word(lock.at(0, 0), 0)?;
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[inline]
    pub fn compare_swap<T: AtomicNumber>(&self, at: Place<'_, T>, old: T, new: T) -> Result<T> {
        self.atomic(at, Atomic::CompareSwap { old, new })
    }
}

/// Out of line, so that what is compiled in place stays short.
#[inline(never)]
pub(super) fn elsewhere<T: AtomicNumber>(by: &Initiator, at: Place<'_, T>, change: Change) -> Result<T> {
    let before = match by.ni.resolve(at, 1)? {
        Reach::Area(area, offset) => by.change_area(area, offset, change),
        Reach::Far(target) => by.change_routed(target, change),
        Reach::Pointer(_) => unreachable!("done in place"),
    };
    before.map(T::from_bits)
}
