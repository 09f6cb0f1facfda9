//! Endpoints: each has messages and groups of its own. A simulated rank has one thread, on which they run one after the other. Their
//! memory stays until the job ends.

use super::trouble::{Outcome, promise};
use crate::chance::Chance;
use hikyaku::Job;
use hikyaku::collective::{Sum, Worker};

const SLOTS: usize = 2;

pub fn run(job: &Job, seed: u64) -> Outcome {
    let count = 1 + Chance::new(seed, 14).below(3);
    for (number, endpoint) in job.endpoints(count, SLOTS)?.into_iter().enumerate() {
        endpoint.run(|worker| work(worker, Chance::new(seed, 6000 + number as u64)))?;
    }
    Ok(job.barrier()?)
}

/// Messages around the ring and sums, in an order that all workers of a number draw alike.
fn work(worker: &Worker<'_>, mut chance: Chance) -> Outcome {
    let (me, size) = (worker.rank(), worker.size());
    let (next, before) = ((me + 1) % size, (me + size - 1) % size);
    for _ in 0..1 + chance.below(6) {
        let (len, slot, stamp) = (chance.pick(&[0, 1, 30, 3000]), chance.below(SLOTS), chance.number() >> 8);
        let content = |rank: usize| vec![stamp + rank as u64; len];
        if chance.once_in(2) {
            let mut got = vec![0; len];
            worker.messages().sendrecv(&content(me), next, slot, &mut got, before, slot)?;
            promise!(got == content(before), "workers: {len} words of rank {before} have arrived as others");
        } else {
            let mut total = content(me);
            worker.world()?.allreduce(&mut total, Sum)?;
            let sum = (0..size).map(|rank| stamp + rank as u64).sum::<u64>();
            promise!(total == vec![sum; len], "workers: a sum of {len} words is wrong");
        }
    }
    Ok(())
}
