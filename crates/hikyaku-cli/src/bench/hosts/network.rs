//! Two hosts on one machine: network namespaces joined by a link.

use std::process::Command;

/// The agent command of such hosts.
pub const AGENT: &str = "nsenter --net=/run/netns/{host}";

const FOLDER: &str = "/run/netns";
const PREFIX: &str = "hikyaku-bench-";

/// The hosts, until dropped. What a run that was killed has left is removed by the next.
pub struct Network {
    names: [String; 2],
}

impl Network {
    pub fn new() -> Result<Network, String> {
        remove_remains();
        let process = std::process::id();
        let network = Network { names: [0, 1].map(|host| format!("{PREFIX}{process}-{host}")) };
        let [one, other] = network.names.each_ref().map(String::as_str);
        ip(&["netns", "add", one])?;
        ip(&["netns", "add", other])?;
        ip(&["-n", one, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", other])?;
        for (name, address) in [(one, "10.78.0.1/24"), (other, "10.78.0.2/24")] {
            ip(&["-n", name, "address", "add", address, "dev", "eth0"])?;
            ip(&["-n", name, "link", "set", "eth0", "up"])?;
            ip(&["-n", name, "link", "set", "lo", "up"])?;
        }
        Ok(network)
    }

    /// For `--hosts`, one rank on each.
    pub fn list(&self) -> String {
        format!("{}:1,{}:1", self.names[0], self.names[1])
    }

    pub fn names(&self) -> &[String; 2] {
        &self.names
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    let done = Command::new("ip").args(arguments).output().map_err(|error| format!("ip: {error}"))?;
    match done.status.success() {
        true => Ok(()),
        false => Err(format!("ip {}: {}", arguments.join(" "), String::from_utf8_lossy(&done.stderr).trim())),
    }
}

/// Removes namespaces whose process is gone.
fn remove_remains() {
    for entry in std::fs::read_dir(FOLDER).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some((process, _)) = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-')) else { continue };
        if !std::path::Path::new("/proc").join(process).exists() {
            let _ = Command::new("ip").args(["netns", "del", &name]).output();
        }
    }
}
