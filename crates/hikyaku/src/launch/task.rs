//! What every rank of a job runs, and how: the same on all its hosts.

use super::Bind;
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
}

impl Task {
    /// The core of each of `ranks` ranks on this host, or nothing if they do not fit or shall not be bound.
    pub fn cores(&self, ranks: usize) -> Option<Vec<usize>> {
        let cores = topology::cores();
        (self.bind == Bind::Core && ranks <= cores.len()).then(|| cores[..ranks].to_vec())
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
            _ => Error::Invalid(format!("cannot start {program}: {error}{hint}")),
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
}

impl Seats {
    /// All ranks on this host.
    pub fn all(size: usize) -> Seats {
        Seats { size, ranks: (0..size).collect(), hosts: 1, host: None }
    }
}
