//! libfabric as a network that jobs start on.

use crate::choice;
use crate::datagrams::{self, Datagrams, Sending};
use crate::endpoint::Endpoint;
use crate::library::Kind;
use crate::port::Port;
use crate::state::{LONG_COUNT, RECEIVE_COUNT, SHORT_COUNT, State};
use hikyaku::spi::{Members, Network, Opened, Transport, udp, want_descriptors};
use hikyaku::{Error, Result};
use std::net::IpAddr;
use std::sync::Arc;

/// Descriptors that a rank may have besides those of the program: each connection takes one, also of somebody who does not belong to the
/// job.
const DESCRIPTORS: u64 = 1 << 16;

/// The network that `HIKYAKU_TRANSPORT=ofi` asks for, and that jobs use without being asked where all hosts have adapters.
pub struct Ofi {
    /// Its endpoints; those that the environment asks for if `None`.
    pub kind: Option<Kind>,
}

impl Network for Ofi {
    fn name(&self) -> &'static str {
        "ofi"
    }

    fn kind(&self, host: IpAddr) -> String {
        let kind = self.kind.map_or_else(choice::kind, Ok);
        let offer = kind.and_then(|kind| Ok((kind, choice::best(host, kind)?)));
        offer.map_or_else(
            |_| self.name().into(),
            |(kind, offer)| format!("{}:{}", self.name(), what(kind, &offer.provider())),
        )
    }

    fn open(&self, host: IpAddr) -> Result<Box<dyn Opened>> {
        let kind = self.kind.map_or_else(choice::kind, Ok)?;
        let frames = match kind {
            Kind::Reliable => SHORT_COUNT + LONG_COUNT + RECEIVE_COUNT,
            Kind::Datagram => datagrams::SEND_COUNT + datagrams::RECEIVE_COUNT,
        };
        if kind == Kind::Reliable {
            want_descriptors(DESCRIPTORS)?;
        }
        Ok(Box::new(Waiting { kind, port: Port::open(choice::best(host, kind)?, frames)? }))
    }

    fn is_preferred(&self, host: IpAddr) -> bool {
        choice::adapter_count() > 0
            && self.kind.map_or_else(choice::kind, Ok).is_ok_and(|kind| choice::uses_adapter(host, kind))
    }
}

/// An endpoint that waits to hear where the others are.
struct Waiting {
    kind: Kind,
    port: Port,
}

/// What all ranks must have alike.
fn what(kind: Kind, provider: &str) -> String {
    match kind {
        Kind::Reliable => provider.into(),
        Kind::Datagram => format!("{provider}(datagram)"),
    }
}

impl Opened for Waiting {
    fn address(&self) -> Result<Vec<u8>> {
        let mut address = format!("{}/", what(self.kind, &self.port.offer().provider()));
        self.port.address()?.iter().for_each(|byte| address += &format!("{byte:02x}"));
        Ok(address.into_bytes())
    }

    fn connect(self: Box<Self>, members: &Members<'_>) -> Result<Arc<dyn Transport>> {
        let provider = what(self.kind, &self.port.offer().provider());
        let address = |(rank, bytes): (usize, &Option<&[u8]>)| match bytes {
            None => Ok(Box::default()),
            Some(bytes) => match parse(bytes) {
                Some((other, address)) if other == provider => Ok(address),
                Some((other, _)) => Err(Error::Launcher {
                    reason: format!(
                        "rank {rank} uses libfabric's provider {}, and this rank {provider}; choose one that both have by \
                         HIKYAKU_OFI_PROVIDER, and the same HIKYAKU_OFI_ENDPOINT",
                        other.escape_default()
                    ),
                }),
                None => Err(members.no_address(rank)),
            },
        };
        let addresses = members.addresses.iter().enumerate().map(address).collect::<Result<Vec<_>>>()?;
        match self.kind {
            Kind::Reliable => {
                Ok(Arc::new(Endpoint::new(State::new(self.port, members.rank, addresses, members.secret)?)?))
            }
            Kind::Datagram => {
                let (rank, size) = (members.rank, addresses.len());
                let datagrams = Arc::new(Datagrams::new(self.port, addresses)?);
                let config = udp::Config::of_job(members.secret)?;
                let sending = Box::new(Sending(datagrams.clone()));
                Ok(Arc::new(udp::Endpoint::new(config, rank, size, sending, datagrams)?))
            }
        }
    }
}

/// Reads what [`Opened::address`] wrote: the provider, and the address there.
fn parse(bytes: &[u8]) -> Option<(&str, Box<[u8]>)> {
    let (provider, digits) = std::str::from_utf8(bytes).ok()?.rsplit_once('/')?;
    if digits.is_empty() || digits.len() % 2 != 0 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
    Some((provider, (0..digits.len()).step_by(2).map(byte).collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_again() {
        assert_eq!(parse(b"tcp;ofi_rxm/00ff10"), Some(("tcp;ofi_rxm", [0, 255, 16].into())));
        for wrong in [&b""[..], b"tcp", b"tcp/", b"tcp/0", b"tcp/0g", b"tcp/+1", b"\xff/00", "tcp/é".as_bytes()] {
            assert_eq!(parse(wrong), None);
        }
    }
}
