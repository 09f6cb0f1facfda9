//! What carries frames between endpoints, and may lose them: sockets of the kernel (`ways`, `socket`), datagrams of other networks in
//! crates of their own, and in tests something around either (`faults`).

use super::batch::{Batch, Inbox};
use crate::error::Result;
use std::os::fd::BorrowedFd;

/// The half that sends, which one uses at a time.
pub trait Wire: Send {
    /// Whether it reaches a rank.
    fn reaches(&self, rank: usize) -> bool;

    /// Opens the way to a rank that it reaches; it has this number from then on.
    ///
    /// # Errors
    /// When the network does not know such an address.
    fn open(&mut self, rank: usize) -> Result<u32>;

    /// Bytes of the longest frame that a way takes in one piece, as far as that is known now.
    fn frame_max(&self, way: u32) -> Option<usize>;

    /// Sends a batch, and tells `trouble` of trains it has trouble with, by their ranks.
    fn send(&mut self, batch: &Batch, trouble: &mut dyn FnMut(u32, Trouble));

    /// Whether it takes frames that follow each other in one piece.
    fn takes_trains(&self) -> bool {
        false
    }

    /// Nothing was ever heard by a way: it may be tried in another manner.
    fn suspect(&mut self, _way: u32) {}

    /// Time passes: what was held up may go now.
    fn pass(&mut self) {}

    /// Where a way leads, in words.
    fn describe(&self, way: u32) -> String;

    /// What the code of a [`Trouble::Refused`] means, in words.
    fn explain(&self, code: i32) -> String;
}

/// The half that receives, which sleepers and whoever polls share.
pub trait Source: Send + Sync {
    /// Bytes of what has come that it keeps until this rank looks.
    fn keeps_bytes(&self) -> usize;

    /// Takes what has come: how many buffers were filled, and whether there may be more.
    fn receive(&self, inbox: &mut Inbox) -> (usize, bool);

    /// Takes the frame that has come if it is short and wanted, and leaves it where it is if not, or if it cannot look without taking.
    fn receive_short<'i>(&self, _inbox: &'i mut Inbox, _is_wanted: &dyn Fn(&[u8]) -> bool) -> Option<&'i [u8]> {
        None
    }

    /// Readable when something has come.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Whether one may sleep on the descriptor now.
    fn may_sleep(&self) -> bool {
        true
    }
}

/// What may happen to a train beside being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Its frames are longer than the path takes. They were sent in fragments, or are lost.
    TooLong {
        /// Bytes of each.
        bytes: usize,
        /// What the path takes, if that is known now.
        known: Option<usize>,
    },
    /// The network did not take it; [`Wire::explain`] says what the code means.
    Refused(i32),
}
