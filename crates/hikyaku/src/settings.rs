//! What the environment can say: every setting, in one table.
//!
//! Whoever starts or joins a job looks at all of them first, so that one that cannot be read is an error and not silently as if it had
//! not been set. The table of docs/guide.md is compared with this one.

use crate::error::{Error, Result};
use crate::job::parse_bytes;
use crate::transport::shm::layout::PORT_COUNT_MAX;
use crate::transport::udp::FaultRates;
use std::ffi::OsStr;

/// An environment variable that changes what the library does. One that is empty counts as not set.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The variable.
    pub name: &'static str,
    /// What it changes.
    pub meaning: &'static str,
    /// What it may be.
    pub accepted: &'static str,
    /// What is so without it.
    pub default: &'static str,
    accepts: fn(&str) -> bool,
}

/// All settings.
pub const SETTINGS: [Setting; 12] = [
    Setting {
        name: "HIKYAKU_HEAP",
        meaning: "address space for symmetric memory per rank",
        accepted: "a number of bytes, as 64M or 4G",
        default: "as much as the machine has memory",
        accepts: |text| parse_bytes(text).is_some(),
    },
    Setting {
        name: "HIKYAKU_PORTS",
        meaning: "ports per rank: threads that can communicate at once, plus one for the interface",
        accepted: "a whole number from 2 to 64",
        default: "16",
        accepts: |text| text.parse().is_ok_and(|ports: usize| (2..=PORT_COUNT_MAX).contains(&ports)),
    },
    Setting {
        name: "HIKYAKU_START_TIMEOUT",
        meaning: "how long ranks wait for each other at the start",
        accepted: "a whole number of seconds",
        default: "30",
        accepts: |text| text.parse::<u64>().is_ok(),
    },
    Setting {
        name: "HIKYAKU_TUNE",
        meaning: "the file of choices that `hikyaku tune` writes and jobs read",
        accepted: "a path",
        default: "`~/.config/hikyaku/tune.toml`",
        accepts: |_| true,
    },
    Setting {
        name: "HIKYAKU_CROSS",
        meaning: "whether processes of one host reach each other's private memory by `process_vm_readv` and `process_vm_writev`",
        accepted: "on or off",
        default: "on",
        accepts: is_switch,
    },
    Setting {
        name: "HIKYAKU_ADDRESS",
        meaning: "where ranks of other hosts reach those of this one",
        accepted: "an address, or the name of an interface",
        default: "the first address that is not loopback",
        accepts: |_| true,
    },
    Setting {
        name: "HIKYAKU_TRANSPORT",
        meaning: "the network between hosts, for all ranks alike",
        accepted: "udp, or a network that the program installs: ofi (libfabric)",
        default: "libfabric where every host has an adapter for it, else udp",
        accepts: |text| text.trim().bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()),
    },
    Setting {
        name: "HIKYAKU_OFI_PROVIDER",
        meaning: "with HIKYAKU_TRANSPORT=ofi: the provider of libfabric, for all ranks alike",
        accepted: "a name that `hikyaku info` lists, as tcp or verbs",
        default: "the best one there is",
        accepts: |_| true,
    },
    Setting {
        name: "HIKYAKU_OFI_ENDPOINT",
        meaning: "with HIKYAKU_TRANSPORT=ofi: the endpoints of libfabric, for all ranks alike; those for datagrams need no connections",
        accepted: "reliable or datagram",
        default: "reliable",
        accepts: |text| matches!(text, "reliable" | "datagram"),
    },
    Setting {
        name: "HIKYAKU_UDP_SEAL",
        meaning: "whether frames between hosts are authenticated, for all ranks or none; off is good for measuring only",
        accepted: "on or off",
        default: "on",
        accepts: is_switch,
    },
    Setting {
        name: "HIKYAKU_UDP_FAULTS",
        meaning: "for tests: how often a frame between hosts is lost, doubled, reordered or damaged",
        accepted: "rates from 0 to 1 and a seed, as loss=0.02,double=0.02,reorder=0.02,damage=0.01,seed=7",
        default: "no faults",
        accepts: |text| FaultRates::parse(text).is_ok(),
    },
    Setting {
        name: "HIKYAKU_ALONE",
        meaning: "1: each process is a job of its own, though a launcher that is not known has started it",
        accepted: "1 or 0",
        default: "0",
        accepts: |text| matches!(text, "0" | "1"),
    },
];

/// What the launcher tells each rank by its environment; no settings.
pub const TOLD: [(&str, &str); 8] = [
    ("HIKYAKU_RANK", "the number of this rank"),
    ("HIKYAKU_SIZE", "how many ranks the job has"),
    ("HIKYAKU_LOCAL_RANK", "the number of this rank among those of its host"),
    ("HIKYAKU_LOCAL_SIZE", "how many ranks its host has"),
    ("HIKYAKU_HOST", "the name of its host, as `--hosts` gave it; only over hosts"),
    ("HIKYAKU_HOSTS", "how many hosts the job has; only over hosts"),
    ("HIKYAKU_SOCKET", "the descriptor by which the library finds the launcher"),
    ("HIKYAKU_DOOR", "the name by which it finds the launcher if a wrapper has closed that descriptor"),
];

fn is_switch(text: &str) -> bool {
    matches!(text, "on" | "off")
}

/// Fails if a variable of the environment is a setting that cannot be read.
pub(crate) fn check() -> Result<()> {
    SETTINGS.iter().try_for_each(|setting| match std::env::var_os(setting.name) {
        Some(value) => setting.check(&value),
        None => Ok(()),
    })
}

impl Setting {
    fn check(&self, value: &OsStr) -> Result<()> {
        // A path may be anything.
        let text = value.to_string_lossy();
        match text.is_empty() || (self.accepts)(text.trim()) {
            true => Ok(()),
            false => Err(Error::Setting { name: self.name, value: text.into_owned(), accepted: self.accepted }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(name: &str, value: &str) -> Option<String> {
        let setting = SETTINGS.iter().find(|setting| setting.name == name).unwrap();
        setting.check(OsStr::new(value)).err().map(|error| error.to_string())
    }

    #[test]
    fn what_cannot_be_read_is_named_with_what_can() {
        assert_eq!(
            says("HIKYAKU_PORTS", "abc").unwrap(),
            "HIKYAKU_PORTS=abc cannot be read; accepted is a whole number from 2 to 64"
        );
        assert_eq!(PORT_COUNT_MAX, 64);
        for (name, good, bad) in [
            ("HIKYAKU_HEAP", "64M", "64X"),
            ("HIKYAKU_PORTS", " 16 ", "65"),
            ("HIKYAKU_START_TIMEOUT", "3", "3s"),
            ("HIKYAKU_CROSS", "off", "no"),
            ("HIKYAKU_TRANSPORT", "ofi", "UDP"),
            ("HIKYAKU_UDP_SEAL", "on", "yes"),
            ("HIKYAKU_UDP_FAULTS", "loss=0.5", "loss=2"),
            ("HIKYAKU_ALONE", "1", "yes"),
        ] {
            assert_eq!((says(name, good), says(name, "")), (None, None));
            assert!(
                says(name, bad)
                    .is_some_and(|text| text.starts_with(&format!("{name}={bad} cannot be read; accepted is ")))
            );
        }
    }
}
