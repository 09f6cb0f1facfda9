//! Copies between any two ranks, started by a third.
//!
//! ```text
//!   both mapped here        one copy
//!   source mapped           a push of it
//!   target mapped           a pull to there
//!   both far                the source's interface is asked, and pushes to the target: the bytes do not pass through here
//!   neither, one near       through a buffer: private memory of another process has no address here
//! ```

use super::port::Port;
use super::raw::{pull_span, push_span};
use crate::error::{Error, Result};
use crate::ni::base::Base;
use crate::ni::reach::place::{Ground, Place, Reach};
use crate::ni::wire::target::Target;
use crate::transport::shm::layout::AreaKind;
use bytemuck::Pod;

/// What goes through a buffer goes in pieces of so many bytes, which stay in the caches.
const BUFFER_BYTES: usize = 64 << 10;

impl Port {
    /// Copies `count` elements from a place to another, each of any rank: this one, or two others that need not know of it. After the
    /// next [`Port::flush`] to the rank of the target, or [`Port::sync`], all of them are there.
    ///
    /// Between two ranks of other hosts the source's network interface sends them to the target, and its program does nothing for it.
    /// What this port has pushed to the source before is copied; otherwise the copy is not ordered with pushes and words of this
    /// port. [`Port::copy_notify`] writes a word after the elements.
    ///
    /// ```
    /// hikyaku::local(3, |job| {
    ///     let table = job.symmetric::<u32>(100)?;
    ///     table.write(0, &[job.rank() as u32; 100]);
    ///     job.barrier()?;
    ///     if job.rank() == 0 {
    ///         job.copy(table.at(1, 10), table.at(2, 50), 40)?; // elements 10 to 49 of rank 1 to 50 to 89 of rank 2
    ///         job.flush(2)?;                                   // they are there
    ///     }
    ///     job.barrier()?;
    ///     assert_eq!(table.get(50), if job.rank() == 2 { 1 } else { job.rank() as u32 });
    ///     job.barrier()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// When there are not as many elements, and when both ranges are in one memory and overlap. A later flush or sync fails if the copy
    /// was refused, because an area was revoked, or if a rank has ended meanwhile. Then some of the elements may be there.
    pub fn copy<T: Pod>(&self, from: Place<'_, T>, to: Place<'_, T>, count: usize) -> Result<()> {
        copy(self, from, to, count, None)
    }

    /// [`Port::copy`], then the word `value` is written to `flag`, on the rank of the target: whoever sees the word sees the elements.
    ///
    /// ```
    /// hikyaku::local(3, |job| {
    ///     let (table, flag) = (job.symmetric::<f64>(1000)?, job.symmetric::<u64>(1)?);
    ///     table.write(0, &[job.rank() as f64; 1000]);
    ///     job.barrier()?;
    ///     match job.rank() {
    ///         0 => job.copy_notify(table.at(1, 0), table.at(2, 0), 1000, flag.at(2, 0), 1)?,
    ///         2 => {
    ///             job.wait(flag.here(0), hikyaku::Until::Equal(1))?;
    ///             assert_eq!(table.get(999), 1.0);
    ///         }
    ///         _ => {}
    ///     }
    ///     job.barrier()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`Port::copy`], and when the word is not on the rank of the target. If the copy fails, the word is not written.
    pub fn copy_notify<T: Pod>(
        &self,
        from: Place<'_, T>,
        to: Place<'_, T>,
        count: usize,
        flag: Place<'_, u64>,
        value: u64,
    ) -> Result<()> {
        copy(self, from, to, count, Some((flag, value)))
    }
}

/// A word that follows.
type Word<'a> = Option<(Place<'a, u64>, u64)>;

fn copy<T: Pod>(port: &Port, from: Place<'_, T>, to: Place<'_, T>, count: usize, word: Word<'_>) -> Result<()> {
    let ni = &port.initiator.ni;
    // Everything is checked before anything is written.
    ni.resolve(from, count)?;
    ni.resolve(to, count)?;
    if let Some((flag, _)) = word {
        ni.resolve(flag, 1)?;
        if flag.rank != to.rank {
            return Err(Error::NotAtTarget { rank: flag.rank, target: to.rank });
        }
    }
    // As long as a place, so it can be counted.
    let bytes = count * size_of::<T>();
    let (from, to) = (from.cast::<u8>()?, to.cast::<u8>()?);
    if overlap(ni, &from, &to, bytes) {
        return Err(Error::Invalid("the ranges of a copy overlap".into()));
    }
    copy_bytes(port, from, to, bytes, word)
}

fn copy_bytes(port: &Port, from: Place<'_, u8>, to: Place<'_, u8>, bytes: usize, word: Word<'_>) -> Result<()> {
    let by = &port.initiator;
    let follow = || word.map_or(Ok(()), |(flag, value)| port.word(flag, value));
    if bytes == 0 {
        return follow();
    }
    if let Some(source) = by.span_to(&from, bytes) {
        return push_span(port, to, source, bytes, word);
    }
    if let Some(target) = by.span_to(&to, bytes) {
        pull_span(port, from, target, bytes)?;
        return follow();
    }
    let (source, target) = (by.ni.resolve(from, bytes)?, by.ni.resolve(to, bytes)?);
    if let (Some(source), Some(target)) = (routed(&source), routed(&target))
        && by.is_relayed(&source, &target)
    {
        return relay(port, source, target, bytes, word);
    }
    if let (Reach::Area(source, from_at), Reach::Area(target, to_at)) = (source, target)
        && by.copy_areas((source, from_at), (target, to_at), bytes)?
    {
        return follow();
    }
    let mut buffer = vec![0; bytes.min(BUFFER_BYTES)];
    for at in (0..bytes).step_by(BUFFER_BYTES) {
        let part = &mut buffer[..BUFFER_BYTES.min(bytes - at)];
        port.pull(from.plus(at), part)?;
        match word {
            Some((flag, value)) if at + part.len() == bytes => port.push_notify(to.plus(at), part, flag, value)?,
            _ => port.push(to.plus(at), part)?,
        }
    }
    Ok(())
}

/// Has the source's interface do it.
fn relay(port: &Port, from: Target, to: Target, bytes: usize, word: Word<'_>) -> Result<()> {
    let by = &port.initiator;
    let Some((flag, value)) = word else { return by.copy_routed(from, to, bytes, None) };
    if let Reach::Far(at) = by.ni.resolve(flag, 1)? {
        return by.copy_routed(from, to, bytes, Some((at.offset, value)));
    }
    // A word in an area is written by itself, when all is there.
    by.copy_routed(from, to, bytes, None)?;
    by.settle_copies_to(to.rank)?;
    by.report_refusal()?;
    port.word(flag, value)
}

/// As the target of packets, if there is no address.
fn routed(reach: &Reach<'_>) -> Option<Target> {
    match reach {
        Reach::Far(target) => Some(*target),
        Reach::Area(area, offset) => Some(area.target(*offset)),
        Reach::Pointer(_) => None,
    }
}

/// Whether both are in one memory and overlap, as far as is known here. Two areas of a far rank are taken for different memory.
fn overlap(ni: &Base, from: &Place<'_, u8>, to: &Place<'_, u8>, bytes: usize) -> bool {
    let start = |place: &Place<'_, u8>| match place.ground {
        Ground::Symmetric { start, .. } => (None, start as u64 + place.index as u64),
        Ground::Area(area) if area.kind == AreaKind::Mapped => (None, area.start + place.index as u64),
        // Of private memory of far ranks the address is not known.
        Ground::Area(area) if ni.is_near(area.rank) => (Some(u32::MAX), area.start + place.index as u64),
        Ground::Area(area) => (Some(area.id), place.index as u64),
    };
    let ((one, from_start), (other, to_start)) = (start(from), start(to));
    from.rank == to.rank && one == other && from_start.abs_diff(to_start) < bytes as u64
}
