//! Authentication: every frame ends up under a key of its direction, so that only ranks of the job can have written it.
//!
//! The code is GMAC with AES-256 (NIST SP 800-38D): a tag of 16 bytes over the whole frame. Its nonce is the number of the frame,
//! which no two frames under one key share: a key belongs to one direction of one pair and to one life of its sender.
//!
//! ```text
//!   secret of the job (256 bits)
//!     key of a pair      = AES(secret, [1, from, to]) || AES(secret, [2, from, to])
//!     key of a direction = AES(key of the pair, [1, life of the sender]) || AES(.., [2, life])
//! ```
//! Each block that goes through AES is unlike all others under its key, so what comes out is as good as random.
//!
//! A number is never used twice under a key. A line counts the frames it makes, with 64 bits, which do not wrap within any lifetime
//! of a process, and gives each another number: also one that carries the same data again, is an acknowledgement or a farewell,
//! or is not sent in the end (`tests_line`). Serial numbers, which wrap, are no part of it. There is one line to a rank in the
//! life of an endpoint, also after that rank was lost, and all ports of a rank share its endpoint. A new life, after a restart,
//! is a random number of 64 bits and gives new keys, and a new job has a new secret.
//!
//! Measured on one core of 2.5 GHz without VAES that others used too, so good for the order only; microseconds for 128 / 1,472 / 65,000
//! bytes: GHASH by the `ghash` crate 0.09 / 0.51 / 24, by `clmul` 0.05 / 0.31 / 12, SipHash-1-3 0.07 / 0.41 / 23, SipHash-2-4
//! 0.13 / 0.83 / 49, keyed BLAKE3 0.15 / 2.5 / 38, Poly1305 2.4 / 3.5 / 51. It is a standard, and the fastest where frames are long. On a
//! core with AVX-512: GHASH by `clmul`, 0.021 / 0.101 / 5.1 and with four lanes 0.020 / 0.055 / 2.2. GMAC adds one block of AES to
//! GHASH, which is as much as twice the GHASH of a short frame if it is made alone (0.057), so they are made in advance.

use super::{LIFE_BYTES, SECRET_BYTES};
use crate::planted::{Bug, planted};
use aes::Aes256;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use ghash::GHash;
use ghash::universal_hash::UniversalHash;

/// Bytes of a tag.
pub const TAG_BYTES: usize = 16;

/// Numbers whose masks are made at a time: sixteen take hardly longer than one, because each round waits for the one before.
const MASK_COUNT: usize = 16;

/// What seals or opens the frames of one direction.
pub struct Seal {
    cipher: Aes256,
    hash: Hash,
    /// What AES makes of the nonces of some numbers in a row, and which they are: their quotient by how many there are.
    masks: [u128; MASK_COUNT],
    masked: u64,
    /// Frames are neither sealed nor checked: for measuring what that costs.
    open: bool,
}

impl Seal {
    /// For frames of the rank `from` in this life to the rank `to`.
    pub fn new(secret: Option<&[u8; SECRET_BYTES]>, from: u32, to: u32, life: u64) -> Seal {
        let pair = {
            let cipher = Aes256::new(secret.unwrap_or(&[0; SECRET_BYTES]).into());
            derive(&cipher, |block| {
                let (from, to) = if planted(Bug::DirectionsAlike) { (from.min(to), from.max(to)) } else { (from, to) };
                block[4..8].copy_from_slice(&from.to_le_bytes());
                block[8..12].copy_from_slice(&to.to_le_bytes());
            })
        };
        let life = if planted(Bug::LivesAlike) { 0 } else { life };
        let key =
            derive(&Aes256::new(&pair.into()), |block| block[8..8 + LIFE_BYTES].copy_from_slice(&life.to_le_bytes()));
        let cipher = Aes256::new(&key.into());
        Seal::with(cipher, secret.is_none())
    }

    fn with(cipher: Aes256, open: bool) -> Seal {
        let hash = Hash::new(encrypt(&cipher, [0; 16]));
        let mut seal = Seal { cipher, hash, masks: [0; MASK_COUNT], masked: 0, open };
        seal.make_masks(0);
        seal
    }

    /// Whether frames are neither sealed nor checked.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// The tag of these bytes, the only ones that ever have this number.
    #[inline]
    pub fn tag(&mut self, number: u64, bytes: &[u8]) -> [u8; TAG_BYTES] {
        if self.open {
            return [0; TAG_BYTES];
        }
        let masked = number / MASK_COUNT as u64;
        if masked != self.masked {
            self.make_masks(masked);
        }
        let mask = self.masks[number as usize % MASK_COUNT];
        (u128::from_ne_bytes(self.hash.of(bytes)) ^ mask).to_ne_bytes()
    }

    #[inline(never)]
    fn make_masks(&mut self, masked: u64) {
        let mut blocks = std::array::from_fn::<_, MASK_COUNT, _>(|index| {
            let mut nonce = [0; 16];
            if !planted(Bug::NonceFixed) {
                nonce[..8].copy_from_slice(&(masked * MASK_COUNT as u64 + index as u64).to_be_bytes());
            }
            nonce[15] = 1;
            nonce.into()
        });
        self.cipher.encrypt_blocks(&mut blocks);
        self.masks = blocks.map(|block| u128::from_ne_bytes(block.into()));
        self.masked = masked;
    }

    /// Whether this is their tag. The time it takes does not tell how much of it is right.
    #[inline]
    pub fn is_tag(&mut self, tag: &[u8; TAG_BYTES], number: u64, bytes: &[u8]) -> bool {
        u128::from_ne_bytes(*tag) ^ u128::from_ne_bytes(self.tag(number, bytes)) == 0 || planted(Bug::TagUnread)
    }
}

/// GHASH, by the fastest way there is here.
enum Hash {
    #[cfg(target_arch = "x86_64")]
    Wide(Box<super::clmul::WidePowers>),
    #[cfg(target_arch = "x86_64")]
    Powers(Box<super::clmul::Powers>),
    Crate(Box<GHash>),
}

impl Hash {
    fn new(key: [u8; 16]) -> Hash {
        #[cfg(target_arch = "x86_64")]
        if let Some(powers) = super::clmul::WidePowers::new(key) {
            return Hash::Wide(Box::new(powers));
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(powers) = super::clmul::Powers::new(key) {
            return Hash::Powers(Box::new(powers));
        }
        Hash::Crate(Box::new(GHash::new(&key.into())))
    }

    /// Of the bytes and their number.
    fn of(&self, bytes: &[u8]) -> [u8; 16] {
        match self {
            #[cfg(target_arch = "x86_64")]
            Hash::Wide(powers) => powers.hash(bytes),
            #[cfg(target_arch = "x86_64")]
            Hash::Powers(powers) => powers.hash(bytes),
            Hash::Crate(hash) => {
                let mut hash = GHash::clone(hash);
                hash.update_padded(bytes);
                let mut lengths = [0; 16];
                lengths[..8].copy_from_slice(&(bytes.len() as u64 * 8).to_be_bytes());
                hash.update(&[lengths.into()]);
                hash.finalize().into()
            }
        }
    }
}

fn derive(cipher: &Aes256, fill: impl Fn(&mut [u8; 16])) -> [u8; SECRET_BYTES] {
    let half = |number| {
        let mut block = [0; 16];
        block[0] = number;
        fill(&mut block);
        encrypt(cipher, block)
    };
    let mut key = [0; SECRET_BYTES];
    key[..16].copy_from_slice(&half(1));
    key[16..].copy_from_slice(&half(2));
    key
}

fn encrypt(cipher: &Aes256, block: [u8; 16]) -> [u8; 16] {
    let mut block = block.into();
    cipher.encrypt_block(&mut block);
    block.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<const N: usize>(hex: &str) -> [u8; N] {
        std::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
    }

    /// GCM's own test case 13: nothing is authenticated, under a key and a nonce of zeros.
    #[test]
    fn published_examples_come_out() {
        let mut seal = Seal::with(Aes256::new(&[0; 32].into()), false);
        assert_eq!(seal.tag(0, &[]), bytes("530f8afbc74536b9a963b4f1c4cb738b"));
    }

    /// An example of NIST (CAVP, gcmEncryptExtIV256, no plaintext, 16 bytes beside it), by the parts that have other nonces.
    #[test]
    fn an_example_with_data_comes_out() {
        let key: [u8; 32] = bytes("78dc4e0aaf52d935c3c01eea57428f00ca1fd475f5da86a49c8dd73d68c8e223");
        let cipher = Aes256::new(&key.into());
        let mut seal = Seal::with(cipher.clone(), false);
        let mask = |nonce: [u8; 12]| {
            let mut block = [0; 16];
            block[..12].copy_from_slice(&nonce);
            block[15] = 1;
            u128::from_ne_bytes(encrypt(&cipher, block))
        };
        let (theirs, ours) = (mask(bytes("d79cf22d504cc793c3fb6c8a")), mask([0; 12]));
        let tag = u128::from_ne_bytes(seal.tag(0, &bytes::<16>("b96baa8c1c75a671bfb2d08d06be5f36"))) ^ ours ^ theirs;
        assert_eq!(tag.to_ne_bytes(), bytes("3e5d486aa2e30b22e040b85723a06e76"));
    }

    #[test]
    fn both_ways_to_hash_are_one() {
        for bytes in [&[][..], &[1; 15], &[2; 128], &[3; 1500]] {
            let slow = Hash::Crate(Box::new(GHash::new(&[9; 16].into())));
            assert_eq!(Hash::new([9; 16]).of(bytes), slow.of(bytes));
        }
    }

    #[test]
    fn planted_bugs_are_caught() {
        let bugs = [Bug::DirectionsAlike, Bug::LivesAlike, Bug::NonceFixed, Bug::TagUnread];
        crate::planted::catches(every_direction_life_secret_and_number_has_its_own_tags, &bugs);
    }

    #[test]
    fn every_direction_life_secret_and_number_has_its_own_tags() {
        let secrets = [[1; 32], [2; 32]];
        let mut tags = std::collections::HashSet::new();
        for secret in &secrets {
            for (from, to, life) in [(0, 1, 5), (1, 0, 5), (0, 2, 5), (0, 1, 6)] {
                let mut seal = Seal::new(Some(secret), from, to, life);
                for number in [0, 1, 16, 17, 1 << 60, u64::MAX] {
                    let tag = seal.tag(number, b"the bytes");
                    assert!(seal.is_tag(&tag, number, b"the bytes") && !seal.is_tag(&tag, number, b"the byteS"));
                    assert!(!seal.is_tag(&tag, number.wrapping_add(7), b"the bytes"));
                    assert!(tags.insert(tag));
                }
            }
        }
    }
}
