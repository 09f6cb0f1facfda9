//! What the program sees of a lock.

use super::turn::RawMutex;
use crate::error::Result;
use crate::job::Job;
use std::time::Duration;

/// A lock of all ranks: one rank at a time holds it, and requests are served in the order in which they came.
///
/// [`Job::mutex`] makes it. It protects whatever the ranks agree on: a table of one of them, a file, a device. What an owner has written
/// to memory of any rank before it released the lock, the next owner sees.
///
/// If an owner dies, or leaves the job without releasing the lock, the next one gets it and is told
/// ([`MutexGuard::owner_died`]). If an owner cannot be reached any more, it may still be inside, so nobody gets the lock, and those who
/// wait for that rank fail with [`crate::Error::Unreachable`]. If the manager is gone, the lock is gone.
///
/// ```
/// hikyaku::local(4, |job| {
///     let counter = job.symmetric::<u64>(1)?;
///     let mutex = job.mutex(0)?;
///     for _ in 0..10 {
///         let guard = mutex.lock()?;
///         let value = job.pull_one(counter.at(2, 0))?;
///         job.push(counter.at(2, 0), &[value + 1])?; // nobody else is here
///         guard.unlock()?;
///     }
///     job.barrier()?;
///     assert_eq!(job.pull_one(counter.at(2, 0))?, 40);
///     mutex.free()
/// })
/// .unwrap();
/// ```
#[derive(Debug)]
pub struct Mutex<'j> {
    job: &'j Job,
    pub(super) raw: RawMutex,
}

/// This rank holds a lock. When it is dropped, the lock is released.
///
/// If it is dropped by a panic, the next owner is told that an owner has died. If it is dropped in a handler, or in a function of a
/// reduction, where nothing can be waited for, the lock is released when this rank next asks for it. If it is forgotten ([`std::mem::forget`]), this rank holds
/// the lock until it leaves the job.
#[must_use = "the lock is released when this is dropped"]
#[derive(Debug)]
pub struct MutexGuard<'m> {
    mutex: &'m Mutex<'m>,
    owner_died: bool,
}

impl Job {
    /// Makes a lock whose queue is in the memory of `manager`. All ranks call it together, with the same argument. The manager's program
    /// does nothing for it; a lock is fastest for ranks on the manager's host.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let mutex = job.mutex(0)?;
    /// {
    ///     let _guard = mutex.lock()?;
    ///     // One rank at a time is here.
    /// }
    /// mutex.free()?;
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[track_caller]
    pub fn mutex(&self, manager: usize) -> Result<Mutex<'_>> {
        self.enter(&"mutex");
        Ok(Mutex { job: self, raw: RawMutex::new(self, manager)? })
    }
}

impl<'j> Mutex<'j> {
    /// Waits for the lock. Whoever came first gets it first.
    ///
    /// Fails if this rank holds it already, in handlers, and if the manager or an owner cannot be reached any more.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// # let mutex = job.mutex(0)?;
    /// let guard = mutex.lock()?;
    /// if guard.owner_died() {
    ///     // Repair what it may have left half done.
    /// }
    /// assert!(mutex.lock().is_err()); // it would wait for itself
    /// guard.unlock()?;
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> Result<MutexGuard<'_>> {
        match self.raw.take_at_once(self.job) {
            Some(owner_died) => Ok(self.guard(owner_died)),
            None => self.lock_in_line(),
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn lock_in_line(&self) -> Result<MutexGuard<'_>> {
        self.job.enter(&"lock");
        self.raw.take(self.job, None).map(|owner_died| self.guard(owner_died))
    }

    /// Waits for the lock, for `timeout` at most; fails with [`crate::Error::Timeout`] then. A rank that comes back before the lock has
    /// passed it by has its old place in the queue.
    ///
    /// ```
    /// # hikyaku::local(1, |job| {
    /// use hikyaku::Error;
    /// use std::time::Duration;
    /// # let mutex = job.mutex(0)?;
    /// match mutex.lock_for(Duration::from_millis(10)) {
    ///     Ok(_guard) => println!("nobody else is here"),
    ///     Err(Error::Timeout { .. }) => println!("do something else meanwhile"),
    ///     Err(error) => return Err(error),
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[track_caller]
    pub fn lock_for(&self, timeout: Duration) -> Result<MutexGuard<'_>> {
        self.job.enter(&"lock_for");
        self.raw.take(self.job, Some(timeout)).map(|owner_died| self.guard(owner_died))
    }

    /// Takes the lock if it is free; `None` if another rank has it or waits for it.
    ///
    /// ```
    /// # hikyaku::local(1, |job| {
    /// # let mutex = job.mutex(0)?;
    /// if let Some(guard) = mutex.try_lock()? {
    ///     guard.unlock()?;
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[track_caller]
    pub fn try_lock(&self) -> Result<Option<MutexGuard<'_>>> {
        self.job.enter(&"try_lock");
        Ok(self.raw.try_take(self.job)?.map(|owner_died| self.guard(owner_died)))
    }

    /// The rank that has the queue.
    pub fn manager(&self) -> usize {
        self.raw.manager
    }

    /// Frees the lock's memory. All ranks call it together. A lock that is only dropped stays allocated until the job ends.
    #[track_caller]
    pub fn free(self) -> Result<()> {
        self.job.enter(&"free");
        self.raw.free(self.job)
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn hand_over(&self) -> Result<()> {
        self.job.enter(&"unlock");
        self.raw.let_go(self.job, false)
    }

    fn guard(&self, owner_died: bool) -> MutexGuard<'_> {
        MutexGuard { mutex: self, owner_died }
    }
}

impl MutexGuard<'_> {
    /// Whether an owner before this one has died, or left the job, without releasing the lock, or has panicked or lost a rank while it
    /// held it. What the lock protects may then be half done. Only the next owner is told.
    pub fn owner_died(&self) -> bool {
        self.owner_died
    }

    /// The number of this turn. Whoever gets the lock later has a higher one, so it tells what a later owner has written from what an earlier one
    /// writes late (others call it a fencing token). Turns are counted from 0 and given in the order in which they were asked for; those of
    /// ranks that have died or given up are left out.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let mutex = job.mutex(0)?;
    /// let first = mutex.lock()?.turn();
    /// assert!(mutex.lock()?.turn() > first);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn turn(&self) -> u64 {
        self.mutex.raw.turn()
    }

    /// Releases the lock, after everything that this rank has pushed has arrived. Dropping the guard does the same, without telling
    /// of errors.
    #[track_caller]
    pub fn unlock(self) -> Result<()> {
        let mutex = self.mutex;
        std::mem::forget(self);
        if mutex.raw.release_at_once(mutex.job, false) { Ok(()) } else { mutex.hand_over() }
    }
}

impl Drop for MutexGuard<'_> {
    fn drop(&mut self) {
        // An error is that of a push, which a flush reports too, or of a manager that is gone, and with it the lock.
        let _ = self.mutex.raw.let_go(self.mutex.job, std::thread::panicking());
    }
}
