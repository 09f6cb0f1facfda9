//! What this machine can give, asked before it is taken: an error at the call, never a signal later.

use crate::error::{Error, Result};
use rustix::process::Resource;

/// Fails if a file of `bytes` passes this process's limit (the kernel would send SIGXFSZ).
pub fn check_file_size(bytes: usize) -> Result<()> {
    match rustix::process::getrlimit(Resource::Fsize).current {
        Some(limit) if (bytes as u64) > limit => {
            Err(Error::NoMemory { needed: bytes as u64, available: limit, limit: "file size limit (ulimit -f)" })
        }
        _ => Ok(()),
    }
}

/// Fails if `bytes` more are not to be had from the machine or from this process's control group.
pub fn check_memory(bytes: usize) -> Result<()> {
    // Small requests are not worth three file reads; fallocate still reports what it cannot get.
    const ASK_MIN: usize = 1 << 20;
    if bytes < ASK_MIN {
        return Ok(());
    }
    for (available, limit) in
        [(machine_available(), "memory of this machine"), (group_available(), "memory limit of the control group")]
    {
        if let Some(available) = available.filter(|a| (bytes as u64) > *a) {
            return Err(Error::NoMemory { needed: bytes as u64, available, limit });
        }
    }
    Ok(())
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
    meminfo("MemTotal:").unwrap_or(1 << 30)
}

fn machine_available() -> Option<u64> {
    meminfo("MemAvailable:")
}

fn meminfo(field: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
}

/// The least that any control group (version 2) above this process still grants.
fn group_available() -> Option<u64> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?.trim_start_matches('/').to_owned();
    let mut folder = std::path::Path::new("/sys/fs/cgroup").join(path);
    let mut least = None;
    while folder.starts_with("/sys/fs/cgroup") {
        let number = |name: &str| std::fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
        if let (Some(max), Some(current)) = (number("memory.max"), number("memory.current")) {
            let left = max.saturating_sub(current);
            least = Some(least.map_or(left, |l: u64| l.min(left)));
        }
        if !folder.pop() {
            break;
        }
    }
    least
}
