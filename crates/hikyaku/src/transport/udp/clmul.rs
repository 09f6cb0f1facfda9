//! GHASH by carry-less multiplication, many blocks at a time with one reduction. The `ghash` crate, which is used where the processor has
//! no such instruction, and which tests hold it against, takes twice as long as [`Powers`] here, and that twice as long or more as
//! [`WidePowers`], which multiplies four blocks by one instruction where the processor can. Long messages between hosts depend on it:
//! each byte is hashed at both ends.
//!
//! The arithmetic is that of Gueron (POLYVAL, RFC 8452): with the bytes of each block reversed, and the key multiplied by x, GHASH
//! is POLYVAL, whose reduction is two rounds of shifts. As products are linear, those of many blocks are added before they are reduced.

use core::arch::x86_64::{
    __m128i, __m512i, _mm_clmulepi64_si128, _mm_loadu_si128, _mm_set_epi8, _mm_set_epi64x, _mm_setzero_si128,
    _mm_shuffle_epi8, _mm_shuffle_epi32, _mm_slli_epi64, _mm_srli_epi64, _mm_storeu_si128, _mm_unpacklo_epi64,
    _mm_xor_si128, _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_xor_si256, _mm512_broadcast_i32x4,
    _mm512_castsi512_si256, _mm512_clmulepi64_epi128, _mm512_extracti64x4_epi64, _mm512_loadu_si512,
    _mm512_maskz_loadu_epi8, _mm512_setzero_si512, _mm512_shuffle_epi8, _mm512_ternarylogic_epi64, _mm512_xor_si512,
    _mm512_zextsi128_si512,
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
    let key = of_polyval(key);
    let mut all = [(key, halves(key)); REST];
    for index in (0..REST - 1).rev() {
        let mut sum = Sum::new();
        sum.add(key, all[index + 1]);
        let power = sum.reduce();
        all[index] = (power, halves(power));
    }
    Powers(all)
}

/// A key of GHASH as POLYVAL has it: times x.
#[target_feature(enable = "pclmulqdq,ssse3")]
fn of_polyval(key: [u8; 16]) -> __m128i {
    let key = u128::from_be_bytes(key);
    let carry = (key >> 127).wrapping_neg();
    load(&(key << 1 ^ carry & (1 | 0xc2 << 120)).to_le_bytes())
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
    store(reversed(sum.reduce()))
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

#[inline]
#[target_feature(enable = "pclmulqdq,ssse3")]
fn store(block: __m128i) -> [u8; 16] {
    let mut bytes = [0; 16];
    // SAFETY: 16 bytes that may lie anywhere.
    unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), block) };
    bytes
}

/// Blocks that are multiplied by one instruction, and between two reductions.
const LANES: usize = 4;
const WIDE_STRIDE: usize = 32;

/// The powers of a key, the highest first, and behind them zeros, so that as many as there are lanes can be read from each on.
#[derive(Clone, Copy)]
pub struct WidePowers([[u8; 16]; WIDE_STRIDE + 1 + LANES]);

impl WidePowers {
    /// Of the hash key of GCM, or `None` where the processor cannot.
    pub fn new(key: [u8; 16]) -> Option<WidePowers> {
        let is_there = is_there()
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("vpclmulqdq");
        // SAFETY: the processor has the instructions.
        is_there.then(|| unsafe { wide_powers(key) })
    }

    /// As [`Powers::hash`].
    #[inline]
    pub fn hash(&self, bytes: &[u8]) -> [u8; 16] {
        // SAFETY: there are powers only where the processor has the instructions.
        unsafe { wide_hash(self, bytes) }
    }
}

#[target_feature(enable = "pclmulqdq,ssse3")]
fn wide_powers(key: [u8; 16]) -> WidePowers {
    let key = of_polyval(key);
    let (mut all, mut power) = ([[0; 16]; WIDE_STRIDE + 1 + LANES], key);
    for index in (0..=WIDE_STRIDE).rev() {
        all[index] = store(power);
        let mut sum = Sum::new();
        sum.add(power, (key, halves(key)));
        power = sum.reduce();
    }
    WidePowers(all)
}

#[target_feature(enable = "pclmulqdq,ssse3,avx512f,avx512bw,vpclmulqdq")]
fn wide_hash(powers: &WidePowers, bytes: &[u8]) -> [u8; 16] {
    let mut state = _mm_setzero_si128();
    let (strides, rest) = bytes.as_chunks::<{ 16 * WIDE_STRIDE }>();
    for stride in strides {
        let mut sum = WideSum::new();
        // By numbers, as above. The first lanes come last, because the state comes late.
        let mut index = LANES;
        while index < WIDE_STRIDE {
            sum.add(&stride[16 * index..], state, false, powers, 1 + index);
            index += LANES;
        }
        sum.add(stride, state, true, powers, 1);
        state = sum.narrow().reduce();
    }
    // What is left and the length, with one reduction: most frames are short, and this is all of them.
    let blocks = rest.len().div_ceil(16);
    let mut sum = WideSum::new();
    let mut index = 0;
    while index < blocks {
        sum.add(&rest[16 * index..], state, index == 0, powers, WIDE_STRIDE - blocks + index);
        index += LANES;
    }
    let mut sum = sum.narrow();
    let length = _mm_set_epi64x(bytes.len() as i64 * 8, 0);
    let last = if blocks == 0 { _mm_xor_si128(length, state) } else { length };
    let key = load(&powers.0[WIDE_STRIDE]);
    sum.add(last, (key, halves(key)));
    store(reversed(sum.reduce()))
}

/// Products of all lanes that are neither added nor reduced yet: low, high, and the middle.
struct WideSum {
    low: __m512i,
    high: __m512i,
    middle: __m512i,
}

impl WideSum {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new() -> WideSum {
        WideSum { low: _mm512_setzero_si512(), high: _mm512_setzero_si512(), middle: _mm512_setzero_si512() }
    }

    /// The first blocks of these bytes, padded with zeros, by the powers from this one on. To the very first the state is added.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
    fn add(&mut self, bytes: &[u8], state: __m128i, is_first: bool, powers: &WidePowers, power: usize) {
        let order = _mm512_broadcast_i32x4(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
        let value = _mm512_shuffle_epi8(load_lanes(bytes), order);
        let value = if is_first { _mm512_xor_si512(value, _mm512_zextsi128_si512(state)) } else { value };
        let power = load_powers(powers, power);
        self.low = _mm512_xor_si512(self.low, _mm512_clmulepi64_epi128(value, power, 0x00));
        self.high = _mm512_xor_si512(self.high, _mm512_clmulepi64_epi128(value, power, 0x11));
        let (one, other) = (_mm512_clmulepi64_epi128(value, power, 0x01), _mm512_clmulepi64_epi128(value, power, 0x10));
        self.middle = _mm512_ternarylogic_epi64(self.middle, one, other, 0x96);
    }

    /// The sum of all lanes, in the form that Karatsuba's has.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn narrow(&self) -> Sum {
        let middle = _mm512_ternarylogic_epi64(self.middle, self.low, self.high, 0x96);
        Sum { low: sum_of_lanes(self.low), high: sum_of_lanes(self.high), middle: sum_of_lanes(middle) }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sum_of_lanes(lanes: __m512i) -> __m128i {
    let half = _mm256_xor_si256(_mm512_castsi512_si256(lanes), _mm512_extracti64x4_epi64(lanes, 1));
    _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1))
}

/// The first bytes, as many as there are lanes for, and zeros behind them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_lanes(bytes: &[u8]) -> __m512i {
    match bytes.first_chunk::<{ 16 * LANES }>() {
        // SAFETY: so many bytes, which may lie anywhere.
        Some(bytes) => unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) },
        // SAFETY: only the bytes that there are, fewer than 64, are read.
        None => unsafe { _mm512_maskz_loadu_epi8((1 << bytes.len()) - 1, bytes.as_ptr().cast()) },
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_powers(powers: &WidePowers, first: usize) -> __m512i {
    let powers: &[[u8; 16]; LANES] = powers.0[first..].first_chunk().expect("zeros lie behind the last");
    // SAFETY: as many bytes, which may lie anywhere.
    unsafe { _mm512_loadu_si512(powers.as_ptr().cast()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghash::universal_hash::UniversalHash;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_hash_of_the_crate(key: [u8; 16], bytes in proptest::collection::vec(any::<u8>(), 0..1700)) {
            let mut theirs = ghash::GHash::new(&key.into());
            theirs.update_padded(&bytes);
            let mut lengths = [0; 16];
            lengths[..8].copy_from_slice(&(bytes.len() as u64 * 8).to_be_bytes());
            theirs.update(&[lengths.into()]);
            let theirs: [u8; 16] = theirs.finalize().into();
            if let Some(powers) = Powers::new(key) {
                prop_assert_eq!(powers.hash(&bytes), theirs);
            }
            if let Some(powers) = WidePowers::new(key) {
                prop_assert_eq!(powers.hash(&bytes), theirs);
            }
        }
    }
}
