//! Filters that keep system calls from the kernel, as a container or an exhausted machine might; or all but some, to
//! show that none are made.

use crate::os;
pub use crate::os::question;
use std::os::fd::OwnedFd;

/// From now on process_vm_readv and process_vm_writev fail in this process with EPERM.
pub fn forbid_cross_memory() {
    forbid(&[libc::SYS_process_vm_readv, libc::SYS_process_vm_writev], libc::EPERM);
}

/// From now on these system calls fail in this process with `errno`.
pub fn forbid(calls: &[libc::c_long], errno: libc::c_int) {
    install(calls, libc::SECCOMP_RET_ERRNO | errno as u32, libc::SECCOMP_RET_ALLOW);
}

/// From now on these system calls end the process by SIGSYS.
pub fn die_of(calls: &[libc::c_long]) {
    install(calls, libc::SECCOMP_RET_KILL_PROCESS, libc::SECCOMP_RET_ALLOW);
}

/// From now on any system call of this thread but these ends the process by SIGSYS.
pub fn allow_only(calls: &[libc::c_long]) {
    install(calls, libc::SECCOMP_RET_ALLOW, libc::SECCOMP_RET_KILL_PROCESS);
}

/// From now on these system calls of the calling thread, and of all threads and processes it starts, wait for an answer
/// that is given through the descriptor.
pub fn ask_about(calls: &[libc::c_long]) -> OwnedFd {
    os::install_asking_filter(&mut program(calls, libc::SECCOMP_RET_USER_NOTIF, libc::SECCOMP_RET_ALLOW))
}

/// Lets a call fail, or go on.
pub fn answer(asked: &OwnedFd, question: &libc::seccomp_notif, errno: Option<i32>) {
    let answer = libc::seccomp_notif_resp {
        id: question.id,
        val: 0,
        error: errno.map_or(0, |errno| -errno),
        flags: if errno.is_some() { 0 } else { libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32 },
    };
    os::answer(asked, &answer);
}

/// What the kernel does from now on with these system calls, and with all others.
fn install(calls: &[libc::c_long], these: u32, others: u32) {
    os::install_filter(&mut program(calls, these, others), 0);
}

/// The filter that says so.
fn program(calls: &[libc::c_long], these: u32, others: u32) -> Vec<libc::sock_filter> {
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
    program
}
