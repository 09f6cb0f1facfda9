//! Which cores this process may use, and which of them are one.

use rustix::thread::CpuSet;
use std::collections::BTreeMap;

/// The cores this process may run on, in the order of their numbers. What Linux calls a CPU is a core here, too, if it is a thread
/// of one.
pub fn cores() -> Vec<usize> {
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return vec![0] };
    (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect()
}

/// How many of them threads of one rank have for themselves, where `ranks` are on this machine: all, if whoever started it has bound it
/// to some; else an equal share.
pub fn own_cores(ranks: usize) -> usize {
    let allowed = cores().len();
    // SAFETY: asks the system, and changes nothing.
    let all = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    let is_bound = usize::try_from(all).is_ok_and(|all| allowed < all);
    if is_bound { allowed.max(1) } else { (allowed / ranks.max(1)).max(1) }
}

/// The same, with those together that are threads of one core; cores of one processor, which share a cache, follow each other.
pub fn machine() -> Vec<Vec<usize>> {
    let mut machine = BTreeMap::<_, Vec<usize>>::new();
    for core in cores() {
        let first = topology_of(core, "thread_siblings_list").unwrap_or(core);
        let processor = topology_of(core, "physical_package_id").unwrap_or(0);
        machine.entry((processor, first)).or_default().push(core);
    }
    machine.into_values().collect()
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

/// Some cores, as the system takes them.
pub fn set_of(cores: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    cores.iter().for_each(|core| set.set(*core));
    set
}

/// Binds the calling thread to some cores.
pub fn bind(cores: &CpuSet) -> std::io::Result<()> {
    Ok(rustix::thread::sched_setaffinity(None, cores)?)
}

/// Whether threads of this process can be bound, which some containers forbid.
pub fn may_bind() -> bool {
    let allowed = rustix::thread::sched_getaffinity(None);
    allowed.and_then(|allowed| rustix::thread::sched_setaffinity(None, &allowed)).is_ok()
}

/// The first number in what the system says of a core; nothing if it says none.
fn topology_of(core: usize, what: &str) -> Option<usize> {
    let said = std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu{core}/topology/{what}")).ok()?;
    said.trim().split(|other: char| !other.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_core_of_the_machine_is_in_it_once() {
        let mut all = machine().concat();
        all.sort();
        assert_eq!(all, cores());
    }
}
