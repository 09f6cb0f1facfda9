//! Starts that cannot go well.

use hikyaku_testing::os;
use rustix::net::{RecvAncillaryBuffer, RecvFlags, ReturnFlags, SendFlags};
use std::io::IoSliceMut;

/// Says hello in a format that does not exist, and looks whether a descriptor comes with the answer.
pub fn introduce_as_another_version() {
    let socket = os::inherited("HIKYAKU_SOCKET");
    let hello = [u64::from_be_bytes(*b"hikyaku\0"), 999, std::process::id() as u64];
    let mut welcome = [0u64; 32];
    assert_eq!(rustix::net::send(&socket, bytemuck::bytes_of(&hello), SendFlags::empty()), Ok(24));
    let mut parts = [IoSliceMut::new(bytemuck::bytes_of_mut(&mut welcome))];
    let mut no_room = RecvAncillaryBuffer::default();
    let came = rustix::net::recvmsg(&socket, &mut parts, &mut no_room, RecvFlags::empty()).unwrap();
    let (received, flags) = (came.bytes, came.flags);
    assert!(received > 16 && welcome[0] == hello[0] && welcome[1] != 999, "the launcher tells its format");
    // There is no room for a descriptor here, so one that came would have been cut off.
    assert!(!flags.contains(ReturnFlags::CTRUNC), "a descriptor came");
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
    os::limit_files(count.parse().unwrap());
}
