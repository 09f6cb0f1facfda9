//! Messages of some bytes of a range. The header has the full description of each.

use crate::entry::with_everyone;
use crate::given::{In, Lasting, Out, Source, Target, check_units, exported};
use crate::matching::{Request, keep, matching, source};
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
            request.required("the request to be given")?;
            let packed = data.pack(&Parts::of_stride(stride.into())?)?;
            keep(&request, matching()?.isend_packed(packed, rank as usize, key)?);
            Ok(())
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
            request.required("the request to be given")?;
            let words = bitmap.bitmap(unit, units)?.into();
            let packed = data.pack(&Parts::Marked { unit, units, words })?;
            keep(&request, matching()?.isend_packed(packed, rank as usize, key)?);
            Ok(())
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
        with_everyone(|job| {
            request.required("the request to be given")?;
            let matching = matching()?;
            // Before the twin is changed.
            job.recipients(&[rank as usize])?;
            let (packed, count) = data.pack_changes(size, twin, unit)?;
            sent.give(count);
            keep(&request, matching.isend_packed(packed, rank as usize, key)?);
            Ok(())
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
            request.required("the request to be given")?;
            let (parts, keys) = (Parts::of_stride(stride.into())?, Keys::with_ignored(key, ignored));
            keep(&request, into.start_receive_parts(&*matching()?, parts, source(rank), keys)?);
            Ok(())
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
            request.required("the request to be given")?;
            let parts = Parts::Marked { unit, units, words: bitmap.bitmap(unit, units)?.into() };
            let keys = Keys::with_ignored(key, ignored);
            keep(&request, into.start_receive_parts(&*matching()?, parts, source(rank), keys)?);
            Ok(())
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
            request.required("the request to be given")?;
            let keys = Keys::with_ignored(key, ignored);
            keep(&request, into.start_receive_twin(&*matching()?, size, twin, source(rank), keys)?);
            Ok(())
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
            request.required("the request to be given")?;
            check_units(size, unit)?;
            let (parts, keys) = (Parts::Changes { unit, units: size / unit }, Keys::with_ignored(key, ignored));
            keep(&request, into.start_receive_parts(&*matching()?, parts, source(rank), keys)?);
            Ok(())
        })
    }
}
