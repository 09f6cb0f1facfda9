//! Hosts for tests and measurements: network namespaces of this machine, joined by links to a switch, or two of them by one link.
//!
//! ```text
//!   host 0 (eth0, 10.77.0.1) ---- p0 |
//!   host 1 (eth0, 10.77.0.2) ---- p1 | br0, in a namespace of its own
//! ```
//! Programs are put there by `nsenter`. Everything goes with the namespaces, and those with the [`Network`]; what a test that was
//! killed has left is removed by the next.

use hikyaku::launch::{Hosts, Launcher};
use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The agent command for `hikyaku run --hosts` on such hosts.
pub const AGENT: &str = "nsenter --net=/run/netns/{host}";

const FOLDER: &str = "/run/netns";
const PREFIX: &str = "hikyaku-";

/// Some hosts and the network between them.
#[derive(Debug)]
pub struct Network {
    /// `None`: there are two hosts, and one link.
    switch: Option<String>,
    hosts: Vec<String>,
}

impl Network {
    /// A network of `count` hosts, each able to reach the others; nothing, with a word on standard error, where there are no
    /// rights or no programs to make one.
    ///
    /// # Panics
    /// If there are both, and it fails all the same.
    pub fn new(count: usize) -> Option<Network> {
        let name = match prepare() {
            Ok(name) => name,
            Err(why) => {
                eprintln!("not tested: {why}; needed are root's rights and `ip netns` (iproute2)");
                return None;
            }
        };
        Some(Network::with_switch(&name, count).unwrap())
    }

    fn with_switch(name: &str, count: usize) -> Result<Network, String> {
        let switch = format!("{name}-switch");
        let network = Network { switch: Some(switch.clone()), hosts: hosts(name, count) };
        ip(&["netns", "add", &switch])?;
        ip(&["-n", &switch, "link", "add", "br0", "type", "bridge"])?;
        ip(&["-n", &switch, "link", "set", "br0", "up"])?;
        for (host, name) in network.hosts.iter().enumerate() {
            let port = format!("p{host}");
            ip(&["netns", "add", name])?;
            ip(&["-n", &switch, "link", "add", &port, "type", "veth", "peer", "name", "eth0", "netns", name])?;
            ip(&["-n", &switch, "link", "set", &port, "master", "br0", "up"])?;
            network.start(host)?;
        }
        Ok(network)
    }

    /// Two hosts with one link between them and nothing else: measurements want no switch on the way.
    ///
    /// # Errors
    /// Where there are no rights or no programs to make them.
    pub fn pair() -> Result<Network, String> {
        let network = Network { switch: None, hosts: hosts(&prepare()?, 2) };
        let [one, other] = [0, 1].map(|host| network.host(host));
        ip(&["netns", "add", one])?;
        ip(&["netns", "add", other])?;
        ip(&["-n", one, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", other])?;
        network.start(0)?;
        network.start(1)?;
        Ok(network)
    }

    /// Gives a host its address, and opens its links.
    fn start(&self, host: usize) -> Result<(), String> {
        let name = self.host(host);
        ip(&["-n", name, "address", "add", &format!("{}/24", self.address(host)), "dev", "eth0"])?;
        ip(&["-n", name, "link", "set", "eth0", "up"])?;
        ip(&["-n", name, "link", "set", "lo", "up"])
    }

    /// The name of a host, for `--hosts`.
    pub fn host(&self, host: usize) -> &str {
        &self.hosts[host]
    }

    /// A list of hosts for `--hosts`: `[(0, 2), (1, 1)]` is two ranks on host 0 and one on host 1.
    pub fn list(&self, slots: &[(usize, usize)]) -> String {
        let entries = slots.iter().map(|(host, count)| format!("{}:{count}", self.hosts[*host]));
        entries.collect::<Vec<_>>().join(",")
    }

    /// A launcher of `program` with rank r on host `host_of[r]`, whose output is captured; `agent` is a program that serves as
    /// the agent of a host when its argument is `agent`.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn launcher(&self, program: &str, agent: &str, host_of: &[usize]) -> Launcher {
        let slots: Vec<_> = host_of.iter().map(|host| (*host, 1)).collect();
        let hosts = Hosts::parse(&self.list(&slots)).expect("names of hosts");
        Launcher::new(program).hosts(hosts).agent(AGENT).agent_program(agent).capture(true)
    }

    /// The address of a host.
    pub fn address(&self, host: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, 0, host as u8 + 1)
    }

    /// Does something in a thread that is on a host, or on the switch between them if `None`: sockets that it makes are there.
    ///
    /// # Panics
    /// If it panics, or there is no way there.
    pub fn on<R: Send>(&self, host: Option<usize>, what: impl FnOnce() -> R + Send) -> R {
        let name = host.map_or_else(|| self.switch(), |host| self.host(host));
        let namespace = std::fs::File::open(std::path::Path::new(FOLDER).join(name)).unwrap();
        let go = || {
            let network = rustix::thread::LinkNameSpaceType::Network;
            rustix::thread::move_into_link_name_space(std::os::fd::AsFd::as_fd(&namespace), Some(network)).unwrap();
            what()
        };
        std::thread::scope(|scope| scope.spawn(go).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Cuts the link of a host, or mends it.
    pub fn set_link(&self, host: usize, works: bool) {
        let set = ["-n", self.switch(), "link", "set", &format!("p{host}"), if works { "up" } else { "down" }];
        ip(&set).unwrap();
    }

    fn switch(&self) -> &str {
        self.switch.as_deref().expect("two hosts with one link have no switch")
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in self.hosts.iter().chain(&self.switch) {
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

/// Finds out whether there can be a network, and a name for it; removes what is left of others.
fn prepare() -> Result<String, String> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    if !rustix::process::geteuid().is_root() {
        return Err("this user may not make network namespaces".into());
    }
    let name = format!("{PREFIX}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    ip(&["netns", "add", &name])?;
    ip(&["netns", "del", &name])?;
    remove_remains();
    Ok(name)
}

fn hosts(name: &str, count: usize) -> Vec<String> {
    (0..count).map(|host| format!("{name}-{host}")).collect()
}

/// Runs `ip`.
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
