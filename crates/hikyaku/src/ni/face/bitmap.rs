//! Which elements take part: a bit for each.

use crate::memory::parts::marks::Marks;

/// A bit for each of many elements: those that are set take part in a transfer.
///
/// ```
/// let mut changed = hikyaku::Bitmap::new(100);
/// changed.set(3);
/// changed.set_range(10..20);
/// changed.clear(15);
/// assert_eq!((changed.len(), changed.count(), changed.get(15), changed.get(16)), (100, 10, false, true));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
    len: usize,
}

impl Bitmap {
    /// Of so many elements, of which none is set.
    pub fn new(len: usize) -> Bitmap {
        Bitmap { words: vec![0; len.div_ceil(64)], len }
    }

    /// Of elements `n` that are set if bit `n % 64` of word `n / 64` is. What is missing is not set.
    pub fn from_words(words: &[u64], len: usize) -> Bitmap {
        let mut bitmap = Bitmap::new(len);
        let known = words.len().min(bitmap.words.len());
        bitmap.words[..known].copy_from_slice(&words[..known]);
        if let Some(last) = bitmap.words.last_mut()
            && !len.is_multiple_of(64)
        {
            *last &= !(u64::MAX << (len % 64));
        }
        bitmap
    }

    /// How many elements it is for.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it is for none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many elements are set.
    pub fn count(&self) -> usize {
        self.marks().count()
    }

    /// Whether an element is set.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn get(&self, index: usize) -> bool {
        assert!(index < self.len, "element {index} of a bitmap of {}", self.len);
        self.words[index / 64] >> (index % 64) & 1 == 1
    }

    /// Sets an element.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn set(&mut self, index: usize) {
        assert!(index < self.len, "element {index} of a bitmap of {}", self.len);
        self.words[index / 64] |= 1 << (index % 64);
    }

    /// Takes an element out.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn clear(&mut self, index: usize) {
        assert!(index < self.len, "element {index} of a bitmap of {}", self.len);
        self.words[index / 64] &= !(1 << (index % 64));
    }

    /// Sets all elements of a range.
    ///
    /// # Panics
    /// If it goes beyond the last element.
    pub fn set_range(&mut self, range: std::ops::Range<usize>) {
        assert!(range.end <= self.len, "elements {range:?} of a bitmap of {}", self.len);
        let mut at = range.start;
        while at < range.end {
            let count = (64 - at % 64).min(range.end - at);
            let bits = if count == 64 { u64::MAX } else { (1 << count) - 1 };
            self.words[at / 64] |= bits << (at % 64);
            at += count;
        }
    }

    /// Takes all elements out.
    pub fn clear_all(&mut self) {
        self.words.fill(0);
    }

    /// Its words; see [`Bitmap::from_words`].
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    pub(super) fn marks(&self) -> Marks<'_> {
        Marks::new(&self.words, self.len)
    }
}
