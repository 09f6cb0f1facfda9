//! What the program sees of a region.

use super::share::RawRegion;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::ni::{Bitmap, Twin, Units};
use bytemuck::Pod;
use std::marker::PhantomData;

/// Memory of which every rank that subscribes has a copy, kept up to date by those who write. Made by [`Job::region`].
///
/// ```
/// hikyaku::local(3, |job| {
///     let region = job.region::<u64>(0, 100)?; // rank 0 is its home
///     let shared = region.subscribe()?;        // now this rank has a copy
///     job.barrier()?;
///     // All ranks change it at once, each an element of its own.
///     let mut mine = vec![0; 100];
///     let mut twin = shared.read_twin(&mut mine)?;
///     mine[job.rank()] = 7;
///     assert_eq!(shared.write_diff(&mine, &mut twin)?, 1); // to all copies
///     job.barrier()?;
///     shared.refresh(&mut mine, &mut twin)?; // what the others have changed
///     assert_eq!(mine[..4], [7, 7, 7, 0]);
///     shared.unsubscribe()?;
///     region.free()
/// })
/// .unwrap();
/// ```
#[derive(Debug)]
pub struct Region<'j, T> {
    job: &'j Job,
    raw: RawRegion,
    element: PhantomData<fn() -> T>,
}

impl Job {
    /// Makes a region of `len` elements, which begin as zeros. Its first copy is at `home`, whose program does nothing for it. All ranks call
    /// it together, with the same arguments; who wants a copy then calls [`Region::subscribe`].
    ///
    /// # Errors
    /// When the ranks differ in their arguments, or there is not enough memory.
    #[track_caller]
    pub fn region<T: Pod>(&self, home: usize, len: usize) -> Result<Region<'_, T>> {
        self.enter(&"region");
        let bytes = len.checked_mul(size_of::<T>()).filter(|_| size_of::<T>() > 0);
        // What cannot be counted cannot be allocated, and all ranks find out together.
        let raw = RawRegion::new(self, home, bytes.unwrap_or(usize::MAX)).map_err(|error| match (error, bytes) {
            (Error::Invalid(_), None) => {
                Error::Invalid(format!("{len} elements of {} bytes make no region: too many, or none", size_of::<T>()))
            }
            (error, _) => error,
        })?;
        Ok(Region { job: self, raw, element: PhantomData })
    }
}

impl<T: Pod> Region<'_, T> {
    /// The rank that has the first copy.
    pub fn home(&self) -> usize {
        self.raw.home()
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.raw.bytes() / size_of::<T>()
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ranks that have a copy, in the order of their numbers. The home always has one.
    pub fn sharers(&self) -> Result<Vec<usize>> {
        self.raw.sharers(self.job)
    }

    /// This rank gets a copy of what the region has now, and from then on what others write. At any time, whatever the others do; who
    /// writes at that moment may have to wait until this rank has its copy. The home subscribes too if it wants to read and write.
    ///
    /// # Errors
    /// When this rank has subscribed already, or the home has ended.
    #[track_caller]
    pub fn subscribe(&self) -> Result<Subscription<'_, T>> {
        self.job.enter(&"subscribe");
        self.raw.subscribe(self.job)?;
        Ok(Subscription { region: self })
    }

    /// Frees its memory. All ranks call it together.
    #[track_caller]
    pub fn free(self) -> Result<()> {
        self.job.enter(&"free");
        self.raw.free(self.job)
    }
}

/// A rank's copy of a [`Region`]. Others write to it at any moment, so there is no `&[T]` into it: reads copy out.
///
/// Writes are there, in all copies, when they return; a read beside a write may see a part of it. Ranks may write different elements at
/// the same time. If several write the same one without a lock or a barrier between them, copies may end up with different values.
///
/// A rank that ends is no sharer any more. If it was in the middle of a write, the others take over from the home what it had written
/// there, when they next read after they have heard of its end. A sharer that a writer cannot reach is left out from then on: the write
/// that found out fails with [`Error::Unreachable`], all other sharers have it, and the one that was missed reads old elements until it
/// subscribes again. If the home ends, writes fail with its error, and everyone keeps the copy it has.
#[derive(Debug)]
pub struct Subscription<'r, T: Pod> {
    region: &'r Region<'r, T>,
}

impl<T: Pod> Subscription<'_, T> {
    fn parts(&self) -> (&RawRegion, &Job) {
        (&self.region.raw, self.region.job)
    }

    /// Copies elements out, from `index` on.
    ///
    /// # Errors
    /// When there are not as many.
    pub fn read(&self, index: usize, into: &mut [T]) -> Result<()> {
        let (raw, job) = self.parts();
        self.check(index, into.len())?;
        raw.read(job, index * size_of::<T>(), bytemuck::cast_slice_mut(into))
    }

    /// One element.
    ///
    /// # Errors
    /// As [`Subscription::read`].
    pub fn get(&self, index: usize) -> Result<T> {
        let mut element = [T::zeroed()];
        self.read(index, &mut element)?;
        Ok(element[0])
    }

    /// All elements.
    ///
    /// # Errors
    /// As [`Subscription::read`].
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut all = vec![T::zeroed(); self.region.len()];
        self.read(0, &mut all)?;
        Ok(all)
    }

    /// Copies all elements out, and keeps a twin of them: [`Subscription::write_diff`] writes only what has changed since.
    ///
    /// # Errors
    /// When `into` has not as many elements as the region, and as [`Subscription::read`].
    pub fn read_twin(&self, into: &mut [T]) -> Result<Twin<T>> {
        self.check_whole(into.len())?;
        self.read(0, into)?;
        Ok(Twin::of(into))
    }

    /// Writes elements to all copies, from `index` on.
    ///
    /// ```
    /// hikyaku::local(3, |job| {
    ///     let region = job.region::<f64>(1, 10)?;
    ///     let shared = region.subscribe()?;
    ///     job.barrier()?;
    ///     if job.rank() == 2 {
    ///         shared.write(4, &[1.5, 2.5])?;
    ///     }
    ///     job.barrier()?;
    ///     assert_eq!(shared.get(5)?, 2.5);
    ///     shared.unsubscribe()?;
    ///     region.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// When there are not as many elements, or the home has ended, or a sharer cannot be reached: all others have them then, and later
    /// writes do without it.
    #[track_caller]
    pub fn write(&self, index: usize, data: &[T]) -> Result<()> {
        let (raw, job) = self.parts();
        self.check(index, data.len())?;
        job.enter(&"write");
        raw.write(job, index * size_of::<T>(), bytemuck::cast_slice(data))
    }

    /// Writes those elements of `data` that the bitmap has set to all copies, at the same places.
    ///
    /// # Errors
    /// When the bitmap is for more elements than `data` has, and as [`Subscription::write`].
    #[track_caller]
    pub fn write_bitmap(&self, data: &[T], marked: &Bitmap) -> Result<()> {
        let (raw, job) = self.parts();
        let (unit, units, words) = (size_of::<T>(), marked.len(), marked.words());
        let Some(data) = data.get(..units) else {
            return Err(Error::OutOfBounds { index: 0, count: units, len: data.len() });
        };
        self.check(0, units)?;
        job.enter(&"write_bitmap");
        raw.write_marked(job, 0, bytemuck::cast_slice(data), Units { unit, units, words })
    }

    /// Writes those elements that differ from the twin to all copies; how many they were. Then the twin is as `data`.
    ///
    /// # Errors
    /// When `data` or the twin have not as many elements as the region, and as [`Subscription::write`]. The twin is as it was, unless all
    /// but a sharer that cannot be reached have the elements.
    #[track_caller]
    pub fn write_diff(&self, data: &[T], twin: &mut Twin<T>) -> Result<usize> {
        let (raw, job) = self.parts();
        self.check_whole(data.len())?;
        self.check_whole(twin.len())?;
        job.enter(&"write_diff");
        raw.write_diff(job, bytemuck::cast_slice(data), twin.bytes(), size_of::<T>())
    }

    /// Takes over what others have written since: into `data`, and into its twin; how many elements have changed. What this rank has
    /// changed in `data` and has not written yet stays, unless others have written the same elements.
    ///
    /// # Errors
    /// When `data` or the twin have not as many elements as the region, and as [`Subscription::read`].
    pub fn refresh(&self, data: &mut [T], twin: &mut Twin<T>) -> Result<usize> {
        let (raw, job) = self.parts();
        self.check_whole(data.len())?;
        self.check_whole(twin.len())?;
        raw.refresh(job, bytemuck::cast_slice_mut(data), twin.bytes(), size_of::<T>())
    }

    /// This rank has no copy any more. It can subscribe again.
    ///
    /// # Errors
    /// When the home has ended.
    #[track_caller]
    pub fn unsubscribe(self) -> Result<()> {
        let (raw, job) = self.parts();
        job.enter(&"unsubscribe");
        raw.unsubscribe(job)
    }

    fn check(&self, index: usize, count: usize) -> Result<()> {
        let len = self.region.len();
        match index.checked_add(count).is_some_and(|end| end <= len) {
            true => Ok(()),
            false => Err(Error::OutOfBounds { index, count, len }),
        }
    }

    fn check_whole(&self, count: usize) -> Result<()> {
        match self.region.len() {
            len if len == count => Ok(()),
            len => Err(Error::Invalid(format!("the slice or twin has {count} elements, the region {len}"))),
        }
    }
}

impl<T: Pod> Drop for Subscription<'_, T> {
    fn drop(&mut self) {
        let (raw, job) = self.parts();
        raw.abandon(job);
    }
}
