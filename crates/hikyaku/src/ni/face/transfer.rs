//! Pulls and pushes that go on beside the program. They borrow their buffers, so in safe code they live in a scope, which ends only when
//! all of them have ended.

use super::port::Port;
use super::raw::RawPort;
use super::transfer_end::{test, wait, wait_all, wait_any};
use crate::error::Result;
use crate::ni::reach::place::{Place, Reach};
use crate::ni::state::form::Local;
use crate::ni::state::transfer::BY_ADDRESS;
use crate::ni::wire::target::Target;
use bytemuck::Pod;
use std::marker::PhantomData;
use std::time::Duration;

/// Where pulls and pushes are started that go on beside the program; see [`Port::scope`].
pub struct TransferScope<'scope, 'env: 'scope> {
    pub(super) port: &'scope Port,
    /// Which scope of this port it is.
    pub(super) number: u32,
    env: PhantomData<&'scope mut &'env ()>,
}

impl std::fmt::Debug for TransferScope<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TransferScope").field("port", self.port).field("number", &self.number).finish_non_exhaustive()
    }
}

/// A pull or a push that was started; see [`Port::scope`].
#[derive(Debug)]
#[must_use = "a transfer that is not waited for ends with its scope"]
pub struct Transfer(
    /// `None`: it ended at once.
    pub(super) Option<u64>,
);

impl Port {
    /// Runs `work` with a scope in which pulls and pushes are started that go on while the program computes. Returns when all of them have
    /// ended. Any number of them can be under way, with one rank or several. Those with ranks whose memory is mapped here end at once;
    /// the others go on by themselves, one beside the other.
    ///
    /// If `work` panics, nothing is waited for: what is under way is given up. Then some bytes of a push may have arrived, and some of a
    /// pull.
    ///
    /// A transfer is not ordered with others, nor with words, until it was waited for. [`Port::flush`], [`Port::sync`] and barriers wait
    /// for transfers too; only waiting for the transfer itself tells whether it was refused.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let table = job.symmetric::<u64>(1000)?;
    /// table.write(0, &[job.rank() as u64; 1000]);
    /// job.barrier()?;
    /// let peer = 1 - job.rank();
    /// let (mut low, mut high) = ([9; 400], [9; 400]);
    /// job.scope(|scope| {
    ///     let first = scope.start_pull(table.at(peer, 0), &mut low)?;
    ///     let second = scope.start_pull(table.at(peer, 600), &mut high)?;
    ///     // Compute something here.
    ///     scope.wait(first)?;
    ///     scope.wait(second)
    /// })?;
    /// assert_eq!((low, high), ([peer as u64; 400], [peer as u64; 400]));
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// Until the scope has ended, a buffer that is pulled into cannot be read,
    ///
    /// ```compile_fail,E0502
    /// # hikyaku::local(2, |job| {
    /// # let table = job.symmetric::<u64>(10)?;
    /// let mut copy = [0; 10];
    /// job.scope(|scope| {
    ///     let pull = scope.start_pull(table.at(0, 0), &mut copy)?;
    ///     println!("{}", copy[0]);
    ///     scope.wait(pull)
    /// })
    /// # }).unwrap();
    /// ```
    ///
    /// one that is pushed from cannot be changed,
    ///
    /// ```compile_fail,E0506
    /// # hikyaku::local(2, |job| {
    /// # let table = job.symmetric::<u64>(10)?;
    /// let mut data = [1; 10];
    /// job.scope(|scope| {
    ///     let push = scope.start_push(table.at(0, 0), &data)?;
    ///     data[0] = 2;
    ///     scope.wait(push)
    /// })
    /// # }).unwrap();
    /// ```
    ///
    /// and one that ends before the scope cannot be used at all.
    ///
    /// ```compile_fail,E0597
    /// # hikyaku::local(2, |job| {
    /// # let table = job.symmetric::<u64>(10)?;
    /// job.scope(|scope| {
    ///     let mut copy = [0; 10];
    ///     let pull = scope.start_pull(table.at(0, 0), &mut copy)?;
    ///     scope.wait(pull)
    /// })
    /// # }).unwrap();
    /// ```
    #[track_caller]
    pub fn scope<'env, R>(
        &self,
        work: impl for<'scope> FnOnce(&'scope TransferScope<'scope, 'env>) -> Result<R>,
    ) -> Result<R> {
        let scope = TransferScope { port: self, number: self.initiator.begin_scope(), env: PhantomData };
        let result = work(&scope);
        // On a panic in `work`, and where nothing can be waited for, the scope's destructor gives them up.
        let ended = scope.wait_all();
        let result = result?;
        ended.map(|()| result)
    }
}

impl<'scope, 'env> TransferScope<'scope, 'env> {
    /// Starts to read from a place into `into`, where the data are when it was waited for. Fails in a handler, unless the memory is
    /// mapped here.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let table = job.symmetric::<f64>(8)?;
    /// table.write(0, &[job.rank() as f64; 8]);
    /// job.barrier()?;
    /// let mut parts = [[9.0; 8]; 2];
    /// job.scope(|scope| {
    ///     for (rank, part) in parts.iter_mut().enumerate() {
    ///         let _ = scope.start_pull(table.at(rank, 0), part)?; // the scope waits for it
    ///     }
    ///     Ok(())
    /// })?;
    /// assert_eq!(parts, [[0.0; 8], [1.0; 8]]);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn start_pull<T: Pod>(&'scope self, from: Place<'env, T>, into: &'env mut [T]) -> Result<Transfer> {
        // SAFETY: the buffer is borrowed for longer than the scope, which ends the transfer; any bytes are a valid `T`.
        unsafe { pull(self.port, self.number, from, into.as_mut_ptr(), into.len()).map(Transfer) }
    }

    /// Starts to write `data` to a place, where they are when it was waited for. Fails in a handler, unless the memory is mapped here.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let (table, flag) = (job.symmetric::<u32>(5000)?, job.symmetric::<u64>(1)?);
    /// let data = vec![job.rank() as u32 + 1; 5000];
    /// let peer = 1 - job.rank();
    /// job.scope(|scope| {
    ///     let push = scope.start_push(table.at(peer, 0), &data)?;
    ///     // Compute something here.
    ///     scope.wait(push)
    /// })?;
    /// job.word(flag.at(peer, 0), 1)?; // the data are there
    /// job.wait(flag.here(0), hikyaku::Until::Equal(1))?;
    /// assert_eq!(table.get(4999), peer as u32 + 1);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn start_push<T: Pod>(&'scope self, to: Place<'env, T>, data: &'env [T]) -> Result<Transfer> {
        // SAFETY: the buffer is borrowed for longer than the scope, which ends the transfer.
        unsafe { push(self.port, self.number, to, data.as_ptr(), data.len()).map(Transfer) }
    }

    /// Waits until a transfer has ended. Fails if it was refused, because its area was revoked meanwhile, or if its rank is gone.
    ///
    /// ```
    /// # hikyaku::local(1, |job| {
    /// let table = job.symmetric::<u8>(3)?;
    /// let mut copy = [9; 3];
    /// job.scope(|scope| {
    ///     let pull = scope.start_pull(table.at(0, 0), &mut copy)?;
    ///     scope.wait(pull)
    /// })?;
    /// assert_eq!(copy, [0; 3]);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[track_caller]
    pub fn wait(&self, transfer: Transfer) -> Result<()> {
        match transfer.0 {
            // Without a timeout there is an end.
            Some(token) => wait(self.port, self.number, token, None).map(drop),
            None => Ok(()),
        }
    }

    /// Waits until a transfer has ended, for `timeout` at most; if it has not ended by then, it is under way as before, and comes back.
    ///
    /// ```
    /// # hikyaku::local(1, |job| {
    /// # let table = job.symmetric::<u8>(3)?;
    /// # let mut copy = [9; 3];
    /// job.scope(|scope| {
    ///     let mut pull = scope.start_pull(table.at(0, 0), &mut copy)?;
    ///     while let Err(under_way) = scope.wait_for(pull, std::time::Duration::from_millis(10))? {
    ///         println!("still waiting");
    ///         pull = under_way;
    ///     }
    ///     Ok(())
    /// })
    /// # .unwrap(); job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[track_caller]
    pub fn wait_for(&self, transfer: Transfer, timeout: Duration) -> Result<std::result::Result<(), Transfer>> {
        let Some(token) = transfer.0 else { return Ok(Ok(())) };
        Ok(wait(self.port, self.number, token, Some(timeout))?.ok_or(transfer))
    }

    /// Whether a transfer has ended; if not, it comes back.
    ///
    /// ```
    /// # hikyaku::local(1, |job| {
    /// # let table = job.symmetric::<u8>(3)?;
    /// # let mut copy = [9; 3];
    /// job.scope(|scope| {
    ///     let mut pull = scope.start_pull(table.at(0, 0), &mut copy)?;
    ///     while let Err(under_way) = scope.test(pull)? {
    ///         pull = under_way;
    ///         // Compute something here.
    ///     }
    ///     Ok(())
    /// })
    /// # .unwrap(); job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn test(&self, transfer: Transfer) -> Result<std::result::Result<(), Transfer>> {
        let Some(token) = transfer.0 else { return Ok(Ok(())) };
        Ok(test(self.port, self.number, token)?.ok_or(transfer))
    }

    /// Waits until all transfers of this scope have ended; the first error is reported. Where nothing can be waited for, in a handler or in
    /// a function of a reduction, they are under way as before.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let table = job.symmetric::<u64>(10)?;
    /// let data = [5; 10];
    /// job.scope(|scope| {
    ///     for index in 0..10 {
    ///         let _ = scope.start_push(table.at(1 - job.rank(), index), &data[index..=index])?;
    ///     }
    ///     scope.wait_all()?;
    ///     println!("all ten are there");
    ///     Ok(())
    /// })?;
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[track_caller]
    pub fn wait_all(&self) -> Result<()> {
        wait_all(self.port, self.number)
    }
}

impl Drop for TransferScope<'_, '_> {
    fn drop(&mut self) {
        // Only after a panic, or where nothing can be waited for, is anything left.
        self.port.initiator.end_transfers(Some(self.number));
    }
}

/// Transfers by addresses, for interfaces to other languages. They are known by a number, which is 0 for one that ended at once.
pub trait RawTransfers: RawPort {
    /// [`TransferScope::start_push`] from `len` elements at `data`, which peers may change meanwhile.
    ///
    /// # Safety
    /// They can be read until one of the calls below has said that it has ended, or the port is dropped.
    unsafe fn start_push_from<T: Pod>(&self, to: Place<'_, T>, data: *const T, len: usize) -> Result<u64>;

    /// [`TransferScope::start_pull`] into `len` elements at `into`, which peers may change meanwhile.
    ///
    /// # Safety
    /// They can be written until one of the calls below has said that it has ended, or the port is dropped.
    unsafe fn start_pull_into<T: Pod>(&self, from: Place<'_, T>, into: *mut T, len: usize) -> Result<u64>;

    /// Waits for at most `timeout`; whether it has ended. It has ended also if this fails, except inside of handlers.
    fn wait_transfer(&self, transfer: u64, timeout: Option<Duration>) -> Result<bool>;

    /// Whether it has ended. It has ended also if this fails.
    fn test_transfer(&self, transfer: u64) -> Result<bool>;

    /// Waits for at most `timeout` until one of several has ended, none of which ended at once: which, and how; nothing if it takes longer.
    /// Fails if one of them is none, or inside of handlers.
    fn wait_any_transfer(&self, transfers: &[u64], timeout: Option<Duration>) -> Result<Option<(usize, Result<()>)>>;

    /// Waits for all that were started here by address; the first error is reported. They have ended also if this fails, except inside
    /// of handlers.
    fn wait_transfers(&self) -> Result<()>;
}

impl RawTransfers for Port {
    unsafe fn start_push_from<T: Pod>(&self, to: Place<'_, T>, data: *const T, len: usize) -> Result<u64> {
        // SAFETY: the caller's promise.
        unsafe { push(self, BY_ADDRESS, to, data, len) }.map(|token| token.unwrap_or(0))
    }

    unsafe fn start_pull_into<T: Pod>(&self, from: Place<'_, T>, into: *mut T, len: usize) -> Result<u64> {
        // SAFETY: the caller's promise.
        unsafe { pull(self, BY_ADDRESS, from, into, len) }.map(|token| token.unwrap_or(0))
    }

    #[track_caller]
    fn wait_transfer(&self, transfer: u64, timeout: Option<Duration>) -> Result<bool> {
        Ok(transfer == 0 || wait(self, BY_ADDRESS, transfer, timeout)?.is_some())
    }

    fn test_transfer(&self, transfer: u64) -> Result<bool> {
        Ok(transfer == 0 || test(self, BY_ADDRESS, transfer)?.is_some())
    }

    #[track_caller]
    fn wait_any_transfer(&self, transfers: &[u64], timeout: Option<Duration>) -> Result<Option<(usize, Result<()>)>> {
        wait_any(self, BY_ADDRESS, transfers, timeout)
    }

    #[track_caller]
    fn wait_transfers(&self) -> Result<()> {
        wait_all(self, BY_ADDRESS)
    }
}

/// # Safety
/// The elements can be written until the transfer has ended; peers may change them meanwhile.
unsafe fn pull<T: Pod>(port: &Port, scope: u32, from: Place<'_, T>, into: *mut T, len: usize) -> Result<Option<u64>> {
    let (Some(source), true) = (far_target(port, from, len)?, len * size_of::<T>() > 0) else {
        // SAFETY: the caller's promise.
        unsafe { port.pull_into(from, into, len)? };
        return Ok(None);
    };
    // SAFETY: the caller's promise.
    unsafe { port.initiator.start_transfer(scope, source, Local::Into(into.cast()), len * size_of::<T>()).map(Some) }
}

/// # Safety
/// The elements can be read until the transfer has ended; peers may change them meanwhile.
unsafe fn push<T: Pod>(port: &Port, scope: u32, to: Place<'_, T>, data: *const T, len: usize) -> Result<Option<u64>> {
    let (Some(target), true) = (far_target(port, to, len)?, len * size_of::<T>() > 0) else {
        // SAFETY: the caller's promise.
        unsafe { port.push_from(to, data, len)? };
        // Private memory of a near process may be written by its owner.
        if port.initiator.has_routed() && port.initiator.ni.is_near(to.rank()) {
            port.flush(to.rank())?;
        }
        return Ok(None);
    };
    // SAFETY: the caller's promise.
    unsafe { port.initiator.start_transfer(scope, target, Local::From(data.cast()), len * size_of::<T>()).map(Some) }
}

/// Where a place is on another host; none if it is on this one.
pub(super) fn far_target<T>(port: &Port, place: Place<'_, T>, len: usize) -> Result<Option<Target>> {
    Ok(match port.initiator.ni.resolve(place, len)? {
        Reach::Pointer(_) => None,
        Reach::Far(target) => Some(target),
        Reach::Area(area, offset) => (!port.initiator.ni.is_near(area.rank)).then(|| area.target(offset)),
    })
}
