//! What stands before each message: who sends it, that it belongs to the job, which one it is, and what was heard so far.
//!
//! ```text
//!   0  mark      8        proves that the sender knows the job's secret; another one for each pair and direction
//!   8  heard     4        how many messages of data the sender has heard from the receiver
//!  12  number    2        of data: which one it is among those of the pair; else: of the next one; the lower bits
//!  14  kind      1        and in bits 2 and 3, how many bytes of `from` follow the first
//!  15  from      1 to 4   the sender's rank
//! ```
//! Numbers begin at 0 and wrap around. Of two messages neither comes before so many others that the lower bits of a number would not tell
//! which it is: those that come early lie in the frames of the receiver, of which there are few. The mark keeps out whoever does not
//! know the secret; it does not keep anybody from listening, nor whoever can change messages under way, as nothing does in these
//! networks. Short messages are taken by libfabric at once if they have no more than 64 bytes, or so, so nothing here is longer than
//! it must be.

use aes::Aes256;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};

/// Bytes of the longest head.
pub const HEAD_BYTES_MAX: usize = FROM + 4;
/// Where the sender's rank begins.
const FROM: usize = 15;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A packet of the interface.
    Data,
    /// Asks for an answer.
    Ask,
    /// Answers.
    Answer,
    /// The sender leaves, after what it has sent before.
    Leave,
}

/// What stands before a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub mark: u64,
    pub from: u32,
    pub number: u16,
    pub heard: u32,
    pub kind: Kind,
}

/// A head for the wire; it can be read as bytes.
#[derive(Clone, Copy)]
pub struct Encoded {
    bytes: [u8; HEAD_BYTES_MAX],
    length: usize,
}

impl std::ops::Deref for Encoded {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Bytes of a head of a rank.
pub fn head_bytes(from: u32) -> usize {
    FROM + (u32::BITS - from.leading_zeros()).div_ceil(8).max(1) as usize
}

impl Head {
    /// For the wire.
    pub fn encode(&self) -> Encoded {
        let length = head_bytes(self.from);
        let mut bytes = [0; HEAD_BYTES_MAX];
        bytes[..8].copy_from_slice(&self.mark.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.heard.to_le_bytes());
        bytes[12..14].copy_from_slice(&self.number.to_le_bytes());
        bytes[14] = self.kind as u8 | ((length - FROM - 1) as u8) << 2;
        bytes[FROM..].copy_from_slice(&self.from.to_le_bytes());
        Encoded { bytes, length }
    }

    /// Reads a head, and gives what follows; `None` for what is none.
    pub fn decode(bytes: &[u8]) -> Option<(Head, &[u8])> {
        let (head, rest) = bytes.split_first_chunk::<FROM>()?;
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| head[at + byte]));
        let kind = match head[14] & 3 {
            0 => Kind::Data,
            1 => Kind::Ask,
            2 => Kind::Answer,
            _ => Kind::Leave,
        };
        // Bits that nobody sets make it too long.
        let (rank, rest) = rest.split_at_checked(usize::from(head[14] >> 2) + 1)?;
        let mut from = [0; 4];
        from.get_mut(..rank.len())?.copy_from_slice(rank);
        let from = u32::from_le_bytes(from);
        let (mark, number) = (u64::from(word(0)) | u64::from(word(4)) << 32, u16::from_le_bytes([head[12], head[13]]));
        let is_shortest = FROM + rank.len() == head_bytes(from);
        is_shortest.then_some((Head { mark, from, number, heard: word(8), kind }, rest))
    }
}

/// Makes marks from the job's secret.
pub struct Marks(Aes256);

impl Marks {
    /// Of a job.
    pub fn new(secret: &[u8; 32]) -> Marks {
        Marks(Aes256::new(&Array::from(*secret)))
    }

    /// Of messages from one rank to another.
    pub fn of(&self, from: u32, to: u32) -> u64 {
        let mut rest = [0; 8];
        rest[..4].copy_from_slice(&from.to_le_bytes());
        rest[4..].copy_from_slice(&to.to_le_bytes());
        self.number(b"hikyaku\0", rest)
    }

    /// Of memory of a rank: which one of those that it has registered.
    pub fn key(&self, rank: u32, number: u64) -> u64 {
        let mut rest = number.to_le_bytes();
        rest[4..].copy_from_slice(&rank.to_le_bytes());
        self.number(b"memory\0\0", rest)
    }

    /// A number that nobody can guess who does not know the secret.
    fn number(&self, what: &[u8; 8], rest: [u8; 8]) -> u64 {
        let mut block = [0; 16];
        block[..8].copy_from_slice(what);
        block[8..].copy_from_slice(&rest);
        let mut block = Array::from(block);
        self.0.encrypt_block(&mut block);
        u64::from_le_bytes(std::array::from_fn(|byte| block[byte]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_again() {
        for kind in [Kind::Data, Kind::Ask, Kind::Answer, Kind::Leave] {
            for (from, length) in [(0, 16), (255, 16), (256, 17), (70_000, 18), (u32::MAX, 19)] {
                let head = Head { mark: u64::MAX - 5, from, number: u16::MAX, heard: 9, kind };
                let mut bytes = head.encode().to_vec();
                assert_eq!((bytes.len(), head_bytes(from)), (length, length));
                bytes.extend(b"rest");
                assert_eq!(Head::decode(&bytes), Some((head, &b"rest"[..])));
                for cut in 0..length {
                    assert_eq!(Head::decode(&bytes[..cut]), None);
                }
                bytes[14] |= 16;
                assert_eq!(Head::decode(&bytes), None, "bits that nobody sets");
            }
        }
        let mut longer = Head { mark: 1, from: 256, number: 2, heard: 3, kind: Kind::Data }.encode().to_vec();
        longer[16] = 0;
        assert_eq!(Head::decode(&longer), None, "a rank of two bytes that needs one");
    }

    #[test]
    fn each_direction_of_each_job_has_its_own_mark() {
        let (one, other) = (Marks::new(&[1; 32]), Marks::new(&[2; 32]));
        let all = [one.of(0, 1), one.of(1, 0), one.of(0, 2), other.of(0, 1)];
        assert!((1..4).all(|index| !all[..index].contains(&all[index])));
        assert_eq!(one.of(0, 1), Marks::new(&[1; 32]).of(0, 1));
    }
}
