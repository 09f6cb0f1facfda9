//! What the members of a group do together.
//!
//! A call whose own arguments are wrong fails before the others hear of it, so it can be made again.

use super::comm::Comm;
use super::entry::{count, with_comm};
use super::error::{Outcome, Trouble};
use super::function::{Function, Handle};
use super::job::Fmpl;
use crate::entry::{source, target};
use crate::error::Failure;
use core_hikyaku::Error;
use std::ffi::{c_int, c_void};

/// Waits for all members.
#[unsafe(no_mangle)]
pub extern "C" fn fmpl_barrier(comm: c_int) -> c_int {
    with_comm(comm, |_, comm| Ok(comm.group.barrier()?))
}

/// Copies from the root to all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_bcast(buf: *mut c_void, size: usize, root: c_int, comm: c_int) -> c_int {
    with_comm(comm, |_, comm| {
        let root = comm.root(root)?;
        // SAFETY: the caller's to read and write.
        Ok(comm.group.broadcast(unsafe { target(buf, size)? }, root)?)
    })
}

/// Combines the numbers of all members at the root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_reduce(
    buf: *mut c_void,
    count: c_int,
    func: Handle,
    root: c_int,
    comm: c_int,
    _work: *mut c_void,
) -> c_int {
    with_comm(comm, |fmpl, comm| {
        // SAFETY: the caller's to read and write.
        let (data, by) = unsafe { fmpl.numbers(buf, count, func)? };
        let root = comm.root(root)?;
        Ok(comm.group.reduce_elements(data, by.elements, &|total, input| by.combine(total, input), root)?)
    })
}

/// Combines the numbers of all members at all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_allreduce(
    buf: *mut c_void,
    count: c_int,
    func: Handle,
    comm: c_int,
    _work: *mut c_void,
) -> c_int {
    with_comm(comm, |fmpl, comm| {
        // SAFETY: the caller's to read and write.
        let (data, by) = unsafe { fmpl.numbers(buf, count, func)? };
        Ok(comm.group.allreduce_elements(data, by.elements, &|total, input| by.combine(total, input))?)
    })
}

/// Combines the numbers of all members up to this one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_scan(
    buf: *mut c_void,
    count: c_int,
    func: Handle,
    comm: c_int,
    _work: *mut c_void,
) -> c_int {
    with_comm(comm, |fmpl, comm| {
        // SAFETY: the caller's to read and write.
        let (data, by) = unsafe { fmpl.numbers(buf, count, func)? };
        Ok(comm.group.scan_elements(data, by.elements, &|total, input| by.combine(total, input))?)
    })
}

/// Collects the blocks of all members at the root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_gather(
    mine: *const c_void,
    size: usize,
    all: *mut c_void,
    root: c_int,
    comm: c_int,
) -> c_int {
    with_comm(comm, |_, comm| {
        let (root, bytes) = comm.blocks_at(root, size)?;
        // SAFETY: the caller's to read and write.
        let (mine, all) = unsafe { apart(mine, size, all, bytes)? };
        Ok(comm.group.gather(mine, all, root)?)
    })
}

/// Collects the blocks of all members at all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_allgather(mine: *const c_void, size: usize, all: *mut c_void, comm: c_int) -> c_int {
    with_comm(comm, |_, comm| {
        let bytes = comm.blocks(size)?;
        // SAFETY: the caller's to read and write.
        let (mine, all) = unsafe { apart(mine, size, all, bytes)? };
        Ok(comm.group.allgather(mine, all)?)
    })
}

/// Gives each member its block of the root's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_scatter(
    all: *const c_void,
    size: usize,
    mine: *mut c_void,
    root: c_int,
    comm: c_int,
) -> c_int {
    with_comm(comm, |_, comm| {
        let (root, bytes) = comm.blocks_at(root, size)?;
        // SAFETY: the caller's to read and write.
        let (all, mine) = unsafe { apart(all, bytes, mine, size)? };
        Ok(comm.group.scatter(all, mine, root)?)
    })
}

/// Gives each member its block of everybody's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_alltoall(blocks: *const c_void, size: usize, into: *mut c_void, comm: c_int) -> c_int {
    with_comm(comm, |_, comm| {
        let bytes = comm.blocks(size)?;
        // SAFETY: the caller's to read and write.
        let (blocks, into) = unsafe { apart(blocks, bytes, into, bytes)? };
        Ok(comm.group.alltoall(blocks, into)?)
    })
}

impl Fmpl {
    /// What a reduction works on: `number` elements at `buf`, and what they are combined by.
    ///
    /// # Safety
    /// They can be read and written as long as the call goes on.
    pub unsafe fn numbers<'a>(
        &self,
        buf: *mut c_void,
        number: c_int,
        func: Handle,
    ) -> Outcome<(&'a mut [u8], Function)> {
        let function = self.function(func)?;
        let number = count(number, "the count")?;
        let bytes = number.checked_mul(function.elements.bytes()).ok_or(Failure::Size(usize::MAX))?;
        if !buf.addr().is_multiple_of(function.align) {
            return Err(Trouble::Misaligned("the buffer"));
        }
        // SAFETY: the caller's promise.
        Ok((unsafe { target(buf, bytes)? }, function))
    }
}

impl Comm {
    /// The root, if there is such a member.
    pub fn root(&self, root: c_int) -> Outcome<usize> {
        let (rank, size) = (root as usize, self.group.size());
        if rank < size { Ok(rank) } else { Err(Error::NoSuchRank { rank, size }.into()) }
    }

    /// The root, and the bytes of a block of every member where it is this rank, else none.
    pub fn blocks_at(&self, root: c_int, size: usize) -> Outcome<(usize, usize)> {
        let root = self.root(root)?;
        Ok((root, if self.group.rank() == root { self.blocks(size)? } else { 0 }))
    }

    /// Bytes of a block of every member.
    pub fn blocks(&self, size: usize) -> Outcome<usize> {
        let bytes = size.checked_mul(self.group.size()).filter(|bytes| *bytes <= isize::MAX as usize);
        bytes.ok_or(Failure::Size(size).into())
    }
}

/// The two buffers of a call, which may not overlap.
///
/// # Safety
/// The first can be read and the second written as long as the call goes on.
pub unsafe fn apart<'a>(
    from: *const c_void,
    from_bytes: usize,
    into: *mut c_void,
    into_bytes: usize,
) -> Outcome<(&'a [u8], &'a mut [u8])> {
    let overlap = from_bytes > 0
        && into_bytes > 0
        && from.addr() < into.addr().saturating_add(into_bytes)
        && into.addr() < from.addr().saturating_add(from_bytes);
    if overlap {
        return Err(Trouble::Overlap);
    }
    // SAFETY: the caller's promise; and they are apart.
    Ok(unsafe { (source(from, from_bytes)?, target(into, into_bytes)?) })
}
