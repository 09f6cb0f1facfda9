//! Internet addresses as the kernel reads them, and how a peer is reached.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};

/// How a peer is reached.
pub struct Way {
    pub address: Address,
    /// A socket that sends to it alone, for which the kernel looks up the route once: that is an eighth of the time of a short frame.
    /// What comes arrives at the one socket that all peers send to, by whichever they use: a frame says whose it is.
    pub socket: Option<UdpSocket>,
    /// That socket is not used, though it stays: a filter on the way may let pass only what looks like an answer, from the port
    /// that was sent to.
    pub is_common: bool,
}

impl Way {
    /// For a batch, which is sent while the socket is there.
    pub fn hop(&self) -> Hop {
        let own = self.socket.as_ref().filter(|_| !self.is_common);
        Hop { address: self.address, socket: own.map(AsRawFd::as_raw_fd) }
    }
}

/// A way, as a train takes it.
#[derive(Clone, Copy)]
pub struct Hop {
    pub address: Address,
    pub socket: Option<RawFd>,
}

/// An address and port, of either family.
#[derive(Clone, Copy)]
#[repr(C)]
pub union Address {
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

impl Address {
    pub fn new(address: SocketAddr) -> Address {
        match address {
            SocketAddr::V4(address) => Address {
                v4: libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: address.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
                    sin_zero: [0; 8],
                },
            },
            SocketAddr::V6(address) => Address {
                v6: libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: address.port().to_be(),
                    sin6_flowinfo: address.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                    sin6_scope_id: address.scope_id(),
                },
            },
        }
    }

    /// Bytes of it.
    pub fn bytes(is_v6: bool) -> libc::socklen_t {
        let bytes = if is_v6 { size_of::<libc::sockaddr_in6>() } else { size_of::<libc::sockaddr_in>() };
        bytes as libc::socklen_t
    }
}
