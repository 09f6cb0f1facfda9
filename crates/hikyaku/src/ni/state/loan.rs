//! What of the program's bytes a transport reads in place, by loans.
//!
//! A loan belongs to one operation and covers all bodies that it has posted. Its bytes are free when all of them are completed, or
//! when it is closed, which nobody does before what is not completed was recalled.

use crate::sync::brief::lock;
use crate::transport::core::Token;
use std::sync::{Mutex, MutexGuard};

/// The loans of a rank.
#[derive(Debug, Default)]
pub(crate) struct Loans(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    entries: Vec<Entry>,
    closed: Vec<usize>,
}

#[derive(Debug, Default)]
struct Entry {
    /// Loans it has had: no token is used twice.
    serial: u64,
    /// Bodies that the transport may read.
    out: usize,
}

/// Tokens of operations of the network itself do not have it.
const LOAN: u64 = 1 << 63;
/// Bits of a token that say which entry.
const INDEX_BITS: u32 = 24;

impl Loans {
    fn table(&self) -> MutexGuard<'_, Table> {
        // Nothing in here panics while the table is changed.
        lock(&self.0)
    }

    /// A new one, without bodies.
    pub fn open(&self) -> Token {
        let mut table = self.table();
        let index = table.closed.pop().unwrap_or_else(|| {
            table.entries.push(Entry::default());
            table.entries.len() - 1
        });
        let entry = &mut table.entries[index];
        (entry.serial, entry.out) = (entry.serial + 1, 0);
        Token(LOAN | entry.serial << INDEX_BITS | index as u64)
    }

    /// Whether a token is that of a loan.
    pub fn is_loan(token: Token) -> bool {
        token.0 & LOAN != 0
    }

    /// A body is about to be posted: it may be completed before its post returns.
    pub fn begin(&self, token: Token) {
        self.change(token, 1);
    }

    /// The transport has let go of a body, or has not taken it; whether that was the last one.
    pub fn end(&self, token: Token) -> bool {
        self.change(token, -1) == Some(0)
    }

    /// Whether the transport has let go of all bodies.
    pub fn is_over(&self, token: Token) -> bool {
        self.change(token, 0) == Some(0)
    }

    /// Bodies under this token are more by `change`; how many there are. None for a loan that is over.
    fn change(&self, token: Token, change: isize) -> Option<usize> {
        let mut table = self.table();
        let entry = table.entry(token)?;
        entry.out = entry.out.checked_add_signed(change)?;
        Some(entry.out)
    }

    /// Whether the transport may read anything.
    #[cfg(test)]
    pub fn has_open(&self) -> bool {
        self.table().entries.iter().any(|entry| entry.out > 0)
    }

    /// Its bytes are not lent any more.
    pub fn close(&self, token: Token) {
        let mut table = self.table();
        if let Some(entry) = table.entry(token) {
            // Completions that are still to come mean nothing.
            (entry.serial, entry.out) = (entry.serial + 1, 0);
            table.closed.push(index_of(token));
        }
    }
}

impl Table {
    fn entry(&mut self, token: Token) -> Option<&mut Entry> {
        let serial = (token.0 & !LOAN) >> INDEX_BITS;
        self.entries.get_mut(index_of(token)).filter(|entry| entry.serial == serial)
    }
}

fn index_of(token: Token) -> usize {
    (token.0 & ((1 << INDEX_BITS) - 1)) as usize
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_loan_is_over_when_all_its_bodies_are_back_and_late_ones_do_not_count() {
        let loans = Loans::default();
        let (one, other) = (loans.open(), loans.open());
        assert_ne!(one, other);
        assert_eq!([loans.change(one, 1), loans.change(one, 1), loans.change(other, 1)], [Some(1), Some(2), Some(1)]);
        assert_eq!(loans.change(one, -1), Some(1));
        loans.close(one);
        assert_eq!(loans.change(one, -1), None, "it was given up");
        let again = loans.open();
        assert_eq!(index_of(again), index_of(one));
        assert_eq!((loans.change(one, -1), loans.change(again, 0)), (None, Some(0)), "of the loan before");
        assert_eq!(loans.change(again, -1), None, "a completion too many");
        assert_eq!(loans.change(other, -1), Some(0));
    }
}
