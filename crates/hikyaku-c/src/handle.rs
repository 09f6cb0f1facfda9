//! The table behind `hk_area`: from a number to what it names.
//!
//! A handle is (generation, index of a slot); the slot holds the same number while it is in use. So any number can be
//! looked up, by one load and one comparison, and one that is not (or no longer) a handle is refused. Generations
//! are never used twice.
//!
//! Looking up takes no lock. Making and removing do, and a slot that was freed is used again as late as possible.

use crate::area::{OpenedArea, OwnArea};
use crate::error::Failure;
use core_hikyaku::{Common, Error, Place, RemoteArea, RemoteAreas, Symmetric};
use std::cell::UnsafeCell;
use std::collections::{BTreeMap, VecDeque};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

/// An `hk_area` as C passes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Handle(u64);

/// What a handle names.
#[derive(Debug)]
pub enum Entry {
    Symmetric(Symmetric<u8>),
    Own(OwnArea),
    Opened(OpenedArea),
    /// Of several ranks.
    Several(RemoteAreas<u8>),
}

const INDEX_BITS: u32 = 14;
const SLOT_COUNT: usize = 1 << INDEX_BITS;

#[repr(C, align(64))]
struct Slot {
    /// The handle while the slot is in use, else 0; in slot 0, once a job was started, a number that is no handle, so
    /// that 0 is none either.
    handle: AtomicU64,
    /// Written before `handle` is set and after it is cleared; read in between.
    entry: UnsafeCell<MaybeUninit<Entry>>,
}

// SAFETY: `Entry` may be shared between threads (see below); who reads and who writes it when is said above.
unsafe impl Sync for Slot {}

const _: () = {
    const fn shareable<T: Send + Sync>() {}
    shareable::<Entry>();
};

/// All zeros or nothing at all, so that it takes memory only where it is used.
static SLOTS: [Slot; SLOT_COUNT] =
    [const { Slot { handle: AtomicU64::new(0), entry: UnsafeCell::new(MaybeUninit::uninit()) } }; SLOT_COUNT];

static BOOK: Mutex<Book> = Mutex::new(Book { used: 1, free: VecDeque::new(), generation: 0, own: BTreeMap::new() });

/// What is known of the slots.
struct Book {
    /// Slots below this one have been in use.
    used: usize,
    /// Those of them that are free now, the one freed first in front.
    free: VecDeque<usize>,
    generation: u64,
    /// Own areas by id.
    own: BTreeMap<u32, Handle>,
}

fn book() -> MutexGuard<'static, Book> {
    BOOK.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// To be called before any lookup.
pub fn prepare() {
    SLOTS[0].handle.store(1, Ordering::Release);
}

/// Makes a handle for `entry`.
pub fn insert(entry: Entry) -> Result<Handle, Failure> {
    let mut book = book();
    let index = match book.free.pop_front() {
        Some(index) => index,
        None if book.used < SLOT_COUNT => {
            book.used += 1;
            book.used - 1
        }
        None => return Err(Failure::Handles(SLOT_COUNT - 1)),
    };
    book.generation += 1;
    let handle = Handle(book.generation << INDEX_BITS | index as u64);
    if let Entry::Own(area) = &entry {
        book.own.insert(area.id(), handle);
    }
    let slot = &SLOTS[index];
    // SAFETY: the slot is free, and the lock keeps others from taking it.
    unsafe { (*slot.entry.get()).write(entry) };
    slot.handle.store(handle.0, Ordering::Release);
    Ok(handle)
}

/// Removes a handle whose entry is `wanted`; it names nothing any more.
pub fn remove(handle: Handle, wanted: impl FnOnce(&Entry) -> Result<(), Failure>) -> Result<Entry, Failure> {
    let mut book = book();
    wanted(handle.entry()?)?;
    Ok(book.take_out(handle))
}

/// Removes the own area of that id.
pub fn remove_own(id: u32) -> Option<Entry> {
    let mut book = book();
    let handle = *book.own.get(&id)?;
    Some(book.take_out(handle))
}

/// The own area of that id.
pub fn find_own(id: u32) -> Option<Handle> {
    book().own.get(&id).copied()
}

/// Removes everything.
pub fn clear() {
    let mut book = book();
    let handles: Vec<u64> = (1..book.used).map(|index| SLOTS[index].handle.load(Ordering::Relaxed)).collect();
    let entries: Vec<Entry> = handles.into_iter().filter(|h| *h != 0).map(|h| book.take_out(Handle(h))).collect();
    // Revoking waits for peers; the book need not.
    drop(book);
    drop(entries);
}

impl Book {
    /// Takes the entry of a handle that is in use.
    fn take_out(&mut self, handle: Handle) -> Entry {
        let slot = handle.slot();
        slot.handle.store(0, Ordering::Release);
        self.free.push_back(handle.index());
        // SAFETY: in use until now, so there is an entry, and it is taken once. Nobody else is inside a call with this
        // handle, as the header demands; a lookup from now on finds the number gone.
        let entry = unsafe { (*slot.entry.get()).assume_init_read() };
        if let Entry::Own(area) = &entry {
            self.own.remove(&area.id());
        }
        entry
    }
}

impl Handle {
    #[inline(always)]
    fn index(self) -> usize {
        (self.0 % SLOT_COUNT as u64) as usize
    }

    #[inline(always)]
    fn slot(self) -> &'static Slot {
        &SLOTS[self.index()]
    }

    /// What it names.
    #[inline(always)]
    pub fn entry<'a>(self) -> Result<&'a Entry, Failure> {
        let slot = self.slot();
        if slot.handle.load(Ordering::Acquire) != self.0 {
            return Err(stale(self.0));
        }
        // SAFETY: the slot is in use under this number (slot 0 never is), so the entry was written before. It stays
        // during the call, since the header forbids to remove a handle while a call with it is under way.
        Ok(unsafe { (*slot.entry.get()).assume_init_ref() })
    }

    /// Goes on with byte `offset` of the area on `rank`.
    ///
    /// Symmetric areas come apart here and below: what goes on is compiled for them alone, into a pointer and a bound,
    /// and once more, out of the way, for the rest.
    #[inline(always)]
    pub fn with_bytes<R>(self, rank: usize, offset: usize, go: impl FnOnce(Place<'_, u8>) -> Outcome<R>) -> Outcome<R> {
        match self.entry()? {
            Entry::Symmetric(area) => go(area.at(rank, offset)),
            other => apart(move || go(other.bytes(rank, offset)?)),
        }
    }

    /// Goes on with the word at byte `offset` of the area on `rank`.
    #[inline(always)]
    pub fn with_word<R>(self, rank: usize, offset: usize, go: impl FnOnce(Place<'_, u64>) -> Outcome<R>) -> Outcome<R> {
        match self.entry()? {
            Entry::Symmetric(area) => go(symmetric_word(area, rank, offset)?),
            other => apart(move || go(other.word(rank, offset)?)),
        }
    }

    /// Goes on with the word at byte `offset` of this rank's own part. This rank is `me`.
    #[inline(always)]
    pub fn with_own_word<R>(
        self,
        me: usize,
        offset: usize,
        go: impl FnOnce(Place<'_, u64>) -> Outcome<R>,
    ) -> Outcome<R> {
        match self.entry()? {
            Entry::Symmetric(area) => go(symmetric_word(area, me, offset)?),
            other => apart(move || go(other.own_word(me, offset)?)),
        }
    }

    /// Goes on with byte `offset` of the area and a word of the area `flag`, both on `rank`.
    #[inline(always)]
    pub fn with_bytes_and_flag<R>(
        self,
        rank: usize,
        offset: usize,
        flag: Handle,
        flag_offset: usize,
        go: impl FnOnce(Place<'_, u8>, Place<'_, u64>) -> Outcome<R>,
    ) -> Outcome<R> {
        match (self.entry()?, flag.entry()?) {
            (Entry::Symmetric(area), Entry::Symmetric(flag)) => {
                go(area.at(rank, offset), symmetric_word(flag, rank, flag_offset)?)
            }
            (area, flag) => apart(move || go(area.bytes(rank, offset)?, flag.word(rank, flag_offset)?)),
        }
    }
}

/// What a call leads to.
pub type Outcome<R> = Result<R, Failure>;

/// Keeps code out of the way of faster code.
#[cold]
#[inline(never)]
fn apart<R>(body: impl FnOnce() -> R) -> R {
    body()
}

#[cold]
fn stale(handle: u64) -> Failure {
    Failure::Handle(handle)
}

impl Entry {
    /// Byte `offset` of the area on `rank`.
    fn bytes(&self, rank: usize, offset: usize) -> Outcome<Place<'_, u8>> {
        match self {
            Entry::Symmetric(area) => Ok(area.at(rank, offset)),
            Entry::Own(area) => area.bytes(rank, offset),
            Entry::Opened(area) => area.bytes(rank, offset),
            Entry::Several(areas) => Ok(areas.part_of(rank, offset)?),
        }
    }

    /// The word at byte `offset` of the area on `rank`.
    fn word(&self, rank: usize, offset: usize) -> Outcome<Place<'_, u64>> {
        match self {
            Entry::Symmetric(area) => symmetric_word(area, rank, offset),
            Entry::Own(area) => area.word(rank, offset),
            Entry::Opened(area) => area.word(rank, offset),
            Entry::Several(areas) => {
                let place = areas.part_of(rank, offset)?;
                check_word(offset, areas.of(rank).map_or(0, RemoteArea::len))?;
                Ok(place.cast()?)
            }
        }
    }

    /// The word at byte `offset` of this rank's own part. This rank is `me`.
    pub fn own_word(&self, me: usize, offset: usize) -> Outcome<Place<'_, u64>> {
        match self {
            Entry::Opened(area) => Err(Error::NotMine { rank: area.rank() }.into()),
            own => own.word(me, offset),
        }
    }
}

/// Fails unless an aligned word at `offset` lies within `bytes`.
#[inline(always)]
pub fn check_word(offset: usize, bytes: usize) -> Result<(), Failure> {
    if !offset.is_multiple_of(8) || bytes < 8 || offset > bytes - 8 { Err(no_word(offset, bytes)) } else { Ok(()) }
}

#[cold]
fn no_word(offset: usize, bytes: usize) -> Failure {
    Failure::Library(match offset % 8 {
        0 => Error::OutOfBounds { index: offset, count: 8, len: bytes },
        _ => Error::Misaligned { index: offset },
    })
}

#[inline(always)]
fn symmetric_word(area: &Symmetric<u8>, rank: usize, offset: usize) -> Result<Place<'_, u64>, Failure> {
    check_word(offset, area.len())?;
    Ok(area.at(rank, offset).cast()?)
}
