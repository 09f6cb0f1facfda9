//! Beginning and ending, and the global area that every rank has a part of.

use super::error::{OMPL_SUCCESS, guarded};
use super::ports;
use crate::error::Failure;
use crate::given::{Address, exported};
use crate::process::{self, Interface};
use crate::thread;
use core_hikyaku::{Job, Place, Port, PortPool, Symmetric};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// What there is between `ompl_init` and `ompl_finalize`; else null. Written by these two, read by every call.
static CURRENT: AtomicPtr<Ompl> = AtomicPtr::new(null_mut());

/// The global area, and ports for threads that find no other.
pub struct Ompl {
    pub area: Symmetric<u8>,
    /// This rank's part of it.
    pub base: Address,
    pub rank: usize,
    pub size: usize,
    pub pool: PortPool,
}

impl Ompl {
    /// Makes it, together with all ranks.
    fn new(job: &Job, bytes: usize) -> Result<Ompl, Failure> {
        // First what all ranks do together: one of them that goes no further leaves nobody waiting.
        let area: Symmetric<u8> = job.symmetric(bytes)?;
        let pool = ports::keep_back(job)?;
        Ok(Ompl { base: Address(area.as_ptr().cast()), area, rank: job.rank(), size: job.size(), pool })
    }

    /// What there is now.
    #[inline(always)]
    pub fn running<'a>() -> Result<&'a Ompl, Failure> {
        let ompl = CURRENT.load(Ordering::Acquire);
        if ompl.is_null() {
            return Err(why_not());
        }
        // SAFETY: from `ompl_init`. It stays during the call, since the header forbids to end it while one is under way.
        Ok(unsafe { &*ompl })
    }

    /// Goes on with a port of this thread, or one that is lent to it.
    #[inline(always)]
    pub fn with_port<R>(&self, body: impl FnOnce(&Port, bool) -> Result<R, Failure>) -> Result<R, Failure> {
        thread::with_some_port(&self.pool, body)
    }

    /// A flag of any rank.
    #[inline(always)]
    pub fn flag(&self, rank: usize, offset: usize) -> Result<Place<'_, u64>, Failure> {
        crate::handle::check_word(offset, self.area.len())?;
        Ok(self.area.at(rank, offset).cast()?)
    }
}

/// Why there is none.
#[cold]
fn why_not() -> Failure {
    match process::why_not(process::epoch()) {
        Some(failure @ Failure::Library(_)) => failure,
        _ => Failure::NotStarted,
    }
}

exported! {
    /// Joins the job and makes the global area.
    pub fn ompl_init(bytes: usize) -> c_int {
        guarded(|| {
            process::join(Interface::Ompl)?;
            let made = thread::with_job(|job| Ompl::new(job, bytes));
            match made {
                Ok(ompl) => CURRENT.store(Box::into_raw(Box::new(ompl)), Ordering::Release),
                Err(failure) => {
                    // The first error tells more.
                    let _ = process::leave(Interface::Ompl);
                    return Err(failure);
                }
            }
            Ok(OMPL_SUCCESS)
        })
    }

    /// Ends it, together with all ranks.
    pub fn ompl_finalize() -> c_int {
        guarded(|| {
            Ompl::running()?;
            thread::job()?;
            thread::refuse_in_handler()?;
            let ompl = CURRENT.swap(null_mut(), Ordering::AcqRel);
            // SAFETY: from `ompl_init`, and found above by the only thread that takes it; no call is under way, as the header demands.
            let Ompl { area, pool, .. } = *unsafe { Box::from_raw(ompl) };
            let freed = thread::with_job(|job| Ok(await_puts(job, &area).and_then(|()| job.free(area))?));
            drop(pool);
            process::leave(Interface::Ompl)?;
            freed.map(|()| OMPL_SUCCESS)
        })
    }

    /// This rank's part of the area; null outside of `ompl_init` and `ompl_finalize`.
    pub fn ompl_base() -> *mut c_void {
        let mut base = null_mut();
        guarded(|| {
            base = found()?.base.0;
            Ok(OMPL_SUCCESS)
        });
        base
    }

    /// This rank.
    pub fn ompl_rank() -> c_int {
        guarded(|| Ok(found()?.rank as c_int))
    }

    /// The number of ranks.
    pub fn ompl_size() -> c_int {
        guarded(|| Ok(found()?.size as c_int))
    }
}

/// Waits until what other threads of this rank have put has arrived: a read goes the same way, after it.
fn await_puts(job: &Job, area: &Symmetric<u8>) -> core_hikyaku::Result<()> {
    for rank in 0..job.size() {
        if !area.is_empty() && !job.is_mapped(rank)? {
            job.pull_one(area.at(rank, 0))?;
        }
    }
    Ok(())
}

/// What there is now, in a process that is no fork.
fn found<'a>() -> Result<&'a Ompl, Failure> {
    match process::why_not(process::epoch()) {
        Some(failure) => Err(failure),
        None => Ompl::running(),
    }
}
