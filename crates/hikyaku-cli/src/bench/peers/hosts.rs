//! Open MPI between two hosts, over TCP.

use super::{Kind, Peer, Request, Values, mpi};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Two hosts that are both on this machine.
#[derive(Clone, Debug)]
pub enum Between {
    /// These network namespaces.
    Namespaces([String; 2]),
    /// Processes that reach each other by loopback.
    Loopback,
}

/// Open MPI calls this with the name of a host and the words of a command, as it would call `ssh`. Each host has a core of its own.
const AGENT: &str = "#!/bin/sh
host=$1; shift
case $host in *-0) core=CORE_0;; *) core=CORE_1;; esac
exec taskset -c $core nsenter --net=/run/netns/$host sh -c \"$*\"
";

impl Peer {
    pub fn is_open_mpi(&self) -> bool {
        matches!(self.kind, Kind::OpenMpi { .. })
    }

    /// Measures between two hosts.
    pub fn measure_between(&self, between: &Between, requests: &[Request]) -> Values {
        let (Kind::OpenMpi { launcher, .. }, Some(folder)) = (&self.kind, &self.folder) else {
            return (Vec::new(), Some(self.said("only a prepared Open MPI is measured between hosts")));
        };
        let folder = folder.path();
        let mut command = match between {
            Between::Namespaces(names) => match self.over_namespaces(launcher, names, folder) {
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
        let (values, error) = mpi::measure(command, requests, mpi::repetitions, folder);
        (values, error.map(|error| self.said(&error)))
    }

    fn over_namespaces(&self, launcher: &Path, names: &[String; 2], folder: &Path) -> Result<Command, String> {
        let (agent, cpus) = (folder.join("agent"), &self.machine.cpus);
        let core = |host: usize| cpus.get(host).or(cpus.first()).map_or("0".into(), ToString::to_string);
        let script = AGENT.replace("CORE_0", &core(0)).replace("CORE_1", &core(1));
        std::fs::write(&agent, script)
            .and_then(|()| std::fs::set_permissions(&agent, PermissionsExt::from_mode(0o700)))
            .map_err(|error| format!("{}: {error}", agent.display()))?;
        // In the first namespace too, where the agents reach it.
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", names[0])).arg(launcher);
        command.args(["-n", "2", "--bind-to", "none", "--host"]).arg(format!("{}:1,{}:1", names[0], names[1]));
        command.args(["--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "plm_rsh_agent"]).arg(&agent);
        command.arg(folder.join("mpi"));
        command.env("TMPDIR", folder);
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        Ok(command)
    }
}
