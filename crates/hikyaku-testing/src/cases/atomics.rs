//! Atomic operations on remote words.

use crate::support::{await_asleep, tag, thread_number};
use hikyaku::{Atomic, AtomicNumber, Job, Place, Until};
use std::fmt::Debug;

pub fn each_operation_gives_the_value_before(job: &Job) {
    let word = job.symmetric::<u64>(2).unwrap();
    let area = job.area::<u64>(1, 2).unwrap();
    job.barrier().unwrap();
    let remote = job.open_area::<u64>(1 - job.rank(), 1).unwrap();
    for place in [word.at(1 - job.rank(), 1), remote.at(1)] {
        let steps = [
            (Atomic::Swap(0b1100), 0, 0b1100),
            (Atomic::Add(u64::MAX), 0b1100, 0b1011),
            (Atomic::And(0b0110), 0b1011, 0b0010),
            (Atomic::Or(0b1000), 0b0010, 0b1010),
            (Atomic::Xor(0b0011), 0b1010, 0b1001),
            (Atomic::CompareSwap { old: 1, new: 7 }, 0b1001, 0b1001),
            (Atomic::CompareSwap { old: 0b1001, new: 7 }, 0b1001, 7),
        ];
        for (operation, before, after) in steps {
            assert_eq!(job.atomic(place, operation).unwrap(), before, "{operation:?}");
            assert_eq!(job.pull_one(place).unwrap(), after, "{operation:?}");
        }
        assert_eq!(job.fetch_add(place, 3).unwrap(), 7);
        assert_eq!(job.swap(place, 20).unwrap(), 10);
        assert_eq!(job.compare_swap(place, 20, 30).unwrap(), 20);
    }
    job.barrier().unwrap();
    assert_eq!(word.to_vec(), [0, 30]);
    assert_eq!(area.to_vec(), [0, 30]);
}

pub fn concurrent_adds_add_up(job: &Job) {
    const ADDS: u64 = 3000;
    let words = job.symmetric::<u64>(8).unwrap();
    for add in 0..ADDS {
        // All on one rank, on two words of one line.
        job.fetch_add(words.at(0, add as usize % 2), add + 1).unwrap();
    }
    job.barrier().unwrap();
    if job.rank() == 0 {
        let all = job.size() as u64 * ADDS * (ADDS + 1) / 2;
        assert_eq!(words.get(0) + words.get(1), all);
    }
}

pub fn compare_swap_elects_one(job: &Job) {
    const ROUNDS: usize = 200;
    let chair = job.symmetric::<u64>(ROUNDS).unwrap();
    let wins = job.symmetric::<u64>(1).unwrap();
    for round in 0..ROUNDS {
        let owner = round % job.size();
        let mine = tag(job.rank(), round);
        if job.compare_swap(chair.at(owner, round), 0, mine).unwrap() == 0 {
            job.fetch_add(wins.at(0, 0), 1).unwrap();
            assert_eq!(job.pull_one(chair.at(owner, round)).unwrap(), mine);
        }
    }
    job.barrier().unwrap();
    if job.rank() == 0 {
        assert_eq!(wins.get(0), ROUNDS as u64);
    }
}

pub fn swap_hands_each_value_on_once(job: &Job) {
    const SWAPS: usize = 500;
    let word = job.symmetric::<u64>(1).unwrap();
    let table = job.symmetric::<u64>(SWAPS * job.size()).unwrap();
    let got: Vec<u64> = (0..SWAPS).map(|i| job.swap(word.at(0, 0), tag(job.rank(), i)).unwrap()).collect();
    job.push(table.at(0, job.rank() * SWAPS), &got).unwrap();
    job.barrier().unwrap();
    if job.rank() == 0 {
        let mut seen = table.to_vec();
        seen.push(word.get(0));
        seen.sort();
        let mut expected: Vec<u64> = (0..job.size()).flat_map(|rank| (0..SWAPS).map(move |i| tag(rank, i))).collect();
        expected.insert(0, 0);
        assert_eq!(seen, expected);
    }
}

pub fn bits_of_different_ranks_are_independent(job: &Job) {
    let word = job.symmetric::<u64>(1).unwrap();
    let bit = 1 << job.rank();
    for _ in 0..1000 {
        assert_eq!(job.atomic(word.at(0, 0), Atomic::Or(bit)).unwrap() & bit, 0);
        assert_eq!(job.atomic(word.at(0, 0), Atomic::Xor(bit)).unwrap() & bit, bit);
        assert_eq!(job.atomic(word.at(0, 0), Atomic::Or(bit)).unwrap() & bit, 0);
        assert_eq!(job.atomic(word.at(0, 0), Atomic::And(!bit)).unwrap() & bit, bit);
    }
    job.barrier().unwrap();
    if job.rank() == 0 {
        assert_eq!(word.get(0), 0);
    }
}

pub fn an_atomic_operation_wakes(job: &Job) {
    let word = job.symmetric::<u64>(2).unwrap();
    if job.rank() == 0 {
        let sleeper = job.wait(word.here(1), Until::NotEqual(0)).unwrap();
        await_asleep(job, sleeper);
        job.fetch_add(word.at(1, 0), 5).unwrap();
    } else {
        job.word(word.at(0, 1), thread_number()).unwrap();
        assert_eq!(job.wait(word.here(0), Until::Equal(5)).unwrap(), 5);
    }
    job.barrier().unwrap();
}

/// Each step: the operation, the value before, the value after.
fn follow<T: AtomicNumber + PartialEq + Debug>(job: &Job, place: Place<'_, T>, steps: &[(Atomic<T>, T, T)]) {
    for (operation, before, after) in steps {
        assert_eq!(job.atomic(place, *operation).unwrap(), *before, "{operation:?}");
        assert_eq!(job.pull_one(place).unwrap(), *after, "{operation:?}");
    }
}

/// In symmetric memory, in an area and in registered memory of the other rank. What lies beside stays as it is.
fn everywhere<T: AtomicNumber + PartialEq + Debug>(job: &Job, id: u32, beside: T, steps: &[(Atomic<T>, T, T)]) {
    let numbers = job.symmetric::<T>(3).unwrap();
    let area = job.area::<T>(id, 3).unwrap();
    let registered = job.register(id + 1, vec![T::zeroed(); 3]).unwrap();
    for index in [0, 2] {
        numbers.set(index, beside);
        area.write(index, &[beside]);
        registered.write(index, &[beside]);
    }
    job.barrier().unwrap();
    let peer = 1 - job.rank();
    let [remote, remote_registered] = [id, id + 1].map(|id| job.open_area::<T>(peer, id).unwrap());
    for place in [numbers.at(peer, 1), remote.at(1), remote_registered.at(1)] {
        follow(job, place, steps);
    }
    job.barrier().unwrap();
    let expected = [beside, steps.last().unwrap().2, beside];
    for got in [numbers.to_vec(), area.to_vec(), registered.to_vec()] {
        assert_eq!(got, expected);
    }
}

pub fn numbers_of_every_type(job: &Job) {
    use Atomic::*;
    everywhere::<u32>(
        job,
        10,
        u32::MAX,
        &[
            (Swap(0b1100), 0, 0b1100),
            (Add(u32::MAX), 0b1100, 0b1011),
            (And(0b0110), 0b1011, 0b0010),
            (Or(1 << 31), 0b0010, 1 << 31 | 0b0010),
            (Xor(0b0011), 1 << 31 | 0b0010, 1 << 31 | 0b0001),
            (CompareSwap { old: 1, new: 7 }, 1 << 31 | 1, 1 << 31 | 1),
            (CompareSwap { old: 1 << 31 | 1, new: u32::MAX }, 1 << 31 | 1, u32::MAX),
            (Add(3), u32::MAX, 2),
        ],
    );
    everywhere::<i32>(job, 20, -1, &[(Add(-5), 0, -5), (Swap(i32::MIN), -5, i32::MIN), (Add(-1), i32::MIN, i32::MAX)]);
    everywhere::<i64>(
        job,
        30,
        -1,
        &[
            (Add(-5), 0, -5),
            (CompareSwap { old: -5, new: i64::MAX }, -5, i64::MAX),
            (Add(1), i64::MAX, i64::MIN),
            (Or(1), i64::MIN, i64::MIN + 1),
        ],
    );
    everywhere::<f64>(
        job,
        40,
        -7.5,
        &[
            (Add(0.5), 0.0, 0.5),
            (Add(-2.0), 0.5, -1.5),
            (CompareSwap { old: 1.5, new: 9.0 }, -1.5, -1.5),
            (CompareSwap { old: -1.5, new: 1e300 }, -1.5, 1e300),
            (Add(1e300), 1e300, 2e300),
            (Swap(f64::INFINITY), 2e300, f64::INFINITY),
            (Add(1.0), f64::INFINITY, f64::INFINITY),
        ],
    );
}

/// Halves of one word, and floating-point numbers, by all ranks at once.
pub fn concurrent_adds_of_every_type(job: &Job) {
    const ADDS: u32 = 500;
    let halves = job.symmetric::<u32>(2).unwrap();
    let (signed, number) = (job.symmetric::<i64>(1).unwrap(), job.symmetric::<f64>(1).unwrap());
    for add in 0..ADDS {
        job.fetch_add(halves.at(0, 0), u32::MAX).unwrap();
        job.fetch_add(halves.at(0, 1), add).unwrap();
        job.fetch_add(signed.at(0, 0), -i64::from(add)).unwrap();
        // Sums of these have no rounding, in whatever order they are added.
        job.fetch_add(number.at(0, 0), 0.25).unwrap();
    }
    job.barrier().unwrap();
    if job.rank() == 0 {
        let (size, sum) = (job.size() as u32, ADDS * (ADDS - 1) / 2);
        assert_eq!(halves.to_vec(), [(size * ADDS).wrapping_neg(), size * sum]);
        assert_eq!(signed.get(0), -i64::from(size * sum));
        assert_eq!(number.get(0), f64::from(size * ADDS) / 4.0);
    }
    job.barrier().unwrap();
}

/// Whoever waits for a word hears of a change of either half.
pub fn half_a_word_wakes(job: &Job) {
    let word = job.symmetric::<u64>(2).unwrap();
    for half in 0..2 {
        if job.rank() == 0 {
            let sleeper = job.wait(word.here(1), Until::NotEqual(0)).unwrap();
            await_asleep(job, sleeper);
            word.set(1, 0);
            let halves = word.at(1, 0).cast::<u32>().unwrap();
            assert_eq!(job.fetch_add(halves, 0).unwrap(), half);
            let upper = word.at(1, 0);
            match half {
                0 => drop(job.fetch_add(halves, 1).unwrap()),
                _ => drop(job.fetch_add(upper, 1 << 32).unwrap()),
            }
        } else {
            job.word(word.at(0, 1), thread_number()).unwrap();
            job.wait(word.here(0), if half == 0 { Until::Equal(1) } else { Until::Equal(1 << 32 | 1) }).unwrap();
        }
        job.barrier().unwrap();
    }
}
