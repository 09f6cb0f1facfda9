//! Misuse of groups and of what their members do together.

use super::canary::Guarded;
use crate::chance::Chance;
use crate::support::other;
use hikyaku::collective::{Choices, Elements, Formation, FormationChannel, Operation, Sum, Version};
use hikyaku::sim::{Machine, Sim};
use hikyaku::{Config, Error, Group, Job};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// More than the buffers of a group hold, so that members work in each other's memory.
const LONG: usize = 100_000;

/// The scope waits for it.
pub fn a_scope_is_left_with_a_call_under_way(job: &Job) {
    let world = job.world().unwrap();
    let mut data = vec![1u64; 10_000];
    world.scope(|scope| scope.iallreduce(&mut data, Sum).map(std::mem::forget)).unwrap();
    assert!(data.iter().all(|sum| *sum == job.size() as u64));
}

fn add(total: &mut [u64], input: &[u64]) {
    total.iter_mut().zip(input).for_each(|(total, input)| *total += input);
}

fn check_refused<R>(result: hikyaku::Result<R>) {
    assert!(matches!(result, Err(Error::InFunction)), "{:?}", result.err());
}

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
    }
    check_refused(job.barrier());
    check_refused(job.symmetric::<u64>(1));
    check_refused(job.world());
    check_refused(job.messages(1));
    let run = Sim::new(Machine::plain(), 2, 1).run(|inner| check_refused(inner.barrier()));
    assert!(run.is_ok());
    // It may look, and serve others.
    job.progress();
    assert!(own.iter().all(|word| *word == 3));
}

/// Refused, for the group's own calls and for all that wait, without harm to the call that needs the function.
pub fn a_function_calls_its_own_group(job: &Job) {
    let world = job.world().unwrap();
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
    let world = job.world().unwrap();
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
    let world = job.world().unwrap();
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
    let (world, twin) = (job.world().unwrap(), job.world().unwrap());
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
        let world = job.world().unwrap();
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

/// Registers a handler that panics once for each new address.
fn panic_once_for_each(job: &Job) {
    let mut last = 0;
    let handler = move |_: &mut hikyaku::Context<'_>, message: &hikyaku::Message<'_>| {
        if std::mem::replace(&mut last, message.address) != message.address {
            panic!("on purpose");
        }
    };
    job.register_handler(1, handler).unwrap();
}

/// The panic is caught, and the rank comes to the barrier once more: it waits there for the same others.
pub fn a_barrier_is_entered_again_after_a_panic(job: &Job) {
    let word = job.symmetric::<u64>(1).unwrap();
    if job.rank() == 0 {
        panic_once_for_each(job);
    }
    job.barrier().unwrap();
    for round in 1..4u64 {
        if job.rank() == 0 {
            job.word(word.at(1, 0), 2 * round).unwrap();
            assert!(catch_unwind(AssertUnwindSafe(|| job.barrier())).is_err());
            job.word(word.at(1, 0), 2 * round + 1).unwrap();
            job.barrier().unwrap();
            assert_eq!(word.get(0), round, "the barrier was passed before all had come");
        } else if job.rank() == 1 {
            // Only now it is in no other call.
            job.wait(word.here(0), hikyaku::Until::Equal(2 * round)).unwrap();
            job.send(0, 1, round, [0; 6], &[]).unwrap();
            job.wait(word.here(0), hikyaku::Until::Equal(2 * round + 1)).unwrap();
            // Whoever is counted twice has time to pass.
            std::thread::sleep(std::time::Duration::from_millis(20));
            job.word(word.at(0, 0), round).unwrap();
            job.barrier().unwrap();
        } else {
            job.barrier().unwrap();
        }
        job.barrier().unwrap();
    }
}

/// What was agreed on by the others stays in step: this rank cannot know where, so it is told no.
pub fn memory_is_allocated_after_a_panic_in_an_allocation(job: &Job) {
    let word = job.symmetric::<u64>(1).unwrap();
    if job.rank() == 0 {
        panic_once_for_each(job);
    }
    job.barrier().unwrap();
    if job.rank() == 0 {
        job.word(word.at(1, 0), 1).unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| job.symmetric::<u64>(10))).is_err());
        job.word(word.at(1, 0), 2).unwrap();
        assert!(job.symmetric::<u64>(10).is_err());
        assert!(job.world().is_err());
        job.barrier().unwrap();
    } else {
        job.wait(word.here(0), hikyaku::Until::Equal(1)).unwrap();
        job.send(0, 1, 1, [0; 6], &[]).unwrap();
        job.wait(word.here(0), hikyaku::Until::Equal(2)).unwrap();
        // The one that was counted before the panic.
        let area = job.symmetric::<u64>(10).unwrap();
        job.push(area.at(other(job), 0), &[1; 10]).unwrap();
    }
    job.barrier().unwrap();
}

/// A part would be freed that others still use.
pub fn messages_of_others_are_freed(job: &Job) {
    let world = job.world().unwrap();
    // The job's own, which lie in its symmetric memory.
    assert!(world.free_messages(job.messages(1).unwrap()).is_err());
    // Each frees another: nobody may go on as if all had freed the same.
    let (first, second) = (world.messages(1).unwrap(), world.messages(1).unwrap());
    let (freed, kept) = if job.rank() == 0 { (first, second) } else { (second, first) };
    assert!(world.free_messages(freed).is_err());
    kept.send(&[1u64; 10], other(job), 0).unwrap();
    // Memory that was given back would be given out here.
    let third = world.messages(1).unwrap();
    third.send(&[2u64; 10], other(job), 0).unwrap();
    let mut got = [0u64; 10];
    third.recv(&mut got, other(job), 0).unwrap();
    assert_eq!(got, [2; 10]);
    world.free_messages(third).unwrap();
}

/// They would number themselves differently, and write to the same part of each other's buffers.
pub fn members_form_teams_of_different_order(job: &Job) {
    let channel = FormationChannel::new(job, 1).unwrap();
    let team = if job.rank() == 0 { [0, 1] } else { [1, 0] };
    assert!(Formation::new(&channel, 0, &[0, 1], &[&team], 1).is_err());
    let formed = Formation::new(&channel, 0, &[0, 1], &[&[0, 1]], 1).unwrap();
    let mut sum = vec![1u64; LONG];
    formed.team(0).unwrap().allreduce(&mut sum, Sum).unwrap();
    assert!(sum.iter().all(|sum| *sum == 2));
    // Given up without a word to the others, while they are at it.
    let mut retired = formed.retire();
    while !retired.try_free().unwrap() {}
}

/// As many bytes, so that shares of elements would overlap.
pub fn members_combine_elements_of_different_size(job: &Job) {
    let mut buffer = Guarded::new(3 * LONG);
    for call in 0..3 {
        let world = job.world().unwrap();
        let elements = Elements::new(if job.rank() == 0 { 1 } else { 3 });
        let keep = |_: &mut [u8], _: &[u8]| {};
        let result = match call {
            0 => world.allreduce_elements(buffer.inside(), elements, &keep),
            1 => world.reduce_elements(buffer.inside(), elements, &keep, 0),
            _ => world.scan_elements(buffer.inside(), elements, &keep),
        };
        // The root need not have come yet when the other has given all it has.
        assert!(result.is_err() || call > 0 && world.barrier().is_err());
        job.barrier().unwrap();
    }
    buffer.check_untouched();
}

/// As much as on the program's own stack.
pub fn a_function_needs_much_stack(job: &Job) {
    fn dig(depth: usize) -> u64 {
        let room = std::hint::black_box([depth as u8; 4096]);
        if depth == 0 { 0 } else { dig(depth - 1) + room[depth % 4096] as u64 % 2 }
    }
    let world = job.world().unwrap();
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

/// Scopes of one group in each other, calls of the inner one after those of the outer one, handles forgotten.
pub fn scopes_are_nested(job: &Job) {
    let world = job.world().unwrap();
    let (mut outer, mut inner) = (vec![1u64; LONG], vec![1u64; LONG]);
    world
        .scope(|first| {
            let sum = first.iallreduce(&mut outer, Sum)?;
            let caught = catch_unwind(AssertUnwindSafe(|| {
                world.scope(|second| {
                    drop(second.iallreduce(&mut inner, Sum)?);
                    second.ibarrier().map(std::mem::forget)
                })
            }));
            caught.expect("no panic")?;
            assert!(inner.iter().all(|sum| *sum == 2));
            first.wait(sum)
        })
        .unwrap();
    assert!(outer.iter().all(|sum| *sum == 2));
}

/// A panic inside the inner scope of two: both are given up, the others get an error, nobody hangs.
pub fn a_panic_leaves_nested_scopes(job: &Job) {
    let world = job.world().unwrap();
    let (mut outer, mut inner) = (vec![1u64; LONG], vec![1u64; LONG]);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        world.scope(|first| {
            drop(first.iallreduce(&mut outer, Sum)?);
            world.scope(|second| {
                if job.rank() == 0 {
                    panic!("on purpose");
                }
                second.iallreduce(&mut inner, Sum).map(std::mem::forget)
            })
        })
    }));
    assert_eq!(ended.is_err(), job.rank() == 0);
    assert!(ended.is_err() || ended.is_ok_and(|ended| ended.is_err()));
    drop((outer, inner));
    assert!(world.barrier().is_err());
    assert!(world.free().is_err());
    job.barrier().unwrap();
}

/// Only the calls of that group are given up: one of another goes on, though the others come to it later.
pub fn a_panic_leaves_the_scope_of_one_of_two_groups(job: &Job) {
    let (world, twin) = (job.world().unwrap(), job.world().unwrap());
    let (mut sum, mut lost) = (vec![1u64; LONG], vec![1u64; LONG]);
    let mut lose = || {
        catch_unwind(AssertUnwindSafe(|| {
            twin.scope(|scope| {
                let call = scope.iallreduce(&mut lost, Sum)?;
                if job.rank() == 0 {
                    panic!("on purpose");
                }
                scope.wait(call)
            })
        }))
    };
    if job.rank() == 1 {
        assert!(matches!(lose(), Ok(Ok(()) | Err(_))));
    }
    world
        .scope(|scope| {
            let call = scope.iallreduce(&mut sum, Sum)?;
            if job.rank() == 0 {
                assert!(lose().is_err());
            }
            scope.wait(call)
        })
        .unwrap();
    assert!(sum.iter().all(|sum| *sum == 2));
    job.barrier().unwrap();
}

/// Groups, and those they were split from, freed and dropped in all orders.
pub fn groups_end_in_odd_orders(job: &Job) {
    for round in 0..4 {
        let world = job.world().unwrap();
        let half = world.split(Some(0), -(job.rank() as i64)).unwrap().unwrap();
        let messages = half.messages(2).unwrap();
        let mut sum = vec![1u64; LONG];
        match round {
            0 => {
                world.free().unwrap();
                half.allreduce(&mut sum, Sum).unwrap();
                half.free_messages(messages).unwrap();
                half.free().unwrap();
            }
            1 => {
                half.free().unwrap();
                world.allreduce(&mut sum, Sum).unwrap();
                // In the group the two are the other way round.
                messages.send(&[1u64], job.rank(), 0).unwrap();
                messages.recv(&mut [0u64], job.rank(), 0).unwrap();
            }
            2 => {
                drop(messages);
                drop(world);
                half.allreduce(&mut sum, Sum).unwrap();
            }
            _ => {
                std::mem::forget(half);
                messages.send(&[1u64], 0, 1).ok();
                world.free().unwrap();
            }
        }
    }
    job.barrier().unwrap();
}

/// A simulated job inside a rank uses the rank's own group, and its calls under way.
pub fn two_jobs_use_each_others_groups(job: &Job) {
    let world = job.world().unwrap();
    let mut sum = vec![1u64; LONG];
    world
        .scope(|scope| {
            let late = Cell::new(Some(scope.iallreduce(&mut sum, Sum)?));
            let run = Sim::new(Machine::plain(), 2, 1).run(|inner| {
                let small = inner.world()?;
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

fn check_mismatch<R: std::fmt::Debug>(result: hikyaku::Result<R>) -> u64 {
    match result {
        Err(Error::Mismatch { theirs, .. }) => theirs,
        other => panic!("{other:?} instead of a mismatch"),
    }
}

/// Memory of as many bytes as the library wants for itself: who could write there would tell the library what it believes.
pub fn memory_is_asked_for_that_others_ask_for_messages(job: &Job) {
    let mut bytes = 1;
    for _ in 0..3 {
        match job.rank() {
            0 => _ = check_mismatch(job.messages(1)),
            // The error tells how much the others want.
            _ => bytes = check_mismatch(job.symmetric::<u8>(bytes as usize)),
        }
    }
    assert!(job.rank() == 0 || bytes > 1);
    let mut bytes = 1;
    for _ in 0..3 {
        match job.rank() {
            0 => _ = check_mismatch(job.world()),
            _ => bytes = check_mismatch(job.symmetric::<u8>(bytes as usize)),
        }
    }
    assert!(job.rank() == 0 || bytes > 1);
    job.barrier().unwrap();
}

/// A member gathers as many bytes as others tell each other about messages that they make or free.
pub fn a_member_gathers_while_others_make_messages(job: &Job) {
    let world = job.world().unwrap();
    match job.rank() {
        0 => _ = check_mismatch(world.messages(1)),
        _ => _ = check_mismatch(world.allgather(&[[1u64 << 21, 1]], &mut [[0; 2]; 2])),
    }
    let world = job.world().unwrap();
    let messages = world.messages(1).unwrap();
    match job.rank() {
        0 => _ = check_mismatch(world.free_messages(messages)),
        _ => _ = check_mismatch(world.allgather(&[1u64], &mut [0; 2])),
    }
    job.barrier().unwrap();
}

/// Two members find out about a later call that it does not fit before a third comes to the first one, which does not fit either:
/// whoever waits for that one is told.
pub fn an_earlier_call_differs_too(job: &Job) {
    let world = job.world().unwrap();
    let word = job.symmetric::<u64>(1).unwrap();
    let gather = |bytes: usize| world.gather(&vec![1u8; bytes], &mut vec![0; 3 * bytes], 1);
    match job.rank() {
        0 => {
            gather(0).unwrap();
            // The last one is already at the second piece.
            check_mismatch(world.barrier());
            job.word(word.at(1, 0), 1).unwrap();
        }
        1 => {
            job.wait(word.here(0), hikyaku::Until::Equal(1)).unwrap();
            assert!(gather(0).is_err());
        }
        // It comes to where it must wait until the first call is over everywhere.
        _ => assert!(gather(LONG * 8).is_err()),
    }
    job.barrier().unwrap();
}

/// A group makes messages for itself when a call first goes by a tree; a member makes some for the program meanwhile. The others
/// do not go on without it.
pub fn messages_are_made_while_others_need_a_tree(_: &Job) {
    let config = Config { choices: Choices::all(Version::Tree), ..Config::default() };
    let ended = hikyaku::local_with(3, config, |job| {
        for slots in [1, 4] {
            let world = job.world()?;
            let made = if job.rank() == 2 { world.messages(slots).map(drop) } else { world.barrier() };
            assert!(made.is_err(), "{slots} slots");
            job.barrier()?;
        }
        Ok(())
    });
    ended.unwrap().into_iter().for_each(|ended: hikyaku::Result<()>| ended.unwrap());
}

/// The call of that number, of so many bytes at each member.
fn call_some(world: &Group<'_>, call: usize, root: usize, [one, all]: &mut [Guarded; 2]) -> hikyaku::Result<()> {
    let add = |total: &mut [u8], input: &[u8]| total.iter_mut().zip(input).for_each(|(total, input)| *total ^= input);
    let (one, all) = (one.inside(), all.inside());
    match call {
        0 => world.barrier(),
        1 => world.broadcast(one, root),
        2 => world.reduce(one, add, root),
        3 => world.allreduce(one, add),
        4 => world.scan(one, add),
        5 => world.gather(one, all, root),
        6 => world.allgather(one, all),
        7 => world.scatter(all, one, root),
        8 => {
            let blocks = all.to_vec();
            world.alltoall(&blocks, all)
        }
        9 => world.split(Some(0), 0).map(drop),
        _ => world.messages(1).map(drop),
    }
}

/// By chance, in every version: calls, sizes and roots that mostly differ. Nobody waits for ever, and nobody writes to buffers that
/// are gone.
pub fn members_ask_for_different_things(_: &Job) {
    const ROUNDS: usize = 25;
    for version in Version::ALL {
        let config = Config { choices: Choices::all(version), ..Config::default() };
        let ended = hikyaku::local_with(3, config, |job| {
            let mut chance = Chance::new(version as u64, 0);
            for round in 0..ROUNDS {
                let mut draw = |below: usize| [(); 3].map(|()| chance.below(below));
                let (calls, sizes, roots) = (draw(11), draw(5), draw(3));
                // Of some the call is the same, or the size.
                let pick = |all: [usize; 3], same: usize| if round % 3 == same { all[0] } else { all[job.rank()] };
                let bytes = [0, 8, 900, 9_000, 200_000][pick(sizes, 1)];
                let world = job.world()?;
                let mut buffers = [Guarded::new(bytes), Guarded::new(3 * bytes)];
                let asked = call_some(&world, pick(calls, 0), roots[job.rank()], &mut buffers);
                buffers.iter().for_each(Guarded::check_margins);
                drop(buffers);
                let kept = [Guarded::new(bytes), Guarded::new(3 * bytes)];
                if asked.is_ok() {
                    let _ = world.allreduce(&mut [1u64; 3], Sum);
                }
                job.barrier()?;
                kept.iter().for_each(Guarded::check_untouched);
            }
            Ok(())
        });
        ended.unwrap().into_iter().for_each(|ended: hikyaku::Result<()>| ended.unwrap());
    }
}

/// Each time it would take memory that nobody gives back.
pub fn formations_that_cannot_be_take_nothing(job: &Job) {
    let (channel, world) = (FormationChannel::new(job, 1).unwrap(), job.world().unwrap());
    let form = |slot: usize, members: &[usize], slots: usize| Formation::new(&channel, slot, members, &[], slots);
    let next = || job.block(100_000).unwrap().start();
    let before = next();
    assert!(form(1, &[0, 1], 1).is_err());
    assert!(form(0, &[0, 2], 1).is_err());
    assert!(form(0, &[1, 1], 1).is_err());
    assert!(form(0, &[other(job)], 1).is_err());
    assert!(form(0, &[0, 1], 0).is_err());
    let function = |total: &mut [u64], input: &[u64]| {
        check_refused(form(0, &[0, 1], 1));
        add(total, input);
    };
    world.allreduce(&mut [1], function).unwrap();
    assert_eq!(next(), before);
    drop(form(0, &[0, 1], 1).unwrap());
    job.barrier().unwrap();
}

/// What is said there leads others to memory, so no program can say it.
pub fn a_channel_is_made_while_others_make_messages(job: &Job) {
    let refused = match job.rank() {
        0 => FormationChannel::new(job, 1).map(drop),
        _ => job.messages(1).map(drop),
    };
    assert!(matches!(refused, Err(Error::Mismatch { .. })), "{refused:?}");
    let channel = FormationChannel::new(job, 1).unwrap();
    Formation::new(&channel, 0, &[0, 1], &[], 1).unwrap().all().barrier().unwrap();
}
