//! Areas that come and go: nobody writes after a revocation, and an old handle does not reach a new area.

use super::trouble::{Outcome, Trouble, promise};
use crate::chance::Chance;
use hikyaku::{Error, Job, Refusal, RemoteArea, Until};

const AREA: u32 = 1;
const NEXT: u32 = 2;
const LEN: usize = 64;
/// What the owner writes once nobody else may.
const OWN: u64 = 0xffff;

pub fn run(job: &Job, seed: u64) -> Outcome {
    let mut chance = Chance::new(seed, 4);
    let started = job.symmetric::<u64>(1)?;
    for round in 1..=1 + chance.below(3) as u64 {
        let (owner, in_place) = (chance.below(job.size()), chance.once_in(2));
        let patience = chance.below(6);
        let area = match job.rank() == owner {
            true if in_place => Some(job.register(AREA, vec![0u64; LEN])?),
            true => Some(job.area::<u64>(AREA, LEN)?),
            false => None,
        };
        job.barrier()?;
        let Some(area) = area else {
            let remote = job.open_area::<u64>(owner, AREA)?;
            job.push(remote.at(0), &[round; LEN])?;
            job.fetch_add(started.at(owner, 0), 1)?;
            push_until_revoked(job, &remote, owner, round)?;
            job.barrier()?;
            // The new area has the same id.
            refused(job, owner, job.push(remote.at(1), &[9]))?;
            job.barrier()?;
            continue;
        };
        job.wait(started.here(0), Until::AtLeast(job.size() as u64 - 1))?;
        for _ in 0..patience {
            job.progress();
        }
        // Whoever writes now writes where it may not: to the vector, or to what takes the area's place.
        let mut content = area.into_vec();
        promise!(content.iter().all(|word| [round, round + 1000].contains(word)), "revoked: {content:?} in the area");
        content.fill(OWN);
        let next = job.area::<u64>(NEXT, LEN)?;
        let again = job.area::<u64>(AREA, LEN)?;
        job.barrier()?;
        job.barrier()?;
        let kept = std::hint::black_box(&content).iter().all(|word| *word == OWN);
        promise!(kept, "revoked: a vector was written after the revocation");
        for area in [next, again] {
            promise!(area.to_vec() == [0; LEN], "revoked: something was written after the revocation");
        }
        started.set(0, 0);
    }
    job.barrier()?;
    Ok(job.free(started)?)
}

fn push_until_revoked(job: &Job, remote: &RemoteArea<u64>, owner: usize, round: u64) -> Outcome {
    for turn in 0.. {
        let ended = match turn % 3 {
            0 => job.push(remote.at(0), &[round; LEN]),
            1 => job.pull_one(remote.at(LEN - 1)).map(drop),
            _ => job.word(remote.at(turn % LEN), round + 1000),
        };
        match ended.and_then(|()| job.flush(owner)) {
            // The memory of one that was killed on this host is still there.
            Ok(()) if !job.is_present(owner)? => return Err(Error::PeerDead { rank: owner }.into()),
            Ok(()) => {}
            Err(Error::AreaRevoked { rank, id: AREA }) if rank == owner => break,
            Err(Error::Refused { rank, reason: Refusal::UnknownArea }) if rank == owner => break,
            Err(other) => return Err(other.into()),
        }
    }
    // What was refused besides is told once.
    match job.flush(owner) {
        Err(Error::Refused { rank, reason: Refusal::UnknownArea }) if rank == owner => Ok(()),
        other => Ok(other?),
    }
}

fn refused(job: &Job, owner: usize, pushed: hikyaku::Result<()>) -> Outcome {
    match pushed.and_then(|()| job.flush(owner)) {
        Err(Error::AreaRevoked { .. } | Error::Refused { reason: Refusal::UnknownArea, .. }) => Ok(()),
        Ok(()) => Err(Trouble::Broken("revoked: an old handle reached a new area".into())),
        Err(other) => Err(other.into()),
    }
}
