//! Internet addresses as the kernel reads them.

use std::net::SocketAddr;

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
