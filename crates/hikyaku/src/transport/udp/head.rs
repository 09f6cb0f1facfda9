//! What is on the wire: a head of 56 bytes, little-endian, and behind it data.
//!
//! ```text
//!   0  tag           16 bytes  over all the rest (`seal`)
//!  16  magic         2
//!  18  version       1
//!  19  kind          1    data, data that wants an answer, acknowledgement, probe, request, farewell; data may be a part
//!  20  from          4    the rank that sent it
//!  24  life          8    of that rank's endpoint: the epoch of this direction of the link
//!  32  number        8    of the frame; the next one has another, also when it carries the same again
//!  40  heard         4    the lower bits of the highest number that its sender has from the receiver, and one
//!  44  serial        4    of the data; the first one requested
//!  48  acknowledged  4    the serial that its sender waits for
//!  52  count         4    bytes of the data; how many are requested
//!  56  data               whole messages one after the other, or a part of one: the parts of a message come in order
//! ```

use super::seal::{Seal, TAG_BYTES};
use crate::transport::reliable::Body;
use crate::transport::reliable::serial::Serial;

/// Bytes before the data.
pub const HEAD_BYTES: usize = 56;
const MAGIC: [u8; 2] = *b"hu";
const VERSION: u8 = 1;

const DATA: u8 = 0;
const ACKNOWLEDGEMENT: u8 = 1;
const REQUEST: u8 = 2;
const FAREWELL: u8 = 3;
const KIND: u8 = 0x0f;
const ANSWER: u8 = 0x10;
const PART: u8 = 0x20;

/// A head, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub from: u32,
    pub life: u64,
    pub number: u64,
    pub heard: u32,
    pub acknowledged: Serial,
    pub what: What,
}

/// What a frame says beside that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Something of the link. Its data are a part of a message, or whole ones.
    Link { body: Body<()>, part: bool },
    /// The sender has left; all it sent was acknowledged.
    Farewell,
}

impl Head {
    /// Writes the head before the data of a frame, and seals both.
    #[inline]
    pub fn write(&self, frame: &mut [u8], seal: &mut Seal) {
        let data_bytes = frame.len() - HEAD_BYTES;
        self.put(of_frame(frame), data_bytes);
        let (tag, rest) = frame.split_at_mut(TAG_BYTES);
        tag.copy_from_slice(&seal.tag(self.number, rest));
    }

    /// Writes the head of a frame that is not sealed, and whose data of so many bytes may lie elsewhere.
    pub fn write_open(&self, head: &mut [u8], data_bytes: usize) {
        self.put(of_frame(head), data_bytes);
        head[..TAG_BYTES].fill(0);
    }

    #[inline(always)]
    fn put(&self, head: &mut [u8; HEAD_BYTES], data_bytes: usize) {
        let (kind, serial, count) = match self.what {
            What::Link { body: Body::Data { serial, answer, .. }, part } => {
                (DATA | flag(ANSWER, answer) | flag(PART, part), serial.0, data_bytes as u32)
            }
            What::Link { body: Body::Acknowledgement { answer }, .. } => (ACKNOWLEDGEMENT | flag(ANSWER, answer), 0, 0),
            What::Link { body: Body::Request { first, count }, .. } => (REQUEST, first.0, count),
            What::Farewell => (FAREWELL, 0, 0),
        };
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let kind = u32::from_le_bytes([MAGIC[0], MAGIC[1], VERSION, kind]);
        let words =
            [pair(kind, self.from), self.life, self.number, pair(self.heard, serial), pair(self.acknowledged.0, count)];
        let (places, _) = head[TAG_BYTES..].as_chunks_mut::<8>();
        for (place, word) in places.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
    }

    /// Reads the head of what came from the wire; `None` for what is no frame. Nothing of it is true before [`is_sealed`].
    #[inline]
    pub fn read(frame: &[u8]) -> Option<Head> {
        let head = frame.first_chunk::<HEAD_BYTES>()?;
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        if head[16..18] != MAGIC || head[18] != VERSION {
            return None;
        }
        let (serial, count, has_data) = (Serial(word(44)), word(52), frame.len() > HEAD_BYTES);
        let (answer, part) = (head[19] & ANSWER != 0, head[19] & PART != 0);
        let what = match head[19] & KIND {
            DATA if count as usize == frame.len() - HEAD_BYTES => {
                What::Link { body: Body::Data { serial, answer, message: () }, part }
            }
            ACKNOWLEDGEMENT if serial.0 == 0 && count == 0 && !has_data && !part => {
                What::Link { body: Body::Acknowledgement { answer }, part }
            }
            REQUEST if !has_data && !part && !answer => {
                What::Link { body: Body::Request { first: serial, count }, part }
            }
            FAREWELL if serial.0 == 0 && count == 0 && !has_data && !part && !answer => What::Farewell,
            _ => return None,
        };
        let known = KIND | ANSWER | PART;
        (head[19] & !known == 0).then_some(Head {
            from: word(20),
            life: long(24),
            number: long(32),
            heard: word(40),
            acknowledged: Serial(word(48)),
            what,
        })
    }
}

/// How long the first of the frames is that came in one piece: all are but the last, which may be shorter. It is their heads that
/// say so, which saves asking the kernel for it each time; if they lie, none of the frames is sealed.
pub fn first_bytes(frames: &[u8]) -> usize {
    let Some(head) = frames.first_chunk::<HEAD_BYTES>() else { return frames.len() };
    let data = if head[19] & KIND == DATA { u32::from_le_bytes([head[52], head[53], head[54], head[55]]) } else { 0 };
    HEAD_BYTES.saturating_add(data as usize)
}

/// Whether a datagram says that it is an acknowledgement of this rank alone. That is not true before [`is_sealed`].
pub fn is_acknowledgement(frame: &[u8], from: u32) -> bool {
    frame.len() == HEAD_BYTES && frame[19] & KIND == ACKNOWLEDGEMENT && frame[20..24] == from.to_le_bytes()
}

/// Whether a frame was sealed so. It is as long as a head at least.
#[inline]
pub fn is_sealed(frame: &[u8], number: u64, seal: &mut Seal) -> bool {
    frame.split_first_chunk::<TAG_BYTES>().is_some_and(|(tag, rest)| seal.is_tag(tag, number, rest))
}

/// Where the head of a frame is, which is as long as a head at least.
fn of_frame(frame: &mut [u8]) -> &mut [u8; HEAD_BYTES] {
    frame.first_chunk_mut().expect("a frame has a head")
}

fn flag(bit: u8, is_set: bool) -> u8 {
    if is_set { bit } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn what() -> impl Strategy<Value = What> {
        let link = |body, part| What::Link { body, part };
        prop_oneof![
            (any::<u32>(), any::<bool>(), any::<bool>()).prop_map(move |(serial, answer, part)| link(
                Body::Data { serial: Serial(serial), answer, message: () },
                part
            )),
            any::<bool>().prop_map(move |answer| link(Body::Acknowledgement { answer }, false)),
            (any::<u32>(), any::<u32>())
                .prop_map(move |(first, count)| link(Body::Request { first: Serial(first), count }, false)),
            Just(What::Farewell),
        ]
    }

    fn head() -> impl Strategy<Value = Head> {
        (any::<(u32, u64, u64, u32, u32)>(), what()).prop_map(|((from, life, number, heard, acknowledged), what)| {
            Head { from, life, number, heard, acknowledged: Serial(acknowledged), what }
        })
    }

    proptest! {
        #[test]
        fn a_head_comes_back_and_nothing_is_read_in_two_ways(head in head(), noise in proptest::collection::vec((0..HEAD_BYTES, any::<u8>()), 0..4)) {
            let mut seal = Seal::new(Some(&[3; 32]), 0, 1, 2);
            let mut frame = [0; HEAD_BYTES];
            head.write(&mut frame, &mut seal);
            prop_assert_eq!(Head::read(&frame), Some(head));
            prop_assert!(is_sealed(&frame, head.number, &mut seal));
            let before = frame;
            noise.iter().for_each(|(at, value)| frame[*at] = *value);
            prop_assert_eq!(is_sealed(&frame, head.number, &mut seal), frame == before);
            if let Some(read) = Head::read(&frame) {
                let mut again = [0; HEAD_BYTES];
                read.write(&mut again, &mut seal);
                prop_assert_eq!(&again[TAG_BYTES..], &frame[TAG_BYTES..]);
            }
            prop_assert_eq!(Head::read(&frame[..HEAD_BYTES - 1]), None);
        }
    }
}
