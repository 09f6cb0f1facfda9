//! Order: a word after its data, a barrier after everything.

use crate::support::{expect_error, tag};
use hikyaku::{Error, Job, Until};

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

/// Data and counter in every kind of memory, of every length.
pub fn everyone_adds_to_one_counter(job: &Job) {
    const SIZES: [usize; 5] = [0, 1, 3, 130, 9000];
    let (size, rank) = (job.size(), job.rank());
    let data = job.symmetric::<u64>(size * 9000).unwrap();
    let counters = job.symmetric::<u64>(2).unwrap();
    let area = job.area::<u64>(1, size * 9000).unwrap();
    let private = job.register(2, vec![0u64; size * 9000]).unwrap();
    let (area_counter, private_counter) = (job.area::<u64>(3, 1).unwrap(), job.register(4, vec![0u64; 1]).unwrap());
    let passed = job.symmetric::<u64>(1).unwrap();
    job.barrier().unwrap();
    let [remote, remote_private, remote_counter, remote_private_counter] =
        [1, 2, 3, 4].map(|id| job.open_area::<u64>(0, id).unwrap());
    let mut turn = 0;
    for len in SIZES {
        for kind in 0..9 {
            turn += 1;
            let content = vec![tag(rank, turn as usize); len];
            let place = match kind % 3 {
                0 => data.at(0, rank * 9000),
                1 => remote.at(rank * 9000),
                _ => remote_private.at(rank * 9000),
            };
            let counter = match kind / 3 {
                0 => counters.at(0, 1),
                1 => remote_counter.at(0),
                _ => remote_private_counter.at(0),
            };
            // Each adds another amount, so that a lost or doubled one is seen.
            job.push_notify_add(place, &content, counter, 1 << (8 * rank)).unwrap();
            if rank == 0 {
                // All together, so often that kind of counter was used.
                let sum = (0..size).map(|rank| 1u64 << (8 * rank)).sum::<u64>();
                let uses = (turn - 1) / 9 * 3 + kind as u64 % 3 + 1;
                let word = match kind / 3 {
                    0 => counters.here(1),
                    1 => area_counter.at(0),
                    _ => private_counter.at(0),
                };
                assert_eq!(job.wait(word, Until::AtLeast(uses * sum)).unwrap(), uses * sum);
                for peer in 0..size {
                    let mut got = vec![0; len];
                    match kind % 3 {
                        0 => data.read(peer * 9000, &mut got),
                        1 => area.read(peer * 9000, &mut got),
                        _ => private.read(peer * 9000, &mut got),
                    }
                    assert!(got.iter().all(|word| *word == tag(peer, turn as usize)), "turn {turn} of rank {peer}");
                }
                (1..size).for_each(|peer| job.word(passed.at(peer, 0), turn).unwrap());
            } else {
                job.wait(passed.here(0), Until::AtLeast(turn)).unwrap();
            }
        }
    }
    assert_eq!(counters.get(0), 0, "the word beside");
    job.barrier().unwrap();
}

pub fn an_addition_wakes_and_follows_all_pushes(job: &Job) {
    let (data, counter) = (job.symmetric::<u64>(500).unwrap(), job.symmetric::<u64>(2).unwrap());
    let peer = 1 - job.rank();
    for turn in 1..=100u64 {
        if job.rank() == 0 {
            (0..5).for_each(|part| job.push(data.at(peer, part * 100), &[turn; 100]).unwrap());
            job.push_notify_add::<u64>(data.at(peer, 0), &[], counter.at(peer, 0), 3).unwrap();
            job.wait(counter.here(1), Until::Equal(turn)).unwrap();
        } else {
            assert_eq!(job.wait(counter.here(0), Until::AtLeast(3 * turn)).unwrap(), 3 * turn);
            assert!(data.to_vec().iter().all(|word| *word == turn));
            job.word(counter.at(peer, 1), turn).unwrap();
        }
    }
    // What goes wrong writes nothing.
    let elsewhere = job.push_notify_add(data.at(peer, 0), &[9], counter.at(job.rank(), 0), 1).unwrap_err();
    let at = format!("the data go to rank {peer}, so the word that tells of them must be there too");
    assert_eq!(elsewhere.to_string(), format!("{at}, not at rank {}", job.rank()));
    expect_error!(job.push_notify_add(data.at(peer, 0), &[9], counter.at(peer, 2), 1), Error::OutOfBounds { .. });
    expect_error!(job.push_notify_add(data.at(peer, 500), &[9], counter.at(peer, 0), 1), Error::OutOfBounds { .. });
    job.barrier().unwrap();
    assert!(!data.to_vec().contains(&9));
    assert_eq!(counter.get(0), if job.rank() == 0 { 0 } else { 300 });
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
