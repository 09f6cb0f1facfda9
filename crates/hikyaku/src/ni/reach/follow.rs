//! Following pointers: from a word in a rank's memory to the bytes it leads to, each checked to be in an area of that rank.

use super::opened::Opened;
use crate::error::Refusal;
use crate::ni::base::Base;
use crate::ni::wire::command::{Command, Key, Run, Walk, Way};
use crate::ni::wire::pointer::{Lead, tag_of};
use crate::ni::wire::target::Target;
use crate::planted::{Bug, planted};
use std::sync::atomic::{AtomicU64, Ordering};

/// Blocks of bytes that were found to be inside an area.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Landing {
    pub at: Spot,
    pub block: usize,
    pub count: usize,
    pub distance: usize,
}

/// Where the first of them is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spot {
    /// Mapped here.
    Here(*mut u8),
    /// An address in the private memory of another process of this host.
    Elsewhere(u64),
}

impl Base {
    /// Calls `each` with the blocks of `rank`, which is near, that bytes `skip` to `skip + bytes` of an operation through a pointer belong
    /// to, in their order, until one fails.
    ///
    /// Whoever calls this is inside a guard of areas of that rank: what is found stays until it leaves.
    #[inline]
    pub(crate) fn follow<E: From<Refusal>>(
        &self,
        (rank, word): (usize, u64),
        way: Way,
        (skip, bytes): (u64, u64),
        mut each: impl FnMut(Landing) -> Result<(), E>,
    ) -> Result<(), E> {
        match Lead::of(word).ok_or(Refusal::NoPointer)? {
            Lead::Bytes { area, tag, offset } => {
                let offset = offset.checked_add(skip).ok_or(Refusal::OutOfBounds)?;
                let run = Run { area, key: Key::Tag(tag), offset, block: bytes, count: 1, distance: bytes };
                each(self.land(&self.named(rank, area, run.key)?, &run)?)
            }
            Lead::Chain { area, tag, first } => {
                let chain = self.named(rank, area, Key::Tag(tag))?;
                // A chain lies where all ranks of its host can read it.
                let commands =
                    chain.pointer(self, 0).filter(|start| (*start as usize).is_multiple_of(align_of::<Command>()));
                let commands = commands.ok_or(Refusal::BadChain)?.cast::<Command>();
                let count = (chain.bytes / size_of::<Command>()) as u64;
                // SAFETY: one of that many commands in the area, which stays.
                let read = |number: u64| unsafe { copied(commands.add(number as usize)) };
                // The area that the last command has named: the next one mostly names it again.
                let mut area = chain;
                let mut walk = Walk::new((first, count), way, (skip, bytes));
                while let Some(run) = walk.next(read)? {
                    if run.area != area.id || !run.key.fits(area.key) {
                        area = self.named_anew(rank, run.area, run.key)?;
                    }
                    each(self.land(&area, &run)?)?;
                }
                Ok(())
            }
        }
    }

    /// An area of a rank that is near, if it is the one that was meant.
    fn named(&self, rank: usize, id: u32, key: Key) -> Result<Opened, Refusal> {
        let area = self.look_up(rank, id).map_err(|_| Refusal::UnknownArea)?;
        if key.fits(area.key) { Ok(area) } else { Err(Refusal::UnknownArea) }
    }

    /// [`Base::named`], out of line: chains seldom go on to another area.
    #[cold]
    #[inline(never)]
    fn named_anew(&self, rank: usize, id: u32, key: Key) -> Result<Opened, Refusal> {
        self.named(rank, id, key)
    }

    /// Blocks of an area, if they are in it.
    #[inline(always)]
    fn land(&self, area: &Opened, run: &Run) -> Result<Landing, Refusal> {
        let end = run.span().and_then(|span| run.offset.checked_add(span)).ok_or(Refusal::OutOfBounds)?;
        if end > area.bytes as u64 {
            return Err(Refusal::OutOfBounds);
        }
        let at = match area.pointer(self, run.offset as usize) {
            Some(start) => Spot::Here(start),
            None => Spot::Elsewhere(area.start + run.offset),
        };
        Ok(Landing { at, block: run.block as usize, count: run.count as usize, distance: run.distance as usize })
    }

    /// A register of this rank that a peer has named.
    pub(crate) fn own_register(&self, at: &Target) -> Result<&AtomicU64, Refusal> {
        let number = (at.offset / size_of::<u64>() as u64) as usize;
        let is_one = at.offset.is_multiple_of(size_of::<u64>() as u64);
        self.mine().registers.get(number).filter(|_| is_one).ok_or(Refusal::OutOfBounds)
    }

    /// The word of a pointer of this rank that a peer has named, by where it is or as it is.
    pub(crate) fn own_pointer(&self, at: &Target) -> Result<u64, Refusal> {
        if let Some(word) = at.pointer_word() {
            return Ok(word);
        }
        if at.is_register() {
            return Ok(self.own_register(at)?.load(Ordering::Acquire));
        }
        if at.is_window() {
            return Err(Refusal::OutOfBounds);
        }
        let word = self.own_target(at, size_of::<u64>() as u64)?;
        if !(word as usize).is_multiple_of(align_of::<AtomicU64>()) {
            return Err(Refusal::OutOfBounds);
        }
        // SAFETY: a word of this rank's memory, aligned; the caller is inside a guard of its areas.
        Ok(unsafe { AtomicU64::from_ptr(word.cast()) }.load(Ordering::Acquire))
    }
}

impl Key {
    fn fits(self, key: u64) -> bool {
        match self {
            Key::Whole(whole) => whole == key,
            Key::Tag(tag) => tag == tag_of(key) || planted(Bug::KeyUnread),
        }
    }
}

/// A command as it is now: whatever becomes of it meanwhile, what is looked at is what is used.
///
/// # Safety
/// There is one, which others may change meanwhile.
#[inline(always)]
unsafe fn copied(command: *const Command) -> Command {
    let words: [u64; size_of::<Command>() / size_of::<u64>()] = std::array::from_fn(|number| {
        // SAFETY: the caller's promise; one of its words, which are aligned as it is.
        unsafe { AtomicU64::from_ptr(command.cast::<u64>().add(number).cast_mut()) }.load(Ordering::Relaxed)
    });
    bytemuck::cast(words)
}
