//! Partial transfers. The header has the full description of each.

use crate::entry::with_port;
use crate::given::{In, Out, Source, Target, exported};
use crate::handle::Handle;
use core_hikyaku::Stride;
use core_hikyaku::ffi::{ByteParts, RawStartedParts, Units};
use std::ffi::c_int;

/// `hk_stride`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CStride {
    block: usize,
    count: usize,
    here: usize,
    there: usize,
}

impl From<CStride> for Stride {
    fn from(CStride { block, count, here, there }: CStride) -> Stride {
        Stride::new(block, here, count).there(there)
    }
}

exported! {
    /// Remote write of blocks.
    pub fn hk_push_stride(my_addr: Source<'_>, rank: c_int, area: Handle, offset: usize, stride: CStride) -> c_int {
        with_port(|port| {
            area.with_bytes(rank as usize, offset, move |to| my_addr.push_stride(port, to, stride.into()))
        })
    }

    /// Remote read of blocks.
    pub fn hk_pull_stride(my_addr: Target<'_>, rank: c_int, area: Handle, offset: usize, stride: CStride) -> c_int {
        with_port(|port| {
            area.with_bytes(rank as usize, offset, move |from| my_addr.pull_stride(port, from, stride.into()))
        })
    }

    /// Remote write of marked units.
    pub fn hk_push_bitmap(
        my_addr: Source<'_>,
        rank: c_int,
        area: Handle,
        offset: usize,
        bitmap: In<'_, u64>,
        unit: usize,
        units: usize,
    ) -> c_int {
        with_port(|port| {
            let words = &bitmap.bitmap(unit, units)?;
            area.with_bytes(rank as usize, offset, |to| my_addr.push_marked(port, to, Units { unit, units, words }))
        })
    }

    /// Remote read of marked units.
    pub fn hk_pull_bitmap(
        my_addr: Target<'_>,
        rank: c_int,
        area: Handle,
        offset: usize,
        bitmap: In<'_, u64>,
        unit: usize,
        units: usize,
    ) -> c_int {
        with_port(|port| {
            let words = &bitmap.bitmap(unit, units)?;
            area.with_bytes(rank as usize, offset, |from| my_addr.pull_marked(port, from, Units { unit, units, words }))
        })
    }

    /// Remote write of blocks, then a word at the target.
    pub fn hk_push_stride_notify(
        my_addr: Source<'_>,
        rank: c_int,
        area: Handle,
        offset: usize,
        stride: CStride,
        flag: Handle,
        flag_offset: usize,
        value: u64,
    ) -> c_int {
        with_port(|port| {
            let parts = ByteParts::Stride(stride.into());
            area.with_bytes_and_flag(rank as usize, offset, flag, flag_offset, |to, flag| {
                my_addr.push_parts_notify(port, to, parts, flag, value)
            })
        })
    }

    /// Remote write of marked units, then a word at the target.
    pub fn hk_push_bitmap_notify(
        my_addr: Source<'_>,
        rank: c_int,
        area: Handle,
        offset: usize,
        bitmap: In<'_, u64>,
        unit: usize,
        units: usize,
        flag: Handle,
        flag_offset: usize,
        value: u64,
    ) -> c_int {
        with_port(|port| {
            let words = &bitmap.bitmap(unit, units)?;
            let parts = ByteParts::Marked(Units { unit, units, words });
            area.with_bytes_and_flag(rank as usize, offset, flag, flag_offset, |to, flag| {
                my_addr.push_parts_notify(port, to, parts, flag, value)
            })
        })
    }

    /// Remote write of what differs from a twin, then a word at the target.
    pub fn hk_push_diff_notify(
        my_addr: Source<'_>,
        rank: c_int,
        area: Handle,
        offset: usize,
        size: usize,
        twin: Target<'_>,
        unit: usize,
        flag: Handle,
        flag_offset: usize,
        value: u64,
        pushed: Out<'_, usize>,
    ) -> c_int {
        with_port(|port| {
            area.with_bytes_and_flag(rank as usize, offset, flag, flag_offset, move |to, flag| {
                port.check_flag(to, flag)?;
                pushed.give(my_addr.push_diff(port, to, size, twin, unit)?);
                Ok(port.word(flag, value)?)
            })
        })
    }

    /// Remote read, and a twin of what was read.
    pub fn hk_pull_twin(
        my_addr: Target<'_>,
        rank: c_int,
        area: Handle,
        offset: usize,
        size: usize,
        twin: Target<'_>,
    ) -> c_int {
        with_port(|port| {
            area.with_bytes(rank as usize, offset, move |from| my_addr.pull_twin(port, from, size, twin))
        })
    }

    /// Remote write of what differs from a twin.
    pub fn hk_push_diff(
        my_addr: Source<'_>,
        rank: c_int,
        area: Handle,
        offset: usize,
        size: usize,
        twin: Target<'_>,
        unit: usize,
        pushed: Out<'_, usize>,
    ) -> c_int {
        with_port(|port| {
            area.with_bytes(rank as usize, offset, move |to| {
                pushed.give(my_addr.push_diff(port, to, size, twin, unit)?);
                Ok(())
            })
        })
    }
}
