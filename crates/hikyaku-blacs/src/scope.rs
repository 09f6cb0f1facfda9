//! Scopes: the processes that do something together.

use crate::error::{Outcome, Trouble};

/// Which processes of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those of the own row.
    Row,
    /// Those of the own column.
    Column,
    /// All.
    All,
}

impl Scope {
    /// What a letter says, in either case.
    pub fn of(letter: u8) -> Outcome<Scope> {
        match letter.to_ascii_lowercase() {
            b'r' => Ok(Scope::Row),
            b'c' => Ok(Scope::Column),
            b'a' => Ok(Scope::All),
            other => Err(Trouble::Scope(other)),
        }
    }
}

/// The processes of a scope, as one of them sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circle {
    /// Which.
    pub scope: Scope,
    /// How many.
    pub size: usize,
    /// The number of this one among them.
    pub me: usize,
    /// The member of the grid that is number 0 among them.
    first: usize,
    /// From one to the next.
    step: usize,
}

impl Circle {
    /// The scope of the process at (`row`, `column`) of a grid of `rows` by `columns`, whose members are numbered row by
    /// row.
    pub fn of(scope: Scope, (rows, columns): (usize, usize), (row, column): (usize, usize)) -> Circle {
        match scope {
            Scope::Row => Circle { scope, size: columns, me: column, first: row * columns, step: 1 },
            Scope::Column => Circle { scope, size: rows, me: row, first: column, step: columns },
            Scope::All => Circle { scope, size: rows * columns, me: row * columns + column, first: 0, step: 1 },
        }
    }

    /// The member of the grid that has a number here.
    pub fn member(&self, number: usize) -> usize {
        self.first + number * self.step
    }

    /// All of them.
    pub fn members(&self) -> Vec<usize> {
        (0..self.size).map(|number| self.member(number)).collect()
    }

    /// Which number the process at (`row`, `column`) of the grid has here, if it is one of them; the coordinate that is the
    /// same for all of them is not looked at.
    pub fn number(&self, columns: usize, row: usize, column: usize) -> usize {
        match self.scope {
            Scope::Row => column,
            Scope::Column => row,
            Scope::All => row * columns + column,
        }
    }
}
