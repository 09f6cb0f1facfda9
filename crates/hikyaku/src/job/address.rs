//! The address of this host by which ranks of other hosts reach it.

use crate::error::{Error, Result};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Says which address or interface to use, where a host has several.
pub(super) const VARIABLE: &str = "HIKYAKU_ADDRESS";

/// The address to listen at: the one that `HIKYAKU_ADDRESS` asks for, or the first one of an interface that leads anywhere, or
/// loopback.
///
/// # Errors
/// When what is asked for is not there, or the kernel does not say what is.
pub fn of_this_host() -> Result<IpAddr> {
    let asked = std::env::var(VARIABLE).ok().filter(|asked| !asked.is_empty());
    let all = interfaces()?;
    let Some(asked) = asked else {
        let rank = |address: &IpAddr| (address.is_loopback(), address.is_ipv6());
        let best = all.into_iter().map(|(_, address)| address).min_by_key(rank);
        return Ok(best.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)));
    };
    if let Ok(address) = asked.parse() {
        return Ok(address);
    }
    let names: Vec<String> = all.iter().map(|(name, address)| format!("{name} ({address})")).collect();
    let found = all.into_iter().find(|(name, _)| *name == asked).map(|(_, address)| address);
    found.ok_or_else(|| {
        Error::Invalid(format!(
            "{VARIABLE}={asked} names no address and no interface of this host: {}",
            names.join(", ")
        ))
    })
}

/// All interfaces that are up, with their addresses; no link-local ones, which mean nothing elsewhere.
fn interfaces() -> Result<Vec<(String, IpAddr)>> {
    let mut first = std::ptr::null_mut();
    // SAFETY: fills in a pointer to a list, which is given back below.
    if unsafe { libc::getifaddrs(&mut first) } != 0 {
        let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
        return Err(Error::System { call: "getifaddrs", errno });
    }
    let mut found = Vec::new();
    let mut next = first;
    // SAFETY: null, or an entry of the list.
    while let Some(entry) = unsafe { next.as_ref() } {
        next = entry.ifa_next;
        // SAFETY: a terminated name.
        let name = unsafe { std::ffi::CStr::from_ptr(entry.ifa_name) }.to_string_lossy().into_owned();
        let is_up = entry.ifa_flags & libc::IFF_UP as libc::c_uint != 0;
        // SAFETY: null, or an address of the family that it says.
        if let Some(address) = unsafe { address(entry.ifa_addr) }.filter(|_| is_up) {
            found.push((name, address));
        }
    }
    // SAFETY: the list from above, which nothing refers to any more.
    unsafe { libc::freeifaddrs(first) };
    Ok(found)
}

/// # Safety
/// Null, or a socket address of the family that it says.
unsafe fn address(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: the caller's promise.
    let family = unsafe { address.as_ref() }?.sa_family;
    match family as libc::c_int {
        libc::AF_INET => {
            // SAFETY: of that family.
            let bits = unsafe { (*address.cast::<libc::sockaddr_in>()).sin_addr.s_addr };
            Some(IpAddr::V4(Ipv4Addr::from(u32::from_be(bits)))).filter(|found| !found.is_unspecified())
        }
        libc::AF_INET6 => {
            // SAFETY: of that family.
            let bytes = unsafe { (*address.cast::<libc::sockaddr_in6>()).sin6_addr.s6_addr };
            let found = Ipv6Addr::from(bytes);
            Some(IpAddr::V6(found)).filter(|_| !found.is_unicast_link_local())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_has_an_address() {
        assert!(interfaces().unwrap().iter().any(|(_, address)| address.is_loopback()));
        assert!(!of_this_host().unwrap().is_unspecified());
    }
}
