//! Shared regions: ranks subscribe, write and unsubscribe in no order. Who subscribes sees all that was written before, and in the end
//! all copies are the same.

use super::trouble::{Outcome, promise};
use crate::chance::Chance;
use hikyaku::{Bitmap, Job};

pub fn run(job: &Job, seed: u64) -> Outcome {
    let (me, size) = (job.rank(), job.size());
    let mut chance = Chance::new(seed, 3);
    let (home, part) = (chance.below(size), chance.pick(&[1, 7, 100, 3000]));
    let region = job.region::<u64>(home, size * part)?;
    // Each rank writes to a part of its own.
    let (mut own, mut shared) = (vec![0; part], None);
    let mut chance = Chance::new(seed, 5000 + me as u64);
    for round in 1..=3 + chance.below(4) as u64 {
        if chance.below(3) == 0 {
            drop(shared.take());
        }
        for _ in 0..chance.below(4) {
            job.progress();
        }
        let sharing = match shared.take() {
            Some(sharing) => sharing,
            None => region.subscribe()?,
        };
        let mut mine = vec![0; region.len()];
        let mut twin = sharing.read_twin(&mut mine)?;
        promise!(mine[me * part..][..part] == own, "a region lacks what rank {me} has written, in round {round}");
        let mut marked = Bitmap::new(region.len());
        for (index, element) in own.iter_mut().enumerate().filter(|_| chance.below(3) == 0) {
            *element = round << 32 | index as u64;
            marked.set(me * part + index);
        }
        mine[me * part..][..part].copy_from_slice(&own);
        match chance.below(3) {
            0 => drop(sharing.write_diff(&mine, &mut twin)?),
            1 => sharing.write_bitmap(&mine, &marked)?,
            _ => sharing.write(me * part, &own)?,
        }
        sharing.refresh(&mut mine, &mut twin)?;
        promise!(mine[me * part..][..part] == own, "rank {me} does not see what it has written, in round {round}");
        shared = Some(sharing);
    }
    let written = job.symmetric::<u64>(size * part)?;
    job.multicast(&job.recipients(&(0..size).collect::<Vec<_>>())?, &written, me * part, &own)?;
    job.barrier()?;
    let seen = shared.as_ref().map(|shared| shared.to_vec()).transpose()?;
    promise!(seen.as_ref() == Some(&written.to_vec()), "copies of a region differ: {seen:?}");
    job.barrier()?;
    drop(shared);
    region.free()?;
    Ok(job.free(written)?)
}
