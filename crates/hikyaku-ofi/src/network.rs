//! libfabric as a network that jobs start on.

use crate::choice;
use crate::endpoint::Endpoint;
use crate::memory::REACHES_MAX;
use crate::port::Port;
use crate::state::{LONG_COUNT, RECEIVE_COUNT, SHORT_COUNT, State};
use hikyaku::spi::{Members, Network, Opened, Transport};
use hikyaku::{Error, Result};
use std::net::IpAddr;
use std::sync::Arc;

/// The network that `HIKYAKU_TRANSPORT=ofi` asks for.
pub struct Ofi;

impl Network for Ofi {
    fn name(&self) -> &'static str {
        "ofi"
    }

    fn open(&self, host: IpAddr) -> Result<Box<dyn Opened>> {
        let port = Port::open(choice::best(host)?, SHORT_COUNT + LONG_COUNT + RECEIVE_COUNT + REACHES_MAX)?;
        Ok(Box::new(Waiting { port }))
    }
}

/// An endpoint that waits to hear where the others are.
struct Waiting {
    port: Port,
}

impl Opened for Waiting {
    fn address(&self) -> Result<Vec<u8>> {
        let mut address = format!("{}/", self.port.offer().provider());
        self.port.address()?.iter().for_each(|byte| address += &format!("{byte:02x}"));
        Ok(address.into_bytes())
    }

    fn connect(self: Box<Self>, members: &Members<'_>) -> Result<Arc<dyn Transport>> {
        let provider = self.port.offer().provider();
        let address = |(rank, bytes): (usize, &Option<&[u8]>)| match bytes {
            None => Ok(Box::default()),
            Some(bytes) => match parse(bytes) {
                Some((other, address)) if other == provider => Ok(address),
                Some((other, _)) => Err(Error::Launcher {
                    reason: format!(
                        "rank {rank} uses libfabric's provider {}, and this rank {provider}; choose one that both have by \
                         HIKYAKU_OFI_PROVIDER",
                        other.escape_default()
                    ),
                }),
                None => Err(members.no_address(rank)),
            },
        };
        let addresses = members.addresses.iter().enumerate().map(address).collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(Endpoint::new(State::new(self.port, members.rank, addresses, members.secret)?)?))
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
