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

/// Lets jobs of this process use libfabric between hosts: where `HIKYAKU_TRANSPORT=ofi` asks for it, or where all hosts have adapters
/// that libfabric can use and the variable is not set. Call it before [`Job::start`](hikyaku::Job::start). Nothing is loaded before a job
/// needs it.
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
    /// What it does with memory of other hosts by itself.
    pub memory: Memory,
}

/// What a provider does with memory of other hosts by itself; the rest are messages, which a thread of the library serves while the
/// program computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Memory {
    /// Nothing.
    Messages,
    /// Long transfers with areas: it keeps to the pages that memory had when it was registered.
    Areas,
    /// Long transfers with symmetric memory and areas.
    All,
}

impl Provider {
    fn new(offer: &library::Offer, kind: library::Kind) -> Provider {
        let (endpoint, memory) = match kind {
            library::Kind::Datagram => ("datagram", Memory::Messages),
            library::Kind::Reliable if !offer.reaches_memory() => ("reliable", Memory::Messages),
            library::Kind::Reliable if offer.pins() => ("reliable", Memory::Areas),
            library::Kind::Reliable => ("reliable", Memory::All),
        };
        Provider { name: offer.provider(), network: offer.fabric(), device: offer.domain(), endpoint, memory }
    }
}

/// The version of libfabric that is installed, and what it offers from an address of this host, the best first of each kind of endpoints.
///
/// # Errors
/// When there is no libfabric, or one that is too old.
pub fn providers(host: IpAddr) -> Result<(String, Vec<Provider>)> {
    let version = library::Library::get()?.version();
    let mut providers = Vec::new();
    for kind in [library::Kind::Reliable, library::Kind::Datagram] {
        providers.extend(choice::all(host, kind)?.iter().map(|offer| Provider::new(offer, kind)));
    }
    // One for each of several sets of capabilities.
    providers.dedup();
    Ok((version, providers))
}

/// The provider that a job uses from an address of this host, if it uses libfabric.
///
/// # Errors
/// When there is no libfabric, or the environment asks for what it does not have.
pub fn chosen(host: IpAddr) -> Result<Provider> {
    let kind = choice::kind()?;
    Ok(Provider::new(&choice::best(host, kind)?, kind))
}

/// Whether jobs use libfabric where the environment names no network: this host has an adapter that it can use.
pub fn is_preferred(host: IpAddr) -> bool {
    hikyaku::spi::Network::is_preferred(&network::Ofi { kind: None }, host)
}
