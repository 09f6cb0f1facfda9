//! Misuse of pulls and pushes that go on beside the program.

use super::canary::Guarded;
use crate::support::{bytes, other};
use hikyaku::{Bitmap, Error, Job, Result, Stride, Symmetric, Transfer, Until};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};

/// More than a packet of any transport carries.
pub(super) const LONG: usize = 300_000;

/// Handles are forgotten, leaked into a vector, and used in a scope that is not theirs; the buffers are the program's again when the scope
/// has ended, and nobody writes them afterwards.
pub fn transfers_are_forgotten(job: &Job) {
    let (table, peer) = (job.symmetric::<u8>(LONG).unwrap(), other(job));
    table.write(0, &bytes(job.rank(), LONG));
    job.barrier().unwrap();
    let mut leaked: Vec<Transfer> = Vec::new();
    for _ in 0..5 {
        let mut rooms = [Guarded::new(LONG), Guarded::new(LONG)];
        let pulled = job.scope(|scope| {
            let [first, second] = &mut rooms;
            Box::leak(Box::new(scope.start_pull(table.at(peer, 0), first.inside())?));
            leaked.push(scope.start_pull(table.at(peer, 0), second.inside())?);
            Ok(())
        });
        pulled.unwrap();
        for room in &mut rooms {
            room.check_margins();
            assert!(room.inside() == bytes(peer, LONG));
        }
        drop(rooms);
        let later = Guarded::new(2 * LONG);
        job.fetch_add(job_word(job, &table), 0).unwrap();
        later.check_untouched();
    }
    job.scope(|scope| {
        for transfer in leaked.drain(..) {
            let waited = scope.wait(transfer);
            assert!(matches!(waited, Ok(()) | Err(Error::Invalid(_))), "{waited:?}");
        }
        Ok(())
    })
    .unwrap();
    job.barrier().unwrap();
}

/// A word of the other rank that is not used for anything else: an operation on it is answered after all before it.
pub(super) fn job_word<'a>(job: &Job, table: &'a Symmetric<u8>) -> hikyaku::Place<'a, u64> {
    table.at(other(job), 0).cast().expect("symmetric memory starts on a line")
}

/// A panic in the middle of a scope gives up what is under way: the buffers are the program's again at once, also those of an outer scope
/// that the panic goes through.
pub fn a_panic_leaves_transfers_under_way(job: &Job) {
    let (table, peer) = (job.symmetric::<u8>(LONG).unwrap(), other(job));
    table.write(0, &bytes(job.rank(), LONG));
    job.barrier().unwrap();
    for _ in 0..5 {
        let (mut room, mut outer_room) = (Guarded::new(LONG), Guarded::new(LONG));
        let data = bytes(job.rank(), LONG);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            job.scope(|outer| -> Result<()> {
                let _ = outer.start_pull(table.at(peer, 0), outer_room.inside())?;
                job.scope(|inner| -> Result<()> {
                    let _ = inner.start_pull(table.at(peer, 0), room.inside())?;
                    // What is there already.
                    let _ = inner.start_push(table.at(job.rank(), 0), &data)?;
                    panic_any("on purpose");
                })
            })
        }));
        assert!(caught.is_err());
        for room in [&mut room, &mut outer_room] {
            room.check_margins();
            room.inside().fill(1);
        }
        drop(data);
        let mut again = vec![0; LONG];
        job.pull(table.at(peer, 0), &mut again).unwrap();
        assert!(again == bytes(peer, LONG), "what comes late is for nobody");
        assert!(
            room.inside().iter().chain(outer_room.inside().iter()).all(|byte| *byte == 1),
            "written after the panic"
        );
    }
    job.sync().unwrap();
    job.barrier().unwrap();
}

/// A handler panics while transfers are waited for.
pub fn a_handler_panics_in_the_wait_for_a_transfer(job: &Job) {
    const HANDLER: u16 = 1;
    let (table, peer) = (job.symmetric::<u8>(LONG).unwrap(), other(job));
    table.write(0, &bytes(job.rank(), LONG));
    job.register_handler(HANDLER, |_, _| panic!("on purpose")).unwrap();
    job.barrier().unwrap();
    let outside = job.symmetric::<u64>(1).unwrap();
    if job.rank() == 0 {
        job.wait(outside.here(0), Until::Equal(1)).unwrap();
        job.send(peer, HANDLER, 0, [0; 6], &[]).unwrap();
        job.sync().unwrap();
    } else {
        // In a barrier the handler would run too.
        job.word(outside.at(peer, 0), 1).unwrap();
        let mut room = Guarded::new(LONG);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            loop {
                job.scope(|scope| scope.wait(scope.start_pull(table.at(peer, 0), room.inside())?)).unwrap();
                job.progress();
            }
        }));
        assert!(caught.is_err(), "the handler's panic comes");
        room.inside().fill(7);
        job.fetch_add(job_word(job, &table), 0).unwrap();
        assert!(room.inside().iter().all(|byte| *byte == 7), "written after the panic");
        room.check_margins();
    }
    job.barrier().unwrap();
}

/// Areas are taken away again and again while peers transfer all of them: a transfer is done, or refused, and what the owner has back is
/// its own.
pub fn areas_are_revoked_in_the_middle_of_transfers(job: &Job) {
    const WORDS: usize = LONG / 8;
    let peer = other(job);
    let round_of = job.symmetric::<u64>(1).unwrap();
    for round in 1..=5u64 {
        let area = (job.rank() == 0).then(|| job.register(1, vec![0u64; WORDS]).unwrap());
        job.barrier().unwrap();
        if let Some(area) = area {
            job.wait(round_of.here(0), Until::AtLeast(round)).unwrap();
            let mut back = area.into_vec();
            back.fill(9);
            job.barrier().unwrap();
            assert!(back.iter().all(|word| *word == 9), "a vector that was given back was written");
            continue;
        }
        let opened = job.open_area::<u64>(peer, 1).unwrap();
        let (data, mut copies) = (vec![1; WORDS], [vec![0; WORDS], vec![0; WORDS]]);
        job.scope(|scope| {
            let [first, second] = &mut copies;
            let started = [
                scope.start_push(opened.at(0), &data)?,
                scope.start_pull(opened.at(0), first)?,
                scope.start_pull(opened.at(0), second)?,
            ];
            job.word(round_of.at(peer, 0), round)?;
            for transfer in started {
                let ended = scope.wait(transfer);
                assert!(matches!(ended, Ok(()) | Err(Error::AreaRevoked { id: 1, .. })), "{ended:?}");
            }
            Ok(())
        })
        .unwrap();
        job.barrier().unwrap();
        assert!(copies.iter().flatten().all(|word| *word < 2), "nothing of the vector that was given back");
    }
}

/// Ports are opened and dropped with scopes in odd orders, and the thread of the interface serves meanwhile.
pub fn ports_are_dropped_after_their_transfers(job: &Job) {
    let (table, peer) = (job.symmetric::<u8>(LONG).unwrap(), other(job));
    table.write(0, &bytes(job.rank(), LONG));
    let thread = job.start_ni_thread().unwrap();
    job.barrier().unwrap();
    for _ in 0..5 {
        let (port, spare) = (job.open().unwrap(), job.open().unwrap());
        let mut copies = [vec![0; LONG], vec![0; LONG]];
        let [first, second] = &mut copies;
        let caught = catch_unwind(AssertUnwindSafe(|| {
            port.scope(|scope| -> Result<()> {
                let pull = scope.start_pull(table.at(peer, 0), first)?;
                let _ = spare.scope(|scope| scope.start_pull(table.at(peer, 0), second))?;
                drop(spare);
                scope.wait(pull)?;
                panic_any("on purpose");
            })
        }));
        assert!(caught.is_err());
        drop(port);
        assert!(copies.iter().all(|copy| *copy == bytes(peer, LONG)));
    }
    job.barrier().unwrap();
    drop(thread);
}

/// A function of a reduction may not wait. It says that it waits for everything, and the program does not look at the error: what is under
/// way goes on all the same.
pub fn a_function_waits_for_all_transfers(job: &Job) {
    let (table, peer) = (job.symmetric::<u8>(LONG).unwrap(), other(job));
    table.write(0, &bytes(job.rank(), LONG));
    let world = job.world().unwrap();
    job.barrier().unwrap();
    let (mut room, ran) = (Guarded::new(LONG), Cell::new(false));
    job.scope(|scope| {
        let _ = scope.start_pull(table.at(peer, 0), room.inside())?;
        let waits = |total: &mut [u64], input: &[u64]| {
            let _ = scope.wait_all();
            ran.set(true);
            super::add(total, input);
        };
        world.allreduce(&mut [1], waits)
    })
    .unwrap();
    room.check_margins();
    assert!(room.inside() == bytes(peer, LONG));
    let mut runs = [ran.get() as u64];
    world.allreduce(&mut runs, hikyaku::collective::Sum).unwrap();
    assert!(runs[0] > 0);
}

/// More transfers at once than fit on their way, of one byte each: whoever waits does not try all of them again and again.
pub fn thousands_of_transfers_wait_for_room(job: &Job) {
    const MANY: usize = 5000;
    let (table, peer) = (job.symmetric::<u8>(MANY).unwrap(), other(job));
    table.write(0, &bytes(job.rank(), MANY));
    job.barrier().unwrap();
    let mut room = Guarded::new(MANY);
    job.scope(|scope| {
        for (index, byte) in room.inside().chunks_mut(1).enumerate() {
            let _ = scope.start_pull(table.at(peer, index), byte)?;
        }
        Ok(())
    })
    .unwrap();
    room.check_margins();
    assert!(room.inside() == bytes(peer, MANY));
    job.barrier().unwrap();
}

/// Parts are started and forgotten, or left by a panic: what was packed, and the marks, live as long as the network needs them, and nobody
/// writes to a buffer that was given up.
pub fn parts_that_were_started_are_forgotten(job: &Job) {
    let (table, peer) = (job.symmetric::<u8>(LONG).unwrap(), other(job));
    table.write(0, &bytes(job.rank(), LONG));
    job.barrier().unwrap();
    for panics in [false, true, false, true] {
        let mut rooms = [Guarded::new(LONG), Guarded::new(LONG)];
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let [first, second] = &mut rooms;
            job.scope(|scope| {
                let mut marked = Bitmap::new(LONG);
                (0..LONG).step_by(3).for_each(|at| marked.set(at));
                let every = Stride::new(2, 3, LONG / 3);
                Box::leak(Box::new(scope.start_pull_parts(table.at(peer, 0), first.inside(), &marked)?));
                let _ = scope.start_pull_parts(table.at(peer, 0), second.inside(), every)?;
                // The same bytes that are there.
                let data = bytes(peer, LONG);
                let _ = scope.start_push_parts(table.at(peer, 0), &data, &marked)?;
                let _ = scope.start_push_parts(table.at(peer, 0), &data, every)?;
                drop((marked, data));
                if panics {
                    panic_any("on purpose");
                }
                Ok(())
            })
        }));
        assert_eq!(caught.is_err(), panics);
        for room in &mut rooms {
            room.check_margins();
        }
        if !panics {
            let expected = bytes(peer, LONG);
            assert!(rooms[0].inside().iter().zip(&expected).step_by(3).all(|(got, sent)| got == sent));
            assert!(rooms[1].inside()[3..5] == expected[3..5]);
        }
        drop(rooms);
        let later = Guarded::new(2 * LONG);
        job.fetch_add(job_word(job, &table), 0).unwrap();
        later.check_untouched();
        table.write(0, &bytes(job.rank(), 8));
        job.barrier().unwrap();
        assert!(table.to_vec() == bytes(job.rank(), LONG));
        job.barrier().unwrap();
    }
}

/// Parts are under way when their area is taken away: each ends well or is refused, and nobody writes to the vector afterwards.
pub fn areas_are_revoked_in_the_middle_of_parts(job: &Job) {
    let peer = other(job);
    for round in 0..5u8 {
        let area = job.register(1, vec![0u8; LONG]).unwrap();
        job.barrier().unwrap();
        let remote = job.open_area::<u8>(peer, 1).unwrap();
        // Both have opened it before one of them takes it away.
        job.barrier().unwrap();
        let (data, mut into) = (vec![round + 1; LONG], vec![0; LONG]);
        let every = Stride::new(2, 3, LONG / 3);
        let mut taken = None;
        let outcome = job.scope(|scope| {
            let push = scope.start_push_parts(remote.at(0), &data, every);
            let pull = scope.start_pull_parts(remote.at(0), &mut into, every);
            taken = Some(area.into_vec());
            for transfer in [push, pull].into_iter().flatten() {
                let ended = scope.wait(transfer);
                assert!(matches!(ended, Ok(()) | Err(Error::AreaRevoked { .. })), "{ended:?}");
            }
            Ok(())
        });
        outcome.unwrap();
        let taken = taken.unwrap();
        let copy = taken.clone();
        job.barrier().unwrap();
        assert!(taken == copy, "written after it was taken away");
    }
}
