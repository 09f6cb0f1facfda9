//! Messages of one rank that were looked at and are for another receive.

use crate::matching::Keys;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Where such a message is.
#[derive(Debug)]
pub(super) enum Content {
    /// In private memory.
    Here(Box<[u8]>),
    /// Still in the buffer: its frame, and where its bytes begin there.
    InPlace(u64, usize),
    /// With its sender, who sends it through this slot.
    Offered(usize),
}

#[derive(Debug)]
pub(super) struct Kept {
    pub tag: u64,
    pub bytes: usize,
    pub content: Content,
}

impl Kept {
    /// What it takes of private memory beyond its frame.
    fn cost(&self) -> usize {
        match &self.content {
            Content::Here(data) => data.len() + OVERHEAD,
            Content::Offered(_) => OVERHEAD,
            Content::InPlace(..) => 0,
        }
    }

    fn is_offer(&self) -> bool {
        matches!(self.content, Content::Offered(_))
    }
}

/// By the numbers of their frames, which are their order, and by their tags.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    by_number: BTreeMap<u64, Kept>,
    by_tag: HashMap<u64, VecDeque<u64>>,
    /// What they take of private memory.
    cost: usize,
    /// How many of them are with their sender.
    offers: usize,
}

/// What a message takes beside its bytes, about.
const OVERHEAD: usize = 128;

impl Shelf {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }

    /// What they take of private memory.
    pub fn cost(&self) -> usize {
        self.cost
    }

    /// How many of them are with their sender.
    pub fn offers(&self) -> usize {
        self.offers
    }

    pub fn add(&mut self, number: u64, kept: Kept) {
        self.cost += kept.cost();
        self.offers += usize::from(kept.is_offer());
        self.by_tag.entry(kept.tag).or_default().push_back(number);
        self.by_number.insert(number, kept);
    }

    /// The first message that has one of these tags.
    pub fn first(&self, tags: Keys) -> Option<(u64, &Kept)> {
        let number = match tags.exact() {
            Some(tag) => self.by_tag.get(&tag)?.front().copied()?,
            None => *self.by_number.iter().find(|(_, kept)| tags.matches(kept.tag))?.0,
        };
        self.by_number.get(&number).map(|kept| (number, kept))
    }

    pub fn remove(&mut self, number: u64) -> Option<Kept> {
        let kept = self.by_number.remove(&number)?;
        if let Some(numbers) = self.by_tag.get_mut(&kept.tag) {
            // It is the first of its tag, but for one that failed to come while another was received.
            numbers.retain(|other| *other != number);
            if numbers.is_empty() {
                self.by_tag.remove(&kept.tag);
            }
        }
        self.cost -= kept.cost();
        self.offers -= usize::from(kept.is_offer());
        Some(kept)
    }

    /// What is with its sender is not received any more.
    pub fn forget_offers(&mut self) {
        let offers: Vec<u64> =
            self.by_number.iter().filter(|(_, kept)| kept.is_offer()).map(|(number, _)| *number).collect();
        offers.into_iter().for_each(|number| drop(self.remove(number)));
    }

    /// The first message before this one that comes through the same slot.
    pub fn earlier_in(&self, number: u64, slot: usize) -> Option<(u64, usize)> {
        let is_there = |kept: &Kept| matches!(kept.content, Content::Offered(other) if other == slot);
        let mut earlier = self.by_number.range(..number);
        earlier.find(|(_, kept)| is_there(kept)).map(|(number, kept)| (*number, kept.bytes))
    }

    /// A message has come that was with its sender.
    pub fn fetch(&mut self, number: u64, data: Box<[u8]>) {
        if let Some(kept) = self.by_number.get_mut(&number) {
            self.cost -= kept.cost();
            self.offers -= usize::from(kept.is_offer());
            kept.content = Content::Here(data);
            self.cost += kept.cost();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_by_tag_in_their_order() {
        let mut shelf = Shelf::default();
        for number in 0..6 {
            let content = Content::Here(vec![number as u8; 10].into());
            shelf.add(number, Kept { tag: number % 2, bytes: 10, content });
        }
        assert_eq!(shelf.cost(), 6 * (10 + OVERHEAD));
        assert_eq!(shelf.first(Keys::from(1)).unwrap().0, 1);
        assert_eq!(shelf.first(Keys::ANY).unwrap().0, 0);
        shelf.remove(1).unwrap();
        assert_eq!(shelf.first(Keys::from(1)).unwrap().0, 3);
        assert!(shelf.first(Keys::from(2)).is_none());
        (0..6).for_each(|number| drop(shelf.remove(number)));
        assert!(shelf.is_empty() && shelf.cost() == 0 && shelf.by_tag.is_empty());
    }

    #[test]
    fn what_is_before_in_a_slot_is_found() {
        let mut shelf = Shelf::default();
        for (number, slot) in [(3, 0), (5, 1), (9, 0)] {
            shelf.add(number, Kept { tag: number, bytes: 7, content: Content::Offered(slot) });
        }
        assert_eq!(shelf.earlier_in(9, 0), Some((3, 7)));
        assert_eq!(shelf.earlier_in(9, 2), None);
        shelf.fetch(3, vec![1; 7].into());
        assert_eq!(shelf.earlier_in(9, 0), None);
        assert_eq!((shelf.cost(), shelf.offers()), (7 + 3 * OVERHEAD, 2));
        (3..10).for_each(|number| drop(shelf.remove(number)));
        assert_eq!((shelf.cost(), shelf.offers()), (0, 0));
    }
}
