//! Descriptors whose numbers a launcher tells by the environment.

use rustix::io::Errno;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// A copy of the socket of that number, closed to programs this process may start.
pub(super) fn copy_socket(number: i32) -> rustix::io::Result<OwnedFd> {
    rustix::io::fcntl_dupfd_cloexec(look(number)?, 3)
}

/// The socket of that number, which a launcher has opened for this process alone. Taken once.
pub(super) fn take_socket(number: i32) -> rustix::io::Result<OwnedFd> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    look(number)?;
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(Errno::BADF);
    }
    // SAFETY: open, as was just seen; the launcher opened it for this process alone, and this is its first and only owner.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// The socket of that number, if there is one beside standard input and output.
fn look(number: i32) -> rustix::io::Result<BorrowedFd<'static>> {
    if number <= 2 {
        return Err(Errno::BADF);
    }
    // SAFETY: only asks the kernel about a number, and for a copy; a wrong one is answered by an error.
    let socket = unsafe { BorrowedFd::borrow_raw(number) };
    rustix::net::sockopt::socket_type(socket)?;
    Ok(socket)
}

/// Who has made a socket's other end: process and user. The process is 0 if it is not in this namespace.
pub(super) fn peer(socket: BorrowedFd<'_>) -> std::io::Result<(i32, u32)> {
    // SAFETY: plain integers, which the kernel fills; their size is told and checked.
    unsafe {
        let mut credentials: libc::ucred = std::mem::zeroed();
        let mut bytes = size_of::<libc::ucred>() as libc::socklen_t;
        let into = (&raw mut credentials).cast();
        match libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, into, &mut bytes) {
            0 if bytes as usize == size_of::<libc::ucred>() => Ok((credentials.pid, credentials.uid)),
            0 => Err(Errno::INVAL.into()),
            _ => Err(std::io::Error::last_os_error()),
        }
    }
}

/// Whether a process ends with what is said on this socket: this one, or another that has inherited it too.
pub(super) fn is_used(socket: &OwnedFd) -> bool {
    rustix::fs::fcntl_getfl(socket).is_ok_and(|flags| flags.bits() & libc::O_ASYNC as u32 != 0)
}

/// Has the kernel end this process when the other end of the socket closes, or says anything: the socket's input signal is SIGKILL.
pub(super) fn end_with(socket: &OwnedFd) -> std::io::Result<()> {
    const F_SETSIG: libc::c_int = 10;
    let number = socket.as_raw_fd();
    // SAFETY: fcntl with integers on a descriptor we own.
    let failed = unsafe {
        libc::fcntl(number, libc::F_SETOWN, libc::getpid()) < 0
            || libc::fcntl(number, F_SETSIG, libc::SIGKILL) < 0
            || libc::fcntl(number, libc::F_SETFL, libc::fcntl(number, libc::F_GETFL) | libc::O_ASYNC) < 0
    };
    if failed { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}
