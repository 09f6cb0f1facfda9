//! `hikyaku tune`: measures the versions of the collectives on this machine, and stores which to use for what.

mod explain;
mod measure;
mod report;

pub use explain::explain;
pub use measure::rank;

use hikyaku::Config;
use hikyaku::collective::{Call, Choices, Machine, Tuned, Version};
use hikyaku::launch::{Hosts, Launcher};
use indicatif::{ProgressBar, ProgressStyle};
use measure::Figure;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Measure the versions of the collectives (buffers, stage, direct, tree) on this machine, and store which is the fastest for
/// each number of ranks and size. With --hosts, measure the versions between hosts (flat, leaders, shares) by the network that jobs use
/// there; what is stored holds for that network.
///
/// Jobs started afterwards use what was stored; `hikyaku info` explains it. The file is ~/.config/hikyaku/tune.toml, or
/// what HIKYAKU_TUNE names.
#[derive(clap::Args)]
pub struct Arguments {
    /// Numbers of ranks to measure; results are stored for up to 2, 4, 8, 16, 32 and for more ranks
    #[arg(short = 'n', long, value_name = "N,..", value_delimiter = ',', default_value = "2,4,8,16")]
    ranks: Vec<usize>,

    /// Measure groups over these hosts instead, with all their ranks: a:2,b:2. The results apply to jobs started from this host
    #[arg(long, value_name = "HOST:N,...")]
    hosts: Option<String>,

    /// The command that starts the agent of a host, as for `hikyaku run`
    #[arg(long, value_name = "COMMAND", requires = "hosts")]
    agent: Option<String>,

    /// How often each version is measured, in turn; the measurement with the least noise counts
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,

    /// How long to measure each figure, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 30)]
    time: u64,

    /// The largest size to measure; choices for larger sizes stay as they are
    #[arg(long, value_name = "BYTES", default_value = "8M", value_parser = bytes)]
    max: u64,

    /// Only show what would be stored
    #[arg(long)]
    dry_run: bool,
}

fn bytes(text: &str) -> Result<u64, String> {
    hikyaku::parse_bytes(text).ok_or_else(|| format!("{text} is no number of bytes such as 64K or 8M"))
}

/// Another version than the default must be so much faster to be chosen: figures are never exact.
const CLEARLY: f64 = 0.95;

/// Where one number of ranks is measured.
struct Place {
    ranks: usize,
    /// Over several hosts.
    hosts: Option<Hosts>,
}

impl Place {
    fn all(arguments: &Arguments) -> Result<Vec<Place>, String> {
        let Some(list) = &arguments.hosts else {
            return Ok(arguments.ranks.iter().map(|ranks| Place { ranks: *ranks, hosts: None }).collect());
        };
        let hosts = Hosts::parse(list).map_err(|error| error.to_string())?;
        if hosts.names().len() < 2 {
            return Err("at least 2 hosts".into());
        }
        Ok(vec![Place { ranks: hosts.host_of().len(), hosts: Some(hosts) }])
    }

    fn versions(&self) -> &'static [Version] {
        if self.hosts.is_some() { &Version::FAR } else { &Version::ALL }
    }

    fn default_version(&self, call: Call, bytes: usize) -> Version {
        match &self.hosts {
            Some(hosts) => call.default_far_version(hosts.names().len(), bytes),
            None => call.default_version(self.ranks, bytes, self.ranks > Machine::here().cores),
        }
    }
}

/// What was found for one call, number of ranks and size.
struct Finding {
    ranks: usize,
    call: Call,
    bytes: usize,
    /// Seconds per call.
    times: Vec<(Version, f64)>,
    default: Version,
    chosen: Version,
}

pub fn run(arguments: Arguments) -> Result<ExitCode, String> {
    if arguments.ranks.iter().any(|ranks| *ranks < 2) || arguments.rounds == 0 {
        return Err("at least 2 ranks and 1 round".into());
    }
    let path = Tuned::path().ok_or("no home folder to store the choices in; set HIKYAKU_TUNE to a file")?;
    let cannot = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    if !arguments.dry_run {
        Tuned::check_writable(&path).map_err(cannot)?;
    }
    let findings = measure_all(&arguments)?;
    report::print(&findings);
    if arguments.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let mut tuned = Tuned { measured: now.as_secs(), ..Tuned::here().unwrap_or_default() };
    let network = Tuned::network_here();
    for finding in &findings {
        tuned.set(&network, finding.call, finding.ranks, finding.bytes, finding.chosen);
    }
    tuned.save(&path).map_err(cannot)?;
    say!("\nStored in {}; `hikyaku info -n N` explains it.", path.display());
    Ok(ExitCode::SUCCESS)
}

fn measure_all(arguments: &Arguments) -> Result<Vec<Finding>, String> {
    let places = Place::all(arguments)?;
    let bar = progress(places.iter().map(|place| place.versions().len() * arguments.rounds).sum());
    let mut findings = Vec::new();
    for place in &places {
        let mut figures: Vec<Figure> = Vec::new();
        for _ in 0..arguments.rounds {
            for version in place.versions() {
                bar.set_message(format!("{} ranks, {}", place.ranks, version.name()));
                figures.extend(job(place, *version, arguments)?);
                bar.inc(1);
            }
        }
        for (call, bytes) in measure::cases(arguments.max as usize) {
            findings.push(judge(place, call, bytes, &figures));
        }
    }
    bar.finish_and_clear();
    Ok(findings)
}

fn progress(jobs: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} jobs  {msg}").expect("the template is right");
    ProgressBar::new(jobs as u64).with_style(style)
}

/// One job in which every call uses `version`.
fn job(place: &Place, version: Version, arguments: &Arguments) -> Result<Vec<Figure>, String> {
    let (program, ranks) = (crate::this_program()?, place.ranks);
    let config = Config { choices: Choices::all(version), ..Config::default() };
    let (time, max) = (arguments.time.to_string(), arguments.max.to_string());
    let mut launcher = Launcher::new(&program).args(["rank", "tune", version.name(), &time, &max]);
    if let Some(hosts) = &place.hosts {
        launcher = launcher.hosts(hosts.clone()).agent_program(&program);
    }
    if let Some(agent) = &arguments.agent {
        launcher = launcher.agent(agent);
    }
    let outcome = launcher.ranks(ranks).config(config).capture(true).run();
    let outcome = outcome.map_err(|error| format!("cannot start a job of {ranks} ranks: {error}"))?;
    if outcome.status() != 0 {
        let failed = outcome.first_failure.unwrap_or(0);
        let errors = String::from_utf8_lossy(&outcome.output[failed].errors).into_owned();
        return Err(format!("measuring {} with {ranks} ranks failed: {}", version.name(), errors.trim()));
    }
    let text = String::from_utf8_lossy(&outcome.output[0].output).into_owned();
    text.lines().map(|line| Figure::parse(version, line).ok_or(format!("not a figure: {line}"))).collect()
}

/// Chooses the fastest, or the default if that is about as fast.
fn judge(place: &Place, call: Call, bytes: usize, figures: &[Figure]) -> Finding {
    let best = |version: Version| {
        let of = figures.iter().filter(|f| (f.version, f.call, f.bytes) == (version, call, bytes));
        of.map(|figure| figure.seconds).min_by(f64::total_cmp).map(|seconds| (version, seconds))
    };
    let versions = measure::versions(call, bytes, place.hosts.is_some());
    let times: Vec<_> = versions.iter().filter_map(|version| best(*version)).collect();
    let default = place.default_version(call, bytes);
    let usual = times.iter().find(|(version, _)| *version == default).map_or(f64::INFINITY, |(_, seconds)| *seconds);
    let fastest = times.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let chosen = fastest.filter(|(_, seconds)| *seconds < CLEARLY * usual).map_or(default, |(version, _)| *version);
    Finding { ranks: place.ranks, call, bytes, times, default, chosen }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quietest_round_counts_and_the_default_wins_a_draw() {
        let figure = |version, seconds| Figure { version, call: Call::Reduce, bytes: 8, seconds };
        let of = |tree: f64| {
            let figures = [(Version::Buffers, 3e-6), (Version::Buffers, 1e-6), (Version::Tree, tree)];
            let place = Place { ranks: 2, hosts: None };
            judge(&place, Call::Reduce, 8, &figures.map(|(version, seconds)| figure(version, seconds)))
        };
        assert_eq!(of(0.97e-6).chosen, Version::Buffers);
        assert_eq!(of(0.8e-6).chosen, Version::Tree);
        assert_eq!(of(2e-6).chosen, Version::Buffers);
        assert_eq!(of(2e-6).times, [(Version::Buffers, 1e-6), (Version::Tree, 2e-6)]);
        let over_hosts = Place { ranks: 4, hosts: Some(Hosts::parse("a:2,b:2").unwrap()) };
        let finding =
            judge(&over_hosts, Call::Reduce, 8, &[figure(Version::Flat, 1e-6), figure(Version::Leaders, 2e-6)]);
        assert_eq!((finding.default, finding.chosen), (Version::Leaders, Version::Flat));
    }
}
