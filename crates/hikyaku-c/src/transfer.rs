//! Pulls and pushes that go on beside the program.

use crate::entry::with_port;
use crate::error::Failure;
use crate::given::{In, InOut, Lasting, Out, Several, Source, Target, exported};
use crate::handle::Handle;
use crate::partial::CStride;
use crate::wait::timeout;
use core_hikyaku::ffi::{ByteParts, RawTransfers, Units};
use core_hikyaku::{Error, Place, Port};
use std::ffi::c_int;

/// `hk_transfer`: 0 for none; one that was started has another number until the program was told that it has ended.
#[derive(Clone, Copy, PartialEq)]
#[repr(transparent)]
pub struct Transfer(u64);

const NONE: Transfer = Transfer(0);
/// One that has ended at once. The numbers of others are larger.
const AT_ONCE: Transfer = Transfer(1);

impl Transfer {
    /// Its number in the library, which is 0 for one that has ended.
    fn number(self) -> u64 {
        if self == AT_ONCE { 0 } else { self.0 }
    }
}

exported! {
    /// Starts a remote write.
    pub fn hk_push_start(
        my_addr: Lasting,
        rank: c_int,
        area: Handle,
        offset: usize,
        size: usize,
        transfer: Out<'_, Transfer>,
    ) -> c_int {
        start(area, rank, offset, transfer, |port, to| my_addr.start_push(port, to, size))
    }

    /// Starts a remote read.
    pub fn hk_pull_start(
        my_addr: Lasting,
        rank: c_int,
        area: Handle,
        offset: usize,
        size: usize,
        transfer: Out<'_, Transfer>,
    ) -> c_int {
        start(area, rank, offset, transfer, |port, from| my_addr.start_pull(port, from, size))
    }

    /// Starts a remote write of blocks.
    pub fn hk_push_stride_start(
        my_addr: Source<'_>,
        rank: c_int,
        area: Handle,
        offset: usize,
        stride: CStride,
        transfer: Out<'_, Transfer>,
    ) -> c_int {
        let parts = ByteParts::Stride(stride.into());
        start(area, rank, offset, transfer, |port, to| my_addr.start_push_parts(port, to, parts))
    }

    /// Starts a remote read of blocks.
    pub fn hk_pull_stride_start(
        my_addr: Lasting,
        rank: c_int,
        area: Handle,
        offset: usize,
        stride: CStride,
        transfer: Out<'_, Transfer>,
    ) -> c_int {
        let parts = ByteParts::Stride(stride.into());
        start(area, rank, offset, transfer, |port, from| my_addr.start_pull_parts(port, from, parts))
    }

    /// Starts a remote write of marked units.
    pub fn hk_push_bitmap_start(
        my_addr: Source<'_>,
        rank: c_int,
        area: Handle,
        offset: usize,
        bitmap: In<'_, u64>,
        unit: usize,
        units: usize,
        transfer: Out<'_, Transfer>,
    ) -> c_int {
        start(area, rank, offset, transfer, |port, to| {
            let words = &bitmap.bitmap(unit, units)?;
            my_addr.start_push_parts(port, to, ByteParts::Marked(Units { unit, units, words }))
        })
    }

    /// Starts a remote read of marked units.
    pub fn hk_pull_bitmap_start(
        my_addr: Lasting,
        rank: c_int,
        area: Handle,
        offset: usize,
        bitmap: In<'_, u64>,
        unit: usize,
        units: usize,
        transfer: Out<'_, Transfer>,
    ) -> c_int {
        start(area, rank, offset, transfer, |port, from| {
            let words = &bitmap.bitmap(unit, units)?;
            my_addr.start_pull_parts(port, from, ByteParts::Marked(Units { unit, units, words }))
        })
    }

    /// Starts a remote write of what differs from a twin.
    pub fn hk_push_diff_start(
        my_addr: Source<'_>,
        rank: c_int,
        area: Handle,
        offset: usize,
        size: usize,
        twin: Target<'_>,
        unit: usize,
        pushed: Out<'_, usize>,
        transfer: Out<'_, Transfer>,
    ) -> c_int {
        start(area, rank, offset, transfer, |port, to| {
            let (started, count) = my_addr.start_push_diff(port, to, size, twin, unit)?;
            pushed.give(count);
            Ok(started)
        })
    }

    /// Whether a transfer has ended.
    pub fn hk_transfer_test(transfer: InOut<'_, Transfer>) -> c_int {
        with_port(|port| {
            let number = transfer.read("the transfer")?.number();
            Ok(ended(&transfer, port.test_transfer(number))?)
        })
    }

    /// Waits for a transfer.
    pub fn hk_transfer_wait(transfer: InOut<'_, Transfer>, timeout_ms: c_int) -> c_int {
        with_port(|port| {
            let number = transfer.read("the transfer")?.number();
            let patience = timeout(timeout_ms);
            match ended(&transfer, port.wait_transfer(number, patience))? {
                true => Ok(()),
                false => Err(Error::Timeout { after: patience.unwrap_or_default() }.into()),
            }
        })
    }

    /// Waits for one of several transfers.
    pub fn hk_transfer_wait_any(
        transfers: Several<'_, Transfer>,
        count: usize,
        timeout_ms: c_int,
        index: Out<'_, usize>,
    ) -> c_int {
        with_port(|port| {
            index.required("the index to be given")?;
            let list = transfers.read(count, TRANSFERS_MAX, "the transfers")?;
            if let Some(at) = list.iter().position(|transfer| *transfer == AT_ONCE) {
                transfers.give(at, count, NONE);
                index.give(at);
                return Ok(());
            }
            let under_way = list.iter().enumerate().filter(|(_, transfer)| **transfer != NONE);
            let (places, numbers): (Vec<_>, Vec<_>) = under_way.map(|(at, transfer)| (at, transfer.number())).unzip();
            if numbers.is_empty() {
                index.give(count);
                return Ok(());
            }
            let patience = timeout(timeout_ms);
            let Some((which, ended)) = port.wait_any_transfer(&numbers, patience)? else {
                return Err(Error::Timeout { after: patience.unwrap_or_default() }.into());
            };
            transfers.give(places[which], count, NONE);
            index.give(places[which]);
            Ok(ended?)
        })
    }

    /// Waits for all transfers of the calling thread.
    pub fn hk_transfer_wait_all() -> c_int {
        with_port(|port: &Port| Ok(port.wait_transfers()?))
    }
}

/// Gives the transfer that was begun.
fn start(
    area: Handle,
    rank: c_int,
    offset: usize,
    transfer: Out<'_, Transfer>,
    begin: impl FnOnce(&Port, Place<'_, u8>) -> Result<u64, Failure>,
) -> c_int {
    with_port(|port| {
        transfer.required("the transfer to be given")?;
        let started = area.with_bytes(rank as usize, offset, |place| begin(port, place))?;
        transfer.give(if started == 0 { AT_ONCE } else { Transfer(started) });
        Ok(())
    })
}

/// More than a thread can have.
const TRANSFERS_MAX: usize = 1 << 20;

/// One that has ended, by an error too, is none any more.
fn ended(transfer: &InOut<'_, Transfer>, outcome: core_hikyaku::Result<bool>) -> core_hikyaku::Result<bool> {
    if !matches!(outcome, Ok(false) | Err(Error::InHandler | Error::InFunction | Error::Invalid(_))) {
        transfer.give(NONE);
    }
    outcome
}
