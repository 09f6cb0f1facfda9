//! Long bytes of the program that a transport reads in place, until the peer has acknowledged them.
//!
//! What is not completed when a loan is dropped is recalled, which has the transport copy it first. So however an operation ends, by an
//! error or a panic too, nobody reads its buffer afterwards.

use crate::ni::interface::Ni;
use crate::transport::core::Token;
use std::sync::Arc;

/// Bytes that are lent to the transport; nobody reads them any more when this is dropped.
pub(crate) struct Loan {
    ni: Arc<Ni>,
    rank: usize,
    pub token: Token,
}

impl std::fmt::Debug for Loan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "loan {:#x} to rank {}", self.token.0, self.rank)
    }
}

impl Loan {
    /// For bodies that go to a far rank.
    pub fn open(ni: &Arc<Ni>, rank: usize) -> Loan {
        Loan { ni: ni.clone(), rank, token: ni.loans.open() }
    }

    /// Whether the transport has let go of all bodies.
    pub fn is_over(&self) -> bool {
        self.ni.loans.is_over(self.token)
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        // In a forked child nobody sends anything, and locks may be held for ever.
        if self.ni.is_forked() {
            return;
        }
        if !self.is_over()
            && let Some(far) = &self.ni.far
        {
            while far.recall(self.rank, self.token) {}
        }
        self.ni.loans.close(self.token);
    }
}
