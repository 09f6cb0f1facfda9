//! Parts of a range, and copies, between two hosts: rates count what travels.

use super::Round;
use super::pair::{LONG, LONG_ROUND_TRIPS};
use crate::bench::limit;
use crate::bench::plan::Kind;
use hikyaku::{Job, Result, Stride, Symmetric, Twin};

const WORDS: usize = LONG / 8;

pub struct Parts {
    area: Symmetric<u64>,
    /// What is copied.
    from: Symmetric<u64>,
    own: Vec<u64>,
    twin: Twin<u64>,
}

impl Parts {
    pub fn new(job: &Job) -> Result<Parts> {
        let own = limit::large_vector(2 * WORDS);
        let (area, from) = (job.symmetric(2 * WORDS)?, job.symmetric(WORDS)?);
        from.write(0, &own[..WORDS]);
        let twin = Twin::of(&own);
        Ok(Parts { area, from, own, twin })
    }

    /// One repetition of everything.
    pub fn measure(&mut self, job: &Job, round: &mut Round<'_>) -> Result<()> {
        let Parts { area, from, own, twin } = self;
        let second = Stride::new(1, 2, WORDS);
        let whole = rate(job, || job.push(area.at(1, 0), &own[..WORDS]).and_then(|()| job.flush(1)))?;
        round.note(Kind::HostsPushWhole, LONG, whole);
        let stride = rate(job, || job.push_stride(area.at(1, 0), own, second).and_then(|()| job.flush(1)))?;
        round.note(Kind::HostsPushStride, LONG, stride);
        let diff = rate(job, || {
            own.iter_mut().step_by(2).for_each(|word| *word = !*word);
            assert_eq!(job.push_diff(area.at(1, 0), own, twin)?, WORDS, "what was changed");
            job.flush(1)
        })?;
        round.note(Kind::HostsPushDiff, LONG, diff);
        if job.rank() == 1 {
            let got = area.to_vec();
            // Every second word was changed an even number of times.
            assert!((0..WORDS).all(|word| got[2 * word] == limit::pattern(2 * word)), "words were damaged");
        }
        let copied = rate(job, || job.copy(from.at(1, 0), area.at(0, 0), WORDS).and_then(|()| job.sync()))?;
        round.note(Kind::HostsCopy, LONG, copied);
        let is_there = |word: usize| area.get(word) == limit::pattern(word);
        assert!(job.rank() == 1 || (0..WORDS).all(is_there), "words were damaged");
        job.barrier()
    }
}

/// GB/s of what rank 0 does an even number of times.
fn rate(job: &Job, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let rounds = LONG_ROUND_TRIPS;
    job.barrier()?;
    let begin = job.now();
    if job.rank() == 0 {
        (0..rounds).try_for_each(|_| work())?;
    }
    let time = (job.now() - begin).as_secs_f64();
    job.barrier()?;
    Ok((LONG as u64 * rounds) as f64 / time / 1e9)
}
