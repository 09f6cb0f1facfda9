//! Programs that call the BLACS: one source, compiled for each library that brings them and started by its launcher.
//!
//! Ours need no MPI. The program that calls nothing but the BLACS is linked with them; the one that calls ScaLAPACK with
//! whichever ScaLAPACK is here, in which they take the place of those of MPI.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::folder::Folder;
use super::machine::Machine;
use super::{Kind, Peer, Request, Values, mpi};
use crate::run::blacs_library;

/// Which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Messages, broadcasts, combines.
    Blacs,
    /// Factorizations.
    Scalapack,
}

const HEADER: (&str, &str) = ("blacs.h", include_str!("../../../peers/blacs.h"));
const BLACS: (&str, &str) = ("blacs.c", include_str!("../../../peers/blacs.c"));
const SCALAPACK: (&str, &str) = ("scalapack.c", include_str!("../../../peers/scalapack.c"));

/// The ScaLAPACK of each family of MPI, as Debian calls it.
const OPEN_MPI: &str = "scalapack-openmpi";
const MPICH: &str = "scalapack-mpich";

impl Program {
    fn name(self) -> &'static str {
        match self {
            Program::Blacs => "blacs",
            Program::Scalapack => "scalapack",
        }
    }

    fn files(self) -> [(&'static str, &'static str); 2] {
        [HEADER, if self == Program::Blacs { BLACS } else { SCALAPACK }]
    }

    /// How often a test is repeated in each turn.
    fn repetitions(self, request: &Request) -> usize {
        if self == Program::Scalapack { 1 } else { mpi::repetitions(request) }
    }

    fn compile(self, compiler: &Path, libraries: &[OsString], folder: &Path) -> Result<(), String> {
        let libraries = [libraries, &["-lm".into()]].concat();
        mpi::compile_files(compiler, &self.files(), self.name(), &libraries, folder)
    }
}

/// Somebody's BLACS, with the program compiled for them.
#[derive(Debug)]
pub struct Runner {
    /// As it belongs in a table.
    pub name: String,
    program: Program,
    /// The peer; ours without.
    kind: Option<Kind>,
    machine: Machine,
    folder: Folder,
}

/// Ours, first, and those of the peers that have BLACS; and why others are missing. Without ours there is nothing to
/// compare.
pub fn runners(program: Program, peers: &[Peer]) -> (Vec<Runner>, Vec<String>) {
    let ours = match ours(program) {
        Ok(ours) => ours,
        Err(error) => return (Vec::new(), vec![format!("{} was not measured: {error}", program.name())]),
    };
    let (mut runners, mut notes) = (vec![ours], Vec::new());
    for peer in peers {
        let (Kind::OpenMpi { compiler, .. } | Kind::Mpich { compiler, .. }) = &peer.kind else { continue };
        let library = if let Kind::OpenMpi { .. } = peer.kind { OPEN_MPI } else { MPICH };
        let compiled = Folder::create().and_then(|folder| {
            program.compile(compiler, &[format!("-l{library}").into()], folder.path())?;
            Ok(folder)
        });
        match compiled {
            Ok(folder) => {
                let (name, kind, machine) = (peer.name.clone(), Some(peer.kind.clone()), peer.machine.clone());
                runners.push(Runner { name, program, kind, machine, folder });
            }
            Err(error) => notes.push(format!("{}: no BLACS; try `apt install lib{library}-dev`: {error}", peer.name)),
        }
    }
    if notes.is_empty() && runners.len() == 1 && !peers.is_empty() {
        notes.push(format!("no BLACS of MPI found; try `apt install openmpi-bin libopenmpi-dev lib{OPEN_MPI}-dev`"));
    }
    (runners, notes)
}

fn ours(program: Program) -> Result<Runner, String> {
    let library = blacs_library().map_err(|error| format!("{error}; try `cargo build --release --workspace`"))?;
    let compiler = c_compiler()?;
    let folder = Folder::create()?;
    match program {
        Program::Blacs => program.compile(&compiler, &[library.into_os_string()], folder.path())?,
        Program::Scalapack => {
            let with = |library: &str| program.compile(&compiler, &[format!("-l{library}").into()], folder.path());
            with(OPEN_MPI).or_else(|_| with(MPICH)).map_err(|e| format!("try `apt install lib{OPEN_MPI}-dev`: {e}"))?;
        }
    }
    Ok(Runner { name: "hikyaku".into(), program, kind: None, machine: Machine::detect(), folder })
}

/// The compiler of C that is here.
pub(super) fn c_compiler() -> Result<PathBuf, String> {
    let found = ["cc", "gcc"].into_iter().find_map(on_path);
    found.ok_or_else(|| "there is no C compiler; try `apt install gcc libc6-dev`".into())
}

fn on_path(command: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).map(|folder| folder.join(command)).find(|file| file.is_file())
}

impl Runner {
    /// Whether these are the BLACS of hikyaku.
    pub fn is_ours(&self) -> bool {
        self.kind.is_none()
    }

    /// Whether the figure would tell anybody anything: [`Peer::supports`] says when not.
    pub fn supports(&self, request: Request) -> bool {
        let fits = request.ranks <= self.machine.cpus.len();
        match self.kind {
            Some(Kind::Mpich { .. }) => fits,
            Some(_) => fits || request.test.is_collective(),
            None => true,
        }
    }

    /// Runs some tests of the same number of ranks.
    pub fn measure(&self, batch: &[Request]) -> Values {
        let (ranks, folder) = (batch[0].ranks, self.folder.path());
        let mut command = match &self.kind {
            Some(kind) => mpi::launch(kind, &self.machine, ranks, self.program.name(), folder),
            None => match self.start_ours(ranks) {
                Ok(command) => command,
                Err(error) => return (Vec::new(), Some(error)),
            },
        };
        // One thread each: the ranks have the cores.
        command.env("OMP_NUM_THREADS", "1").env("OPENBLAS_NUM_THREADS", "1");
        let (values, error) = mpi::measure(command, batch, |request| self.program.repetitions(request), folder);
        (values, error.map(|error| format!("{}: {error}", self.name)))
    }

    fn start_ours(&self, ranks: usize) -> Result<Command, String> {
        let hikyaku = crate::this_program()?;
        let mut command = Command::new(hikyaku);
        command
            .args(["run", "--blacs", "-n", &ranks.to_string(), "--"])
            .arg(self.folder.path().join(self.program.name()));
        Ok(command)
    }
}
