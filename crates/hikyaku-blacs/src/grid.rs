//! A grid: processes in rows and columns, and what they talk through.

use crate::channel::{CHANNELS, Channel, SLOTS, Scratch};
use crate::error::{Outcome, Trouble};
use crate::mpi::{self, Mpi};
use crate::scope::{Circle, Scope};
use crate::settings::MESSAGE_NUMBER_MAX;
use crate::topology::Settings;
use hikyaku::collective::{Formation, FormationChannel, Retired};
use hikyaku::message::{Messages, Mode};
use hikyaku::{Error, Group};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// Where a process is in a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Rows of the grid.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// The row of the process.
    pub row: usize,
    /// Its column.
    pub column: usize,
}

/// A grid that this process belongs to.
pub struct Grid<'j> {
    /// Where.
    pub position: Position,
    /// The processes, row by row, by their ranks in the job.
    pub ranks: Rc<[usize]>,
    formation: Formation<'j>,
    channels: [Channel; CHANNELS],
    /// What was set for broadcasts.
    pub broadcasts: Cell<Settings>,
    /// What was set for combines.
    pub combines: Cell<Settings>,
    /// Results of combines shall be the same in every run. They are.
    pub repeatable: Cell<i32>,
    /// They shall be the same at every process. They are.
    pub coherent: Cell<i32>,
    /// Its MPI communicator, once it was asked for.
    communicator: Cell<Option<usize>>,
    /// The next message numbers that a program may ask for, of each scope.
    message_numbers: [Cell<i32>; 3],
}

impl<'j> Grid<'j> {
    /// Forms a grid of `rows` by `columns` processes, given row by row, among them this one. All of them take part, and
    /// nobody else; they talk in `slot` of `world`.
    pub fn form(
        world: &FormationChannel<'j>,
        slot: usize,
        ranks: Rc<[usize]>,
        rows: usize,
        columns: usize,
        scratch: &Scratch,
    ) -> Outcome<Grid<'j>> {
        let rank = world.port().rank();
        let me = ranks.iter().position(|other| *other == rank).expect("only members form a grid");
        let position = Position { rows, columns, row: me / columns, column: me % columns };
        let circle = |scope| position.circle(scope).members();
        let (row, column) = (circle(Scope::Row), circle(Scope::Column));
        // Both fit: no job has more processes than a number of a C program counts.
        let shape = (rows as u64) << 32 | columns as u64;
        let formation = Formation::noted(world, slot, &ranks, &[&row, &column], SLOTS, shape).map_err(disagreement)?;
        formation.messages().set_spare(usize::MAX)?;
        formation.messages().set_mode(Mode::Spool(Duration::ZERO));
        let default = Settings { rings: 1, branches: 1 };
        Ok(Grid {
            position,
            channels: std::array::from_fn(|number| Channel::new(number, ranks.len(), scratch.clone())),
            ranks,
            formation,
            broadcasts: Cell::new(default),
            combines: Cell::new(default),
            repeatable: Cell::new(0),
            coherent: Cell::new(0),
            communicator: Cell::new(None),
            message_numbers: Default::default(),
        })
    }

    /// The processes of a scope.
    pub fn circle(&self, scope: Scope) -> Circle {
        self.position.circle(scope)
    }

    /// The number in a scope of the process at (`row`, `column`), which a program named `what`. The coordinate that is the
    /// same for all of a scope need not be right.
    pub fn number_in(&self, circle: Circle, row: i32, column: i32, what: [&'static str; 2]) -> Outcome<usize> {
        let at = self.position;
        let (row, column) = match circle.scope {
            Scope::Row => (at.row as i32, column),
            Scope::Column => (row, at.column as i32),
            Scope::All => (row, column),
        };
        let member = at.member(row, column, what)?;
        Ok(circle.number(at.columns, member / at.columns, member % at.columns))
    }

    /// The group of a scope; `None` if this process is alone there.
    pub fn group(&self, scope: Scope) -> Option<&Group<'j>> {
        match scope {
            Scope::Row => self.formation.team(0),
            Scope::Column => self.formation.team(1),
            Scope::All => Some(self.formation.all()),
        }
    }

    /// What messages travel by.
    pub fn messages(&self) -> &Messages<'j> {
        self.formation.messages()
    }

    /// Moves sends on; gives how many others may still take. Those of this process to itself are not waited for: it cannot
    /// receive them meanwhile.
    pub fn sends_left(&self) -> Outcome<usize> {
        let left = self.formation.sends_left()?;
        let messages = self.messages();
        let to_itself = (0..messages.slots()).map(|slot| messages.spooled(messages.rank(), slot)).sum::<usize>();
        Ok(left - to_itself)
    }

    /// The channel of messages from one to one.
    pub fn point_channel(&self) -> &Channel {
        &self.channels[0]
    }

    /// The channel of what the processes of a scope do together.
    pub fn channel(&self, scope: Scope) -> &Channel {
        match scope {
            Scope::Row => &self.channels[1],
            Scope::Column => &self.channels[2],
            Scope::All => &self.channels[3],
        }
    }

    /// The next message number of a scope.
    pub fn next_message_number(&self, scope: u8) -> Outcome<i32> {
        let counter = &self.message_numbers[Scope::of(scope)? as usize];
        let number = counter.get();
        counter.set(if number == MESSAGE_NUMBER_MAX { 0 } else { number + 1 });
        Ok(number)
    }

    /// The MPI communicator of its processes, row by row. The first call is one of all of them.
    pub fn communicator(&self, mpi: &Mpi) -> Outcome<usize> {
        if let Some(communicator) = self.communicator.get() {
            return Ok(communicator);
        }
        let made = mpi.communicator(&self.ranks)?;
        self.communicator.set(Some(made));
        Ok(made)
    }

    /// Gives the grid up.
    pub fn retire(self) -> Retired<'j> {
        if let (Some(communicator), Some(mpi)) = (self.communicator.get(), mpi::find()) {
            mpi.free(communicator);
        }
        self.formation.retire()
    }
}

/// Processes that mean different grids, in their words.
fn disagreement(error: Error) -> Trouble {
    let shape = |note: u64| ((note >> 32) as u32, note as u32);
    match error {
        Error::Mismatch { operation: Formation::NOTE, rank, mine, theirs, .. } => {
            Trouble::Shape { rank, mine: shape(mine), theirs: shape(theirs) }
        }
        Error::Mismatch { rank, .. } => Trouble::Members { rank },
        other => other.into(),
    }
}

impl Position {
    /// The processes of a scope.
    pub fn circle(&self, scope: Scope) -> Circle {
        Circle::of(scope, (self.rows, self.columns), (self.row, self.column))
    }

    /// The member at (`row`, `column`), which a program named `what`.
    #[inline]
    pub fn member(&self, row: i32, column: i32, what: [&'static str; 2]) -> Outcome<usize> {
        if row < 0 || row as usize >= self.rows {
            return Err(Trouble::Place { what: what[0], value: row, limit: self.rows });
        }
        if column < 0 || column as usize >= self.columns {
            return Err(Trouble::Place { what: what[1], value: column, limit: self.columns });
        }
        Ok(row as usize * self.columns + column as usize)
    }
}
