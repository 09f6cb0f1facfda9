//! Parts of a range, and the same for several ranks, from and to what C gives.

use super::{Lasting, Source, Target, check};
use crate::error::Failure;
use core_hikyaku::ffi::{
    ByteParts, Parts, RawIndirect, RawMatching, RawMulticast, RawParts, RawRegion, RawStartedParts, RawWord, Request,
    Units, copy_out, pack_changes,
};
use core_hikyaku::matching::{self, Keys, Matching};
use core_hikyaku::{Common, Job, Place, Port, Recipients, Stride, Through};

impl Source<'_> {
    /// Pushes blocks.
    pub fn push_stride(&self, port: &Port, to: Place<'_, u8>, stride: Stride) -> Result<(), Failure> {
        let data = self.address(stride.span_here())?;
        // SAFETY: the caller's to read.
        Ok(unsafe { port.push_stride_from(to, data, stride) }?)
    }

    /// Pushes marked units.
    pub fn push_marked(&self, port: &Port, to: Place<'_, u8>, marked: Units<'_>) -> Result<(), Failure> {
        let data = self.address(marked.unit.saturating_mul(marked.units))?;
        // SAFETY: the caller's to read.
        Ok(unsafe { port.push_marked_from(to, data, marked) }?)
    }

    /// Pushes parts, then a word to the target.
    pub fn push_parts_notify(
        &self,
        port: &Port,
        to: Place<'_, u8>,
        parts: ByteParts<'_>,
        flag: Place<'_, u64>,
        value: u64,
    ) -> Result<(), Failure> {
        let data = self.address(span_here(parts))?;
        // SAFETY: the caller's to read.
        Ok(unsafe { port.push_parts_notify_from(to, data, parts, flag, value) }?)
    }

    /// Starts to push parts, which are packed at once.
    pub fn start_push_parts(&self, port: &Port, to: Place<'_, u8>, parts: ByteParts<'_>) -> Result<u64, Failure> {
        let data = self.address(span_here(parts))?;
        // SAFETY: the caller's to read.
        Ok(unsafe { port.start_push_parts_from(to, data, parts) }?)
    }

    /// Starts to push those of `size` bytes that differ from the twin; how many units.
    pub fn start_push_diff(
        &self,
        port: &Port,
        to: Place<'_, u8>,
        size: usize,
        twin: Target<'_>,
        unit: usize,
    ) -> Result<(u64, usize), Failure> {
        let data = self.address(size)?;
        let twin = twin.twin_of(data, size)?;
        // SAFETY: the caller's to read.
        Ok(unsafe { port.start_push_diff_from(to, data, twin, unit) }?)
    }

    /// Pushes those of `size` bytes that differ from the twin, in units of so many bytes; how many units.
    pub fn push_diff(
        &self,
        port: &Port,
        to: Place<'_, u8>,
        size: usize,
        twin: Target<'_>,
        unit: usize,
    ) -> Result<usize, Failure> {
        let data = self.address(size)?;
        let twin = twin.twin_of(data, size)?;
        // SAFETY: the caller's to read.
        Ok(unsafe { port.push_diff_from(to, data, twin, unit) }?)
    }
}

/// Through a pointer.
impl Source<'_> {
    /// Pushes `size` bytes.
    pub fn push_through(&self, port: &Port, through: Through<'_>, size: usize) -> Result<(), Failure> {
        let data = self.address(size)?;
        // SAFETY: the caller's to read.
        Ok(unsafe { port.push_through(through, data, size) }?)
    }
}

/// The same for several ranks.
impl Source<'_> {
    /// `size` bytes, and then a word, if one is given.
    pub fn multicast(
        &self,
        port: &Port,
        to: &Recipients,
        area: (&dyn Common<u8>, usize),
        size: usize,
        word: RawWord<'_>,
    ) -> Result<(), Failure> {
        let data = self.address(size)?;
        // SAFETY: the caller's to read.
        Ok(unsafe { port.multicast_from(to, area, data, size, word) }?)
    }

    /// Parts, and then a word, if one is given.
    pub fn multicast_parts(
        &self,
        port: &Port,
        to: &Recipients,
        area: (&dyn Common<u8>, usize),
        parts: ByteParts<'_>,
        word: RawWord<'_>,
    ) -> Result<(), Failure> {
        let data = self.address(span_here(parts))?;
        // SAFETY: the caller's to read.
        Ok(unsafe { port.multicast_parts_from(to, area, data, parts, word) }?)
    }

    /// Those of `size` bytes that differ from the twin, in units of so many bytes, and then a word, if one is given; how many units.
    pub fn multicast_diff(
        &self,
        port: &Port,
        to: &Recipients,
        area: (&dyn Common<u8>, usize),
        size: usize,
        (twin, unit): (Target<'_>, usize),
        word: RawWord<'_>,
    ) -> Result<usize, Failure> {
        let data = self.address(size)?;
        let twin = twin.twin_of(data, size)?;
        // SAFETY: the caller's to read.
        Ok(unsafe { port.multicast_diff_from(to, area, data, twin, unit, word) }?)
    }
}

impl Target<'_> {
    /// Pulls blocks.
    pub fn pull_stride(&self, port: &Port, from: Place<'_, u8>, stride: Stride) -> Result<(), Failure> {
        let into = self.address(stride.span_here())?;
        // SAFETY: the caller's to write.
        Ok(unsafe { port.pull_stride_into(from, into, stride) }?)
    }

    /// Pulls `size` bytes, and keeps a twin of them.
    pub fn pull_twin(&self, port: &Port, from: Place<'_, u8>, size: usize, twin: Target<'_>) -> Result<(), Failure> {
        self.pull(port, from, size)?;
        let into = self.address(size)?;
        let twin = twin.twin_of(into, size)?;
        // SAFETY: the caller's to read; peers may change them again meanwhile.
        unsafe { copy_out(into, twin) };
        Ok(())
    }

    /// Pulls marked units.
    pub fn pull_marked(&self, port: &Port, from: Place<'_, u8>, marked: Units<'_>) -> Result<(), Failure> {
        let into = self.address(marked.unit.saturating_mul(marked.units))?;
        // SAFETY: the caller's to write.
        Ok(unsafe { port.pull_marked_into(from, into, marked) }?)
    }
}

/// All of a region, or a part of it.
impl Source<'_> {
    /// Writes `size` bytes to all copies, from an offset on.
    pub fn write_region(&self, job: &Job, region: &RawRegion, offset: usize, size: usize) -> Result<(), Failure> {
        let data = self.address(size)?;
        // SAFETY: the caller's to read.
        Ok(unsafe { region.write_from(job, offset, data, size) }?)
    }

    /// Writes marked units to all copies, from an offset on.
    pub fn write_region_marked(
        &self,
        job: &Job,
        region: &RawRegion,
        offset: usize,
        marked: Units<'_>,
    ) -> Result<(), Failure> {
        let data = self.address(marked.unit.saturating_mul(marked.units))?;
        // SAFETY: the caller's to read.
        Ok(unsafe { region.write_marked_from(job, offset, data, marked) }?)
    }

    /// Writes those bytes that differ from the twin to all copies, in units of so many bytes; how many units.
    pub fn write_region_diff(
        &self,
        job: &Job,
        region: &RawRegion,
        twin: Target<'_>,
        unit: usize,
    ) -> Result<usize, Failure> {
        let size = region.bytes();
        let start = self.address(size)?;
        let twin = twin.twin_of(start, size)?;
        // What is compared and written is the same, whatever peers do to it meanwhile.
        let mut data = vec![0; size];
        // SAFETY: the caller's to read.
        unsafe { copy_out(start, &mut data) };
        Ok(region.write_diff(job, &data, twin, unit)?)
    }
}

impl Target<'_> {
    /// Pulls `size` bytes from where a pointer leads.
    pub fn pull_through(&self, port: &Port, through: Through<'_>, size: usize) -> Result<(), Failure> {
        let into = self.address(size)?;
        // SAFETY: the caller's to write.
        Ok(unsafe { port.pull_through(through, into, size) }?)
    }
}

impl<'a> Target<'a> {
    /// As many bytes as the region has, and their twin.
    pub fn with_twin(self, region: &RawRegion, twin: Target<'a>) -> Result<(&'a mut [u8], &'a mut [u8]), Failure> {
        let size = region.bytes();
        let twin = twin.twin_of(self.address(size)?, size)?;
        Ok((self.bytes(size)?, twin))
    }
}

/// From the first byte of the first part to the last of the last one, here.
fn span_here(parts: ByteParts<'_>) -> usize {
    match parts {
        ByteParts::Stride(stride) => stride.span_here(),
        ByteParts::Marked(marked) => marked.unit.saturating_mul(marked.units),
    }
}

/// Messages of parts.
impl Source<'_> {
    /// The message of these parts.
    pub fn pack(&self, parts: &Parts) -> Result<Box<[u8]>, Failure> {
        let data = self.address(parts.span())?;
        // SAFETY: the caller's to read.
        Ok(unsafe { parts.pack(data) })
    }

    /// Has `send` send the message of those of `size` bytes that differ from the twin, in units of so many bytes; what it gives, and how
    /// many units. The twin is as they are only if it does not fail.
    pub fn send_changes<R>(
        &self,
        size: usize,
        twin: Target<'_>,
        unit: usize,
        send: impl FnOnce(Box<[u8]>) -> Result<R, Failure>,
    ) -> Result<(R, usize), Failure> {
        let start = self.address(size)?;
        let twin = twin.twin_of(start, size)?;
        let mut data = vec![0; size];
        // SAFETY: the caller's to read.
        unsafe { copy_out(start, &mut data) };
        let (packed, changes) = pack_changes(&data, twin, unit)?;
        let sent = send(packed)?;
        changes.keep(&data, twin);
        Ok((sent, changes.count))
    }
}

impl Lasting {
    /// Starts to pull parts.
    pub fn start_pull_parts(&self, port: &Port, from: Place<'_, u8>, parts: ByteParts<'_>) -> Result<u64, Failure> {
        check(self.0, span_here(parts))?;
        // SAFETY: the caller's to write until it has ended, as the header demands.
        Ok(unsafe { port.start_pull_parts_into(from, self.0.cast(), parts) }?)
    }

    /// Starts to receive parts.
    pub fn start_receive_parts(
        &self,
        matching: &Matching<'_>,
        parts: Parts,
        from: matching::Source,
        keys: Keys,
    ) -> Result<Request, Failure> {
        check(self.0, parts.span())?;
        // SAFETY: the caller's to write until it has ended, as the header demands.
        Ok(unsafe { matching.irecv_parts(self.0.cast(), parts, from, keys) }?)
    }

    /// Starts to receive at most `size` bytes, and keeps a twin.
    pub fn start_receive_twin(
        &self,
        matching: &Matching<'_>,
        size: usize,
        twin: Lasting,
        from: matching::Source,
        keys: Keys,
    ) -> Result<Request, Failure> {
        check(self.0, size)?;
        check(twin.0, size)?;
        if self.0.addr().abs_diff(twin.0.addr()) < size {
            return Err(Failure::Overlap);
        }
        // SAFETY: the caller's to write until it has ended, as the header demands.
        Ok(unsafe { matching.irecv_twin(self.0.cast(), twin.0.cast(), size, from, keys) }?)
    }
}
