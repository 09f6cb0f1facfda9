//! What the members of a group do together.
//!
//! A call whose own arguments are wrong fails before the others hear of it, so it can be made again.

use super::comm::Comm;
use super::entry::{count, with_comm};
use super::error::Outcome;
use super::function::Handle;
use super::job::Fmpl;
use crate::check;
use crate::function::Function;
use crate::given::{Source, Target, apart, exported};
use std::ffi::{c_int, c_void};

exported! {
    /// Waits for all members.
    pub fn fmpl_barrier(comm: c_int) -> c_int {
        with_comm(comm, |_, comm| Ok(comm.group().barrier()?))
    }

    /// Copies from the root to all.
    pub fn fmpl_bcast(buf: Target<'_>, size: usize, root: c_int, comm: c_int) -> c_int {
        with_comm(comm, |_, comm| {
            let root = comm.root(root)?;
            Ok(comm.group().broadcast(buf.bytes(size)?, root)?)
        })
    }

    /// Combines the numbers of all members at the root.
    pub fn fmpl_reduce(
        buf: Target<'_>,
        count: c_int,
        func: Handle,
        root: c_int,
        comm: c_int,
        _work: *mut c_void,
    ) -> c_int {
        with_comm(comm, |fmpl, comm| {
            let (data, by) = fmpl.numbers(buf, count, func)?;
            let root = comm.root(root)?;
            Ok(comm.group().reduce_elements(data, by.elements, &|total, input| by.combine(total, input), root)?)
        })
    }

    /// Combines the numbers of all members at all.
    pub fn fmpl_allreduce(
        buf: Target<'_>,
        count: c_int,
        func: Handle,
        comm: c_int,
        _work: *mut c_void,
    ) -> c_int {
        with_comm(comm, |fmpl, comm| {
            let (data, by) = fmpl.numbers(buf, count, func)?;
            Ok(comm.group().allreduce_elements(data, by.elements, &|total, input| by.combine(total, input))?)
        })
    }

    /// Combines the numbers of all members up to this one.
    pub fn fmpl_scan(
        buf: Target<'_>,
        count: c_int,
        func: Handle,
        comm: c_int,
        _work: *mut c_void,
    ) -> c_int {
        with_comm(comm, |fmpl, comm| {
            let (data, by) = fmpl.numbers(buf, count, func)?;
            Ok(comm.group().scan_elements(data, by.elements, &|total, input| by.combine(total, input))?)
        })
    }

    /// Combines the numbers of all members before this one.
    pub fn fmpl_exscan(
        buf: Target<'_>,
        count: c_int,
        func: Handle,
        comm: c_int,
        _work: *mut c_void,
    ) -> c_int {
        with_comm(comm, |fmpl, comm| {
            let (data, by) = fmpl.numbers(buf, count, func)?;
            Ok(comm.group().exscan_elements(data, by.elements, &|total, input| by.combine(total, input))?)
        })
    }

    /// Collects the blocks of all members at the root.
    pub fn fmpl_gather(
        mine: Source<'_>,
        size: usize,
        all: Target<'_>,
        root: c_int,
        comm: c_int,
    ) -> c_int {
        with_comm(comm, |_, comm| {
            let (root, bytes) = comm.blocks_at(root, size)?;
            let (mine, all) = apart(mine, size, all, bytes)?;
            Ok(comm.group().gather(mine, all, root)?)
        })
    }

    /// Collects the blocks of all members at all.
    pub fn fmpl_allgather(mine: Source<'_>, size: usize, all: Target<'_>, comm: c_int) -> c_int {
        with_comm(comm, |_, comm| {
            let bytes = comm.blocks(size)?;
            let (mine, all) = apart(mine, size, all, bytes)?;
            Ok(comm.group().allgather(mine, all)?)
        })
    }

    /// Gives each member its block of the root's.
    pub fn fmpl_scatter(
        all: Source<'_>,
        size: usize,
        mine: Target<'_>,
        root: c_int,
        comm: c_int,
    ) -> c_int {
        with_comm(comm, |_, comm| {
            let (root, bytes) = comm.blocks_at(root, size)?;
            let (all, mine) = apart(all, bytes, mine, size)?;
            Ok(comm.group().scatter(all, mine, root)?)
        })
    }

    /// Gives each member its block of everybody's.
    pub fn fmpl_alltoall(blocks: Source<'_>, size: usize, into: Target<'_>, comm: c_int) -> c_int {
        with_comm(comm, |_, comm| {
            let bytes = comm.blocks(size)?;
            let (blocks, into) = apart(blocks, bytes, into, bytes)?;
            Ok(comm.group().alltoall(blocks, into)?)
        })
    }
}

impl Fmpl {
    /// What a reduction works on: `number` elements at `buf`, and what they are combined by.
    pub fn numbers<'a>(&self, buf: Target<'a>, number: c_int, func: Handle) -> Outcome<(&'a mut [u8], Function)> {
        let function = self.function(func)?;
        let number = count(number, "the count")?;
        Ok((check::elements(buf, number, &function, "the buffer")?, function))
    }
}

impl Comm {
    /// The root, if there is such a member.
    pub fn root(&self, root: c_int) -> Outcome<usize> {
        Ok(check::root(root, self.group().size())?)
    }

    /// The root, and the bytes of a block of every member where it is this rank, else none.
    pub fn blocks_at(&self, root: c_int, size: usize) -> Outcome<(usize, usize)> {
        let group = self.group();
        Ok(check::blocks_at(root, size, group.rank(), group.size())?)
    }

    /// Bytes of a block of every member.
    pub fn blocks(&self, size: usize) -> Outcome<usize> {
        Ok(check::blocks(size, self.group().size())?)
    }
}
