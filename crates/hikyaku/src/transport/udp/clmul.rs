//! GHASH by carry-less multiplication, sixteen blocks at a time with one reduction: twice as fast as the `ghash` crate (at least 4.7
//! instead of 2.9 GB/s for 1,472 bytes, 5.4 instead of 2.7 for 65,000), which is used where the processor has no such instruction,
//! and which tests hold it against. Messages of 1 MB between two hosts on one machine are 1.3 times as fast by it.
//!
//! The arithmetic is that of Gueron (POLYVAL, RFC 8452): with the bytes of each block reversed, and the key multiplied by x, GHASH
//! is POLYVAL, whose reduction is two rounds of shifts. Products are made from three multiplications (Karatsuba); as they are
//! linear, those of sixteen blocks are added before they are reduced.

use core::arch::x86_64::{
    __m128i, _mm_clmulepi64_si128, _mm_loadu_si128, _mm_set_epi8, _mm_set_epi64x, _mm_setzero_si128, _mm_shuffle_epi8,
    _mm_shuffle_epi32, _mm_slli_epi64, _mm_srli_epi64, _mm_storeu_si128, _mm_unpacklo_epi64, _mm_xor_si128,
};

/// Blocks between two reductions: each waits for the one before, so few are better than many.
const STRIDE: usize = 16;

/// What is left behind the last stride at most: its blocks, of which one may be padded, and the length.
const REST: usize = STRIDE + 1;

/// The powers of a key, the highest first, each with the sum of its halves.
#[derive(Clone, Copy)]
pub struct Powers([(__m128i, __m128i); REST]);

/// Whether the processor has what [`Powers`] needs.
pub fn is_there() -> bool {
    is_x86_feature_detected!("pclmulqdq") && is_x86_feature_detected!("ssse3")
}

impl Powers {
    /// Of the hash key of GCM, or `None` where the processor cannot.
    pub fn new(key: [u8; 16]) -> Option<Powers> {
        // SAFETY: the processor has the instructions.
        is_there().then(|| unsafe { powers(key) })
    }

    /// GHASH of the bytes, padded with zeros to whole blocks, and then of their number in bits, as GMAC has it.
    pub fn hash(&self, bytes: &[u8]) -> [u8; 16] {
        // SAFETY: there are powers only where the processor has the instructions.
        unsafe { hash(&self.0, bytes) }
    }
}

#[target_feature(enable = "pclmulqdq,ssse3")]
fn powers(key: [u8; 16]) -> Powers {
    // Times x, in the field of POLYVAL.
    let key = u128::from_be_bytes(key);
    let carry = (key >> 127).wrapping_neg();
    let key = key << 1 ^ carry & (1 | 0xc2 << 120);
    let key = load(&key.to_le_bytes());
    let mut all = [(key, halves(key)); REST];
    for index in (0..REST - 1).rev() {
        let mut sum = Sum::new();
        sum.add(key, all[index + 1]);
        let power = sum.reduce();
        all[index] = (power, halves(power));
    }
    Powers(all)
}

#[target_feature(enable = "pclmulqdq,ssse3")]
fn hash(powers: &[(__m128i, __m128i); REST], bytes: &[u8]) -> [u8; 16] {
    let mut state = _mm_setzero_si128();
    let (strides, rest) = bytes.as_chunks::<{ 16 * STRIDE }>();
    for stride in strides {
        let mut sum = Sum::new();
        let blocks = stride.as_chunks::<16>().0;
        // By numbers: adapters of iterators are not compiled for this processor, and so not inlined here.
        let mut index = 1;
        while index < STRIDE {
            sum.add(reversed(load(&blocks[index])), powers[REST - STRIDE + index]);
            index += 1;
        }
        // Last, because the state comes late.
        sum.add(_mm_xor_si128(state, reversed(load(&blocks[0]))), powers[REST - STRIDE]);
        state = sum.reduce();
    }
    // What is left, with one reduction: most frames are short, and this is all of them.
    let (blocks, tail) = rest.as_chunks::<16>();
    let powers = &powers[REST - 1 - blocks.len() - usize::from(!tail.is_empty())..];
    let (of_blocks, behind) = powers.split_at(blocks.len());
    let mut sum = Sum::new();
    for (block, power) in blocks.iter().zip(of_blocks) {
        sum.add(reversed(load(block)), *power);
    }
    if !strides.is_empty() {
        sum.add(state, powers[0]);
    }
    if !tail.is_empty() {
        let mut padded = [0; 16];
        padded[..tail.len()].copy_from_slice(tail);
        sum.add(reversed(load(&padded)), behind[0]);
    }
    sum.add(_mm_set_epi64x(bytes.len() as i64 * 8, 0), behind[behind.len() - 1]);
    let mut result = [0; 16];
    // SAFETY: 16 bytes that may lie anywhere.
    unsafe { _mm_storeu_si128(result.as_mut_ptr().cast(), reversed(sum.reduce())) };
    result
}

/// Products that are not reduced yet: low, high, and the middle by Karatsuba.
struct Sum {
    low: __m128i,
    high: __m128i,
    middle: __m128i,
}

impl Sum {
    #[inline]
    #[target_feature(enable = "pclmulqdq,ssse3")]
    fn new() -> Sum {
        Sum { low: _mm_setzero_si128(), high: _mm_setzero_si128(), middle: _mm_setzero_si128() }
    }

    #[inline]
    #[target_feature(enable = "pclmulqdq,ssse3")]
    fn add(&mut self, value: __m128i, power: (__m128i, __m128i)) {
        self.low = _mm_xor_si128(self.low, _mm_clmulepi64_si128(value, power.0, 0x00));
        self.high = _mm_xor_si128(self.high, _mm_clmulepi64_si128(value, power.0, 0x11));
        self.middle = _mm_xor_si128(self.middle, _mm_clmulepi64_si128(halves(value), power.1, 0x00));
    }

    #[inline]
    #[target_feature(enable = "pclmulqdq,ssse3")]
    fn reduce(&self) -> __m128i {
        let middle = _mm_xor_si128(self.middle, _mm_xor_si128(self.low, self.high));
        let first = self.low;
        let second = _mm_xor_si128(swapped(self.low), middle);
        let third = _mm_xor_si128(self.high, swapped(middle));
        let fourth = swapped(self.high);
        let third = _mm_xor_si128(third, folded(first));
        let second = _mm_xor_si128(second, carried(first));
        let fourth = _mm_xor_si128(fourth, folded(second));
        let third = _mm_xor_si128(third, carried(second));
        _mm_unpacklo_epi64(third, fourth)
    }
}

#[inline]
#[target_feature(enable = "pclmulqdq,ssse3")]
fn folded(word: __m128i) -> __m128i {
    let far = _mm_xor_si128(_mm_srli_epi64(word, 2), _mm_srli_epi64(word, 7));
    _mm_xor_si128(_mm_xor_si128(word, _mm_srli_epi64(word, 1)), far)
}

#[inline]
#[target_feature(enable = "pclmulqdq,ssse3")]
fn carried(word: __m128i) -> __m128i {
    _mm_xor_si128(_mm_slli_epi64(word, 63), _mm_xor_si128(_mm_slli_epi64(word, 62), _mm_slli_epi64(word, 57)))
}

/// The sum of the halves, in the lower half.
#[inline]
#[target_feature(enable = "pclmulqdq,ssse3")]
fn halves(value: __m128i) -> __m128i {
    _mm_xor_si128(value, swapped(value))
}

/// The upper half in the place of the lower.
#[inline]
#[target_feature(enable = "pclmulqdq,ssse3")]
fn swapped(value: __m128i) -> __m128i {
    _mm_shuffle_epi32(value, 0x0e)
}

#[inline]
#[target_feature(enable = "pclmulqdq,ssse3")]
fn reversed(value: __m128i) -> __m128i {
    _mm_shuffle_epi8(value, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
}

#[inline]
#[target_feature(enable = "pclmulqdq,ssse3")]
fn load(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: 16 bytes that may lie anywhere.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghash::universal_hash::UniversalHash;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_hash_of_the_crate(key: [u8; 16], bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let mut theirs = ghash::GHash::new(&key.into());
            theirs.update_padded(&bytes);
            let mut lengths = [0; 16];
            lengths[..8].copy_from_slice(&(bytes.len() as u64 * 8).to_be_bytes());
            theirs.update(&[lengths.into()]);
            let theirs: [u8; 16] = theirs.finalize().into();
            if let Some(powers) = Powers::new(key) {
                prop_assert_eq!(powers.hash(&bytes), theirs);
            }
        }
    }
}
