//! Partial transfers from rank 0 to rank 1, and the same by plain loops on the memory of one rank. Rates count the whole range,
//! whatever part of it travels.

use super::{Effort, Round};
use crate::bench::limit;
use crate::bench::plan::Kind;
use hikyaku::matching::Matching;
use hikyaku::{Bitmap, Job, Region, Result, Stride, Symmetric, Twin};
use std::cell::RefCell;

/// The range, in bytes.
pub const RANGE: usize = 16 << 20;
pub(super) const WORDS: usize = RANGE / 8;
/// One in so many is changed.
pub(super) const CHANGED: usize = 100;
const ROUNDS: usize = 4;

pub struct Parts<'a> {
    pub(super) job: &'a Job,
    pub(super) area: Symmetric<u64>,
    /// What is copied between ranks.
    pub(super) from: Symmetric<u64>,
    pub(super) marks: Bitmap,
    region: Region<'a, u64>,
    pub(super) matching: Matching<'a>,
    buffers: RefCell<Buffers>,
}

/// What rank 0 works on.
pub(super) struct Buffers {
    pub own: Vec<u64>,
    /// Where plain loops write.
    pub into: Vec<u64>,
    pub twin: Twin<u64>,
}

impl<'a> Parts<'a> {
    pub fn new(job: &'a Job, _: Effort) -> Result<Parts<'a>> {
        let area = job.symmetric(WORDS)?;
        let mut marks = Bitmap::new(WORDS);
        // Half of them, as a coin would have it.
        (0..WORDS).filter(|word| limit::pattern(*word) >> 40 & 1 == 1).for_each(|word| marks.set(word));
        let own = limit::large_vector(WORDS);
        let from = job.symmetric(WORDS)?;
        from.write(0, &own);
        let twin = Twin::of(&own);
        let (region, matching) = (job.region(1, WORDS)?, job.matching()?);
        let buffers = RefCell::new(Buffers { own, into: vec![0; WORDS], twin });
        Ok(Parts { job, area, from, marks, region, matching, buffers })
    }

    /// One repetition of everything.
    pub fn measure(&self, round: &mut Round<'_>) -> Result<()> {
        let (job, area) = (self.job, &self.area);
        let buffers = &mut *self.buffers.borrow_mut();
        self.pulls(round, buffers)?;
        self.messages(round, buffers)?;
        self.multicasts(round, buffers)?;
        let Buffers { own, into, twin } = buffers;
        let second = Stride::new(1, 2, WORDS / 2);
        self.clear()?;
        round.note(Kind::LimitStride, RANGE, self.rate(|| copy_second(own, into))?);
        round.note(
            Kind::PushStride,
            RANGE,
            self.rate(|| job.push_stride(area.at(1, 0), own, second).and_then(|()| job.flush(1)))?,
        );
        self.check(own, |word| word % 2 == 0)?;
        round.note(Kind::LimitMarked, RANGE, self.rate(|| copy_marked(own, into, self.marks.words()))?);
        round.note(
            Kind::PushMarked,
            RANGE,
            self.rate(|| job.push_bitmap(area.at(1, 0), own, &self.marks).and_then(|()| job.flush(1)))?,
        );
        self.check(own, |word| self.marks.get(word))?;
        round.note(Kind::PushWhole, RANGE, self.rate(|| job.push(area.at(1, 0), own).and_then(|()| job.flush(1)))?);
        let half = &own[..WORDS / 2];
        round.note(Kind::PushPayload, RANGE, self.rate(|| job.push(area.at(1, 0), half).and_then(|()| job.flush(1)))?);
        round.note(
            Kind::CopyBetween,
            RANGE,
            self.rate(|| job.copy(self.from.at(0, 0), area.at(1, 0), WORDS).and_then(|()| job.flush(1)))?,
        );
        let pushes = self.rate(|| {
            (0..2).try_for_each(|rank| job.push(area.at(rank, 0), own))?;
            job.flush(1)
        })?;
        round.note(Kind::LimitPushes, RANGE, pushes);
        let both = job.recipients(&[0, 1])?;
        let multicast = self.rate(|| job.multicast(&both, area, 0, own).and_then(|()| job.flush(1)))?;
        round.note(Kind::Multicast, RANGE, multicast);
        into.copy_from_slice(own);
        round.note(Kind::LimitCompare, RANGE, self.rate(|| compare(own, into))?);
        round.note(Kind::DiffScan, RANGE, self.rate(|| job.push_diff(area.at(1, 0), own, twin).map(drop))?);
        let mut turn = 0;
        let changes = self.rate(|| {
            turn += 1;
            own.iter_mut().skip(turn).step_by(CHANGED).for_each(|word| *word ^= 1 << 50);
            let pushed = job.push_diff(area.at(1, 0), own, twin)?;
            assert!(pushed.abs_diff(WORDS / CHANGED) < 2, "what was changed");
            job.flush(1)
        })?;
        round.note(Kind::PushDiff, RANGE, changes);
        let shared = self.region.subscribe()?;
        job.barrier()?;
        let mut region_twin = shared.read_twin(into)?;
        let mut turn = 0;
        let changes = self.rate(|| {
            turn += 1;
            into.iter_mut().skip(turn).step_by(CHANGED).for_each(|word| *word ^= 1 << 50);
            let written = shared.write_diff(into, &mut region_twin)?;
            assert!(written.abs_diff(WORDS / CHANGED) < 2, "what was changed");
            Ok(())
        })?;
        round.note(Kind::RegionDiff, RANGE, changes);
        own.iter_mut().enumerate().for_each(|(word, value)| *value = limit::pattern(word));
        *twin = Twin::of(own);
        Ok(())
    }

    /// GB/s of what rank 0 does some times.
    pub(super) fn rate(&self, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
        self.rate_of_both(|| if self.job.rank() == 0 { work() } else { Ok(()) })
    }

    /// GB/s of what both ranks do some times.
    pub(super) fn rate_of_both(&self, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
        let job = self.job;
        job.barrier()?;
        let begin = job.now();
        (0..ROUNDS).try_for_each(|_| work())?;
        let time = (job.now() - begin).as_secs_f64();
        job.barrier()?;
        Ok((RANGE * ROUNDS) as f64 / time / 1e9)
    }

    /// Rank 1 has these words, and no others. Afterwards it has none.
    fn check(&self, own: &[u64], travels: impl Fn(usize) -> bool) -> Result<()> {
        if self.job.rank() == 1 {
            let got = self.area.to_vec();
            let right = |(word, got): (usize, &u64)| *got == if travels(word) { own[word] } else { 0 };
            assert!(got.iter().enumerate().all(right), "words were damaged");
        }
        self.clear()
    }

    /// Rank 1 has nothing.
    fn clear(&self) -> Result<()> {
        if self.job.rank() == 1 {
            self.area.write(0, &vec![0; WORDS]);
        }
        self.job.barrier()
    }
}

/// What a program would write: every second word.
#[inline(never)]
fn copy_second(own: &[u64], into: &mut [u64]) -> Result<()> {
    for (into, own) in into.chunks_exact_mut(2).zip(own.chunks_exact(2)) {
        into[0] = own[0];
    }
    Ok(())
}

/// What a program would write: the words whose bits are set.
#[inline(never)]
fn copy_marked(own: &[u64], into: &mut [u64], marks: &[u64]) -> Result<()> {
    for (block, marks) in marks.iter().enumerate() {
        let mut left = *marks;
        while left != 0 {
            let word = block * 64 + left.trailing_zeros() as usize;
            into[word] = own[word];
            left &= left - 1;
        }
    }
    Ok(())
}

/// The C library's memcmp.
#[inline(never)]
fn compare(own: &[u64], other: &[u64]) -> Result<()> {
    assert!(std::hint::black_box(own == other), "both are alike");
    Ok(())
}
