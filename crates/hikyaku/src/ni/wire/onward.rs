//! Where a copy between two other ranks goes: what its initiator tells the owner of the bytes, who sends them on.

use super::target::Target;

/// Bytes of a packet that asks for a part of a copy.
pub(crate) const ONWARD_BYTES: usize = 7 * 8;
/// So many bytes at most are asked for at once: whoever sends them on serves others too.
pub(crate) const COPY_MAX: usize = 256 << 10;

/// The target of the whole copy, and the word that follows its last part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Onward {
    pub to: Target,
    /// At an offset of the heap of the same rank, and its value.
    pub then: Option<(u64, u64)>,
}

impl Onward {
    pub fn encode(&self) -> [u8; ONWARD_BYTES] {
        let [id, key, offset] = self.to.encode();
        let (then, value) = self.then.unwrap_or_default();
        let words = [self.to.rank as u64, id, key, offset, u64::from(self.then.is_some()), then, value];
        let mut bytes = [0; ONWARD_BYTES];
        for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
        bytes
    }

    /// What a peer has said; none of it is believed.
    pub fn decode(bytes: &[u8]) -> Option<Onward> {
        let ([rank, id, key, offset, has_word, then, value], []) = bytes.as_chunks::<8>() else { return None };
        let [rank, id, key, offset, has_word, then, value] =
            [rank, id, key, offset, has_word, then, value].map(|word| u64::from_le_bytes(*word));
        let to = Target::decode(usize::try_from(rank).ok()?, [id, key, offset])?;
        (has_word <= 1).then_some(Onward { to, then: (has_word == 1).then_some((then, value)) })
    }

    /// The target of the part that begins `position` bytes behind the first one; `None` if there can be none. Only memory that ranks
    /// tell each other of can be one: windows are for messages of one rank, which nobody else names.
    pub fn part(&self, position: u64) -> Option<Target> {
        let offset = self.to.offset.checked_add(position)?;
        (self.to.is_heap() || self.to.area().is_some()).then_some(Target { offset, ..self.to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_survives_a_packet() {
        for then in [None, Some((8, u64::MAX))] {
            let onward = Onward { to: Target::in_heap(3, 4096), then };
            assert_eq!(Onward::decode(&onward.encode()), Some(onward));
        }
        let bytes = Onward { to: Target::in_heap(3, 4096), then: None }.encode();
        assert_eq!(Onward::decode(&bytes[1..]), None);
        assert_eq!(Onward::decode(&[&bytes[..], &[0; 8]].concat()), None);
        assert_eq!(Onward::decode(&[0xff; ONWARD_BYTES]), None);
    }

    #[test]
    fn parts_are_in_memory_that_others_may_name() {
        let to = |to| Onward { to, then: None };
        assert_eq!(to(Target::in_heap(3, 100)).part(28), Some(Target::in_heap(3, 128)));
        assert_eq!(to(Target::in_heap(3, 100)).part(u64::MAX), None);
        assert_eq!(to(Target::in_window(3, 5, 100)).part(0), None);
        assert_eq!(to(Target::hearing(3, 0, 0)).part(0), None);
        assert!(to(Target::in_area(3, 5, 9, None, 0)).part(0).is_some());
    }
}
