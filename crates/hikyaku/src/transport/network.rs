//! How the ranks of a job over hosts come to a transport: each opens an endpoint, all are told each other's addresses, and each
//! connects.
//!
//! ```text
//!   Network::open(host) -> Opened ---- its address, by the launcher, to all ---> Opened::connect(addresses) -> Transport
//! ```
//! [`udp`](super::udp) is always there. Others are crates of their own, and a program installs them before it starts its job
//! ([`install`]). Which one a job uses, [`endpoints`](super::endpoints) finds out.

use super::core::Transport;
use super::udp;
use crate::error::{Error, Result};
use crate::sync::brief::lock;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

/// Bytes of a job's secret.
pub const SECRET_BYTES: usize = 32;

/// A network that can connect the ranks of a job.
pub trait Network: Send + Sync {
    /// Its name, as `HIKYAKU_TRANSPORT` has it: lower-case letters and digits.
    fn name(&self) -> &'static str;

    /// What it is in detail, as far as its speed depends on it: its name, and what else it takes from the environment. No spaces.
    fn kind(&self, _host: IpAddr) -> String {
        self.name().into()
    }

    /// Opens the endpoint of this rank.
    ///
    /// # Errors
    /// When the network is not there, or cannot be used from that address.
    fn open(&self, host: IpAddr) -> Result<Box<dyn Opened>>;

    /// Whether it is better than datagrams on this host: an adapter does the work. Then jobs use it unless they are told otherwise, if
    /// all their hosts say so. Every job over hosts asks, so the answer must take no time where there is no adapter.
    fn is_preferred(&self, _host: IpAddr) -> bool {
        false
    }
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

/// Lets jobs of this process use a network: if `HIKYAKU_TRANSPORT` names it, or where it is [better](Network::is_preferred). One of the
/// same name is replaced.
pub fn install(network: &'static dyn Network) {
    let mut installed = lock(&INSTALLED);
    installed.retain(|other| other.name() != network.name());
    installed.push(network);
}

/// All networks that this program can use, the one that is always there first.
pub(crate) fn all() -> Vec<&'static dyn Network> {
    std::iter::once(&udp::Udp as _).chain(lock(&INSTALLED).iter().copied()).collect()
}
