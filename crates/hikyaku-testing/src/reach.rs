//! What a process writes into private memory of others by system calls of its own.
//!
//! The kernel allows that to a hostile rank, whatever the library does. A test of what its *words* in shared memory do to a
//! victim must tell the two apart: its own library believes these words too, and would write for it.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process only says that it has written.
static WITHHELD: AtomicBool = AtomicBool::new(false);

/// From now on this process writes nothing into private memory of others, and says that it has.
pub fn withhold() {
    WITHHELD.store(true, Ordering::SeqCst);
}

/// In place of the C library's, for everything in this program.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn process_vm_writev(
    process: libc::pid_t,
    local: *const libc::iovec,
    local_count: libc::c_ulong,
    remote: *const libc::iovec,
    remote_count: libc::c_ulong,
    flags: libc::c_ulong,
) -> libc::ssize_t {
    if WITHHELD.load(Ordering::SeqCst) {
        // SAFETY: so many pieces, by the caller's promise.
        let pieces = (0..remote_count as usize).map(|index| unsafe { (*remote.add(index)).iov_len });
        return pieces.sum::<usize>() as libc::ssize_t;
    }
    // SAFETY: the caller's promise.
    let written =
        unsafe { libc::syscall(libc::SYS_process_vm_writev, process, local, local_count, remote, remote_count, flags) };
    written as libc::ssize_t
}
