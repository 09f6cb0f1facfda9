//! MPI with several threads: a program of its own, since MPI_THREAD_MULTIPLE slows all else down.

use super::folder::Folder;
use super::{Kind, Peer, Request, Test, Values, mpi, process};
use std::time::Duration;

const PROGRAM: &str = "threads";
const SOURCES: [(&str, &str); 1] = [("threads.c", include_str!("../../../peers/threads.c"))];
const REPETITIONS: usize = 4;

/// The longest that one number of threads may take; some peers need seconds for one message when there are more threads than cores.
const LIMIT: Duration = Duration::from_secs(45);

impl Peer {
    /// Whether it can be measured with several threads.
    pub fn has_threads(&self) -> bool {
        !matches!(self.kind, Kind::Ucx { .. })
    }

    /// Compiles the program.
    pub fn prepare_threads(&mut self) -> Result<(), String> {
        if self.folder.is_none() {
            self.folder = Some(Folder::create().map_err(|e| self.said(&e))?);
        }
        let (Kind::OpenMpi { compiler, .. } | Kind::Mpich { compiler, .. }, Some(folder)) = (&self.kind, &self.folder)
        else {
            return Err(self.said("it has no threads"));
        };
        mpi::compile_files(compiler, &SOURCES, PROGRAM, &["-pthread".into()], folder.path()).map_err(|e| self.said(&e))
    }

    /// Measures with so many threads of each of two ranks.
    pub fn measure_threads(&self, threads: usize, requests: &[Request]) -> Values {
        let Some(folder) = &self.folder else {
            return (Vec::new(), Some(self.said("it must be prepared before it can be measured")));
        };
        let mut command = mpi::launch(&self.kind, &self.machine, 2, PROGRAM, folder.path());
        command.args([threads.to_string(), REPETITIONS.to_string()]).args(requests.iter().filter_map(work));
        let finished = match process::Running::start(&mut command, folder.path()) {
            Ok(running) => running.finish(LIMIT),
            Err(error) => return (Vec::new(), Some(self.said(&error))),
        };
        let (values, wrong) = mpi::parse_lines(&finished.output, requests);
        let failed = finished.success("the program of several threads").err();
        (values, failed.or(wrong).map(|error| self.said(&error)))
    }
}

/// What the program does for a request; rates come with the ping-pong of the same size.
fn work(request: &Request) -> Option<String> {
    let name = match request.test {
        Test::ThreadsSend => "send",
        Test::ThreadsPut => "put",
        Test::ThreadsStream => "stream",
        _ => return None,
    };
    Some(format!("{name}:{}", request.bytes))
}
