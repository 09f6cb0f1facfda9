//! Locks: no two ranks are inside at once, requests are granted in the order in which they came to the home of the lock, and each is
//! granted in the end.
//!
//! Three kinds, of which each run has one. Two are built of remote atomic operations here: a queue (Mellor-Crummey and Scott), whose
//! members hand over to the next by a remote write, and tickets. The third is the library's.

use super::trouble::{Outcome, Trouble, promise};
use crate::chance::Chance;
use hikyaku::{Atomic, By, Error, Job, Mutex, Symmetric, Until};
use std::time::Duration;

/// Words at the home: the last request or the next ticket, the ticket that is served, who is inside, how many were.
const TAIL: usize = 0;
const SERVED: usize = 1;
const INSIDE: usize = 2;
const COUNT: usize = 3;
const LOG: usize = 4;
/// Words of a rank: the request behind its own, whether it was granted, and one that stays 0.
const NEXT: usize = 0;
const GRANTED: usize = 1;
const NEVER: usize = 2;

const REQUESTS_MAX: usize = 4;
/// How long somebody with a ticket waits before it looks again.
const PATIENCE: Duration = Duration::from_micros(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Queue,
    Tickets,
    Library,
}

/// What was granted: a request, and what its home told about those before it: its predecessor in the queue, 0 if there was
/// none; or the ticket.
type Grant = (u64, u64);

struct Lock<'j> {
    job: &'j Job,
    kind: Kind,
    home: usize,
    shared: Symmetric<u64>,
    own: Symmetric<u64>,
}

pub fn run(job: &Job, seed: u64) -> Outcome {
    let mut chance = Chance::new(seed, 9);
    let (kind, home) = (chance.pick(&[Kind::Queue, Kind::Tickets, Kind::Library]), chance.below(job.size()));
    let requests = requests(seed, job.size());
    let shared = job.symmetric(LOG + 2 * requests.len())?;
    let lock = Lock { job, kind, home, shared, own: job.symmetric(3)? };
    // Its words may be with another rank than those of what it protects.
    let mutex = (kind == Kind::Library).then(|| job.mutex(chance.below(job.size()))).transpose()?;
    let mut chance = Chance::new(seed, 8000 + job.rank() as u64);
    for request in requests.iter().filter(|request| lock.rank_of(**request) == job.rank()) {
        for _ in 0..chance.below(4) {
            job.progress();
        }
        if let Some(mutex) = &mutex {
            lock.be_inside_by(mutex, *request, &mut chance)?;
            continue;
        }
        let told = lock.acquire(*request)?;
        lock.be_inside((*request, told), chance.below(4), false)?;
        lock.release(*request)?;
    }
    job.sync()?;
    job.barrier()?;
    if job.rank() == home {
        let words = lock.shared.to_vec();
        let log = words[LOG..].chunks(2).map(|grant| (grant[0], grant[1])).take(words[COUNT] as usize);
        judge(kind, &requests, &log.collect::<Vec<_>>()).map_err(Trouble::Broken)?;
    }
    mutex.map_or(Ok(()), Mutex::free)?;
    let Lock { shared, own, .. } = lock;
    job.free(shared)?;
    Ok(job.free(own)?)
}

/// All requests of all ranks, as numbers that are not 0.
fn requests(seed: u64, size: usize) -> Vec<u64> {
    let of_rank = |rank: usize| {
        let count = Chance::new(seed, 7000 + rank as u64).below(REQUESTS_MAX + 1);
        (0..count).map(move |number| (number * size + rank + 1) as u64)
    };
    (0..size).flat_map(of_rank).collect()
}

/// Whether each request was granted once, and in the order in which they came.
fn judge(kind: Kind, requests: &[u64], log: &[Grant]) -> Result<(), String> {
    let (mut asked, mut granted) = (requests.to_vec(), log.iter().map(|grant| grant.0).collect::<Vec<_>>());
    asked.sort_unstable();
    granted.sort_unstable();
    if asked != granted {
        return Err(format!("locks: {granted:?} were granted, and {asked:?} were asked for"));
    }
    for (place, (request, told)) in log.iter().enumerate() {
        let before = if place > 0 { log[place - 1].0 } else { 0 };
        let fair = match kind {
            // With nobody before it in the queue it found the lock free.
            Kind::Queue => *told == 0 || *told == before,
            Kind::Tickets => *told == place as u64,
            // It keeps to itself who came when.
            Kind::Library => true,
        };
        if !fair {
            return Err(format!("locks: request {request} was granted out of turn ({kind:?}: {log:?})"));
        }
    }
    Ok(())
}

impl Lock<'_> {
    fn rank_of(&self, request: u64) -> usize {
        (request as usize - 1) % self.job.size()
    }

    /// Waits for the lock; gives what the home told.
    fn acquire(&self, request: u64) -> Outcome<u64> {
        match self.kind {
            Kind::Queue => self.queue_up(request),
            Kind::Tickets => self.wait_for_turn(),
            Kind::Library => unreachable!("it has guards"),
        }
    }

    /// Gets the library's lock in one of its ways, however often that takes.
    fn be_inside_by(&self, mutex: &Mutex<'_>, request: u64, chance: &mut Chance) -> Outcome {
        loop {
            let guard = match chance.below(4) {
                0 => match mutex.try_lock()? {
                    Some(guard) => guard,
                    None => continue,
                },
                1 => match mutex.lock_for(PATIENCE * chance.below(4) as u32) {
                    Err(Error::Timeout { .. }) => continue,
                    other => other?,
                },
                _ => mutex.lock()?,
            };
            if let Err(trouble) = self.be_inside((request, 0), chance.below(4), guard.owner_died()) {
                // It leaves its name behind, so it leaves with the lock, and the next one is told.
                std::mem::forget(guard);
                return Err(trouble);
            }
            return Ok(guard.unlock()?);
        }
    }

    fn queue_up(&self, request: u64) -> Outcome<u64> {
        self.own.set(NEXT, 0);
        self.own.set(GRANTED, 0);
        let before = self.job.atomic(self.shared.at(self.home, TAIL), Atomic::Swap(request))?;
        if before != 0 {
            self.job.word(self.own.at(self.rank_of(before), NEXT), request)?;
            self.job.wait(self.own.here(GRANTED), Until::Equal(1))?;
        }
        Ok(before)
    }

    fn wait_for_turn(&self) -> Outcome<u64> {
        let ticket = self.job.fetch_add(self.shared.at(self.home, TAIL), 1)?;
        while self.job.pull_one(self.shared.at(self.home, SERVED))? != ticket {
            // Who waits finds out if somebody dies, who may be the one inside.
            match self.job.wait_for(By::Anyone, self.own.here(NEVER), Until::Equal(1), Some(PATIENCE)) {
                Err(Error::Timeout { .. }) => {}
                other => drop(other?),
            }
        }
        Ok(ticket)
    }

    /// What everybody does inside, which goes wrong if there are two. One that died there may have left its name.
    fn be_inside(&self, (request, told): Grant, patience: usize, died: bool) -> Outcome {
        let at = |index| self.shared.at(self.home, index);
        let other = self.job.atomic(at(INSIDE), Atomic::Swap(request))?;
        promise!(other == 0 || died, "locks: {other} was inside when {request} came ({:?})", self.kind);
        let count = self.job.pull_one(at(COUNT))?;
        for _ in 0..patience {
            self.job.progress();
        }
        let place = LOG + 2 * count as usize;
        promise!(place + 2 <= self.shared.len(), "locks: more grants than requests");
        self.job.push(at(place), &[request, told])?;
        self.job.word(at(COUNT), count + 1)?;
        // What was done inside is done when the next one comes.
        self.job.sync()?;
        let mine = self.job.atomic(at(INSIDE), Atomic::Swap(0))?;
        promise!(mine == request, "locks: {mine} was inside together with {request} ({:?})", self.kind);
        Ok(())
    }

    fn release(&self, request: u64) -> Outcome {
        if self.kind == Kind::Tickets {
            self.job.fetch_add(self.shared.at(self.home, SERVED), 1)?;
            return Ok(());
        }
        if self.own.get(NEXT) == 0 {
            let alone = Atomic::CompareSwap { old: request, new: 0 };
            if self.job.atomic(self.shared.at(self.home, TAIL), alone)? == request {
                return Ok(());
            }
            self.job.wait(self.own.here(NEXT), Until::AtLeast(1))?;
        }
        Ok(self.job.word(self.own.at(self.rank_of(self.own.get(NEXT)), GRANTED), 1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unfair_or_missing_is_noticed() {
        let requests = [1, 2, 3];
        assert_eq!(judge(Kind::Queue, &requests, &[(2, 0), (1, 2), (3, 0)]), Ok(()));
        assert_eq!(judge(Kind::Tickets, &requests, &[(2, 0), (1, 1), (3, 2)]), Ok(()));
        let broken = |kind, log: &[Grant], what: &str| {
            assert!(judge(kind, &requests, log).unwrap_err().contains(what), "{log:?}");
        };
        broken(Kind::Queue, &[(2, 0), (3, 0), (1, 2)], "out of turn");
        broken(Kind::Tickets, &[(2, 1), (1, 0), (3, 2)], "out of turn");
        broken(Kind::Queue, &[(2, 0), (1, 2)], "were asked for");
        broken(Kind::Queue, &[(2, 0), (1, 2), (1, 0)], "were asked for");
    }
}
