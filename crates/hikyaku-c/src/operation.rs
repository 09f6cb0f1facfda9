//! Remote operations. The header has the full description of each.

use crate::entry::{give, place, with_port};
use crate::error::Failure;
use crate::handle::Handle;
use core_hikyaku::Atomic;
use core_hikyaku::ffi::RawPort;
use std::ffi::{c_int, c_void};

/// Remote write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_push(
    my_addr: *const c_void,
    rank: c_int,
    area: Handle,
    offset: usize,
    size: usize,
) -> c_int {
    with_port(|port| {
        place(my_addr, size)?;
        let data = my_addr.cast();
        // SAFETY: the caller's to read.
        area.with_bytes(rank as usize, offset, move |to| Ok(unsafe { port.push_from(to, data, size) }?))
    })
}

/// Remote read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_pull(my_addr: *mut c_void, rank: c_int, area: Handle, offset: usize, size: usize) -> c_int {
    with_port(|port| {
        place(my_addr, size)?;
        let into = my_addr.cast();
        // SAFETY: the caller's to write.
        area.with_bytes(rank as usize, offset, move |from| Ok(unsafe { port.pull_into(from, into, size) }?))
    })
}

/// Remote write of a word.
#[unsafe(no_mangle)]
pub extern "C" fn hk_word(rank: c_int, area: Handle, offset: usize, value: u64) -> c_int {
    with_port(|port| area.with_word(rank as usize, offset, move |to| Ok(port.word(to, value)?)))
}

/// Remote write, then a word at the target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_push_notify(
    my_addr: *const c_void,
    rank: c_int,
    area: Handle,
    offset: usize,
    size: usize,
    flag: Handle,
    flag_offset: usize,
    value: u64,
) -> c_int {
    with_port(|port| {
        place(my_addr, size)?;
        let data = my_addr.cast();
        area.with_bytes_and_flag(rank as usize, offset, flag, flag_offset, move |to, flag| {
            // SAFETY: the caller's to read.
            Ok(unsafe { port.push_notify_from(to, data, size, flag, value) }?)
        })
    })
}

/// Remote write, then a word here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_push_status(
    my_addr: *const c_void,
    rank: c_int,
    area: Handle,
    offset: usize,
    size: usize,
    status: Handle,
    status_offset: usize,
    value: u64,
) -> c_int {
    with_port(|port| {
        place(my_addr, size)?;
        let data = my_addr.cast();
        let status = status.entry()?.own_word(port.rank(), status_offset)?;
        area.with_bytes(rank as usize, offset, move |to| {
            // SAFETY: the caller's to read.
            Ok(unsafe { port.push_status_from(to, data, size, status, value) }?)
        })
    })
}

/// Remote read, then a word here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_pull_status(
    my_addr: *mut c_void,
    rank: c_int,
    area: Handle,
    offset: usize,
    size: usize,
    status: Handle,
    status_offset: usize,
    value: u64,
) -> c_int {
    with_port(|port| {
        place(my_addr, size)?;
        let into = my_addr.cast();
        let status = status.entry()?.own_word(port.rank(), status_offset)?;
        area.with_bytes(rank as usize, offset, move |from| {
            // SAFETY: the caller's to write.
            Ok(unsafe { port.pull_status_into(from, into, size, status, value) }?)
        })
    })
}

/// Changes a word atomically.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_atomic(
    rank: c_int,
    area: Handle,
    offset: usize,
    op: c_int,
    operand: u64,
    expected: u64,
    before: *mut u64,
) -> c_int {
    with_port(|port| {
        let operation = match op {
            0 => Atomic::Add(operand),
            1 => Atomic::Swap(operand),
            2 => Atomic::CompareSwap { old: expected, new: operand },
            3 => Atomic::And(operand),
            4 => Atomic::Or(operand),
            5 => Atomic::Xor(operand),
            _ => return Err(Failure::Choice { what: "hk_atomic_op", value: op.into() }),
        };
        let old = area.with_word(rank as usize, offset, move |at| Ok(port.atomic(at, operation)?))?;
        // SAFETY: null, or the caller's to write.
        unsafe { give(before, old) };
        Ok(())
    })
}

/// Adds to a word.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_fetch_add(rank: c_int, area: Handle, offset: usize, value: u64, before: *mut u64) -> c_int {
    with_port(|port| {
        let old = area.with_word(rank as usize, offset, move |at| Ok(port.fetch_add(at, value)?))?;
        // SAFETY: null, or the caller's to write.
        unsafe { give(before, old) };
        Ok(())
    })
}

/// Waits until everything pushed to a rank is there.
#[unsafe(no_mangle)]
pub extern "C" fn hk_flush(rank: c_int) -> c_int {
    with_port(|port| Ok(port.flush(rank as usize)?))
}

/// Waits until everything started is done.
#[unsafe(no_mangle)]
pub extern "C" fn hk_sync() -> c_int {
    with_port(|port| Ok(port.sync()?))
}
