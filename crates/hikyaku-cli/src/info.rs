//! `hikyaku info`: what was found on this machine, and which path is taken for what and why.

mod networks;

use crate::bench::size;
use hikyaku::launch::{Bind, Launcher};
use hikyaku::message::EAGER_MAX;
use hikyaku::spi::udp;
use hikyaku::{Job, PAYLOAD_MAX, PushPath};
use std::net::SocketAddr;
use std::process::ExitCode;

/// Print what hikyaku found on this machine, and which mechanism it uses for each operation, and why.
#[derive(clap::Args)]
pub struct Arguments {
    /// Number of ranks to explain the choices for
    #[arg(short = 'n', long = "ranks", value_name = "N", default_value_t = 2)]
    ranks: usize,
}

pub fn run(arguments: Arguments) -> Result<ExitCode, String> {
    let launcher = launcher("probe")?.ranks(arguments.ranks);
    let facts = hikyaku::launch::facts();
    let crowded = arguments.ranks > facts.cores.len();
    let outcome =
        launcher.run().map_err(|error| format!("cannot start a job of {} ranks: {error}", arguments.ranks))?;
    if outcome.status() != 0 {
        let errors = outcome.output.first().map(|rank| String::from_utf8_lossy(&rank.errors).into_owned());
        return Err(format!("the probe failed: {}", errors.unwrap_or_default().trim()));
    }
    let answers = String::from_utf8_lossy(&outcome.output[0].output).into_owned();
    let direct = answers.contains("private=direct");

    say!("hikyaku {} (format {})\n", env!("CARGO_PKG_VERSION"), facts.format);
    say!("This machine");
    line("cores for ranks", &format!("{} ({})", facts.cores.len(), join(&facts.cores)));
    line("memory", &format!("{:.1} GiB", facts.memory_bytes as f64 / (1u64 << 30) as f64));
    line(
        "membarrier",
        match facts.asymmetric_fence {
            true => "yes: waking a sleeper costs a sender nothing when nobody sleeps",
            false => "no: every notification executes a full fence",
        },
    );
    line(
        "process_vm_readv/writev",
        match direct {
            true => "allowed between ranks",
            false => "forbidden between ranks (seccomp, Yama, namespaces, or HIKYAKU_CROSS=off)",
        },
    );
    say!("\nTransports");
    line("mapped memory", "ranks of this host, as threads (hikyaku::local) or processes (hikyaku run)");
    networks::explain().iter().for_each(|(name, text)| line(name, text));
    say!("\nA job of {} ranks here", arguments.ranks);
    match launcher.bind(Bind::Core).cores() {
        Some(cores) => line("binding", &format!("one core each: {}", join(&cores.concat()))),
        None if arguments.ranks == 1 => line("binding", "none: one rank has all cores"),
        None => line("binding", &format!("none: {} ranks do not fit {} cores", arguments.ranks, facts.cores.len())),
    }
    line(
        "waiting",
        match crowded {
            true => "yield, after 1 ms sleep: more ranks than cores, so spinning would keep others from running",
            false => "spin 100 us, yield, after 1 ms sleep: every rank has a core",
        },
    );
    say!("\nPaths");
    line("symmetric memory, areas", "a pointer: loads, stores and atomics in place, any size");
    for (bytes, way) in &facts.copies {
        line(&format!("  from {} on", size(*bytes)), way);
    }
    explain_pushes(&facts.copies);
    line(
        "registered memory, push/pull",
        match direct {
            true => "one process_vm_writev/readv per call: one copy, no help from the owner",
            false => "messages to the owner's network interface: needs the owner to make progress",
        },
    );
    line("registered memory, words", "messages to the owner's network interface (the kernel copies bytes, not words)");
    line(
        "active messages",
        &format!("one cache line each, payload up to {PAYLOAD_MAX} bytes in a ring per pair of port and rank"),
    );
    line("send and receive", "a slot per pair and index: nothing is searched, queued or allocated");
    line("  up to 8 bytes", "in the word that the receiver looks at");
    line("  9 to 64 bytes", "in a cache line of the slot");
    let eager = format!("  65 bytes to {} KB", EAGER_MAX / 1024);
    line(&eager, "through a buffer that both map, read while it is written");
    line("  longer, in job memory", "copied once, by both sides at the same time");
    line(
        "  longer, in private memory",
        match direct {
            true => "the same, by process_vm_writev and process_vm_readv",
            false => "through job memory, since private memory cannot be reached",
        },
    );
    say!("\nCollectives of all {} ranks", arguments.ranks);
    crate::tune::explain(arguments.ranks, crowded).iter().for_each(|(name, text)| line(name, text));
    Ok(ExitCode::SUCCESS)
}

/// The three ways of a push, and from how many bytes on each is taken.
fn explain_pushes(copies: &[(usize, &str)]) {
    let window = PushPath::WINDOW_BYTES;
    let packet = udp::Config::unsealed(SocketAddr::from(([0, 0, 0, 0], 0))).payload_max;
    line(
        "a push goes",
        "by its size; push_by and hk_push_by take one of these ways, bench --only indirect compares them",
    );
    line(&format!("  up to {} bytes: at once", PushPath::WORD_BYTES), "one store, or between hosts one packet");
    line(
        "  longer: in windows",
        &format!(
            "through the caches, uncut: {window} bytes at a time only if asked for, since one long copy costs less"
        ),
    );
    let (from, why) = match copies.last() {
        Some((bytes, _)) if *bytes > SHORT_COPY_MAX => (
            format!("  from {} on: in bulk", size(*bytes)),
            "as what the caches do not hold, measured: a copy that is as long waits for memory",
        ),
        _ => ("  longer: in bulk".into(), "all copies are alike on this processor"),
    };
    line(&from, why);
    line(
        "  between hosts, in bulk",
        &format!("from {} bytes on: packets of up to {} (udp)", PushPath::WORD_BYTES + 1, size(packet)),
    );
}

/// A copy of so many bytes is in the caches of any processor.
const SHORT_COPY_MAX: usize = 64 << 10;

/// One rank of the probing job: rank 0 says how it reaches the private memory of the last rank.
pub fn probe_rank() -> Result<ExitCode, String> {
    let job = Job::start().map_err(|error| error.to_string())?;
    let peer = job.size() - 1;
    let direct = job.reaches_private_memory(peer).map_err(|error| error.to_string())?;
    if job.rank() == 0 {
        say!("private={}", if direct { "direct" } else { "messages" });
    }
    job.barrier().map_err(|error| error.to_string())?;
    Ok(ExitCode::SUCCESS)
}

/// A launcher of this very program in another role.
fn launcher(role: &str) -> Result<Launcher, String> {
    let program = crate::this_program()?;
    Ok(Launcher::new(program).args(["rank", role]).capture(true))
}

fn line(name: &str, text: &str) {
    say!("  {name:<30} {text}");
}

fn join(numbers: &[usize]) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(" ")
}
