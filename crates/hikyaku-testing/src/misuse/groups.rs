//! Groups, scopes and formations that end in odd orders, or by a panic in the middle of a call.

use super::{LONG, add, check_refused};
use crate::support::other;
use hikyaku::Job;
use hikyaku::collective::{Formation, FormationChannel, Sum};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The scope waits for it.
pub fn a_scope_is_left_with_a_call_under_way(job: &Job) {
    let world = job.new_world().unwrap();
    let mut data = vec![1u64; 10_000];
    world.scope(|scope| scope.iallreduce(&mut data, Sum).map(std::mem::forget)).unwrap();
    assert!(data.iter().all(|sum| *sum == job.size() as u64));
}

/// Scopes of one group in each other, calls of the inner one after those of the outer one, handles forgotten.
pub fn scopes_are_nested(job: &Job) {
    let world = job.new_world().unwrap();
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
    let world = job.new_world().unwrap();
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
    let (world, twin) = (job.new_world().unwrap(), job.new_world().unwrap());
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

/// The group that a job keeps is asked for in functions of its own calls, and broken by calls that do not fit together: it stays what it
/// is, new ones work, and it ends with the job.
pub fn the_world_is_broken(job: &Job) {
    let world = job.world().unwrap();
    let mut sum = vec![1u64; LONG];
    world
        .allreduce(&mut sum, |total: &mut [u64], input: &[u64]| {
            check_refused(job.world().unwrap().barrier());
            add(total, input);
        })
        .unwrap();
    assert!(sum.iter().all(|sum| *sum == 2));
    let differs = world.allreduce(&mut vec![1u64; 1 + job.rank()], Sum);
    assert!(matches!(differs, Err(hikyaku::Error::Mismatch { .. })), "{differs:?}");
    let after = job.world().unwrap();
    assert!(std::ptr::eq(after, world) && after.barrier().is_err(), "it was broken");
    let another = job.new_world().unwrap();
    another.barrier().unwrap();
    // Never freed.
    std::mem::forget(another);
    assert!(job.world().unwrap().allreduce(&mut [1u64], Sum).is_err());
    job.barrier().unwrap();
}

/// Groups, and those they were split from, freed and dropped in all orders.
pub fn groups_end_in_odd_orders(job: &Job) {
    for round in 0..4 {
        let world = job.new_world().unwrap();
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

/// Does it again after each panic of a handler in it.
fn again<R>(mut work: impl FnMut() -> R) -> R {
    loop {
        if let Ok(result) = catch_unwind(AssertUnwindSafe(&mut work)) {
            return result;
        }
    }
}

/// A rank leaves long calls by the panic of a handler, at whatever moment. Its buffer is its own again: what it writes there
/// afterwards stays. Nobody waits for it, and whoever succeeds has the right result.
pub fn a_handler_panics_in_long_calls(job: &Job) {
    const OWN: u64 = 0xEEEE;
    let handled = Arc::new(AtomicU64::new(0));
    let mark = handled.clone();
    let handler = move |_: &mut hikyaku::Context<'_>, message: &hikyaku::Message<'_>| {
        mark.store(message.address, Ordering::Relaxed);
        panic!("on purpose");
    };
    job.register_handler(1, handler).unwrap();
    let mut panics = 0;
    for round in 1..=60u64 {
        let is_victim = round as usize % 2 == job.rank();
        let sums = round % 4 < 2;
        let world = job.new_world().unwrap();
        let mut data = vec![if sums { 3 } else { 6 * (1 - job.rank() as u64) }; 4 * LONG];
        again(|| job.barrier()).unwrap();
        if !is_victim {
            job.send(other(job), 1, round, [0; 6], &[]).unwrap();
            // Different moments of the other's call.
            (0..round * 97 % 3_000).for_each(|_| std::hint::spin_loop());
        }
        let call = || if sums { world.allreduce(&mut data, Sum) } else { world.broadcast(&mut data, 0) };
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(Ok(())) => assert!(data.iter().all(|value| *value == 6)),
            Ok(Err(_)) => assert!(!is_victim, "its own handler ends its call by a panic"),
            Err(_) => {
                assert!(is_victim, "a panic comes from an own handler");
                panics += 1;
                data.fill(OWN);
                again(|| job.barrier()).unwrap();
                assert!(data.iter().all(|value| *value == OWN), "written to after it was left");
                continue;
            }
        }
        while is_victim && handled.load(Ordering::Relaxed) < round {
            again(|| job.progress());
        }
        again(|| job.barrier()).unwrap();
    }
    let of_all = job.symmetric::<u64>(1).unwrap();
    job.word(of_all.at(other(job), 0), panics).unwrap();
    job.barrier().unwrap();
    assert!(panics + of_all.get(0) > 0, "no handler has panicked in a call");
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
        assert!(job.new_world().is_err());
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
    let world = job.new_world().unwrap();
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

/// Each time it would take memory that nobody gives back.
pub fn formations_that_cannot_be_take_nothing(job: &Job) {
    let (channel, world) = (FormationChannel::new(job, 1).unwrap(), job.new_world().unwrap());
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
