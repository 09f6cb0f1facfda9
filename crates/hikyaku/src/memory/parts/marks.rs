//! Marks: a bit for each of many units.

/// Bits of units, in words: unit `n` is bit `n % 64` of word `n / 64`. What is beyond the last unit in the last word is ignored.
#[derive(Clone, Copy, Debug)]
pub struct Marks<'a> {
    words: &'a [u64],
    units: usize,
}

impl<'a> Marks<'a> {
    /// Of so many units.
    ///
    /// # Panics
    /// If there are too few words.
    pub fn new(words: &'a [u64], units: usize) -> Marks<'a> {
        assert!(units.div_ceil(64) <= words.len());
        Marks { words: &words[..units.div_ceil(64)], units }
    }

    /// How many units there are.
    pub fn units(&self) -> usize {
        self.units
    }

    /// How many are marked.
    pub fn count(&self) -> usize {
        (0..self.words.len()).map(|index| self.word(index).count_ones() as usize).sum()
    }

    /// The bits of units from `64 * index` on.
    #[inline(always)]
    pub fn word(&self, index: usize) -> u64 {
        let left = self.units - 64 * index;
        self.words[index] & if left < 64 { !(u64::MAX << left) } else { u64::MAX }
    }

    /// The first word.
    pub fn as_ptr(&self) -> *const u64 {
        self.words.as_ptr()
    }

    /// How many words there are.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// Those of `units` units from `first` on, which begins a word.
    ///
    /// # Panics
    /// If it does not, or there are not as many.
    pub fn part(&self, first: usize, units: usize) -> Marks<'a> {
        assert!(first.is_multiple_of(64) && first <= self.units && units <= self.units - first);
        Marks::new(&self.words[first / 64..], units)
    }

    /// Calls `each` with every run of marked units: the first, and how many.
    pub fn runs(&self, mut each: impl FnMut(usize, usize)) {
        // One that may go on in the next word.
        let (mut first, mut count) = (0, 0);
        for index in 0..self.words.len() {
            let mut word = self.word(index);
            let mut at = 64 * index;
            if count > 0 && word & 1 == 0 {
                each(first, std::mem::take(&mut count));
            }
            while word != 0 {
                let skipped = word.trailing_zeros() as usize;
                word >>= skipped;
                at += skipped;
                let set = word.trailing_ones() as usize;
                if count == 0 {
                    first = at;
                }
                count += set;
                at += set;
                word = if set == 64 { 0 } else { word >> set };
                if at < 64 * (index + 1) {
                    each(first, std::mem::take(&mut count));
                }
            }
        }
        if count > 0 {
            each(first, count);
        }
    }
}
