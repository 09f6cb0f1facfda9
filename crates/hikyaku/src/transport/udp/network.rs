//! Datagrams as a network that jobs start on.

use super::endpoint::Endpoint;
use super::socket::Socket;
use super::ways::Ways;
use super::{Config, FaultRates, SECRET_BYTES, is_sealed};
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

/// A socket that waits to hear where the others are.
pub struct Bound {
    config: Config,
    socket: Socket,
}

impl Bound {
    /// Opens the socket.
    ///
    /// # Errors
    /// When the address cannot be used, or the environment asks for faults that there are not.
    pub fn new(config: Config) -> Result<Bound> {
        let faults = match config.faults {
            Some(faults) => Some(faults),
            None => FaultRates::from_environment()?,
        };
        let config = Config { faults, ..config };
        Ok(Bound { socket: Socket::bind(config.bind, config.trains)?, config })
    }

    /// Where it listens: others need to know.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn address(&self) -> Result<SocketAddr> {
        self.socket.address()
    }

    /// With the job's secret, which may be known only now.
    pub fn with_secret(mut self, secret: [u8; SECRET_BYTES]) -> Bound {
        self.config.secret = Some(secret);
        self
    }

    /// The endpoint of this rank; `addresses` are those of all ranks, `None` where this transport is not used.
    ///
    /// # Errors
    /// When there is no randomness.
    pub fn start(self, rank: usize, addresses: Vec<Option<SocketAddr>>) -> Result<Endpoint> {
        let (socket, size) = (Arc::new(self.socket), addresses.len());
        let ways = Box::new(Ways::new(socket.clone(), addresses));
        Endpoint::new(self.config, rank, size, ways, socket)
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
