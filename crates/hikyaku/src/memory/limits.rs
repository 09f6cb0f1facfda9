//! What this machine can give, asked before it is taken: an error at the call, never a signal later.
//!
//! The last of the memory is not taken either: the kernel would begin to kill programs, and not always the one that took it. A
//! margin is left, of the machine and of every control group with a limit.
//!
//! Asking means reading some files. So what an answer leaves is remembered, and small requests are taken from that; but only a
//! small part of it, because other ranks ask at the same time.

use super::cgroup;
use crate::error::{Error, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::atomic::{AtomicU64, Ordering};

/// Fails if a file of `bytes` passes this process's limit (the kernel would send SIGXFSZ).
pub fn check_file_size(bytes: usize) -> Result<()> {
    match getrlimit(Resource::Fsize).current {
        Some(limit) if (bytes as u64) > limit => {
            Err(Error::NoMemory { needed: bytes as u64, available: limit, limit: "file size limit (ulimit -f)" })
        }
        _ => Ok(()),
    }
}

/// Raises this process's limit of descriptors, if it must be, so that it may have so many more than now, or as many as it may at all.
/// Systems let a program open 1,024 files and more if it asks for more, because old programs cannot handle more. Gives the limit from
/// before, if it has changed.
pub fn want_descriptors(more: u64) -> Result<Option<Rlimit>> {
    let before = getrlimit(Resource::Nofile);
    let needed = open_descriptors() + more;
    let wanted = before.maximum.map_or(needed, |maximum| maximum.min(needed));
    if before.current.is_none_or(|current| current >= wanted) {
        return Ok(None);
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..before })
        .map_err(|e| Error::system("setrlimit", e))?;
    Ok(Some(before))
}

/// Descriptors that are open.
pub fn open_descriptors() -> u64 {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count) as u64
}

/// Fails if `bytes` more are not to be had from the machine or from this process's control groups, without the last that is
/// left there.
pub fn check_memory(bytes: usize) -> Result<()> {
    static PURSE: Purse = Purse(AtomicU64::new(0));
    PURSE.spend(bytes as u64, room)
}

/// Whether so many bytes are to be had, as far as is known.
pub fn has_room(bytes: u64) -> bool {
    room().is_none_or(|room| bytes <= room.bytes)
}

/// What is left of a limit, and which it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Room {
    bytes: u64,
    limit: &'static str,
}

/// What a process may take before it asks again.
struct Purse(AtomicU64);

/// What one process may take without asking: the margins stand for those of hundreds.
const PURSE_MAX: u64 = 1 << 20;

impl Purse {
    fn spend(&self, bytes: u64, ask: impl Fn() -> Option<Room>) -> Result<()> {
        let paid = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |credit| credit.checked_sub(bytes));
        if paid.is_ok() {
            return Ok(());
        }
        let left = match ask() {
            None => u64::MAX,
            Some(room) if bytes > room.bytes => {
                return Err(Error::NoMemory { needed: bytes, available: room.bytes, limit: room.limit });
            }
            Some(room) => room.bytes - bytes,
        };
        self.0.store((left / 256).min(PURSE_MAX), Ordering::Relaxed);
        Ok(())
    }
}

/// The least that is left of any limit, without its margin.
fn room() -> Option<Room> {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let machine = meminfo(&text, "MemTotal:").zip(meminfo(&text, "MemAvailable:"));
    least(machine, &cgroup::grants())
}

fn least(machine: Option<(u64, u64)>, groups: &[cgroup::Grant]) -> Option<Room> {
    let room = |total, left: u64, limit| Room { bytes: left.saturating_sub(margin(total)), limit };
    let machine =
        machine.map(|(total, left)| room(total, left, "memory of this machine, less a margin for all programs,"));
    let of_group = |group: &cgroup::Grant| {
        room(group.max, group.left, "memory limit of the control group (cgroup), less a margin for its programs,")
    };
    machine.into_iter().chain(groups.iter().map(of_group)).min_by_key(|room| room.bytes)
}

/// What is never taken of a limit: a part, but what programs and the kernel need at once does not grow with the machine.
fn margin(total: u64) -> u64 {
    (total / 50).clamp((64 << 20).min(total / 8), 1 << 30)
}

/// Turns a failed call for memory into an error that says how much was asked for.
pub fn explain(call: &'static str, errno: rustix::io::Errno, needed: usize) -> Error {
    use rustix::io::Errno;
    match errno {
        Errno::NOMEM | Errno::NOSPC | Errno::FBIG => {
            let (available, limit) = match rustix::process::getrlimit(Resource::As).current {
                Some(limit) => (limit, "address space limit (ulimit -v)"),
                None => (machine_available().unwrap_or(0), "memory of this machine"),
            };
            Error::NoMemory { needed: needed as u64, available, limit }
        }
        other => Error::system(call, other),
    }
}

/// How much address space one reservation may take: half of the limit, if there is one.
pub fn address_space() -> u64 {
    rustix::process::getrlimit(Resource::As).current.map_or(u64::MAX, |limit| limit / 2)
}

/// Bytes of memory in this machine.
pub fn machine_total() -> u64 {
    read_meminfo("MemTotal:").unwrap_or(1 << 30)
}

fn machine_available() -> Option<u64> {
    read_meminfo("MemAvailable:")
}

fn read_meminfo(field: &str) -> Option<u64> {
    meminfo(&std::fs::read_to_string("/proc/meminfo").ok()?, field)
}

fn meminfo(text: &str, field: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cgroup::Grant;
    use std::cell::Cell;

    const MB: u64 = 1 << 20;
    const GB: u64 = 1 << 30;

    #[test]
    fn the_margin_is_a_part_of_the_limit() {
        assert_eq!(margin(24 * GB), 24 * GB / 50);
        assert_eq!(margin(2 * GB), 64 * MB);
        assert_eq!(margin(256 * MB), 32 * MB, "of a small container");
        assert_eq!(margin(1 << 42), GB);
        assert_eq!(margin(0), 0);
    }

    #[test]
    fn the_least_of_all_limits_counts_and_is_named() {
        let machine = Some((8 * GB, 5 * GB));
        let room = least(machine, &[]).unwrap();
        assert_eq!(room.bytes, 5 * GB - 8 * GB / 50);
        assert!(room.limit.starts_with("memory of this machine"));
        let groups = [Grant { max: 4 * GB, left: 4 * GB }, Grant { max: GB, left: 100 * MB }];
        let room = least(machine, &groups).unwrap();
        assert_eq!(room.bytes, 36 * MB);
        assert!(room.limit.contains("cgroup"));
        assert_eq!(least(machine, &[Grant { max: GB, left: MB }]).unwrap().bytes, 0);
        assert_eq!(least(None, &[]), None, "nobody knows");
    }

    #[test]
    fn meminfo_is_in_kilobytes() {
        let text = "MemTotal:       24681476 kB\nMemFree:        16461480 kB\nMemAvailable:   23696880 kB\n";
        assert_eq!(meminfo(text, "MemAvailable:"), Some(23_696_880 << 10));
        assert_eq!(meminfo("MemTotal: nonsense kB", "MemTotal:"), None);
        assert_eq!(meminfo("MemTotal: 18446744073709551615 kB", "MemTotal:"), None);
    }

    /// Ranks that allocate in a loop, each from its own purse, come to an error while the margin is still there.
    #[test]
    fn loops_of_allocations_leave_the_margin() {
        for (ranks, piece) in [(1, 4096), (4, 100_000), (64, 3 * MB), (64, 4096)] {
            let (total, left, asked) = (4 * GB, Cell::new(GB), Cell::new(0u64));
            let purses: Vec<Purse> = (0..ranks).map(|_| Purse(AtomicU64::new(0))).collect();
            let (mut taken, mut failed) = (0, 0);
            while failed < ranks {
                failed = 0;
                for purse in &purses {
                    let ask = || {
                        asked.set(asked.get() + 1);
                        least(Some((total, left.get())), &[])
                    };
                    match purse.spend(piece, ask) {
                        Ok(()) => {
                            left.set(left.get() - piece);
                            taken += 1;
                        }
                        Err(Error::NoMemory { needed, available, .. }) => {
                            assert!(needed == piece && available < piece);
                            failed += 1;
                        }
                        Err(other) => panic!("{other}"),
                    }
                }
            }
            let spared = left.get();
            assert!(spared >= margin(total) / 2, "{ranks} ranks have left {spared} bytes");
            assert!(spared <= margin(total) + ranks as u64 * piece, "{ranks} ranks have left {spared} bytes");
            if piece == 4096 && ranks == 1 {
                assert!(asked.get() < taken / 50, "{} files were read for {taken} allocations", asked.get());
            }
        }
    }

    #[test]
    fn large_requests_always_ask() {
        let purse = Purse(AtomicU64::new(0));
        let asked = Cell::new(0);
        let ask = || {
            asked.set(asked.get() + 1);
            Some(Room { bytes: 1 << 40, limit: "test" })
        };
        for turn in 1..=3 {
            purse.spend(2 * PURSE_MAX, ask).unwrap();
            assert_eq!(asked.get(), turn);
        }
        purse.spend(1000, ask).unwrap();
        assert_eq!(asked.get(), 3, "a small one is taken from what is remembered");
    }
}
