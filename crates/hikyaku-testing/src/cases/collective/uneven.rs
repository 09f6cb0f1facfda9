//! Blocks of different lengths.

use super::mismatch::expect_mismatch;
use super::{value, values};
use hikyaku::collective::{Blocks, Sum};
use hikyaku::{Error, Job};

/// Lengths of the members' blocks: none at all, a few, more than fit a message, long ones of one member alone.
fn lengths(size: usize) -> [Vec<usize>; 5] {
    [
        vec![0; size],
        (0..size).collect(),
        (0..size).map(|rank| (rank * 3 + 1) % 4 * 700).collect(),
        (0..size).map(|rank| if rank == size - 1 { 30_000 } else { 0 }).collect(),
        (0..size).map(|rank| (size - rank) * 2500).collect(),
    ]
}

/// Where blocks begin if the last comes first, with gaps, and the end of all.
fn reversed(counts: &[usize]) -> (Vec<usize>, usize) {
    let (mut starts, mut next) = (vec![0; counts.len()], 1);
    for (start, count) in starts.iter_mut().zip(counts).rev() {
        *start = next;
        next += count + 1;
    }
    (starts, next)
}

fn packed(counts: &[usize]) -> Vec<u64> {
    counts.iter().enumerate().flat_map(|(rank, count)| values(rank, *count)).collect()
}

/// As [`packed`], at other places; gaps are 0.
fn placed(counts: &[usize]) -> Vec<u64> {
    let (starts, end) = reversed(counts);
    let mut all = vec![0; end];
    for (rank, (start, count)) in starts.iter().zip(counts).enumerate() {
        all[*start..start + count].copy_from_slice(&values(rank, *count));
    }
    all
}

pub fn gatherv(job: &Job) {
    let world = job.new_world().unwrap();
    for (turn, counts) in lengths(job.size()).into_iter().enumerate() {
        let mine = values(job.rank(), counts[job.rank()]);
        let (starts, end) = reversed(&counts);
        for root in [turn % job.size(), job.size() - 1] {
            let is_root = job.rank() == root;
            let mut all = vec![0; if is_root { mine.len() + packed(&counts).len() } else { 0 }];
            // More room than is needed, and what the others say of blocks does not matter.
            let blocks: &[usize] = if is_root { &counts } else { &[] };
            world.gatherv(&mine, &mut all, blocks, root).unwrap();
            assert!(!is_root || all.starts_with(&packed(&counts)), "{turn} to {root}");
            let mut all = vec![0; if is_root { end } else { 0 }];
            world
                .scope(|scope| scope.wait(scope.igatherv(&mine, &mut all, Blocks::at(&counts, &starts), root)?))
                .unwrap();
            assert!(!is_root || all == placed(&counts), "{turn} to {root}, apart");
        }
        let mut all = vec![0; packed(&counts).len()];
        world.allgatherv(&mine, &mut all, &counts).unwrap();
        assert!(all == packed(&counts), "{turn} to all");
        let mut all = vec![0; end];
        world.scope(|scope| scope.wait(scope.iallgatherv(&mine, &mut all, Blocks::at(&counts, &starts))?)).unwrap();
        assert!(all == placed(&counts), "{turn} to all, apart");
    }
}

pub fn scatterv(job: &Job) {
    let world = job.new_world().unwrap();
    for (turn, counts) in lengths(job.size()).into_iter().enumerate() {
        for root in [turn % job.size(), job.size() - 1] {
            let of_root = |all: Vec<u64>| if job.rank() == root { all } else { Vec::new() };
            let mut mine = vec![0; counts[job.rank()]];
            world.scatterv(&of_root(packed(&counts)), &counts, &mut mine, root).unwrap();
            assert!(mine == values(job.rank(), counts[job.rank()]), "{turn} from {root}");
            mine.fill(0);
            let ((starts, _), all) = (reversed(&counts), of_root(placed(&counts)));
            let blocks = Blocks::at(&counts, &starts);
            world.scope(|scope| scope.wait(scope.iscatterv(&all, blocks, &mut mine, root)?)).unwrap();
            assert!(mine == values(job.rank(), counts[job.rank()]), "{turn} from {root}, apart");
        }
    }
    // Blocks that are read may overlap.
    let (mut mine, all) = ([0; 2], [5, 6, 7]);
    let starts: Vec<usize> = (0..job.size()).map(|rank| rank % 2).collect();
    world.scatterv(&all, Blocks::at(&vec![2; job.size()], &starts), &mut mine, 0).unwrap();
    assert_eq!(mine, if job.rank().is_multiple_of(2) { [5, 6] } else { [6, 7] });
}

pub fn alltoallv(job: &Job) {
    let world = job.new_world().unwrap();
    let (rank, size) = (job.rank(), job.size());
    for scale in [0, 1, 600, 7000] {
        let len = |from: usize, to: usize| (from * 5 + to * 3) % 4 * scale;
        let cell = |from: usize, to: usize| values(from * 1000 + to, len(from, to));
        let given: Vec<usize> = (0..size).map(|to| len(rank, to)).collect();
        let taken: Vec<usize> = (0..size).map(|from| len(from, rank)).collect();
        let from: Vec<u64> = (0..size).flat_map(|to| cell(rank, to)).collect();
        let expected: Vec<u64> = (0..size).flat_map(|from| cell(from, rank)).collect();
        let mut into = vec![0; expected.len()];
        world.alltoallv(&from, &given, &mut into, &taken).unwrap();
        assert!(into == expected, "{scale}");
        let (starts, end) = reversed(&taken);
        let mut into = vec![0; end];
        world
            .scope(|scope| scope.wait(scope.ialltoallv(&from, &given, &mut into, Blocks::at(&taken, &starts))?))
            .unwrap();
        for (peer, start) in starts.iter().enumerate() {
            assert!(into[*start..start + taken[peer]] == cell(peer, rank), "{scale} from {peer}, apart");
        }
    }
}

/// An operation for which the order matters: (a, b) means x -> a x + b.
fn compose(total: &mut [[u64; 2]], input: &[[u64; 2]]) {
    for (total, input) in total.iter_mut().zip(input) {
        *total = [total[0].wrapping_mul(input[0]), total[1].wrapping_mul(input[0]).wrapping_add(input[1])];
    }
}

pub fn reduce_scatter(job: &Job) {
    let world = job.new_world().unwrap();
    let (rank, size) = (job.rank(), job.size());
    for (turn, counts) in lengths(size).into_iter().enumerate() {
        let total: usize = counts.iter().sum();
        let start: usize = counts[..rank].iter().sum();
        let data = values(rank, total);
        let sum = |index: usize| (0..size).map(|rank| value(rank, index)).sum::<u64>();
        let expected: Vec<u64> = (start..start + counts[rank]).map(sum).collect();
        let mut mine = vec![0; counts[rank]];
        world.reduce_scatter(&data, &mut mine, &counts, Sum).unwrap();
        assert!(mine == expected, "{turn}");
        assert!(data == values(rank, total), "{turn}: the data stay as they are");
        mine.fill(0);
        world.scope(|scope| scope.wait(scope.ireduce_scatter(&data, &mut mine, &counts, Sum)?)).unwrap();
        assert!(mine == expected, "{turn}, started");

        let maps = |rank: usize| (0..total).map(|i| [2 * rank as u64 + 3, value(rank, i)]).collect::<Vec<_>>();
        let mut expected = maps(0);
        (1..size).for_each(|rank| compose(&mut expected, &maps(rank)));
        let mut mine = vec![[0; 2]; counts[rank]];
        world.reduce_scatter(&maps(rank), &mut mine, &counts, compose).unwrap();
        assert!(mine == expected[start..start + counts[rank]], "{turn} in order");
    }
    for len in [0, 1, 1000, 20_000] {
        let data = values(rank, len * size);
        let sum = |index: usize| (0..size).map(|rank| value(rank, index)).sum::<u64>();
        let (mut mine, mut again) = (vec![0; len], vec![0; len]);
        world.reduce_scatter_block(&data, &mut mine, Sum).unwrap();
        assert!(mine.iter().enumerate().all(|(i, word)| *word == sum(rank * len + i)), "{len}");
        world.scope(|scope| scope.wait(scope.ireduce_scatter_block(&data, &mut again, Sum)?)).unwrap();
        assert!(mine == again, "{len}");
    }
}

/// All members hear of counts that do not fit together, and what they were.
pub fn mismatch(job: &Job) {
    let (rank, size) = (job.rank(), job.size());
    let odd = rank == size - 1;
    let wide = vec![3; size];
    expect_mismatch(job, |world| world.gatherv(&vec![0u64; if odd { 2 } else { 3 }], &mut vec![0; 3 * size], &wide, 0));
    expect_mismatch(job, |world| {
        world.scatterv(&vec![0u64; 3 * size], &wide, &mut vec![0; if odd { 2 } else { 3 }], 0)
    });
    expect_mismatch(job, |world| {
        let given: Vec<usize> = (0..size).map(|to| if odd && to == 0 { 2 } else { 3 }).collect();
        world.alltoallv(&vec![0u64; 3 * size], &given, &mut vec![0; 3 * size], &wide)
    });
    // As many in all, in other blocks.
    let counts = |odd: bool| (0..size).map(|rank| 2 + (rank == odd as usize) as usize).collect::<Vec<_>>();
    expect_mismatch(job, |world| {
        let counts = counts(odd);
        world.allgatherv(&vec![0u64; counts[rank]], &mut vec![0; 2 * size + 1], &counts)
    });
    expect_mismatch(job, |world| {
        let counts = counts(odd);
        world.reduce_scatter(&vec![0u64; 2 * size + 1], &mut vec![0; counts[rank]], &counts, Sum)
    });
    expect_mismatch(job, |world| match odd {
        true => world.allgatherv(&[1u64], &mut vec![0; size], &vec![1; size]),
        false => world.allgather(&[1u64], &mut vec![0; size]),
    });
    if size == 1 {
        return;
    }
    let world = job.new_world().unwrap();
    let told = world.gatherv(&vec![0u8; if rank == 1 { 2 } else { 3 }], &mut vec![0; 3 * size], &wide, 0);
    let same = "all ranks must make the same call";
    let (gives, takes) = ("gatherv(2 bytes for rank 0)", "gatherv(3 bytes from rank 1)");
    let text = match rank {
        0 => format!("rank 1 calls {gives}, this rank {takes}; {same}"),
        1 => format!("rank 0 calls {takes}, this rank {gives}; {same}"),
        _ => format!("rank 1 calls {gives}, this rank gatherv and rank 0 {takes}; {same}"),
    };
    assert_eq!(told.unwrap_err().to_string(), text);
}

/// One member's own mistake: it is told which, the others that it disagrees.
pub fn wrong_arguments(job: &Job) {
    let (rank, size) = (job.rank(), job.size());
    let expect = |text: &str, call: &dyn Fn(&hikyaku::Group<'_>, bool) -> hikyaku::Result<()>| {
        let world = job.new_world().unwrap();
        let result = call(&world, rank == 0).and_then(|()| world.barrier());
        match (rank, result) {
            (0, Err(Error::Invalid(told))) => assert_eq!(told, text),
            (1.., Err(Error::Mismatch { rank: 0, their_call, .. })) => {
                assert!(their_call.ends_with(" with arguments that it refused"), "{their_call}, after '{text}'");
            }
            (_, other) => panic!("{other:?} instead of '{text}'"),
        }
        job.barrier().unwrap();
    };
    let two = vec![2; size];
    let too_many = format!("{} counts for {size} members: each needs one", size + 1);
    expect(&too_many, &|world, odd| world.allgatherv(&[1u8; 2], &mut vec![0; 2 * size], &vec![2; size + odd as usize]));
    expect("the own block has 3 bytes, and its count says 2", &|world, odd| {
        world.allgatherv(&vec![1u8; 2 + odd as usize], &mut vec![0; 2 * size], &two)
    });
    let short = format!("counts of {} elements in all for {} elements", 2 * size, 2 * size + 1);
    expect(&short, &|world, odd| world.reduce_scatter(&vec![1u64; 2 * size + odd as usize], &mut [0; 2], &two, Sum));
    let outside = format!("block 0, of 2 elements from element {} on, is not within {} elements", 2 * size, 2 * size);
    expect(&outside, &|world, odd| {
        let starts: Vec<usize> = (0..size).map(|rank| if odd && rank == 0 { 2 * size } else { 2 * rank }).collect();
        world.scatterv(&vec![1u8; 2 * size], Blocks::at(&two, &starts), &mut [0; 2], 0)
    });
    if size > 1 {
        expect("blocks 0 and 1 overlap", &|world, odd| {
            let mut starts: Vec<usize> = (0..size).map(|rank| 2 * rank).collect();
            starts[1] -= odd as usize;
            world.gatherv(&[1u8; 2], &mut vec![0; 2 * size], Blocks::at(&two, &starts), 0)
        });
    }
}
