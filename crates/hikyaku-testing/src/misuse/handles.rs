//! Misuse of the handles of pulls and pushes that go on beside the program: in lists, in scopes that are not theirs, and where nothing
//! can be waited for.

use super::canary::Guarded;
use super::transfers::{LONG, job_word};
use crate::support::{bytes, other};
use hikyaku::collective::Sum;
use hikyaku::ffi::RawTransfers;
use hikyaku::{By, Error, Job, Result, Symmetric, Until};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// A table of both ranks, and the other rank.
fn table_of(job: &Job) -> (Symmetric<u8>, usize) {
    let table = job.symmetric::<u8>(LONG).unwrap();
    table.write(0, &bytes(job.rank(), LONG));
    job.barrier().unwrap();
    (table, other(job))
}

/// Lists in which handles are of an outer scope, of one that has ended, and of this one; after an error all of them are where they were.
pub fn lists_mix_transfers_of_several_scopes(job: &Job) {
    let (table, peer) = table_of(job);
    let mut rooms = [Guarded::new(LONG), Guarded::new(LONG), Guarded::new(LONG)];
    let [first, second, third] = &mut rooms;
    let old = job.scope(|scope| scope.start_pull(table.at(peer, 0), first.inside())).unwrap();
    let mut list = vec![Some(old), None];
    job.scope(|outer| {
        list[1] = Some(outer.start_pull(table.at(peer, 0), second.inside())?);
        job.scope(|inner| {
            list.push(Some(inner.start_pull(table.at(peer, 0), third.inside())?));
            while list.iter().any(Option::is_some) {
                // Where they end at once there is nothing to mistake.
                match inner.wait_any(&mut list) {
                    Ok(Some((_, ended))) => ended?,
                    Ok(None) => unreachable!("there are some"),
                    Err(Error::Invalid(_)) => {
                        assert!(list.iter().all(Option::is_some));
                        list.clear();
                    }
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        })
    })
    .unwrap();
    for room in &mut rooms {
        room.check_margins();
        assert!(room.inside() == bytes(peer, LONG));
    }
    job.barrier().unwrap();
}

/// Scopes of two ports have the same number, and so have their transfers: each knows its own all the same.
pub fn handles_are_used_on_another_port(job: &Job) {
    let ((table, peer), ports) = (table_of(job), [job.open().unwrap(), job.open().unwrap()]);
    let mut rooms = [Guarded::new(LONG), Guarded::new(LONG), Guarded::new(LONG)];
    let [first, second, third] = &mut rooms;
    ports[0]
        .scope(|one| {
            ports[1].scope(|two| {
                let mine = one.start_pull(table.at(peer, 0), first.inside())?;
                let theirs = two.start_pull(table.at(peer, 0), second.inside())?;
                let lost = one.start_pull(table.at(peer, 0), third.inside())?;
                // Where they end at once there is nothing to mistake.
                let is_mistaken = |ended: Result<()>| assert!(matches!(ended, Ok(()) | Err(Error::Invalid(_))));
                is_mistaken(two.wait(lost));
                let mut list = [Some(mine), Some(theirs)];
                for scope in [&two.wait_any(&mut list), &one.wait_any(&mut list)] {
                    assert!(matches!(scope, Ok(Some((_, Ok(())))) | Err(Error::Invalid(_))), "{scope:?}");
                }
                Ok(())
            })
        })
        .unwrap();
    for room in &mut rooms {
        room.check_margins();
        assert!(room.inside() == bytes(peer, LONG));
    }
    job.barrier().unwrap();
}

/// It may not wait, so the list is as it was, and one that was given away is waited for by its scope.
pub fn a_function_waits_for_any_transfer(job: &Job) {
    let (table, peer) = table_of(job);
    let world = job.world().unwrap();
    let mut rooms = [Guarded::new(LONG), Guarded::new(LONG)];
    job.scope(|scope| {
        let [first, second] = &mut rooms;
        let list = RefCell::new([Some(scope.start_pull(table.at(peer, 0), first.inside())?)]);
        let given = Cell::new(Some(scope.start_pull(table.at(peer, 0), second.inside())?));
        let waits = |total: &mut [u64], input: &[u64]| {
            let mut list = list.borrow_mut();
            if list[0].is_some() {
                match scope.wait_any(&mut *list) {
                    Ok(Some((0, Ok(())))) => assert!(list[0].is_none()),
                    Err(Error::InFunction) => assert!(list[0].is_some()),
                    other => panic!("{other:?}"),
                }
            }
            if let Some(transfer) = given.take() {
                let waited = scope.wait_for(transfer, Duration::MAX);
                assert!(matches!(waited, Ok(Ok(())) | Err(Error::InFunction)), "{waited:?}");
            }
            super::add(total, input);
        };
        world.allreduce(&mut [1], waits)?;
        let mut list = list.into_inner();
        while let Some((_, ended)) = scope.wait_any_for(&mut list, Duration::MAX)? {
            ended?;
        }
        Ok(())
    })
    .unwrap();
    for room in &mut rooms {
        room.check_margins();
        assert!(room.inside() == bytes(peer, LONG));
    }
}

/// All transfers by address are waited for while a collective call goes on in the background. What that reads of a member that is late is
/// none of them.
pub fn transfers_by_address_are_waited_for_beside_a_call(job: &Job) {
    // From then on members that wait ask what the others are about.
    const PATIENCE: Duration = Duration::from_millis(200);
    let (world, late) = (job.world().unwrap(), job.symmetric::<u64>(1).unwrap());
    let mut sum = [1u64];
    if job.rank() == 1 {
        job.wait(late.here(0), Until::Equal(1)).unwrap();
    }
    world
        .scope(|calls| {
            let call = calls.iallreduce(&mut sum, Sum)?;
            if job.rank() == 0 {
                let wait = |time| job.wait_for(By::Rank(1), late.here(0), Until::Equal(1), Some(time));
                assert!(wait(PATIENCE - Duration::from_micros(100)).is_err());
                for _ in 0..300 {
                    assert!(wait(Duration::from_micros(1)).is_err());
                    job.wait_transfers()?;
                }
                job.word(late.at(1, 0), 1)?;
            }
            calls.wait(call)
        })
        .unwrap();
    assert_eq!(sum, [2]);
}

/// The panic of a handler goes through the wait for a list, and through the scope.
pub fn a_handler_panics_in_the_wait_for_any_transfer(job: &Job) {
    const HANDLER: u16 = 1;
    job.register_handler(HANDLER, |_, _| panic!("on purpose")).unwrap();
    let ((table, peer), outside) = (table_of(job), job.symmetric::<u64>(1).unwrap());
    if job.rank() == 0 {
        job.wait(outside.here(0), Until::Equal(1)).unwrap();
        job.send(peer, HANDLER, 0, [0; 6], &[]).unwrap();
        job.sync().unwrap();
    } else {
        // In a barrier the handler would run too.
        job.word(outside.at(peer, 0), 1).unwrap();
        let mut rooms = [Guarded::new(LONG), Guarded::new(LONG)];
        let caught = catch_unwind(AssertUnwindSafe(|| {
            loop {
                job.scope(|scope| {
                    let [first, second] = &mut rooms;
                    let mut list = [
                        Some(scope.start_pull(table.at(peer, 0), first.inside())?),
                        Some(scope.start_pull(table.at(peer, 0), second.inside())?),
                    ];
                    while let Some((_, ended)) = scope.wait_any(&mut list)? {
                        ended?;
                    }
                    Ok(())
                })
                .unwrap();
                job.progress();
            }
        }));
        assert!(caught.is_err(), "the handler's panic comes");
        rooms.iter_mut().for_each(|room| room.inside().fill(7));
        job.fetch_add(job_word(job, &table), 0).unwrap();
        for room in &mut rooms {
            assert!(room.inside().iter().all(|byte| *byte == 7), "written after the panic");
            room.check_margins();
        }
    }
    job.barrier().unwrap();
}

/// An error of the program leaves the scope: it waits for all, and the error is the program's.
pub fn a_scope_fails_with_transfers_under_way(job: &Job) {
    let (table, peer) = table_of(job);
    let (mut room, mut leaked) = (Guarded::new(LONG), None);
    let failed = job.scope(|scope| -> Result<()> {
        leaked = Some(scope.start_pull(table.at(peer, 0), room.inside())?);
        Err(Error::Invalid("on purpose".into()))
    });
    assert!(matches!(failed, Err(Error::Invalid(text)) if text == "on purpose"));
    room.check_margins();
    assert!(room.inside() == bytes(peer, LONG));
    assert!(leaked.is_some());
    job.barrier().unwrap();
}
