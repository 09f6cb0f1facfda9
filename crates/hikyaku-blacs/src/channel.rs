//! A way from every member of a grid to every other, in which messages keep their order and sends never wait for
//! receives.
//!
//! The messages of a channel take the slots of a pair in turn, so that several may be on the way; what does not find its slot
//! free is copied aside by the sender, whose memory grows, and the receiver finds it there.
//!
//! ```text
//!   stream of at most EAGER_MAX bytes      [data]
//!   longer                                 [announcement] [piece] [piece] ...
//! ```
//! An announcement has an odd number of bytes, which no stream of elements has, and tells how many bytes follow and how
//! long their pieces are. A matrix that lies in one piece is sent from where it is and received where it shall be, in
//! pieces that are long. So are long columns of a matrix, each side's where they are. Others are copied together, and apart,
//! in short pieces that stay in a cache, while the piece before is on its way; if the receiver does not keep up, a second
//! announcement says that the rest comes in long ones. Short pieces of columns that are long are cut so that they begin with
//! them, and need not be copied together.

use crate::error::{Outcome, Trouble};
use crate::matrix::{Matrix, Walk};
use bytemuck::{Pod, Zeroable};
use hikyaku::Error;
use hikyaku::message::{Columns, EAGER_MAX, Messages, Mode};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// Channels of a grid: point to point, and one for each scope.
pub const CHANNELS: usize = 4;
/// Messages of each that may be on the way from one member to another without being copied aside.
const DEPTHS: [usize; CHANNELS] = [8, 4, 4, 4];
/// Slots they need.
pub const SLOTS: usize = first_slot(CHANNELS);

const fn first_slot(channel: usize) -> usize {
    let (mut slot, mut before) = (0, 0);
    while before < channel {
        slot += DEPTHS[before];
        before += 1;
    }
    slot
}

/// Bytes of a piece of a matrix that lies in one piece: long, so that both sides copy at full speed.
const PIECE_IN_PLACE: usize = 4 << 20;
/// Bytes from which columns are worth the system calls.
const COLUMNS_MIN: usize = 32 << 10;
/// Bytes of a piece that is copied together: what needs no receive that waits for it.
const PIECE_PACKED: usize = EAGER_MAX;
/// Columns are cut into pieces of at least so many: one more message costs as much as copying about as many.
const PIECE_OF_COLUMN: usize = PIECE_PACKED / 2;
/// The longest message that waits for nobody where processes share cores.
const COPIED_IF_CROWDED: usize = 64 << 10;
/// How long such a piece waits for those before it.
const PACKED_PATIENCE: Duration = Duration::from_micros(20);

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
    depth: usize,
    /// Whose turn it is, per member.
    sent: Vec<Cell<usize>>,
    received: Vec<Cell<usize>>,
    scratch: Scratch,
}

/// Where matrices are copied together and apart that do not lie in one piece: one for all channels of a process, of which one at a time
/// does so.
pub type Scratch = Rc<RefCell<Box<[u8]>>>;

/// Room for the longest message that needs no receive.
pub fn scratch() -> Scratch {
    Rc::new(RefCell::new(vec![0; EAGER_MAX].into()))
}

impl Channel {
    /// Channel `number` of a grid of `size` members.
    pub fn new(number: usize, size: usize, scratch: Scratch) -> Channel {
        Channel {
            first_slot: first_slot(number),
            depth: DEPTHS[number],
            sent: vec![Cell::new(0); size],
            received: vec![Cell::new(0); size],
            scratch,
        }
    }

    fn next_slot(&self, counts: &[Cell<usize>], member: usize) -> usize {
        let turn = counts[member].get();
        counts[member].set(if turn + 1 == self.depth { 0 } else { turn + 1 });
        self.first_slot + turn
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
            None => match matrix.walk().columns(bytes) {
                Some(columns) if bytes >= COLUMNS_MIN && messages.takes_columns(member) => {
                    self.send_columns(messages, matrix, columns, member)
                }
                _ => self.send_packed(messages, matrix, bytes, member),
            },
        }
    }

    fn put(&self, messages: &Messages<'_>, data: &[u8], member: usize) -> Outcome<()> {
        unless_gone(messages.send(data, member, self.next_slot(&self.sent, member)))
    }

    /// Sends bytes, but waits for a while for a receive that saves them from being copied aside; false if none came.
    fn put_patiently(&self, messages: &Messages<'_>, data: &[u8], member: usize, patience: Duration) -> Outcome<bool> {
        // Nobody receives a message of this process while it waits here.
        let patience = if messages.rank() == member { Duration::ZERO } else { patience };
        let slot = self.next_slot(&self.sent, member);
        messages.set_mode(Mode::Spool(patience));
        let sent = unless_gone(messages.send(data, member, slot));
        messages.set_mode(Mode::Spool(Duration::ZERO));
        sent.map(|()| messages.spooled(member, slot) == 0)
    }

    fn announce(&self, messages: &Messages<'_>, bytes: usize, piece: usize, member: usize) -> Outcome<()> {
        let announcement = Announcement { bytes: bytes as u64, piece: piece as u64, odd: 0 };
        self.put(messages, bytemuck::bytes_of(&announcement), member)
    }

    fn send_in_place(&self, messages: &Messages<'_>, data: &[u8], member: usize) -> Outcome<()> {
        self.announce(messages, data.len(), PIECE_IN_PLACE, member)?;
        let mut keeps_up = true;
        for piece in data.chunks(PIECE_IN_PLACE) {
            let patience = if keeps_up { patience(messages, piece.len()) } else { Duration::ZERO };
            keeps_up = self.put_patiently(messages, piece, member, patience)?;
        }
        Ok(())
    }

    /// Sends columns from where they are, or copied aside where nobody waits for them.
    fn send_columns(&self, messages: &Messages<'_>, matrix: &Matrix, all: Columns, member: usize) -> Outcome<()> {
        let most = (PIECE_IN_PLACE / all.column).max(1) * all.column;
        self.announce(messages, all.bytes, most, member)?;
        let (mut walk, mut left, mut keeps_up) = (matrix.walk(), all.bytes, true);
        while left > 0 {
            let (length, slot) = (most.min(left), self.next_slot(&self.sent, member));
            let patience =
                if keeps_up && messages.rank() != member { patience(messages, length) } else { Duration::ZERO };
            let columns = walk.columns(length).expect("pieces are whole columns, so each begins with one");
            // SAFETY: elements of the matrix, the caller's to read.
            let sent = unsafe { messages.send_columns(columns, member, slot, patience) };
            keeps_up = gone_is(sent, true)?;
            if keeps_up {
                walk.skip(length);
            } else {
                let mut piece = vec![0; length].into_boxed_slice();
                walk.gather(&mut piece);
                gone_is(messages.send_owned(piece, member, slot), ())?;
            }
            left -= length;
        }
        Ok(())
    }

    fn send_packed(&self, messages: &Messages<'_>, matrix: &Matrix, bytes: usize, member: usize) -> Outcome<()> {
        let of_column = matrix.share_of_column(PIECE_PACKED).filter(|share| *share >= PIECE_OF_COLUMN);
        let most = of_column.unwrap_or(PIECE_PACKED);
        self.announce(messages, bytes, most, member)?;
        let mut scratch = self.scratch.borrow_mut();
        let (mut walk, mut left) = (matrix.walk(), bytes);
        while left > 0 {
            let in_column = if of_column.is_some() { walk.left_of_column() } else { left };
            let length = most.min(left).min(in_column);
            let piece = match walk.pass(length) {
                // SAFETY: elements of the matrix, the caller's to read.
                Some(start) => unsafe { std::slice::from_raw_parts(start, length) },
                None => {
                    walk.gather(&mut scratch[..length]);
                    &scratch[..length]
                }
            };
            left -= length;
            let keeps_up = self.put_patiently(messages, piece, member, PACKED_PATIENCE)?;
            if !keeps_up && left > PIECE_PACKED {
                self.announce(messages, left, PIECE_IN_PLACE, member)?;
                return self.send_aside(messages, walk, left, member);
            }
        }
        Ok(())
    }

    /// The rest of a stream, copied aside in long pieces, which the receiver fetches by itself.
    fn send_aside(&self, messages: &Messages<'_>, mut walk: Walk, bytes: usize, member: usize) -> Outcome<()> {
        for start in (0..bytes).step_by(PIECE_IN_PLACE) {
            let mut piece = vec![0; PIECE_IN_PLACE.min(bytes - start)].into_boxed_slice();
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
            let announced = Announcement::read(&scratch);
            drop(scratch);
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
        let (bytes, room) = (announced.bytes, matrix.bytes());
        if bytes > room as u64 {
            return Err(Trouble::Long { bytes: Some(bytes), room });
        }
        let (bytes, mut piece) = (bytes as usize, announced.piece as usize);
        let (run, mut walk) = (matrix.run(), matrix.walk());
        let mut scratch = self.scratch.borrow_mut();
        let mut aside = Vec::new();
        let mut taken = 0;
        while taken < bytes {
            let length = piece.clamp(1, bytes - taken);
            let mut ahead = walk;
            let in_place = run.map(|run| run.wrapping_add(taken)).or_else(|| ahead.pass(length));
            if in_place.is_none()
                && length > EAGER_MAX
                && let Some(columns) = walk.columns(length).filter(|_| messages.takes_columns(member))
            {
                let slot = self.next_slot(&self.received, member);
                // SAFETY: elements of the matrix, the caller's to write, each of them once.
                let got = unsafe { messages.recv_columns(columns, member, slot) };
                let got = got.map_err(|error| too_long(error, length))?;
                if got % 2 == 1 {
                    return Err(Trouble::Long { bytes: None, room });
                }
                walk.skip(got);
                taken += got;
                continue;
            }
            let into: &mut [u8] = match in_place {
                // SAFETY: elements of the matrix, the caller's to write.
                Some(start) => unsafe { std::slice::from_raw_parts_mut(start, length) },
                None if length <= scratch.len() => &mut scratch[..length],
                None => {
                    aside.resize(length, 0);
                    &mut aside
                }
            };
            let got = take(messages, into, member, self.next_slot(&self.received, member))?;
            if got % 2 == 1 {
                piece = Announcement::read(into).piece as usize;
                continue;
            }
            match in_place {
                Some(_) => walk.skip(got),
                None => walk.scatter(&into[..got]),
            }
            taken += got;
        }
        Ok(bytes)
    }
}

impl Announcement {
    fn read(message: &[u8]) -> Announcement {
        bytemuck::pod_read_unaligned(&message[..size_of::<Announcement>()])
    }
}

fn take(messages: &Messages<'_>, into: &mut [u8], member: usize, slot: usize) -> Outcome<usize> {
    messages.recv(into, member, slot).map_err(|error| too_long(error, into.len()))
}

/// What a receive into so much room failed with.
fn too_long(error: Error, room: usize) -> Trouble {
    match error {
        Error::Truncated { bytes, .. } => Trouble::Long { bytes: (bytes % 2 == 0).then_some(bytes as u64), room },
        other => other.into(),
    }
}

/// A message to a process that has ended in good order is received by nobody, which is no error of this one.
fn unless_gone(sent: hikyaku::Result<()>) -> Outcome<()> {
    gone_is(sent, ())
}

/// A message to a process that has ended in good order counts as `sent`.
fn gone_is<T>(result: hikyaku::Result<T>, sent: T) -> Outcome<T> {
    match result {
        Err(Error::PeerLeft { .. }) => Ok(sent),
        other => Ok(other?),
    }
}

/// How long a send waits for a receive that saves it from copying: about as long as copying half of it takes. Where processes share
/// cores, the receiver may only run when this process waits: a short message is copied sooner than that.
fn patience(messages: &Messages<'_>, bytes: usize) -> Duration {
    match bytes <= COPIED_IF_CROWDED && messages.port().is_crowded() {
        true => Duration::ZERO,
        false => Duration::from_micros(20) + Duration::from_nanos(bytes as u64 / 16),
    }
}
