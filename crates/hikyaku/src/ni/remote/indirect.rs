//! Operations that follow a pointer at their target: in place if all it leads to is mapped here, by system calls, or by its owner's
//! interface.

use super::initiator::Initiator;
use crate::error::{Error, Refusal, Result};
use crate::memory::{copy, parts};
use crate::ni::reach::follow::{Landing, Spot};
use crate::ni::state::form::Form;
use crate::ni::state::inside::refuse_in_handler;
use crate::ni::wire::command::Way;
use crate::ni::wire::operation::{Act, Data, Manner, Operation};
use crate::ni::wire::target::Target;
use crate::planted::{Bug, planted};
use crate::transport::shm::cross::{Direction, Pieces};

/// A pointer, as its follower has found it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pointing {
    /// What lies in it, at a rank that is near.
    Word(usize, u64),
    /// Where it is.
    At(Target),
}

/// Why a walk has ended early. In a register, since each command gives one.
enum Stop {
    Refused(Refusal),
    /// Private memory of another process was not reached.
    NotCrossed,
}

impl From<Refusal> for Stop {
    #[inline]
    fn from(reason: Refusal) -> Stop {
        Stop::Refused(reason)
    }
}

impl Initiator {
    /// Pushes bytes to where a pointer leads.
    ///
    /// # Safety
    /// So many can be read at `data`; peers may change them meanwhile.
    pub unsafe fn push_through(&self, pointing: Pointing, data: *const u8, bytes: usize) -> Result<()> {
        let at = match pointing {
            Pointing::Word(rank, word) => {
                // SAFETY: the caller's promise.
                if unsafe { self.move_near(rank, word, Way::Write, data.cast_mut(), bytes)? } {
                    return Ok(());
                }
                Target::pointed(rank, word)
            }
            Pointing::At(at) => self.pin(at, bytes)?,
        };
        let max = self.ni.payload_max(at.rank);
        // SAFETY: the caller's promise.
        let data: Data<'_> = unsafe { Data::shared(data, bytes) };
        let mut skip = 0;
        loop {
            let act = Act::PushThrough { data: data.part(skip, max), skip: skip as u64 };
            self.count(Operation { at, act, manner: Manner::Plain }, None)?;
            skip += max;
            if skip >= bytes {
                return Ok(());
            }
        }
    }

    /// Pulls bytes from where a pointer leads.
    ///
    /// # Safety
    /// So many can be written at `into`; peers may change them meanwhile.
    pub unsafe fn pull_through(&self, pointing: Pointing, into: *mut u8, bytes: usize) -> Result<()> {
        let at = match pointing {
            Pointing::Word(rank, word) => {
                // SAFETY: the caller's promise.
                if unsafe { self.move_near(rank, word, Way::Read, into, bytes)? } {
                    return Ok(());
                }
                refuse_in_handler()?;
                self.settle(rank)?;
                Target::pointed(rank, word)
            }
            Pointing::At(at) => {
                refuse_in_handler()?;
                self.pin(at, bytes)?
            }
        };
        if bytes == 0 {
            return Ok(());
        }
        let piece = self.ni.payload_max(at.rank);
        // SAFETY: the caller's promise.
        unsafe { self.pull_form(at, Form::Through { into, bytes, piece }) }
    }

    /// What is more than a packet holds goes to where the pointer leads now, all of it, whoever aims it anew meanwhile.
    fn pin(&self, at: Target, bytes: usize) -> Result<Target> {
        if bytes <= self.ni.payload_max(at.rank) || planted(Bug::PointerReread) {
            return Ok(at);
        }
        refuse_in_handler()?;
        let mut word = [0; 8];
        self.pull_bytes(at, &mut word)?;
        Ok(Target::pointed(at.rank, u64::from_ne_bytes(word)))
    }

    /// Moves bytes between here and where a pointer of a near rank leads; false if its owner must do it.
    ///
    /// # Safety
    /// So many bytes can be read at `here`, or for [`Way::Read`] written; peers may change them meanwhile.
    unsafe fn move_near(&self, rank: usize, word: u64, way: Way, here: *mut u8, bytes: usize) -> Result<bool> {
        let ni = &*self.ni;
        let inside = self.guard_at(rank).enter(ni.fences);
        let (mut crossing, mut here) = (None, here);
        let moved = ni.follow((rank, word), way, (0, bytes as u64), |landing: Landing| {
            let from = here;
            here = here.wrapping_add(landing.block * landing.count);
            match landing.at {
                // SAFETY: found inside an area, which stays while the guard is held; the caller's promise.
                Spot::Here(there) => unsafe { landing.move_mapped(way, there, from) },
                Spot::Elsewhere(there) => {
                    let crossing = crossing.get_or_insert_with(|| Crossing::to(ni.crossing(rank), way));
                    // SAFETY: the caller's promise.
                    return unsafe { crossing.add(&landing, from, there) };
                }
            }
            Ok(())
        });
        let moved = moved.and_then(|()| match &mut crossing {
            // SAFETY: the caller's promise.
            Some(crossing) => unsafe { crossing.move_all() },
            None => Ok(()),
        });
        // Whoever revokes an area must not wait for the news too.
        drop(inside);
        match moved {
            Ok(()) => Ok(true),
            Err(Stop::Refused(reason)) => Err(Error::Refused { rank, reason }),
            Err(Stop::NotCrossed) => match crossing.and_then(|crossing| crossing.error) {
                Some(error) => Err(ni.why_unreached(rank, error)),
                None => Ok(false),
            },
        }
    }
}

/// Pieces of private memory of another process, on their way.
struct Crossing {
    process: Option<i32>,
    direction: Direction,
    pieces: Box<Pieces>,
    error: Option<Error>,
}

impl Crossing {
    /// With a process, if its memory can be reached.
    #[cold]
    fn to(process: Option<i32>, way: Way) -> Crossing {
        let direction = if way == Way::Write { Direction::Write } else { Direction::Read };
        Crossing { process, direction, pieces: Box::default(), error: None }
    }

    /// Adds the blocks of a landing.
    ///
    /// # Safety
    /// As many bytes can be read at `here`, or written, until all are moved; peers may change them meanwhile.
    #[cold]
    unsafe fn add(&mut self, landing: &Landing, here: *mut u8, there: u64) -> std::result::Result<(), Stop> {
        for number in 0..landing.count {
            let (here, there) = (here.wrapping_add(number * landing.block), there + (number * landing.distance) as u64);
            if !self.pieces.add(here, there, landing.block) {
                // SAFETY: the caller's promise.
                unsafe { self.move_all()? };
                self.pieces.add(here, there, landing.block);
            }
        }
        Ok(())
    }

    /// Moves all that were added.
    ///
    /// # Safety
    /// As for [`Crossing::add`].
    unsafe fn move_all(&mut self) -> std::result::Result<(), Stop> {
        let Some(process) = self.process else { return Err(Stop::NotCrossed) };
        // SAFETY: the caller's promise.
        unsafe { self.pieces.move_all(self.direction, process) }.map_err(|error| {
            self.error = Some(error);
            Stop::NotCrossed
        })
    }
}

impl Landing {
    /// Moves bytes between here, where they are one behind the other, and blocks that are mapped.
    ///
    /// # Safety
    /// All blocks can be written from `there` on and the bytes read, or for [`Way::Read`] the reverse. Others may use them meanwhile.
    #[inline(always)]
    pub(in crate::ni) unsafe fn move_mapped(&self, way: Way, there: *mut u8, here: *mut u8) {
        let Landing { block, count, distance, .. } = *self;
        // SAFETY: the caller's promise.
        unsafe {
            match (way, count) {
                (Way::Write, 1) => copy::copy_away(there, here, block),
                (Way::Read, 1) => copy::copy(here, there, block),
                (Way::Write, _) => parts::copy_blocks((there, distance), (here, block), block, count),
                (Way::Read, _) => parts::copy_blocks((here, block), (there, distance), block, count),
            }
        }
    }
}
