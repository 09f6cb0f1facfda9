//! A way from every member of a grid to every other, in which messages keep their order and sends never wait for
//! receives.
//!
//! The messages of a channel take the slots of a pair in turn, so that several may be on the way; what does not find its
//! slot free goes into the spare buffer of the sender, which grows.
//!
//! ```text
//!   stream of at most EAGER_MAX bytes      [data]
//!   longer                                 [announcement] [piece] [piece] ...
//! ```
//! An announcement has an odd number of bytes, which no stream of elements has, and tells how long the stream is and how
//! long its pieces are. Pieces of a matrix that lies in one piece are sent from where it is and received where it shall
//! be; others are copied together, or apart, piece by piece, while the piece before is on its way.

use crate::error::{Outcome, Trouble};
use crate::matrix::Matrix;
use bytemuck::{Pod, Zeroable};
use hikyaku::Error;
use hikyaku::message::{EAGER_MAX, Messages, Mode};
use std::cell::{Cell, RefCell};
use std::time::Duration;

/// Messages of a channel that may be on the way from one member to another without being copied aside.
const DEPTH: usize = 4;
/// Channels of a grid: point to point, and one for each scope.
pub const CHANNELS: usize = 4;
/// Slots they need.
pub const SLOTS: usize = CHANNELS * DEPTH;

/// Bytes of a piece of a matrix that lies in one piece: long, so that both sides copy at full speed.
const PIECE_IN_PLACE: usize = 4 << 20;
/// Bytes of a piece that is copied together: short, so that it stays in a cache.
const PIECE_PACKED: usize = 64 << 10;

/// What goes before a long stream.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, packed)]
struct Announcement {
    bytes: u64,
    piece: u64,
    odd: u8,
}

/// One channel of a grid.
pub struct Channel {
    first_slot: usize,
    /// Per member.
    sent: Vec<Cell<usize>>,
    received: Vec<Cell<usize>>,
    scratch: RefCell<Box<[u8]>>,
}

impl Channel {
    /// Channel `number` of a grid of `size` members.
    pub fn new(number: usize, size: usize) -> Channel {
        assert!(number < CHANNELS);
        Channel {
            first_slot: number * DEPTH,
            sent: vec![Cell::new(0); size],
            received: vec![Cell::new(0); size],
            scratch: RefCell::new(vec![0; EAGER_MAX].into()),
        }
    }

    fn next_slot(&self, counts: &[Cell<usize>], member: usize) -> usize {
        let count = counts[member].get();
        counts[member].set(count.wrapping_add(1));
        self.first_slot + count % DEPTH
    }

    /// Sends the first `bytes` bytes of the stream of a matrix; returns when the matrix may be changed.
    pub fn send(&self, messages: &Messages<'_>, matrix: &Matrix, bytes: usize, member: usize) -> Outcome<()> {
        match matrix.run() {
            Some(run) => {
                // SAFETY: elements of the matrix, the caller's to read.
                let data = unsafe { std::slice::from_raw_parts(run, bytes) };
                match bytes <= EAGER_MAX {
                    true => self.put(messages, data, member),
                    false => self.send_in_place(messages, data, member),
                }
            }
            None if bytes <= EAGER_MAX => {
                let mut scratch = self.scratch.borrow_mut();
                matrix.walk().gather(&mut scratch[..bytes]);
                self.put(messages, &scratch[..bytes], member)
            }
            None => self.send_packed(messages, matrix, bytes, member),
        }
    }

    fn put(&self, messages: &Messages<'_>, data: &[u8], member: usize) -> Outcome<()> {
        unless_gone(messages.send(data, member, self.next_slot(&self.sent, member)))
    }

    fn announce(&self, messages: &Messages<'_>, bytes: usize, piece: usize, member: usize) -> Outcome<()> {
        let announcement = Announcement { bytes: bytes as u64, piece: piece as u64, odd: 0 };
        self.put(messages, bytemuck::bytes_of(&announcement), member)
    }

    fn send_in_place(&self, messages: &Messages<'_>, data: &[u8], member: usize) -> Outcome<()> {
        self.announce(messages, data.len(), PIECE_IN_PLACE, member)?;
        for piece in data.chunks(PIECE_IN_PLACE) {
            // Nobody receives a message of this process while it waits here.
            let alone = messages.rank() == member;
            messages.set_mode(Mode::Spool(if alone { Duration::ZERO } else { patience(piece.len()) }));
            let sent = self.put(messages, piece, member);
            messages.set_mode(Mode::Spool(Duration::ZERO));
            sent?;
        }
        Ok(())
    }

    fn send_packed(&self, messages: &Messages<'_>, matrix: &Matrix, bytes: usize, member: usize) -> Outcome<()> {
        self.announce(messages, bytes, PIECE_PACKED, member)?;
        let mut walk = matrix.walk();
        for start in (0..bytes).step_by(PIECE_PACKED) {
            let mut piece = vec![0; PIECE_PACKED.min(bytes - start)].into_boxed_slice();
            walk.gather(&mut piece);
            unless_gone(messages.send_owned(piece, member, self.next_slot(&self.sent, member)))?;
        }
        Ok(())
    }

    /// Receives a stream into a matrix; gives its bytes.
    pub fn receive(&self, messages: &Messages<'_>, matrix: &Matrix, member: usize) -> Outcome<usize> {
        let room = matrix.bytes();
        let slot = self.next_slot(&self.received, member);
        if let (true, Some(run)) = (room <= EAGER_MAX, matrix.run()) {
            // SAFETY: elements of the matrix, the caller's to write.
            let into = unsafe { std::slice::from_raw_parts_mut(run, room) };
            let bytes = take(messages, into, member, slot)?;
            return if bytes % 2 == 1 { Err(Trouble::Long { bytes: None, room }) } else { Ok(bytes) };
        }
        let mut scratch = self.scratch.borrow_mut();
        let bytes = take(messages, &mut scratch, member, slot)?;
        if bytes % 2 == 1 {
            let announced: Announcement = bytemuck::pod_read_unaligned(&scratch[..size_of::<Announcement>()]);
            return self.receive_pieces(messages, matrix, announced, member);
        }
        if bytes > room {
            return Err(Trouble::Long { bytes: Some(bytes as u64), room });
        }
        matrix.walk().scatter(&scratch[..bytes]);
        Ok(bytes)
    }

    fn receive_pieces(
        &self,
        messages: &Messages<'_>,
        matrix: &Matrix,
        announced: Announcement,
        member: usize,
    ) -> Outcome<usize> {
        let room = matrix.bytes();
        if announced.bytes > room as u64 {
            return Err(Trouble::Long { bytes: Some(announced.bytes), room });
        }
        let bytes = announced.bytes as usize;
        let piece_bytes = (announced.piece as usize).clamp(1, bytes);
        let mut walk = matrix.walk();
        let mut packed = match matrix.run() {
            Some(_) => Vec::new(),
            None => vec![0; piece_bytes],
        };
        for start in (0..bytes).step_by(piece_bytes) {
            let length = piece_bytes.min(bytes - start);
            let slot = self.next_slot(&self.received, member);
            match matrix.run() {
                Some(run) => {
                    // SAFETY: elements of the matrix, the caller's to write.
                    let into = unsafe { std::slice::from_raw_parts_mut(run.add(start), length) };
                    take(messages, into, member, slot)?;
                }
                None => {
                    take(messages, &mut packed[..length], member, slot)?;
                    walk.scatter(&packed[..length]);
                }
            }
        }
        Ok(bytes)
    }
}

fn take(messages: &Messages<'_>, into: &mut [u8], member: usize, slot: usize) -> Outcome<usize> {
    messages.recv(into, member, slot).map_err(|error| match error {
        Error::Truncated { bytes, .. } => {
            let bytes = (bytes % 2 == 0).then_some(bytes as u64);
            Trouble::Long { bytes, room: into.len() }
        }
        other => other.into(),
    })
}

/// A message to a process that has ended in good order is received by nobody, which is no error of this one.
fn unless_gone(sent: hikyaku::Result<()>) -> Outcome<()> {
    match sent {
        Err(Error::PeerLeft { .. }) => Ok(()),
        other => Ok(other?),
    }
}

/// How long a send waits for a receive that saves it from copying: about as long as copying half of it takes.
fn patience(bytes: usize) -> Duration {
    Duration::from_micros(20) + Duration::from_nanos(bytes as u64 / 16)
}
