//! Areas of one rank, by id: allocated or registered, opened by peers, revoked.

use super::port::Port;
use crate::error::{Error, Refusal, Result};
use crate::memory::{copy, memcheck};
use crate::ni::interface::Ni;
use crate::ni::reach::opened::Opened;
use crate::ni::reach::place::Place;
use crate::ni::remote::initiator::Initiator;
use crate::transport::shm::layout::AreaKind;
use bytemuck::Pod;
use std::marker::PhantomData;
use std::sync::Arc;

/// Memory of this rank that peers reach under an id. Revoked when dropped, unless a peer has pinned some of it ([`Port::pin`]): then it
/// stays as it is.
pub struct Area<T: Pod> {
    opened: Opened,
    ni: Arc<Ni>,
    memory: Backing<T>,
}

impl<T: Pod> std::fmt::Debug for Area<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Area").field("id", &self.opened.id).field("len", &self.len()).finish_non_exhaustive()
    }
}

/// Who owns an area's bytes.
enum Backing<T> {
    /// The rank's heap: (start, bytes).
    Heap(usize, usize),
    /// A vector of the program, given back by [`Area::into_vec`].
    Vector(Vec<T>),
    /// Somebody who promised to keep it.
    Borrowed,
    /// Nobody any more: a peer may be at it, or has pinned it.
    Left,
}

/// An area of a rank, opened for access.
pub struct RemoteArea<T> {
    opened: Opened,
    element: PhantomData<fn() -> T>,
}

impl<T> std::fmt::Debug for RemoteArea<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RemoteArea {{ rank: {}, id: {} }}", self.opened.rank, self.opened.id)
    }
}

impl<T> RemoteArea<T> {
    /// The rank that owns it.
    pub fn rank(&self) -> usize {
        self.opened.rank
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.opened.bytes / size_of::<T>()
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Element `index`, as the target of an operation.
    pub fn at(&self, index: usize) -> Place<'_, T> {
        Place::in_area(&self.opened, index)
    }
}

impl Port {
    /// Makes an area of `len` zeroed elements in shared memory. Peers open it by `id`.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// // Rank 0 has an area, the other one writes to it.
    /// let area = if job.rank() == 0 { Some(job.area::<u64>(5, 10)?) } else { None };
    /// job.barrier()?;
    /// if job.rank() == 1 {
    ///     let remote = job.open_area::<u64>(0, 5)?;
    ///     job.push(remote.at(3), &[7])?;
    ///     job.flush(0)?;
    /// }
    /// job.barrier()?;
    /// if let Some(area) = area {
    ///     assert_eq!(area.get(3), 7);
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn area<T: Pod>(&self, id: u32, len: usize) -> Result<Area<T>> {
        let ni = &self.initiator.ni;
        let bytes = element_bytes::<T>(len)?;
        let start = ni.take_heap(bytes)?;
        match ni.publish(id, AreaKind::Mapped, start as u64, bytes) {
            Ok(opened) => Ok(Area { opened, ni: ni.clone(), memory: Backing::Heap(start, bytes) }),
            Err(error) => {
                ni.give_heap(start, bytes);
                Err(error)
            }
        }
    }

    /// Gives peers access to a vector of the program, until [`Area::into_vec`] takes it back.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let area = job.register(1, vec![job.rank() as u64; 4])?; // peers reach the vector from now on
    /// job.barrier()?;
    /// let remote = job.open_area::<u64>(1 - job.rank(), 1)?;
    /// assert_eq!(job.pull_one(remote.at(0))?, 1 - job.rank() as u64);
    /// job.barrier()?;
    /// let vector = area.into_vec(); // and no longer
    /// assert_eq!(vector.len(), 4);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn register<T: Pod>(&self, id: u32, mut memory: Vec<T>) -> Result<Area<T>> {
        let bytes = element_bytes::<T>(memory.len())?;
        let opened = self.initiator.ni.publish(id, AreaKind::Private, memory.as_mut_ptr() as u64, bytes)?;
        Ok(Area { opened, ni: self.initiator.ni.clone(), memory: Backing::Vector(memory) })
    }

    /// Lets peers reach `len` elements at `start`.
    ///
    /// # Safety
    /// The memory stays valid, and no Rust reference to it is used, until the area is dropped.
    pub unsafe fn register_raw<T: Pod>(&self, id: u32, start: *mut T, len: usize) -> Result<Area<T>> {
        let bytes = element_bytes::<T>(len)?;
        if !(start as usize).is_multiple_of(align_of::<T>()) || start.is_null() {
            return Err(Error::WrongElement { bytes, element: size_of::<T>() });
        }
        let opened = self.initiator.ni.publish(id, AreaKind::Private, start as u64, bytes)?;
        // Peers may write there at any time, and nobody is told when.
        memcheck::written_by_another(start.cast(), bytes);
        Ok(Area { opened, ni: self.initiator.ni.clone(), memory: Backing::Borrowed })
    }

    /// Opens area `id` of `rank`.
    ///
    /// ```
    /// # hikyaku::local(1, |job| {
    /// let area = job.area::<f32>(9, 100)?;
    /// let opened = job.open_area::<f32>(0, 9)?;
    /// assert_eq!((opened.rank(), opened.len()), (0, 100));
    /// drop(area);
    /// assert!(job.push(opened.at(0), &[1.0]).is_err()); // it was revoked
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn open_area<T: Pod>(&self, rank: usize, id: u32) -> Result<RemoteArea<T>> {
        self.initiator.ni.check_rank(rank)?;
        let opened = match self.initiator.ni.is_near(rank) {
            true => self.initiator.ni.look_up(rank, id)?,
            false => open_far(&self.initiator, rank, id)?,
        };
        let element = size_of::<T>();
        if element == 0 || opened.bytes % element != 0 || opened.start % align_of::<T>() as u64 != 0 {
            return Err(Error::WrongElement { bytes: opened.bytes, element });
        }
        Ok(RemoteArea { opened, element: PhantomData })
    }
}

/// Asks a far rank for its area.
#[cold]
fn open_far(by: &Initiator, rank: usize, id: u32) -> Result<Opened> {
    let unknown = |error| match error {
        Error::Refused { reason: Refusal::UnknownArea, .. } => Error::UnknownArea { rank, id },
        other => other,
    };
    let ([key, kind, start, bytes], reach) = by.ask_area(rank, id).map_err(unknown)?;
    let opened = by.ni.believe(rank, id, key, [kind, start, bytes])?;
    Ok(Opened { reach: reach.filter(|_| by.ni.direct.is_some()), ..opened })
}

fn element_bytes<T>(len: usize) -> Result<usize> {
    match len.checked_mul(size_of::<T>()) {
        Some(bytes) if size_of::<T>() > 0 && bytes <= isize::MAX as usize => Ok(bytes),
        _ => Err(Error::Invalid(format!("{len} elements of {} bytes make no area", size_of::<T>()))),
    }
}

impl<T: Pod> Area<T> {
    /// What those need to know who operate on it.
    pub(super) fn key(&self) -> u64 {
        self.opened.key
    }

    pub(super) fn opened(&self) -> &Opened {
        &self.opened
    }

    pub(super) fn interface(&self) -> &Ni {
        &self.ni
    }

    /// Its id.
    pub fn id(&self) -> u32 {
        self.opened.id
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.opened.bytes / size_of::<T>()
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Element `index`, as something this rank waits for or operates on.
    pub fn at(&self, index: usize) -> Place<'_, T> {
        Place::in_area(&self.opened, index)
    }

    /// Copies elements out.
    ///
    /// # Panics
    /// If the range goes past the end.
    pub fn read(&self, index: usize, into: &mut [T]) {
        let from = self.own(index, into.len());
        // SAFETY: `own` checked the range; the target is a live slice; any bytes are a valid `T`.
        unsafe { copy::copy(into.as_mut_ptr().cast(), from, size_of_val(into)) };
    }

    /// Copies elements in.
    ///
    /// # Panics
    /// If the range goes past the end.
    pub fn write(&self, index: usize, data: &[T]) {
        let to = self.own(index, data.len());
        // SAFETY: `own` checked the range; the source is a live slice.
        unsafe { copy::copy(to, data.as_ptr().cast(), size_of_val(data)) };
    }

    /// Reads one element.
    ///
    /// # Panics
    /// If `index` is out of range.
    pub fn get(&self, index: usize) -> T {
        let mut value = [T::zeroed()];
        self.read(index, &mut value);
        value[0]
    }

    /// The address of the first element, for code that itself makes sure who writes when.
    pub fn as_ptr(&self) -> *mut T {
        self.own(0, 0).cast()
    }

    /// All elements, copied out.
    pub fn to_vec(&self) -> Vec<T> {
        let mut all = vec![T::zeroed(); self.len()];
        self.read(0, &mut all);
        all
    }

    /// Ends the access of peers and returns the elements. For a registered vector this is the vector itself, except if a process was
    /// stopped in the middle of copying from or to it, or if a peer has pinned some of it ([`Port::wait_unpinned`] waits for that): then it
    /// is a copy, and the vector stays allocated for those.
    ///
    /// ```
    /// # hikyaku::local(1, |job| {
    /// let area = job.register(1, vec![1.5, 2.5])?;
    /// assert_eq!(area.into_vec(), [1.5, 2.5]);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn into_vec(mut self) -> Vec<T> {
        self.revoke();
        match std::mem::replace(&mut self.memory, Backing::Borrowed) {
            Backing::Vector(memory) => memory,
            other => {
                self.memory = other;
                self.to_vec()
            }
        }
    }

    /// Takes the area away from the peers. Memory that one of them may still be at, or has pinned, is left to it.
    fn revoke(&mut self) {
        let may_stay = match self.memory {
            Backing::Left => return,
            Backing::Borrowed => false,
            Backing::Heap(..) | Backing::Vector(_) => true,
        };
        let stays = may_stay && self.ni.stays_pinned(&self.opened) || !self.ni.revoke(&self.opened, may_stay);
        if stays && let Backing::Vector(memory) = std::mem::replace(&mut self.memory, Backing::Left) {
            std::mem::forget(memory);
        }
    }

    fn own(&self, index: usize, count: usize) -> *mut u8 {
        self.ni.look();
        assert!(
            index.checked_add(count).is_some_and(|end| end <= self.len()),
            "{count} elements at index {index} go past the end of an area of {}",
            self.len()
        );
        self.opened.pointer(&self.ni, index * size_of::<T>()).expect("an own area has an address")
    }
}

impl<T: Pod> Drop for Area<T> {
    fn drop(&mut self) {
        self.revoke();
        if let Backing::Heap(start, bytes) = self.memory {
            // In a forked child the memory belongs to the parent.
            if self.ni.size() != 0 {
                self.ni.forget_statuses(start, bytes);
                self.ni.give_heap(start, bytes);
            }
        }
    }
}
