//! Misuse of copies between ranks.

use super::canary::Guarded;
use crate::support::bytes;
use hikyaku::{Error, Job};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};

const LONG: usize = 300_000;

/// Copies are started and never waited for; the areas they are about are revoked and their memory is used for something else: nobody
/// writes there any more.
pub fn areas_are_revoked_in_the_middle_of_copies(job: &Job) {
    let (size, me) = (job.size(), job.rank());
    let table = job.symmetric::<u8>(LONG).unwrap();
    table.write(0, &bytes(me, LONG));
    for _ in 0..5 {
        let area = job.register(1, vec![0u8; LONG]).unwrap();
        job.barrier().unwrap();
        let opened = job.open_area::<u8>((me + 2) % size, 1).unwrap();
        job.barrier().unwrap();
        let _ = job.copy(table.at((me + 1) % size, 0), opened.at(0), LONG);
        let memory = area.into_vec();
        let before = memory.clone();
        let later = Guarded::new(2 * LONG);
        let ended = job.sync();
        assert!(matches!(ended, Ok(()) | Err(Error::Refused { .. } | Error::AreaRevoked { .. })), "{ended:?}");
        job.barrier().unwrap();
        assert!(memory == before, "written after the revocation");
        later.check_untouched();
        job.barrier().unwrap();
    }
}

/// Ports are dropped with copies under way, by a panic too, and opened again: the next holder is told of nothing.
pub fn ports_end_in_the_middle_of_copies(job: &Job) {
    let (size, me) = (job.size(), job.rank());
    let (table, other) = (job.symmetric::<u8>(LONG).unwrap(), job.symmetric::<u8>(LONG).unwrap());
    table.write(0, &bytes(me, LONG));
    job.barrier().unwrap();
    for round in 0..5 {
        let port = job.open().unwrap();
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let port = port;
            for _ in 0..10 {
                port.copy(table.at((me + 1) % size, 0), other.at((me + 2) % size, 0), LONG).unwrap();
            }
            if round % 2 == 0 {
                panic_any("on purpose");
            }
        }));
        assert_eq!(caught.is_err(), round % 2 == 0);
        let next = job.open().unwrap();
        next.copy(table.at((me + 1) % size, 0), other.at((me + 2) % size, 0), LONG).unwrap();
        next.sync().unwrap();
        job.barrier().unwrap();
        assert!(other.to_vec() == bytes((me + size - 1) % size, LONG));
        job.barrier().unwrap();
    }
}

/// Two threads of the program's memory are one: copies of what somebody else writes meanwhile, onto what others write too.
pub fn copies_race_with_everything(job: &Job) {
    let (size, me) = (job.size(), job.rank());
    let table = job.symmetric::<u64>(LONG / 8).unwrap();
    let half = LONG / 16;
    job.barrier().unwrap();
    for round in 0..20u64 {
        let (one, two) = ((me + round as usize) % size, (me + 1) % size);
        job.copy(table.at(one, 0), table.at(two, half), half).unwrap();
        job.copy(table.at(two, half), table.at(one, 0), half).unwrap();
        job.push(table.at(two, half / 2), &vec![round + 1; half]).unwrap();
        table.write(0, &vec![round + 1; half]);
    }
    job.sync().unwrap();
    job.barrier().unwrap();
    // Words arrive whole, so all of them are those that somebody has written.
    assert!(table.to_vec().iter().all(|word| *word <= 20));
    job.barrier().unwrap();
}
