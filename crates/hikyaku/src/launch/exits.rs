//! How a process has ended that is no child of this one: the program of a rank that was started by a wrapper, as a shell, a debugger or
//! `time`. The wrapper hears it from the system, and may keep it to itself.
//!
//! Until the wrapper has asked, the system keeps a line about the process; afterwards, newer kernels (Linux 6.15) still tell whoever
//! holds a descriptor of it.

use super::Ending;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::Timespec;
use std::os::fd::{AsRawFd, OwnedFd};

/// The number of a process, as this one sees it; nothing if it cannot be seen from here.
pub(super) fn number(process: &OwnedFd) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", process.as_raw_fd())).ok()?;
    let number: i64 = text.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim().parse().ok()?;
    u32::try_from(number).ok().filter(|number| *number > 0)
}

/// Whether a process has ended.
pub(super) fn has_ended(process: &OwnedFd) -> bool {
    let mut polled = [PollFd::new(process, PollFlags::IN)];
    rustix::event::poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}

/// How a process has ended, whose number was `number`; nothing if nobody tells.
pub(super) fn how(process: &OwnedFd, number: Option<u32>) -> Option<Ending> {
    number.and_then(of_zombie).or_else(|| kept_by_kernel(process))
}

/// What the system says of a process that has ended and whose parent has not asked yet.
fn of_zombie(number: u32) -> Option<Ending> {
    of_line(&std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?)
}

fn of_line(line: &str) -> Option<Ending> {
    // The name of the program is in brackets, and may have any letters.
    let fields: Vec<&str> = line.rsplit(')').next()?.split_whitespace().collect();
    // The second while its parent asks: the kernel keeps the answer for others only after that.
    let has_ended = matches!(*fields.first()?, "Z" | "X");
    // As `wait` would give it: the 52nd field, counted from the number of the process.
    fields.get(49).filter(|_| has_ended)?.parse().ok().map(ending)
}

/// What `wait` gives, in words.
fn ending(status: i32) -> Ending {
    match status & 0x7f {
        0 => Ending::Exited((status >> 8) & 0xff),
        signal => Ending::Killed(signal),
    }
}

/// `struct pidfd_info` of the kernel, in its first version.
#[repr(C)]
#[derive(Default)]
struct PidfdInfo {
    mask: u64,
    cgroup: u64,
    identities: [u32; 11],
    exit_code: i32,
}

fn kept_by_kernel(process: &OwnedFd) -> Option<Ending> {
    const PIDFD_GET_INFO: rustix::ioctl::Opcode = rustix::ioctl::opcode::read_write::<PidfdInfo>(0xff, 11);
    const PIDFD_INFO_EXIT: u64 = 1 << 3;
    let mut info = PidfdInfo { mask: PIDFD_INFO_EXIT, ..PidfdInfo::default() };
    // SAFETY: the kernel fills at most as many bytes as the operation's number says, which are those of the structure; whoever does
    // not know the operation refuses it.
    let asked =
        unsafe { rustix::ioctl::ioctl(process, rustix::ioctl::Updater::<PIDFD_GET_INFO, PidfdInfo>::new(&mut info)) };
    (asked.is_ok() && info.mask & PIDFD_INFO_EXIT != 0).then(|| ending(info.exit_code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, PidfdFlags};
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    /// A grandchild that ends by this command, seen by its descriptor, and by its number while its parent has not asked for it.
    fn grandchild(command: &str, asks: bool) -> Option<Ending> {
        let wait = if asks { "wait $!; " } else { "" };
        let script =
            format!("exec 3<&0; (read go <&3; {command}) & echo $!; {wait}echo asked; exec 3<&-; exec sleep 1000");
        let (theirs, mut ours) = std::io::pipe().unwrap();
        let mut parent = Command::new("sh").args(["-c", &script]).stdin(theirs).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(parent.stdout.take().unwrap()).lines();
        let id: i32 = lines.next().unwrap().unwrap().parse().unwrap();
        let process = rustix::process::pidfd_open(Pid::from_raw(id).unwrap(), PidfdFlags::empty()).unwrap();
        assert_eq!((number(&process), has_ended(&process)), (Some(id as u32), false));
        ours.write_all(b"go\n").unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), "asked");
        while !has_ended(&process) {
            std::thread::yield_now();
        }
        let how = how(&process, Some(id as u32));
        parent.kill().unwrap();
        parent.wait().unwrap();
        how
    }

    #[test]
    fn the_end_of_a_grandchild_is_known_before_its_parent_asks() {
        assert_eq!(grandchild("exit 7", false), Some(Ending::Exited(7)));
        assert_eq!(grandchild("exec sh -c 'kill -SEGV $$'", false), Some(Ending::Killed(libc::SIGSEGV)));
    }

    /// What the system says of a process in this state that has ended by signal 10.
    fn line(state: &str) -> String {
        format!("42 (a) b) {state}{} 10\n", " 0".repeat(48))
    }

    #[test]
    fn the_end_of_a_process_is_known_while_its_parent_asks() {
        for state in ["Z", "X"] {
            assert_eq!(of_line(&line(state)), Some(Ending::Killed(10)), "{state}");
        }
        for state in ["R", "S", "t"] {
            assert_eq!(of_line(&line(state)), None, "{state}");
        }
        assert_eq!(of_line("42 (a) Z 0"), None);
    }

    #[test]
    fn the_end_of_a_grandchild_is_known_afterwards_or_not_at_all() {
        assert!([Some(Ending::Exited(7)), None].contains(&grandchild("exit 7", true)));
        assert!([Some(Ending::Exited(0)), None].contains(&grandchild("exit 0", true)));
    }
}
