//! Order: a word after its data, a barrier after everything.

use crate::support::tag;
use hikyaku::{Job, Until};

pub fn data_comes_before_its_word(job: &Job) {
    const SIZES: [usize; 9] = [1, 2, 7, 8, 64, 130, 1000, 5000, 100_000];
    let data = job.symmetric::<u64>(100_000).unwrap();
    let flag = job.symmetric::<u64>(1).unwrap();
    let peer = 1 - job.rank();
    // Ranks take turns; each fills all of the data with the number of the turn.
    for turn in 1..=600u64 {
        let len = SIZES[turn as usize % SIZES.len()];
        if turn % 2 == job.rank() as u64 {
            job.push_notify(data.at(peer, 0), &vec![turn; len], flag.at(peer, 0), turn).unwrap();
        } else {
            assert_eq!(job.wait(flag.here(0), Until::AtLeast(turn)).unwrap(), turn);
            let mut got = vec![0; len];
            data.read(0, &mut got);
            assert!(got.iter().all(|word| *word == turn), "turn {turn}: the word came before the data");
        }
    }
}

pub fn a_word_follows_all_pushes(job: &Job) {
    const PARTS: usize = 20;
    let data = job.symmetric::<u64>(PARTS * 100).unwrap();
    let flag = job.symmetric::<u64>(1).unwrap();
    let peer = 1 - job.rank();
    for turn in 1..=200u64 {
        if turn % 2 == job.rank() as u64 {
            for part in 0..PARTS {
                job.push(data.at(peer, part * 100), &[turn; 100]).unwrap();
            }
            job.word(flag.at(peer, 0), turn).unwrap();
        } else {
            job.wait(flag.here(0), Until::Equal(turn)).unwrap();
            assert!(data.to_vec().iter().all(|word| *word == turn), "turn {turn}");
        }
    }
}

pub fn a_token_goes_round(job: &Job) {
    const ROUNDS: u64 = 200;
    let token = job.symmetric::<u64>(1).unwrap();
    let trace = job.symmetric::<u64>(8).unwrap();
    let next = (job.rank() + 1) % job.size();
    let first = job.rank() == 0;
    for round in 1..=ROUNDS {
        if !first {
            job.wait(token.here(0), Until::Equal(round)).unwrap();
            assert!(trace.to_vec().iter().all(|word| *word == round));
        }
        job.push_notify(trace.at(next, 0), &[round; 8], token.at(next, 0), round).unwrap();
        if first {
            job.wait(token.here(0), Until::Equal(round)).unwrap();
            assert!(trace.to_vec().iter().all(|word| *word == round));
        }
    }
    job.barrier().unwrap();
}

pub fn everyone_notifies_one(job: &Job) {
    let size = job.size();
    let data = job.symmetric::<u64>(size * 16).unwrap();
    let flags = job.symmetric::<u64>(size).unwrap();
    let acknowledged = job.symmetric::<u64>(1).unwrap();
    for round in 1..=100 {
        if job.rank() == 0 {
            for peer in 1..size {
                job.wait(flags.here(peer), Until::AtLeast(round)).unwrap();
                let mut got = [0; 16];
                data.read(peer * 16, &mut got);
                assert_eq!(got, [tag(peer, round as usize); 16]);
            }
            for peer in 1..size {
                job.word(acknowledged.at(peer, 0), round).unwrap();
            }
        } else {
            let (place, flag) = (data.at(0, job.rank() * 16), flags.at(0, job.rank()));
            job.push_notify(place, &[tag(job.rank(), round as usize); 16], flag, round).unwrap();
            job.wait(acknowledged.here(0), Until::Equal(round)).unwrap();
        }
    }
}

pub fn until_means_what_it_says(job: &Job) {
    let word = job.symmetric::<u64>(2).unwrap();
    let (there, back) = (word.at(1 - job.rank(), 0), word.at(1 - job.rank(), 1));
    if job.rank() == 0 {
        for value in [5, 6, 100, 3] {
            job.word(there, value).unwrap();
            job.wait(word.here(1), Until::Equal(value)).unwrap();
        }
    } else {
        // Each is met by the one value that comes next, and gives it.
        for (until, expected) in
            [(Until::NotEqual(0), 5), (Until::Equal(6), 6), (Until::AtLeast(50), 100), (Until::NotEqual(100), 3)]
        {
            assert_eq!(job.wait(word.here(0), until).unwrap(), expected);
            job.word(back, expected).unwrap();
        }
        // What is true already needs no waiting.
        assert_eq!(job.wait(word.here(0), Until::AtLeast(3)).unwrap(), 3);
    }
    job.barrier().unwrap();
}

pub fn a_barrier_orders_everything(job: &Job) {
    let (size, rank) = (job.size(), job.rank());
    let table = job.symmetric::<u64>(size * 40).unwrap();
    for round in 0..100 {
        for peer in 0..size {
            job.push(table.at(peer, rank * 40), &[tag(rank, round); 40]).unwrap();
        }
        job.barrier().unwrap();
        for (index, word) in table.to_vec().into_iter().enumerate() {
            assert_eq!(word, tag(index / 40, round), "round {round}, index {index}");
        }
        job.barrier().unwrap();
    }
}

/// Everyone counts its arrivals at rank 0: after barrier number n all have arrived n times, and nobody, this rank
/// not having arrived again, is past the next one.
pub fn barriers_never_mix(job: &Job) {
    let count = job.symmetric::<u64>(1).unwrap();
    let size = job.size() as u64;
    for number in 1..=300 {
        job.fetch_add(count.at(0, 0), 1).unwrap();
        job.barrier().unwrap();
        let arrivals = job.pull_one(count.at(0, 0)).unwrap();
        assert!((number * size..(number + 1) * size).contains(&arrivals), "{arrivals} arrivals at barrier {number}");
    }
    job.barrier().unwrap();
}
