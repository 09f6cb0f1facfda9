//! How the ranks of a job over hosts come to a transport: each opens an endpoint, all are told each other's addresses, and each
//! connects.
//!
//! ```text
//!   Network::open(host) -> Opened ---- its address, by the launcher, to all ---> Opened::connect(addresses) -> Transport
//! ```
//! [`udp`](super::udp) is always there. Others are crates of their own, and a program installs them before it starts its job
//! ([`install`]). `HIKYAKU_TRANSPORT` says which one is used.

use super::core::Transport;
use super::udp;
use crate::error::{Error, Result};
use crate::sync::brief::lock;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

/// Bytes of a job's secret.
pub const SECRET_BYTES: usize = 32;

/// Says which network is used between hosts.
pub(crate) const VARIABLE: &str = "HIKYAKU_TRANSPORT";

/// A network that can connect the ranks of a job.
pub trait Network: Send + Sync {
    /// Its name, as `HIKYAKU_TRANSPORT` has it: lower-case letters and digits.
    fn name(&self) -> &'static str;

    /// Opens the endpoint of this rank.
    ///
    /// # Errors
    /// When the network is not there, or cannot be used from that address.
    fn open(&self, host: IpAddr) -> Result<Box<dyn Opened>>;
}

/// An endpoint that waits to hear where the others are.
pub trait Opened {
    /// By what others reach it, in words of its network. At most 200 bytes.
    ///
    /// # Errors
    /// When the network does not say.
    fn address(&self) -> Result<Vec<u8>>;

    /// Connects it with those of all other ranks.
    ///
    /// # Errors
    /// When an address is none of this network.
    fn connect(self: Box<Self>, members: &Members<'_>) -> Result<Arc<dyn Transport>>;
}

/// All ranks, as one of them sees them. Addresses are what peers said; none of it is to be believed.
#[derive(Clone)]
pub struct Members<'a> {
    /// This rank.
    pub rank: usize,
    /// The addresses of all ranks; `None` for those that are reached in another way.
    pub addresses: Vec<Option<&'a [u8]>>,
    /// What only the ranks of the job know.
    pub secret: &'a [u8; SECRET_BYTES],
}

impl Members<'_> {
    /// The error for a rank whose address is none.
    pub fn no_address(&self, rank: usize) -> Error {
        Error::Launcher { reason: format!("rank {rank} is on another host, and its address cannot be read") }
    }
}

static INSTALLED: Mutex<Vec<&'static dyn Network>> = Mutex::new(Vec::new());

/// Lets jobs of this process use a network, if `HIKYAKU_TRANSPORT` names it. One of the same name is replaced.
pub fn install(network: &'static dyn Network) {
    let mut installed = lock(&INSTALLED);
    installed.retain(|other| other.name() != network.name());
    installed.push(network);
}

/// The network that the environment asks for.
///
/// # Errors
/// When there is none of that name.
pub(crate) fn chosen() -> Result<&'static dyn Network> {
    let asked = std::env::var(VARIABLE).unwrap_or_default();
    find(asked.trim())
}

fn find(asked: &str) -> Result<&'static dyn Network> {
    let installed = lock(&INSTALLED);
    let all: Vec<&'static dyn Network> = std::iter::once(&udp::Udp as _).chain(installed.iter().copied()).collect();
    let asked = if asked.is_empty() { udp::Udp.name() } else { asked };
    match all.iter().find(|network| network.name() == asked) {
        Some(network) => Ok(*network),
        None => {
            let names: Vec<&str> = all.iter().map(|network| network.name()).collect();
            Err(Error::Invalid(format!("{VARIABLE}={asked}: this program can use {}", names.join(" and "))))
        }
    }
}

/// The name of an endpoint, as ranks tell it each other: the network, and the address there.
pub(crate) fn endpoint_name(network: &dyn Network, address: &[u8]) -> Vec<u8> {
    [network.name().as_bytes(), b":", address].concat()
}

/// The address in such a name.
///
/// # Errors
/// When it is of another network, or none.
pub(crate) fn address_in<'n>(network: &dyn Network, rank: usize, name: &'n [u8]) -> Result<&'n [u8]> {
    let mut parts = name.splitn(2, |byte| *byte == b':');
    let other = parts.next().unwrap_or_default();
    match parts.next() {
        Some(address) if other == network.name().as_bytes() => Ok(address),
        Some(_) => Err(Error::Launcher {
            reason: format!(
                "rank {rank} is on another host and uses {}, and this rank {}; set {VARIABLE} alike for all",
                String::from_utf8_lossy(other).escape_default(),
                network.name()
            ),
        }),
        None => Err(Error::Launcher { reason: format!("rank {rank} is on another host and has no address") }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Post;

    impl Network for Post {
        fn name(&self) -> &'static str {
            "post"
        }

        fn open(&self, _: IpAddr) -> Result<Box<dyn Opened>> {
            Err(Error::Invalid("it is closed".into()))
        }
    }

    #[test]
    fn a_network_is_found_by_its_name_once_it_is_installed() {
        assert_eq!(find("").unwrap().name(), "udp");
        let Err(error) = find("post") else { panic!("nobody has installed it") };
        assert_eq!(error.to_string(), "HIKYAKU_TRANSPORT=post: this program can use udp");
        install(&Post);
        install(&Post);
        assert_eq!(find("post").unwrap().name(), "post");
        let Err(error) = find("cart") else { panic!("nobody has installed it") };
        assert_eq!(error.to_string(), "HIKYAKU_TRANSPORT=cart: this program can use udp and post");
    }

    #[test]
    fn names_of_endpoints_are_read_again() {
        let name = endpoint_name(&Post, b"box:7");
        assert_eq!(name, b"post:box:7");
        assert_eq!(address_in(&Post, 3, &name).unwrap(), b"box:7");
        let said = |name: &[u8]| address_in(&Post, 3, name).unwrap_err().to_string();
        assert!(
            said(b"udp:10.0.0.1:7")
                .contains("rank 3 is on another host and uses udp, and this rank post; set HIKYAKU_TRANSPORT")
        );
        assert!(said(b"").contains("rank 3 is on another host and has no address"));
        assert!(said(b"\xff\n:").contains("\\u{fffd}\\n"), "nothing of it is printed as it is");
    }
}
