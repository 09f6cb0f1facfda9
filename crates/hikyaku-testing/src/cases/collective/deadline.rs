//! Barriers that are given up, and gone on with.

use hikyaku::collective::Sum;
use hikyaku::{Error, Job};
use std::time::Duration;

const SOON: Duration = Duration::from_micros(50);
const LONG: Duration = Duration::from_secs(600);

/// Nobody passes before all have come, however often one gives up; afterwards all are in step.
pub fn barriers(job: &Job) {
    let (rank, size) = (job.rank(), job.size());
    let count = job.symmetric::<u64>(1).unwrap();
    let world = job.new_world().unwrap();
    for turn in 0..12 {
        let last = turn % size;
        if rank == last && size > 1 {
            // The others give up meanwhile.
            let mut waiting = [0u8];
            let messages = world.messages(1).unwrap();
            (0..size).filter(|peer| *peer != rank).for_each(|peer| _ = messages.recv(&mut waiting, peer, 0).unwrap());
            job.fetch_add(count.at(0, 0), 1).unwrap();
            job.barrier_for(LONG).unwrap();
        } else if size > 1 {
            let messages = world.messages(1).unwrap();
            job.fetch_add(count.at(0, 0), 1).unwrap();
            for wait in [Duration::ZERO, SOON] {
                let late = job.barrier_for(wait);
                assert!(matches!(late, Err(Error::Timeout { .. })), "{late:?}");
            }
            messages.send(&[1u8], last, 0).unwrap();
            match turn % 3 {
                0 => while job.barrier_for(SOON).is_err() {},
                1 => job.barrier().unwrap(),
                // Another call of all ranks goes on with it first; so does that of the last one, in step.
                _ => {}
            }
        }
        let area = job.symmetric::<u64>(1).unwrap();
        let come = job.pull_one(count.at(0, 0)).unwrap();
        assert!(size == 1 || come == (turn as u64 + 1) * size as u64, "{come} in turn {turn}");
        job.free(area).unwrap();
        job.barrier_for(LONG).unwrap();
    }
    // Of a group: one that is started.
    world
        .scope(|scope| {
            let barrier = scope.ibarrier()?;
            if rank == 0 && size > 1 {
                while !scope.wait_for(&barrier, SOON)? {}
            }
            assert!(rank == 0 || scope.wait_for(&barrier, LONG)?);
            scope.wait(barrier)
        })
        .unwrap();
    let mut sum = [1u64];
    let reached = world.scope(|scope| {
        let call = scope.iallreduce(&mut sum, Sum)?;
        let reached = rank != 0 && size > 1 && scope.wait_for(&call, SOON)?;
        job.barrier()?;
        scope.wait(call)?;
        Ok(reached)
    });
    reached.unwrap();
    assert_eq!(sum, [size as u64]);
    job.barrier().unwrap();
}
