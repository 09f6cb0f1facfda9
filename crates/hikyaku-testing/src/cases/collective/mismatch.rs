//! Members that do not mean the same: every one of them finds out.

use hikyaku::collective::{Max, Sum};
use hikyaku::{Error, Group, Job};

/// Every member must get the error, and every later call fails too.
pub fn expect_mismatch(job: &Job, call: impl Fn(&Group<'_>) -> hikyaku::Result<()>) {
    if job.size() == 1 {
        return;
    }
    let world = job.new_world().unwrap();
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
    job.new_world().unwrap().free().unwrap();
}

pub fn kind(job: &Job) {
    let odd = job.rank() == job.size() - 1;
    expect_mismatch(job, |world| if odd { world.barrier() } else { world.allreduce(&mut [0u64], Sum) });
    expect_mismatch(job, |world| if odd { world.broadcast(&mut [0u64], 0) } else { world.barrier() });
    expect_mismatch(job, |world| if odd { world.reduce(&mut [0u64], Sum, 0) } else { world.barrier() });
}

pub fn size(job: &Job) {
    let len = if job.rank() == job.size() - 1 { 4 } else { 3 };
    expect_mismatch(job, |world| world.allreduce(&mut vec![0u64; len], Sum));
    expect_mismatch(job, |world| world.broadcast(&mut vec![0u64; len], 0));
    expect_mismatch(job, |world| world.reduce(&mut vec![0u64; len * 10_000], Sum, 0));
    expect_mismatch(job, |world| world.broadcast(&mut vec![0u64; len * 10_000], 0));
    expect_mismatch(job, |world| world.allgather(&vec![0u64; len], &mut vec![0; len * job.size()]));
}

pub fn root(job: &Job) {
    let root = if job.rank() == job.size() - 1 { 1 } else { 0 };
    expect_mismatch(job, |world| world.broadcast(&mut [0u64; 10], root));
    expect_mismatch(job, |world| world.reduce(&mut [0u64; 10], Sum, root));
}

pub fn operation(job: &Job) {
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
pub fn wrong_arguments(job: &Job) {
    let world = job.new_world().unwrap();
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
    let world = job.new_world().unwrap();
    let mut all = vec![0; if job.rank() == 0 { 3 * size + 1 } else { 3 * size }];
    match (job.rank(), world.allgather(&[1, 2, 3], &mut all)) {
        (0, Err(Error::Invalid(_))) | (1.., Err(Error::Mismatch { rank: 0, .. })) => {}
        (_, other) => panic!("{other:?}"),
    }
}
