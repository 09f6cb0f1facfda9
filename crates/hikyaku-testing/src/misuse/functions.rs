//! Functions that combine, and do what they should not: they call, wait, panic, and need much room.

use super::canary::Guarded;
use super::{LONG, add, check_refused};
use hikyaku::collective::{Operation, Sum};
use hikyaku::sim::{Machine, Sim};
use hikyaku::{Group, Job};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Everything that a function must not do; the buffers are those that other members would write to.
fn call_everything(job: &Job, world: &Group<'_>, half: &Group<'_>) {
    let mut own = vec![3u64; LONG];
    for group in [world, half] {
        check_refused(group.barrier());
        check_refused(group.allreduce(&mut own, Sum));
        check_refused(group.reduce(&mut own[..2], Sum, 0));
        check_refused(group.broadcast(&mut own, 0));
        check_refused(group.scan(&mut own, Sum));
        check_refused(group.split(Some(0), 0));
        check_refused(group.messages(1));
        check_refused(group.scope(|scope| scope.iallreduce(&mut own, Sum).and_then(|call| scope.wait(call))));
        let mut all = vec![0u64; group.size()];
        check_refused(group.allgather(&[1u64], &mut all));
        check_refused(group.alltoall(&all.clone(), &mut all));
        let counts = vec![1; group.size()];
        check_refused(group.gatherv(&[1u64], &mut all, &counts, 0));
        check_refused(group.allgatherv(&[1u64], &mut all, &counts));
        check_refused(group.scatterv(&all, &counts, &mut own[..1], 0));
        check_refused(group.alltoallv(&all.clone(), &counts, &mut all, &counts));
        check_refused(group.reduce_scatter_block(&all, &mut own[..1], Sum));
    }
    check_refused(job.barrier());
    check_refused(job.symmetric::<u64>(1));
    check_refused(job.new_world());
    check_refused(job.messages(1));
    let run = Sim::new(Machine::plain(), 2, 1).run(|inner| check_refused(inner.barrier()));
    assert!(run.is_ok());
    // It may look, and serve others.
    job.progress();
    assert!(own.iter().all(|word| *word == 3));
}

/// Refused, for the group's own calls and for all that wait, without harm to the call that needs the function.
pub fn a_function_calls_its_own_group(job: &Job) {
    let world = job.new_world().unwrap();
    let half = world.split(Some(0), 0).unwrap().unwrap();
    let runs = Cell::new(0);
    let function = |total: &mut [u64], input: &[u64]| {
        // A long reduction is many runs.
        if runs.replace(runs.get() + 1) % 8 == 0 {
            call_everything(job, &world, &half);
        }
        add(total, input);
    };
    for len in [1, 1_000, LONG] {
        let mut data = vec![job.rank() as u64 + 1; len];
        world.allreduce(&mut data, function).unwrap();
        assert!(data.iter().all(|sum| *sum == 3), "{len}");
        world.reduce(&mut data, function, 1).unwrap();
        world.scan(&mut data, function).unwrap();
        world.barrier().unwrap();
    }
}

/// Refused where the function runs in whatever wait moves its call on, too.
pub fn a_function_of_a_call_under_way_calls_its_own_group(job: &Job) {
    let world = job.new_world().unwrap();
    let half = world.split(Some(0), 0).unwrap().unwrap();
    let runs = Cell::new(0);
    let function = |total: &mut [u64], input: &[u64]| {
        if runs.replace(runs.get() + 1) % 8 == 0 {
            call_everything(job, &world, &half);
        }
        add(total, input);
    };
    for len in [1, LONG] {
        let mut data = vec![job.rank() as u64 + 1; len];
        world
            .scope(|scope| {
                let sum = scope.iallreduce(&mut data, function)?;
                job.barrier()?;
                let _ = job.symmetric::<u64>(1)?;
                half.barrier()?;
                scope.wait(sum)
            })
            .unwrap();
        assert!(data.iter().all(|sum| *sum == 3), "{len}");
    }
    assert!(runs.get() > 0);
}

/// An operation that calls its group when it is dropped: in the middle of whatever wait moves its call on.
struct Farewell<'a, 'j>(&'a Group<'j>, &'a Job);

impl Operation<u64> for Farewell<'_, '_> {
    // As if it were one of the library's own.
    const CODE: u8 = <Sum as Operation<u64>>::CODE;

    fn combine(&self, total: &mut [u64], input: &[u64]) {
        assert!(self.0.barrier().is_err() && self.1.barrier().is_err());
        add(total, input);
    }
}

impl Drop for Farewell<'_, '_> {
    fn drop(&mut self) {
        assert!(self.0.barrier().is_err() && self.1.barrier().is_err());
    }
}

/// Refused like a call of its function.
pub fn an_operation_calls_its_group_when_it_is_dropped(job: &Job) {
    let world = job.new_world().unwrap();
    let mut data = vec![1u64; LONG];
    world
        .scope(|scope| {
            let sum = scope.iallreduce(&mut data, Farewell(&world, job))?;
            job.barrier()?;
            scope.wait(sum)
        })
        .unwrap();
    assert!(data.iter().all(|sum| *sum == 2));
    job.barrier().unwrap();
}

/// Calls of another group that are under way go on, though that group's blocking call was refused meanwhile.
pub fn a_function_calls_a_group_with_calls_under_way(job: &Job) {
    let (world, twin) = (job.new_world().unwrap(), job.new_world().unwrap());
    for _ in 0..20 {
        let mut under_way = vec![1u64; LONG];
        let mut data = vec![1u64; LONG];
        let mut sum = || {
            world.allreduce(&mut data, |total: &mut [u64], input: &[u64]| {
                check_refused(twin.barrier());
                add(total, input);
            })
        };
        if job.rank() == 1 {
            sum().unwrap();
        }
        twin.scope(|scope| {
            let late = scope.iallreduce(&mut under_way, Sum)?;
            if job.rank() == 0 {
                // The other one's call of `twin` comes later, so this one's is under way.
                sum()?;
            }
            scope.wait(late)
        })
        .unwrap();
        assert!(under_way.iter().chain(&data).all(|sum| *sum == 2));
    }
}

/// Its buffer is its own again when the panic comes out, and the others get an error.
pub fn a_function_panics(job: &Job) {
    for blocking in [true, false] {
        let world = job.new_world().unwrap();
        let mut buffer = Guarded::new(LONG);
        // Which member needs it first, is nobody's choice.
        let function = |_: &mut [u8], _: &[u8]| panic!("on purpose");
        let ended = catch_unwind(AssertUnwindSafe(|| match blocking {
            true => world.allreduce(buffer.inside(), function),
            false => world.scope(|scope| scope.iallreduce(buffer.inside(), function).and_then(|call| scope.wait(call))),
        }));
        let mut buffer = Guarded::new(LONG);
        // The panic, or the news of it.
        assert!(ended.map_or(true, |result| result.is_err()), "nobody told this rank");
        job.barrier().unwrap();
        buffer.check_untouched();
        assert!(world.barrier().is_err());
        assert!(world.allreduce(buffer.inside(), function).is_err());
        buffer.check_untouched();
        job.barrier().unwrap();
    }
}

/// As much as on the program's own stack.
pub fn a_function_needs_much_stack(job: &Job) {
    fn dig(depth: usize) -> u64 {
        let room = std::hint::black_box([depth as u8; 4096]);
        if depth == 0 { 0 } else { dig(depth - 1) + room[depth % 4096] as u64 % 2 }
    }
    let world = job.new_world().unwrap();
    let mut data = vec![1u64; 10];
    for _ in 0..20 {
        data.fill(1);
        let function = |total: &mut [u64], input: &[u64]| {
            // Some megabytes, in whatever profile.
            std::hint::black_box(dig(250));
            add(total, input);
        };
        world.scope(|scope| scope.iallreduce(&mut data, function).and_then(|call| scope.wait(call))).unwrap();
        assert!(data.iter().all(|sum| *sum == 2));
    }
}

/// A simulated job inside a rank uses the rank's own group, and its calls under way.
pub fn two_jobs_use_each_others_groups(job: &Job) {
    let world = job.new_world().unwrap();
    let mut sum = vec![1u64; LONG];
    world
        .scope(|scope| {
            let late = Cell::new(Some(scope.iallreduce(&mut sum, Sum)?));
            let run = Sim::new(Machine::plain(), 2, 1).run(|inner| {
                let small = inner.new_world()?;
                let mut own = vec![1u64; 100];
                small.allreduce(&mut own, |total: &mut [u64], input: &[u64]| {
                    check_refused(world.barrier());
                    check_refused(job.barrier());
                    add(total, input);
                })?;
                assert_eq!(own, [2; 100]);
                if let Some(late) = late.take() {
                    scope.wait(late)?;
                }
                small.barrier()
            })?;
            run.results.into_iter().collect::<hikyaku::Result<Vec<()>>>().map(drop)
        })
        .unwrap();
    assert!(sum.iter().all(|sum| *sum == 2));
    job.barrier().unwrap();
}
