//! Datagrams as a network that jobs start on.

use super::endpoint::Bound;
use super::{Config, is_sealed};
use crate::error::Result;
use crate::transport::core::Transport;
use crate::transport::network::{Members, Network, Opened};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The network that is always there.
pub struct Udp;

impl Network for Udp {
    fn name(&self) -> &'static str {
        "udp"
    }

    fn open(&self, host: IpAddr) -> Result<Box<dyn Opened>> {
        Ok(Box::new(Bound::new(Config::unsealed(SocketAddr::new(host, 0)))?))
    }
}

impl Opened for Bound {
    fn address(&self) -> Result<Vec<u8>> {
        Ok(Bound::address(self)?.to_string().into_bytes())
    }

    fn connect(self: Box<Self>, members: &Members<'_>) -> Result<Arc<dyn Transport>> {
        let address = |(rank, bytes): (usize, &Option<&[u8]>)| match bytes {
            Some(bytes) => parse(bytes).ok_or_else(|| members.no_address(rank)).map(Some),
            None => Ok(None),
        };
        let addresses = members.addresses.iter().enumerate().map(address).collect::<Result<Vec<_>>>()?;
        let bound = if is_sealed()? { self.with_secret(*members.secret) } else { *self };
        Ok(Arc::new(bound.start(members.rank, addresses)?))
    }
}

fn parse(bytes: &[u8]) -> Option<SocketAddr> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_again() {
        for text in ["10.1.2.3:4567", "[fd00::1]:9"] {
            assert_eq!(parse(text.as_bytes()), Some(text.parse().unwrap()));
        }
        for wrong in [&b""[..], b"udp:1.2.3.4:5", b"1.2.3.4", b"1.2.3.4:70000", b"\xff"] {
            assert_eq!(parse(wrong), None);
        }
        let opened = Udp.open([127, 0, 0, 1].into()).unwrap();
        assert!(parse(&opened.address().unwrap()).is_some());
        let members = Members { rank: 0, addresses: vec![None, Some(b"nowhere")], secret: &[0; 32] };
        let Err(error) = opened.connect(&members) else { panic!("there is no such address") };
        assert!(error.to_string().contains("rank 1 is on another host, and its address cannot be read"), "{error}");
    }
}
