//! What is on the wire: a head of 28 bytes, little-endian, and a message if the frame carries one.
//!
//! ```text
//!   0  magic         2 bytes
//!   2  version       1
//!   3  kind          1    data, data that wants an answer, acknowledgement, request, probe
//!   4  serial        4    of the data; the first one requested
//!   8  acknowledged  4    the number the sender of this frame waits for: all before it were taken
//!  12  number        4    bytes of data; how many are requested
//!  16  epoch         8    the life of the link that the frame belongs to
//!  24  checksum      4    CRC-32C of all the rest
//!  28  message
//! ```

use super::checksum::crc32c;
use super::serial::Serial;
use crate::planted::{Bug, planted};

/// Bytes before the message.
pub const HEAD_BYTES: usize = 28;
const CHECKSUM_AT: usize = 24;
const MAGIC: u16 = u16::from_le_bytes(*b"hk");
const VERSION: u8 = 1;

const DATA: u8 = 0;
const DATA_ANSWER: u8 = 1;
const ACKNOWLEDGEMENT: u8 = 2;
const REQUEST: u8 = 3;
const PROBE: u8 = 4;

/// A frame, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The life of the link.
    pub epoch: u64,
    /// The number that the sender of this frame waits for in the other direction.
    pub acknowledged: Serial,
    /// What else it says.
    pub body: Body<&'a [u8]>,
}

/// What a frame says beside its acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<M> {
    /// A message.
    Data {
        /// Its number.
        serial: Serial,
        /// The sender has waited for too long and wants to know now what is missing.
        answer: bool,
        /// Its bytes.
        message: M,
    },
    /// Nothing.
    Acknowledgement {
        /// The sender wants to be answered: it has heard nothing for long.
        answer: bool,
    },
    /// These have not come, but later ones have.
    Request {
        /// The first of them.
        first: Serial,
        /// How many, counted upwards.
        count: u32,
    },
}

/// Why bytes are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than a head, or not as long as the head says.
    Length,
    /// Not of this protocol and version.
    Magic,
    /// Damaged.
    Checksum,
    /// Whole, but not what this version sends.
    Kind,
}

impl<'a> Frame<'a> {
    /// The bytes for the wire.
    ///
    /// # Panics
    /// With a message of 4 GiB or more; links refuse those before.
    pub fn encode(&self) -> Vec<u8> {
        let (kind, serial, number, message) = match self.body {
            Body::Data { serial, answer, message } => {
                let bytes = u32::try_from(message.len()).expect("links limit messages");
                (if answer { DATA_ANSWER } else { DATA }, serial, bytes, message)
            }
            Body::Acknowledgement { answer } => (if answer { PROBE } else { ACKNOWLEDGEMENT }, Serial(0), 0, &[][..]),
            Body::Request { first, count } => (REQUEST, first, count, &[][..]),
        };
        let mut bytes = Vec::with_capacity(HEAD_BYTES + message.len());
        bytes.extend_from_slice(&MAGIC.to_le_bytes());
        bytes.extend_from_slice(&[VERSION, kind]);
        bytes.extend_from_slice(&serial.0.to_le_bytes());
        bytes.extend_from_slice(&self.acknowledged.0.to_le_bytes());
        bytes.extend_from_slice(&number.to_le_bytes());
        bytes.extend_from_slice(&self.epoch.to_le_bytes());
        let checksum = crc32c(&[&bytes, message]);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes.extend_from_slice(message);
        bytes
    }

    /// Reads what came from the wire. Only what [`Frame::encode`] could have written is a frame.
    pub fn decode(bytes: &'a [u8]) -> Result<Frame<'a>, Malformed> {
        let (head, message) = bytes.split_first_chunk::<HEAD_BYTES>().ok_or(Malformed::Length)?;
        if head[..2] != MAGIC.to_le_bytes() || head[2] != VERSION {
            return Err(Malformed::Magic);
        }
        let checksum = u32::from_le_bytes(field(head, CHECKSUM_AT));
        if checksum != crc32c(&[&head[..CHECKSUM_AT], message]) && !planted(Bug::ChecksumUnread) {
            return Err(Malformed::Checksum);
        }
        let serial = Serial(u32::from_le_bytes(field(head, 4)));
        let number = u32::from_le_bytes(field(head, 12));
        let data_bytes = if matches!(head[3], DATA | DATA_ANSWER) { number as usize } else { 0 };
        if message.len() != data_bytes {
            return Err(Malformed::Length);
        }
        let body = match head[3] {
            kind @ (DATA | DATA_ANSWER) => Body::Data { serial, answer: kind == DATA_ANSWER, message },
            kind @ (ACKNOWLEDGEMENT | PROBE) if serial.0 == 0 && number == 0 => {
                Body::Acknowledgement { answer: kind == PROBE }
            }
            REQUEST => Body::Request { first: serial, count: number },
            _ => return Err(Malformed::Kind),
        };
        let acknowledged = Serial(u32::from_le_bytes(field(head, 8)));
        Ok(Frame { epoch: u64::from_le_bytes(field(head, 16)), acknowledged, body })
    }
}

fn field<const N: usize>(head: &[u8; HEAD_BYTES], at: usize) -> [u8; N] {
    core::array::from_fn(|i| head[at + i])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A frame with room for its message.
    fn parts() -> impl Strategy<Value = (u64, u32, u32, u32, u8, Vec<u8>)> {
        (any::<u64>(), any::<u32>(), any::<u32>(), any::<u32>(), 0..5u8, proptest::collection::vec(any::<u8>(), 0..200))
    }

    fn frame((epoch, acknowledged, serial, count, kind, message): &(u64, u32, u32, u32, u8, Vec<u8>)) -> Frame<'_> {
        let body = match *kind {
            ACKNOWLEDGEMENT | PROBE => Body::Acknowledgement { answer: *kind == PROBE },
            REQUEST => Body::Request { first: Serial(*serial), count: *count },
            kind => Body::Data { serial: Serial(*serial), answer: kind == DATA_ANSWER, message: &message[..] },
        };
        Frame { epoch: *epoch, acknowledged: Serial(*acknowledged), body }
    }

    /// Puts the right checksum into bytes that were changed, as a hostile peer could.
    fn seal(bytes: &mut [u8]) {
        let checksum = crc32c(&[&bytes[..CHECKSUM_AT], &bytes[HEAD_BYTES..]]);
        bytes[CHECKSUM_AT..HEAD_BYTES].copy_from_slice(&checksum.to_le_bytes());
    }

    proptest! {
        #[test]
        fn a_frame_comes_back(parts in parts()) {
            let frame = frame(&parts);
            let bytes = frame.encode();
            prop_assert_eq!(Frame::decode(&bytes), Ok(frame));
        }

        /// Whatever is accepted is what the sender would have written: nothing is read in two ways.
        #[test]
        fn any_bytes_are_a_frame_or_an_error(parts in parts(), noise in proptest::collection::vec(any::<(prop::sample::Index, u8)>(), 0..8), length: prop::sample::Index, sealed: bool) {
            let mut bytes = frame(&parts).encode();
            for (at, value) in noise {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            if length.index(4) == 0 {
                bytes.truncate(length.index(bytes.len()));
            }
            if sealed && bytes.len() >= HEAD_BYTES {
                seal(&mut bytes);
            }
            if let Ok(frame) = Frame::decode(&bytes) {
                prop_assert_eq!(frame.encode(), bytes);
            }
        }

        #[test]
        fn three_flipped_bits_are_always_noticed(parts in parts(), bits in proptest::collection::vec(any::<prop::sample::Index>(), 1..=3)) {
            let mut bytes = frame(&parts).encode();
            let places: std::collections::BTreeSet<usize> = bits.iter().map(|bit| bit.index(bytes.len() * 8)).collect();
            for place in places {
                bytes[place / 8] ^= 1 << (place % 8);
            }
            prop_assert!(Frame::decode(&bytes).is_err());
        }
    }

    #[test]
    fn each_kind_of_nonsense_has_its_name() {
        let data = Frame {
            epoch: 1,
            acknowledged: Serial(2),
            body: Body::Data { serial: Serial(3), answer: false, message: b"four" },
        }
        .encode();
        let changed = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = data.clone();
            change(&mut bytes);
            if bytes.len() >= HEAD_BYTES {
                seal(&mut bytes);
            }
            Frame::decode(&bytes).map(|_| ())
        };
        assert_eq!(changed(&|_| ()), Ok(()));
        assert_eq!(changed(&|bytes| bytes.truncate(HEAD_BYTES - 1)), Err(Malformed::Length));
        assert_eq!(changed(&|bytes| bytes.truncate(HEAD_BYTES + 3)), Err(Malformed::Length));
        assert_eq!(changed(&|bytes| bytes.push(0)), Err(Malformed::Length));
        assert_eq!(changed(&|bytes| bytes[12..16].fill(0xff)), Err(Malformed::Length));
        assert_eq!(changed(&|bytes| bytes[3] = ACKNOWLEDGEMENT), Err(Malformed::Length));
        assert_eq!(changed(&|bytes| bytes[0] = 0), Err(Malformed::Magic));
        assert_eq!(changed(&|bytes| bytes[2] = VERSION + 1), Err(Malformed::Magic));
        let short = |kind: u8| {
            changed(&|bytes| {
                bytes.truncate(HEAD_BYTES);
                bytes[3] = kind;
            })
        };
        assert_eq!(short(ACKNOWLEDGEMENT), Err(Malformed::Kind), "an acknowledgement has no serial number");
        assert_eq!(short(REQUEST), Ok(()));
        assert_eq!(short(PROBE), Err(Malformed::Kind), "nor has a probe");
        assert_eq!(short(PROBE + 1), Err(Malformed::Kind));
    }
}
