//! What the machine offers for placing ranks: the processors this process may use, and how many
//! cores they make up. Two processors of one core share its units, and MPI launchers count cores.

use std::collections::HashSet;
use std::{fs, thread};

/// The processors that are open to us.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Machine {
    /// Their numbers, as the system counts them.
    pub cpus: Vec<usize>,
    /// How many separate cores they belong to.
    pub cores: usize,
}

impl Machine {
    /// Asks the system. Where it does not say, every processor counts as a core.
    pub fn detect() -> Machine {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let mut cpus = parse_list(list.unwrap_or_default());
        if cpus.is_empty() {
            cpus = (0..thread::available_parallelism().map_or(1, usize::from)).collect();
        }
        let siblings: HashSet<String> = cpus.iter().map(|&cpu| siblings_of(cpu)).collect();
        Machine { cores: siblings.len(), cpus }
    }
}

fn siblings_of(cpu: usize) -> String {
    let file = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    fs::read_to_string(file).unwrap_or_else(|_| cpu.to_string())
}

/// Reads a list as the kernel writes it: `0-3,8`.
pub(super) fn parse_list(text: &str) -> Vec<usize> {
    text.trim()
        .split(',')
        .filter_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(first.parse().ok()?..=last.parse().ok()?)
        })
        .flatten()
        .collect()
}
