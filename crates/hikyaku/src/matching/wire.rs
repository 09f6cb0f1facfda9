//! What ranks tell each other about their messages: one active message each.
//!
//! ```text
//!                 address   arguments
//!   the message   key       kind, bytes    up to 32 bytes, or else they are the payload; at last, after
//!   an offer      key       kind, slot     bytes   which; at last, after
//!   a lane                  kind
//!   a call        which     kind, slot
//!   credit        bytes     kind
//! ```
//! A long message is offered. If its sender has a slot for it, it is there already; otherwise the receiver calls it into a slot once it
//! is wanted. Credit returns room for messages that are sent without being asked for. A lane (`lane`) is one that the sender begins to write
//! short messages to, and `after` how many lines it had written there before.

use crate::ni::Arguments;

/// The bytes of a message that need no payload.
pub(super) const INLINE_MAX: usize = 32;

/// Slots for offers between every two ranks: those that senders choose, and those that receivers do.
pub(super) const OFFER_SLOTS: usize = 16;
pub(super) const CALL_SLOTS: usize = 16;
pub(super) const SLOTS: usize = OFFER_SLOTS + CALL_SLOTS;

/// A long message, as its sender offers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    pub bytes: usize,
    /// How its sender calls it.
    pub which: u64,
    /// Where it is, unless it must be called.
    pub slot: Option<usize>,
}

/// What comes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told<'m> {
    /// A message with its bytes, which comes after so many lines of its sender's lane.
    Message {
        key: u64,
        data: &'m [u8],
        after: u64,
    },
    /// The same of a long one.
    Offer {
        key: u64,
        offer: Offer,
        after: u64,
    },
    Call {
        which: u64,
        slot: usize,
    },
    Credit(u64),
    Lane,
}

const MESSAGE: u64 = 0;
const OFFER: u64 = 1;
const CALL: u64 = 2;
const CREDIT: u64 = 3;
const LANE: u64 = 4;
/// In place of a slot.
const NO_SLOT: u64 = 0xff;

/// The words of a message of at most [`INLINE_MAX`] bytes.
#[inline(always)]
pub(super) fn short(data: &[u8], after: u64) -> Arguments {
    let mut arguments = [0, 0, 0, 0, 0, after];
    arguments[0] = MESSAGE | (data.len() as u64) << 8;
    bytemuck::bytes_of_mut(&mut arguments)[8..][..data.len()].copy_from_slice(data);
    arguments
}

/// The words of a message whose bytes are the payload.
pub(super) fn with_payload(bytes: usize, after: u64) -> Arguments {
    [MESSAGE | (bytes as u64) << 8, 0, 0, 0, 0, after]
}

pub(super) fn offer(offer: Offer, after: u64) -> Arguments {
    let slot = offer.slot.map_or(NO_SLOT, |slot| slot as u64);
    [OFFER | slot << 8, offer.bytes as u64, offer.which, 0, 0, after]
}

pub(super) fn call(slot: usize) -> Arguments {
    [CALL | (slot as u64) << 8, 0, 0, 0, 0, 0]
}

pub(super) fn credit() -> Arguments {
    [CREDIT, 0, 0, 0, 0, 0]
}

pub(super) fn lane() -> Arguments {
    [LANE, 0, 0, 0, 0, 0]
}

/// Reads what came; `None` for what no rank says.
#[inline]
pub(super) fn read<'m>(address: u64, arguments: &'m Arguments, payload: &'m [u8]) -> Option<Told<'m>> {
    let (kind, value, after) = (arguments[0] & 0xff, arguments[0] >> 8, arguments[5]);
    match kind {
        MESSAGE if value as usize <= INLINE_MAX && payload.is_empty() => {
            let data = &bytemuck::bytes_of(arguments)[8..][..value as usize];
            Some(Told::Message { key: address, data, after })
        }
        MESSAGE if value == payload.len() as u64 => Some(Told::Message { key: address, data: payload, after }),
        OFFER => {
            let slot = match value {
                NO_SLOT => None,
                slot if slot < OFFER_SLOTS as u64 => Some(slot as usize),
                _ => return None,
            };
            let bytes = usize::try_from(arguments[1]).ok().filter(|bytes| *bytes <= isize::MAX as usize)?;
            Some(Told::Offer { key: address, offer: Offer { bytes, which: arguments[2], slot }, after })
        }
        CALL => {
            let slot = usize::try_from(value).ok().filter(|slot| (OFFER_SLOTS..SLOTS).contains(slot))?;
            Some(Told::Call { which: address, slot })
        }
        CREDIT => Some(Told::Credit(address)),
        LANE => Some(Told::Lane),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is written is read back.
        #[test]
        fn words_are_read_back(
            key: u64,
            data in proptest::collection::vec(any::<u8>(), 0..100),
            bytes in 0..isize::MAX as usize,
            which: u64,
            slot in proptest::option::of(0..OFFER_SLOTS),
            called in OFFER_SLOTS..SLOTS,
            after: u64,
        ) {
            let (arguments, payload) = match data.len() <= INLINE_MAX {
                true => (short(&data, after), &[][..]),
                false => (with_payload(data.len(), after), &data[..]),
            };
            prop_assert_eq!(read(key, &arguments, payload), Some(Told::Message { key, data: &data, after }));
            let long = Offer { bytes, which, slot };
            let [offered, called_there, credited, written] = [offer(long, after), call(called), credit(), lane()];
            prop_assert_eq!(read(key, &offered, &[]), Some(Told::Offer { key, offer: long, after }));
            prop_assert_eq!(read(0, &written, &[]), Some(Told::Lane));
            prop_assert_eq!(read(which, &called_there, &[]), Some(Told::Call { which, slot: called }));
            prop_assert_eq!(read(which, &credited, &[]), Some(Told::Credit(which)));
        }

        /// Whatever a peer writes is read, or refused.
        #[test]
        fn nonsense_is_refused(address: u64, arguments: Arguments, bytes in 0usize..50) {
            let payload = vec![0; bytes];
            match read(address, &arguments, &payload) {
                Some(Told::Message { data, .. }) => prop_assert!(data.len() <= INLINE_MAX.max(bytes)),
                Some(Told::Offer { offer, .. }) => prop_assert!(offer.slot.is_none_or(|slot| slot < OFFER_SLOTS)),
                Some(Told::Call { slot, .. }) => prop_assert!((OFFER_SLOTS..SLOTS).contains(&slot)),
                Some(Told::Credit(_) | Told::Lane) | None => {}
            }
        }
    }
}
