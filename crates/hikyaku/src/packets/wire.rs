//! What ranks tell each other about their messages: one active message each.
//!
//! ```text
//!              address   arguments
//!   a packet   tag       kind, number, bytes of its message, where in it this begins    up to 16 bytes, or else they are the payload
//!   taken      number    kind
//!   refused    number    kind
//!   again      number    kind
//! ```

use crate::ni::{Arguments, PAYLOAD_MAX};

/// The most of a message in a packet.
pub(super) const PACKET_BYTES: usize = PAYLOAD_MAX;
/// What needs no payload.
const INLINE_MAX: usize = 16;

/// A part of a message, or all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet<'m> {
    /// How many its sender has sent before, to this receiver.
    pub number: u64,
    pub tag: u64,
    /// Bytes of the message.
    pub whole: usize,
    /// Where in it the data begin.
    pub from: usize,
    pub data: &'m [u8],
}

/// What a receiver says of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// All messages before this one have arrived.
    Taken(u64),
    /// There was no room for this one. All behind it are dropped.
    Refused(u64),
    /// Now there is.
    Again(u64),
}

/// What comes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told<'m> {
    Packet(Packet<'m>),
    Answer(Answer),
}

const PACKET: u64 = 0;
const TAKEN: u64 = 1;
const REFUSED: u64 = 2;
const AGAIN: u64 = 3;

impl<'m> Packet<'m> {
    /// Address, arguments and payload.
    #[inline]
    pub fn words(self) -> (u64, Arguments, &'m [u8]) {
        let is_inline = self.data.len() <= INLINE_MAX;
        let head = PACKET | (if is_inline { self.data.len() as u64 } else { 0 }) << 8;
        let mut arguments = [head, self.number, self.whole as u64, self.from as u64, 0, 0];
        if is_inline {
            bytemuck::bytes_of_mut(&mut arguments)[32..][..self.data.len()].copy_from_slice(self.data);
        }
        (self.tag, arguments, if is_inline { &[] } else { self.data })
    }
}

impl Answer {
    /// Address and arguments.
    pub fn words(self) -> (u64, Arguments) {
        let (kind, number) = match self {
            Answer::Taken(number) => (TAKEN, number),
            Answer::Refused(number) => (REFUSED, number),
            Answer::Again(number) => (AGAIN, number),
        };
        (number, [kind, 0, 0, 0, 0, 0])
    }
}

/// Reads what came; `None` for what no rank says.
#[inline]
pub(super) fn read<'m>(address: u64, arguments: &'m Arguments, payload: &'m [u8]) -> Option<Told<'m>> {
    let (kind, inline) = (arguments[0] & 0xff, (arguments[0] >> 8) as usize);
    match kind {
        PACKET => {
            let [whole, from] = [arguments[2], arguments[3]].map(|bytes| usize::try_from(bytes).ok());
            let (whole, from) = (whole.filter(|whole| *whole <= isize::MAX as usize)?, from?);
            let data = match payload.is_empty() {
                true => bytemuck::bytes_of(arguments)[32..].get(..inline)?,
                false => payload,
            };
            let is_part =
                from.checked_add(data.len()).is_some_and(|end| end <= whole) && (whole == 0 || !data.is_empty());
            is_part.then_some(Told::Packet(Packet { number: arguments[1], tag: address, whole, from, data }))
        }
        TAKEN => Some(Told::Answer(Answer::Taken(address))),
        REFUSED => Some(Told::Answer(Answer::Refused(address))),
        AGAIN => Some(Told::Answer(Answer::Again(address))),
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
            number: u64,
            tag: u64,
            data in proptest::collection::vec(any::<u8>(), 0..100),
            before in 0usize..1000,
            behind in 0usize..1000,
        ) {
            let from = if data.is_empty() { 0 } else { before };
            let whole = if data.is_empty() { 0 } else { before + data.len() + behind };
            let packet = Packet { number, tag, whole, from, data: &data };
            let (address, arguments, payload) = packet.words();
            prop_assert_eq!(read(address, &arguments, payload), Some(Told::Packet(packet)));
            for answer in [Answer::Taken(number), Answer::Refused(number), Answer::Again(number)] {
                let (address, arguments) = answer.words();
                prop_assert_eq!(read(address, &arguments, &[]), Some(Told::Answer(answer)));
            }
        }

        /// Whatever a peer writes is read, or refused; what is read is a part of its message.
        #[test]
        fn nonsense_is_refused(address: u64, arguments: Arguments, kind in 0u64..5, inline in 0u64..20, bytes in 0usize..50) {
            let mut arguments = arguments;
            arguments[0] = kind | inline << 8;
            if let Some(Told::Packet(packet)) = read(address, &arguments, &vec![0; bytes]) {
                prop_assert!(packet.from <= packet.whole && packet.data.len() <= packet.whole - packet.from);
            }
        }
    }
}
