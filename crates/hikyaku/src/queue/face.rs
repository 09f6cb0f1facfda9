//! What the program sees of a queue.

use super::raw::{Popped, RawQueue};
use crate::error::Result;
use crate::job::Job;
use bytemuck::Pod;
use std::marker::PhantomData;
use std::time::Duration;

/// A queue into which all ranks push, and from which one pops. Made by [`Job::queue`].
///
/// The items of one rank come in the order in which it has pushed them; those of different ranks in any. There is room for so many items
/// of each rank; a push that finds none waits, or says so.
///
/// If a rank dies, its items that were pushed are popped, and the queue goes on with those of the others. If the owner has ended, a push
/// fails with [`crate::Error::PeerDead`] or [`crate::Error::PeerLeft`].
///
/// ```
/// hikyaku::local(3, |job| {
///     let mut queue = job.queue::<[u64; 2]>(0, 100)?; // rank 0 pops; room for 100 items of each rank
///     if job.rank() == 0 {
///         for _ in 0..2 * 1000 {
///             let item = queue.pop()?;
///             assert_eq!(item.get()[0], item.rank() as u64); // read where it has landed
///         }
///     } else {
///         for number in 0..1000 {
///             queue.push([job.rank() as u64, number])?;
///         }
///     }
///     queue.free()
/// })
/// .unwrap();
/// ```
#[derive(Debug)]
pub struct Queue<'j, T> {
    job: &'j Job,
    raw: RawQueue,
    element: PhantomData<fn() -> T>,
}

impl Job {
    /// Makes a queue of `owner`, with room for `capacity` items of each rank. All ranks call it together, with the same arguments. The owner's
    /// program does nothing for those who push.
    ///
    /// # Errors
    /// When the ranks differ in their arguments, or there is not enough memory.
    #[track_caller]
    pub fn queue<T: Pod>(&self, owner: usize, capacity: usize) -> Result<Queue<'_, T>> {
        self.enter(&"queue");
        Ok(Queue { job: self, raw: RawQueue::new(self, owner, capacity, size_of::<T>())?, element: PhantomData })
    }
}

impl<T: Pod> Queue<'_, T> {
    /// The rank that pops.
    pub fn owner(&self) -> usize {
        self.raw.owner()
    }

    /// For how many items of each rank there is room.
    pub fn capacity(&self) -> usize {
        self.raw.capacity()
    }

    /// Pushes an item; waits while there is no room.
    ///
    /// # Errors
    /// When the owner has ended.
    #[inline]
    #[track_caller]
    pub fn push(&self, item: T) -> Result<()> {
        self.job.enter(&"push");
        self.raw.push(self.job, bytemuck::bytes_of(&item), None)
    }

    /// Pushes an item unless there is no room; whether it has.
    ///
    /// ```
    /// # hikyaku::local(1, |job| {
    /// let queue = job.queue::<u32>(0, 3)?;
    /// let mut pushed = 0;
    /// while queue.try_push(7)? {
    ///     pushed += 1;
    /// }
    /// assert!(pushed >= 3);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// # Errors
    /// When the owner has ended.
    #[inline]
    pub fn try_push(&self, item: T) -> Result<bool> {
        self.job.ni.look();
        self.raw.try_push(self.job, bytemuck::bytes_of(&item))
    }

    /// [`Queue::push`] that waits for at most `timeout`, and then fails with [`crate::Error::Timeout`].
    #[track_caller]
    pub fn push_for(&self, item: T, timeout: Duration) -> Result<()> {
        self.job.enter(&"push_for");
        self.raw.push(self.job, bytemuck::bytes_of(&item), Some(timeout))
    }

    /// Pushes items, at once as far as there is room, and waits for room for the others.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let mut queue = job.queue::<u64>(1, 64)?;
    /// if job.rank() == 0 {
    ///     queue.push_many(&(0..1000).collect::<Vec<u64>>())?;
    /// } else {
    ///     let mut next = 0;
    ///     while next < 1000 {
    ///         for item in queue.pop_many(32)?.iter() {
    ///             assert_eq!(item, next);
    ///             next += 1;
    ///         }
    ///     }
    /// }
    /// queue.free()?;
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// # Errors
    /// When the owner has ended; the first items may have been pushed.
    #[track_caller]
    pub fn push_many(&self, items: &[T]) -> Result<()> {
        self.job.enter(&"push_many");
        self.raw.push_many(self.job, bytemuck::cast_slice(items), None).1
    }

    /// Pushes the first of some items, as many as there is room for; how many they were.
    ///
    /// # Errors
    /// When the owner has ended.
    pub fn try_push_many(&self, items: &[T]) -> Result<usize> {
        self.raw.try_push_many(self.job, bytemuck::cast_slice(items))
    }

    /// The next item; waits for one if there is none. Only the owner pops.
    ///
    /// # Errors
    /// When this rank is not the owner; when the queue is empty and nobody is left who could push.
    #[inline]
    #[track_caller]
    pub fn pop(&mut self) -> Result<Item<'_, T>> {
        self.job.enter(&"pop");
        let Popped { rank, .. } = self.raw.pop(self.job, 1, None)?;
        Ok(Item { items: self.items(rank, 1) })
    }

    /// The next item, if there is one.
    ///
    /// # Errors
    /// When this rank is not the owner.
    #[inline]
    pub fn try_pop(&mut self) -> Result<Option<Item<'_, T>>> {
        match self.raw.try_pop(self.job, 1)? {
            Some(Popped { rank, .. }) => Ok(Some(Item { items: self.items(rank, 1) })),
            None => Ok(None),
        }
    }

    /// [`Queue::pop`] that waits for at most `timeout`, and then fails with [`crate::Error::Timeout`].
    #[track_caller]
    pub fn pop_for(&mut self, timeout: Duration) -> Result<Item<'_, T>> {
        self.job.enter(&"pop_for");
        let Popped { rank, .. } = self.raw.pop(self.job, 1, Some(timeout))?;
        Ok(Item { items: self.items(rank, 1) })
    }

    /// The next items of one rank, at most `max` of them and at least one; waits for that.
    ///
    /// # Errors
    /// As [`Queue::pop`].
    #[inline]
    #[track_caller]
    pub fn pop_many(&mut self, max: usize) -> Result<Items<'_, T>> {
        self.job.enter(&"pop_many");
        let Popped { rank, count } = self.raw.pop(self.job, max, None)?;
        Ok(self.items(rank, count))
    }

    /// The next items of one rank, at most `max` of them, if there are any.
    ///
    /// # Errors
    /// When this rank is not the owner.
    #[inline]
    pub fn try_pop_many(&mut self, max: usize) -> Result<Option<Items<'_, T>>> {
        match self.raw.try_pop(self.job, max)? {
            Some(Popped { rank, count }) => Ok(Some(self.items(rank, count))),
            None => Ok(None),
        }
    }

    fn items(&self, rank: usize, len: usize) -> Items<'_, T> {
        Items { job: self.job, raw: &self.raw, rank, len, element: PhantomData }
    }

    /// Frees its memory. All ranks call it together; what nobody has popped is gone.
    #[track_caller]
    pub fn free(self) -> Result<()> {
        self.job.enter(&"free");
        self.raw.free(self.job)
    }
}

/// An item that was popped and is still where it has landed. When it is dropped its room is its producer's again; if it is forgotten
/// ([`std::mem::forget`]), when the next one is popped.
///
/// A rank may write to memory of others at any moment, so there is no `&T` to it: reads copy out.
#[derive(Debug)]
pub struct Item<'q, T: Pod> {
    items: Items<'q, T>,
}

impl<T: Pod> Item<'_, T> {
    /// Who has pushed it.
    pub fn rank(&self) -> usize {
        self.items.rank
    }

    /// The item.
    #[inline]
    pub fn get(&self) -> T {
        self.items.get(0)
    }

    /// Copies some of its bytes out, from `offset` on: of a large item, what is needed.
    ///
    /// # Panics
    /// If it has not as many.
    pub fn read(&self, offset: usize, into: &mut [u8]) {
        self.items.read(0, offset, into);
    }
}

/// Items of one rank that were popped together and are still where they have landed; see [`Item`].
#[derive(Debug)]
pub struct Items<'q, T: Pod> {
    job: &'q Job,
    raw: &'q RawQueue,
    rank: usize,
    len: usize,
    element: PhantomData<fn() -> T>,
}

impl<T: Pod> Items<'_, T> {
    /// Who has pushed them.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many they are: at least one.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// One of them.
    ///
    /// # Panics
    /// If there are not as many.
    #[inline]
    pub fn get(&self, index: usize) -> T {
        let mut item = T::zeroed();
        self.raw.item(self.job, index).copy_out(bytemuck::bytes_of_mut(&mut item));
        item
    }

    /// Copies some bytes of one of them out, from `offset` on.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn read(&self, index: usize, offset: usize, into: &mut [u8]) {
        self.raw.item(self.job, index).part(offset, into.len()).copy_out(into);
    }

    /// All of them, one after the other.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        (0..self.len).map(|index| self.get(index))
    }
}

impl<T: Pod> Drop for Items<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.raw.release(self.job);
    }
}
