//! Filters that keep system calls from the kernel, as a container or an exhausted machine might; or all but some, to
//! show that none are made.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// From now on process_vm_readv and process_vm_writev fail in this process with EPERM.
pub fn forbid_cross_memory() {
    forbid(&[libc::SYS_process_vm_readv, libc::SYS_process_vm_writev], libc::EPERM);
}

/// From now on these system calls fail in this process with `errno`.
pub fn forbid(calls: &[libc::c_long], errno: libc::c_int) {
    install(calls, libc::SECCOMP_RET_ERRNO | errno as u32, libc::SECCOMP_RET_ALLOW, 0);
}

/// From now on these system calls end the process by SIGSYS.
pub fn die_of(calls: &[libc::c_long]) {
    install(calls, libc::SECCOMP_RET_KILL_PROCESS, libc::SECCOMP_RET_ALLOW, 0);
}

/// From now on any system call of this thread but these ends the process by SIGSYS.
pub fn allow_only(calls: &[libc::c_long]) {
    install(calls, libc::SECCOMP_RET_ALLOW, libc::SECCOMP_RET_KILL_PROCESS, 0);
}

/// From now on these system calls of the calling thread, and of all threads and processes it starts, wait for an answer
/// that is given through the descriptor.
pub fn ask_about(calls: &[libc::c_long]) -> OwnedFd {
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    let listener = install(calls, libc::SECCOMP_RET_USER_NOTIF, libc::SECCOMP_RET_ALLOW, flags);
    // SAFETY: a descriptor that the kernel has just opened for us.
    unsafe { OwnedFd::from_raw_fd(listener as i32) }
}

/// What the kernel asks; nothing if whoever made the call is gone.
pub fn question(asked: &OwnedFd) -> Option<libc::seccomp_notif> {
    // SAFETY: plain numbers, of which zeros are valid, filled in by the kernel.
    unsafe {
        let mut question: libc::seccomp_notif = std::mem::zeroed();
        (libc::ioctl(asked.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &mut question) == 0).then_some(question)
    }
}

/// Lets a call fail, or go on.
pub fn answer(asked: &OwnedFd, question: &libc::seccomp_notif, errno: Option<i32>) {
    let answer = libc::seccomp_notif_resp {
        id: question.id,
        val: 0,
        error: errno.map_or(0, |errno| -errno),
        flags: if errno.is_some() { 0 } else { libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32 },
    };
    // SAFETY: plain numbers, read by the kernel during the call. Whoever asked may be gone by now, which is no matter.
    unsafe { libc::ioctl(asked.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &answer) };
}

/// What the kernel does from now on with these system calls, and with all others.
fn install(calls: &[libc::c_long], these: u32, others: u32, flags: libc::c_ulong) -> libc::c_long {
    let plain = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    // Load the number of the call; jump to the last line if it is one of these.
    let mut program = vec![plain(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0)];
    for (index, call) in calls.iter().enumerate() {
        let to_last = (calls.len() - index) as u8;
        let code = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        program.push(libc::sock_filter { code, jt: to_last, jf: 0, k: *call as u32 });
    }
    program.push(plain(libc::BPF_RET | libc::BPF_K, others));
    program.push(plain(libc::BPF_RET | libc::BPF_K, these));
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: installs a filter that lives during the call; the kernel copies it.
    let result = unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &filter)
    };
    assert!(result >= 0, "seccomp: {}", std::io::Error::last_os_error());
    result
}
