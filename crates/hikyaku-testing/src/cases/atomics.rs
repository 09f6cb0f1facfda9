//! Atomic operations on remote words.

use crate::support::{await_asleep, tag, thread_number};
use hikyaku::{Atomic, Job, Until};

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
