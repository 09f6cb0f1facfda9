//! Bytes of any length between members of a call: short ones in labelled pieces, in several slots in turn; long ones straight
//! from buffer to buffer, in packets as long as the transport takes, after a label that tells what they belong to.
//!
//! ```text
//!   sender                                      receiver
//!                                     <------   header: its buffer is open      (these two
//!   label                             ------>                                    cross)
//!   the data, into the buffer         ------>
//! ```

use super::group::FarGroup;
use super::pieces::{LABEL_BYTES, PIECE_BYTES, piece_count, piece_range};
use super::spare::Sheet;
use crate::collective::round::Round;
use crate::collective::slots::SLOTS;
use crate::error::{Error, Result};
use crate::message::Messages;
use crate::planted::{Bug, planted};

/// The slot of long data: labels come in the first one.
const LONG_SLOT: usize = 1;

/// Whether so many bytes go straight: more pieces than can be under way at once would wait for each other.
pub(super) fn is_straight(bytes: usize) -> bool {
    bytes > SLOTS * PIECE_BYTES
}

/// Pieces that are sent to a member.
struct Outgoing<'t> {
    slots: &'t Messages<'t>,
    round: &'t Round,
    member: usize,
    data: &'t [u8],
    sheet: Sheet<'t>,
    /// The number of the first piece, of the next one, and that after the last; whether the next is in the sheet.
    first: usize,
    next: usize,
    end: usize,
    is_written: bool,
}

impl Outgoing<'_> {
    /// Sends what there is room for; true when all is sent.
    fn poke(&mut self) -> Result<bool> {
        while self.next < self.end {
            let piece = &self.data[piece_range(self.next - self.first, self.data.len())];
            let message = &mut self.sheet.bytes[..LABEL_BYTES + piece.len()];
            if !self.is_written {
                message[..LABEL_BYTES].copy_from_slice(bytemuck::bytes_of(&self.round.asks()));
                message[LABEL_BYTES..].copy_from_slice(piece);
                self.is_written = true;
            }
            if !self.slots.try_send(message, self.member, self.next % SLOTS)? {
                return Ok(false);
            }
            self.is_written = false;
            self.next += 1;
        }
        Ok(true)
    }
}

/// Pieces that a member sends.
struct Incoming<'t> {
    slots: &'t Messages<'t>,
    round: &'t Round,
    member: usize,
    into: &'t mut [u8],
    sheet: Sheet<'t>,
    first: usize,
    next: usize,
    end: usize,
    /// What the member asks for, if it is not this.
    differs: Option<[u64; 2]>,
}

impl Incoming<'_> {
    /// Takes what has come; true when all has, or what came belongs to something else.
    fn poke(&mut self) -> Result<bool> {
        while self.next < self.end && self.differs.is_none() {
            let Some(bytes) = self.slots.try_recv(&mut self.sheet.bytes, self.member, self.next % SLOTS)? else {
                return Ok(false);
            };
            let (label, data) = self.sheet.bytes[..bytes].split_at(LABEL_BYTES.min(bytes));
            let theirs: [u64; 2] = bytemuck::try_pod_read_unaligned(label).unwrap_or_default();
            let agrees = theirs == self.round.asks() || planted(Bug::LabelUnread);
            let range = piece_range(self.next - self.first, self.into.len());
            if !agrees || data.len() != range.len() {
                self.differs = Some(theirs);
                break;
            }
            self.into[range].copy_from_slice(data);
            self.next += 1;
        }
        Ok(true)
    }
}

impl FarGroup<'_, '_> {
    fn outgoing<'t>(&'t self, round: &'t Round, member: usize, first: usize, data: &'t [u8]) -> Outgoing<'t> {
        let sheet = self.far.spare.sheet();
        let end = first + piece_count(data.len());
        Outgoing { slots: self.far_slots(), round, member, data, sheet, first, next: first, end, is_written: false }
    }

    fn incoming<'t>(&'t self, round: &'t Round, member: usize, first: usize, into: &'t mut [u8]) -> Incoming<'t> {
        let sheet = self.far.spare.sheet();
        let end = first + piece_count(into.len());
        Incoming { slots: self.far_slots(), round, member, into, sheet, first, next: first, end, differs: None }
    }

    /// Sends a piece of a call.
    pub(super) fn tell(&self, round: &Round, member: usize, index: usize, piece: &[u8]) -> Result<()> {
        let mut out = self.outgoing(round, member, index, piece);
        self.wait_for_member(round, member, || done(out.poke()))
    }

    /// Receives a piece of a call, which must be one of the same call and of that length.
    pub(super) fn hear(&self, round: &Round, member: usize, index: usize, piece: &mut [u8]) -> Result<()> {
        let mut incoming = self.incoming(round, member, index, piece);
        self.wait_for_member(round, member, || done(incoming.poke()))?;
        let differs = incoming.differs;
        differs.map_or(Ok(()), |theirs| Err(self.disagree(round, member, theirs)))
    }

    /// Sends to one member and receives from one, at the same time. What is empty is not sent.
    pub(super) fn transfer(
        &self,
        round: &Round,
        (to, data): (usize, &[u8]),
        (from, into): (usize, &mut [u8]),
    ) -> Result<()> {
        let (out_straight, in_straight) = (is_straight(data.len()), is_straight(into.len()));
        let (sends, receives) = (!data.is_empty(), !into.is_empty());
        let (pieces, straight) = if in_straight { (&mut [][..], into) } else { (into, &mut [][..]) };
        // Open before anything is said, so that nobody waits for the header after the label.
        let mut expected = if in_straight { Some(self.far_slots().expect(straight, from, LONG_SLOT)?) } else { None };
        let mut out = self.outgoing(round, to, 0, if out_straight { &[] } else { data });
        let mut incoming = self.incoming(round, from, 0, pieces);
        let both = Both::new(!sends, !receives);
        both.wait(*self, round, (to, &mut || done(out.poke())), (from, &mut || done(incoming.poke())))?;
        if let Some(theirs) = incoming.differs {
            return Err(self.disagree(round, from, theirs));
        }
        let mut came = 0;
        let both = Both::new(!out_straight, !in_straight);
        let mut receive = || {
            came = match expected.as_mut()?.poke() {
                Ok(bytes) => bytes?,
                Err(error) => return Some(Err(error)),
            };
            Some(Ok(()))
        };
        match out_straight {
            false => both.wait(*self, round, (to, &mut || None), (from, &mut receive))?,
            true => self.far_slots().send_to_waiting(data, to, LONG_SLOT, |send| {
                both.wait(*self, round, (to, send), (from, &mut receive))
            })?,
        }
        if expected.is_some_and(|expected| expected.complete(came).is_none()) {
            return Err(self.odd_piece(from));
        }
        Ok(())
    }

    /// A member sent something else than its label told.
    #[cold]
    pub(super) fn odd_piece(&self, member: usize) -> Error {
        let what = "a piece of another size than was agreed";
        self.fail(Error::PeerMisbehaved { rank: self.members[member].rank, what })
    }
}

/// A step of a direction: nothing until it is done.
type Step<'s> = &'s mut dyn FnMut() -> Option<Result<()>>;

/// Two directions of a transfer, and whether they are done.
struct Both {
    sent: bool,
    received: bool,
}

impl Both {
    fn new(sent: bool, received: bool) -> Both {
        Both { sent, received }
    }

    /// Waits for one member after the other, while both directions go on: one that has got everything may be gone.
    fn wait(
        mut self,
        group: FarGroup<'_, '_>,
        round: &Round,
        (to, send): (usize, Step<'_>),
        (from, receive): (usize, Step<'_>),
    ) -> Result<()> {
        let mut failed = None;
        let mut poke_send = |this: &mut Both| {
            if !this.sent && failed.is_none() {
                match send() {
                    None => {}
                    Some(Ok(())) => this.sent = true,
                    // CastWords when that member is waited for.
                    Some(Err(error)) => failed = Some(error),
                }
            }
            failed.clone()
        };
        if !self.received {
            group.wait_for_member(round, from, || {
                poke_send(&mut self);
                receive()
            })?;
        }
        if self.sent {
            return Ok(());
        }
        group.wait_for_member(round, to, || {
            let failed = poke_send(&mut self);
            failed.map(Err).or(self.sent.then_some(Ok(())))
        })
    }
}

/// What waits want to know.
fn done(poked: Result<bool>) -> Option<Result<()>> {
    poked.map(|done| done.then_some(())).transpose()
}
