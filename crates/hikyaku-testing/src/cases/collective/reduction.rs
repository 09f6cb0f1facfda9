//! What members combine, against a plain fold in the order of ranks.

use super::{LENGTHS, sum_of, value, values};
use bytemuck::Pod;
use hikyaku::collective::{
    AbsMax, AbsMin, And, BitAnd, BitOr, BitXor, Complex32, Complex64, Max, Min, Operation, Or, Product, Sum, Xor,
};
use hikyaku::{Error, Group, Job};
use std::fmt::Debug;

pub fn reduce(job: &Job) {
    let world = job.new_world().unwrap();
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
pub fn reduction_of_job_memory(job: &Job) {
    let len = 30_000;
    let mut memory = job.block(8 * len).unwrap();
    let mapped = memory.as_mut_slice::<u64>();
    let world = job.new_world().unwrap();
    for private in [job.size(), 0, 1] {
        let mut own = values(job.rank(), len);
        mapped.copy_from_slice(&own);
        let data = if job.rank() == private { &mut own[..] } else { &mut *mapped };
        world.reduce(data, Sum, job.size() - 1).unwrap();
        let is_root = job.rank() == job.size() - 1;
        assert!(data == if is_root { sum_of(0..job.size(), len) } else { values(job.rank(), len) });
        data.copy_from_slice(&values(job.rank(), len));
        world.allreduce(data, Sum).unwrap();
        assert!(data == sum_of(0..job.size(), len));
    }
    job.barrier().unwrap();
}

pub fn allreduce(job: &Job) {
    let world = job.new_world().unwrap();
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

pub fn operations(job: &Job) {
    let world = job.new_world().unwrap();
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

pub fn functions_in_order(job: &Job) {
    let world = job.new_world().unwrap();
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
        let mut data = of(job.rank());
        world.exscan(&mut data, compose).unwrap();
        assert!(data == if job.rank() == 0 { of(0) } else { prefix(job.rank()) }, "exscan of {len}");
    }
}

/// Sums of numbers that are rounded: the same bits at all members and every time, in whatever order members arrive.
pub fn results_are_repeatable(job: &Job) {
    let world = job.new_world().unwrap();
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

pub fn scan(job: &Job) {
    let world = job.new_world().unwrap();
    for len in LENGTHS {
        let mut data = values(job.rank(), len);
        world.scan(&mut data, Sum).unwrap();
        assert!(data == sum_of(0..job.rank() + 1, len), "{len}");
    }
}

pub fn exscan(job: &Job) {
    let world = job.new_world().unwrap();
    for len in LENGTHS {
        let (mut data, mut again) = (values(job.rank(), len), values(job.rank(), len));
        world.exscan(&mut data, Sum).unwrap();
        assert!(data == if job.rank() == 0 { values(0, len) } else { sum_of(0..job.rank(), len) }, "{len}");
        world.scope(|scope| scope.wait(scope.iexscan(&mut again, Sum)?)).unwrap();
        assert!(data == again, "{len}");
    }
    // No member takes one call for the other.
    let (mut one, odd) = ([1u64], job.rank() % 2 == 1);
    let mixed = if odd { world.exscan(&mut one, Sum) } else { world.scan(&mut one, Sum) };
    let mixed = mixed.and_then(|()| world.barrier());
    assert!(job.size() == 1 || matches!(mixed, Err(Error::Mismatch { .. })), "{mixed:?}");
}

/// There is nothing to combine, as every member is told.
pub fn of_sizeless_elements(job: &Job) {
    let expect_refusal = |call: &dyn Fn(&Group<'_>) -> hikyaku::Result<()>| {
        let refused = call(&job.new_world().unwrap());
        assert!(matches!(&refused, Err(Error::Invalid(reason)) if reason.contains("0 bytes")), "{refused:?}");
    };
    fn nothing(_: &mut [()], _: &[()]) {}
    expect_refusal(&|group| group.reduce(&mut [(); 2], nothing, 0));
    expect_refusal(&|group| group.allreduce(&mut [(); 2], nothing));
    expect_refusal(&|group| group.scan(&mut [(); 2], nothing));
    expect_refusal(&|group| group.exscan(&mut [(); 2], nothing));
}
