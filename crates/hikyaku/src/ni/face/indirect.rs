//! Remote operations through pointers: the target decides where bytes land, the initiator need not know.

use super::port::Port;
use crate::error::{Error, Result};
use crate::ni::reach::place::{Ground, Place, Reach};
use crate::ni::remote::indirect::Pointing;
use crate::ni::remote::initiator::Initiator;
use crate::ni::wire::pointer::{Lead, Pointer, tag_of};
use crate::ni::wire::target::Target;
use crate::transport::shm::layout::REGISTER_COUNT;
use bytemuck::Pod;
use std::sync::atomic::{AtomicU64, Ordering};

/// A register of a rank: a pointer with a number, of which every rank has [`Register::COUNT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// Whose.
    pub rank: usize,
    /// Which.
    pub number: usize,
}

impl Register {
    /// How many each rank has.
    pub const COUNT: usize = REGISTER_COUNT;

    fn check(self) -> Result<()> {
        match self.number < Register::COUNT {
            true => Ok(()),
            false => {
                let last = Register::COUNT - 1;
                Err(Error::Invalid(format!("there is no register {}: they have numbers from 0 to {last}", self.number)))
            }
        }
    }
}

/// The pointer that an operation follows: in memory of its target, or in one of the target's registers.
#[derive(Clone, Copy, Debug)]
pub enum Through<'a> {
    /// In memory.
    Place(Place<'a, Pointer>),
    /// In a register.
    Register(Register),
}

impl<'a> From<Place<'a, Pointer>> for Through<'a> {
    fn from(place: Place<'a, Pointer>) -> Through<'a> {
        Through::Place(place)
    }
}

impl From<Register> for Through<'_> {
    fn from(register: Register) -> Self {
        Through::Register(register)
    }
}

impl Pointer {
    /// A pointer to an element of an area. It leads there from the memory of the area's owner, as long as the area is there.
    ///
    /// Fails for memory that is no area: a pointer never leads to more than its owner has opened to others under an id.
    pub fn to<T: Pod>(place: Place<'_, T>) -> Result<Pointer> {
        let Ground::Area(area) = place.ground else {
            return Err(Error::Invalid("a pointer leads to an area (Port::area, Port::register)".into()));
        };
        if place.index > place.len {
            return Err(Error::OutOfBounds { index: place.index, count: 0, len: place.len });
        }
        let offset = (place.index * size_of::<T>()) as u64;
        let lead = Lead::Bytes { area: area.id, tag: tag_of(area.key), offset };
        lead.pointer()
            .ok_or_else(|| Error::Invalid(format!("byte {offset} of an area is beyond what a pointer reaches")))
    }
}

impl Port {
    /// Writes `data` to where a pointer in the memory of the target leads, or where the commands of a chain say ([`crate::Chain`]). The target
    /// decides, by changing the pointer, where the next bytes land.
    ///
    /// It completes as [`Port::push`] does: after [`Port::flush`] the bytes are there, and a later [`Port::word`] comes after them. If the
    /// pointer leads nowhere, or what it leads to is not as long, the call fails, or for a rank on another host the next [`Port::flush`] or
    /// [`Port::sync`] does. Then nothing was written, or only a part of what there is room for; never a byte outside.
    /// The pointer is looked at once, also for bytes that need several packets.
    ///
    /// ```
    /// use hikyaku::{Pointer, Until};
    ///
    /// hikyaku::local(2, |job| {
    ///     let (pointers, flag) = (job.symmetric::<Pointer>(4)?, job.symmetric::<u64>(1)?);
    ///     // Nobody else knows where this is, nor that it is there.
    ///     let mail = job.area::<u32>(1, 100)?;
    ///     if job.rank() == 1 {
    ///         pointers.set(2, Pointer::to(mail.at(50))?);
    ///     }
    ///     job.barrier()?;
    ///     if job.rank() == 0 {
    ///         job.push_indirect(pointers.at(1, 2), &[7u32, 8, 9])?;
    ///         job.word(flag.at(1, 0), 1)?;
    ///     } else {
    ///         job.wait(flag.here(0), Until::Equal(1))?;
    ///         assert_eq!(mail.get(51), 8);
    ///     }
    ///     job.barrier()
    /// })
    /// .unwrap()
    /// .into_iter()
    /// .for_each(Result::unwrap);
    /// ```
    pub fn push_indirect<'a, T: Pod>(&self, through: impl Into<Through<'a>>, data: &[T]) -> Result<()> {
        // SAFETY: a live slice.
        unsafe { self.push_through(through.into(), data.as_ptr().cast(), size_of_val(data)) }
    }

    /// Reads from where a pointer in the memory of another rank leads, or what the commands of a chain gather. The data are there when
    /// the call returns. Fails if the pointer leads nowhere, or what it leads to is not as long.
    ///
    /// ```
    /// use hikyaku::{Pointer, Register};
    ///
    /// hikyaku::local(2, |job| {
    ///     let news = job.area::<u64>(1, 10)?;
    ///     news.write(4, &[job.rank() as u64; 3]);
    ///     job.set_register(0, Pointer::to(news.at(4))?)?;
    ///     job.barrier()?;
    ///     let (peer, mut latest) = (1 - job.rank(), [0u64; 3]);
    ///     job.pull_indirect(Register { rank: peer, number: 0 }, &mut latest)?;
    ///     assert_eq!(latest, [peer as u64; 3]);
    ///     job.barrier()
    /// })
    /// .unwrap()
    /// .into_iter()
    /// .for_each(Result::unwrap);
    /// ```
    pub fn pull_indirect<'a, T: Pod>(&self, through: impl Into<Through<'a>>, into: &mut [T]) -> Result<()> {
        // SAFETY: a live slice, borrowed mutably; any bytes are a valid `T`.
        unsafe { self.pull_through(through.into(), into.as_mut_ptr().cast(), size_of_val(into)) }
    }

    /// Aims one of this rank's registers: what peers push through it from now on lands there.
    pub fn set_register(&self, number: usize, pointer: Pointer) -> Result<()> {
        let by = &self.initiator;
        by.ni.check_rank(by.ni.rank)?;
        Register { rank: by.ni.rank, number }.check()?;
        by.ni.mine().registers[number].store(pointer.word(), Ordering::Release);
        Ok(())
    }

    /// Where one of this rank's registers leads.
    pub fn register_value(&self, number: usize) -> Result<Pointer> {
        let by = &self.initiator;
        by.ni.check_rank(by.ni.rank)?;
        Register { rank: by.ni.rank, number }.check()?;
        Ok(Pointer::from_word(by.ni.mine().registers[number].load(Ordering::Acquire)))
    }
}

/// Operations through pointers on local memory that no slice can stand for, since peers may change it meanwhile.
pub trait RawIndirect: sealed::Sealed {
    /// [`Port::push_indirect`] from so many bytes at `data`.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn push_through(&self, through: Through<'_>, data: *const u8, bytes: usize) -> Result<()>;

    /// [`Port::pull_indirect`] into so many bytes at `into`.
    ///
    /// # Safety
    /// They can be written.
    unsafe fn pull_through(&self, through: Through<'_>, into: *mut u8, bytes: usize) -> Result<()>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Port {}
}

impl RawIndirect for Port {
    unsafe fn push_through(&self, through: Through<'_>, data: *const u8, bytes: usize) -> Result<()> {
        let by = &self.initiator;
        by.tick();
        // SAFETY: the caller's promise.
        unsafe { by.push_through(find(by, through)?, data, bytes) }
    }

    unsafe fn pull_through(&self, through: Through<'_>, into: *mut u8, bytes: usize) -> Result<()> {
        let by = &self.initiator;
        by.tick();
        // SAFETY: the caller's promise.
        unsafe { by.pull_through(find(by, through)?, into, bytes) }
    }
}

/// The word of a pointer at a near rank, or where it is at a far one.
fn find(by: &Initiator, through: Through<'_>) -> Result<Pointing> {
    let place = match through {
        Through::Place(place) => place,
        Through::Register(register) => return find_register(by, register),
    };
    if let Some(word) = by.pointer_to(&place, 1) {
        // SAFETY: found for a word, aligned as all elements of symmetric memory.
        let word = unsafe { AtomicU64::from_ptr(word.cast()) }.load(Ordering::Acquire);
        return Ok(Pointing::Word(place.rank, word));
    }
    match by.ni.resolve(place, 1)? {
        Reach::Area(area, offset) if by.ni.is_near(area.rank) => {
            let mut word = [0; 8];
            // SAFETY: a live array of that length.
            unsafe { by.pull_area(area, offset, word.as_mut_ptr(), word.len())? };
            Ok(Pointing::Word(area.rank, u64::from_ne_bytes(word)))
        }
        Reach::Area(area, offset) => Ok(Pointing::At(area.target(offset))),
        Reach::Far(target) => Ok(Pointing::At(target)),
        Reach::Pointer(_) => unreachable!("read in place"),
    }
}

fn find_register(by: &Initiator, register: Register) -> Result<Pointing> {
    by.check_peer(register.rank)?;
    register.check()?;
    Ok(match by.ni.near_block(register.rank) {
        Some(block) => Pointing::Word(register.rank, block.registers[register.number].load(Ordering::Acquire)),
        None => Pointing::At(Target::register(register.rank, register.number)),
    })
}
