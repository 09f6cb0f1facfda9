//! Noticing that this process is a fork of a rank, at no cost.
//!
//! The number of ranks lives on a page that the kernel wipes in a forked child. There the job has 0 ranks, so the range check
//! that every operation makes anyway refuses it.

use crate::error::{Error, Result};
use rustix::mm::{Advice, MapFlags, ProtFlags};

/// The page.
#[derive(Debug)]
pub(crate) struct OwnerPage(*mut usize);

// SAFETY: written once before it is shared; afterwards only read (or wiped in a fork, where other threads are gone).
unsafe impl Send for OwnerPage {}
// SAFETY: as above.
unsafe impl Sync for OwnerPage {}

impl OwnerPage {
    pub fn new(size: usize) -> Result<OwnerPage> {
        let bytes = rustix::param::page_size();
        // SAFETY: a fresh anonymous mapping; the advice concerns only this page.
        unsafe {
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            let page = rustix::mm::mmap_anonymous(std::ptr::null_mut(), bytes, protection, MapFlags::PRIVATE)
                .map_err(|e| Error::system("mmap", e))?;
            rustix::mm::madvise(page, bytes, Advice::LinuxWipeOnFork)
                .map_err(|e| Error::system("madvise(WIPEONFORK)", e))?;
            let page = page.cast::<usize>();
            page.write(size);
            Ok(OwnerPage(page))
        }
    }

    #[inline(always)]
    pub fn size(&self) -> usize {
        // SAFETY: mapped while `self` lives. Volatile, since a fork changes it behind the compiler's back.
        unsafe { self.0.read_volatile() }
    }
}

impl Drop for OwnerPage {
    fn drop(&mut self) {
        // SAFETY: the page mapped in `new`, unmapped once.
        unsafe {
            let _ = rustix::mm::munmap(self.0.cast(), rustix::param::page_size());
        }
    }
}
