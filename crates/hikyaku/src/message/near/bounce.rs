//! Messages too long for a line and too short to be offered: through a buffer that both ranks map, which the receiver
//! reads piece by piece while the sender still writes.
//!
//! Every line of it passes from one core to the other twice: when it is written, since the receiver has read it before,
//! and when it is read. The first passage is taken off the path: after a message has gone, the lines of the buffer that
//! the next one will use are fetched. The second begins before the receiver has seen the head of the message: it guesses
//! which buffer it will name.

use super::pair::NearPair;
use crate::memory::copy;
use crate::message::buffer::spot::Buffer;
use crate::message::state::peer::{Bounces, Peer};
use crate::message::wire::layout::EAGER_MAX;
use crate::message::wire::slot::{HeadInfo, HeadKind, PIECE_BYTES, bounce_of, bounce_value};

impl NearPair<'_> {
    /// Sends a message of at most [`EAGER_MAX`] bytes; false if no buffer is free.
    pub fn send_bounce(self, peer: &mut Peer, data: &[u8], entry: usize) -> bool {
        assert!(data.len() <= EAGER_MAX);
        let mine = self.mine();
        if !peer.has_bounce(|holder| mine.post(holder).look().0) {
            return false;
        }
        let (slot, bounces) = peer.parts(entry);
        let Some((bounce, turn)) = bounces.take(entry, slot) else { return false };
        let theirs = self.theirs();
        let (target, marks) = (theirs.bounce(bounce), theirs.marks(bounce));
        // The receiver looks at the head all the time, so its line is the last to come: it is fetched first.
        copy::expect_write(std::ptr::from_ref(theirs.head(entry)).cast_mut().cast(), 1);
        slot.send.sent += 1;
        let (number, taken, value) = (slot.send.sent, slot.receive.taken, bounce_value(bounce, turn));
        for (piece, bytes) in data.chunks(PIECE_BYTES).enumerate() {
            // SAFETY: a buffer holds as many pieces.
            unsafe { copy::copy(target.add(piece * PIECE_BYTES), bytes.as_ptr(), bytes.len()) };
            match piece {
                0 => theirs.head(entry).publish(number, HeadInfo::new(HeadKind::Bounce, data.len(), taken, value)),
                _ => marks.set(piece, turn),
            }
        }
        self.notify();
        if let Some(next) = bounces.warm() {
            copy::expect_write(theirs.bounce(next), data.len());
        }
        true
    }

    /// Copies the pieces that have come and were not copied yet; true when all have.
    #[inline(always)]
    pub fn take_pieces(self, bounces: &Bounces, told: HeadInfo, into: Buffer, copied: &mut usize) -> bool {
        assert!(told.bytes() <= into.bytes && told.bytes() <= EAGER_MAX);
        let (bounce, turn) = bounce_of(told.value);
        let bounce = bounces.foresee(bounce);
        let mine = self.mine();
        let (source, marks) = (mine.bounce(bounce), mine.marks(bounce));
        while *copied < told.bytes() {
            let piece = *copied / PIECE_BYTES;
            if piece > 0 && !marks.has(piece, turn) {
                return false;
            }
            let bytes = PIECE_BYTES.min(told.bytes() - *copied);
            // SAFETY: within the bounce buffer and within the receive's, as asserted.
            unsafe { into.fill(*copied, source.add(*copied), bytes) };
            *copied += bytes;
        }
        true
    }
}
