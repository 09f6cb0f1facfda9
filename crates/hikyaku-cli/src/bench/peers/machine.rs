//! What the machine offers for placing ranks: the processors this process may use, and how many
//! cores they make up. Two processors of one core share its units, and MPI launchers count cores.

use std::collections::HashSet;
use std::fs;

/// The processors that are open to us.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Machine {
    /// Their numbers, as the system counts them, in the order our ranks take them: one of every core first.
    pub cpus: Vec<usize>,
    /// How many separate cores they belong to.
    pub cores: usize,
}

impl Machine {
    /// Asks the system. Where it does not say, every processor counts as a core.
    pub fn detect() -> Machine {
        let cpus = hikyaku::launch::facts().cores;
        let siblings: HashSet<String> = cpus.iter().map(|&cpu| siblings_of(cpu)).collect();
        Machine { cores: siblings.len(), cpus }
    }
}

fn siblings_of(cpu: usize) -> String {
    let file = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    fs::read_to_string(file).unwrap_or_else(|_| cpu.to_string())
}
