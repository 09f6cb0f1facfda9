//! What the members of a group do together.
//!
//! A call whose own arguments are wrong fails before the others hear of it, so it can be made again.

use super::comm::Comm;
use super::entry::{count, with_comm};
use super::error::{Outcome, Trouble};
use super::function::Handle;
use crate::entry::{source, target};
use crate::error::Failure;
use core_hikyaku::Error;
use core_hikyaku::collective::Elements;
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
    // SAFETY: the caller's to read and write.
    unsafe {
        combine(buf, count, func, comm, |comm, data, how| {
            let root = comm.root(root)?;
            Ok(comm.group.reduce_elements(data, how, root)?)
        })
    }
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
    // SAFETY: the caller's to read and write.
    unsafe { combine(buf, count, func, comm, |comm, data, how| Ok(comm.group.allreduce_elements(data, how)?)) }
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
    // SAFETY: the caller's to read and write.
    unsafe { combine(buf, count, func, comm, |comm, data, how| Ok(comm.group.scan_elements(data, how)?)) }
}

/// Runs a reduction of `number` elements at `buf`.
///
/// # Safety
/// They can be read and written.
unsafe fn combine(
    buf: *mut c_void,
    number: c_int,
    func: Handle,
    comm: c_int,
    run: impl FnOnce(&Comm, &mut [u8], Elements<'_>) -> Outcome<()>,
) -> c_int {
    with_comm(comm, |fmpl, comm| {
        let found = fmpl.function(func)?;
        let (bytes, align) = found.element();
        let number = count(number, "the count")?;
        let bytes = number.checked_mul(bytes).ok_or(Failure::Size(usize::MAX))?;
        if !buf.addr().is_multiple_of(align) {
            return Err(Trouble::Misaligned("the buffer"));
        }
        // SAFETY: the caller's promise.
        let data = unsafe { target(buf, bytes)? };
        found.with_elements(|how| run(comm, data, how))
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
        let root = comm.root(root)?;
        let bytes = if comm.group.rank() == root { comm.blocks(size)? } else { 0 };
        apart(mine, size, all, bytes)?;
        // SAFETY: the caller's to read and write, and apart.
        let (mine, all) = unsafe { (source(mine, size)?, target(all, bytes)?) };
        Ok(comm.group.gather(mine, all, root)?)
    })
}

/// Collects the blocks of all members at all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_allgather(mine: *const c_void, size: usize, all: *mut c_void, comm: c_int) -> c_int {
    with_comm(comm, |_, comm| {
        let bytes = comm.blocks(size)?;
        apart(mine, size, all, bytes)?;
        // SAFETY: the caller's to read and write, and apart.
        let (mine, all) = unsafe { (source(mine, size)?, target(all, bytes)?) };
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
        let root = comm.root(root)?;
        let bytes = if comm.group.rank() == root { comm.blocks(size)? } else { 0 };
        apart(all, bytes, mine, size)?;
        // SAFETY: the caller's to read and write, and apart.
        let (all, mine) = unsafe { (source(all, bytes)?, target(mine, size)?) };
        Ok(comm.group.scatter(all, mine, root)?)
    })
}

/// Gives each member its block of everybody's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_alltoall(blocks: *const c_void, size: usize, into: *mut c_void, comm: c_int) -> c_int {
    with_comm(comm, |_, comm| {
        let bytes = comm.blocks(size)?;
        apart(blocks, bytes, into, bytes)?;
        // SAFETY: the caller's to read and write, and apart.
        let (blocks, into) = unsafe { (source(blocks, bytes)?, target(into, bytes)?) };
        Ok(comm.group.alltoall(blocks, into)?)
    })
}

impl Comm {
    /// The root, if there is such a member.
    fn root(&self, root: c_int) -> Outcome<usize> {
        let (rank, size) = (root as usize, self.group.size());
        if rank < size { Ok(rank) } else { Err(Error::NoSuchRank { rank, size }.into()) }
    }

    /// Bytes of a block of every member.
    fn blocks(&self, size: usize) -> Outcome<usize> {
        let bytes = size.checked_mul(self.group.size()).filter(|bytes| *bytes <= isize::MAX as usize);
        bytes.ok_or(Failure::Size(size).into())
    }
}

/// Refuses buffers that overlap.
fn apart(from: *const c_void, from_bytes: usize, into: *mut c_void, into_bytes: usize) -> Outcome<()> {
    let (from, into) = (from.addr(), into.addr());
    let overlap = from_bytes > 0
        && into_bytes > 0
        && from < into.saturating_add(into_bytes)
        && into < from.saturating_add(from_bytes);
    if overlap { Err(Trouble::Overlap) } else { Ok(()) }
}
