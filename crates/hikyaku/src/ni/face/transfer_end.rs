//! The end of transfers, which are known by their tokens here.

use super::port::Port;
use crate::error::Result;
use crate::ni::state::inside::refuse_in_handler;
use std::time::Duration;

/// Waits for one; nothing if that takes longer than `timeout`. Unless it is under way then, it has ended.
#[track_caller]
pub(super) fn wait(port: &Port, scope: u32, token: u64, timeout: Option<Duration>) -> Result<Option<()>> {
    port.enter(&"wait");
    let ended = port.initiator.await_transfer(scope, token, timeout)?;
    if ended.is_some() {
        port.initiator.end_transfer(token);
    }
    ended.transpose()
}

/// Waits for one of several, which has ended then; nothing if that takes longer than `timeout`.
#[track_caller]
pub(super) fn wait_any(
    port: &Port,
    scope: u32,
    tokens: &[u64],
    timeout: Option<Duration>,
) -> Result<Option<(usize, Result<()>)>> {
    port.enter(&"wait_any");
    let ended = port.initiator.await_any_transfer(scope, tokens, timeout)?;
    if let Some((at, _)) = &ended {
        port.initiator.end_transfer(tokens[*at]);
    }
    Ok(ended)
}

/// Whether one has ended.
pub(super) fn test(port: &Port, scope: u32, token: u64) -> Result<Option<()>> {
    let ended = port.initiator.test_transfer(scope, token)?;
    if ended.is_some() {
        port.initiator.end_transfer(token);
    }
    ended.transpose()
}

/// Waits for all of a scope.
#[track_caller]
pub(super) fn wait_all(port: &Port, scope: u32) -> Result<()> {
    let (mut from, mut result) = (0, Ok(()));
    // A handler would end what the program waits for just now.
    if port.initiator.transfer_of(scope, from).is_some() {
        refuse_in_handler()?;
    }
    while let Some((token, next)) = port.initiator.transfer_of(scope, from) {
        result = result.and(wait(port, scope, token, None).map(drop));
        from = next;
    }
    result
}
