//! What lies in a pointer that remote operations follow: an area of the rank where the pointer is, and where in it.

use crate::transport::shm::layout::AREA_COUNT;
use bytemuck::{Pod, Zeroable};

/// A pointer that [`crate::Port::push_indirect`] and [`crate::Port::pull_indirect`] follow. It leads to an area of the rank in whose memory
/// it is, or to a chain of commands there ([`crate::Chain`]).
///
/// It is a word of 8 bytes, so it can be in any memory that peers reach, and be written there as any other word. One that nobody has
/// written is zero and leads nowhere: whoever follows it is refused. So is one to an area that was revoked; it has room for 14 bits of the
/// area's key, so if another area has got the same id since, one such pointer in some thousands leads there.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(transparent)]
pub struct Pointer(u64);

/// Where a pointer leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lead {
    /// Bytes of an area, from an offset on.
    Bytes { area: u32, tag: u64, offset: u64 },
    /// Commands in an area, from this one on.
    Chain { area: u32, tag: u64, first: u64 },
}

/// The word, from its lowest bit on: offset or number of a command, id of the area, a part of the area's key, what it is.
const OFFSET_BITS: u32 = 40;
const AREA_BITS: u32 = AREA_COUNT.trailing_zeros();
const TAG_BITS: u32 = 14;
const KIND_BITS: u32 = 2;
const _: () = assert!(AREA_COUNT.is_power_of_two() && OFFSET_BITS + AREA_BITS + TAG_BITS + KIND_BITS == u64::BITS);

const BYTES: u64 = 1;
const CHAIN: u64 = 2;

/// As much of an area's key as a pointer has room for: one that was kept longer than its area is noticed, though another area has its id.
pub(crate) fn tag_of(key: u64) -> u64 {
    key >> (u64::BITS - TAG_BITS)
}

impl Pointer {
    /// Leads nowhere.
    pub const NOWHERE: Pointer = Pointer(0);

    /// Whether it leads anywhere.
    pub fn is_set(self) -> bool {
        Lead::of(self.0).is_some()
    }

    /// The word that it is, for other languages.
    pub fn word(self) -> u64 {
        self.0
    }

    /// A pointer that was a word. One that was none leads nowhere, or to an area of the rank where it is, and never outside.
    pub fn from_word(word: u64) -> Pointer {
        Pointer(word)
    }
}

impl std::fmt::Debug for Pointer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match Lead::of(self.0) {
            None => write!(f, "Pointer to nowhere"),
            Some(Lead::Bytes { area, offset, .. }) => write!(f, "Pointer to byte {offset} of area {area}"),
            Some(Lead::Chain { area, first, .. }) => write!(f, "Pointer to command {first} in area {area}"),
        }
    }
}

impl Lead {
    /// What a word says; `None` if it leads nowhere.
    #[inline]
    pub fn of(word: u64) -> Option<Lead> {
        let field = |from: u32, bits: u32| word >> from & !(u64::MAX << bits);
        let offset = field(0, OFFSET_BITS);
        let area = field(OFFSET_BITS, AREA_BITS) as u32;
        let tag = field(OFFSET_BITS + AREA_BITS, TAG_BITS);
        match word >> (u64::BITS - KIND_BITS) {
            BYTES => Some(Lead::Bytes { area, tag, offset }),
            CHAIN => Some(Lead::Chain { area, tag, first: offset }),
            _ => None,
        }
    }

    /// The pointer; `None` if it is too far behind the begin of its area.
    pub fn pointer(self) -> Option<Pointer> {
        let (kind, area, tag, offset) = match self {
            Lead::Bytes { area, tag, offset } => (BYTES, area, tag, offset),
            Lead::Chain { area, tag, first } => (CHAIN, area, tag, first),
        };
        let high = (kind << TAG_BITS | tag) << AREA_BITS | u64::from(area);
        (offset >> OFFSET_BITS == 0).then_some(Pointer(high << OFFSET_BITS | offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn zero_leads_nowhere() {
        assert_eq!(Pointer::zeroed(), Pointer::NOWHERE);
        assert!(!Pointer::NOWHERE.is_set());
    }

    proptest! {
        #[test]
        fn a_pointer_leads_where_it_was_aimed(key: u64, area in 0..AREA_COUNT as u32, offset in 0u64..1 << OFFSET_BITS, chain: bool) {
            let tag = tag_of(key);
            let lead = if chain { Lead::Chain { area, tag, first: offset } } else { Lead::Bytes { area, tag, offset } };
            let pointer = lead.pointer().unwrap();
            prop_assert!(pointer.is_set());
            prop_assert_eq!(Lead::of(pointer.word()), Some(lead));
        }

        #[test]
        fn what_a_word_says_is_in_range(word: u64) {
            if let Some(lead) = Lead::of(word) {
                prop_assert_eq!(lead.pointer().unwrap().word(), word);
            }
            prop_assert_eq!(Pointer::from_word(word).word(), word);
        }

        #[test]
        fn one_too_far_is_none(offset in 1u64 << OFFSET_BITS..) {
            prop_assert_eq!(Lead::Bytes { area: 1, tag: 0, offset }.pointer(), None);
        }
    }
}
