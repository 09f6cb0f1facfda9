//! System handles: lists of processes that grids are made of.
//!
//! Number 0 is all processes. Where MPI has started the processes, the number by which Fortran knows a communicator is a handle of
//! its processes. Other lists are numbered so that none is such a number: Open MPI counts from 0, MPICH sets the highest bits but one.

use crate::error::{Outcome, Trouble};
use crate::mpi::{self, Mpi};
use std::cell::RefCell;
use std::rc::Rc;

/// The number of the second handle.
const FIRST: i32 = 0x2000_0000;

/// The handles of a process.
#[derive(Debug)]
pub struct Handles {
    /// This process's rank in the job.
    rank: usize,
    world: Rc<[usize]>,
    others: RefCell<Vec<Option<Handle>>>,
}

/// A handle that a program may have got several times, and gives back as often.
#[derive(Debug)]
struct Handle {
    ranks: Rc<[usize]>,
    uses: usize,
}

impl Handles {
    /// Those of process `rank` of `size`: one of all processes.
    pub fn new(rank: usize, size: usize) -> Handles {
        Handles { rank, world: (0..size).collect(), others: RefCell::default() }
    }

    /// The processes of a handle, by their ranks in the job. A number that is none of ours may be an MPI communicator, as
    /// Fortran knows it.
    pub fn ranks(&self, handle: i32) -> Outcome<Rc<[usize]>> {
        if handle == 0 {
            return Ok(self.world.clone());
        }
        let others = self.others.borrow();
        match index(handle) {
            Some(index) => {
                let found = others.get(index).and_then(Option::as_ref);
                found.map(|found| found.ranks.clone()).ok_or(Trouble::Handle(handle))
            }
            None => {
                let mpi = self.mpi()?.ok_or(Trouble::Handle(handle))?;
                Ok(mpi.ranks(mpi.communicator_of(handle))?.into())
            }
        }
    }

    /// A handle of these processes: one there is, or a new one.
    pub fn add(&self, ranks: Rc<[usize]>) -> i32 {
        if ranks == self.world {
            return 0;
        }
        let mut others = self.others.borrow_mut();
        let known = others.iter().position(|other| other.as_ref().is_some_and(|other| other.ranks == ranks));
        let index = known.or_else(|| others.iter().position(Option::is_none)).unwrap_or_else(|| {
            others.push(None);
            others.len() - 1
        });
        others[index].get_or_insert(Handle { ranks, uses: 0 }).uses += 1;
        FIRST + index as i32
    }

    /// A handle of the processes of an MPI communicator, as C knows it; without an MPI library in the process, of all.
    pub fn of_communicator(&self, communicator: usize) -> Outcome<i32> {
        match self.mpi()? {
            None => Ok(0),
            Some(mpi) => mpi.ranks(communicator).map(|_| mpi.number_of(communicator)),
        }
    }

    /// The MPI communicator that a handle was made of; that of all processes for 0. 0 without an MPI library.
    pub fn communicator(&self, handle: i32) -> Outcome<usize> {
        match (self.mpi()?, index(handle)) {
            (Some(mpi), None) if handle == 0 => Ok(mpi.world()),
            (Some(mpi), None) => {
                let communicator = mpi.communicator_of(handle);
                mpi.ranks(communicator).map(|_| communicator)
            }
            // Lists of this process alone have none.
            (Some(_), Some(_)) => Err(Trouble::Handle(handle)),
            (None, _) => self.ranks(handle).map(|_| 0),
        }
    }

    /// Forgets a handle that was added as often as it is removed; false if there is none. That of all processes stays, and
    /// communicators are the program's.
    pub fn remove(&self, handle: i32) -> bool {
        let mut others = self.others.borrow_mut();
        let place = index(handle).and_then(|index| others.get_mut(index)).filter(|place| place.is_some());
        let Some(place) = place else { return handle == 0 || index(handle).is_none() && mpi::find().is_some() };
        place.take_if(|handle| {
            handle.uses -= 1;
            handle.uses == 0
        });
        true
    }

    /// The MPI library that has started all processes, if one has.
    pub fn mpi_of_all(&self) -> Option<Mpi> {
        self.mpi().ok().flatten()
    }

    /// The MPI library of the process, if there is one. Its ranks must be the ranks here: a process that another launcher has
    /// started is a world of its own to most of them.
    fn mpi(&self) -> Outcome<Option<Mpi>> {
        let Some(mpi) = mpi::find() else { return Ok(None) };
        match mpi.place() == Some((self.rank, self.world.len())) {
            true => Ok(Some(mpi)),
            false => Err(Trouble::Communicator("MPI has not started these processes as one job; use mpirun")),
        }
    }
}

fn index(handle: i32) -> Option<usize> {
    (FIRST..FIRST + (1 << 24)).contains(&handle).then(|| (handle - FIRST) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_shared_and_forgotten() {
        let handles = Handles::new(0, 3);
        assert_eq!(handles.add([0, 1, 2].into()), 0);
        let (first, second) = (handles.add([2, 1].into()), handles.add([1].into()));
        assert!(first != second && first != 0);
        assert_eq!(handles.add([2, 1].into()), first);
        assert_eq!(*handles.ranks(first).unwrap(), [2, 1]);
        assert!(handles.remove(first));
        assert_eq!(*handles.ranks(first).unwrap(), [2, 1]);
        assert!(handles.remove(first) && !handles.remove(first) && handles.remove(0));
        assert!(matches!(handles.ranks(first), Err(Trouble::Handle(handle)) if handle == first));
        assert_eq!(handles.add([0].into()), first);
        assert_eq!(*handles.ranks(0).unwrap(), [0, 1, 2]);
    }
}
