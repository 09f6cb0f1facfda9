//! What every rank of a job runs, and how: the same on all its hosts.

use super::Bind;
use super::claim::Claims;
use super::places::{one_by_one, places};
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
    /// The cores of each rank of this host where no other job runs, or nothing if they shall not or cannot be bound, or if the ranks of
    /// the machine do not fit.
    pub fn cores(&self, seats: &Seats) -> Option<Vec<Vec<usize>>> {
        let all = places(self.bind, &topology::machine(), seats.machine_ranks).filter(|_| topology::may_bind())?;
        let first = seats.machine_ranks_before;
        all.get(first..first + seats.ranks.len()).map(<[_]>::to_vec)
    }

    /// Cores for each rank of this host that no other job has, or nothing as above, or if others have left too few. Where
    /// several hosts are parts of this machine, each has its part of the cores, and no other.
    pub fn claim(&self, seats: &Seats) -> Option<Places> {
        let cores = self.cores(seats)?;
        let ranks = seats.ranks.len();
        if seats.machine_ranks > ranks {
            let needed = cores.concat();
            let claims = Claims::take(&needed, needed.len())?;
            return Some(Places { cores, _claims: claims });
        }
        let machine = topology::machine();
        if self.bind == Bind::Core {
            // Not more than it needs, not even for a moment: another job may start now.
            let claims = Claims::take(&one_by_one(&machine), ranks)?;
            let cores = claims.cores().into_iter().map(|core| vec![core]).collect();
            return Some(Places { cores, _claims: claims });
        }
        let mut claims = Claims::take_free(&machine.concat());
        let free = claims.cores();
        let whole: Vec<_> = machine.into_iter().filter(|core| core.iter().all(|it| free.contains(it))).collect();
        let cores = places(self.bind, &whole, ranks)?;
        claims.keep(&cores.concat());
        Some(Places { cores, _claims: claims })
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

/// The cores of each rank of a host, which no other job takes as long as this exists.
#[derive(Debug)]
pub(super) struct Places {
    pub cores: Vec<Vec<usize>>,
    _claims: Claims,
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
        let here = one_by_one(&topology::machine());
        let mut task = Task {
            program: "x".into(),
            arguments: Vec::new(),
            variables: Vec::new(),
            config: Config::default(),
            bind: Bind::Core,
            tty: false,
        };
        let last = Seats { machine_ranks: here.len(), machine_ranks_before: here.len() - 1, ..Seats::all(1) };
        assert_eq!(task.cores(&last), here.last().map(|core| vec![vec![*core]]).filter(|_| here.len() > 1));
        assert_eq!(task.cores(&Seats::all(1)), None, "all cores are for its threads");
        assert_eq!(task.cores(&Seats { machine_ranks: here.len() + 1, ..last.clone() }), None, "too many");
        assert_eq!(task.cores(&Seats { machine_ranks_before: here.len(), ..last.clone() }), None, "impossible");
        task.bind = Bind::Share;
        let half = |before| Seats { machine_ranks: 2, machine_ranks_before: before, ..Seats::all(1) };
        let halves = [0, 1].map(|before| task.cores(&half(before)));
        assert!(here.len() < 2 || halves[0] != halves[1]);
        assert_eq!(halves[0].as_ref().map(|it| it[0].len()), halves[1].as_ref().map(|it| it[0].len()));
        task.bind = Bind::None;
        assert_eq!(task.cores(&last), None);
    }
}
