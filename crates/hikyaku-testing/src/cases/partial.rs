//! Pushes and pulls of some elements of a range: blocks at a distance, marked elements, changed ones. In symmetric memory, in areas, and in
//! vectors of the program.

use crate::support::{bytes, expect_error, tag};
use bytemuck::Pod;
use hikyaku::{Bitmap, Error, Job, Place, Stride, Twin, Until};

/// What is there before anything is pushed.
const BEFORE: u8 = 0xEE;

/// A range of the peer, and a look at what it has become.
struct Range<'a, T> {
    at: &'a dyn Fn(usize) -> Place<'a, T>,
    len: usize,
    job: &'a Job,
}

impl<T: Pod> Range<'_, T> {
    fn content(&self) -> Vec<u8> {
        let mut content = vec![T::zeroed(); self.len];
        self.job.pull((self.at)(0), &mut content).unwrap();
        bytemuck::cast_slice(&content).to_vec()
    }

    fn reset(&self) {
        let before = vec![bytemuck::pod_read_unaligned(&vec![BEFORE; size_of::<T>()]); self.len];
        self.job.push::<T>((self.at)(0), &before).unwrap();
    }
}

/// Calls `check` with a range of as many elements in each kind of memory of the peer, which nobody else uses.
fn in_every_memory<T: Pod>(job: &Job, len: usize, check: impl Fn(Range<'_, T>)) {
    let peer = (job.rank() + 1) % job.size();
    let symmetric = job.symmetric::<T>(len).unwrap();
    let area = job.area::<T>(1, len).unwrap();
    let vector = job.register::<T>(2, vec![T::zeroed(); len]).unwrap();
    job.barrier().unwrap();
    let (remote_area, remote_vector) = (job.open_area::<T>(peer, 1).unwrap(), job.open_area::<T>(peer, 2).unwrap());
    check(Range { at: &|index| symmetric.at(peer, index), len, job });
    check(Range { at: &|index| remote_area.at(index), len, job });
    check(Range { at: &|index| remote_vector.at(index), len, job });
    job.barrier().unwrap();
    drop((area, vector));
}

fn elements<T: Pod>(seed: usize, len: usize) -> Vec<T> {
    bytes(seed, len * size_of::<T>()).chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}

fn check_strides<T: Pod>(job: &Job) {
    let unit = size_of::<T>();
    let shapes = [
        Stride::new(1, 7, 900),
        Stride::new(1, 3, 900).here(1),
        Stride::new(2, 2, 100).there(9),
        Stride::new(5, 64, 100).here(6).there(5),
        Stride::new(700, 1000, 6).here(701),
        Stride::new(6000, 1, 1),
        Stride::new(8, 8, 799),
    ];
    in_every_memory::<T>(job, 6400, |range| {
        for (number, stride) in shapes.into_iter().enumerate() {
            let first = number;
            let data = elements::<T>(number, stride.span_here());
            range.reset();
            job.push_stride((range.at)(first), &data, stride).unwrap();
            // Which element of the range is which of the data, by the definition of a stride.
            let (block, there, here) = block_of(number);
            let pair = |at: usize| {
                let (number, within) = (at / block, at % block);
                (first + number * there + within, number * here + within)
            };
            let pairs = || (0..stride.elements()).map(pair);
            let mut expected = vec![BEFORE; range.len * unit];
            for (to, from) in pairs() {
                expected[to * unit..][..unit].copy_from_slice(bytemuck::bytes_of(&data[from]));
            }
            assert!(range.content() == expected, "pushed: {stride:?} of {unit} bytes");
            let mut back = vec![bytemuck::pod_read_unaligned(&vec![BEFORE; unit]); stride.span_here()];
            let mut beside = back.clone();
            job.pull_stride::<T>((range.at)(first), &mut back, stride).unwrap();
            let mut in_back = vec![BEFORE; back.len() * unit];
            for (_, from) in pairs() {
                in_back[from * unit..][..unit].copy_from_slice(bytemuck::bytes_of(&data[from]));
            }
            assert!(bytemuck::cast_slice::<T, u8>(&back) == in_back, "pulled: {stride:?} of {unit} bytes");
            range.reset();
            job.scope(|scope| scope.wait(scope.start_push_parts((range.at)(first), &data, stride)?)).unwrap();
            assert!(range.content() == expected, "pushed beside the program: {stride:?} of {unit} bytes");
            job.scope(|scope| scope.wait(scope.start_pull_parts((range.at)(first), &mut beside, stride)?)).unwrap();
            assert!(bytemuck::cast_slice::<T, u8>(&beside) == in_back, "pulled beside it: {stride:?} of {unit} bytes");
        }
    });

    /// Block, distance there and here of the shapes above.
    fn block_of(number: usize) -> (usize, usize, usize) {
        [(1, 7, 7), (1, 3, 1), (2, 9, 2), (5, 5, 6), (700, 1000, 701), (6000, 1, 1), (8, 8, 8)][number]
    }
}

pub fn strides_of_any_shape(job: &Job) {
    check_strides::<u8>(job);
    check_strides::<u32>(job);
    check_strides::<u64>(job);
    check_strides::<[u64; 3]>(job);
}

/// Bitmaps of several densities for so many elements.
fn bitmaps(len: usize) -> Vec<Bitmap> {
    let chosen = |choose: &dyn Fn(usize, u8) -> bool| {
        let mut bitmap = Bitmap::new(len);
        let chance = bytes(len, len);
        (0..len).filter(|at| choose(*at, chance[*at])).for_each(|at| bitmap.set(at));
        bitmap
    };
    vec![
        chosen(&|_, _| false),
        chosen(&|_, _| true),
        chosen(&|_, chance| chance < 128),
        chosen(&|_, chance| chance < 3),
        chosen(&|at, _| at == 0 || at + 1 == len),
        chosen(&|at, _| at / 100 % 2 == 1),
    ]
}

fn check_bitmaps<T: Pod>(job: &Job) {
    let unit = size_of::<T>();
    in_every_memory::<T>(job, 3000, |range| {
        for len in [1, 64, 65, 2999] {
            for marked in bitmaps(len) {
                let data = elements::<T>(len, len + 1);
                range.reset();
                job.push_bitmap((range.at)(1), &data, &marked).unwrap();
                let mut expected = vec![BEFORE; range.len * unit];
                for at in (0..len).filter(|at| marked.get(*at)) {
                    expected[(at + 1) * unit..][..unit].copy_from_slice(bytemuck::bytes_of(&data[at]));
                }
                assert!(range.content() == expected, "pushed: {} of {len} of {unit} bytes", marked.count());
                let mut back = vec![bytemuck::pod_read_unaligned(&vec![BEFORE; unit]); len];
                let mut beside = back.clone();
                job.pull_bitmap::<T>((range.at)(1), &mut back, &marked).unwrap();
                let back: &[u8] = bytemuck::cast_slice(&back);
                assert!(back == &expected[unit..][..len * unit], "pulled: {} of {len}", marked.count());
                range.reset();
                job.scope(|scope| scope.wait(scope.start_push_parts((range.at)(1), &data, &marked)?)).unwrap();
                assert!(range.content() == expected, "pushed beside the program: {} of {len}", marked.count());
                job.scope(|scope| scope.wait(scope.start_pull_parts((range.at)(1), &mut beside, &marked)?)).unwrap();
                assert!(
                    bytemuck::cast_slice::<T, u8>(&beside) == back,
                    "pulled beside it: {} of {len}",
                    marked.count()
                );
            }
        }
    });
}

pub fn bitmaps_of_any_density(job: &Job) {
    check_bitmaps::<u8>(job);
    check_bitmaps::<u32>(job);
    check_bitmaps::<u64>(job);
    check_bitmaps::<[u64; 9]>(job);
}

/// All ranks change one range at once, each its own elements, again and again.
pub fn changes_of_all_ranks_merge(job: &Job) {
    const LEN: usize = 20_000;
    const ROUNDS: usize = 3;
    let table = job.symmetric::<u64>(LEN).unwrap();
    job.barrier().unwrap();
    let mut mine = vec![0; LEN];
    let mut twin = job.pull_twin(table.at(0, 0), &mut mine).unwrap();
    assert_eq!(job.push_diff(table.at(0, 0), &mine, &mut twin).unwrap(), 0, "nothing has changed");
    let own = |at: &usize| at % job.size() == job.rank();
    for round in 1..=ROUNDS {
        let changed = (0..LEN).filter(own).step_by(round);
        let count = changed.clone().map(|at| mine[at] = tag(round, at)).count();
        assert_eq!(job.push_diff(table.at(0, 0), &mine, &mut twin).unwrap(), count);
        assert_eq!(job.push_diff(table.at(0, 0), &mine, &mut twin).unwrap(), 0, "all of it was pushed");
        job.barrier().unwrap();
    }
    let mut all = vec![0; LEN];
    job.pull(table.at(0, 0), &mut all).unwrap();
    for (at, value) in all.iter().enumerate() {
        let place = at / job.size();
        let round = (1..=ROUNDS).rev().find(|round| place.is_multiple_of(*round)).unwrap();
        assert_eq!(*value, tag(round, at), "element {at}");
    }
    job.barrier().unwrap();
}

/// A word that is written after parts arrives after them.
pub fn words_follow_parts(job: &Job) {
    let (data, flag) = (job.symmetric::<u64>(30_000).unwrap(), job.symmetric::<u64>(1).unwrap());
    let mut marked = Bitmap::new(30_000);
    marked.set_range(0..30_000);
    for round in 1..=4u64 {
        if job.rank() == 0 {
            let values = vec![round; 30_000];
            match round % 2 {
                0 => job.push_bitmap(data.at(1, 0), &values, &marked).unwrap(),
                _ => job.push_stride(data.at(1, 0), &values, Stride::new(1, 2, 15_000)).unwrap(),
            }
            job.word(flag.at(1, 0), round).unwrap();
        } else if job.rank() == 1 {
            job.wait(flag.here(0), Until::Equal(round)).unwrap();
            let last = if round % 2 == 0 { 29_999 } else { 29_998 };
            assert_eq!([0, 15_000, last].map(|at| data.get(at)), [round; 3]);
        }
        job.barrier().unwrap();
    }
}

pub fn parts_that_cannot_be_are_refused(job: &Job) {
    let peer = (job.rank() + 1) % job.size();
    let table = job.symmetric::<u32>(100).unwrap();
    let (place, data) = (|index| table.at(peer, index), [1; 50]);
    let out = |result| expect_error!(result, Error::OutOfBounds { .. });
    out(job.push_stride(place(0), &data, Stride::new(1, 10, 6)));
    out(job.push_stride(place(51), &data, Stride::new(1, 10, 6).here(1)));
    out(job.push_stride(place(0), &data, Stride::new(1, usize::MAX, 2).here(1)));
    out(job.push_stride(place(0), &data, Stride::new(usize::MAX, usize::MAX, usize::MAX)));
    out(job.pull_stride(place(0), &mut [0; 5], Stride::new(2, 2, 3)));
    out(job.push_bitmap(place(0), &data, &Bitmap::new(51)));
    out(job.push_bitmap(place(51), &data, &Bitmap::new(50)));
    out(job.pull_bitmap(place(99), &mut [0; 2], &Bitmap::new(2)));
    out(job.push_diff(place(51), &data, &mut Twin::of(&data)).map(drop));
    expect_error!(job.push_stride(place(0), &data, Stride::new(3, 2, 2)), Error::Invalid(_));
    expect_error!(job.pull_stride(place(0), &mut [0; 9], Stride::new(3, 3, 2).there(1)), Error::Invalid(_));
    expect_error!(job.push_diff(place(0), &data, &mut Twin::of(&data[1..])), Error::Invalid(_));
    expect_error!(job.push_stride(table.at(job.size(), 0), &data, Stride::new(1, 1, 1)), Error::NoSuchRank { .. });
    // Of nothing there can be as much as one likes.
    job.push_stride(place(100), &[], Stride::new(0, 0, usize::MAX)).unwrap();
    job.pull_stride(place(100), &mut [], Stride::new(5, 9, 0)).unwrap();
    job.push_bitmap(place(100), &[], &Bitmap::new(0)).unwrap();
    job.pull_bitmap(place(0), &mut [0; 50], &Bitmap::new(50)).unwrap();
    assert_eq!(job.push_diff(place(100), &[], &mut Twin::of(&[])).unwrap(), 0);
    job.barrier().unwrap();
    assert!(table.to_vec().iter().all(|element| *element == 0), "nothing was written");
    job.barrier().unwrap();
}

pub fn parts_of_a_revoked_area_are_refused(job: &Job) {
    let peer = (job.rank() + 1) % job.size();
    let area = job.area::<u64>(3, 1000).unwrap();
    job.barrier().unwrap();
    let remote = job.open_area::<u64>(peer, 3).unwrap();
    job.push_stride(remote.at(0), &[1; 100], Stride::new(1, 10, 100).here(1)).unwrap();
    job.sync().unwrap();
    job.barrier().unwrap();
    drop(area);
    job.barrier().unwrap();
    let mut marked = Bitmap::new(100);
    marked.set(7);
    let pushed = |started: hikyaku::Result<()>| started.and_then(|()| job.sync());
    let refused = |result| expect_error!(result, Error::AreaRevoked { id: 3, .. } | Error::Refused { .. });
    refused(pushed(job.push_stride(remote.at(0), &[1; 10], Stride::new(1, 10, 10).here(1))));
    refused(pushed(job.push_bitmap(remote.at(0), &[1; 100], &marked)));
    refused(job.pull_stride(remote.at(0), &mut [0; 10], Stride::new(1, 10, 10).here(1)));
    refused(job.pull_bitmap(remote.at(0), &mut [0; 100], &marked));
    job.barrier().unwrap();
}

/// One call, after which whoever sees its word sees all parts: in every memory, of few and of many packets.
pub fn parts_tell_of_themselves(job: &Job) {
    const LEN: usize = 40_000;
    let (peer, me) = (1 - job.rank(), job.rank() as u64);
    let table = job.symmetric::<u64>(LEN).unwrap();
    let words = job.symmetric::<u64>(3).unwrap();
    let vector = job.register(1, vec![0u64; LEN]).unwrap();
    job.barrier().unwrap();
    let remote = job.open_area::<u64>(peer, 1).unwrap();
    let mut twin = Twin::of(&vec![0u64; LEN]);
    for round in 1..=20 {
        let value = |at: usize| tag(round, at);
        let data: Vec<u64> = (0..LEN).map(value).collect();
        let mut marked = Bitmap::new(LEN);
        (0..LEN).skip(1).step_by(3).for_each(|at| marked.set(at));
        job.push_parts_notify(table.at(peer, 0), &data, Stride::new(1, 3, LEN / 3), words.at(peer, 0), round as u64)
            .unwrap();
        job.push_parts_notify(table.at(peer, 0), &data, &marked, words.at(peer, 1), round as u64).unwrap();
        let mut changed = vec![0; LEN];
        (0..LEN).skip(round).step_by(100).for_each(|at| changed[at] = data[at] + me);
        let count = job.push_diff_notify(remote.at(0), &changed, &mut twin, words.at(peer, 2), round as u64).unwrap();
        assert!(count >= LEN / 100 - 1);
        job.wait(words.here(0), Until::AtLeast(round as u64)).unwrap();
        assert!((0..LEN / 3).all(|number| table.get(3 * number) == value(3 * number)));
        job.wait(words.here(1), Until::AtLeast(round as u64)).unwrap();
        assert!((0..LEN).skip(1).step_by(3).all(|at| table.get(at) == value(at)));
        job.wait(words.here(2), Until::AtLeast(round as u64)).unwrap();
        assert!((0..LEN).skip(round).step_by(100).all(|at| vector.get(at) == value(at) + peer as u64));
        job.barrier().unwrap();
    }
    // Nothing is written if the word cannot be.
    let every = Stride::new(1, 2, 10);
    expect_error!(
        job.push_parts_notify(table.at(peer, 0), &[1; 20], every, words.at(job.rank(), 0), 1),
        Error::NotAtTarget { .. }
    );
    expect_error!(
        job.push_parts_notify(table.at(peer, 0), &[1; 20], every, words.at(peer, 3), 1),
        Error::OutOfBounds { .. }
    );
    expect_error!(
        job.push_diff_notify(remote.at(0), &vec![1; LEN], &mut twin, words.at(job.rank(), 0), 1),
        Error::NotAtTarget { .. }
    );
    // The word comes also if there is nothing else to say.
    let none = Bitmap::new(LEN);
    job.push_parts_notify(table.at(peer, 0), &vec![0; LEN], &none, words.at(peer, 0), 100).unwrap();
    job.wait(words.here(0), Until::Equal(100)).unwrap();
    assert_eq!(table.get(0), tag(20, 0));
    job.barrier().unwrap();
}

/// Many at once, of every rank; what is pushed and the marks are the program's again at once.
pub fn parts_are_moved_beside_the_program(job: &Job) {
    const LEN: usize = 30_000;
    let (me, size) = (job.rank(), job.size());
    let table = job.symmetric::<u64>(LEN * size).unwrap();
    job.barrier().unwrap();
    let mut copies = vec![vec![0u64; LEN]; size];
    job.scope(|scope| {
        let mut data: Vec<u64> = (0..LEN).map(|at| tag(me, at)).collect();
        let mut pushes = Vec::new();
        for rank in 0..size {
            let to = table.at(rank, me * LEN);
            pushes.push(scope.start_push_parts(to, &data, Stride::new(1, 2, LEN / 2))?);
            let mut odd = Bitmap::new(LEN);
            (1..LEN).step_by(2).for_each(|at| odd.set(at));
            pushes.push(scope.start_push_parts(to, &data, &odd)?);
        }
        data.fill(0);
        pushes.into_iter().try_for_each(|push| scope.wait(push))
    })
    .unwrap();
    job.barrier().unwrap();
    for rank in 0..size {
        assert!((0..LEN).all(|at| table.get(rank * LEN + at) == tag(rank, at)), "of rank {rank}");
    }
    job.scope(|scope| {
        for (rank, copy) in copies.iter_mut().enumerate() {
            let mut ends = Bitmap::new(LEN);
            ends.set_range(0..100);
            ends.set_range(LEN - 100..LEN);
            let _ = scope.start_pull_parts(table.at(rank, me * LEN), copy, &ends)?;
        }
        Ok(())
    })
    .unwrap();
    for copy in &copies {
        assert!((0..LEN).all(|at| copy[at] == if (100..LEN - 100).contains(&at) { 0 } else { tag(me, at) }));
    }
    let mut short = vec![0u64; 10];
    job.scope(|scope| {
        let place = table.at(0, 0);
        expect_error!(
            scope.start_push_parts(place, &[1; 10], Stride::new(1, 2, 10)).map(drop),
            Error::OutOfBounds { .. }
        );
        expect_error!(
            scope.start_push_parts(table.at(0, LEN * size - 1), &[1; 10], Stride::new(1, 2, 2)).map(drop),
            Error::OutOfBounds { .. }
        );
        expect_error!(scope.start_pull_parts(place, &mut short, Stride::new(2, 1, 2)).map(drop), Error::Invalid(_));
        Ok(())
    })
    .unwrap();
    job.barrier().unwrap();
}

/// A port that has as many transfers under way as it can have starts no other: then the twin still differs.
pub fn changes_that_cannot_be_started_are_started_later(job: &Job) {
    const OPEN_MAX: usize = 1 << 16;
    let table = job.symmetric::<u64>(100).unwrap();
    job.barrier().unwrap();
    if job.rank() == 0 {
        let to = table.at(job.size() - 1, 0);
        let (mine, mut twin) = ([7; 100], Twin::of(&[0; 100]));
        job.scope(|scope| {
            // On this host each has ended at once.
            let pushes: Vec<_> = (0..OPEN_MAX).map(|_| scope.start_push(to, &[1]).unwrap()).collect();
            let started = match scope.start_push_diff(to, &mine, &mut twin) {
                Err(Error::Invalid(_)) => {
                    pushes.into_iter().try_for_each(|push| scope.wait(push))?;
                    scope.start_push_diff(to, &mine, &mut twin)
                }
                started => started,
            };
            let (push, count) = started?;
            assert_eq!(count, 100);
            scope.wait(push)
        })
        .unwrap();
    }
    job.barrier().unwrap();
    if job.rank() == job.size() - 1 {
        assert_eq!(table.to_vec(), [7; 100]);
    }
    job.barrier().unwrap();
}

/// All ranks change one range at once, by pushes that go on beside the program.
pub fn started_changes_merge(job: &Job) {
    const LEN: usize = 20_000;
    let (me, size) = (job.rank(), job.size());
    let table = job.symmetric::<u64>(LEN).unwrap();
    job.barrier().unwrap();
    let (mut mine, mut twin) = (vec![0; LEN], Twin::of(&vec![0; LEN]));
    for round in 1..=3 {
        (me..LEN).step_by(size).for_each(|at| mine[at] = tag(round, at));
        let own = (LEN - me).div_ceil(size);
        job.scope(|scope| {
            let (push, count) = scope.start_push_diff(table.at(0, 0), &mine, &mut twin)?;
            assert_eq!(count, own);
            let (again, none) = scope.start_push_diff(table.at(0, 0), &mine, &mut twin)?;
            assert_eq!(none, 0, "all of it is on its way");
            scope.wait(again)?;
            scope.wait(push)
        })
        .unwrap();
        job.barrier().unwrap();
        if me == 0 {
            assert!((0..LEN).all(|at| table.get(at) == tag(round, at)));
        }
        job.barrier().unwrap();
    }
}
