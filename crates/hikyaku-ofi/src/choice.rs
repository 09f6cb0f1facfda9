//! Which of the ways that libfabric offers is used: the fastest kind of network first, unless the environment names one.

use crate::library::{Kind, Library, Offer};
use crate::state::MESSAGE_MAX;
use hikyaku::{Error, Result};
use std::net::IpAddr;

/// Names a provider.
const VARIABLE: &str = "HIKYAKU_OFI_PROVIDER";

/// Says which endpoints are used.
const KIND_VARIABLE: &str = "HIKYAKU_OFI_ENDPOINT";

/// Bytes that the shortest datagrams of a network have.
const DATAGRAM_MIN: usize = 512;

/// Providers from the best on: networks with adapters that do the work, then those that the processor does it for. The last ones are
/// used only where they are asked for by name: of one host alone, without flow control, or without a descriptor to sleep on.
const PREFERRED: [&str; 10] =
    ["cxi", "verbs;ofi_rxm", "efa", "opx", "psm3", "psm2", "tcp;ofi_rxm", "tcp", "sockets", "net"];

/// The same of those with datagrams.
const PREFERRED_DATAGRAMS: [&str; 3] = ["verbs", "efa", "udp"];

/// The first of them that leaves the work to the processor.
const BY_PROCESSOR: [&str; 2] = ["tcp;ofi_rxm", "udp"];

/// Where the kernel lists adapters: InfiniBand, RoCE, EFA and Omni-Path; Slingshot.
const ADAPTERS: [&str; 2] = ["/sys/class/infiniband", "/sys/class/cxi"];

/// What libfabric calls that all connections of an endpoint receive into the same buffers.
const SHARED: &str = "FI_OFI_RXM_USE_SRX";

/// How good a provider is: the lower, the better. `None` for those that are not used unless asked for.
fn grade(kind: Kind, provider: &str) -> Option<usize> {
    let preferred = match kind {
        Kind::Reliable => &PREFERRED[..],
        Kind::Datagram => &PREFERRED_DATAGRAMS,
    };
    preferred.iter().position(|name| *name == provider)
}

/// Adapters of this host that are real devices: those made by software are slower than datagrams.
pub fn adapter_count() -> usize {
    let devices = ADAPTERS.iter().filter_map(|class| std::fs::read_dir(class).ok()).flatten().flatten();
    devices.filter(|device| device.path().join("device").exists()).count()
}

/// Whether an adapter does the work of the provider that would be used, and libfabric can use it.
pub fn uses_adapter(host: IpAddr, kind: Kind) -> bool {
    best(host, kind).is_ok_and(|offer| is_for_adapter(kind, &offer.provider()))
}

fn is_for_adapter(kind: Kind, provider: &str) -> bool {
    let first = BY_PROCESSOR.iter().filter_map(|name| grade(kind, name)).min();
    grade(kind, provider).is_some_and(|grade| first.is_none_or(|first| grade < first))
}

/// The endpoints that the environment asks for.
///
/// # Errors
/// When there are none of that name.
pub fn kind() -> Result<Kind> {
    named(std::env::var(KIND_VARIABLE).unwrap_or_default().trim())
}

fn named(kind: &str) -> Result<Kind> {
    match kind {
        "" | "reliable" => Ok(Kind::Reliable),
        "datagram" => Ok(Kind::Datagram),
        other => Err(Error::Invalid(format!("{KIND_VARIABLE}={other}: it is reliable or datagram"))),
    }
}

/// Whether a provider is meant by a name, which may leave out what libfabric puts above it.
fn is_meant(provider: &str, name: &str) -> bool {
    provider == name || provider.split(';').next() == Some(name)
}

/// Which of some providers is used, the best of which are first, where `asked` is what the environment asks for. A provider of just that name
/// is meant before those that are built on it: libfabric 2 has both `tcp` and `tcp;ofi_rxm`.
fn chosen(kind: Kind, providers: &[String], asked: &str) -> Option<usize> {
    let is_good = |provider: &String| match asked {
        "" => grade(kind, provider).is_some(),
        name => is_meant(provider, name),
    };
    providers.iter().position(|provider| provider == asked).or_else(|| providers.iter().position(is_good))
}

/// All ways that can be used from an address of this host, the best first.
///
/// # Errors
/// When there is no libfabric.
pub fn all(host: IpAddr, kind: Kind) -> Result<Vec<Offer>> {
    // Some networks do not know such addresses.
    let mut offers = Offer::all(Some(host), kind)?;
    let known: Vec<String> = offers.iter().map(Offer::provider).collect();
    offers.extend(Offer::all(None, kind)?.into_iter().filter(|offer| !known.contains(&offer.provider())));
    offers.retain(|offer| match kind {
        Kind::Reliable => offer.message_max() >= MESSAGE_MAX,
        Kind::Datagram => offer.datagram_max() >= DATAGRAM_MIN,
    });
    offers.sort_by_key(|offer| grade(kind, &offer.provider()).unwrap_or(usize::MAX));
    Ok(offers)
}

/// The best one, or the one that the environment names.
///
/// # Errors
/// When there is no libfabric, or it has no such provider.
pub fn best(host: IpAddr, kind: Kind) -> Result<Offer> {
    let asked = std::env::var(VARIABLE).unwrap_or_default();
    let asked = asked.trim();
    let (mut offers, mut seen) = (all(host, kind)?, Vec::new());
    let names: Vec<String> = offers.iter().map(Offer::provider).collect();
    if let Some(at) = chosen(kind, &names, asked) {
        let offer = offers.swap_remove(at);
        check_shared(&offer.provider(), &std::env::var(SHARED).unwrap_or_default())?;
        return Ok(offer);
    }
    offers.iter().map(Offer::provider).for_each(|name| {
        if !seen.contains(&name) {
            seen.push(name);
        }
    });
    let version = Library::get()?.version();
    let with = match kind {
        Kind::Reliable => "",
        Kind::Datagram => " with datagram endpoints",
    };
    let known = if seen.is_empty() { "none".into() } else { seen.join(", ") };
    Err(Error::Invalid(match asked {
        "" => format!("libfabric {version} has no provider{with} that can be used from {host}"),
        name => format!("{VARIABLE}={name}: libfabric {version} has no such provider{with} here, but {known}"),
    }))
}

/// Over adapters, libfabric 1.17 receives into buffers of connections that it has closed, and crashes, unless they are shared. It reads
/// this from the environment, which is the program's own: others may be reading it, so it is not changed here.
fn check_shared(provider: &str, setting: &str) -> Result<()> {
    let is_on = ["1", "yes", "true", "on"].iter().any(|on| setting.eq_ignore_ascii_case(on));
    if provider != "verbs;ofi_rxm" || is_on {
        return Ok(());
    }
    let why = "it crashes when a connection ends unless its connections share their buffers";
    Err(Error::Invalid(format!("libfabric's {provider} needs {SHARED}=1 for all ranks: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adapters_come_before_the_processor() {
        let grade = |provider| grade(Kind::Reliable, provider);
        assert!(grade("cxi") < grade("tcp;ofi_rxm") && grade("verbs;ofi_rxm") < grade("tcp;ofi_rxm"));
        assert_eq!(grade("shm"), None);
        let grade = |provider| super::grade(Kind::Datagram, provider);
        assert!(grade("verbs") < grade("udp"));
        assert_eq!(grade("sockets"), None, "it makes connections");
    }

    #[test]
    fn adapters_are_told_from_the_processor() {
        let is_for_adapter = |provider| is_for_adapter(Kind::Reliable, provider);
        assert!(is_for_adapter("cxi") && is_for_adapter("verbs;ofi_rxm") && is_for_adapter("psm3"));
        assert!(!is_for_adapter("tcp;ofi_rxm") && !is_for_adapter("tcp") && !is_for_adapter("shm"));
        assert!(super::is_for_adapter(Kind::Datagram, "efa") && !super::is_for_adapter(Kind::Datagram, "udp"));
    }

    #[test]
    fn endpoints_have_names() {
        assert_eq!(
            [named(""), named("reliable"), named("datagram")].map(Result::unwrap),
            [Kind::Reliable, Kind::Reliable, Kind::Datagram]
        );
        let error = named("carrier").unwrap_err().to_string();
        assert_eq!(error, "HIKYAKU_OFI_ENDPOINT=carrier: it is reliable or datagram");
    }

    #[test]
    fn adapters_are_used_with_shared_buffers_alone() {
        assert!(check_shared("verbs;ofi_rxm", "").is_err() && check_shared("verbs;ofi_rxm", "0").is_err());
        assert!(check_shared("verbs;ofi_rxm", "1").is_ok() && check_shared("verbs;ofi_rxm", "Yes").is_ok());
        assert!(check_shared("tcp;ofi_rxm", "").is_ok());
    }

    #[test]
    fn a_short_name_means_what_is_built_on_it() {
        assert!(is_meant("tcp;ofi_rxm", "tcp") && is_meant("tcp;ofi_rxm", "tcp;ofi_rxm"));
        assert!(!is_meant("tcp;ofi_rxm", "ofi_rxm") && !is_meant("tcp", "udp"));
        let both = ["tcp;ofi_rxm", "tcp", "shm"].map(String::from);
        let chosen = |providers: &[String], asked| chosen(Kind::Reliable, providers, asked);
        assert_eq!(
            [chosen(&both, "tcp"), chosen(&both, "tcp;ofi_rxm"), chosen(&both, "")],
            [Some(1), Some(0), Some(0)]
        );
        assert_eq!([chosen(&both[..1], "tcp"), chosen(&both, "udp"), chosen(&both[2..], "")], [Some(0), None, None]);
    }
}
