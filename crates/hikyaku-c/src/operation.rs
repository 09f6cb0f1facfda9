//! Remote operations. The header has the full description of each.

use crate::entry::with_port;
use crate::error::Failure;
use crate::given::{Out, Source, Target, exported};
use crate::handle::Handle;
use core_hikyaku::{Atomic, AtomicNumber, Port, PushPath};
use std::ffi::c_int;

exported! {
    /// Remote write.
    pub fn hk_push(
        my_addr: Source<'_>,
        rank: c_int,
        area: Handle,
        offset: usize,
        size: usize,
    ) -> c_int {
        with_port(|port| {
            area.with_bytes(rank as usize, offset, move |to| my_addr.push(port, to, size))
        })
    }

    /// Remote write by a given path.
    pub fn hk_push_by(path: c_int, my_addr: Source<'_>, rank: c_int, area: Handle, offset: usize, size: usize) -> c_int {
        with_port(|port| {
            let path = push_path(path)?;
            area.with_bytes(rank as usize, offset, move |to| my_addr.push_by(port, path, to, size))
        })
    }

    /// Remote read.
    pub fn hk_pull(my_addr: Target<'_>, rank: c_int, area: Handle, offset: usize, size: usize) -> c_int {
        with_port(|port| {
            area.with_bytes(rank as usize, offset, move |from| my_addr.pull(port, from, size))
        })
    }

    /// Remote write of a word.
    pub fn hk_word(rank: c_int, area: Handle, offset: usize, value: u64) -> c_int {
        with_port(|port| area.with_word(rank as usize, offset, move |to| Ok(port.word(to, value)?)))
    }

    /// Remote write, then a word at the target.
    pub fn hk_push_notify(
        my_addr: Source<'_>,
        rank: c_int,
        area: Handle,
        offset: usize,
        size: usize,
        flag: Handle,
        flag_offset: usize,
        value: u64,
    ) -> c_int {
        with_port(|port| {
            area.with_bytes_and_flag(rank as usize, offset, flag, flag_offset, move |to, flag| my_addr.push_notify(port, to, size, flag, value))
        })
    }

    /// Remote write, then an addition at the target.
    pub fn hk_push_notify_add(
        my_addr: Source<'_>,
        rank: c_int,
        area: Handle,
        offset: usize,
        size: usize,
        counter: Handle,
        counter_offset: usize,
        amount: u64,
    ) -> c_int {
        with_port(|port| {
            area.with_bytes_and_flag(rank as usize, offset, counter, counter_offset, move |to, counter| my_addr.push_notify_add(port, to, size, counter, amount))
        })
    }

    /// Remote write, then a word here.
    pub fn hk_push_status(
        my_addr: Source<'_>,
        rank: c_int,
        area: Handle,
        offset: usize,
        size: usize,
        status: Handle,
        status_offset: usize,
        value: u64,
    ) -> c_int {
        with_port(|port| {
            let status = status.entry()?.own_word(port.rank(), status_offset)?;
            area.with_bytes(rank as usize, offset, move |to| my_addr.push_status(port, to, size, status, value))
        })
    }

    /// Remote read, then a word here.
    pub fn hk_pull_status(
        my_addr: Target<'_>,
        rank: c_int,
        area: Handle,
        offset: usize,
        size: usize,
        status: Handle,
        status_offset: usize,
        value: u64,
    ) -> c_int {
        with_port(|port| {
            let status = status.entry()?.own_word(port.rank(), status_offset)?;
            area.with_bytes(rank as usize, offset, move |from| my_addr.pull_status(port, from, size, status, value))
        })
    }

    /// Changes a word atomically.
    pub fn hk_atomic(
        rank: c_int,
        area: Handle,
        offset: usize,
        op: c_int,
        operand: u64,
        expected: u64,
        before: Out<'_, u64>,
    ) -> c_int {
        with_port(|port| {
            let operation = operation(op, operand, expected)?;
            let old = area.with_word(rank as usize, offset, move |at| Ok(port.atomic(at, operation)?))?;
            before.give(old);
            Ok(())
        })
    }

    /// Adds to a word.
    pub fn hk_fetch_add(rank: c_int, area: Handle, offset: usize, value: u64, before: Out<'_, u64>) -> c_int {
        with_port(|port| {
            let old = area.with_word(rank as usize, offset, move |at| Ok(port.fetch_add(at, value)?))?;
            before.give(old);
            Ok(())
        })
    }

    /// Changes 4 bytes atomically.
    pub fn hk_atomic_u32(
        rank: c_int,
        area: Handle,
        offset: usize,
        op: c_int,
        operand: u32,
        expected: u32,
        before: Out<'_, u32>,
    ) -> c_int {
        with_port(|port| change(port, rank, area, offset, operation(op, operand, expected)?, before))
    }

    /// Changes a signed word atomically.
    pub fn hk_atomic_i64(
        rank: c_int,
        area: Handle,
        offset: usize,
        op: c_int,
        operand: i64,
        expected: i64,
        before: Out<'_, i64>,
    ) -> c_int {
        with_port(|port| change(port, rank, area, offset, operation(op, operand, expected)?, before))
    }

    /// Adds to 4 bytes.
    pub fn hk_fetch_add_u32(rank: c_int, area: Handle, offset: usize, value: u32, before: Out<'_, u32>) -> c_int {
        with_port(|port| change(port, rank, area, offset, Atomic::Add(value), before))
    }

    /// Adds to a signed word.
    pub fn hk_fetch_add_i64(rank: c_int, area: Handle, offset: usize, value: i64, before: Out<'_, i64>) -> c_int {
        with_port(|port| change(port, rank, area, offset, Atomic::Add(value), before))
    }

    /// Adds to a floating-point number.
    pub fn hk_fetch_add_f64(rank: c_int, area: Handle, offset: usize, value: f64, before: Out<'_, f64>) -> c_int {
        with_port(|port| change(port, rank, area, offset, Atomic::Add(value), before))
    }

    /// Waits until everything pushed to a rank is there.
    pub fn hk_flush(rank: c_int) -> c_int {
        with_port(|port| Ok(port.flush(rank as usize)?))
    }

    /// Waits until everything started is done.
    pub fn hk_sync() -> c_int {
        with_port(|port| Ok(port.sync()?))
    }
}

/// What `hk_path` means.
fn push_path(path: c_int) -> Result<PushPath, Failure> {
    Ok(match path {
        0 => PushPath::Word,
        1 => PushPath::Window,
        2 => PushPath::Bulk,
        _ => return Err(Failure::Choice { what: "hk_path", value: path.into() }),
    })
}

/// What `hk_atomic_op` means.
fn operation<T>(op: c_int, operand: T, expected: T) -> Result<Atomic<T>, Failure> {
    Ok(match op {
        0 => Atomic::Add(operand),
        1 => Atomic::Swap(operand),
        2 => Atomic::CompareSwap { old: expected, new: operand },
        3 => Atomic::And(operand),
        4 => Atomic::Or(operand),
        5 => Atomic::Xor(operand),
        _ => return Err(Failure::Choice { what: "hk_atomic_op", value: op.into() }),
    })
}

fn change<T: AtomicNumber>(
    port: &Port,
    rank: c_int,
    area: Handle,
    offset: usize,
    operation: Atomic<T>,
    before: Out<'_, T>,
) -> Result<(), Failure> {
    let old = area.with_bytes(rank as usize, offset, move |at| Ok(port.atomic(at.cast()?, operation)?))?;
    before.give(old);
    Ok(())
}
