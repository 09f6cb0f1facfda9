//! Private memory of another process of the host, by `process_vm_readv` and `process_vm_writev`.
//!
//! One copy, no help from the owner, no mapping. Kernels may forbid it (seccomp, Yama, other namespaces): the first
//! use for a peer reads a known word there and remembers the answer.

use crate::error::{Error, Result};
use rustix::io::Errno;

/// Copies so many bytes at `data` to `address` of `process`.
///
/// # Safety
/// They can be read; peers may change them meanwhile.
pub unsafe fn write(process: i32, address: u64, data: *const u8, bytes: usize) -> Result<()> {
    let mut done = 0;
    while done < bytes {
        let local = libc::iovec { iov_base: data.wrapping_add(done).cast_mut().cast(), iov_len: bytes - done };
        let remote = libc::iovec { iov_base: address.wrapping_add(done as u64) as *mut _, iov_len: bytes - done };
        // SAFETY: the local part is only read, by the caller's promise; the remote part is checked by the kernel.
        done += moved("process_vm_writev", unsafe { libc::process_vm_writev(process, &local, 1, &remote, 1, 0) })?;
    }
    Ok(())
}

/// Copies so many bytes at `address` of `process` to `into`.
///
/// # Safety
/// They can be written; peers may change them meanwhile.
pub unsafe fn read(process: i32, address: u64, into: *mut u8, bytes: usize) -> Result<()> {
    let mut done = 0;
    while done < bytes {
        let local = libc::iovec { iov_base: into.wrapping_add(done).cast(), iov_len: bytes - done };
        let remote = libc::iovec { iov_base: address.wrapping_add(done as u64) as *mut _, iov_len: bytes - done };
        // SAFETY: the local part by the caller's promise; the remote part is checked by the kernel.
        done += moved("process_vm_readv", unsafe { libc::process_vm_readv(process, &local, 1, &remote, 1, 0) })?;
    }
    Ok(())
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the other process.
    Read,
    /// To it.
    Write,
}

/// Pieces that one system call moves: the same bytes here and there.
pub struct Pieces {
    count: usize,
    local: [libc::iovec; PIECES_MAX],
    remote: [libc::iovec; PIECES_MAX],
}

/// Few enough for the stack, enough that the start of the call does not count.
const PIECES_MAX: usize = 64;

impl Default for Pieces {
    fn default() -> Pieces {
        const NOTHING: libc::iovec = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        Pieces { count: 0, local: [NOTHING; PIECES_MAX], remote: [NOTHING; PIECES_MAX] }
    }
}

impl Pieces {
    /// Adds a piece; false if there is no room for it.
    pub fn add(&mut self, here: *mut u8, there: u64, bytes: usize) -> bool {
        if self.count == PIECES_MAX {
            return false;
        }
        self.local[self.count] = libc::iovec { iov_base: here.cast(), iov_len: bytes };
        self.remote[self.count] = libc::iovec { iov_base: there as *mut _, iov_len: bytes };
        self.count += 1;
        true
    }

    /// Moves all of them; then there are none.
    ///
    /// # Safety
    /// As for [`Pieces::move_some`].
    pub unsafe fn move_all(&mut self, direction: Direction, process: i32) -> Result<()> {
        let mut first = 0;
        while first < self.count {
            // SAFETY: the caller's promise.
            let mut moved = unsafe { self.move_from(first, direction, process)? };
            while first < self.count && moved >= self.local[first].iov_len {
                moved -= self.local[first].iov_len;
                first += 1;
            }
            if moved > 0 {
                for piece in [&mut self.local[first], &mut self.remote[first]] {
                    *piece = libc::iovec {
                        iov_base: piece.iov_base.wrapping_byte_add(moved),
                        iov_len: piece.iov_len - moved,
                    };
                }
            }
        }
        self.count = 0;
        Ok(())
    }

    /// Moves some of them, from the first on; gives the bytes moved.
    ///
    /// # Safety
    /// The pieces here are the caller's to read, or for [`Direction::Read`] to write.
    pub unsafe fn move_some(&self, direction: Direction, process: i32) -> Result<usize> {
        // SAFETY: the caller's promise.
        unsafe { self.move_from(0, direction, process) }
    }

    /// [`Pieces::move_some`] of those from `first` on.
    unsafe fn move_from(&self, first: usize, direction: Direction, process: i32) -> Result<usize> {
        let (local, remote) = (self.local[first..].as_ptr(), self.remote[first..].as_ptr());
        let count = (self.count - first) as libc::c_ulong;
        // SAFETY: as many elements each; the local pieces by the caller's promise, the remote ones are checked by the kernel.
        unsafe {
            match direction {
                Direction::Read => {
                    moved("process_vm_readv", libc::process_vm_readv(process, local, count, remote, count, 0))
                }
                Direction::Write => {
                    moved("process_vm_writev", libc::process_vm_writev(process, local, count, remote, count, 0))
                }
            }
        }
    }
}

/// Whether `process` lets us read the word it published for this purpose.
pub fn probe(process: i32, address: u64, expected: u64) -> Result<()> {
    let mut word = [0; 8];
    // SAFETY: a local array of that size.
    unsafe { read(process, address, word.as_mut_ptr(), word.len())? };
    if u64::from_ne_bytes(word) == expected { Ok(()) } else { Err(Error::system("process_vm_readv", Errno::FAULT)) }
}

/// Whether an error of the above says that the process does not exist any more.
pub fn is_gone(error: &Error) -> bool {
    matches!(error, Error::System { errno: libc::ESRCH, .. })
}

/// Lets the ranks of this job (descendants of the launcher) do the same with this process where the Yama security
/// module would allow it to ancestors only.
pub fn allow(launcher: i32) {
    // SAFETY: prctl with integers. Fails without Yama, and then there is nothing to allow.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, launcher as libc::c_ulong, 0, 0, 0) };
}

fn moved(call: &'static str, result: isize) -> Result<usize> {
    match result {
        0 => Err(Error::system(call, Errno::FAULT)),
        n if n > 0 => Ok(n as usize),
        _ => match std::io::Error::last_os_error().raw_os_error() {
            Some(libc::EINTR) => Ok(0),
            errno => Err(Error::System { call, errno: errno.unwrap_or(libc::EIO) }),
        },
    }
}
