//! The tables a person reads.

use super::part::Part;
use super::peers::{Request, Sample};
use super::plan::{Figure, Kind, Unit, median};
use super::rows::{Limit, Row, requests, rows, size};
use super::workload::{COPY_SIZES, HAND_OVER_SIZES};
use super::{Results, curve, legend};

pub fn print(results: &Results) {
    match &results.simulated {
        Some(simulated) => say!("hikyaku {} {simulated}", results.version),
        None => {
            say!(
                "hikyaku {} on {} cores, ranks as processes bound to cores; medians\n",
                results.version,
                results.cores
            );
            print_limits(results);
        }
    }
    for part in &results.parts {
        let heading = part.heading();
        say_on!("\n{heading:<36}{:>12}", "hikyaku");
        if results.is_compared() {
            say_on!(" {:>9}  {:>21}  {:>8} {:>8}", "x limit", "best peer", "x peer", "at best");
        }
        say!();
        match part {
            Part::Hosts => print_bare(results, &BARE),
            Part::Fabric => print_bare(results, &PINGPONG),
            _ => {}
        }
        rows(*part, results.crowd).iter().for_each(|row| print_row(results, row));
        if *part == Part::Remote {
            print_bandwidth(results);
        }
        if *part == Part::Messages && results.is_compared() {
            print_phases(results);
        }
        curve::print(results, *part);
    }
    legend::print(&results.parts, results.is_compared());
    print_peers(results);
    for note in &results.notes {
        say!("note: {note}");
    }
}

fn print_limits(results: &Results) {
    let Some(flag) = results.ours.find(Kind::LimitFlag, 8, 2) else { return };
    say!("limits of this machine");
    say!("  flag between two cores, one way     {:>12}", show(flag.median(), Unit::Nanoseconds));
    for bytes in HAND_OVER_SIZES {
        if let Some(time) = results.ours.find(Kind::LimitHandOver, bytes, 2) {
            let what = format!("{} and a flag, one way", size(bytes));
            say!("  {what:<34}{:>14}", show(time.median(), Unit::Nanoseconds));
        }
    }
    for bytes in COPY_SIZES {
        if let (Some(one), Some(two)) =
            (results.ours.find(Kind::LimitCopy, bytes, 2), results.ours.find(Kind::LimitCopyTwo, bytes, 2))
        {
            say!(
                "  memcpy {:>6}: one core {:>12}, two cores together {:>12}",
                size(bytes),
                show(one.median(), Unit::GigabytesPerSecond),
                show(two.median(), Unit::GigabytesPerSecond)
            );
        }
    }
}

/// What bare sockets do between the hosts.
const BARE: [(Kind, usize, &str); 5] = [
    (Kind::HostsLimitUdp, 8, "limit: a bare datagram, one way"),
    (Kind::HostsLimitTrains, 1 << 20, "limit: 1 MB by bare datagrams"),
    (Kind::HostsLimitTcp, 1 << 20, "1 MB by a bare stream"),
    (Kind::HostsLimitLanding, 8, "limit: a bare thread that sleeps"),
    (Kind::HostsLimitLandingMost, 8, "limit: the slowest of those"),
];

/// What libfabric's own program does.
const PINGPONG: [(Kind, usize, &str); 2] = [
    (Kind::FabricLimit, 8, "limit: fi_pingpong, 8 B, one way"),
    (Kind::FabricLimitBandwidth, 1 << 20, "limit: fi_pingpong, 1 MB"),
];

fn print_bare(results: &Results, limits: &[(Kind, usize, &str)]) {
    for (kind, bytes, name) in limits {
        if let Some(figure) = results.ours.find(*kind, *bytes, 2) {
            let ratio = if name.starts_with("limit") { "1.00" } else { "" };
            say!("{:<36}{:>12} {ratio:>9}", format!("  {name}"), show(figure.median(), kind.unit()));
        }
    }
}

fn print_bandwidth(results: &Results) {
    if !results.is_compared() {
        return print_bandwidth_alone(results);
    }
    say!(
        "\n{:<12}{:>12} {:>10} {:>12} {:>10}  {:>21}  {:>8}",
        "  bandwidth",
        "push",
        "x memcpy",
        "pull",
        "x memcpy",
        "best peer (put)",
        "x peer"
    );
    for figure in results.ours.0.iter().filter(|f| f.kind == Kind::Push) {
        let bytes = figure.bytes;
        let (Some(pull), Some(limit)) =
            (results.ours.find(Kind::PullBandwidth, bytes, 2), results.ours.find(Kind::LimitCopy, bytes, 2))
        else {
            continue;
        };
        let ratio = |f: &Figure| median(&f.values.iter().zip(&limit.values).map(|(v, l)| v / l).collect::<Vec<_>>());
        let best = best_peer(results, Kind::Push, bytes, 2);
        say!(
            "{:<12}{:>12} {:>10.2} {:>12} {:>10.2}  {:>21}  {:>8}",
            format!("  {}", size(bytes)),
            show(figure.median(), Unit::GigabytesPerSecond),
            ratio(figure),
            show(pull.median(), Unit::GigabytesPerSecond),
            ratio(pull),
            best.map_or("-".into(), |s| format!("{} {}", show(s.value, Unit::GigabytesPerSecond), short(&s.peer))),
            best.map_or("-".into(), |s| format!("{:.2}", figure.median() / s.value)),
        );
    }
}

fn print_bandwidth_alone(results: &Results) {
    say!("\n{:<12}{:>12} {:>12}", "  bandwidth", "push", "pull");
    for push in results.ours.0.iter().filter(|f| f.kind == Kind::Push) {
        let pull = results.ours.find(Kind::PullBandwidth, push.bytes, 2);
        let pull = pull.map_or("-".into(), |pull| curve::show(pull.median()));
        say!("{:<12}{:>12} {:>12}", format!("  {}", size(push.bytes)), curve::show(push.median()), pull);
    }
}

fn print_phases(results: &Results) {
    let show = |kind| results.ours.find(kind, 8, 2).map_or("-".into(), |it| show(it.median(), Unit::Nanoseconds));
    let line = |name: &str, cells: [String; 3]| say!("  {name:<18}{:>16}{:>14}{:>14}", cells[0], cells[1], cells[2]);
    say!();
    line("phases of 8 B", ["start", "header in", "data out"].map(str::to_owned));
    line("  send", [Kind::SendStart, Kind::SendHeaderIn, Kind::SendDataOut].map(show));
    line("", ["start", "header out", "data in"].map(str::to_owned));
    line("  receive", [Kind::ReceiveStart, Kind::ReceiveHeaderOut, Kind::ReceiveDataIn].map(show));
}

fn print_row(results: &Results, row: &Row) {
    let Some(figure) = results.ours.find(row.kind, row.bytes, row.ranks) else { return };
    let unit = row.kind.unit();
    say_on!("{:<36}{:>12}", format!("  {}", row.name), show(figure.median(), unit));
    if !results.is_compared() {
        return say!();
    }
    let best = best_peer(results, row.kind, row.bytes, row.ranks);
    say!(
        " {:>9}  {:>21}  {:>8} {:>8}",
        row.limit.and_then(|limit| to_limit(results, figure, limit)).map_or("-".into(), |it| format!("{it:.2}")),
        best.map_or("-".into(), |s| format!("{} {}", show(s.value, unit), short(&s.peer))),
        best.map_or("-".into(), |s| format!("{:.2}", figure.median() / s.value)),
        at_best(results, row, figure).map_or("-".into(), |ratio| format!("{ratio:.2}")),
    );
}

/// The least disturbed repetition of ours beside that of the peer that comes off best, out of as many of each.
fn at_best(results: &Results, row: &Row, figure: &Figure) -> Option<f64> {
    let unit = row.kind.unit();
    let ratio = |sample: &Sample| {
        let count = figure.values.len().min(sample.values.len());
        unit.best_of(count, &figure.values) / unit.best_of(count, &sample.values)
    };
    let ratios = peers_at(results, row.kind, row.bytes, row.ranks).into_iter().map(ratio);
    ratios.reduce(|worst, ratio| if unit.is_better(worst, ratio) { ratio } else { worst })
}

/// Ratios are taken within each round, so that a slow moment of the machine cancels out.
fn to_limit(results: &Results, figure: &Figure, limit: Limit) -> Option<f64> {
    let (limit, times) = match limit {
        Limit::Flag(times) => (results.ours.find(Kind::LimitFlag, 8, 2)?, times),
        Limit::HandOver(bytes) => (results.ours.find(Kind::LimitHandOver, bytes, 2)?, 1.0),
        Limit::BareTimes(kind, bytes, times) => (results.ours.find(kind, bytes, 2)?, times),
        Limit::CopyTwo(bytes) => (results.ours.find(Kind::LimitCopyTwo, bytes, 2)?, 1.0),
        Limit::Otherwise(kind) => (results.ours.find(kind, figure.bytes, figure.ranks)?, 1.0),
        Limit::Bare(kind, bytes) => {
            let of_more = || results.ours.find(kind, bytes, figure.ranks);
            (results.ours.find(kind, bytes, 2).or_else(of_more)?, 1.0)
        }
    };
    let is_longer = figure.kind.unit() == Unit::Microseconds && limit.kind.unit() == Unit::Nanoseconds;
    let same_unit = if is_longer { 1e-3 } else { 1.0 };
    let factor = times * same_unit;
    // Each is held against the limit of its time, also where that was measured less often.
    let beside = |at: usize| limit.values[at * limit.values.len() / figure.values.len()];
    let ratios = figure.values.iter().enumerate().map(|(at, value)| value / (beside(at) * factor));
    Some(median(&ratios.collect::<Vec<_>>()))
}

fn print_peers(results: &Results) {
    let mut names: Vec<&str> = Vec::new();
    for sample in &results.peers {
        if !names.contains(&sample.peer.as_str()) {
            names.push(&sample.peer);
        }
    }
    if names.is_empty() {
        return;
    }
    say!("\npeers in the same run, without the points of the curves");
    let requests = requests(&results.parts, results.crowd);
    let is_point = |s: &Sample| {
        let same = |it: &&Request| (it.test, it.bytes, it.ranks) == (s.test, s.bytes, s.ranks);
        requests.iter().find(same).is_some_and(|request| request.brief)
    };
    for name in names {
        let figures: Vec<String> = results
            .peers
            .iter()
            .filter(|s| s.peer == name && !is_point(s))
            .map(|s| {
                let bytes = match s.bytes {
                    0 => String::new(),
                    order if s.test.is_factorization() => format!(" {order}"),
                    bytes => format!(" {}", size(bytes)),
                };
                let ranks = if s.ranks != 2 { format!(" x {}", s.ranks) } else { String::new() };
                format!("{}{bytes}{ranks}: {} {}", s.test.name(), round(s.value), s.unit)
            })
            .collect();
        say!("  {name}\n    {}", figures.join(", "));
    }
}

/// The best peer at the same work.
pub fn best_peer(results: &Results, kind: Kind, bytes: usize, ranks: usize) -> Option<&Sample> {
    peers_at(results, kind, bytes, ranks)
        .into_iter()
        .reduce(|best, s| if kind.unit().is_better(s.value, best.value) { s } else { best })
}

/// All peers at the same work.
fn peers_at(results: &Results, kind: Kind, bytes: usize, ranks: usize) -> Vec<&Sample> {
    let Some(test) = kind.counterpart() else { return Vec::new() };
    let fits = |s: &&Sample| (s.test, s.bytes, s.ranks) == (test, bytes, ranks);
    results.peers.iter().filter(fits).collect()
}

fn show(value: f64, unit: Unit) -> String {
    format!("{} {}", round(value), unit.name())
}

/// Three digits are all that such a measurement has.
pub fn round(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// A peer's name as it fits a column: "Open MPI 5.0.11" becomes "OMPI 5.0".
fn short(name: &str) -> String {
    let name = name.replace("Open MPI", "OMPI");
    match name.rsplit_once('.') {
        Some((major_minor, _)) if major_minor.contains('.') => major_minor.to_owned(),
        _ => name,
    }
}
