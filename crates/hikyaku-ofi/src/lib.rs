#![doc = include_str!("../README.md")]

mod choice;
mod datagrams;
mod endpoint;
mod frames;
mod head;
mod lent;
mod library;
mod link;
mod memory;
mod network;
mod object;
mod opening;
mod port;
mod reach;
mod remote;
mod sleep;
mod state;
#[doc(hidden)]
pub mod sys;

use hikyaku::Result;
use std::net::IpAddr;

/// Lets jobs of this process use libfabric between hosts, where `HIKYAKU_TRANSPORT=ofi` asks for it. Call it before
/// [`Job::start`](hikyaku::Job::start). Nothing is loaded before a job needs it.
pub fn install() {
    hikyaku::spi::install(&network::Ofi { kind: None });
}

/// libfabric as a network, for programs that do without jobs.
#[doc(hidden)]
pub fn network() -> &'static dyn hikyaku::spi::Network {
    &network::Ofi { kind: None }
}

/// The same with datagram endpoints.
#[doc(hidden)]
pub fn datagrams() -> &'static dyn hikyaku::spi::Network {
    &network::Ofi { kind: Some(library::Kind::Datagram) }
}

/// A provider of libfabric that jobs could use.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Provider {
    /// Its name, as `HIKYAKU_OFI_PROVIDER` takes it.
    pub name: String,
    /// Its network, in its own words.
    pub network: String,
    /// Its device.
    pub device: String,
    /// The endpoints that it is listed for, as `HIKYAKU_OFI_ENDPOINT` takes them.
    pub endpoint: &'static str,
}

/// The version of libfabric that is installed, and what it offers from an address of this host, the best first of each kind of endpoints.
///
/// # Errors
/// When there is no libfabric, or one that is too old.
pub fn providers(host: IpAddr) -> Result<(String, Vec<Provider>)> {
    let version = library::Library::get()?.version();
    let mut providers = Vec::new();
    for (endpoint, kind) in [("reliable", library::Kind::Reliable), ("datagram", library::Kind::Datagram)] {
        providers.extend(choice::all(host, kind)?.iter().map(|offer| Provider {
            name: offer.provider(),
            network: offer.fabric(),
            device: offer.domain(),
            endpoint,
        }));
    }
    // One for each of several sets of capabilities.
    providers.dedup();
    Ok((version, providers))
}
