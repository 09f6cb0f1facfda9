//! Pulls and pushes that go on beside the program.

use crate::entry::with_port;
use crate::error::Failure;
use crate::given::{InOut, Lasting, Out, exported};
use crate::handle::Handle;
use crate::wait::timeout;
use core_hikyaku::ffi::RawTransfers;
use core_hikyaku::{Error, Place, Port};
use std::ffi::c_int;

/// `hk_transfer`: 0 for one that has ended.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Transfer(u64);

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

    /// Whether a transfer has ended.
    pub fn hk_transfer_test(transfer: InOut<'_, Transfer>) -> c_int {
        with_port(|port| {
            let Transfer(number) = transfer.read("the transfer")?;
            Ok(ended(&transfer, port.test_transfer(number))?)
        })
    }

    /// Waits for a transfer.
    pub fn hk_transfer_wait(transfer: InOut<'_, Transfer>, timeout_ms: c_int) -> c_int {
        with_port(|port| {
            let Transfer(number) = transfer.read("the transfer")?;
            let patience = timeout(timeout_ms);
            match ended(&transfer, port.wait_transfer(number, patience))? {
                true => Ok(()),
                false => Err(Error::Timeout { after: patience.unwrap_or_default() }.into()),
            }
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
        transfer.give(Transfer(started));
        Ok(())
    })
}

/// One that has ended, by an error too, is none any more.
fn ended(transfer: &InOut<'_, Transfer>, outcome: core_hikyaku::Result<bool>) -> core_hikyaku::Result<bool> {
    if !matches!(outcome, Ok(false) | Err(Error::InHandler | Error::InFunction | Error::Invalid(_))) {
        transfer.give(Transfer(0));
    }
    outcome
}
