//! A filter that makes the kernel refuse some system calls, as a container might.

/// From now on process_vm_readv and process_vm_writev fail in this process with EPERM.
pub fn forbid_cross_memory() {
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let load_number = 0u32;
    let equal = |number: libc::c_long, yes: u8| libc::sock_filter {
        code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
        jt: yes,
        jf: 0,
        k: number as u32,
    };
    let plain = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let mut program = [
        plain(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, load_number),
        equal(libc::SYS_process_vm_readv, 2),
        equal(libc::SYS_process_vm_writev, 1),
        plain(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
        plain(libc::BPF_RET | libc::BPF_K, refuse),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: installs a filter that lives on the stack during the call; the kernel copies it.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &filter), 0);
    }
}
