//! Blocks of different lengths, and reductions whose result is shared out, without blocking. Lists of sizes are copied, so they are the
//! program's again when a call returns; buffers are not.

// They are those of the header.
#![allow(clippy::too_many_arguments)]

use super::comm::Comm;
use super::error::Outcome;
use super::function;
use super::request::Handle;
use super::started::start;
use super::uneven::{Parts, Shares, Sizes};
use crate::given::{In, Out, Source, Target, exported};
use core_hikyaku::collective;
use std::ffi::c_int;

/// With lists of any language.
pub fn igatherv(
    mine: Source<'static>,
    size: usize,
    all: Target<'static>,
    sizes: Sizes<'_>,
    starts: Sizes<'_>,
    root: c_int,
    comm: c_int,
    req: Out<'_, Handle>,
) -> c_int {
    start(comm, req, |_, comm| {
        let (parts, root) = Parts::of_gatherv(comm, (mine, size), all, (sizes, starts), root)?;
        Ok(comm.calls().igatherv(parts.from, parts.into, parts.blocks, root)?)
    })
}

/// With lists of any language.
pub fn iallgatherv(
    mine: Source<'static>,
    size: usize,
    all: Target<'static>,
    sizes: Sizes<'_>,
    starts: Sizes<'_>,
    comm: c_int,
    req: Out<'_, Handle>,
) -> c_int {
    start(comm, req, |_, comm| {
        let parts = Parts::of_allgatherv(comm, (mine, size), all, (sizes, starts))?;
        Ok(comm.calls().iallgatherv(parts.from, parts.into, parts.blocks)?)
    })
}

/// With lists of any language.
pub fn iscatterv(
    all: Source<'static>,
    sizes: Sizes<'_>,
    starts: Sizes<'_>,
    mine: Target<'static>,
    size: usize,
    root: c_int,
    comm: c_int,
    req: Out<'_, Handle>,
) -> c_int {
    start(comm, req, |_, comm| {
        let (parts, root) = Parts::of_scatterv(comm, all, (sizes, starts), (mine, size), root)?;
        Ok(comm.calls().iscatterv(parts.from, parts.blocks, parts.into, root)?)
    })
}

/// With lists of any language.
pub fn ialltoallv(
    from: Source<'static>,
    from_sizes: Sizes<'_>,
    from_starts: Sizes<'_>,
    into: Target<'static>,
    into_sizes: Sizes<'_>,
    into_starts: Sizes<'_>,
    comm: c_int,
    req: Out<'_, Handle>,
) -> c_int {
    start(comm, req, |_, comm| {
        let (parts, given) =
            Parts::of_alltoallv(comm, from, (from_sizes, from_starts), into, (into_sizes, into_starts))?;
        Ok(comm.calls().ialltoallv(parts.from, given, parts.into, parts.blocks)?)
    })
}

exported! {
    /// Starts `fmpl_gatherv`.
    pub fn fmpl_igatherv(
        mine: Source<'static>,
        size: usize,
        all: Target<'static>,
        sizes: In<'_, usize>,
        starts: In<'_, usize>,
        root: c_int,
        comm: c_int,
        req: Out<'_, Handle>,
    ) -> c_int {
        igatherv(mine, size, all, Sizes::C(sizes), Sizes::C(starts), root, comm, req)
    }

    /// Starts `fmpl_allgatherv`.
    pub fn fmpl_iallgatherv(
        mine: Source<'static>,
        size: usize,
        all: Target<'static>,
        sizes: In<'_, usize>,
        starts: In<'_, usize>,
        comm: c_int,
        req: Out<'_, Handle>,
    ) -> c_int {
        iallgatherv(mine, size, all, Sizes::C(sizes), Sizes::C(starts), comm, req)
    }

    /// Starts `fmpl_scatterv`.
    pub fn fmpl_iscatterv(
        all: Source<'static>,
        sizes: In<'_, usize>,
        starts: In<'_, usize>,
        mine: Target<'static>,
        size: usize,
        root: c_int,
        comm: c_int,
        req: Out<'_, Handle>,
    ) -> c_int {
        iscatterv(all, Sizes::C(sizes), Sizes::C(starts), mine, size, root, comm, req)
    }

    /// Starts `fmpl_alltoallv`.
    pub fn fmpl_ialltoallv(
        from: Source<'static>,
        from_sizes: In<'_, usize>,
        from_starts: In<'_, usize>,
        into: Target<'static>,
        into_sizes: In<'_, usize>,
        into_starts: In<'_, usize>,
        comm: c_int,
        req: Out<'_, Handle>,
    ) -> c_int {
        let [from_sizes, from_starts, into_sizes, into_starts] =
            [from_sizes, from_starts, into_sizes, into_starts].map(Sizes::C);
        ialltoallv(from, from_sizes, from_starts, into, into_sizes, into_starts, comm, req)
    }

    /// Starts `fmpl_reduce_scatter`.
    pub fn fmpl_ireduce_scatter(
        data: Source<'static>,
        mine: Target<'static>,
        counts: In<'_, c_int>,
        func: function::Handle,
        comm: c_int,
        req: Out<'_, Handle>,
    ) -> c_int {
        start(comm, req, |fmpl, comm| Shares::of_list((fmpl, comm), data, mine, counts, func)?.start(comm))
    }

    /// Starts `fmpl_reduce_scatter_block`.
    pub fn fmpl_ireduce_scatter_block(
        data: Source<'static>,
        mine: Target<'static>,
        number: c_int,
        func: function::Handle,
        comm: c_int,
        req: Out<'_, Handle>,
    ) -> c_int {
        start(comm, req, |fmpl, comm| Shares::of_count((fmpl, comm), data, mine, number, func)?.start(comm))
    }
}

impl Shares<'static> {
    fn start(self, comm: &Comm) -> Outcome<collective::Handle<'static>> {
        let Shares { data, mine, counts, function } = self;
        let combine = move |total: &mut [u8], input: &[u8]| function.combine(total, input);
        Ok(comm.calls().ireduce_scatter_elements(data, mine, counts, function.elements, combine)?)
    }
}
