//! Waiting for whichever of several transfers ends first.

use super::port::Port;
use super::transfer::{Transfer, TransferScope};
use super::transfer_end::wait_any;
use crate::error::{Error, Result};
use std::time::Duration;

impl TransferScope<'_, '_> {
    /// Waits until one of several transfers has ended. Gives which, and how it has ended, and takes it out of the list. Nothing if none is
    /// left in it. If this fails, all are under way as before.
    ///
    /// ```
    /// # hikyaku::local(3, |job| {
    /// let table = job.symmetric::<u64>(1000)?;
    /// table.write(0, &[job.rank() as u64; 1000]);
    /// job.barrier()?;
    /// let mut parts = [[9; 1000]; 3];
    /// let mut sum = 0;
    /// job.scope(|scope| {
    ///     let mut pulls = Vec::new();
    ///     for (rank, part) in parts.iter_mut().enumerate() {
    ///         pulls.push(Some(scope.start_pull(table.at(rank, 0), part)?));
    ///     }
    ///     while let Some((rank, ended)) = scope.wait_any(&mut pulls)? {
    ///         ended?;
    ///         sum += rank; // whose part comes first
    ///     }
    ///     Ok(())
    /// })?;
    /// assert_eq!((sum, parts[2]), (3, [2; 1000]));
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[track_caller]
    pub fn wait_any(&self, transfers: &mut [Option<Transfer>]) -> Result<Option<(usize, Result<()>)>> {
        wait_any_within(self.port, self.number, transfers, None)
    }

    /// Waits until one of several transfers has ended, as [`TransferScope::wait_any`], for `timeout` at most.
    ///
    /// ```
    /// # hikyaku::local(1, |job| {
    /// # let table = job.symmetric::<u8>(3)?;
    /// # let mut copy = [9; 3];
    /// job.scope(|scope| {
    ///     let mut pulls = [Some(scope.start_pull(table.at(0, 0), &mut copy)?)];
    ///     match scope.wait_any_for(&mut pulls, std::time::Duration::from_millis(10)) {
    ///         Err(hikyaku::Error::Timeout { .. }) => println!("still waiting"),
    ///         ended => assert!(matches!(ended?, Some((0, Ok(()))))),
    ///     }
    ///     Ok(())
    /// })
    /// # .unwrap(); job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// # Errors
    /// [`Error::Timeout`] if none has ended by then.
    #[track_caller]
    pub fn wait_any_for(
        &self,
        transfers: &mut [Option<Transfer>],
        timeout: Duration,
    ) -> Result<Option<(usize, Result<()>)>> {
        wait_any_within(self.port, self.number, transfers, Some(timeout))
    }
}

/// Waits for one of a list, and takes it out.
#[track_caller]
fn wait_any_within(
    port: &Port,
    scope: u32,
    transfers: &mut [Option<Transfer>],
    timeout: Option<Duration>,
) -> Result<Option<(usize, Result<()>)>> {
    let at_once = transfers.iter().position(|transfer| matches!(transfer, Some(Transfer(None))));
    if let Some(at) = at_once {
        transfers[at] = None;
        return Ok(Some((at, Ok(()))));
    }
    let under_way = |(at, transfer): (usize, &Option<Transfer>)| Some((at, transfer.as_ref()?.0?));
    let (places, tokens): (Vec<usize>, Vec<u64>) = transfers.iter().enumerate().filter_map(under_way).unzip();
    if tokens.is_empty() {
        return Ok(None);
    }
    match (wait_any(port, scope, &tokens, timeout)?, timeout) {
        (Some((which, ended)), _) => {
            transfers[places[which]] = None;
            Ok(Some((places[which], ended)))
        }
        (None, after) => Err(Error::Timeout { after: after.unwrap_or_default() }),
    }
}
