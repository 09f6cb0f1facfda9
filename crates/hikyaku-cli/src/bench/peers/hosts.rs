//! Peers between two hosts: Open MPI over TCP, and MPICH over a provider of libfabric, if it was built with libfabric.

use super::{Kind, Peer, Request, Values, mpi};
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Two hosts that are both on this machine.
#[derive(Clone, Debug)]
pub enum Between {
    /// These network namespaces, and the address of the first.
    Namespaces([String; 2], Ipv4Addr),
    /// Processes that reach each other by loopback.
    Loopback,
}

/// Launchers call this with the name of a host and the words of a command, as they would call `ssh`, some with options before the name.
/// Each host has a core of its own.
const AGENT: &str = "#!/bin/sh
while case $1 in -*) true;; *) false;; esac; do shift; done
host=$1; shift
case $host in *-0) core=CORE_0;; *) core=CORE_1;; esac
exec taskset -c $core nsenter --net=/run/netns/$host sh -c \"$*\"
";

impl Peer {
    /// Whether it is measured between hosts: MPICH where it has libfabric, whose provider is named.
    pub fn is_for_hosts(&self, provider: Option<&str>) -> bool {
        match &self.kind {
            Kind::OpenMpi { .. } => true,
            Kind::Mpich { launcher, .. } => provider.is_some() && has_libfabric(launcher),
            Kind::Ucx { .. } => false,
        }
    }

    /// Measures between two hosts.
    pub fn measure_between(&self, between: &Between, provider: Option<&str>, requests: &[Request]) -> Values {
        let Some(folder) = &self.folder else {
            return (Vec::new(), Some(self.said("only a prepared MPI is measured between hosts")));
        };
        let folder = folder.path();
        let mut command = match between {
            Between::Namespaces(names, first) => match self.over_namespaces(names, *first, folder) {
                Ok(command) => command,
                Err(error) => return (Vec::new(), Some(self.said(&error))),
            },
            Between::Loopback => {
                let mut command = mpi::launch(&self.kind, &self.machine, 2, "mpi", folder);
                command.env("OMPI_MCA_btl_tcp_if_include", "lo");
                command
            }
        };
        command.env("OMPI_MCA_btl", "tcp,self").env("OMPI_MCA_pml", "ob1");
        if let (Kind::Mpich { .. }, Some(provider)) = (&self.kind, provider) {
            // By libfabric, also where both are on this machine.
            command.env("MPIR_CVAR_CH4_NETMOD", "ofi").env("MPIR_CVAR_NOLOCAL", "1").env("FI_PROVIDER", provider);
        }
        let (values, error) = mpi::measure(command, requests, mpi::repetitions, folder);
        (values, error.map(|error| self.said(&error)))
    }

    fn over_namespaces(&self, names: &[String; 2], first: Ipv4Addr, folder: &Path) -> Result<Command, String> {
        let (agent, cpus) = (folder.join("agent"), &self.machine.cpus);
        let core = |host: usize| cpus.get(host).or(cpus.first()).map_or("0".into(), ToString::to_string);
        let script = AGENT.replace("CORE_0", &core(0)).replace("CORE_1", &core(1));
        std::fs::write(&agent, script)
            .and_then(|()| std::fs::set_permissions(&agent, PermissionsExt::from_mode(0o700)))
            .map_err(|error| format!("{}: {error}", agent.display()))?;
        // In the first namespace too, where the agents reach it.
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", names[0]));
        match &self.kind {
            Kind::OpenMpi { launcher, .. } => {
                command.arg(launcher).args(["-n", "2", "--bind-to", "none", "--host"]);
                command.arg(format!("{}:1,{}:1", names[0], names[1]));
                command.args(["--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "plm_rsh_agent"]).arg(&agent);
            }
            Kind::Mpich { launcher, .. } => {
                command.arg(launcher).args(["-n", "2", "-ppn", "1", "-launcher", "ssh", "-launcher-exec"]).arg(&agent);
                command.args(["-hosts", &names.join(","), "-localhost", &first.to_string()]);
            }
            Kind::Ucx { .. } => return Err("it is not measured between hosts".into()),
        }
        command.arg(folder.join("mpi"));
        command.env("TMPDIR", folder);
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        Ok(command)
    }
}

/// Whether an MPICH was built with libfabric, as the program says that lies beside its launcher.
fn has_libfabric(launcher: &Path) -> bool {
    let name = launcher.file_name().unwrap_or_default().to_string_lossy().replace("mpirun", "mpichversion");
    let said = Command::new(launcher.with_file_name(name)).output();
    said.is_ok_and(|said| {
        String::from_utf8_lossy(&said.stdout).lines().any(|line| line.contains("Device") && line.contains("ofi"))
    })
}
