//! Areas of one rank, by id: what RHiNET calls communication areas.
//!
//! The owner enters an area in its table under a random key; a peer opens it and holds the key. Every operation
//! checks the key inside the guard, so after a revocation nobody writes any more, and the memory may be freed. What the
//! owner itself does goes by a table of its own ([`super::table`]), since any peer may write the one that all read.

use super::Ni;
use super::place::{Ground, Place};
use super::port::Port;
use super::rest::Rest;
use crate::error::{Error, Refusal, Result};
use crate::memory::copy;
use crate::memory::heap::Heap;
use crate::transport::remote_memory::RemoteKey;
use crate::transport::shm::layout::{AREA_COUNT, AreaKind};
use bytemuck::Pod;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::Timespec;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};
use std::marker::PhantomData;
use std::sync::Arc;

/// Memory of this rank that peers reach under an id. Revoked when dropped.
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
    /// Nobody any more: a peer may be at it.
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

/// What a holder of an area knows of it.
#[derive(Clone, Copy)]
pub(crate) struct Opened {
    pub job: u64,
    pub rank: usize,
    pub id: u32,
    pub key: u64,
    pub kind: AreaKind,
    /// Offset in the owner's heap, or address in its private memory.
    pub start: u64,
    pub bytes: usize,
    /// This is the owner's own handle: the memory stays while it lives.
    pub owned: bool,
    /// How the network reaches it by itself, if it does.
    pub reach: Option<RemoteKey>,
}

impl Opened {
    /// Fails once the owner has revoked it. Call inside the guard.
    #[inline]
    pub fn check(&self, ni: &Ni) -> Result<()> {
        let is_there = match self.rank == ni.rank {
            true => ni.own_areas.is(self.id, self.key),
            // A far owner finds out itself.
            false => ni.near_block(self.rank).is_none_or(|block| block.areas[self.id as usize].is(self.key)),
        };
        match is_there {
            true => Ok(()),
            false => Err(Error::AreaRevoked { rank: self.rank, id: self.id }),
        }
    }

    /// What an answer of the owner means to whoever has opened the area.
    pub fn why(&self, error: Error) -> Error {
        match error {
            Error::Refused { reason: Refusal::UnknownArea, .. } => Error::AreaRevoked { rank: self.rank, id: self.id },
            other => other,
        }
    }

    /// The address of a byte, if this process has one for it.
    #[inline]
    pub fn pointer(&self, ni: &Ni, offset: usize) -> Option<*mut u8> {
        match self.kind {
            // SAFETY: the area was checked to lie in the owner's heap when it was opened, or is one of this rank.
            AreaKind::Mapped => ni.near_heap(self.rank).map(|heap| unsafe { heap.add(self.start as usize + offset) }),
            _ if !ni.is_near(self.rank) => None,
            AreaKind::Private if ni.threads || self.rank == ni.rank => Some((self.start as usize + offset) as *mut u8),
            AreaKind::Private => None,
        }
    }

    /// The address of a byte of an own area that stays while the handle is borrowed.
    pub fn own_address(&self, ni: &Ni, offset: usize) -> Result<*mut u8> {
        self.check(ni)?;
        let stays = self.owned || self.kind == AreaKind::Mapped;
        self.pointer(ni, offset).filter(|_| stays).ok_or(Error::NotMine { rank: self.rank })
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
        self.opened.place(index)
    }
}

impl Opened {
    fn place<T>(&self, index: usize) -> Place<'_, T> {
        let len = self.bytes / size_of::<T>();
        Place { ground: Ground::Area(self), rank: self.rank, index, len, element: PhantomData }
    }
}

impl Port {
    /// Makes an area of `len` zeroed elements that peers reach under `id`, in memory that all ranks of the host map.
    pub fn area<T: Pod>(&self, id: u32, len: usize) -> Result<Area<T>> {
        let ni = &self.ni;
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

    /// Lets peers reach memory that already exists: a vector of the program, until [`Area::into_vec`] gives it back.
    pub fn register<T: Pod>(&self, id: u32, mut memory: Vec<T>) -> Result<Area<T>> {
        let bytes = element_bytes::<T>(memory.len())?;
        let opened = self.ni.publish(id, AreaKind::Private, memory.as_mut_ptr() as u64, bytes)?;
        Ok(Area { opened, ni: self.ni.clone(), memory: Backing::Vector(memory) })
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
        let opened = self.ni.publish(id, AreaKind::Private, start as u64, bytes)?;
        Ok(Area { opened, ni: self.ni.clone(), memory: Backing::Borrowed })
    }

    /// Opens area `id` of `rank`.
    pub fn open_area<T: Pod>(&self, rank: usize, id: u32) -> Result<RemoteArea<T>> {
        self.ni.check_rank(rank)?;
        let opened = match self.ni.is_near(rank) {
            true => self.ni.look_up(rank, id)?,
            false => self.open_far(rank, id)?,
        };
        let element = size_of::<T>();
        if element == 0 || opened.bytes % element != 0 || opened.start % align_of::<T>() as u64 != 0 {
            return Err(Error::WrongElement { bytes: opened.bytes, element });
        }
        Ok(RemoteArea { opened, element: PhantomData })
    }
}

impl Port {
    /// Asks a far rank for its area.
    #[cold]
    fn open_far(&self, rank: usize, id: u32) -> Result<Opened> {
        let unknown = |error| match error {
            Error::Refused { reason: Refusal::UnknownArea, .. } => Error::UnknownArea { rank, id },
            other => other,
        };
        let ([key, kind, start, bytes], reach) = self.ask_area(rank, id).map_err(unknown)?;
        let opened = self.ni.believe(rank, id, key, [kind, start, bytes])?;
        Ok(Opened { reach: reach.filter(|_| self.ni.direct.is_some()), ..opened })
    }
}

/// Whether a process has ended, with all its threads. Its launcher may not have reaped it: then it can still be signalled.
fn has_ended(process: Pid) -> bool {
    match rustix::process::pidfd_open(process, PidfdFlags::empty()) {
        Ok(descriptor) => {
            let mut polled = [PollFd::new(&descriptor, PollFlags::IN)];
            rustix::event::poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(1)
        }
        Err(Errno::SRCH) => true,
        // No descriptor is to be had: whether it is there at all.
        Err(_) => rustix::process::test_kill_process(process) == Err(Errno::SRCH),
    }
}

fn element_bytes<T>(len: usize) -> Result<usize> {
    match len.checked_mul(size_of::<T>()) {
        Some(bytes) if size_of::<T>() > 0 && bytes <= isize::MAX as usize => Ok(bytes),
        _ => Err(Error::Invalid(format!("{len} elements of {} bytes make no area", size_of::<T>()))),
    }
}

impl Ni {
    fn publish(&self, id: u32, kind: AreaKind, start: u64, bytes: usize) -> Result<Opened> {
        self.check_rank(self.rank)?;
        let taken = Error::AreaIdTaken { id, max: AREA_COUNT as u32 };
        // The tables are written by this rank alone; the heap's lock keeps its threads apart.
        let _lock = self.own_heap.lock().unwrap_or_else(|p| p.into_inner());
        let (key, words) = (self.random()?, [kind as u64, start, bytes as u64]);
        if !self.own_areas.publish(id, key, words) {
            return Err(taken);
        }
        let told = &self.mine().areas[id as usize];
        // Whatever a peer has left there.
        told.clear();
        told.publish(key, words);
        Ok(Opened { job: self.ground, rank: self.rank, id, key, kind, start, bytes, owned: true, reach: None })
    }

    /// An own area, by what this rank keeps to itself; or reads an entry of a peer's table and believes none of it: a
    /// mapped area must lie in the owner's heap.
    pub(crate) fn look_up(&self, rank: usize, id: u32) -> Result<Opened> {
        let found = match rank == self.rank {
            true => self.own_areas.look(id),
            false => self.near_block(rank).and_then(|block| block.areas.get(id as usize)?.look()),
        };
        let (key, words) = found.ok_or(Error::UnknownArea { rank, id })?;
        self.believe(rank, id, key, words)
    }

    fn believe(&self, rank: usize, id: u32, key: u64, [kind, start, bytes]: [u64; 3]) -> Result<Opened> {
        let kind = match kind {
            k if k == AreaKind::Mapped as u64 => AreaKind::Mapped,
            k if k == AreaKind::Private as u64 => AreaKind::Private,
            _ => return Err(Error::PeerMisbehaved { rank, what: "an area of unknown kind" }),
        };
        let heap_bytes = self.memory.layout.heap_bytes() as u64;
        let end = start.checked_add(bytes).filter(|_| bytes <= isize::MAX as u64);
        let inside = match kind {
            AreaKind::Mapped => end.is_some_and(|end| end <= heap_bytes),
            AreaKind::Private => end.is_some(),
        };
        if !inside {
            return Err(Error::PeerMisbehaved { rank, what: "an area outside its memory" });
        }
        Ok(Opened { job: self.ground, rank, id, key, kind, start, bytes: bytes as usize, owned: false, reach: None })
    }

    /// Takes an area away; when this gives true, nobody is inside an operation on it. False: that took long (see below), and the
    /// caller can do without; its memory must stay.
    ///
    /// This wait is not one of [`super::wait`], and need not be: whoever is inside comes out without this rank's help. It
    /// copies, by itself or by one system call, or performs what a message asks for in this rank's own interface; it runs
    /// nothing of the program, and waits for nobody before it is out. And it should not be: areas are taken away by
    /// destructors, where a program does not expect its handlers to run, perhaps with a lock that they take.
    ///
    /// It takes long if a process is stopped inside, which may go on copying, and if a hostile rank has written that one is
    /// inside which is not. Memory that can stay behind is left there then. Memory that somebody else owns cannot: it is waited
    /// for, asleep, until the process is out or has ended.
    fn revoke(&self, area: &Opened, may_stay: bool) -> bool {
        // In a forked child the table belongs to the parent.
        if self.size() == 0 {
            return true;
        }
        // Done before, perhaps, and another thread has entered a new area under this id since.
        if !self.own_areas.revoke(area.id, area.key) {
            return true;
        }
        self.mine().areas[area.id as usize].revoke(area.key);
        self.fences.heavy();
        self.own_areas.await_left(|| self.relax());
        self.direct.iter().for_each(|direct| direct.take_back(area.key));
        let mut rest = Rest::new(self);
        // Far ranks operate through this rank's own interface, or by a key that was taken back.
        for (local, rank) in self.memory.layout.locals().zip(self.routes.near()).filter(|(_, rank)| **rank != self.rank)
        {
            for guard in &self.memory.block(local).guards[..self.memory.layout.ports] {
                let Some(number) = guard.occupied() else { continue };
                while !guard.left(number) && !self.is_gone(*rank) {
                    if rest.wait() && may_stay {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Whether no thread of `rank` can be inside an operation any more. Having left or being called dead is not
    /// enough: other threads of that rank may still run.
    fn is_gone(&self, rank: usize) -> bool {
        if !self.state_of(rank).is_over() {
            return false;
        }
        if self.environment.is_some() {
            // A simulated rank has one thread, which does not run on after its end, wherever it was killed.
            return true;
        }
        if self.threads {
            return false;
        }
        rustix::process::Pid::from_raw(self.process_of(rank)).is_none_or(has_ended)
    }

    /// A part of the own heap, zeroed, with memory behind it; its offset in the heap.
    pub(crate) fn take_heap(&self, bytes: usize) -> Result<usize> {
        self.take_part(bytes, true)
    }

    /// A part of the own heap whose pages are taken when they are first touched: for tables of which little may be used.
    pub(crate) fn take_sparse(&self, bytes: usize) -> Result<usize> {
        self.take_part(bytes, false)
    }

    fn take_part(&self, bytes: usize, commit: bool) -> Result<usize> {
        self.check_rank(self.rank)?;
        let mut heap = self.own_heap.lock().unwrap_or_else(|p| p.into_inner());
        let start = heap.take(bytes).ok_or_else(|| no_room(bytes, heap.largest_free()))?;
        drop(heap);
        self.ready_memory(start, bytes, commit).inspect_err(|_| self.give_heap(start, bytes))?;
        Ok(start)
    }

    /// Puts memory behind a part of the own heap, so that touching it cannot fail.
    pub(crate) fn commit_heap(&self, start: usize, bytes: usize) -> Result<()> {
        self.memory.segment.commit(self.own_span(start, bytes), bytes)
    }

    /// Gives a part of the own heap back. Not in a forked child, whatever it drops: the memory is its parent's.
    pub(crate) fn give_heap(&self, start: usize, bytes: usize) {
        if self.is_forked() {
            return;
        }
        self.memory.segment.release(self.own_span(start, bytes), bytes);
        self.own_heap.lock().unwrap_or_else(|p| p.into_inner()).give(start, bytes);
    }

    /// Checks what a peer has told: that a part of its heap, of whole pages, lies in the half that is its own.
    pub(crate) fn check_own_part(&self, rank: usize, start: u64, bytes: usize) -> Result<()> {
        self.check_rank(rank)?;
        let whole_pages = start.is_multiple_of(crate::memory::segment::PAGE_BYTES as u64);
        let half = self.memory.layout.heap_half_bytes as u64;
        let end = start.checked_add(bytes as u64);
        if whole_pages && start >= half && end.is_some_and(|end| end <= 2 * half) {
            return Ok(());
        }
        Err(Error::PeerMisbehaved { rank, what: "a part outside its memory" })
    }

    /// The first byte of a part of a near rank's heap, if it lies in the half that is its own.
    pub(crate) fn find_own_part(&self, rank: usize, start: u64, bytes: u64) -> Option<*mut u8> {
        self.near_bytes(rank, start, bytes).filter(|_| start >= self.memory.layout.heap_half_bytes as u64)
    }

    /// No operation under way writes its status into this part of the own heap any more: it is about to be freed.
    pub(crate) fn forget_statuses(&self, start: usize, bytes: usize) {
        for account in &self.accounts {
            account.forget_statuses(start..start + bytes);
        }
    }

    /// Makes freshly taken heap memory zero and, if committed, present, so that touching it cannot fail.
    pub(crate) fn ready_memory(&self, start: usize, bytes: usize, commit: bool) -> Result<()> {
        let bytes = Heap::rounded(bytes).expect("taken with the same size");
        let span = self.own_span(start, bytes);
        self.memory.segment.release(span, bytes);
        if commit {
            self.memory.segment.commit(span, bytes)?;
        }
        if bytes < crate::memory::segment::PAGE_BYTES {
            self.own_memory(start, bytes).copy_in(&vec![0u8; bytes]);
        }
        Ok(())
    }
}

/// The heap has no such part.
pub(crate) fn no_room(needed: usize, available: usize) -> Error {
    Error::NoMemory {
        needed: needed as u64,
        available: available as u64,
        limit: "heap of this rank (set HIKYAKU_HEAP for a larger one)",
    }
}

impl Ni {
    fn random(&self) -> Result<u64> {
        self.environment.as_ref().map_or_else(random, |environment| Ok(environment.random()))
    }
}

/// A random number that is not 0.
pub(crate) fn random() -> Result<u64> {
    let mut bytes = [0u8; 8];
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::system("getrandom", error)),
        }
    }
    Ok(u64::from_ne_bytes(bytes).max(1))
}

impl<T: Pod> Area<T> {
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
        self.opened.place(index)
    }

    /// Copies elements out.
    ///
    /// # Panics
    /// If the range passes the end.
    pub fn read(&self, index: usize, into: &mut [T]) {
        let from = self.own(index, into.len());
        // SAFETY: `own` checked the range; the target is a live slice; any bytes are a valid `T`.
        unsafe { copy::copy(into.as_mut_ptr().cast(), from, size_of_val(into)) };
    }

    /// Copies elements in.
    ///
    /// # Panics
    /// If the range passes the end.
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

    /// The first element, for code that keeps its own promises about who writes when.
    pub fn as_ptr(&self) -> *mut T {
        self.own(0, 0).cast()
    }

    /// All elements, copied out.
    pub fn to_vec(&self) -> Vec<T> {
        let mut all = vec![T::zeroed(); self.len()];
        self.read(0, &mut all);
        all
    }

    /// Takes the area away from the peers and gives its elements back; a registered vector is the same vector, unless a process
    /// was stopped in the middle of a copy from or to it: then it is a copy, and the vector is kept for that process.
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

    /// Takes the area away from the peers. Memory that one of them may still be at is left to it.
    fn revoke(&mut self) {
        let may_stay = !matches!(self.memory, Backing::Borrowed);
        if !self.ni.revoke(&self.opened, may_stay)
            && let Backing::Vector(memory) = std::mem::replace(&mut self.memory, Backing::Left)
        {
            std::mem::forget(memory);
        }
    }

    fn own(&self, index: usize, count: usize) -> *mut u8 {
        self.ni.look();
        assert!(
            index.checked_add(count).is_some_and(|end| end <= self.len()),
            "{count} elements at index {index} pass the end of an area of {}",
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_ended_before_anybody_asks_for_its_status() {
        let pid = |number: u32| Pid::from_raw(number as i32).unwrap();
        assert!(!has_ended(pid(std::process::id())));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        while !has_ended(pid(child.id())) {
            std::thread::yield_now();
        }
        assert!(child.wait().unwrap().success());
        assert!(has_ended(pid(child.id())));
    }
}
