//! Which of the ways that libfabric offers is used: the fastest kind of network first, unless the environment names one.

use crate::library::{Library, Offer};
use crate::state::MESSAGE_MAX;
use hikyaku::{Error, Result};
use std::net::IpAddr;

/// Names a provider.
const VARIABLE: &str = "HIKYAKU_OFI_PROVIDER";

/// Providers from the best on: networks with adapters that do the work, then those that the processor does it for. The last ones are
/// used only where they are asked for by name: of one host alone, without flow control, or without a descriptor to sleep on.
const PREFERRED: [&str; 10] =
    ["cxi", "verbs;ofi_rxm", "efa", "opx", "psm3", "psm2", "tcp;ofi_rxm", "tcp", "sockets", "net"];

/// How good a provider is: the lower, the better. `None` for those that are not used unless asked for.
fn grade(provider: &str) -> Option<usize> {
    PREFERRED.iter().position(|name| *name == provider)
}

/// Whether a provider is meant by a name, which may leave out what libfabric puts above it.
fn is_meant(provider: &str, name: &str) -> bool {
    provider == name || provider.split(';').next() == Some(name)
}

/// All ways that can be used from an address of this host, the best first.
///
/// # Errors
/// When there is no libfabric.
pub fn all(host: IpAddr) -> Result<Vec<Offer>> {
    // Some networks do not know such addresses.
    let mut offers = Offer::all(Some(host))?;
    let known: Vec<String> = offers.iter().map(Offer::provider).collect();
    offers.extend(Offer::all(None)?.into_iter().filter(|offer| !known.contains(&offer.provider())));
    offers.retain(|offer| offer.message_max() >= MESSAGE_MAX);
    offers.sort_by_key(|offer| grade(&offer.provider()).unwrap_or(usize::MAX));
    Ok(offers)
}

/// The best one, or the one that the environment names.
///
/// # Errors
/// When there is no libfabric, or it has no such provider.
pub fn best(host: IpAddr) -> Result<Offer> {
    let asked = std::env::var(VARIABLE).unwrap_or_default();
    let asked = asked.trim();
    let (mut offers, mut seen) = (all(host)?, Vec::new());
    let is_good = |offer: &Offer| match asked {
        "" => grade(&offer.provider()).is_some(),
        name => is_meant(&offer.provider(), name),
    };
    if let Some(at) = offers.iter().position(is_good) {
        return Ok(offers.swap_remove(at));
    }
    offers.iter().map(Offer::provider).for_each(|name| {
        if !seen.contains(&name) {
            seen.push(name);
        }
    });
    let version = Library::get()?.version();
    Err(Error::Invalid(match asked {
        "" => format!("libfabric {version} has no provider that can be used from {host}"),
        name => format!("{VARIABLE}={name}: libfabric {version} has no such provider here, but {}", seen.join(", ")),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adapters_come_before_the_processor() {
        assert!(grade("cxi") < grade("tcp;ofi_rxm") && grade("verbs;ofi_rxm") < grade("tcp;ofi_rxm"));
        assert_eq!(grade("shm"), None);
    }

    #[test]
    fn a_short_name_means_what_is_built_on_it() {
        assert!(is_meant("tcp;ofi_rxm", "tcp") && is_meant("tcp;ofi_rxm", "tcp;ofi_rxm"));
        assert!(!is_meant("tcp;ofi_rxm", "ofi_rxm") && !is_meant("tcp", "udp"));
    }
}
