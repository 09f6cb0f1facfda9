//! Words that follow a push: as their sender has them, and as they travel. Most are small numbers, so each takes as many bytes in a
//! packet as it needs.
//!
//! ```text
//!   in an argument   4 bits: how many words; then 3 bits for each: how long it is
//!   behind the data  the words, one after the other
//! ```

use crate::transport::TAIL_BYTES_MAX;
use crate::transport::packet::{code_of, length_of, word_at};

/// Words at most.
const COUNT_MAX: usize = TAIL_BYTES_MAX / 8;
const COUNT_BITS: usize = 4;
const CODE_BITS: usize = 3;
const CODE_MAX: u64 = (1 << CODE_BITS) - 1;

/// Some words, as they are or as they travel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tail<'a> {
    Words(&'a [u64]),
    Packed { form: u64, bytes: &'a [u8] },
}

/// Where words are packed for a packet.
pub(crate) struct Room([u8; TAIL_BYTES_MAX]);

impl Room {
    pub fn new() -> Room {
        Room([0; TAIL_BYTES_MAX])
    }
}

/// How many words there are in a form.
fn count_of(form: u64) -> usize {
    (form & ((1 << COUNT_BITS) - 1)) as usize
}

/// How long each of them is.
fn lengths_of(form: u64) -> impl Iterator<Item = usize> {
    (0..count_of(form)).map(move |index| length_of((form >> (COUNT_BITS + CODE_BITS * index) & CODE_MAX) as u32))
}

impl<'a> Tail<'a> {
    /// How many bytes they have in memory.
    pub fn bytes(&self) -> u64 {
        let count = match self {
            Tail::Words(words) => words.len(),
            Tail::Packed { form, .. } => count_of(*form),
        };
        count as u64 * 8
    }

    /// For a packet: their form, and the bytes that go behind the data.
    #[inline]
    pub fn pack<'r>(&self, room: &'r mut Room) -> (u64, &'r [u8])
    where
        'a: 'r,
    {
        let words = match *self {
            Tail::Words(words) => words,
            Tail::Packed { form, bytes } => return (form, bytes),
        };
        debug_assert!(words.len() <= COUNT_MAX);
        let (mut form, mut used) = (words.len() as u64, 0);
        for (index, word) in words.iter().enumerate() {
            let code = code_of(*word);
            let bytes = length_of(code);
            room.0[used..][..bytes].copy_from_slice(&word.to_le_bytes()[..bytes]);
            form |= u64::from(code) << (COUNT_BITS + CODE_BITS * index);
            used += bytes;
        }
        (form, &room.0[..used])
    }

    /// Finds words of this form at the end of a payload: the data before them, and they; `None` for what nobody packs. Nothing of it is
    /// believed.
    pub fn split(form: u64, payload: &'a [u8]) -> Option<(&'a [u8], Tail<'a>)> {
        let count = count_of(form);
        if count > COUNT_MAX || form >> (COUNT_BITS + CODE_BITS * count) != 0 {
            return None;
        }
        let bytes = lengths_of(form).sum();
        let (data, bytes) = payload.split_at_checked(payload.len().checked_sub(bytes)?)?;
        Some((data, Tail::Packed { form, bytes }))
    }

    /// The words, one after the other.
    pub fn words(&self) -> impl Iterator<Item = u64> + 'a {
        let (plain, form, bytes) = match *self {
            Tail::Words(words) => (words, 0, &[] as &[u8]),
            Tail::Packed { form, bytes } => (&[] as &[u64], form, bytes),
        };
        let mut at = 0;
        let packed = lengths_of(form).map(move |length| {
            at += length;
            word_at(&bytes[at - length..at])
        });
        plain.iter().copied().chain(packed)
    }

    /// The only one, if it is alone.
    pub fn only(&self) -> Option<u64> {
        let mut words = self.words();
        words.next().filter(|_| words.next().is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_travel(words in proptest::collection::vec((any::<u64>(), 0u32..64).prop_map(|(word, bits)| word >> bits), 0..=COUNT_MAX)) {
            let (mut room, tail) = (Room::new(), Tail::Words(&words));
            let (form, bytes) = tail.pack(&mut room);
            prop_assert_eq!(tail.bytes(), 8 * words.len() as u64);
            let payload = [b"data", bytes].concat();
            let (data, packed) = Tail::split(form, &payload).unwrap();
            prop_assert_eq!(data, b"data");
            prop_assert_eq!(packed.words().collect::<Vec<_>>(), words.clone());
            prop_assert_eq!(packed.bytes(), tail.bytes());
            prop_assert_eq!(packed.only(), if let [word] = words[..] { Some(word) } else { None });
            prop_assert_eq!(packed.pack(&mut Room::new()).0, form, "it can be sent on");
            for cut in 0..bytes.len() {
                prop_assert!(Tail::split(form, &bytes[..cut]).is_none());
            }
        }

        #[test]
        fn whatever_comes_is_read_or_refused(form in prop_oneof![any::<u64>(), 0u64..1 << 16], payload in proptest::collection::vec(any::<u8>(), 0..100)) {
            if let Some((data, tail)) = Tail::split(form, &payload) {
                prop_assert!(tail.bytes() <= TAIL_BYTES_MAX as u64 && data.len() <= payload.len());
                prop_assert_eq!(tail.words().count() as u64 * 8, tail.bytes());
            }
        }
    }

    #[test]
    fn small_words_are_short() {
        let mut room = Room::new();
        let (form, bytes) = Tail::Words(&[300, 0x810, 299]).pack(&mut room);
        assert_eq!((form < 1 << 16, bytes.len()), (true, 6));
        assert_eq!(Tail::Words(&[]).pack(&mut Room::new()), (0, &[][..]));
        for form in [9, 15, 1 << 7, 1 << 63] {
            assert!(Tail::split(form, &[0; 100]).is_none(), "{form}");
        }
    }
}
