//! The forms of partial transfers beside pushes: pulls, messages, multicasts. What arrives is checked.

use super::Round;
use super::partial::{Buffers, CHANGED, Parts, RANGE, WORDS};
use crate::bench::limit;
use crate::bench::plan::Kind;
use hikyaku::{Result, Stride, Twin};

fn every_second() -> Stride {
    Stride::new(1, 2, WORDS / 2)
}

impl Parts<'_> {
    /// From the memory of rank 1.
    pub(super) fn pulls(&self, round: &mut Round<'_>, buffers: &mut Buffers) -> Result<()> {
        let (job, into, there) = (self.job, &mut buffers.into, self.from.at(1, 0));
        into.fill(0);
        round.note(Kind::PullWhole, RANGE, self.rate(|| job.pull(there, into))?);
        self.check_pulled(into, |_| true);
        round.note(Kind::PullStride, RANGE, self.rate(|| job.pull_stride(there, into, every_second()))?);
        self.check_pulled(into, |word| word % 2 == 0);
        round.note(Kind::PullMarked, RANGE, self.rate(|| job.pull_bitmap(there, into, &self.marks))?);
        self.check_pulled(into, |word| self.marks.get(word));
        let mut copy = vec![0; WORDS];
        let bare = self.rate(|| {
            job.pull(there, into)?;
            copy.copy_from_slice(into);
            Ok(())
        })?;
        round.note(Kind::LimitTwin, RANGE, bare);
        round.note(Kind::PullTwin, RANGE, self.rate(|| job.pull_twin(there, into).map(drop))?);
        into.fill(0);
        Ok(())
    }

    /// Rank 0 has pulled these words, and no others. Afterwards it has none.
    fn check_pulled(&self, into: &mut [u64], travels: impl Fn(usize) -> bool) {
        check(into, |word| travels(word) && self.job.rank() == 0);
        into.fill(0);
    }

    /// From rank 0 to rank 1, one at a time, each with its answer: the next message has to wait for nobody.
    pub(super) fn messages(&self, round: &mut Round<'_>, buffers: &mut Buffers) -> Result<()> {
        let (matching, is_sender) = (&self.matching, self.job.rank() == 0);
        let Buffers { own, into, .. } = buffers;
        into.fill(0);
        let whole = self.answered(|| match is_sender {
            true => matching.send(own, 1, 0),
            false => matching.recv(into, 0, 0).map(drop),
        })?;
        round.note(Kind::SendWhole, RANGE, whole);
        self.check_received(into, |_| true);
        let stride = self.answered(|| match is_sender {
            true => matching.send_stride(own, every_second(), 1, 0),
            false => matching.recv_stride(into, every_second(), 0, 0).map(drop),
        })?;
        round.note(Kind::SendStride, RANGE, stride);
        self.check_received(into, |word| word % 2 == 0);
        let marked = self.answered(|| match is_sender {
            true => matching.send_bitmap(own, &self.marks, 1, 0),
            false => matching.recv_bitmap(into, &self.marks, 0, 0).map(drop),
        })?;
        round.note(Kind::SendMarked, RANGE, marked);
        self.check_received(into, |word| self.marks.get(word));
        let (mut changed, mut twin, mut turn) = (own.clone(), Twin::of(own), 0);
        into.copy_from_slice(own);
        let diff = self.answered(|| {
            turn += 1;
            if is_sender {
                changed.iter_mut().skip(turn).step_by(CHANGED).for_each(|word| *word ^= 1 << 50);
                let sent = matching.send_diff(&changed, &mut twin, 1, 0)?;
                assert!(sent.abs_diff(WORDS / CHANGED) < 2, "what was changed");
                return Ok(());
            }
            matching.recv_diff(into, 0, 0).map(drop)
        })?;
        round.note(Kind::SendDiff, RANGE, diff);
        let is_changed = |word: usize| (1..=turn).any(|first| word >= first && (word - first).is_multiple_of(CHANGED));
        let expected = |word: usize| own[word] ^ if is_changed(word) { 1 << 50 } else { 0 };
        assert!(is_sender || into.iter().enumerate().all(|(word, got)| *got == expected(word)), "words were damaged");
        into.fill(0);
        Ok(())
    }

    fn answered(&self, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
        let (matching, peer) = (&self.matching, 1 - self.job.rank());
        self.rate_of_both(|| {
            work()?;
            match peer {
                1 => matching.recv(&mut [0u64], peer, 1).map(drop),
                _ => matching.send(&[0u64], peer, 1),
            }
        })
    }

    /// Rank 1 has received these words, and no others. Afterwards it has none.
    fn check_received(&self, into: &mut [u64], travels: impl Fn(usize) -> bool) {
        check(into, |word| travels(word) && self.job.rank() == 1);
        into.fill(0);
    }

    /// From rank 0 to both.
    pub(super) fn multicasts(&self, round: &mut Round<'_>, buffers: &mut Buffers) -> Result<()> {
        let (job, area, marks, own) = (self.job, &self.area, &self.marks, &mut buffers.own);
        let both = job.recipients(&[0, 1])?;
        self.clear_both()?;
        let pushes = self.rate(|| {
            (0..2).try_for_each(|rank| job.push_stride(area.at(rank, 0), own, every_second()))?;
            job.flush(1)
        })?;
        round.note(Kind::LimitPushesStride, RANGE, pushes);
        self.clear_both()?;
        let stride =
            self.rate(|| job.multicast_stride(&both, area, 0, own, every_second()).and_then(|()| job.flush(1)))?;
        round.note(Kind::MulticastStride, RANGE, stride);
        self.check_multicast(|word| word % 2 == 0)?;
        let pushes = self.rate(|| {
            (0..2).try_for_each(|rank| job.push_bitmap(area.at(rank, 0), own, marks))?;
            job.flush(1)
        })?;
        round.note(Kind::LimitPushesMarked, RANGE, pushes);
        self.clear_both()?;
        let marked = self.rate(|| job.multicast_bitmap(&both, area, 0, own, marks).and_then(|()| job.flush(1)))?;
        round.note(Kind::MulticastMarked, RANGE, marked);
        self.check_multicast(|word| marks.get(word))?;
        let (mut changed, mut twin, mut turn) = (own.clone(), Twin::of(own), 0);
        let diff = self.rate(|| {
            turn += 1;
            changed.iter_mut().skip(turn).step_by(CHANGED).for_each(|word| *word ^= 1 << 50);
            let sent = job.multicast_diff(&both, area, 0, &changed, &mut twin)?;
            assert!(sent.abs_diff(WORDS / CHANGED) < 2, "what was changed");
            job.flush(1)
        })?;
        round.note(Kind::MulticastDiff, RANGE, diff);
        self.clear_both()
    }

    fn check_multicast(&self, travels: impl Fn(usize) -> bool) -> Result<()> {
        self.job.barrier()?;
        check(&self.area.to_vec(), travels);
        self.clear_both()
    }

    /// Neither rank has anything.
    fn clear_both(&self) -> Result<()> {
        self.job.barrier()?;
        self.area.write(0, &vec![0; WORDS]);
        self.job.barrier()
    }
}

fn check(got: &[u64], travels: impl Fn(usize) -> bool) {
    let right = |(word, got): (usize, &u64)| *got == if travels(word) { limit::pattern(word) } else { 0 };
    assert!(got.iter().enumerate().all(right), "words were damaged");
}
