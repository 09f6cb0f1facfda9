//! Where the buffers of a long message are: what two near ranks tell each other, and what one knows of itself.

use super::pair::NearPair;
use crate::error::{Error, Result};
use crate::message::buffer::own::Own;
use crate::message::buffer::spot::{Buffer, Distant};
use crate::message::wire::slot::Spot;
use std::sync::atomic::Ordering;

/// What a spot says before a claim keeps it as it is: it may change at any moment, so nothing is done by it but to decide
/// whether a claim is worth it.
#[derive(Clone, Copy, Debug)]
pub(in crate::message) struct Glimpse {
    pub bytes: usize,
    /// Whether the bytes can be moved from here without the peer's help.
    pub is_reachable: bool,
}

impl NearPair<'_> {
    /// Tells the member where a buffer is. What comes of it is kept until the buffer may go.
    pub fn tell_place(self, buffer: Buffer, spot: &Spot) -> Option<Box<Own>> {
        match self.knows_place() {
            true => Some(Box::new(self.core.own_spots.note(spot, buffer))),
            false => {
                buffer.tell(&self.core.ni, spot);
                None
            }
        }
    }

    /// Whether a buffer is this rank's own, so that nothing is read about it that others may have written.
    #[inline(always)]
    pub fn knows_place(self) -> bool {
        self.is_oneself() && !self.core.ni.threads
    }

    /// Where the buffer of the member is.
    #[inline]
    pub fn hear_place(self, spot: &Spot) -> Result<Distant> {
        match self.knows_place() {
            true => self.own_place(spot),
            false => Distant::heard(&self.core.ni, self.link.rank, spot),
        }
    }

    /// Where the buffer of the member is, for a message whose size is known.
    #[inline]
    pub fn hear_place_of(self, spot: &Spot, bytes: usize) -> Result<Distant> {
        match self.hear_place(spot) {
            Ok(distant) if distant.bytes != bytes => {
                Err(Error::PeerMisbehaved { rank: distant.rank(), what: "a message that changes its size" })
            }
            heard => heard,
        }
    }

    /// A look at what the member tells, before a claim.
    #[inline]
    pub fn glimpse(self, spot: &Spot) -> Result<Glimpse> {
        if self.knows_place() {
            let own = self.own_place(spot)?;
            return Ok(Glimpse { bytes: own.bytes, is_reachable: own.is_reachable(&self.core.ni) });
        }
        let ni = &self.core.ni;
        let is_mapped = spot.mapped.load(Ordering::Relaxed) == 1;
        let is_reachable = is_mapped || ni.threads || ni.crosses_to(self.link.rank);
        Ok(Glimpse { bytes: spot.bytes.load(Ordering::Relaxed) as usize, is_reachable })
    }

    #[cold]
    fn own_place(self, spot: &Spot) -> Result<Distant> {
        let rank = self.core.ni.rank;
        // Without a message to oneself, some other rank must have written that there is one.
        let misbehaved = Error::PeerMisbehaved { rank, what: "a message to oneself that was never sent" };
        let (buffer, is_there) = self.core.own_spots.find(spot).ok_or(misbehaved)?;
        Ok(Distant::own(rank, buffer, is_there))
    }
}
