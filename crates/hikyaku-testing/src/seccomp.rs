//! A filter that makes the kernel refuse some system calls, as a container or an exhausted machine might.

/// From now on process_vm_readv and process_vm_writev fail in this process with EPERM.
pub fn forbid_cross_memory() {
    forbid(&[libc::SYS_process_vm_readv, libc::SYS_process_vm_writev], libc::EPERM);
}

/// From now on these system calls fail in this process with `errno`.
pub fn forbid(calls: &[libc::c_long], errno: libc::c_int) {
    let plain = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let (allow, refuse) = (libc::SECCOMP_RET_ALLOW, libc::SECCOMP_RET_ERRNO | errno as u32);
    // Load the number of the call; jump to the last line if it is one of these.
    let mut program = vec![plain(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0)];
    for (index, call) in calls.iter().enumerate() {
        let to_last = (calls.len() - index) as u8;
        let code = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        program.push(libc::sock_filter { code, jt: to_last, jf: 0, k: *call as u32 });
    }
    program.push(plain(libc::BPF_RET | libc::BPF_K, allow));
    program.push(plain(libc::BPF_RET | libc::BPF_K, refuse));
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: installs a filter that lives during the call; the kernel copies it.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &filter), 0);
    }
}
