//! Copies between any two ranks. The header has the full description of each.

use crate::entry::with_port;
use crate::given::exported;
use crate::handle::Handle;
use std::ffi::c_int;

exported! {
    /// Copies memory of one rank to another.
    pub fn hk_bcopy(
        from_rank: c_int,
        from: Handle,
        from_offset: usize,
        to_rank: c_int,
        to: Handle,
        to_offset: usize,
        size: usize,
    ) -> c_int {
        with_port(|port| {
            from.with_bytes(from_rank as usize, from_offset, move |from| {
                to.with_bytes(to_rank as usize, to_offset, move |to| Ok(port.copy(from, to, size)?))
            })
        })
    }

    /// And then writes a word there.
    pub fn hk_bcopy_notify(
        from_rank: c_int,
        from: Handle,
        from_offset: usize,
        to_rank: c_int,
        to: Handle,
        to_offset: usize,
        size: usize,
        flag: Handle,
        flag_offset: usize,
        value: u64,
    ) -> c_int {
        with_port(|port| {
            from.with_bytes(from_rank as usize, from_offset, move |from| {
                to.with_bytes_and_flag(to_rank as usize, to_offset, flag, flag_offset, move |to, flag| {
                    Ok(port.copy_notify(from, to, size, flag, value)?)
                })
            })
        })
    }
}
