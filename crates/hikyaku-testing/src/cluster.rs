//! Launchers of other libraries that start ranks on several hosts, which are network namespaces of this machine.
//!
//! Open MPI and MPICH must be there. With `HIKYAKU_TEST_LAUNCHERS=all` (`scripts/launchers`) Open MPI 5 (`prterun`), in one of the folders
//! that `HIKYAKU_TEST_MPI` names, and Slurm must be, too.

use crate::netns::Network;
use crate::patience::eventually;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Ranks of the jobs, in turn on each of two hosts.
pub const RANKS: usize = 4;

/// A way to start ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `mpirun` of Open MPI 4: PMIx.
    OpenMpi,
    /// `mpirun` of MPICH, which is hydra: PMI-1.
    Mpich,
    /// `prterun` of Open MPI 5: PMIx.
    Prte,
    /// `srun --mpi=pmi2`: PMI-1.
    SlurmPmi2,
    /// `srun --mpi=pmix`.
    SlurmPmix,
}

impl Kind {
    /// Whether the launcher has ended as after a job without failures. Open MPI 4 sometimes waits for ever for one of its daemons after
    /// all ranks have ended (one in fourteen jobs of `sleep` on a busy machine; more often if ranks exit without a word).
    pub fn has_ended_well(self, status: std::process::ExitStatus) -> bool {
        // What `timeout` says when it had to end it, by a first or by a second signal.
        status.success() || self == Kind::OpenMpi && matches!(status.code(), Some(124 | 137))
    }
}

/// Hosts with launchers.
pub struct Cluster {
    /// The first host is that of the launcher; ranks are on the last two.
    pub network: Network,
    /// What launchers leave is in here, and goes with it.
    folder: PathBuf,
    prefix: Option<PathBuf>,
    slurm: Option<Slurm>,
}

impl Cluster {
    /// Three hosts; nothing, with a word on standard error, where there can be none.
    ///
    /// # Panics
    /// If there can be some, and it fails all the same.
    pub fn new() -> Option<Cluster> {
        let network = Network::new(3)?;
        // Short, since there will be sockets in it.
        let folder = std::env::temp_dir().join(format!("hikyaku-cluster-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        let (mut prefix, mut slurm) = (None, None);
        if std::env::var_os("HIKYAKU_TEST_LAUNCHERS").is_some_and(|which| which == "all") {
            let named = std::env::var_os("HIKYAKU_TEST_MPI").unwrap_or_default();
            let found = std::env::split_paths(&named).find(|folder| folder.join("prterun").exists());
            prefix = found.and_then(|folder| folder.parent().map(Path::to_owned));
            slurm = Slurm::start(&network, &folder);
            assert!(prefix.is_some() && slurm.is_some(), "prterun or Slurm is missing: see scripts/launchers");
        }
        // ssh [options] host command; each host has its own folder for temporary files.
        let agent = format!(
            "#!/bin/sh\nwhile [ \"${{1#-}}\" != \"$1\" ]; do shift; done\nnet=/run/netns/$1\n\
             export TMPDIR={}/$1; mkdir -p $TMPDIR; shift\nexec nsenter --net=$net sh -c \"$*\"\n",
            folder.display()
        );
        fs::write(folder.join("agent"), agent).unwrap();
        fs::set_permissions(folder.join("agent"), fs::Permissions::from_mode(0o755)).unwrap();
        Some(Cluster { network, folder, prefix, slurm })
    }

    /// The launchers that there are.
    pub fn kinds(&self) -> Vec<Kind> {
        let prte = self.prefix.as_ref().map(|_| Kind::Prte);
        let slurm = self.slurm.as_ref().map(|_| [Kind::SlurmPmi2, Kind::SlurmPmix]);
        [Kind::OpenMpi, Kind::Mpich].into_iter().chain(prte).chain(slurm.into_iter().flatten()).collect()
    }

    /// A command that starts [`RANKS`] ranks; the program is still to be added.
    ///
    /// # Panics
    /// If there is no such launcher.
    pub fn launch(&self, kind: Kind) -> Command {
        let (first, second) = (self.network.host(1), self.network.host(2));
        let ranks = RANKS.to_string();
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.network.host(0)));
        // One that hangs is ended in the end: see [`Kind::has_ended_well`].
        let patience = if kind == Kind::OpenMpi { "60" } else { "300" };
        command.args(["timeout", "--kill-after=10", patience]);
        command.env("TMPDIR", &self.folder).stdin(Stdio::null());
        let agent = self.folder.join("agent");
        // Open MPI does not run for root unless told twice that this is meant.
        for variable in ["OMPI", "PRTE"] {
            command.env(format!("{variable}_ALLOW_RUN_AS_ROOT"), "1");
            command.env(format!("{variable}_ALLOW_RUN_AS_ROOT_CONFIRM"), "1");
        }
        match kind {
            Kind::OpenMpi => {
                command.env("OMPI_MCA_plm_rsh_agent", &agent).args(["mpirun.openmpi", "--oversubscribe"]);
                command.args(["-n", &ranks, "--map-by", "node", "--host", &format!("{first}:2,{second}:2")]);
            }
            Kind::Prte => {
                let prefix = self.prefix.as_ref().expect("prterun");
                command.env("PRTE_MCA_plm_ssh_agent", &agent).arg(prefix.join("bin/prterun"));
                command.arg("--prefix").arg(prefix);
                command.args(["-n", &ranks, "--map-by", "node", "--host", &format!("{first}:2,{second}:2")]);
            }
            Kind::Mpich => {
                command.args(["mpirun.mpich", "-launcher", "ssh", "-launcher-exec"]).arg(&agent);
                command.args(["-localhost", &self.network.address(0).to_string(), "-n", &ranks]);
                command.args(["-hosts", &format!("{first}:1,{second}:1")]);
            }
            Kind::SlurmPmi2 | Kind::SlurmPmix => {
                command.env("SLURM_CONF", &self.slurm.as_ref().expect("Slurm").configuration);
                let protocol = if kind == Kind::SlurmPmi2 { "--mpi=pmi2" } else { "--mpi=pmix" };
                command.args(["srun", protocol, "--nodes=2", "--distribution=cyclic", "-n", &ranks]);
            }
        }
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.slurm = None;
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Daemons of Slurm: the controller on the first host, a node on each of the others.
struct Slurm {
    configuration: PathBuf,
    /// Files that name processes.
    daemons: Vec<PathBuf>,
}

impl Slurm {
    fn start(network: &Network, folder: &Path) -> Option<Slurm> {
        let is_there = |program: &str| ["/usr/sbin", "/usr/bin"].iter().any(|it| Path::new(it).join(program).exists());
        if !["munged", "slurmctld", "slurmd", "srun"].into_iter().all(is_there) {
            return None;
        }
        let folder = folder.join("slurm");
        for name in ["", "state", "munge", "n1", "n2", "tmp-n1", "tmp-n2"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
        let configuration = folder.join("slurm.conf");
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let path = folder.display();
        let node = |index: usize| {
            let address = network.address(index);
            format!("NodeName=n{index} NodeAddr={address} NodeHostname={host} Port={} CPUs=2\n", 17000 + index)
        };
        let text = format!(
            "ClusterName=hikyaku\nSlurmctldHost={host}({})\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n\
             AuthInfo=socket={path}/munge/socket\nSlurmctldPort=16817\nSlurmctldPidFile={path}/slurmctld.pid\n\
             SlurmdPidFile={path}/slurmd-%n.pid\nSlurmdSpoolDir={path}/%n\nStateSaveLocation={path}/state\n\
             TmpFS={path}/tmp-%n\nSlurmctldLogFile={path}/slurmctld.log\nSlurmdLogFile={path}/slurmd-%n.log\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_Core\nSchedulerType=sched/builtin\nMpiDefault=none\nReturnToService=2\n\
             SlurmdParameters=config_overrides\n{}{}PartitionName=all Nodes=n1,n2 Default=YES State=UP\n",
            network.address(0),
            node(1),
            node(2)
        );
        fs::write(&configuration, text).unwrap();
        let key = folder.join("munge/key");
        fs::write(&key, fs::read("/proc/sys/kernel/random/uuid").unwrap()).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o400)).unwrap();
        fs::set_permissions(folder.join("munge"), fs::Permissions::from_mode(0o700)).unwrap();
        let munge = |option: &str, file: &str| format!("--{option}={path}/munge/{file}");
        let options = [("key-file", "key"), ("socket", "socket"), ("pid-file", "pid"), ("log-file", "log")];
        let options = options.into_iter().chain([("seed-file", "seed")]);
        run(Command::new("munged").args(options.map(|(option, file)| munge(option, file))).arg("--force"));
        let on = |host: usize, program: &str, arguments: &[&str]| {
            let mut command = Command::new("nsenter");
            command.arg(format!("--net=/run/netns/{}", network.host(host))).arg(program).args(arguments);
            command.env("SLURM_CONF", &configuration);
            command
        };
        let files = ["munge/pid", "slurmctld.pid", "slurmd-n1.pid", "slurmd-n2.pid"];
        let slurm = Slurm { configuration: configuration.clone(), daemons: files.map(|file| folder.join(file)).into() };
        run(&mut on(0, "slurmctld", &["-c"]));
        run(&mut on(1, "slurmd", &["-N", "n1"]));
        run(&mut on(2, "slurmd", &["-N", "n2"]));
        eventually("nodes of Slurm are ready", || {
            let nodes = on(0, "sinfo", &["--noheader", "--states=idle", "--format=%D"]).output().unwrap();
            (String::from_utf8_lossy(&nodes.stdout).trim() == "2").then_some(())
        });
        Some(slurm)
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for file in &self.daemons {
            let Ok(process) = fs::read_to_string(file) else { continue };
            let _ = Command::new("kill").args(["-KILL", process.trim()]).output();
        }
    }
}

fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
