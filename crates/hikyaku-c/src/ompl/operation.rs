//! Put, get, and flags.
//!
//! A thread with a port of its own does all of it there. One that borrows a port gives it back after each call, and before that
//! * waits until a put to a far rank has arrived, since its flag may go through another port and must not come first;
//! * looks at a flag only briefly, since whoever is to set it may need that very port.

use super::area::Ompl;
use super::error::{OMPL_SUCCESS, guarded};
use crate::error::Failure;
use crate::given::exported;
use crate::handle::Outcome;
use core_hikyaku::ffi::RawPort;
use core_hikyaku::{By, Error, Place, Port, Until};
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A flag that is set.
const SET: u64 = 1;

impl Ompl {
    /// The address of some bytes of this rank's own part.
    #[inline(always)]
    fn own(&self, offset: usize, bytes: usize) -> Outcome<*mut u8> {
        let len = self.area.len();
        if offset > len || bytes > len - offset {
            return Err(beyond(offset, bytes, len));
        }
        Ok(self.base.0.cast::<u8>().wrapping_add(offset))
    }

    /// Refuses ranges that overlap: of this rank's own part, both.
    #[inline(always)]
    fn apart(&self, rank: usize, one: usize, other: usize, bytes: usize) -> Outcome<()> {
        if rank == self.rank {
            self.own(other, bytes)?;
            if one.abs_diff(other) < bytes {
                return Err(Failure::Overlap);
            }
        }
        Ok(())
    }

    fn put(&self, own: usize, rank: usize, there: usize, bytes: usize) -> Outcome<()> {
        let from = self.own(own, bytes)?;
        self.apart(rank, own, there, bytes)?;
        self.with_port(|port, is_lent| {
            // SAFETY: so many bytes of this rank's part, which can be read.
            unsafe { port.push_from(self.area.at(rank, there), from, bytes)? };
            if is_lent && !port.is_mapped(rank)? {
                port.flush(rank)?;
            }
            Ok(())
        })
    }

    fn get(&self, own: usize, rank: usize, there: usize, bytes: usize) -> Outcome<()> {
        let into = self.own(own, bytes)?;
        self.apart(rank, own, there, bytes)?;
        self.with_port(|port, _| {
            // SAFETY: so many bytes of this rank's part, which the program and its peers may write.
            unsafe { port.pull_into(self.area.at(rank, there), into, bytes)? };
            Ok(())
        })
    }

    /// Waits until the flag is set, and clears it.
    fn wait(&self, offset: usize) -> Outcome<()> {
        let flag = self.flag(self.rank, offset)?;
        let mut pause = Pause::default();
        while !self.with_port(|port, is_lent| match is_lent {
            false => await_flag(port, flag).map(|()| true),
            true => look_briefly(port, flag),
        })? {
            pause.next();
        }
        Ok(())
    }

    /// Clears the flag, if it is set; gives whether it was.
    #[inline(always)]
    fn poll(&self, offset: usize) -> Outcome<bool> {
        let flag = self.flag(self.rank, offset)?;
        self.with_port(|port, _| Ok(port.poll(flag)? != 0 && clear(port.mapped_word(flag)?)))
    }
}

#[cold]
fn beyond(index: usize, count: usize, len: usize) -> Failure {
    Error::OutOfBounds { index, count, len }.into()
}

/// Of several threads that see a flag one clears it.
#[inline(always)]
fn clear(flag: &AtomicU64) -> bool {
    flag.swap(0, Ordering::AcqRel) != 0
}

#[inline(always)]
fn await_flag(port: &Port, flag: Place<'_, u64>) -> Outcome<()> {
    loop {
        port.wait(flag, Until::NotEqual(0))?;
        if clear(port.mapped_word(flag)?) {
            return Ok(());
        }
    }
}

/// A wait that is over at once, set or not. It does what peers ask for, and notices that they are gone.
fn look_briefly(port: &Port, flag: Place<'_, u64>) -> Outcome<bool> {
    match port.wait_for(By::Anyone, flag, Until::NotEqual(0), Some(Duration::ZERO)) {
        Ok(_) => Ok(clear(port.mapped_word(flag)?)),
        Err(Error::Timeout { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// What a thread does between two looks: it lets others run, and sleeps when that has become long. It has no port to sleep at.
#[derive(Default)]
struct Pause {
    turns: u32,
}

impl Pause {
    /// Turns that only yield.
    const YIELDS: u32 = 200;
    const NAP_MAX: Duration = Duration::from_millis(1);

    fn next(&mut self) {
        self.turns = self.turns.saturating_add(1);
        match self.turns.checked_sub(Pause::YIELDS) {
            None => std::thread::yield_now(),
            Some(long) => std::thread::sleep((Duration::from_micros(20) * (long + 1)).min(Pause::NAP_MAX)),
        }
    }
}

exported! {
    /// Remote write.
    pub fn ompl_put(own: u64, rank: u32, there: u64, length: usize) -> c_int {
        guarded(|| Ompl::running()?.put(own as usize, rank as usize, there as usize, length).map(|()| OMPL_SUCCESS))
    }

    /// Remote read.
    pub fn ompl_get(own: u64, rank: u32, there: u64, length: usize) -> c_int {
        guarded(|| Ompl::running()?.get(own as usize, rank as usize, there as usize, length).map(|()| OMPL_SUCCESS))
    }

    /// Sets a flag.
    pub fn ompl_put_word(rank: u32, flag: u64) -> c_int {
        guarded(|| {
            let ompl = Ompl::running()?;
            let flag = ompl.flag(rank as usize, flag as usize)?;
            ompl.with_port(|port, _| Ok(port.word(flag, SET)?)).map(|()| OMPL_SUCCESS)
        })
    }

    /// Waits for a flag and clears it.
    pub fn ompl_wait(flag: u64) -> c_int {
        guarded(|| Ompl::running()?.wait(flag as usize).map(|()| OMPL_SUCCESS))
    }

    /// Clears a flag that is set; gives 1 if it was.
    pub fn ompl_poll(flag: u64) -> c_int {
        guarded(|| Ompl::running()?.poll(flag as usize).map(c_int::from))
    }
}
