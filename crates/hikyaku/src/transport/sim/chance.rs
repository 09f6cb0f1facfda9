//! Random numbers from a seed: splitmix64, the same everywhere and for ever.

/// See above.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    /// Whether something of that probability happens.
    pub fn happens(&mut self, probability: f64) -> bool {
        ((self.next() >> 11) as f64) < probability * (1u64 << 53) as f64
    }

    /// A number below `end`, or 0.
    pub fn below(&mut self, end: u64) -> u64 {
        ((self.next() as u128 * end as u128) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        let mut chance = Chance::new(1234567);
        assert_eq!([chance.next(), chance.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn chances_are_met() {
        let mut chance = Chance::new(1);
        let often = (0..10_000).filter(|_| chance.happens(0.2)).count();
        assert!((1900..2100).contains(&often), "{often}");
        assert!(!(0..1000).any(|_| chance.happens(0.0)) && (0..1000).all(|_| chance.happens(1.0)));
        let numbers: Vec<_> = (0..1000).map(|_| chance.below(3)).collect();
        assert!((0..3).all(|number| numbers.contains(&number)) && numbers.iter().all(|number| *number < 3));
        assert_eq!(chance.below(0), 0);
    }
}
