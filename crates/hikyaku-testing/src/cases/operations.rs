//! Push and pull: every rank, every length, nothing but what was asked for.

use crate::support::{bytes, other, tag};
use hikyaku::{Error, Job, Until};

pub fn push_reaches_every_rank(job: &Job) {
    let table = job.symmetric::<u64>(job.size()).unwrap();
    for round in 0..50 {
        for peer in 0..job.size() {
            job.push(table.at(peer, job.rank()), &[tag(job.rank(), round)]).unwrap();
        }
        job.barrier().unwrap();
        let expected: Vec<u64> = (0..job.size()).map(|rank| tag(rank, round)).collect();
        assert_eq!(table.to_vec(), expected);
        job.barrier().unwrap();
    }
}

pub fn pull_reads_every_rank(job: &Job) {
    let own = job.symmetric::<u64>(100).unwrap();
    for round in 0..20 {
        let content: Vec<u64> = (0..100).map(|i| tag(job.rank(), round * 100 + i)).collect();
        own.write(0, &content);
        job.barrier().unwrap();
        for peer in 0..job.size() {
            let mut got = [0; 60];
            job.pull(own.at(peer, 40), &mut got).unwrap();
            let expected: [u64; 60] = std::array::from_fn(|i| tag(peer, round * 100 + 40 + i));
            assert_eq!(got, expected);
        }
        job.barrier().unwrap();
    }
}

pub fn every_length_and_offset(job: &Job) {
    let area = job.symmetric::<u8>(20_000).unwrap();
    let peer = other(job);
    let lengths = (0..=130).chain([255, 256, 257, 1000, 1023, 1024, 1025, 4095, 4096, 4097, 10_001]);
    for len in lengths {
        for offset in [0, 1, 3, 8, 13] {
            let mut expected = vec![0xEE; len + 64];
            job.push(area.at(peer, 0), &expected).unwrap();
            let data = bytes(len + offset + job.rank(), len);
            job.push(area.at(peer, offset), &data).unwrap();
            expected[offset..offset + len].copy_from_slice(&data);
            let mut got = vec![0; len + 64];
            job.pull(area.at(peer, 0), &mut got).unwrap();
            assert_eq!(got, expected, "length {len} at {offset}");
            // A pull from and to odd places.
            let mut part = vec![0; len];
            job.pull(area.at(peer, offset), &mut part).unwrap();
            assert_eq!(part, data);
        }
    }
    job.barrier().unwrap();
}

/// Ranks write interleaved bytes at the same time: a copy that read and wrote back its neighbours would lose some.
pub fn neighbours_stay_untouched(job: &Job) {
    const ROUNDS: usize = 200;
    let (size, rank) = (job.size(), job.rank());
    let area = job.symmetric::<u8>(64 * size).unwrap();
    for round in 1..=ROUNDS {
        for index in 0..64 {
            job.push(area.at(0, index * size + rank), &[round as u8]).unwrap();
        }
        job.barrier().unwrap();
        if rank == 0 {
            assert!(area.to_vec().iter().all(|byte| *byte == round as u8), "round {round}: {:?}", area.to_vec());
        }
        job.barrier().unwrap();
    }
}

pub fn words_are_never_torn(job: &Job) {
    const PATTERNS: [u64; 3] = [0, u64::MAX, 0x0123_4567_89ab_cdef];
    let words = job.symmetric::<u64>(32).unwrap();
    let done = job.symmetric::<u64>(1).unwrap();
    if job.rank() == 0 {
        for round in 0..20_000 {
            let count = [1, 2, 3, 9, 32][round % 5];
            job.push(words.at(1, 0), &vec![PATTERNS[round % 3]; count]).unwrap();
        }
        job.word(done.at(1, 0), 1).unwrap();
    } else {
        while job.poll(done.here(0)).unwrap() == 0 {
            let mut got = [0; 32];
            job.pull(words.here(0), &mut got).unwrap();
            assert!(got.iter().all(|word| PATTERNS.contains(word)), "torn: {got:x?}");
        }
    }
    job.barrier().unwrap();
}

pub fn large_transfers(job: &Job) {
    const LEN: usize = 4 << 20;
    let area = job.symmetric::<u8>(LEN).unwrap();
    let peer = other(job);
    let data = bytes(job.rank(), LEN);
    job.push(area.at(peer, 0), &data).unwrap();
    job.barrier().unwrap();
    assert!(area.to_vec() == bytes(peer, LEN));
    let mut got = vec![0; LEN];
    job.pull(area.at(peer, 0), &mut got).unwrap();
    assert!(got == data);
    job.barrier().unwrap();
}

pub fn a_job_of_one(job: &Job) {
    assert_eq!((job.rank(), job.size()), (0, 1));
    let area = job.symmetric::<u64>(4).unwrap();
    job.push(area.at(0, 1), &[5, 6]).unwrap();
    assert_eq!(job.fetch_add(area.at(0, 1), 10).unwrap(), 5);
    job.word(area.at(0, 3), 9).unwrap();
    assert_eq!(job.wait(area.here(3), hikyaku::Until::Equal(9)).unwrap(), 9);
    job.barrier().unwrap();
    job.sync().unwrap();
    assert_eq!(area.to_vec(), [0, 15, 6, 9]);
}

pub fn prepared_pushes_to_every_kind_of_memory(job: &Job) {
    const ROUNDS: u64 = 200;
    let (cells, flags) = (job.symmetric::<u64>(100).unwrap(), job.symmetric::<u64>(3).unwrap());
    let registered = job.register::<u64>(2, vec![0; 101]).unwrap();
    job.barrier().unwrap();
    let peer = other(job);
    let remote = job.open_area::<u64>(peer, 2).unwrap();
    let mut mapped = job.prepare_push(cells.at(peer, 1), vec![0; 99], Some(flags.at(peer, 0))).unwrap();
    let mut routed = job.prepare_push(remote.at(1), vec![0; 100], Some(remote.at(0))).unwrap();
    let mut mixed = job.prepare_push(remote.at(1), vec![0; 100], Some(flags.at(peer, 1))).unwrap();
    let mut silent = job.prepare_push(cells.at(peer, 0), vec![0; 1], None).unwrap();
    for round in 1..=ROUNDS {
        let mine = tag(job.rank(), round as usize);
        mapped.data_mut().fill(mine);
        mapped.start().unwrap();
        job.wait(flags.here(0), Until::AtLeast(round)).unwrap();
        assert_eq!(cells.to_vec()[1..], [tag(peer, round as usize); 99]);
        routed.data_mut().fill(mine);
        routed.start().unwrap();
        job.wait(registered.at(0), Until::AtLeast(round)).unwrap();
        assert_eq!(registered.get(100), tag(peer, round as usize));
        job.barrier().unwrap();
        mixed.data_mut().fill(mine + 1);
        mixed.start().unwrap();
        job.wait(flags.here(1), Until::AtLeast(round)).unwrap();
        assert_eq!(registered.get(100), tag(peer, round as usize) + 1);
        silent.data_mut()[0] = mine;
        silent.start().unwrap();
        job.barrier().unwrap();
        assert_eq!(cells.get(0), tag(peer, round as usize));
        job.barrier().unwrap();
    }
    assert_eq!((mapped.starts(), silent.data()), (ROUNDS, &[tag(job.rank(), ROUNDS as usize)][..]));
}

pub fn prepared_pushes_are_checked(job: &Job) {
    let cells = job.symmetric::<u64>(10).unwrap();
    let too_long = job.prepare_push(cells.at(0, 5), vec![0; 6], None);
    assert!(matches!(too_long, Err(Error::OutOfBounds { index: 5, count: 6, len: 10 })), "{too_long:?}");
    let nobody = job.prepare_push(cells.at(2, 0), vec![0; 1], None);
    assert!(matches!(nobody, Err(Error::NoSuchRank { rank: 2, size: 2 })), "{nobody:?}");
    let elsewhere = job.prepare_push(cells.at(0, 0), vec![0; 1], Some(cells.at(1, 1)));
    assert!(matches!(elsewhere, Err(Error::NotAtTarget { rank: 1, .. })), "{elsewhere:?}");
    job.barrier().unwrap();
}
