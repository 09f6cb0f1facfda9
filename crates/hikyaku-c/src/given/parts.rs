//! Parts of a range, and the same for several ranks, from and to what C gives.

use super::{Source, Target};
use crate::error::Failure;
use core_hikyaku::ffi::{RawMulticast, RawParts, RawRegion, Units, copy_out};
use core_hikyaku::{Job, Place, Port, Recipients, Stride, Symmetric};

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

/// The same for several ranks.
impl Source<'_> {
    /// `size` bytes, and then a word, if one is given.
    pub fn multicast(
        &self,
        port: &Port,
        to: &Recipients,
        area: (&Symmetric<u8>, usize),
        size: usize,
        word: Option<(&Symmetric<u8>, usize, u64)>,
    ) -> Result<(), Failure> {
        let data = self.address(size)?;
        // SAFETY: the caller's to read.
        Ok(unsafe { port.multicast_from(to, area, data, size, word) }?)
    }

    /// Blocks.
    pub fn multicast_stride(
        &self,
        port: &Port,
        to: &Recipients,
        area: (&Symmetric<u8>, usize),
        stride: Stride,
    ) -> Result<(), Failure> {
        let data = self.address(stride.span_here())?;
        // SAFETY: the caller's to read.
        Ok(unsafe { port.multicast_stride_from(to, area, data, stride) }?)
    }

    /// Marked units.
    pub fn multicast_marked(
        &self,
        port: &Port,
        to: &Recipients,
        area: (&Symmetric<u8>, usize),
        marked: Units<'_>,
    ) -> Result<(), Failure> {
        let data = self.address(marked.unit.saturating_mul(marked.units))?;
        // SAFETY: the caller's to read.
        Ok(unsafe { port.multicast_marked_from(to, area, data, marked) }?)
    }

    /// Those of `size` bytes that differ from the twin, in units of so many bytes; how many units.
    pub fn multicast_diff(
        &self,
        port: &Port,
        to: &Recipients,
        area: (&Symmetric<u8>, usize),
        size: usize,
        twin: Target<'_>,
        unit: usize,
    ) -> Result<usize, Failure> {
        let data = self.address(size)?;
        let twin = twin.twin_of(data, size)?;
        // SAFETY: the caller's to read.
        Ok(unsafe { port.multicast_diff_from(to, area, data, twin, unit) }?)
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
