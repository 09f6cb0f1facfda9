//! Parts of a range as one message: packed by the sender, and put in their places by the receiver.

use crate::error::{Error, Result};
use crate::memory::parts::marks::Marks;
use crate::memory::parts::{copy_blocks, pack_marked, unpack_marked};
use crate::ni::{changed_units, check_units, copy_units};

/// Which parts of a range are in a message. Every length is in bytes.
#[derive(Clone, Debug)]
pub enum Parts {
    /// Blocks of equal length, of which each begins a distance after the one before.
    Blocks {
        /// Bytes of each.
        block: usize,
        /// From one to the next.
        distance: usize,
        /// How many.
        count: usize,
    },
    /// Units that bits mark: unit `n` by bit `n % 64` of word `n / 64`.
    Marked {
        /// Bytes of each.
        unit: usize,
        /// How many there are, marked or not.
        units: usize,
        /// The bits.
        words: Box<[u64]>,
    },
    /// Units that have changed. The message itself says which: it begins with the number of units and a bit for each.
    Changes {
        /// Bytes of each.
        unit: usize,
        /// How many there are, changed or not.
        units: usize,
    },
}

const WORD: usize = size_of::<u64>();

impl Parts {
    /// Changes of so many bytes. Fails if they are no whole number of units.
    pub fn changes(bytes: usize, unit: usize) -> Result<Parts> {
        check_units(bytes, unit)?;
        Ok(Parts::Changes { unit, units: bytes / unit })
    }

    /// How long the message is; of changes, how long it can be.
    pub fn bytes(&self) -> usize {
        match self {
            Parts::Blocks { block, count, .. } => block.saturating_mul(*count),
            Parts::Marked { unit, units, words } => unit.saturating_mul(Marks::new(words, *units).count()),
            Parts::Changes { unit, units } => unit.saturating_mul(*units).saturating_add(head_bytes(*units)),
        }
    }

    /// How many bytes there are from the first of the range to the last of its parts.
    pub fn span(&self) -> usize {
        match self {
            Parts::Blocks { count: 0, .. } => 0,
            Parts::Blocks { block, distance, count } => (count - 1).saturating_mul(*distance).saturating_add(*block),
            Parts::Marked { unit, units, .. } | Parts::Changes { unit, units } => unit.saturating_mul(*units),
        }
    }

    /// The message. Changes are packed by [`pack_changes`].
    ///
    /// # Safety
    /// All parts can be read from `from` on; others may change them meanwhile.
    pub unsafe fn pack(&self, from: *const u8) -> Box<[u8]> {
        let mut packed = Box::new_uninit_slice(self.bytes());
        let into = packed.as_mut_ptr().cast();
        match self {
            // SAFETY: the caller's promise; the message has room for all of them.
            Parts::Blocks { block, distance, count } => unsafe {
                copy_blocks((into, *block), (from, *distance), *block, *count);
            },
            // SAFETY: as above.
            Parts::Marked { unit, units, words } => unsafe {
                pack_marked(into, from, *unit, Marks::new(words, *units));
            },
            Parts::Changes { .. } => unreachable!("packed with their twin"),
        }
        // SAFETY: it is as long as all parts together, one behind the other.
        unsafe { packed.assume_init() }
    }

    /// Puts a message, which may be shorter, in its place: as many parts as it has, the last one perhaps not whole. Fails if it is
    /// not one of changes to as many units.
    ///
    /// # Safety
    /// All parts can be written from `into` on, and no message is longer than [`Parts::bytes`].
    pub(super) unsafe fn unpack(&self, packed: &[u8], into: *mut u8) -> Result<()> {
        match self {
            Parts::Blocks { block, distance, .. } if *block > 0 => {
                let (whole, rest) = (packed.len() / block, packed.len() % block);
                // SAFETY: the caller's promise.
                unsafe { copy_blocks((into, *distance), (packed.as_ptr(), *block), *block, whole) };
                if rest > 0 {
                    let (into, from) = (into.wrapping_add(whole * distance), packed[whole * block..].as_ptr());
                    // SAFETY: as above.
                    unsafe { copy_blocks((into, rest), (from, rest), rest, 1) };
                }
            }
            Parts::Marked { unit, units, words } if *unit > 0 => {
                let come = first_marks(words, *units, packed.len() / unit);
                // SAFETY: the caller's promise; there are as many units as are marked now.
                unsafe { unpack_marked(into, packed.as_ptr(), *unit, Marks::new(&come, *units)) };
            }
            Parts::Changes { unit, units } => {
                let words = changed(packed, *unit, *units)?;
                let from = packed[head_bytes(*units)..].as_ptr();
                // SAFETY: the caller's promise; there are as many units as are marked.
                unsafe { unpack_marked(into, from, *unit, Marks::new(&words, *units)) };
            }
            Parts::Blocks { .. } | Parts::Marked { .. } => {}
        }
        Ok(())
    }
}

/// Which units of a range differ from what they were.
#[derive(Debug)]
pub struct Changes {
    /// How many.
    pub count: usize,
    unit: usize,
    words: Vec<u64>,
}

impl Changes {
    /// What they were becomes what they are: the message of them is under way.
    ///
    /// # Panics
    /// If the two are not as long as those that were compared.
    pub fn keep(&self, now: &[u8], before: &mut [u8]) {
        copy_units(before, now, self.unit, &self.words);
    }
}

/// The message of those units that differ from what they were, and which they are. Fails if they are no whole number of units.
///
/// # Panics
/// If the two are not as long.
pub fn pack_changes(now: &[u8], before: &[u8], unit: usize) -> Result<(Box<[u8]>, Changes)> {
    check_units(now.len(), unit)?;
    let units = now.len() / unit;
    let (words, count) = changed_units(now, before, unit);
    let head = head_bytes(units);
    let mut packed = vec![0; head + count * unit];
    packed[..WORD].copy_from_slice(&(units as u64).to_le_bytes());
    for (bytes, word) in packed[WORD..head].chunks_exact_mut(WORD).zip(&words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    // SAFETY: live slices; the message has room for as many units as are marked.
    unsafe { pack_marked(packed[head..].as_mut_ptr(), now.as_ptr(), unit, Marks::new(&words, units)) };
    Ok((packed.into(), Changes { count, unit, words }))
}

/// How many units a message of changes has, which was found to be one.
pub(super) fn changes_in(bytes: usize, unit: usize, units: usize) -> usize {
    bytes.saturating_sub(head_bytes(units)).checked_div(unit).unwrap_or(0)
}

/// Before the units of a message of changes.
fn head_bytes(units: usize) -> usize {
    WORD + units.div_ceil(64) * WORD
}

/// The bits of a message of changes, which may be anything.
fn changed(packed: &[u8], unit: usize, units: usize) -> Result<Vec<u64>> {
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    let told = packed.get(..WORD).map(word);
    if told == Some(units as u64) && packed.len() >= head_bytes(units) {
        let words: Vec<u64> = packed[WORD..head_bytes(units)].chunks_exact(WORD).map(word).collect();
        if Marks::new(&words, units).count() * unit == packed.len() - head_bytes(units) {
            return Ok(words);
        }
    }
    Err(Error::Invalid(format!(
        "this message is not one of changes to {units} units of {unit} bytes: it was sent otherwise, or from a range of another length"
    )))
}

/// The marks of the first `count` units that are marked.
fn first_marks(words: &[u64], units: usize, count: usize) -> Vec<u64> {
    let (marks, mut left) = (Marks::new(words, units), count);
    let first = |index| {
        let mut word = marks.word(index);
        while word.count_ones() as usize > left {
            word &= !(1 << (63 - word.leading_zeros()));
        }
        left -= word.count_ones() as usize;
        word
    };
    (0..marks.words()).map(first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn marked(bits: &[bool]) -> Box<[u64]> {
        let mut words = vec![0; bits.len().div_ceil(64)];
        bits.iter().enumerate().filter(|(_, bit)| **bit).for_each(|(index, _)| words[index / 64] |= 1 << (index % 64));
        words.into()
    }

    proptest! {
        /// What is packed comes to the same places, and nothing else changes; also of a message that is too short.
        #[test]
        fn parts_come_to_their_places(
            bits in prop::collection::vec(any::<bool>(), 0..300),
            unit in 1usize..20,
            block in 0usize..30,
            gap in 0usize..10,
            cut in 0usize..400,
        ) {
            let bytes = bits.len() * unit;
            let data: Vec<u8> = (0..bytes).map(|index| index as u8 | 1).collect();
            let distance = block + gap;
            let count = if block > bytes || distance == 0 { 0 } else { 1 + (bytes - block) / distance };
            let blocks = Parts::Blocks { block, distance, count };
            let units = Parts::Marked { unit, units: bits.len(), words: marked(&bits) };
            let in_block = |index: usize| distance > 0 && index % distance < block && index / distance < count;
            let in_unit = |index: usize| bits[index / unit];
            for (parts, is_in) in [(blocks, &in_block as &dyn Fn(usize) -> bool), (units, &in_unit)] {
                prop_assert!(parts.span() <= bytes);
                // SAFETY: live slices, as long as the parts.
                let packed = unsafe { parts.pack(data.as_ptr()) };
                let mut expected: Vec<u8> = (0..bytes).map(|index| if is_in(index) { data[index] } else { 0 }).collect();
                let mut into = vec![0; bytes];
                // SAFETY: as above.
                unsafe { parts.unpack(&packed, into.as_mut_ptr()).unwrap() };
                prop_assert_eq!(&into, &expected);
                // Whole units of the beginning.
                let come = packed.len().min(cut) / unit * unit;
                let places: Vec<usize> = (0..bytes).filter(|index| is_in(*index)).collect();
                places[come..].iter().for_each(|index| expected[*index] = 0);
                let mut into = vec![0; bytes];
                // SAFETY: as above.
                unsafe { parts.unpack(&packed[..come], into.as_mut_ptr()).unwrap() };
                prop_assert_eq!(&into, &expected);
            }
        }

        /// What differs comes over, and what is not such a message is refused.
        #[test]
        fn changes_come_over(bits in prop::collection::vec(any::<bool>(), 1..300), unit in 1usize..20, at in any::<usize>()) {
            let bytes = bits.len() * unit;
            let now: Vec<u8> = (0..bytes).map(|index| index as u8).collect();
            let before: Vec<u8> = (0..bytes).map(|index| if bits[index / unit] { !now[index] } else { now[index] }).collect();
            let mut twin = before.clone();
            let (packed, changes) = pack_changes(&now, &twin, unit).unwrap();
            prop_assert_eq!(changes.count, bits.iter().filter(|bit| **bit).count());
            prop_assert_eq!(&twin, &before);
            changes.keep(&now, &mut twin);
            prop_assert_eq!(&twin, &now);
            let parts = Parts::Changes { unit, units: bits.len() };
            prop_assert!(packed.len() <= parts.bytes());
            let mut into = before.clone();
            // SAFETY: a live slice, as long as the parts.
            unsafe { parts.unpack(&packed, into.as_mut_ptr()).unwrap() };
            prop_assert_eq!(&into, &now);
            // Anything else of a peer does no harm.
            let mut wrong = packed.to_vec();
            wrong[at % packed.len().min(16)] ^= 1 << (at % 7);
            for message in [&packed[..at % packed.len()], &wrong] {
                // SAFETY: as above.
                let _ = unsafe { parts.unpack(message, into.as_mut_ptr()) };
            }
        }
    }
}
