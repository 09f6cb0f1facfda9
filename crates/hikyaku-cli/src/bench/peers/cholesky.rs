//! The tile Cholesky with MPI between ranks and threads inside of them: a program of its own, with our kernels.

use super::folder::Folder;
use super::{Kind, Peer, Request, Values, mpi, process};
use crate::bench::workload;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

const PROGRAM: &str = "cholesky";
const SOURCES: [(&str, &str); 1] = [("cholesky.c", include_str!("../../../peers/cholesky.c"))];
const REPETITIONS: usize = 8;

/// The longest that all shapes may take together.
const LIMIT: Duration = Duration::from_secs(60);

impl Peer {
    /// Whether a figure with so many ranks would tell anybody anything: [`Peer::supports`] says when not.
    pub fn has_room(&self, ranks: usize) -> bool {
        ranks <= self.machine.cpus.len() || matches!(self.kind, Kind::OpenMpi { .. })
    }

    /// Compiles the program, with the library that has the kernels.
    pub fn prepare_cholesky(&mut self, kernels: &Path) -> Result<(), String> {
        if self.folder.is_none() {
            self.folder = Some(Folder::create().map_err(|e| self.said(&e))?);
        }
        let (Kind::OpenMpi { compiler, .. } | Kind::Mpich { compiler, .. }, Some(folder)) = (&self.kind, &self.folder)
        else {
            return Err(self.said("it has no threads"));
        };
        let libraries: [OsString; 3] = [kernels.into(), "-pthread".into(), "-lm".into()];
        mpi::compile_files(compiler, &SOURCES, PROGRAM, &libraries, folder.path()).map_err(|e| self.said(&e))
    }

    /// Measures all shapes, with so many ranks and threads of each.
    pub fn measure_cholesky(&self, ranks: usize, threads: usize, requests: &[Request]) -> Values {
        let Some(folder) = &self.folder else {
            return (Vec::new(), Some(self.said("it must be prepared before it can be measured")));
        };
        let mut command = match threads {
            1 => mpi::launch(&self.kind, &self.machine, ranks, PROGRAM, folder.path()),
            _ => mpi::launch_unbound(&self.kind, ranks, PROGRAM, folder.path()),
        };
        command.args([threads.to_string(), REPETITIONS.to_string()]);
        command.args(workload::SHAPES.map(|(tiles, size)| format!("{tiles}:{size}")));
        let finished = match process::Running::start(&mut command, folder.path()) {
            Ok(running) => running.finish(LIMIT),
            Err(error) => return (Vec::new(), Some(self.said(&error))),
        };
        let (values, wrong) = mpi::parse_lines(&finished.output, requests);
        let failed = finished.success("the factorisation by tiles").err();
        (values, failed.or(wrong).map(|error| self.said(&error)))
    }
}
