//! Pins: a peer asks that an area, of which it will use a range, is not taken away meanwhile.
//!
//! ```text
//!   peer                          owner's interface
//!   pin: asks   --------------->  is the range there, and the area not about to be taken away?
//!        waits  <---------------  noted
//!   pushes and pulls ...          whoever wants to take the area away waits, or leaves it
//!   releases    --------------->  struck out
//! ```
//! A pin ends with the rank that has it.

use super::area::Area;
use super::port::Port;
use crate::error::{Error, Result};
use crate::ni::interface::Ni;
use crate::ni::reach::opened::Opened;
use crate::ni::reach::place::{Ground, Place};
use crate::ni::state::awaited::Wait;
use crate::ni::state::inside::refuse_in_handler;
use crate::sync::bell::ANY;
use bytemuck::Pod;
use std::time::Duration;

/// Some elements of a rank that stay where they are while this is kept; see [`Port::pin`]. Dropped, it releases them.
#[must_use = "the elements stay only as long as this is kept"]
pub struct Pinned<'a, T> {
    port: &'a Port,
    first: Place<'a, T>,
    len: usize,
}

impl<T> std::fmt::Debug for Pinned<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pinned {{ {} elements from {:?} }}", self.len, self.first)
    }
}

impl<'a, T: Pod> Pinned<'a, T> {
    /// How many elements were pinned.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The rank that has them.
    pub fn rank(&self) -> usize {
        self.first.rank()
    }

    /// Element `index` of those that were pinned.
    pub fn at(&self, index: usize) -> Place<'_, T> {
        let end = self.first.index + self.len;
        Place { index: self.first.index.saturating_add(index), len: end, ..self.first }
    }

    /// Releases the elements, after everything that this port has pushed to that rank. In a handler, or in a function of a reduction, that
    /// may be later, when this port next completes what it has started.
    pub fn release(self) -> Result<()> {
        let pinned = std::mem::ManuallyDrop::new(self);
        release(pinned.port, pinned.first)
    }
}

impl<T> Drop for Pinned<'_, T> {
    fn drop(&mut self) {
        let by = &self.port.initiator;
        let Ground::Area(area) = self.first.ground else { return };
        // A panic waits for nothing; a rank that is gone needs none.
        match std::thread::panicking() {
            true => by.let_go(area),
            false => drop(by.release_area(area)),
        }
    }
}

impl Port {
    /// Asks the owner of an area to keep it while this rank uses `len` elements from a place on, and waits until the owner has noted it. As
    /// long as the [`Pinned`] is kept, an area that was allocated or registered from a vector is not taken away: whoever drops the [`Area`]
    /// leaves it and its memory as they are, and who wants both back waits by [`Port::wait_unpinned`]. So transfers do not fail because an
    /// owner was faster. A pin of a rank that has ended, or that cannot be reached any more, does not count.
    ///
    /// The owner's interface answers: for a rank of another host at any time, for one of the same host while the owner's program is inside
    /// of a call. Symmetric memory stays anyway, so there is nothing to ask for.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # hikyaku::local(2, |job| {
    /// let flag = job.symmetric::<u64>(1)?;
    /// if job.rank() == 0 {
    ///     let area = job.register(7, vec![0u32; 1000])?;
    ///     job.barrier()?;
    ///     job.wait(flag.here(0), hikyaku::Until::Equal(1))?; // it is pinned
    ///     job.wait_unpinned(&area, None)?;
    ///     assert_eq!(area.into_vec()[500], 9);
    /// } else {
    ///     job.barrier()?;
    ///     let remote = job.open_area::<u32>(0, 7)?;
    ///     let pinned = job.pin(remote.at(500), 100)?;
    ///     job.word(flag.at(0, 0), 1)?;
    ///     job.push(pinned.at(0), &[9; 100])?; // the owner waits
    ///     pinned.release()?;
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// # Errors
    /// When there are not as many elements, or when the area was taken away, or is about to be. Fails in handlers.
    #[track_caller]
    pub fn pin<'a, T: Pod>(&'a self, from: Place<'a, T>, len: usize) -> Result<Pinned<'a, T>> {
        self.enter(&"pin");
        pin(self, from, len)?;
        Ok(Pinned { port: self, first: from, len })
    }

    /// Waits, for `timeout` at most, until no rank has pinned anything of an area of this rank. From then on nothing of it can be pinned, so
    /// [`Area::into_vec`] gives the elements themselves.
    ///
    /// # Errors
    /// [`Error::AreaPinned`] names a rank that still has a pin when the time is over; the area stays as it is. Fails in handlers, and for an
    /// area of another job.
    #[track_caller]
    pub fn wait_unpinned<T: Pod>(&self, area: &Area<T>, timeout: Option<Duration>) -> Result<()> {
        refuse_in_handler()?;
        self.enter(&"wait_unpinned");
        let (ni, opened) = (&self.initiator.ni, area.opened());
        ni.check_rank(ni.rank)?;
        if opened.job != ni.ground || opened.rank != ni.rank {
            return Err(Error::ForeignArea);
        }
        // Nobody else can take the area away meanwhile, nor can this rank without it.
        let _reopens = Reopens(ni, opened.key);
        self.await_unpinned(opened, timeout)
    }

    fn await_unpinned(&self, area: &Opened, timeout: Option<Duration>) -> Result<()> {
        let ni = &self.initiator.ni;
        let deadline = timeout.and_then(|timeout| ni.now().checked_add(timeout));
        let is_over = |rank: usize| ni.end_of(rank).is_some();
        while let Some(rank) = ni.pins.close(area.key, is_over) {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(ni.now()));
            let gone = || ni.pins.holder(area.key, |other| other != rank || is_over(other)).is_none().then_some(());
            match self.initiator.wait_until(Wait::on_rank(rank).always().at_most(left), gone) {
                Err(Error::Timeout { .. }) => return Err(Error::AreaPinned { rank, id: area.id }),
                // Its pins do not count any more.
                Err(error) if error.is_end_of_peer() && error.rank() == Some(rank) => {}
                other => other?,
            }
        }
        Ok(())
    }
}

impl<T: Pod> Area<T> {
    /// A rank that has pinned some of it, and is still there.
    pub fn pinned_by(&self) -> Option<usize> {
        self.interface().holder_of(self.opened())
    }

    /// Ends all pins, and lets nobody pin it any more: for a peer that has forgotten to release it. Whoever had pinned it can use the area
    /// until it is taken away, as others can.
    pub fn unpin(&self) {
        let ni = self.interface();
        if !ni.is_forked() {
            ni.pins.end(self.opened().key);
            // Another thread may wait for this.
            ni.notify(ni.rank, ANY);
        }
    }
}

/// When this is dropped, also by the panic of a handler, an area can be pinned again, unless all its pins have ended.
struct Reopens<'n>(&'n Ni, u64);

impl Drop for Reopens<'_> {
    fn drop(&mut self) {
        self.0.pins.reopen(self.1);
    }
}

/// Pins by places alone, for interfaces to other languages.
pub trait RawPins: sealed::Sealed {
    /// [`Port::pin`], until [`RawPins::release_range`].
    fn pin_range<T: Pod>(&self, from: Place<'_, T>, len: usize) -> Result<()>;

    /// Ends one such pin in the area of this place.
    fn release_range<T: Pod>(&self, from: Place<'_, T>) -> Result<()>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Port {}
}

impl RawPins for Port {
    #[track_caller]
    fn pin_range<T: Pod>(&self, from: Place<'_, T>, len: usize) -> Result<()> {
        self.enter(&"pin");
        pin(self, from, len)
    }

    fn release_range<T: Pod>(&self, from: Place<'_, T>) -> Result<()> {
        release(self, from)
    }
}

fn pin<T: Pod>(port: &Port, from: Place<'_, T>, len: usize) -> Result<()> {
    let by = &port.initiator;
    refuse_in_handler()?;
    by.ni.resolve(from, len)?;
    match from.ground {
        Ground::Symmetric { .. } => Ok(()),
        Ground::Area(area) => {
            by.end_owed()?;
            by.pin_area(area, from.index * size_of::<T>(), len * size_of::<T>())
        }
    }
}

fn release<T>(port: &Port, from: Place<'_, T>) -> Result<()> {
    let by = &port.initiator;
    by.ni.resolve(from, 0)?;
    match from.ground {
        Ground::Symmetric { .. } => Ok(()),
        Ground::Area(area) => by.release_area(area),
    }
}

impl Ni {
    /// A rank that has pinned some of an own area.
    pub(super) fn holder_of(&self, area: &Opened) -> Option<usize> {
        if self.is_forked() { None } else { self.pins.holder(area.key, |rank| self.end_of(rank).is_some()) }
    }

    /// An own area is to be taken away: whether it stays, because somebody has pinned it. If not, nobody can any more.
    pub(super) fn stays_pinned(&self, area: &Opened) -> bool {
        !self.is_forked() && self.pins.close(area.key, |rank| self.end_of(rank).is_some()).is_some()
    }
}
