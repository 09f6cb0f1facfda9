//! Which network a job over hosts uses: the one that `HIKYAKU_TRANSPORT` names; without a name the first that all hosts prefer, else
//! datagrams.
//!
//! What a rank finds on its host says nothing about other hosts, so a rank opens an endpoint in each network that may be used, and
//! tells all of them to the others. Everybody then sees the same table, and takes the first network that is in every entry.
//!
//! ```text
//!   rank 0: ofi:verbs;ofi_rxm/02..  udp:10.0.0.1:4567   \
//!   rank 1: ofi:verbs;ofi_rxm/03..  udp:10.0.0.2:4568    >  udp
//!   rank 2:                         udp:10.0.0.3:4569   /
//! ```

use super::core::Transport;
use super::network::{self, Members, Network, Opened, SECRET_BYTES};
use crate::error::{Error, Result};
use std::net::IpAddr;
use std::sync::Arc;

/// Says which network is used between hosts.
const VARIABLE: &str = "HIKYAKU_TRANSPORT";

/// What is used where there is nothing better.
pub(crate) const USUAL: &str = "udp";

/// Between the endpoints of a rank; no address has it.
const BETWEEN: u8 = b'\n';

/// This rank's endpoints, the best first.
pub(crate) struct Endpoints(Vec<(&'static dyn Network, Box<dyn Opened>)>);

impl Endpoints {
    /// Opens them, for ranks that are reached at this address.
    ///
    /// # Errors
    /// When there is no network of the name that the environment has, or it cannot be used.
    pub fn open(host: IpAddr) -> Result<Endpoints> {
        let asked = std::env::var(VARIABLE).unwrap_or_default();
        Endpoints::of(&network::all(), asked.trim(), host)
    }

    fn of(all: &[&'static dyn Network], asked: &str, host: IpAddr) -> Result<Endpoints> {
        if !asked.is_empty() {
            let network = named(all, asked)?;
            return Ok(Endpoints(vec![(network, network.open(host)?)]));
        }
        let (usual, others) = all.split_first().expect("one is always there");
        // One that cannot be used after all is none that all prefer.
        let preferred = others.iter().filter(|network| network.is_preferred(host));
        let mut endpoints: Vec<_> =
            preferred.filter_map(|network| Some((*network, network.open(host).ok()?))).collect();
        endpoints.push((*usual, usual.open(host)?));
        Ok(Endpoints(endpoints))
    }

    /// What the other ranks are told.
    ///
    /// # Errors
    /// When a network does not say where it is reached.
    pub fn name(&self) -> Result<Vec<u8>> {
        let names = self.0.iter().map(|(network, opened)| Ok(endpoint_name(*network, &opened.address()?)));
        Ok(names.collect::<Result<Vec<_>>>()?.join(&BETWEEN))
    }

    /// Connects with all ranks that are not near, by what each has told. Those of networks that are not used are closed.
    ///
    /// # Errors
    /// When another rank uses no network that this one can use, or its address cannot be read.
    pub fn connect(
        self,
        rank: usize,
        names: &[Box<[u8]>],
        is_near: impl Fn(usize) -> bool,
        secret: &[u8; SECRET_BYTES],
    ) -> Result<Arc<dyn Transport>> {
        let has = |name: &[u8], network: &dyn Network| entries(name).any(|(of, _)| of == network.name().as_bytes());
        let is_everywhere = |network: &dyn Network| names.iter().all(|name| has(name, network));
        // If there is none, the error says who uses what.
        let used = self.0.iter().position(|(network, _)| is_everywhere(*network)).unwrap_or(0);
        let (network, opened) = self.0.into_iter().nth(used).expect("there is at least one");
        let address = |rank: usize| match is_near(rank) {
            true => Ok(None),
            false => address_in(network, rank, &names[rank]).map(Some),
        };
        let addresses = (0..names.len()).map(address).collect::<Result<Vec<_>>>()?;
        opened.connect(&Members { rank, addresses, secret })
    }
}

/// What ranks use that reach each other from hosts like this one, in detail.
pub(crate) fn expected(host: IpAddr) -> String {
    let (all, asked) = (network::all(), std::env::var(VARIABLE).unwrap_or_default());
    let used = match asked.trim() {
        "" => all.iter().skip(1).find(|network| network.is_preferred(host)).or(all.first()),
        asked => all.iter().find(|network| network.name() == asked),
    };
    used.map_or(USUAL.into(), |network| network.kind(host))
}

fn named(all: &[&'static dyn Network], asked: &str) -> Result<&'static dyn Network> {
    match all.iter().find(|network| network.name() == asked) {
        Some(network) => Ok(*network),
        None => {
            let names: Vec<&str> = all.iter().map(|network| network.name()).collect();
            Err(Error::Invalid(format!("{VARIABLE}={asked}: this program can use {}", names.join(" and "))))
        }
    }
}

/// The name of an endpoint: its network, and the address there.
fn endpoint_name(network: &dyn Network, address: &[u8]) -> Vec<u8> {
    [network.name().as_bytes(), b":", address].concat()
}

/// The endpoints that a rank has told of: the names of their networks, and their addresses.
fn entries(name: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    name.split(|byte| *byte == BETWEEN).filter_map(|entry| {
        let at = entry.iter().position(|byte| *byte == b':')?;
        Some((&entry[..at], &entry[at + 1..]))
    })
}

/// The address of a rank in a network.
///
/// # Errors
/// When it has told of other networks only, or of none.
fn address_in<'n>(network: &dyn Network, rank: usize, name: &'n [u8]) -> Result<&'n [u8]> {
    let mut others = entries(name).peekable();
    let Some(first) = others.peek().map(|(of, _)| *of) else {
        return Err(Error::Launcher { reason: format!("rank {rank} is on another host and has no address") });
    };
    let address = others.find(|(of, _)| *of == network.name().as_bytes()).map(|(_, address)| address);
    address.ok_or_else(|| Error::Launcher {
        reason: format!(
            "rank {rank} is on another host and uses {}, and this rank {}; set {VARIABLE} alike for all",
            String::from_utf8_lossy(first).escape_default(),
            network.name()
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::udp::Udp;
    use std::net::Ipv4Addr;

    const HOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    /// A network for tests, and what happens with it.
    struct Post {
        is_preferred: bool,
        is_open: bool,
    }

    struct Counter;

    impl Network for Post {
        fn name(&self) -> &'static str {
            "post"
        }

        fn open(&self, _: IpAddr) -> Result<Box<dyn Opened>> {
            if self.is_open { Ok(Box::new(Counter)) } else { Err(Error::Invalid("it is closed".into())) }
        }

        fn is_preferred(&self, _: IpAddr) -> bool {
            self.is_preferred
        }
    }

    impl Opened for Counter {
        fn address(&self) -> Result<Vec<u8>> {
            Ok(b"box:7".to_vec())
        }

        fn connect(self: Box<Self>, members: &Members<'_>) -> Result<Arc<dyn Transport>> {
            Err(Error::Invalid(format!("by post to {:?}", members.addresses)))
        }
    }

    static GOOD: Post = Post { is_preferred: true, is_open: true };
    static PLAIN: Post = Post { is_preferred: false, is_open: true };
    static SHUT: Post = Post { is_preferred: true, is_open: false };

    fn opened(post: &'static Post, asked: &str) -> Result<Endpoints> {
        Endpoints::of(&[&Udp, post], asked, HOST)
    }

    fn networks(endpoints: &Endpoints) -> Vec<&'static str> {
        endpoints.0.iter().map(|(network, _)| network.name()).collect()
    }

    #[test]
    fn the_one_that_is_named_is_opened_and_else_those_that_are_preferred_here_and_datagrams() {
        assert_eq!(networks(&opened(&GOOD, "udp").unwrap()), ["udp"]);
        assert_eq!(networks(&opened(&PLAIN, "post").unwrap()), ["post"]);
        assert_eq!(networks(&opened(&GOOD, "").unwrap()), ["post", "udp"]);
        assert_eq!(networks(&opened(&PLAIN, "").unwrap()), ["udp"]);
        assert_eq!(networks(&opened(&SHUT, "").unwrap()), ["udp"], "what cannot be used is left alone");
        let said = |post, asked| opened(post, asked).err().unwrap().to_string();
        assert!(said(&SHUT, "post").contains("it is closed"), "unless it is named");
        assert_eq!(said(&GOOD, "cart"), "HIKYAKU_TRANSPORT=cart: this program can use udp and post");
    }

    /// How a rank with these endpoints connects to a second one with that name.
    fn connects(endpoints: Endpoints, other: &[u8]) -> String {
        let names = [endpoints.name().unwrap().into(), other.into()];
        let connected = endpoints.connect(0, &names, |rank| rank == 0, &[0; SECRET_BYTES]);
        connected.map_or_else(|error| error.to_string(), |_| "by udp".into())
    }

    #[test]
    fn all_take_the_first_network_that_every_rank_has() {
        let both = || opened(&GOOD, "").unwrap();
        assert!(both().name().unwrap().starts_with(b"post:box:7\nudp:127.0.0.1:"));
        assert!(connects(both(), b"post:box:8\nudp:127.0.0.1:9").contains("by post to [None, Some("));
        assert_eq!(connects(both(), b"udp:127.0.0.1:9"), "by udp");
        assert!(connects(both(), b"post:box:8").contains("by post"), "it was named there");
        let plain = opened(&PLAIN, "").unwrap();
        assert_eq!(connects(plain, b"post:box:8\nudp:127.0.0.1:9"), "by udp");
    }

    #[test]
    fn whoever_has_no_network_in_common_is_told_so() {
        let said = |name: &[u8]| connects(opened(&PLAIN, "post").unwrap(), name);
        assert!(
            said(b"udp:10.0.0.1:7")
                .contains("rank 1 is on another host and uses udp, and this rank post; set HIKYAKU_TRANSPORT")
        );
        assert!(said(b"").contains("rank 1 is on another host and has no address"));
        assert!(said(b"udp\nno address").contains("has no address"));
        assert!(said(b"\xff\x01:").contains("\\u{fffd}\\u{1}"), "nothing of it is printed as it is");
    }
}
