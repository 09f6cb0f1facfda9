//! What stands before each message: who sends it, that it belongs to the job, which one it is, and what was heard so far.
//!
//! ```text
//!   0  mark      8   proves that the sender knows the job's secret; another one for each pair and direction
//!   8  from      4   the sender's rank
//!  12  number    4   of data: which one it is among those of the pair; else: of the next one
//!  16  heard     4   how many messages of data the sender has heard from the receiver
//!  20  kind      1
//!  21            3   zero
//! ```
//! Numbers begin at 0 and wrap around. The mark keeps out whoever does not know the secret; it does not keep anybody from listening,
//! nor whoever can change messages under way, as nothing does in these networks.

use aes::Aes256;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};

/// Bytes of a head.
pub const HEAD_BYTES: usize = 24;

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
    pub number: u32,
    pub heard: u32,
    pub kind: Kind,
}

impl Head {
    /// For the wire.
    pub fn encode(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..8].copy_from_slice(&self.mark.to_le_bytes());
        for (place, word) in bytes[8..20].chunks_exact_mut(4).zip([self.from, self.number, self.heard]) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes[20] = self.kind as u8;
        bytes
    }

    /// Reads a head, and gives what follows; `None` for what is none.
    pub fn decode(bytes: &[u8]) -> Option<(Head, &[u8])> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| head[at + byte]));
        let kind = match head[20..] {
            [0, 0, 0, 0] => Kind::Data,
            [1, 0, 0, 0] => Kind::Ask,
            [2, 0, 0, 0] => Kind::Answer,
            [3, 0, 0, 0] => Kind::Leave,
            _ => return None,
        };
        let mark = u64::from(word(0)) | u64::from(word(4)) << 32;
        Some((Head { mark, from: word(8), number: word(12), heard: word(16), kind }, rest))
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
            let head = Head { mark: u64::MAX - 5, from: 7, number: u32::MAX, heard: 9, kind };
            let mut bytes = head.encode().to_vec();
            bytes.extend(b"rest");
            assert_eq!(Head::decode(&bytes), Some((head, &b"rest"[..])));
            assert_eq!(Head::decode(&bytes[..HEAD_BYTES - 1]), None);
            bytes[20] = 4;
            assert_eq!(Head::decode(&bytes), None);
            bytes[20..22].copy_from_slice(&[0, 1]);
            assert_eq!(Head::decode(&bytes), None);
        }
    }

    #[test]
    fn each_direction_of_each_job_has_its_own_mark() {
        let (one, other) = (Marks::new(&[1; 32]), Marks::new(&[2; 32]));
        let all = [one.of(0, 1), one.of(1, 0), one.of(0, 2), other.of(0, 1)];
        assert!((1..4).all(|index| !all[..index].contains(&all[index])));
        assert_eq!(one.of(0, 1), Marks::new(&[1; 32]).of(0, 1));
    }
}
