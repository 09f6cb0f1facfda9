//! Messages of some bytes of a range. The header has the full description of each.

use crate::entry::with_everyone;
use crate::given::{In, Lasting, Out, Source, Target, exported};
use crate::matching::{Request, source, start};
use crate::partial::CStride;
use core_hikyaku::ffi::{Parts, RawMatching};
use core_hikyaku::matching::Keys;
use std::ffi::c_int;

exported! {
    /// Starts to send blocks.
    pub fn hk_isend_stride(
        data: Source<'_>,
        stride: CStride,
        rank: c_int,
        key: u64,
        request: Out<'_, Request>,
    ) -> c_int {
        with_everyone(|_| {
            let parts = Parts::of_stride(stride.into())?;
            start(&request, |matching| Ok(matching.isend_packed(data.pack(&parts)?, rank as usize, key)?))
        })
    }

    /// Starts to send marked units.
    pub fn hk_isend_bitmap(
        data: Source<'_>,
        bitmap: In<'_, u64>,
        unit: usize,
        units: usize,
        rank: c_int,
        key: u64,
        request: Out<'_, Request>,
    ) -> c_int {
        with_everyone(|_| {
            let parts = Parts::Marked { unit, units, words: bitmap.bitmap(unit, units)?.into() };
            start(&request, |matching| Ok(matching.isend_packed(data.pack(&parts)?, rank as usize, key)?))
        })
    }

    /// Starts to send what differs from a twin.
    pub fn hk_isend_diff(
        data: Source<'_>,
        size: usize,
        twin: Target<'_>,
        unit: usize,
        rank: c_int,
        key: u64,
        sent: Out<'_, usize>,
        request: Out<'_, Request>,
    ) -> c_int {
        with_everyone(|_| {
            start(&request, |matching| {
                let send = |packed| Ok(matching.isend_packed(packed, rank as usize, key)?);
                let (begun, count) = data.send_changes(size, twin, unit, send)?;
                sent.give(count);
                Ok(begun)
            })
        })
    }

    /// Starts to receive blocks.
    pub fn hk_irecv_stride(
        into: Lasting,
        stride: CStride,
        rank: c_int,
        key: u64,
        ignored: u64,
        request: Out<'_, Request>,
    ) -> c_int {
        with_everyone(|_| {
            let (parts, keys) = (Parts::of_stride(stride.into())?, Keys::with_ignored(key, ignored));
            start(&request, |matching| into.start_receive_parts(matching, parts, source(rank), keys))
        })
    }

    /// Starts to receive marked units.
    pub fn hk_irecv_bitmap(
        into: Lasting,
        bitmap: In<'_, u64>,
        unit: usize,
        units: usize,
        rank: c_int,
        key: u64,
        ignored: u64,
        request: Out<'_, Request>,
    ) -> c_int {
        with_everyone(|_| {
            let parts = Parts::Marked { unit, units, words: bitmap.bitmap(unit, units)?.into() };
            let keys = Keys::with_ignored(key, ignored);
            start(&request, |matching| into.start_receive_parts(matching, parts, source(rank), keys))
        })
    }

    /// Starts to receive, and keeps a twin.
    pub fn hk_irecv_twin(
        into: Lasting,
        size: usize,
        twin: Lasting,
        rank: c_int,
        key: u64,
        ignored: u64,
        request: Out<'_, Request>,
    ) -> c_int {
        with_everyone(|_| {
            let keys = Keys::with_ignored(key, ignored);
            start(&request, |matching| into.start_receive_twin(matching, size, twin, source(rank), keys))
        })
    }

    /// Starts to receive what has changed elsewhere.
    pub fn hk_irecv_diff(
        into: Lasting,
        size: usize,
        unit: usize,
        rank: c_int,
        key: u64,
        ignored: u64,
        request: Out<'_, Request>,
    ) -> c_int {
        with_everyone(|_| {
            let (parts, keys) = (Parts::changes(size, unit)?, Keys::with_ignored(key, ignored));
            start(&request, |matching| into.start_receive_parts(matching, parts, source(rank), keys))
        })
    }
}
