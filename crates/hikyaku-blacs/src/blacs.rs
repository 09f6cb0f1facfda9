//! The BLACS of one process: its contexts, and the processes there are.

use crate::channel::{self, Scratch};
use crate::error::{Outcome, Trouble};
use crate::grid::Grid;
use crate::handle::Handles;
use hikyaku::Job;
use hikyaku::collective::{FormationChannel, Retired};
use std::cell::{Cell, Ref, RefCell};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

/// What a process not in a grid gets instead of a context.
pub const NOT_IN_CONTEXT: i32 = -1;

/// Everything between the first call and the last. `tests/properties.rs` shows how it is used from Rust.
pub struct Blacs<'j> {
    job: &'j Job,
    /// Where grids are formed.
    world: FormationChannel<'j>,
    contexts: RefCell<Vec<Option<Grid<'j>>>>,
    /// Those that were left, of which the lowest is used next.
    free: RefCell<BinaryHeap<Reverse<usize>>>,
    /// Where this process is in each: programs ask all the time.
    positions: Cell<&'static [Cell<[i32; 4]>]>,
    /// Grids that were left, while others may still need something of them.
    retired: RefCell<VecDeque<Retired<'j>>>,
    scratch: Scratch,
    /// What grids are made of.
    pub handles: Handles,
}

/// The position in no grid.
const NOWHERE: [i32; 4] = [-1; 4];

/// Between two looks at whether all messages were taken.
const SETTLE_PAUSE: Duration = Duration::from_micros(50);

/// Grids that were left at which making or leaving one looks: more than one, so that all come to their end, and not all, of which
/// there may be thousands.
const LOOKS: usize = 4;

/// The slot grids are formed in.
const FORMING: usize = 0;

/// How a grid is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Row by row.
    Row,
    /// Column by column.
    Column,
}

impl<'j> Blacs<'j> {
    /// All ranks of the job call it together.
    pub fn new(job: &'j Job) -> Outcome<Blacs<'j>> {
        Ok(Blacs {
            job,
            world: FormationChannel::new(job, 1)?,
            contexts: RefCell::default(),
            free: RefCell::default(),
            positions: Cell::default(),
            retired: RefCell::default(),
            scratch: channel::scratch(),
            handles: Handles::new(job.rank(), job.size()),
        })
    }

    /// This process's rank in the job.
    pub fn rank(&self) -> usize {
        self.job.rank()
    }

    /// Number of processes.
    pub fn size(&self) -> usize {
        self.job.size()
    }

    /// The grid of a context.
    #[inline]
    pub fn grid(&self, context: i32) -> Outcome<Ref<'_, Grid<'j>>> {
        let found =
            Ref::filter_map(self.contexts.borrow(), |contexts| contexts.get(usize::try_from(context).ok()?)?.as_ref());
        found.map_err(|_| Trouble::Context(context))
    }

    /// Rows and columns of the grid of a context, and row and column of this process; -1 each if there is none.
    #[inline]
    pub fn position(&self, context: i32) -> [i32; 4] {
        self.positions.get().get(context as usize).map_or(NOWHERE, Cell::get)
    }

    /// A grid of the first processes of a system handle; gives its context.
    pub fn grid_init(&self, handle: i32, order: Order, rows: i32, columns: i32) -> Outcome<i32> {
        let entry = |row: i32, column: i32| match order {
            Order::Row => row * columns + column,
            Order::Column => column * rows + row,
        };
        self.grid_map(handle, rows, columns, entry)
    }

    /// A grid of processes of a system handle, as a map gives them by their ranks in it; gives its context. All processes
    /// of the grid call it; others may.
    pub fn grid_map(&self, handle: i32, rows: i32, columns: i32, map: impl Fn(i32, i32) -> i32) -> Outcome<i32> {
        let candidates = self.handles.ranks(handle)?;
        let size = candidates.len();
        let fits = rows > 0 && columns > 0 && rows as i64 * columns as i64 <= size as i64;
        if !fits {
            return Err(Trouble::Grid { rows, columns, size });
        }
        let mut ranks = Vec::with_capacity((rows * columns) as usize);
        for row in 0..rows {
            for column in 0..columns {
                let entry = map(row, column);
                let rank = usize::try_from(entry).ok().and_then(|entry| candidates.get(entry));
                let rank = rank.filter(|rank| !ranks.contains(*rank));
                ranks.push(*rank.ok_or(Trouble::Map { entry, size })?);
            }
        }
        self.free_retired(LOOKS)?;
        if !ranks.contains(&self.rank()) {
            return Ok(NOT_IN_CONTEXT);
        }
        let ranks: Rc<[usize]> = ranks.into();
        let grid = Grid::form(&self.world, FORMING, ranks, rows as usize, columns as usize, &self.scratch)?;
        let mut contexts = self.contexts.borrow_mut();
        let free = self.free.borrow_mut().pop().map_or(contexts.len(), |Reverse(free)| free);
        if free == contexts.len() {
            contexts.push(None);
        }
        let at = grid.position;
        self.set_position(free, [at.rows, at.columns, at.row, at.column].map(|number| number as i32));
        contexts[free] = Some(grid);
        Ok(free as i32)
    }

    fn set_position(&self, context: usize, position: [i32; 4]) {
        let old = self.positions.get();
        if context >= old.len() {
            // The old table stays, so that nobody who looks at it must be counted; each is twice as long as the last.
            let mut table = old.to_vec();
            table.resize((context + 1).next_power_of_two().max(16), Cell::new(NOWHERE));
            self.positions.set(table.leak());
        }
        self.positions.get()[context].set(position);
    }

    /// Gives a grid up.
    pub fn grid_exit(&self, context: i32) -> Outcome<()> {
        let mut contexts = self.contexts.borrow_mut();
        let grid = usize::try_from(context).ok().and_then(|context| contexts.get_mut(context)?.take());
        drop(contexts);
        if self.position(context) == NOWHERE {
            return Err(Trouble::Exit(context));
        }
        self.set_position(context as usize, NOWHERE);
        if let Some(grid) = grid {
            self.free.borrow_mut().push(Reverse(context as usize));
            self.retired.borrow_mut().push_back(grid.retire());
        }
        self.free_retired(LOOKS)
    }

    /// Gives all grids up, and waits until all messages were taken that somebody may still receive.
    pub fn exit(&self) -> Outcome<()> {
        self.end()?;
        self.positions.set(&[]);
        Ok(())
    }

    /// Gives all grids up at the end of the process. The contexts can still be left: what a program does at its end may come later.
    pub fn end(&self) -> Outcome<()> {
        let grids = self.contexts.take();
        self.free.take();
        self.retired.borrow_mut().extend(grids.into_iter().flatten().map(Grid::retire));
        self.settle()?;
        self.free_retired(usize::MAX)
    }

    /// Waits until all messages to others were taken, or their receivers have left the grid or ended. While the process ends
    /// nothing goes on by itself any more, so all grids are looked at in turn.
    pub fn settle(&self) -> Outcome<()> {
        while self.sends_left()? > 0 {
            std::thread::sleep(SETTLE_PAUSE);
        }
        Ok(())
    }

    /// Moves sends on; gives how many were not taken yet.
    fn sends_left(&self) -> Outcome<usize> {
        let mut left = 0;
        for grid in self.contexts.borrow().iter().flatten() {
            left += grid.sends_left()?;
        }
        for retired in self.retired.borrow().iter() {
            left += retired.sends_left()?;
        }
        Ok(left)
    }

    /// A handle of the processes of a grid, ranked row by row: where MPI has started them its communicator, which is made when it is
    /// first asked for, so all processes of the grid ask.
    pub fn handle_of(&self, context: i32) -> Outcome<i32> {
        let grid = self.grid(context)?;
        match self.handles.mpi_of_all() {
            Some(mpi) => Ok(mpi.number_of(grid.communicator(&mpi)?)),
            None => Ok(self.handles.add(grid.ranks.clone())),
        }
    }

    /// Gives back the memory of grids that nobody uses any more, after a look at so many.
    fn free_retired(&self, looks: usize) -> Outcome<()> {
        let mut retired = self.retired.borrow_mut();
        for _ in 0..looks.min(retired.len()) {
            let Some(mut first) = retired.pop_front() else { break };
            if !first.try_free()? {
                retired.push_back(first);
            }
        }
        Ok(())
    }
}
