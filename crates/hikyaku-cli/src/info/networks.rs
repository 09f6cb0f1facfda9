//! By what ranks of other hosts are reached from here, and why.

use hikyaku_ofi::{Memory, Provider};
use std::net::IpAddr;

/// Name and text of each line.
pub fn explain() -> Vec<(String, String)> {
    let host = match hikyaku::spi::address_of_this_host() {
        Ok(host) => host,
        Err(error) => return vec![("between hosts".into(), error.to_string())],
    };
    let asked = std::env::var("HIKYAKU_TRANSPORT").unwrap_or_default();
    let asked = asked.trim();
    let is_preferred = asked.is_empty() && hikyaku_ofi::is_preferred(host);
    let mut lines = vec![
        ("between hosts".into(), why(asked, is_preferred)),
        ("udp".into(), format!("from {host}: datagrams, authenticated; no library needed")),
    ];
    lines.extend(libfabric(host));
    let service = "a thread of the library sleeps until a message comes, so a push arrives while its target computes";
    lines.push(("progress".into(), format!("{service}; a rank that waits uses no processor time for it")));
    lines
}

/// Which network jobs use.
fn why(asked: &str, is_preferred: bool) -> String {
    match asked {
        "udp" | "ofi" => format!("{asked}, as HIKYAKU_TRANSPORT says"),
        "" if is_preferred => {
            "ofi where all hosts have an adapter, as this one, else udp; HIKYAKU_TRANSPORT names one".into()
        }
        "" => "udp: no adapter here that libfabric can use; HIKYAKU_TRANSPORT=ofi, for all ranks, asks for libfabric"
            .into(),
        other => format!("HIKYAKU_TRANSPORT={other}: there is no such network; jobs do not start"),
    }
}

fn libfabric(host: IpAddr) -> Vec<(String, String)> {
    let (version, providers) = match hikyaku_ofi::providers(host) {
        Ok(found) => found,
        Err(error) => return vec![("ofi".into(), format!("not there: {error}"))],
    };
    let chosen = hikyaku_ofi::chosen(host);
    let which = match &chosen {
        Ok(chosen) => format!("libfabric {version}, by {} ({} endpoints); it has", chosen.name, chosen.endpoint),
        Err(error) => format!("cannot be used: {error}; it has"),
    };
    let listed = |provider: &Provider| {
        let Provider { name, network, device, endpoint, memory, .. } = provider;
        let is_chosen = chosen.as_ref().is_ok_and(|chosen| chosen == provider);
        let mark = if is_chosen { " (chosen)" } else { "" };
        (format!("  {name}{mark}"), format!("{device} at {network}: {endpoint} endpoints; {}", by_itself(*memory)))
    };
    let mut lines = vec![("ofi".into(), which)];
    lines.extend(providers.iter().map(listed));
    let names = "HIKYAKU_OFI_PROVIDER names a provider, HIKYAKU_OFI_ENDPOINT the endpoints, for all ranks";
    lines.push((String::new(), names.into()));
    lines
}

/// What the network does without the target's processor, or its library.
fn by_itself(memory: Memory) -> &'static str {
    match memory {
        Memory::All => "transfers of 16 KB and more go from memory to memory",
        Memory::Areas => "transfers of 16 KB and more with areas go from memory to memory",
        _ => "all by messages",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_which_network_is_used_and_why() {
        assert_eq!(why("ofi", false), "ofi, as HIKYAKU_TRANSPORT says");
        assert!(why("", false).starts_with("udp: no adapter"));
        assert!(why("", true).starts_with("ofi where all hosts"));
        assert!(why("cart", true).contains("no such network"));
    }
}
