//! Multicast: the same for several ranks.

use crate::support::{bytes, expect_error, tag};
use hikyaku::{Bitmap, By, Error, Job, Recipients, Stride, Twin, Until};

/// All ranks but this one.
fn others(job: &Job) -> Recipients {
    let ranks: Vec<usize> = (0..job.size()).filter(|rank| *rank != job.rank()).rev().collect();
    job.recipients(&ranks).unwrap()
}

/// At once, each in its own places, with a word and without.
pub fn every_rank_tells_all_others(job: &Job) {
    const ROUNDS: usize = 20;
    let (table, flags) = (job.symmetric::<u64>(2 * job.size()).unwrap(), job.symmetric::<u64>(job.size()).unwrap());
    let (others, me) = (others(job), job.rank());
    for round in 1..=ROUNDS {
        let value = tag(me, round);
        job.multicast_notify(&others, &table, 2 * me, &[value, !value], (&flags, me), round as u64).unwrap();
        for rank in (0..job.size()).filter(|rank| *rank != me) {
            job.wait_from(By::Rank(rank), flags.here(rank), Until::Equal(round as u64)).unwrap();
            assert_eq!(table.get(2 * rank), tag(rank, round), "of rank {rank}");
            assert_eq!(table.get(2 * rank + 1), !tag(rank, round), "of rank {rank}");
        }
        job.barrier().unwrap();
        // Nobody else is told.
        assert_eq!((table.get(2 * me), flags.get(me)), (0, 0));
    }
    for round in 1..=ROUNDS {
        job.multicast(&others, &table, 2 * me, &[tag(me, round)]).unwrap();
        job.barrier().unwrap();
        for rank in (0..job.size()).filter(|rank| *rank != me) {
            assert_eq!(table.get(2 * rank), tag(rank, round), "of rank {rank}");
        }
        job.barrier().unwrap();
    }
}

/// From rank 1, to all and to itself too; and to nobody.
pub fn every_form_reaches_all(job: &Job) {
    const LEN: usize = 3000;
    let all = job.recipients(&(0..job.size()).collect::<Vec<_>>()).unwrap();
    let nobody = job.recipients(&[]).unwrap();
    let table = job.symmetric::<u32>(LEN + 7).unwrap();
    let data: Vec<u32> = (1..=LEN as u32).collect();
    let stride = Stride::new(2, 5, LEN / 5);
    let mut marked = Bitmap::new(LEN);
    (0..LEN).filter(|index| index % 3 == 1).for_each(|index| marked.set(index));
    let mut changed = data.clone();
    changed.iter_mut().step_by(100).for_each(|value| *value += 7);
    let check = |expected: &dyn Fn(usize) -> u32| {
        job.barrier().unwrap();
        let right = |(at, value): (usize, u32)| at < 7 || value == expected(at - 7);
        assert!(table.to_vec().into_iter().enumerate().all(right));
        job.barrier().unwrap();
        table.write(0, &[0; LEN + 7]);
        job.barrier().unwrap();
    };
    for to in [&all, &nobody] {
        let travels = !to.ranks().is_empty();
        let if_any = |value: u32| if travels { value } else { 0 };
        let sends = job.rank() == 1;
        if sends {
            job.multicast(to, &table, 7, &data).unwrap();
        }
        check(&|at| if_any(data[at]));
        if sends {
            job.multicast_stride(to, &table, 7, &data, stride).unwrap();
        }
        check(&|at| if at % 5 < 2 { if_any(data[at]) } else { 0 });
        if sends {
            job.multicast_bitmap(to, &table, 7, &data, &marked).unwrap();
        }
        check(&|at| if at % 3 == 1 { if_any(data[at]) } else { 0 });
        if sends {
            let mut twin = Twin::of(&data);
            let count = job.multicast_diff(to, &table, 7, &changed, &mut twin).unwrap();
            assert_eq!(count, LEN / 100);
            assert_eq!(job.multicast_diff(to, &table, 7, &changed, &mut twin).unwrap(), 0);
        }
        check(&|at| if at % 100 == 0 { if_any(changed[at]) } else { 0 });
    }
}

/// In many packets, each of which some rank writes for others.
pub fn long_multicasts_reach_all(job: &Job) {
    const LEN: usize = 300_000;
    let (table, flag) = (job.symmetric::<u8>(LEN).unwrap(), job.symmetric::<u64>(1).unwrap());
    for round in 1..=3 {
        let root = round % job.size();
        if job.rank() == root {
            job.multicast_notify(&others(job), &table, 0, &bytes(round, LEN), (&flag, 0), round as u64).unwrap();
        } else {
            job.wait_from(By::Rank(root), flag.here(0), Until::Equal(round as u64)).unwrap();
            assert!(table.to_vec() == bytes(round, LEN), "round {round}");
        }
        job.barrier().unwrap();
    }
}

/// Whoever sees the word sees all parts, also those that take several packets, and a word comes if nothing has changed.
pub fn words_come_after_all_parts(job: &Job) {
    const LEN: usize = 30_000;
    let (table, flag) = (job.symmetric::<u64>(LEN).unwrap(), job.symmetric::<u64>(1).unwrap());
    let stride = Stride::new(3, 10, LEN / 10);
    let mut marked = Bitmap::new(LEN);
    (0..LEN).filter(|index| index % 7 == 2).for_each(|index| marked.set(index));
    for round in 0..4 * job.size() {
        let (root, form) = (round % job.size(), round / job.size());
        let is_part = |at: usize| match form {
            0 => at % 10 < 3,
            1 => at % 7 == 2,
            2 => at % 11 == 5,
            _ => false,
        };
        let data: Vec<u64> = (0..LEN).map(|at| tag(root, at) ^ (form as u64 + 1)).collect();
        let word = (&flag, 0);
        let value = round as u64 + 1;
        if job.rank() == root {
            let to = others(job);
            match form {
                0 => job.multicast_parts_notify(&to, &table, 0, &data, stride, word, value).unwrap(),
                1 => job.multicast_parts_notify(&to, &table, 0, &data, &marked, word, value).unwrap(),
                _ => {
                    let before: Vec<u64> =
                        data.iter().enumerate().map(|(at, new)| if is_part(at) { !new } else { *new }).collect();
                    let mut twin = Twin::of(&before);
                    let count = job.multicast_diff_notify(&to, &table, 0, &data, &mut twin, word, value).unwrap();
                    assert_eq!(count, (0..LEN).filter(|at| is_part(*at)).count());
                }
            }
        } else {
            job.wait_from(By::Rank(root), flag.here(0), Until::Equal(value)).unwrap();
            let right = |(at, value): (usize, u64)| value == if is_part(at) { data[at] } else { 0 };
            assert!(table.to_vec().into_iter().enumerate().all(right), "form {form} of rank {root}");
        }
        job.barrier().unwrap();
        table.write(0, &[0; LEN]);
        job.barrier().unwrap();
    }
}

/// Each in memory of its own: private or shared, at any address, of another length; with a word in an area, and in symmetric memory.
pub fn areas_of_any_memory_get_every_form(job: &Job) {
    const LEN: usize = 20_000;
    let (me, size) = (job.rank(), job.size());
    let symmetric = job.symmetric::<u64>(1).unwrap();
    let table = job.symmetric::<u64>(LEN).unwrap();
    let flags = job.area::<u64>(2, 1 + me).unwrap();
    let stride = Stride::new(3, 10, LEN / 10);
    let mut marked = Bitmap::new(LEN);
    (0..LEN).filter(|at| at % 7 == 2).for_each(|at| marked.set(at));
    let all = job.recipients(&(0..size).collect::<Vec<_>>()).unwrap();
    job.barrier().unwrap();
    let words = job.open_areas::<u64>(&all, 2).unwrap();
    assert_eq!((words.of(size - 1).unwrap().len(), words.of(size).is_none()), (size, true));
    for round in 0..5 * size {
        let (root, form) = (round % size, round / size);
        let is_part = |at: usize| match form {
            0 | 4 => true,
            1 => at % 10 < 3,
            2 => at % 7 == 2,
            _ => at % 11 == 5,
        };
        let data: Vec<u64> = (0..LEN).map(|at| tag(root, at) ^ (form as u64 + 1)).collect();
        let value = round as u64 + 1;
        // Half of them in shared memory, half in vectors.
        let (shared, own) = match (round + me) % 2 {
            0 => (Some(job.area::<u64>(1, LEN + me).unwrap()), None),
            _ => (None, Some(job.register(1, vec![0u64; LEN + me]).unwrap())),
        };
        job.barrier().unwrap();
        if me == root {
            let areas = job.open_areas::<u64>(&all, 1).unwrap();
            match form {
                0 => job.multicast_notify(&all, &areas, 0, &data, (&symmetric, 0), value).unwrap(),
                1 => job.multicast_parts_notify(&all, &areas, 0, &data, stride, (&words, 0), value).unwrap(),
                2 => job.multicast_parts_notify(&all, &areas, 0, &data, &marked, (&symmetric, 0), value).unwrap(),
                3 => {
                    let old = |(at, new): (usize, &u64)| if is_part(at) { !new } else { *new };
                    let mut twin = Twin::of(&data.iter().enumerate().map(old).collect::<Vec<_>>());
                    let count =
                        job.multicast_diff_notify(&all, &areas, 0, &data, &mut twin, (&words, 0), value).unwrap();
                    assert_eq!(count, (0..LEN).filter(|at| is_part(*at)).count());
                }
                // Nobody may write the data for others, since each gets its word from here.
                _ => job
                    .multicast_parts_notify(&all, &table, 0, &data, Stride::new(LEN, LEN, 1), (&words, 0), value)
                    .unwrap(),
            }
        }
        match form {
            0 | 2 => job.wait_from(By::Rank(root), symmetric.here(0), Until::Equal(value)).unwrap(),
            _ => job.wait_from(By::Rank(root), flags.at(0), Until::Equal(value)).unwrap(),
        };
        let got = match form {
            4 => table.to_vec(),
            _ => shared.as_ref().or(own.as_ref()).unwrap().to_vec(),
        };
        let right = |(at, got): (usize, &u64)| *got == if is_part(at) { data[at] } else { 0 };
        assert!(got[..LEN].iter().enumerate().all(right), "form {form} of rank {root}");
        assert!(got[LEN..].iter().all(|word| *word == 0), "behind the last");
        job.barrier().unwrap();
        table.write(0, &[0; LEN]);
        drop((shared, own));
        job.barrier().unwrap();
    }
    if me == 0 {
        // The shortest one ends before the others.
        expect_error!(job.multicast(&all, &words, 1, &[1]), Error::OutOfBounds { .. });
        let one = job.open_areas::<u64>(&job.recipients(&[1]).unwrap(), 2).unwrap();
        expect_error!(job.multicast(&all, &one, 0, &[1]), Error::Invalid(_));
        expect_error!(job.multicast_notify(&all, &table, 0, &[1], (&one, 0), 1), Error::Invalid(_));
        expect_error!(job.open_areas::<u64>(&all, 77), Error::UnknownArea { id: 77, .. });
    }
    job.barrier().unwrap();
    assert!(table.to_vec().iter().all(|word| *word == 0));
    job.barrier().unwrap();
}

pub fn wrong_recipients_are_refused(job: &Job) {
    let table = job.symmetric::<u64>(4).unwrap();
    expect_error!(job.recipients(&[3]), Error::NoSuchRank { rank: 3, size: 3 });
    expect_error!(job.recipients(&[1, 2, 1]), Error::Invalid(_));
    let all = job.recipients(&[0, 1, 2]).unwrap();
    expect_error!(job.multicast(&all, &table, 3, &[1, 2]), Error::OutOfBounds { .. });
    expect_error!(job.multicast(&all, &table, usize::MAX, &[1]), Error::OutOfBounds { .. });
    expect_error!(job.multicast_notify(&all, &table, 0, &[1], (&table, 4), 1), Error::OutOfBounds { .. });
    expect_error!(job.multicast_stride(&all, &table, 0, &[1], Stride::new(1, 2, 2)), Error::OutOfBounds { .. });
    expect_error!(job.multicast_bitmap(&all, &table, 0, &[1], &Bitmap::new(2)), Error::OutOfBounds { .. });
    expect_error!(job.multicast_diff(&all, &table, 0, &[1, 2], &mut Twin::of(&[1])), Error::Invalid(_));
    expect_error!(job.multicast_diff(&all, &table, 2, &[1; 3], &mut Twin::of(&[1; 3])), Error::OutOfBounds { .. });
    let column = Stride::new(1, 2, 2);
    expect_error!(
        job.multicast_parts_notify(&all, &table, 0, &[1; 3], column, (&table, 4), 1),
        Error::OutOfBounds { .. }
    );
    expect_error!(
        job.multicast_parts_notify(&all, &table, 2, &[1; 3], column, (&table, 0), 1),
        Error::OutOfBounds { .. }
    );
    let (mut twin, word) = (Twin::of(&[0; 3]), (&table, 4));
    expect_error!(job.multicast_diff_notify(&all, &table, 0, &[1; 3], &mut twin, word, 1), Error::OutOfBounds { .. });
    hikyaku::local(3, |inner| {
        let own = inner.symmetric::<u64>(4).unwrap();
        if inner.rank() == 0 {
            expect_error!(inner.multicast(&all, &own, 0, &[1]), Error::ForeignArea);
            let inside = inner.recipients(&[0, 1]).unwrap();
            expect_error!(inner.multicast(&inside, &table, 0, &[1]), Error::ForeignArea);
        }
    })
    .unwrap();
    job.barrier().unwrap();
    assert_eq!(table.to_vec(), [0; 4]);
    job.barrier().unwrap();
}
