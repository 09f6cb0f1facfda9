//! Loops of what is built on remote memory: locks, barriers, regions, queues, exchanges, tasks. What they need they make themselves, so
//! ranks die while that goes on, too.

use super::{Endless, Ready, content, mortal, now_ns};
use crate::mail::Mail;
use hikyaku::matching::Keys;
use hikyaku::task::when;
use hikyaku::{By, Error, Job, Result, Until};

pub const LOOPS: &[(&str, Endless)] = &[
    ("lock, a holder", |job, ready| lock(job, ready, 0)),
    ("lock, the manager", |job, ready| lock(job, ready, mortal(job))),
    ("counted barrier", |job, _| counted_barrier(job, 0)),
    ("counted barrier, the manager", |job, _| counted_barrier(job, mortal(job))),
    ("region, a sharer that writes", |job, ready| region(job, ready, 0)),
    ("region, the home", |job, ready| region(job, ready, mortal(job))),
    ("queue, a producer", |job, ready| queue(job, ready, 0)),
    ("queue, the owner", |job, ready| queue(job, ready, mortal(job))),
    ("exchange", |job, _| mail(job, &job.exchange()?)),
    ("packets", |job, _| mail(job, &job.packets()?)),
    ("tasks", tasks),
];

/// Fails when the rank that dies is dead, without waiting for it: for loops that need not notice.
pub(super) fn look(job: &Job, ready: &Ready<'_>) -> Result<()> {
    ready.matching.try_probe(mortal(job), Keys::ANY).map(drop)
}

/// It ends for all when its manager is dead; after an owner the others go on.
fn lock(job: &Job, ready: &Ready<'_>, manager: usize) -> Result<()> {
    let (counter, mutex) = (job.symmetric::<u64>(1)?, job.mutex(manager)?);
    loop {
        let guard = mutex.lock()?;
        // Nobody else is here.
        let count = job.pull_one(counter.at(0, 0))?;
        job.push(counter.at(0, 0), &[count + 1])?;
        guard.unlock()?;
        if manager != mortal(job) {
            look(job, ready)?;
        }
    }
}

/// Fault 2: it dies as the owner, while all others ask for the lock. They say who was told.
pub fn hold(job: &Job) -> Result<()> {
    let (flag, mutex) = (job.symmetric::<u64>(1)?, job.mutex(0)?);
    job.barrier()?;
    if job.rank() == mortal(job) {
        let _guard = mutex.lock()?;
        (0..mortal(job)).try_for_each(|rank| job.word(flag.at(rank, 0), 1))?;
        job.sync()?;
        // Until the others wait.
        std::thread::sleep(std::time::Duration::from_millis(50));
        println!("died {}", now_ns());
        crate::os::kill_self();
    }
    job.wait_from(By::Rank(mortal(job)), flag.here(0), Until::Equal(1))?;
    for _ in 0..3 {
        let guard = mutex.lock()?;
        if guard.owner_died() {
            println!("learned {}", now_ns());
        }
        guard.unlock()?;
    }
    Err(Error::PeerDead { rank: mortal(job) })
}

fn counted_barrier(job: &Job, manager: usize) -> Result<()> {
    let barrier = job.counting_barrier(manager)?;
    loop {
        barrier.post()?;
        barrier.wait()?;
    }
}

/// Every rank writes elements of its own. Without the home nobody writes, but all keep their copies; without a sharer all go on.
fn region(job: &Job, ready: &Ready<'_>, home: usize) -> Result<()> {
    const LEN: usize = 100;
    let region = job.region::<u64>(home, LEN * job.size())?;
    let shared = region.subscribe()?;
    let own = job.rank() * LEN;
    let mut written = 0;
    let ended = (1..).try_for_each(|round| {
        shared.write(own, &[round; LEN])?;
        written = round;
        assert_eq!(shared.get(own + LEN - 1)?, round);
        if home == mortal(job) { Ok(()) } else { look(job, ready) }
    });
    if home == mortal(job) {
        let kept = shared.get(own)?;
        assert!(kept == written || kept == written + 1, "{kept} after {written}");
    } else {
        shared.write(own, &[u64::MAX; LEN])?;
        assert_eq!(shared.get(own)?, u64::MAX);
    }
    ended
}

/// All others push to its owner, numbers that go up. The one that dies waits for room; the others look after it.
fn queue(job: &Job, ready: &Ready<'_>, owner: usize) -> Result<()> {
    let mut queue = job.queue::<u64>(owner, 16)?;
    let (dies, mut next) = (job.rank() == mortal(job), vec![0; job.size()]);
    loop {
        if job.rank() == owner {
            while let Some(item) = queue.try_pop()? {
                assert_eq!(item.get(), next[item.rank()], "of rank {}", item.rank());
                next[item.rank()] += 1;
            }
        } else if dies || owner == mortal(job) {
            queue.push(next[owner])?;
            next[owner] += 1;
        } else if queue.try_push(next[owner])? {
            next[owner] += 1;
        }
        if owner != mortal(job) && !dies {
            look(job, ready)?;
        }
    }
}

/// Messages of every length with the one that dies; the lower rank sends first.
fn mail(job: &Job, mail: &impl Mail) -> Result<()> {
    let mut got = vec![0; 100_000];
    for round in 0.. {
        let bytes = [8, 300, 8, 5000, 100_000][round % 5];
        let peers = if job.rank() == mortal(job) { 0..mortal(job) } else { mortal(job)..job.size() };
        for peer in peers {
            let mine = content(job.rank(), round, bytes);
            if job.rank() < peer {
                mail.send(&mine, peer, 3)?;
            }
            assert_eq!(mail.recv(&mut got, peer, 3)?.len, bytes);
            super::check(&got[..bytes], peer, round);
            if job.rank() > peer {
                mail.send(&mine, peer, 3)?;
            }
        }
    }
    Ok(())
}

/// Each task waits for a flag of the one that dies, and answers it.
fn tasks(job: &Job, _: &Ready<'_>) -> Result<()> {
    let flags = job.symmetric::<u64>(job.size())?;
    let (me, last, flags) = (job.rank(), mortal(job), &flags);
    for round in 1.. {
        if me == last {
            for rank in 0..last {
                job.word(flags.at(rank, last), round)?;
                job.wait_from(By::Rank(rank), flags.here(rank), Until::AtLeast(round))?;
            }
            continue;
        }
        job.tasks(2, |tasks| {
            let come = when(flags.here(last), Until::AtLeast(round)).by(last);
            tasks.task((come,), move |port, _| port.word(flags.at(last, me), round))
        })?;
    }
    Ok(())
}
