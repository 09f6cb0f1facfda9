//! What operations cost: a model of a machine, read from a small TOML file.
//!
//! Times are in microseconds, bandwidths in MB/s (10^6 bytes per second), as the papers give them. `machines/README.md`
//! says what each number means.

use crate::error::{Error, Result};
use serde::Deserialize;

/// A model of a machine. The files in `machines/` say where their numbers come from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// What it is called on the command line.
    pub name: String,
    /// What it is.
    pub title: String,
    /// Where its numbers come from.
    pub source: String,
    /// The computers.
    pub host: Host,
    /// What operations cost the host that starts them.
    pub operation: Operation,
    /// The network interface.
    pub ni: Interface,
    /// The network.
    pub link: Link,
    /// What the hardware does by itself.
    #[serde(default)]
    pub hardware: Hardware,
}

/// The computers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Host {
    /// Processors that can run ranks.
    pub cores: usize,
    /// Clock, MHz.
    pub clock: f64,
    /// At the entrance of a library call that communicates.
    pub call: f64,
    /// Copying memory.
    pub copy_bandwidth: f64,
    /// Starting to.
    pub copy_start: f64,
    /// Noticing what the interface has written.
    pub poll: f64,
    /// Handling the cache, per operation.
    pub flush: f64,
}

/// What operations cost the host that starts them: until the interface has it, and until the host is free again, both
/// from the same moment on.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs)]
pub struct Operation {
    pub push_start: f64,
    pub push_busy: f64,
    pub pull_start: f64,
    pub pull_busy: f64,
    pub word_start: f64,
    pub word_busy: f64,
    pub message_start: f64,
    pub message_busy: f64,
    pub prepared_start: f64,
    pub prepared_busy: f64,
    pub atomic_start: f64,
    pub atomic_busy: f64,
}

/// The network interface.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Interface {
    /// Clock of its processor, MHz; 0: it has none, handlers run on the host.
    pub clock: f64,
    /// Per packet, at the initiator.
    pub send: f64,
    /// Per packet, at the target.
    pub receive: f64,
    /// Running a handler.
    pub handler: f64,
    /// Per packet, of the sending engine, beyond its bytes.
    pub gap: f64,
    /// Bytes of a packet; 0: no limit.
    pub packet: usize,
    /// Between host memory and interface; 0: no stage of its own.
    pub dma_bandwidth: f64,
    /// Starting to read host memory.
    pub dma_read_start: f64,
    /// Starting to write host memory.
    pub dma_write_start: f64,
}

/// The network.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// How hosts are connected.
    pub topology: Topology,
    /// Rows and columns of hosts.
    #[serde(default)]
    pub dims: Vec<usize>,
    /// Ports of a switch.
    #[serde(default)]
    pub radix: usize,
    /// Of the first byte, over the shortest way.
    pub latency: f64,
    /// For each hop more.
    #[serde(default)]
    pub hop_latency: f64,
    /// Of one link, in one direction.
    pub bandwidth: f64,
    /// Switches copy packets to several hosts.
    #[serde(default)]
    pub multicast: bool,
}

/// How hosts are connected.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// Every host to every other.
    Crossbar,
    /// A crossbar per row and per column of `dims`: a hop more between hosts that share neither.
    #[serde(rename = "crossbar2d")]
    Crossbar2d,
    /// Switches of `radix` ports, half of them down.
    FatTree,
    /// One switch.
    Switch,
}

/// What the hardware does by itself.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hardware {
    /// A barrier of all.
    pub barrier: Option<HardwareBarrier>,
    /// A broadcast to all.
    pub broadcast: Option<HardwareBroadcast>,
}

/// Which ranks the hardware serves.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// Any.
    #[default]
    Any,
    /// Those that fill a rectangle of the network.
    Rectangle,
}

/// A barrier of all.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardwareBarrier {
    /// From the last arrival on.
    pub time: f64,
    /// Which ranks.
    #[serde(default)]
    pub shape: Shape,
    /// When it can be used, in words.
    pub condition: String,
}

/// A broadcast to all.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardwareBroadcast {
    /// To start one, beyond a push.
    pub start: f64,
    /// To all together.
    pub bandwidth: f64,
    /// Static buffers, used in turn.
    #[serde(default)]
    pub buffers: usize,
    /// Bytes of each; 0: the library's own size.
    #[serde(default)]
    pub buffer_bytes: usize,
    /// One at a time in the whole machine.
    #[serde(default)]
    pub serial: bool,
    /// Which ranks.
    #[serde(default)]
    pub shape: Shape,
    /// When it can be used, in words.
    pub condition: String,
}

/// The longest time an operation may be said to take, µs: a second.
const TIME_MAX: f64 = 1e6;
/// Bandwidths that a copy or a network may have, MB/s.
const BANDWIDTH_MIN: f64 = 1e-3;
const BANDWIDTH_MAX: f64 = 1e12;
/// The highest clock, MHz.
const CLOCK_MAX: f64 = 1e9;

/// The models that come with the library.
const SHIPPED: [&str; 6] = [
    include_str!("../../../machines/sr8000.toml"),
    include_str!("../../../machines/myrinet.toml"),
    include_str!("../../../machines/dimmnet1.toml"),
    include_str!("../../../machines/rhinet.toml"),
    include_str!("../../../machines/infiniband-fdr.toml"),
    include_str!("../../../machines/ndr.toml"),
];

impl Machine {
    /// Reads a model.
    pub fn parse(text: &str) -> Result<Machine> {
        let wrong = |what: &dyn std::fmt::Display| Error::Invalid(format!("not a model of a machine: {what}"));
        let machine: Machine = toml::from_str(text).map_err(|error| wrong(&error))?;
        machine.check().map_err(|problem| wrong(&problem))?;
        Ok(machine)
    }

    /// Whether its numbers are those of a machine: times that can be added up, sizes that can be counted.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        let Machine { host, operation: o, ni, link, hardware, .. } = self;
        let starts = [o.push_start, o.pull_start, o.word_start, o.message_start, o.prepared_start, o.atomic_start];
        let busy = [o.push_busy, o.pull_busy, o.word_busy, o.message_busy, o.prepared_busy, o.atomic_busy];
        let hosts = [host.call, host.copy_start, host.poll, host.flush];
        let interfaces = [ni.send, ni.receive, ni.handler, ni.gap, ni.dma_read_start, ni.dma_write_start];
        let broadcast = hardware.broadcast.as_ref();
        let links = [link.latency, link.hop_latency];
        let own = [hardware.barrier.as_ref().map_or(0.0, |it| it.time), broadcast.map_or(0.0, |it| it.start)];
        let times = [&starts[..], &busy, &hosts, &interfaces, &links, &own].concat();
        if let Some(time) = times.iter().find(|time| !(0.0..=TIME_MAX).contains(*time)) {
            return Err(format!("a time of {time} µs; 0 to {TIME_MAX} can be added up"));
        }
        let bandwidths = [
            host.copy_bandwidth,
            ni.dma_bandwidth,
            link.bandwidth,
            broadcast.map_or(0.0, |broadcast| broadcast.bandwidth),
        ];
        let is_bandwidth = |it: &f64| *it == 0.0 || (BANDWIDTH_MIN..=BANDWIDTH_MAX).contains(it);
        if let Some(bandwidth) = bandwidths.iter().find(|it| !is_bandwidth(it)) {
            return Err(format!("{bandwidth} MB/s; it is 0 (no limit), or {BANDWIDTH_MIN} to {BANDWIDTH_MAX}"));
        }
        if let Some(clock) = [host.clock, ni.clock].iter().find(|clock| !(0.0..=CLOCK_MAX).contains(*clock)) {
            return Err(format!("a clock of {clock} MHz"));
        }
        let hosts = link.dims.iter().try_fold(1usize, |all, row| all.checked_mul(*row));
        match hosts {
            Some(1..) => Ok(()),
            _ => Err(format!("{:?} are no rows and columns of hosts", link.dims)),
        }
    }

    /// The models that come with the library.
    pub fn shipped() -> Vec<Machine> {
        SHIPPED.iter().map(|text| Machine::parse(text).expect("a test reads them all")).collect()
    }

    /// The model of that name that comes with the library.
    pub fn named(name: &str) -> Result<Machine> {
        let mut all = Machine::shipped();
        match all.iter().position(|machine| machine.name == name) {
            Some(index) => Ok(all.swap_remove(index)),
            None => {
                let names: Vec<_> = all.into_iter().map(|machine| machine.name).collect();
                Err(Error::Invalid(format!("no machine is called {name}; there are {}", names.join(", "))))
            }
        }
    }

    /// A machine of round numbers, for tests and examples: a network of 1 µs and 10 GB/s.
    pub fn plain() -> Machine {
        Machine {
            name: "plain".into(),
            title: "round numbers".into(),
            source: "nowhere".into(),
            host: Host { cores: 1, copy_bandwidth: 10_000.0, copy_start: 0.05, poll: 0.05, ..Host::default() },
            operation: Operation {
                push_start: 0.1,
                pull_start: 0.1,
                word_start: 0.1,
                message_start: 0.1,
                prepared_start: 0.05,
                atomic_start: 0.1,
                ..Operation::default()
            },
            ni: Interface { send: 0.1, receive: 0.1, handler: 0.1, gap: 0.05, packet: 4096, ..Interface::default() },
            link: Link {
                topology: Topology::Crossbar,
                dims: Vec::new(),
                radix: 0,
                latency: 1.0,
                hop_latency: 0.0,
                bandwidth: 10_000.0,
                multicast: false,
            },
            hardware: Hardware::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_models_can_be_read_and_found() {
        for text in SHIPPED {
            let machine = Machine::parse(text).unwrap();
            assert_eq!(Machine::named(&machine.name).unwrap().title, machine.title);
        }
        let error = Machine::named("abacus").unwrap_err().to_string();
        assert!(error.contains("sr8000, myrinet"), "{error}");
    }

    /// A model that somebody has written is an error, or a machine that a job runs on.
    #[test]
    fn fuzz_machines() {
        let samples = SHIPPED.map(|text| {
            // Without remarks: changes shall meet what counts.
            let lines = text.lines().filter(|line| !line.trim_start().starts_with('#') && !line.trim().is_empty());
            lines.map(|line| format!("{line}\n")).collect::<String>().into_bytes()
        });
        crate::fuzz::run("machines", &samples, |input| {
            let Ok(machine) = Machine::parse(&String::from_utf8_lossy(input)) else { return };
            let _ = crate::sim::Sim::new(machine, 2, 1).run(|job| {
                let words = job.symmetric::<u64>(4)?;
                job.push(words.at(1 - job.rank(), 0), &[1, 2, 3, 4])?;
                job.barrier()?;
                let world = job.world()?;
                world.broadcast(&mut [job.rank() as u64; 3], 0)
            });
        });
    }

    #[test]
    fn what_a_model_does_not_have_is_an_error() {
        let text = format!("{}\n[weather]\nrain = 1.0\n", SHIPPED[0]);
        assert!(Machine::parse(&text).unwrap_err().to_string().contains("weather"));
    }
}
