//! A wire that loses, doubles, reorders and damages frames, around another one: for tests, also of real processes.

use super::batch::Batch;
use super::wire::{Trouble, Wire};
use crate::error::{Error, Result};
use crate::transport::sim::chance::Chance;

/// The environment variable that asks for faults.
pub const VARIABLE: &str = "HIKYAKU_UDP_FAULTS";

/// How often each happens to a frame that is sent, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FaultRates {
    /// It does not arrive.
    pub loss: f64,
    /// It arrives twice.
    pub double: f64,
    /// It arrives after the next few.
    pub reorder: f64,
    /// Some of its bits are flipped.
    pub damage: f64,
    /// What chance follows from, beside the rank.
    pub seed: u64,
}

impl FaultRates {
    /// Reads `loss=0.02,double=0.02,reorder=0.02,damage=0.01,seed=7`; what is not named is 0.
    ///
    /// # Errors
    /// For anything else.
    pub fn parse(text: &str) -> Result<FaultRates> {
        let mut rates = FaultRates::default();
        for field in text.split(',').map(str::trim).filter(|field| !field.is_empty()) {
            let wrong = || {
                let form = "loss=0.02,double=0.02,reorder=0.02,damage=0.01,seed=7";
                Error::Invalid(format!("{VARIABLE}: {field:?} is no rate from 0 to 1 and no seed; write {form}"))
            };
            let (name, value) = field.split_once('=').ok_or_else(wrong)?;
            let rate = || value.parse().ok().filter(|rate| (0.0..=1.0).contains(rate)).ok_or_else(wrong);
            match name {
                "loss" => rates.loss = rate()?,
                "double" => rates.double = rate()?,
                "reorder" => rates.reorder = rate()?,
                "damage" => rates.damage = rate()?,
                "seed" => rates.seed = value.parse().map_err(|_| wrong())?,
                _ => return Err(wrong()),
            }
        }
        Ok(rates)
    }

    /// What the environment asks for, if it does.
    ///
    /// # Errors
    /// When that cannot be read.
    pub fn from_environment() -> Result<Option<FaultRates>> {
        std::env::var(VARIABLE).ok().map(|text| FaultRates::parse(&text)).transpose()
    }
}

/// The wire.
pub struct Faults {
    inner: Box<dyn Wire>,
    rates: FaultRates,
    chance: Chance,
    /// What goes to the inner wire in place of the batch.
    out: Batch,
    /// Frames that others overtake, each with how many still will.
    late: Vec<(Batch, u64)>,
    spare: Vec<Batch>,
}

/// How many frames overtake one at most.
const OVERTAKEN_MAX: u64 = 8;

impl Faults {
    pub fn new(inner: Box<dyn Wire>, rates: FaultRates, rank: usize) -> Faults {
        let chance = Chance::new(rates.seed ^ (rank as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Faults { inner, rates, chance, out: Batch::new(false), late: Vec::new(), spare: Vec::new() }
    }

    fn frame(&mut self, batch: &Batch, train: usize, frame: usize, trouble: &mut dyn FnMut(u32, Trouble)) {
        if self.chance.happens(self.rates.loss) {
            return;
        }
        let copies = 1 + usize::from(self.chance.happens(self.rates.double));
        for _ in 0..copies {
            let is_late = self.chance.happens(self.rates.reorder);
            let damage = self.chance.happens(self.rates.damage).then(|| self.chance.next());
            let mut target =
                if is_late { self.spare.pop().unwrap_or_else(|| Batch::new(false)) } else { take(&mut self.out) };
            if target.is_full(batch.trains()[train].frame_bytes) {
                self.inner.send(&target, trouble);
                target.clear();
            }
            target.copy(batch, train, frame, damage);
            if is_late {
                let overtaken = 1 + self.chance.below(OVERTAKEN_MAX);
                self.late.push((target, overtaken));
            } else {
                self.out = target;
            }
        }
    }

    /// Lets go of what has been overtaken often enough, or of everything.
    fn release(&mut self, all: bool, trouble: &mut dyn FnMut(u32, Trouble)) {
        let mut index = 0;
        while index < self.late.len() {
            let left = &mut self.late[index].1;
            *left = left.saturating_sub(1);
            if *left == 0 || all {
                let (mut batch, _) = self.late.swap_remove(index);
                self.inner.send(&batch, trouble);
                batch.clear();
                self.spare.push(batch);
            } else {
                index += 1;
            }
        }
    }
}

fn take(batch: &mut Batch) -> Batch {
    std::mem::replace(batch, Batch::nothing())
}

impl Wire for Faults {
    fn reaches(&self, rank: usize) -> bool {
        self.inner.reaches(rank)
    }

    fn open(&mut self, rank: usize) -> Result<u32> {
        self.inner.open(rank)
    }

    fn frame_max(&self, way: u32) -> Option<usize> {
        self.inner.frame_max(way)
    }

    fn takes_trains(&self) -> bool {
        self.inner.takes_trains()
    }

    fn suspect(&mut self, way: u32) {
        self.inner.suspect(way);
    }

    fn describe(&self, way: u32) -> String {
        self.inner.describe(way)
    }

    fn explain(&self, code: i32) -> String {
        self.inner.explain(code)
    }

    fn send(&mut self, batch: &Batch, trouble: &mut dyn FnMut(u32, Trouble)) {
        for (train, it) in batch.trains().iter().enumerate() {
            for frame in 0..it.count {
                self.frame(batch, train, frame, trouble);
                self.inner.send(&self.out, trouble);
                self.out.clear();
                self.release(false, trouble);
            }
        }
    }

    fn pass(&mut self) {
        self.release(true, &mut |_, _| ());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::brief::lock;
    use std::sync::{Arc, Mutex};

    #[test]
    fn rates_are_read_and_nonsense_is_told() {
        let rates = FaultRates::parse("loss=0.02,double=0.5,reorder=1,damage=0,seed=7").unwrap();
        assert_eq!(rates, FaultRates { loss: 0.02, double: 0.5, reorder: 1.0, damage: 0.0, seed: 7 });
        assert_eq!(FaultRates::parse("").unwrap(), FaultRates::default());
        for wrong in ["loss", "loss=2", "loss=-1", "loss=x", "gain=0.1", "seed=-1", "loss=NaN"] {
            assert!(FaultRates::parse(wrong).unwrap_err().to_string().contains(wrong), "{wrong}");
        }
    }

    struct Recorder(Arc<Mutex<Vec<Vec<u8>>>>);

    impl Wire for Recorder {
        fn reaches(&self, _: usize) -> bool {
            true
        }
        fn open(&mut self, _: usize) -> Result<u32> {
            Ok(0)
        }
        fn frame_max(&self, _: u32) -> Option<usize> {
            None
        }
        fn describe(&self, _: u32) -> String {
            String::new()
        }
        fn explain(&self, _: i32) -> String {
            String::new()
        }
        fn send(&mut self, batch: &Batch, _: &mut dyn FnMut(u32, Trouble)) {
            for train in batch.trains() {
                for frame in 0..train.count {
                    lock(&self.0).push(batch.bytes(train, frame));
                }
            }
        }
    }

    #[test]
    fn every_fault_happens_as_often_as_asked_for() {
        let recorded = Arc::new(Mutex::new(Vec::new()));
        let rates = FaultRates { loss: 0.1, double: 0.1, reorder: 0.1, damage: 0.1, seed: 3 };
        let mut faults = Faults::new(Box::new(Recorder(recorded.clone())), rates, 0);
        let mut batch = Batch::new(true);
        for number in 0..2000u32 {
            let bytes = [number.to_le_bytes(), number.to_le_bytes()].concat();
            let place = batch.stage(8);
            place.copy_from_slice(&bytes);
            let place = place.as_ptr();
            batch.add(1, 0, false, &[(place, 8)]);
            if number % 10 == 9 {
                faults.send(&batch, &mut |_, _| ());
                batch.clear();
            }
        }
        faults.pass();
        let (mut seen, mut damaged, mut early) = (vec![0; 2000], 0, 0);
        let mut highest = 0;
        for frame in lock(&recorded).iter() {
            let [number, again] = [0, 4].map(|at| u32::from_le_bytes(frame[at..at + 4].try_into().unwrap()));
            if number != again {
                damaged += 1;
                continue;
            }
            early += usize::from(number < highest);
            highest = highest.max(number);
            seen[number as usize] += 1;
        }
        let count = |times| seen.iter().filter(|count| **count == times).count();
        assert!((120..300).contains(&damaged) && (120..300).contains(&early), "{damaged} {early}");
        assert!((250..500).contains(&count(0)) && (100..250).contains(&count(2)), "{} {}", count(0), count(2));
    }
}
