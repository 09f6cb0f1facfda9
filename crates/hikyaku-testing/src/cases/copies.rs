//! Copies between any two ranks, started by any: this may be one of them, or a third.

use crate::support::{bytes, expect_error, spin_until, tag};
use hikyaku::{By, Error, Job, Refusal, Result, Until};

/// In many pieces, between hosts.
const LONG: usize = 700_000;

/// All ranks start copies of each rank's elements to each rank, all at once.
pub fn everyone_copies_between_all(job: &Job) {
    const LEN: usize = 37;
    let (size, me) = (job.size(), job.rank());
    let (from, to) = (job.symmetric::<u64>(size * LEN).unwrap(), job.symmetric::<u64>(size * size * LEN).unwrap());
    for round in 0..5 {
        from.write(0, &(0..size * LEN).map(|index| tag(me, index + round)).collect::<Vec<_>>());
        job.barrier().unwrap();
        for source in 0..size {
            for target in (0..size).map(|rank| (rank + me) % size) {
                let place = to.at(target, (me * size + source) * LEN);
                job.copy(from.at(source, me * LEN), place, LEN).unwrap();
            }
        }
        if round % 2 == 0 {
            job.sync().unwrap();
            // They are there before anybody else does anything.
            let last = job.pull_one(to.at((me + 1) % size, (me * size + size - 1) * LEN + LEN - 1)).unwrap();
            assert_eq!(last, tag(size - 1, me * LEN + LEN - 1 + round));
        }
        job.barrier().unwrap();
        for initiator in 0..size {
            for source in 0..size {
                let at = (initiator * size + source) * LEN;
                let all = (0..LEN).all(|index| to.get(at + index) == tag(source, initiator * LEN + index + round));
                assert!(all, "from rank {source}, by rank {initiator}, round {round}");
            }
        }
        job.barrier().unwrap();
    }
}

/// Long ones and short ones, each with a word; everybody takes every part in turn.
pub fn words_follow_copies(job: &Job) {
    let (size, me) = (job.size(), job.rank());
    let (from, to) = (job.symmetric::<u8>(LONG).unwrap(), job.symmetric::<u8>(LONG).unwrap());
    let flag = job.symmetric::<u64>(1).unwrap();
    for round in 1..=2 * size {
        let len = if round % 2 == 0 { LONG - round } else { 13 * round };
        let (initiator, source) = (round % size, (round + round / size) % size);
        let target = (round + 2) % size;
        from.write(0, &bytes(me + round, LONG));
        job.barrier().unwrap();
        if me == initiator {
            job.copy_notify(from.at(source, 3), to.at(target, 1), len - 3, flag.at(target, 0), round as u64).unwrap();
        }
        if me == target {
            job.wait(flag.here(0), Until::Equal(round as u64)).unwrap();
            let expected = bytes(source + round, LONG);
            assert!(to.to_vec()[1..len - 2] == expected[3..len], "round {round}");
        }
        job.barrier().unwrap();
    }
    // Nothing but the word.
    if me == 0 {
        job.copy_notify(from.at(size - 1, 0), to.at(1 % size, 0), 0, flag.at(1 % size, 0), 99).unwrap();
    }
    if me == 1 % size {
        job.wait(flag.here(0), Until::Equal(99)).unwrap();
    }
    job.barrier().unwrap();
}

/// Symmetric memory, areas in a rank's heap, and vectors of it: from each kind to each kind, with words of each kind.
pub fn every_kind_of_memory_is_copied(job: &Job) {
    const LEN: usize = 20_000;
    let (size, me) = (job.size(), job.rank());
    let source = |rank: usize, kind: usize| -> Vec<u64> { (0..LEN).map(|at| tag(rank * 10 + kind, at)).collect() };
    let shared = [job.symmetric::<u64>(LEN).unwrap(), job.symmetric::<u64>(LEN + 1).unwrap()];
    let areas = [job.area::<u64>(1, LEN).unwrap(), job.area::<u64>(2, LEN + 1).unwrap()];
    shared[0].write(0, &source(me, 0));
    areas[0].write(0, &source(me, 1));
    let vectors = [job.register(3, source(me, 2)).unwrap(), job.register(4, vec![0u64; LEN + 1]).unwrap()];
    job.barrier().unwrap();
    let open = |id: u32| (0..size).map(|rank| job.open_area::<u64>(rank, id).unwrap()).collect::<Vec<_>>();
    let opened = [open(1), open(2), open(3), open(4)];
    let place = |rank: usize, kind: usize, side: usize, index: usize| match kind {
        0 => shared[side].at(rank, index),
        kind => opened[2 * (kind - 1) + side][rank].at(index),
    };
    let mut number = 0;
    for initiator in 0..size {
        for (from_kind, to_kind) in (0..9).map(|both| (both / 3, both % 3)) {
            let (from, to) = ((initiator + number) % size, (initiator + number / 2 + 1) % size);
            number += 1;
            let flag_kind = number % 3;
            if me == initiator {
                let (source, target) = (place(from, from_kind, 0, 0), place(to, to_kind, 1, 0));
                job.copy_notify(source, target, LEN, place(to, flag_kind, 1, LEN), number as u64).unwrap();
                job.flush(to).unwrap();
                let mut copy = vec![0; LEN];
                job.pull(target, &mut copy).unwrap();
                let wrong = copy.iter().zip(source_of(from, from_kind)).position(|(is, should)| *is != should);
                assert_eq!(wrong, None, "from kind {from_kind} of {from} to kind {to_kind} of {to}");
                assert_eq!(job.pull_one(place(to, flag_kind, 1, LEN)).unwrap(), number as u64);
            }
            job.barrier().unwrap();
        }
    }
    drop((areas, vectors));

    fn source_of(rank: usize, kind: usize) -> impl Iterator<Item = u64> {
        (0..LEN).map(move |at| tag(rank * 10 + kind, at))
    }
}

/// Everyone copies between its neighbours, more than the network takes at once, and does not wait in between.
pub fn long_copies_pass_each_other(job: &Job) {
    const COPIES: usize = 6;
    let (size, me) = (job.size(), job.rank());
    let (from, to) = (job.symmetric::<u8>(LONG).unwrap(), job.symmetric::<u8>(COPIES * LONG).unwrap());
    let flags = job.symmetric::<u64>(COPIES).unwrap();
    from.write(0, &bytes(me, LONG));
    job.barrier().unwrap();
    let (source, target) = ((me + 1) % size, (me + 2) % size);
    for copy in 0..COPIES {
        let place = to.at(target, copy * LONG);
        job.copy_notify(from.at(source, 0), place, LONG - copy, flags.at(target, copy), 1).unwrap();
    }
    // The copies go on though this rank waits for something else.
    let initiator = (me + size - 2 % size) % size;
    let expected = bytes((initiator + 1) % size, LONG);
    for copy in (0..COPIES).rev() {
        job.wait(flags.here(copy), Until::Equal(1)).unwrap();
        let mut there = vec![0; LONG];
        to.read(copy * LONG, &mut there);
        assert!(there[..LONG - copy] == expected[..LONG - copy], "copy {copy}");
    }
    job.barrier().unwrap();
}

/// What was pushed to the source before is copied; and a flush waits for all of it.
pub fn copies_follow_pushes_to_their_source(job: &Job) {
    let (size, me) = (job.size(), job.rank());
    let (from, to) = (job.symmetric::<u64>(3 * size).unwrap(), job.symmetric::<u64>(3 * size).unwrap());
    for round in 0..20 {
        let (source, target) = ((me + round) % size, (me + round / 2 + 1) % size);
        let value = tag(me, round + 1);
        job.push(from.at(source, 3 * me), &[value, !value, value ^ 1]).unwrap();
        job.copy(from.at(source, 3 * me), to.at(target, 3 * me), 3).unwrap();
        job.flush(target).unwrap();
        let mut copy = [0; 3];
        job.pull(to.at(target, 3 * me), &mut copy).unwrap();
        assert_eq!(copy, [value, !value, value ^ 1], "round {round}");
        job.barrier().unwrap();
    }
}

/// Two parts of one memory may touch each other, and no more than that.
pub fn copies_in_one_memory_do_not_overlap(job: &Job) {
    const LEN: usize = 40_000;
    let peer = (job.rank() + 1) % job.size();
    let table = job.symmetric::<u16>(2 * LEN).unwrap();
    let area = job.area::<u16>(1, 2 * LEN).unwrap();
    let vector = job.register(2, vec![job.rank() as u16; 2 * LEN]).unwrap();
    table.write(0, &vec![job.rank() as u16 + 5; LEN]);
    job.barrier().unwrap();
    let opened = [job.open_area::<u16>(peer, 1).unwrap(), job.open_area::<u16>(peer, 2).unwrap()];
    for kind in 0..3 {
        let at = |index: usize| match kind {
            0 => table.at(peer, index),
            kind => opened[kind - 1].at(index),
        };
        for (from, to, count) in [(0, 1, 2), (1, 0, 2), (5, 5, 1), (0, LEN, LEN + 1), (LEN, 1, LEN), (LEN - 1, 0, LEN)]
        {
            let result = job.copy(at(from), at(to), count);
            match to + count <= 2 * LEN {
                true => expect_error!(result, Error::Invalid(_)),
                false => expect_error!(result, Error::OutOfBounds { .. }),
            }
        }
        job.copy(at(7), at(7), 0).unwrap();
        job.copy(at(0), at(LEN), LEN).unwrap();
        job.flush(peer).unwrap();
        let (mut first, mut second) = (vec![0; LEN], vec![1; LEN]);
        job.pull(at(0), &mut first).unwrap();
        job.pull(at(LEN), &mut second).unwrap();
        assert!(first == second);
    }
    job.barrier().unwrap();
    drop((area, vector));
}

pub fn wrong_copies_are_refused(job: &Job) {
    let (table, flags) = (job.symmetric::<u64>(10).unwrap(), job.symmetric::<u64>(2).unwrap());
    let (one, two) = ((job.rank() + 1) % 3, (job.rank() + 2) % 3);
    let copy = |from, to, count| job.copy(from, to, count);
    expect_error!(copy(table.at(one, 0), table.at(two, 0), 11), Error::OutOfBounds { .. });
    expect_error!(copy(table.at(one, 5), table.at(two, 0), 6), Error::OutOfBounds { .. });
    expect_error!(copy(table.at(one, 0), table.at(two, 5), 6), Error::OutOfBounds { .. });
    expect_error!(copy(table.at(one, usize::MAX), table.at(two, 0), 1), Error::OutOfBounds { .. });
    expect_error!(copy(table.at(one, 0), table.at(two, 1), usize::MAX), Error::OutOfBounds { .. });
    expect_error!(copy(table.at(3, 0), table.at(two, 0), 1), Error::NoSuchRank { rank: 3, size: 3 });
    expect_error!(copy(table.at(one, 0), table.at(3, 0), 1), Error::NoSuchRank { rank: 3, size: 3 });
    let notify = |flag| job.copy_notify(table.at(one, 0), table.at(two, 0), 1, flag, 1);
    expect_error!(notify(flags.at(two, 2)), Error::OutOfBounds { .. });
    expect_error!(notify(flags.at(one, 0)), Error::NotAtTarget { .. });
    hikyaku::local(3, |inner| {
        let own = inner.symmetric::<u64>(10).unwrap();
        if inner.rank() == 0 {
            expect_error!(inner.copy(table.at(1, 0), own.at(2, 0), 1), Error::ForeignArea);
            expect_error!(inner.copy(own.at(1, 0), table.at(2, 0), 1), Error::ForeignArea);
        }
    })
    .unwrap();
    job.sync().unwrap();
    job.barrier().unwrap();
    assert_eq!((table.to_vec(), flags.to_vec()), (vec![0; 10], vec![0; 2]));
    job.barrier().unwrap();
}

/// Of areas that are gone: whoever has started the copy hears of it, and the word stays as it was.
pub fn copies_of_revoked_areas_are_refused(job: &Job) {
    const LEN: usize = 50_000;
    let (one, two) = ((job.rank() + 1) % 3, (job.rank() + 2) % 3);
    let (table, flag) = (job.symmetric::<u64>(LEN).unwrap(), job.symmetric::<u64>(1).unwrap());
    let areas = (job.area::<u64>(1, LEN).unwrap(), job.register(2, vec![7u64; LEN]).unwrap());
    job.barrier().unwrap();
    let open = |rank| [1, 2].map(|id| job.open_area::<u64>(rank, id).unwrap());
    let (of_one, of_two) = (open(one), open(two));
    job.barrier().unwrap();
    drop(areas);
    job.barrier().unwrap();
    let is_gone = |started: Result<()>, owner: usize| {
        let outcome = started.and_then(|()| job.flush(two));
        expect_error!(
            outcome,
            Error::AreaRevoked { rank, .. } | Error::Refused { rank, reason: Refusal::UnknownArea } if rank == owner
        );
        job.sync().expect("reported once");
    };
    for area in [0, 1] {
        let (source, target) = (of_one[area].at(0), of_two[area].at(0));
        is_gone(job.copy(source, table.at(two, 0), LEN), one);
        is_gone(job.copy_notify(table.at(one, 0), target, LEN, flag.at(two, 0), 1), two);
        is_gone(job.copy_notify(source, table.at(two, 0), LEN, flag.at(two, 0), 1), one);
    }
    job.barrier().unwrap();
    assert_eq!((table.to_vec(), flag.get(0)), (vec![0; LEN], 0));
    job.barrier().unwrap();
}

/// The end of a rank is the end of copies with it, and of no others.
pub fn copies_with_a_rank_that_leaves(job: &Job) {
    let (table, other) = (job.symmetric::<u8>(LONG).unwrap(), job.symmetric::<u8>(LONG).unwrap());
    let flag = job.symmetric::<u64>(2).unwrap();
    table.write(0, &bytes(job.rank(), LONG));
    job.barrier().unwrap();
    match job.rank() {
        0 => {
            // Rank 2 leaves as soon as it sees the word: what it has got counts.
            job.copy_notify(table.at(1, 0), other.at(2, 0), LONG, flag.at(2, 0), 1).unwrap();
            job.flush(2).unwrap();
            spin_until(|| !job.is_present(2).unwrap());
            let is_mapped = job.is_mapped(2).unwrap();
            for (source, target) in [(1, 2), (2, 1), (2, 2), (0, 2), (2, 0)] {
                let late = job.copy(table.at(source, 0), other.at(target, 0), LONG).and_then(|()| job.flush(target));
                match is_mapped {
                    true => late.expect("what is mapped stays"),
                    false => {
                        assert!(matches!(late, Err(Error::PeerLeft { rank: 2 })), "{source} to {target}: {late:?}")
                    }
                }
            }
            job.copy_notify(table.at(3, 0), other.at(1, 0), LONG, flag.at(1, 0), 2).unwrap();
            job.flush(1).unwrap();
            job.word(flag.at(3, 0), 2).unwrap();
        }
        2 => {
            job.wait(flag.here(0), Until::Equal(1)).unwrap();
            assert!(other.to_vec() == bytes(1, LONG));
        }
        rank => {
            job.wait_from(By::Rank(0), flag.here(0), Until::Equal(2)).unwrap();
            assert!(rank != 1 || other.to_vec() == bytes(3, LONG));
        }
    }
}

/// Where a handler would have to wait, it is told so.
pub fn copies_in_a_handler(job: &Job) {
    let (table, me) = (job.symmetric::<u64>(4).unwrap(), job.rank());
    let (one, two) = ((me + 1) % 3, (me + 2) % 3);
    let area = job.area::<u64>(1, 4).unwrap();
    area.write(0, &[tag(me, 1); 4]);
    job.barrier().unwrap();
    let (port, is_mapped) = (job.open().unwrap(), job.is_mapped(one).unwrap() && job.is_mapped(two).unwrap());
    let (from, to) = (job.open_area::<u64>(one, 1).unwrap(), job.open_area::<u64>(two, 1).unwrap());
    job.register_handler(1, move |_, _| match port.copy(from.at(0), to.at(2), 1) {
        Ok(()) => {}
        Err(error) => assert!(!is_mapped && matches!(error, Error::InHandler), "{error:?}"),
    })
    .unwrap();
    job.barrier().unwrap();
    job.send(one, 1, 0, [0; 6], &[]).unwrap();
    job.sync().unwrap();
    job.barrier().unwrap();
    if is_mapped {
        assert_eq!(area.get(2), tag(two, 1));
    }
    job.unregister_handler(1).unwrap();
    drop(table);
}
