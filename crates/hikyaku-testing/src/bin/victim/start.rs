//! Starts that cannot go well.

/// Says hello in a format that does not exist, and looks whether a descriptor comes with the answer.
pub fn introduce_as_another_version() {
    let socket: i32 = std::env::var("HIKYAKU_SOCKET").unwrap().parse().unwrap();
    let hello = [u64::from_be_bytes(*b"hikyaku\0"), 999, std::process::id() as u64];
    let mut welcome = [0u64; 32];
    // SAFETY: sends and receives plain numbers on the inherited socket; all buffers live during the calls.
    let (received, flags) = unsafe {
        assert_eq!(libc::send(socket, hello.as_ptr().cast(), 24, 0), 24);
        let mut part = libc::iovec { iov_base: welcome.as_mut_ptr().cast(), iov_len: 256 };
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        (libc::recvmsg(socket, &mut message, 0), message.msg_flags)
    };
    assert!(received > 16 && welcome[0] == hello[0] && welcome[1] != 999, "the launcher tells its format");
    // There is no room for a descriptor here, so one that came would have been cut off.
    assert_eq!(flags & libc::MSG_CTRUNC, 0, "a descriptor came");
    println!("no memory came");
}

/// One system call fails from now on, as if memory had run out.
pub fn fail_calls(name: &str) {
    let number = match name {
        "memfd_create" => libc::SYS_memfd_create,
        "ftruncate" => libc::SYS_ftruncate,
        "fallocate" => libc::SYS_fallocate,
        "madvise" => libc::SYS_madvise,
        "getrandom" => libc::SYS_getrandom,
        "recvmsg" => libc::SYS_recvmsg,
        "membarrier" => libc::SYS_membarrier,
        other => panic!("no such call: {other}"),
    };
    hikyaku_testing::seccomp::forbid(&[number], libc::ENOMEM);
}

pub fn limit_files(count: &str) {
    let limit = libc::rlimit { rlim_cur: count.parse().unwrap(), rlim_max: 4096 };
    // SAFETY: sets a limit of this process.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
}
