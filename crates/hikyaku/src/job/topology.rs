//! Which cores this process may use, and in which order ranks should take them.

use rustix::thread::CpuSet;

/// The cores this process may run on, those of different physical cores first.
pub fn cores() -> Vec<usize> {
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return vec![0] };
    let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
    // A core that is not the first of its siblings is a second thread of a core already in the list.
    let (first, second): (Vec<usize>, Vec<usize>) = allowed.into_iter().partition(|core| is_first_sibling(*core));
    first.into_iter().chain(second).collect()
}

/// A set of cores, one bit each.
pub type Cores = [u64; CpuSet::MAX_CPU / 64];

/// The cores this process may run on.
pub fn allowed() -> Cores {
    let mut bits = [0; CpuSet::MAX_CPU / 64];
    for core in cores() {
        bits[core / 64] |= 1 << (core % 64);
    }
    bits
}

/// Binds a thread of this process (`None`: the calling one) to a core.
pub fn bind(core: usize) -> std::io::Result<()> {
    let mut set = CpuSet::new();
    set.set(core);
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

/// Whether threads of this process can be bound, which some containers forbid.
pub fn may_bind() -> bool {
    let allowed = rustix::thread::sched_getaffinity(None);
    allowed.and_then(|allowed| rustix::thread::sched_setaffinity(None, &allowed)).is_ok()
}

fn is_first_sibling(core: usize) -> bool {
    let path = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
    let Ok(list) = std::fs::read_to_string(path) else { return true };
    let first: String = list.trim().chars().take_while(char::is_ascii_digit).collect();
    first.parse() != Ok(core) && first.is_empty() || first.parse() == Ok(core)
}
