//! What every rank of a job runs, and how: the same on all its hosts.

use super::Bind;
use super::claim::Claims;
use crate::error::Error;
use crate::job::{Config, topology};
use std::ffi::OsString;

/// What to run.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub program: OsString,
    pub arguments: Vec<OsString>,
    /// Changes of the environment.
    pub variables: Vec<(OsString, OsString)>,
    pub config: Config,
    pub bind: Bind,
    /// Standard output is a pseudo-terminal.
    pub tty: bool,
}

impl Task {
    /// The core of each rank of this host where no other job runs, or nothing if they shall not or cannot be bound, or if the ranks of
    /// the machine do not fit. A rank that is alone on its machine is not bound: its threads may use all cores.
    pub fn cores(&self, seats: &Seats) -> Option<Vec<usize>> {
        let cores = topology::cores();
        let first = seats.machine_ranks_before;
        let is_bound = self.bind == Bind::Core && seats.machine_ranks > 1 && seats.machine_ranks <= cores.len();
        (is_bound && topology::may_bind())
            .then(|| cores.get(first..first + seats.ranks.len()).map(<[usize]>::to_vec))
            .flatten()
    }

    /// A core for each rank of this host that no other job has, or nothing as above, or if others have left too few. Where
    /// several hosts are parts of this machine, each has its share of the cores, and no other.
    pub fn claim(&self, seats: &Seats) -> Option<Claims> {
        let share = self.cores(seats)?;
        let is_alone = seats.machine_ranks == seats.ranks.len();
        Claims::take(&if is_alone { topology::cores() } else { share }, seats.ranks.len())
    }

    /// Why the program could not be started.
    pub fn cannot_start(&self, error: &std::io::Error) -> Error {
        let program = self.program.to_string_lossy();
        let hint = match error.kind() {
            std::io::ErrorKind::NotFound if !program.contains('/') => {
                format!("; it is not in PATH (for a program of this folder say ./{program})")
            }
            _ => String::new(),
        };
        match error.raw_os_error() {
            Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EAGAIN) | None => {
                Error::System { call: "fork", errno: error.raw_os_error().unwrap_or(libc::EAGAIN) }
            }
            _ => Error::CannotStart {
                program: program.into_owned(),
                reason: format!("{error}{hint}"),
                exists: error.kind() != std::io::ErrorKind::NotFound,
            },
        }
    }
}

/// Who the ranks of one host are among those of the job.
#[derive(Clone, Debug)]
pub(super) struct Seats {
    /// Ranks of the job.
    pub size: usize,
    /// Those of this host.
    pub ranks: Vec<usize>,
    /// How many hosts there are.
    pub hosts: usize,
    /// The name of this one, if the user has named it.
    pub host: Option<String>,
    /// Ranks on this machine: several hosts may be parts of one.
    pub machine_ranks: usize,
    /// How many of them are on hosts before this one.
    pub machine_ranks_before: usize,
}

impl Seats {
    /// All ranks on this host.
    pub fn all(size: usize) -> Seats {
        Seats { size, ranks: (0..size).collect(), hosts: 1, host: None, machine_ranks: size, machine_ranks_before: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_one_machine_share_its_cores() {
        let here = topology::cores();
        let mut task = Task {
            program: "x".into(),
            arguments: Vec::new(),
            variables: Vec::new(),
            config: Config::default(),
            bind: Bind::Core,
            tty: false,
        };
        let last = Seats { machine_ranks: here.len(), machine_ranks_before: here.len() - 1, ..Seats::all(1) };
        assert_eq!(task.cores(&last), here.last().map(|core| vec![*core]).filter(|_| here.len() > 1));
        assert_eq!(task.cores(&Seats::all(1)), None, "all cores are for its threads");
        assert_eq!(task.cores(&Seats { machine_ranks: here.len() + 1, ..last.clone() }), None, "too many");
        assert_eq!(task.cores(&Seats { machine_ranks_before: here.len(), ..last.clone() }), None, "impossible");
        task.bind = Bind::None;
        assert_eq!(task.cores(&last), None);
    }
}
