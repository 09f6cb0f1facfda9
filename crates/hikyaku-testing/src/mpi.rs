//! The MPI installations of this machine, whose launchers start ranks of ours.
//!
//! Open MPI (PMIx) and MPICH (PMI-1) of the distribution must be there; `HIKYAKU_TEST_MPI` names the folders of the
//! commands of others, separated by colons.

use crate::watchdog;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A command that hangs, and that nobody watches, is ended after this long.
const PATIENCE_SECONDS: &str = "1800";

/// One installation.
#[derive(Clone, Debug)]
pub struct Mpi {
    launcher: PathBuf,
    /// Its C compiler.
    pub compiler: PathBuf,
    /// Which of the two it is.
    pub family: Family,
    /// Whether `MPI_Init` works after something else in the process has used PMIx; in Open MPI since version 5 it does not.
    pub may_start_second: bool,
}

/// Launchers of a family have the same options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Speaks PMIx.
    OpenMpi,
    /// Speaks PMI-1.
    Mpich,
}

/// All installations.
///
/// # Panics
/// If one of the two that must be there is missing.
pub fn installations() -> Vec<Mpi> {
    let in_path = |suffix: &str| Mpi::of(format!("mpirun.{suffix}").into(), format!("mpicc.{suffix}").into());
    let named = std::env::var_os("HIKYAKU_TEST_MPI").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&named).filter(|folder| folder.is_dir()).collect();
    let others = folders.iter().map(|folder| Mpi::of(folder.join("mpirun"), folder.join("mpicc")));
    [in_path("openmpi"), in_path("mpich")].into_iter().chain(others).collect()
}

impl Mpi {
    fn of(launcher: PathBuf, compiler: PathBuf) -> Mpi {
        let version = Command::new(&launcher).arg("--version").output();
        let version = version.unwrap_or_else(|error| panic!("{}: {error}; see ./test", launcher.display()));
        let version = String::from_utf8_lossy(&version.stdout);
        let family = if version.contains("HYDRA") { Family::Mpich } else { Family::OpenMpi };
        let may_start_second = family == Family::Mpich || version.contains(") 4.");
        Mpi { launcher, compiler, family, may_start_second }
    }

    /// The command that starts so many ranks on this machine; options and the program are still to be added. Its process
    /// becomes the launcher's.
    pub fn launch(&self, ranks: usize) -> Command {
        let mut command = Command::new(&self.launcher);
        command.args(["-n", &ranks.to_string()]);
        if self.family == Family::OpenMpi {
            command.arg("--oversubscribe");
        }
        // Open MPI does not run for root unless told twice that this is meant.
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        // A transport for networks; within one machine all it does is to sleep for a second at start.
        command.env("OMPI_MCA_btl", "^ofi");
        command
    }

    /// The command that starts so many ranks, as `launch` gives it, which ends if it takes too long.
    pub fn patiently(&self, ranks: usize) -> Command {
        let inner = self.launch(ranks);
        let mut command = Command::new("timeout");
        command.args(["--kill-after=10", PATIENCE_SECONDS]).arg(inner.get_program()).args(inner.get_args());
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdin(std::process::Stdio::null());
        command
    }

    /// Runs a program that must succeed.
    ///
    /// # Panics
    /// If it does not.
    pub fn succeed(&self, ranks: usize, program: &Path, arguments: &[&str]) -> Output {
        let output = watchdog::output(self.patiently(ranks).arg(program).args(arguments));
        assert!(output.status.success(), "{self:?} {}\n{}", output.status, said(&output));
        output
    }
}

/// All that a command printed.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The environment variable that holds a rank's number under either launcher, for a shell.
pub const RANK_IN_SHELL: &str = "${PMIX_RANK:-$PMI_RANK}";
