//! What groups and their collectives do, each compared with a plain model. Every case is a function of one rank, for any
//! number of ranks, so that it runs as threads and as processes.

use bytemuck::Pod;
use hikyaku::collective::{
    AbsMax, AbsMin, And, BitAnd, BitOr, BitXor, Complex32, Complex64, Max, Min, Operation, Or, Product, Sum, Xor,
};
use hikyaku::{Error, Group, Job};
use std::fmt::Debug;

use hikyaku::collective::{Formation, Retired};

#[path = "pending.rs"]
mod pending;

/// What one rank does.
pub type Case = fn(&Job);

/// Name and body of every case.
pub const CASES: &[(&str, Case)] = &[
    ("group_world", group_world),
    ("group_barrier", group_barrier),
    ("group_broadcast", group_broadcast),
    ("group_broadcast_of_job_memory", group_broadcast_of_job_memory),
    ("group_broadcasts_in_a_row", group_broadcasts_in_a_row),
    ("group_reduce", group_reduce),
    ("group_reduction_of_job_memory", group_reduction_of_job_memory),
    ("group_allreduce", group_allreduce),
    ("group_operations", group_operations),
    ("group_functions_in_order", group_functions_in_order),
    ("group_results_are_repeatable", group_results_are_repeatable),
    ("group_scan", group_scan),
    ("group_gather", group_gather),
    ("group_scatter", group_scatter),
    ("group_alltoall", group_alltoall),
    ("group_by_choice", group_by_choice),
    ("group_split", group_split),
    ("group_freed_and_made_again", group_freed_and_made_again),
    ("formations_come_and_go", formations_come_and_go),
    ("formations_overlap", formations_overlap),
    ("formation_mismatch", formation_mismatch),
    ("group_mixture", group_mixture),
    ("group_runs_ahead", group_runs_ahead),
    ("group_kind_mismatch", group_kind_mismatch),
    ("group_size_mismatch", group_size_mismatch),
    ("group_root_mismatch", group_root_mismatch),
    ("group_operation_mismatch", group_operation_mismatch),
    ("group_wrong_arguments", group_wrong_arguments),
    ("pending_every_call", pending::every_call),
    ("pending_several_at_once", pending::several_at_once),
    ("pending_groups_cross", pending::groups_cross),
    ("pending_mixed_with_blocking_calls", pending::mixed_with_blocking_calls),
    ("pending_tested", pending::tested),
    ("pending_goes_on_in_other_waits", pending::goes_on_in_other_waits),
    ("pending_errors", pending::errors),
    ("pending_call_in_a_function", pending::call_in_a_function),
    ("pending_panics", pending::panics),
];

const LENGTHS: [usize; 8] = [0, 1, 6, 7, 8, 1000, 5000, 100_000];

/// Element `index` of what `rank` contributes.
fn value(rank: usize, index: usize) -> u64 {
    (rank as u64 + 1) * 1_000_003 + index as u64 * 7 + 1
}

fn values(rank: usize, len: usize) -> Vec<u64> {
    (0..len).map(|index| value(rank, index)).collect()
}

fn group_world(job: &Job) {
    let world = job.world().unwrap();
    assert_eq!((world.rank(), world.size()), (job.rank(), job.size()));
    assert!((0..job.size()).all(|rank| world.world_rank(rank) == Some(rank)));
    assert_eq!(world.world_rank(job.size()), None);
    world.free().unwrap();
}

fn group_barrier(job: &Job) {
    let seen = job.symmetric::<u64>(job.size()).unwrap();
    let world = job.world().unwrap();
    for turn in 1..200 {
        for peer in 0..job.size() {
            job.push(seen.at(peer, job.rank()), &[turn]).unwrap();
        }
        world.barrier().unwrap();
        assert!(seen.to_vec().iter().all(|theirs| *theirs >= turn), "turn {turn}");
    }
}

fn group_broadcast(job: &Job) {
    let world = job.world().unwrap();
    for root in 0..job.size() {
        for len in LENGTHS {
            let mut data = if job.rank() == root { values(root, len) } else { vec![0; len] };
            world.broadcast(&mut data, root).unwrap();
            assert!(data == values(root, len), "{len} from {root}");
            let mut bytes: Vec<u8> = (0..len).map(|i| if job.rank() == root { i as u8 } else { 0 }).collect();
            world.broadcast(&mut bytes, root).unwrap();
            assert!(bytes.iter().enumerate().all(|(i, byte)| *byte == i as u8), "{len} bytes from {root}");
        }
    }
}

fn group_broadcast_of_job_memory(job: &Job) {
    let len = 20_000;
    let area = job.symmetric::<u64>(len).unwrap();
    let world = job.world().unwrap();
    for root in 0..job.size() {
        area.write(0, &if job.rank() == root { values(root, len) } else { vec![0; len] });
        // SAFETY: the area is this rank's own, nobody writes to it but this rank, and the slice ends before it does.
        let data = unsafe { std::slice::from_raw_parts_mut(area.as_ptr(), len) };
        world.broadcast(data, root).unwrap();
        assert!(area.to_vec() == values(root, len));
    }
    job.barrier().unwrap();
}

/// Long ones from the same root, which must not overtake a slow reader.
fn group_broadcasts_in_a_row(job: &Job) {
    let world = job.world().unwrap();
    let len = 50_000;
    for turn in 0..12 {
        if turn % 4 == 1 && job.rank() == job.size() - 1 {
            std::thread::sleep(std::time::Duration::from_millis(3));
        }
        let mut data = if job.rank() == 0 { values(turn, len) } else { vec![0; len] };
        world.broadcast(&mut data, 0).unwrap();
        assert!(data == values(turn, len), "turn {turn}");
    }
    world.free().unwrap();
}

fn sum_of(ranks: std::ops::Range<usize>, len: usize) -> Vec<u64> {
    (0..len).map(|index| ranks.clone().map(|rank| value(rank, index)).sum()).collect()
}

fn group_reduce(job: &Job) {
    let world = job.world().unwrap();
    for root in 0..job.size() {
        for len in LENGTHS {
            let mut data = values(job.rank(), len);
            world.reduce(&mut data, Sum, root).unwrap();
            let expected = if job.rank() == root { sum_of(0..job.size(), len) } else { values(job.rank(), len) };
            assert!(data == expected, "{len} to {root}");
        }
    }
}

/// Long ones where buffers are mapped, and where only some are.
fn group_reduction_of_job_memory(job: &Job) {
    let len = 30_000;
    let area = job.symmetric::<u64>(len).unwrap();
    let world = job.world().unwrap();
    for private in [job.size(), 0, 1] {
        let mut own = values(job.rank(), len);
        area.write(0, &own);
        // SAFETY: the area is this rank's own, nobody writes to it but the library, and the slice ends before it does.
        let mapped = unsafe { std::slice::from_raw_parts_mut(area.as_ptr(), len) };
        let data = if job.rank() == private { &mut own[..] } else { mapped };
        world.reduce(data, Sum, job.size() - 1).unwrap();
        let is_root = job.rank() == job.size() - 1;
        assert!(data == if is_root { sum_of(0..job.size(), len) } else { values(job.rank(), len) });
        data.copy_from_slice(&values(job.rank(), len));
        world.allreduce(data, Sum).unwrap();
        assert!(data == sum_of(0..job.size(), len));
    }
    job.barrier().unwrap();
}

fn group_allreduce(job: &Job) {
    let world = job.world().unwrap();
    for len in LENGTHS {
        let mut data = values(job.rank(), len);
        world.allreduce(&mut data, Sum).unwrap();
        assert!(data == sum_of(0..job.size(), len), "{len}");
    }
    // Elements that do not divide a buffer.
    let mut triples = vec![[job.rank() as u8 + 1; 3]; 20_000];
    world
        .allreduce(&mut triples, |total: &mut [[u8; 3]], input: &[[u8; 3]]| {
            total.iter_mut().zip(input).for_each(|(a, b)| a.iter_mut().zip(b).for_each(|(a, b)| *a += b));
        })
        .unwrap();
    let sum = (job.size() * (job.size() + 1) / 2) as u8;
    assert!(triples.iter().all(|triple| *triple == [sum; 3]));
}

/// One operation on one type against the fold of the contributions in the order of ranks.
fn check_operation<T: Pod + PartialEq + Debug, O: Operation<T> + Copy>(
    world: &Group<'_>,
    operation: O,
    make: impl Fn(usize, usize) -> T,
) {
    for len in [3, 700] {
        let of = |rank: usize| (0..len).map(|index| make(rank, index)).collect::<Vec<T>>();
        let mut expected = of(0);
        (1..world.size()).for_each(|rank| operation.combine(&mut expected, &of(rank)));
        let mut data = of(world.rank());
        world.allreduce(&mut data, operation).unwrap();
        assert_eq!(data, expected);
        let mut data = of(world.rank());
        world.reduce(&mut data, operation, world.size() - 1).unwrap();
        assert_eq!(data, if world.rank() == world.size() - 1 { expected } else { of(world.rank()) });
    }
}

/// A number that may be negative, and 0 now and then.
fn signed(rank: usize, index: usize) -> i64 {
    (rank as i64 * 31 + index as i64 * 17) % 11 - 5
}

fn group_operations(job: &Job) {
    let world = job.world().unwrap();
    macro_rules! all {
        ($make:expr; $($operation:ident)*) => { $(check_operation(&world, $operation, $make);)* };
    }
    all!(|r, i| signed(r, i) as i32; Sum Product Max Min AbsMax AbsMin And Or Xor BitAnd BitOr BitXor);
    all!(signed; Sum Product Max Min AbsMax AbsMin And Or Xor BitAnd BitOr BitXor);
    all!(|r, i| signed(r, i) as u32; Sum Product Max Min AbsMax AbsMin And Or Xor BitAnd BitOr BitXor);
    all!(|r, i| signed(r, i) as u64; Sum Product Max Min AbsMax AbsMin And Or Xor BitAnd BitOr BitXor);
    // Numbers whose sums and products are exact: the versions of a reduction put the brackets in different places.
    all!(|r, i| signed(r, i) as f32 / 4.0; Sum Product Max Min AbsMax AbsMin);
    all!(|r, i| signed(r, i) as f64 / 4.0; Sum Product Max Min AbsMax AbsMin);
    let complex = |r, i| Complex32 { re: signed(r, i) as f32, im: signed(i, r) as f32 };
    all!(complex; Sum Product AbsMax AbsMin);
    let complex = |r, i| Complex64 { re: signed(r, i) as f64, im: signed(i, r) as f64 };
    all!(complex; Sum Product AbsMax AbsMin);
}

/// Associative and not commutative: the composition of the maps x -> a x + b.
fn compose(total: &mut [[u32; 2]], input: &[[u32; 2]]) {
    for ([a, b], [c, d]) in total.iter_mut().zip(input) {
        (*a, *b) = (c.wrapping_mul(*a), c.wrapping_mul(*b).wrapping_add(*d));
    }
}

fn group_functions_in_order(job: &Job) {
    let world = job.world().unwrap();
    for len in [1, 5, 100, 3000, 10_000] {
        let of = |rank: usize| (0..len).map(|i| [rank as u32 * 2 + 3, (rank + i) as u32]).collect::<Vec<_>>();
        let prefix = |end: usize| {
            let mut total = of(0);
            (1..end).for_each(|rank| compose(&mut total, &of(rank)));
            total
        };
        let mut data = of(job.rank());
        world.allreduce(&mut data, compose).unwrap();
        assert!(data == prefix(job.size()), "allreduce of {len}");
        for root in 0..job.size() {
            let mut data = of(job.rank());
            world.reduce(&mut data, compose, root).unwrap();
            assert!(job.rank() != root || data == prefix(job.size()), "reduce of {len}");
        }
        let mut data = of(job.rank());
        world.scan(&mut data, compose).unwrap();
        assert!(data == prefix(job.rank() + 1), "scan of {len}");
    }
}

/// Sums of numbers that are rounded: the same bits at all members and every time, in whatever order members arrive.
fn group_results_are_repeatable(job: &Job) {
    let world = job.world().unwrap();
    for len in [1, 3000, 40_000] {
        let mut first: Option<Vec<u64>> = None;
        for turn in 0..5 {
            if turn % job.size() == job.rank() {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            let mut data: Vec<f64> = (0..len).map(|i| 1.0 / (3.0 + value(job.rank(), i) as f64)).collect();
            world.allreduce(&mut data, Sum).unwrap();
            let bits: Vec<u64> = data.iter().map(|number| number.to_bits()).collect();
            let mut theirs = bits.clone();
            world.broadcast(&mut theirs, turn % job.size()).unwrap();
            assert!(bits == theirs && first.as_ref().is_none_or(|first| *first == bits), "{len}");
            first = Some(bits);
        }
    }
}

fn group_scan(job: &Job) {
    let world = job.world().unwrap();
    for len in LENGTHS {
        let mut data = values(job.rank(), len);
        world.scan(&mut data, Sum).unwrap();
        assert!(data == sum_of(0..job.rank() + 1, len), "{len}");
    }
}

fn all_values(size: usize, len: usize) -> Vec<u64> {
    (0..size).flat_map(|rank| values(rank, len)).collect()
}

fn group_gather(job: &Job) {
    let world = job.world().unwrap();
    for len in LENGTHS {
        let mine = values(job.rank(), len);
        for root in 0..job.size() {
            let mut all = vec![0; if job.rank() == root { len * job.size() } else { 0 }];
            world.gather(&mine, &mut all, root).unwrap();
            assert!(job.rank() != root || all == all_values(job.size(), len), "{len} to {root}");
        }
        let mut all = vec![0; len * job.size()];
        world.allgather(&mine, &mut all).unwrap();
        assert!(all == all_values(job.size(), len), "{len}");
    }
}

fn group_scatter(job: &Job) {
    let world = job.world().unwrap();
    for len in LENGTHS {
        for root in 0..job.size() {
            let all = if job.rank() == root { all_values(job.size(), len) } else { vec![] };
            let mut mine = vec![0; len];
            world.scatter(&all, &mut mine, root).unwrap();
            assert!(mine == values(job.rank(), len), "{len} from {root}");
        }
    }
}

fn group_alltoall(job: &Job) {
    let world = job.world().unwrap();
    for len in [0, 1, 7, 8, 1000, 20_000] {
        let cell = |from: usize, to: usize, index: usize| value(from * 1000 + to, index);
        let row = |of: &dyn Fn(usize, usize) -> u64| {
            (0..job.size()).flat_map(|peer| (0..len).map(move |i| (peer, i))).map(|(p, i)| of(p, i)).collect::<Vec<_>>()
        };
        let blocks = row(&|to, index| cell(job.rank(), to, index));
        let mut into = vec![0; blocks.len()];
        world.alltoall(&blocks, &mut into).unwrap();
        assert!(into == row(&|from, index| cell(from, job.rank(), index)), "{len}");
    }
}

fn group_by_choice(job: &Job) {
    for modulus in 1..4 {
        let joins = |rank: usize| rank.is_multiple_of(modulus);
        let group = job.group(joins(job.rank())).unwrap();
        assert_eq!(group.is_some(), joins(job.rank()));
        let Some(group) = group else { continue };
        assert_eq!((group.rank(), group.size()), (job.rank() / modulus, job.size().div_ceil(modulus)));
        let mut ranks = vec![0; group.size()];
        group.allgather(&[job.rank()], &mut ranks).unwrap();
        assert!(ranks.iter().enumerate().all(|(member, rank)| *rank == member * modulus));
        assert!((0..group.size()).all(|member| group.world_rank(member) == Some(member * modulus)));
        group.free().unwrap();
    }
    // Nobody at all.
    assert!(job.group(false).unwrap().is_none());
}

fn group_split(job: &Job) {
    let world = job.world().unwrap();
    let color = job.rank() as u64 % 3;
    // Those of color 2 join none; the others in the reverse order.
    let part = world.split((color != 2).then_some(color), -(job.rank() as i64)).unwrap();
    assert_eq!(part.is_some(), color != 2);
    if let Some(part) = &part {
        let members: Vec<usize> = (0..job.size()).rev().filter(|rank| *rank as u64 % 3 == color).collect();
        assert_eq!(part.size(), members.len());
        assert_eq!(part.world_rank(part.rank()), Some(job.rank()));
        let mut ranks = vec![0; part.size()];
        part.allgather(&[job.rank()], &mut ranks).unwrap();
        assert_eq!(ranks, members);
        // Again, inside: each one alone, and the first half.
        let alone = part.split(Some(part.rank() as u64), 0).unwrap().unwrap();
        assert_eq!((alone.rank(), alone.size()), (0, 1));
        alone.barrier().unwrap();
        let first = part.split((part.rank() * 2 < part.size()).then_some(5), 0).unwrap();
        if let Some(first) = first {
            let mut sum = [1u32; 100];
            first.allreduce(&mut sum, Sum).unwrap();
            assert_eq!(sum, [part.size().div_ceil(2) as u32; 100]);
            first.free().unwrap();
        }
        alone.free().unwrap();
    }
    // The group it was split from goes on, at the same time.
    let mut sum = [1u64];
    world.allreduce(&mut sum, Sum).unwrap();
    assert_eq!(sum, [job.size() as u64]);
    if let Some(part) = part {
        part.free().unwrap();
    }
    world.free().unwrap();
}

fn group_freed_and_made_again(job: &Job) {
    let world = job.world().unwrap();
    for turn in 0..50u64 {
        let group = world.split(Some((job.rank() as u64 + turn) % 2), 0).unwrap().unwrap();
        let mut data = vec![turn; 300];
        group.allreduce(&mut data, Max).unwrap();
        group.broadcast(&mut data, group.size() - 1).unwrap();
        assert!(data.iter().all(|word| *word == turn));
        group.free().unwrap();
    }
}

/// All collectives one after the other, without anything in between that would bring the members into step.
fn group_mixture(job: &Job) {
    let world = job.world().unwrap();
    let (rank, size) = (job.rank(), job.size());
    for turn in 0..60usize {
        let root = turn % size;
        let len = [1, 30, 3000][turn % 3];
        let mut data = if rank == root { values(turn, len) } else { vec![0; len] };
        world.broadcast(&mut data, root).unwrap();
        assert!(data == values(turn, len));
        let mut data = values(rank, len);
        world.reduce(&mut data, Sum, (root + 1) % size).unwrap();
        assert!(rank != (root + 1) % size || data == sum_of(0..size, len));
        let mut mine = vec![0; len];
        let all = if rank == root { all_values(size, len) } else { vec![] };
        world.scatter(&all, &mut mine, root).unwrap();
        assert!(mine == values(rank, len));
        world.scan(&mut mine, Sum).unwrap();
        assert!(mine == sum_of(0..rank + 1, len));
        if turn % 5 == 0 {
            world.barrier().unwrap();
        }
        let mut all = vec![0; len * size];
        world.gather(&values(rank, len), &mut all, root).unwrap();
        assert!(rank != root || all == all_values(size, len));
        let mut total = values(rank, len);
        world.allreduce(&mut total, Sum).unwrap();
        assert!(total == sum_of(0..size, len));
    }
}

/// Calls in which most members do not wait, and one is slow.
fn group_runs_ahead(job: &Job) {
    let world = job.world().unwrap();
    for turn in 0..40u64 {
        if job.rank() == 0 && turn % 10 == 0 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let mut data = [turn + job.rank() as u64; 100];
        world.reduce(&mut data, Max, 0).unwrap();
        assert!(job.rank() != 0 || data == [turn + job.size() as u64 - 1; 100]);
    }
    for turn in 0..40u64 {
        if job.rank() == job.size() - 1 && turn % 10 == 0 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let mut data = [if job.rank() == 0 { turn } else { 0 }; 100];
        world.broadcast(&mut data, 0).unwrap();
        assert_eq!(data, [turn; 100]);
    }
}

/// Every member must get the error, and every later call fails too.
fn expect_mismatch(job: &Job, call: impl Fn(&Group<'_>) -> hikyaku::Result<()>) {
    if job.size() == 1 {
        return;
    }
    let world = job.world().unwrap();
    world.barrier().unwrap();
    // Some of them need not wait in the call itself, and learn of it later.
    let result = call(&world).and_then(|()| (0..20).try_for_each(|_| world.barrier()));
    match result {
        Err(Error::Mismatch { .. }) => {}
        other => panic!("{other:?} instead of a mismatch"),
    }
    assert!(world.barrier().is_err());
    job.barrier().unwrap();
    // Other groups are not concerned.
    job.world().unwrap().free().unwrap();
}

fn group_kind_mismatch(job: &Job) {
    let odd = job.rank() == job.size() - 1;
    expect_mismatch(job, |world| if odd { world.barrier() } else { world.allreduce(&mut [0u64], Sum) });
    expect_mismatch(job, |world| if odd { world.broadcast(&mut [0u64], 0) } else { world.barrier() });
    expect_mismatch(job, |world| if odd { world.reduce(&mut [0u64], Sum, 0) } else { world.barrier() });
}

fn group_size_mismatch(job: &Job) {
    let len = if job.rank() == job.size() - 1 { 4 } else { 3 };
    expect_mismatch(job, |world| world.allreduce(&mut vec![0u64; len], Sum));
    expect_mismatch(job, |world| world.broadcast(&mut vec![0u64; len], 0));
    expect_mismatch(job, |world| world.reduce(&mut vec![0u64; len * 10_000], Sum, 0));
    expect_mismatch(job, |world| world.broadcast(&mut vec![0u64; len * 10_000], 0));
    expect_mismatch(job, |world| world.allgather(&vec![0u64; len], &mut vec![0; len * job.size()]));
}

fn group_root_mismatch(job: &Job) {
    let root = if job.rank() == job.size() - 1 { 1 } else { 0 };
    expect_mismatch(job, |world| world.broadcast(&mut [0u64; 10], root));
    expect_mismatch(job, |world| world.reduce(&mut [0u64; 10], Sum, root));
}

fn group_operation_mismatch(job: &Job) {
    let odd = job.rank() == job.size() - 1;
    expect_mismatch(
        job,
        |world| {
            if odd { world.allreduce(&mut [0u64], Sum) } else { world.allreduce(&mut [0u64], Max) }
        },
    );
    expect_mismatch(
        job,
        |world| {
            if odd { world.allreduce(&mut [0u64], Sum) } else { world.allreduce(&mut [0f64], Sum) }
        },
    );
}

/// One member's own mistake: it gets told what is wrong, the others that it disagrees.
fn group_wrong_arguments(job: &Job) {
    let world = job.world().unwrap();
    let size = job.size();
    let result = if job.rank() == 0 {
        world.broadcast(&mut [0u64], size)
    } else {
        world.broadcast(&mut [0u64], 0).and_then(|()| world.barrier())
    };
    match (job.rank(), result) {
        (0, Err(Error::Invalid(text))) => assert!(text.contains("does not exist"), "{text}"),
        (1.., Err(Error::Mismatch { rank: 0, .. })) => {}
        (_, other) => panic!("{other:?}"),
    }
    let world = job.world().unwrap();
    let mut all = vec![0; if job.rank() == 0 { 3 * size + 1 } else { 3 * size }];
    match (job.rank(), world.allgather(&[1, 2, 3], &mut all)) {
        (0, Err(Error::Invalid(_))) | (1.., Err(Error::Mismatch { rank: 0, .. })) => {}
        (_, other) => panic!("{other:?}"),
    }
}

/// Everybody but the last, in reverse order, again and again: nobody waits for the others to leave, and memory is used
/// again.
fn formations_come_and_go(job: &Job) {
    let channel = job.messages(1).unwrap();
    let members: Vec<usize> = (0..job.size() - (job.size() > 1) as usize).rev().collect();
    if !members.contains(&job.rank()) {
        return;
    }
    let me = members.iter().position(|rank| *rank == job.rank()).unwrap();
    let team: Vec<usize> = (0..members.len()).filter(|other| other % 2 == me % 2).collect();
    let mut retired: Vec<Retired<'_>> = Vec::new();
    for round in 0..30 {
        let formed = Formation::new(&channel, 0, &members, &[&team], 1).unwrap();
        assert_eq!((formed.all.rank(), formed.all.size()), (me, members.len()));
        assert_eq!(formed.all.world_rank(me), Some(job.rank()));
        assert_eq!(formed.teams[0].is_none(), team.len() == 1);
        let mut sum = values(me, 10 + round * 100);
        formed.all.allreduce(&mut sum, Sum).unwrap();
        assert_eq!(sum[3], (0..members.len()).map(|rank| value(rank, 3)).sum::<u64>());
        if let Some(group) = &formed.teams[0] {
            let mut sum = [me as u64];
            group.allreduce(&mut sum, Sum).unwrap();
            assert_eq!(sum[0], team.iter().sum::<usize>() as u64);
        }
        // The last message is still on its way when the formation is given up.
        let (next, previous) = ((me + 1) % members.len(), (me + members.len() - 1) % members.len());
        for number in 0..3u8 {
            formed.messages.send_owned(vec![number; 50_000].into(), next, 0).unwrap();
        }
        for number in 0..3 {
            let mut got = vec![9u8; 50_000];
            formed.messages.recv(&mut got, previous, 0).unwrap();
            assert_eq!(got[49_999], number);
        }
        retired.push(formed.retire());
        retired.retain_mut(|old| !old.try_free().unwrap());
    }
    while !retired.is_empty() {
        retired.retain_mut(|old| !old.try_free().unwrap());
        job.progress();
    }
}

/// Pairs of neighbours in a ring, each rank in two of them.
fn formations_overlap(job: &Job) {
    let channel = job.messages(1).unwrap();
    let (rank, size) = (job.rank(), job.size());
    if size < 3 {
        return;
    }
    // In the order of their first ranks everywhere, or they would wait for each other.
    let mut pairs = [[rank, (rank + 1) % size], [(rank + size - 1) % size, rank]];
    pairs.sort();
    for pair in pairs {
        let formed = Formation::new(&channel, 0, &pair, &[], 1).unwrap();
        let mut data = [rank];
        formed.all.broadcast(&mut data, 1).unwrap();
        assert_eq!(data[0], pair[1]);
    }
    for wrong in [vec![], vec![rank, rank], vec![(rank + 1) % size], vec![rank, size]] {
        assert!(Formation::new(&channel, 0, &wrong, &[], 1).is_err());
    }
    assert!(Formation::new(&channel, 0, &[rank], &[&[1]], 1).is_err());
    job.barrier().unwrap();
}

/// Members that mean different things find out.
fn formation_mismatch(job: &Job) {
    let channel = job.messages(1).unwrap();
    if job.size() < 2 || job.rank() > 1 {
        return;
    }
    let slots = 1 + job.rank();
    match Formation::new(&channel, 0, &[0, 1], &[], slots) {
        Err(Error::Mismatch { operation: "formation", .. }) => {}
        other => panic!("{other:?}"),
    }
}
