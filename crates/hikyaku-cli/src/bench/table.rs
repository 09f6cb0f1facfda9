//! The tables a person reads.

use super::Results;
use super::peers::{Sample, Test};
use super::plan::{Figure, Kind, Unit, median};

pub fn print(results: &Results) {
    println!("hikyaku {} on {} cores, ranks as processes bound to cores; medians\n", results.version, results.cores);
    print_limits(results);
    println!("\n{:<36}{:>12} {:>9}  {:>21}  {:>8}", "latency and rate", "hikyaku", "x limit", "best peer", "x peer");
    let flag = find(results, Kind::LimitFlag, 8);
    let row = |name: &str, kind, bytes, peer: Option<(&[Test], usize, usize)>, limit: Option<f64>| {
        let Some(figure) = find(results, kind, bytes) else { return };
        // Ratios are taken within each round, so that a slow moment of the machine cancels out.
        let to_limit = limit.and_then(|ways| {
            let pairs = figure.values.iter().zip(&flag?.values);
            Some(median(&pairs.map(|(value, limit)| value / (limit * ways)).collect::<Vec<_>>()))
        });
        let best = peer.and_then(|(tests, bytes, ranks)| best_peer(results, tests, bytes, ranks));
        print_row(name, figure, to_limit, best);
    };
    row("8 B word, one way", Kind::Word, 8, Some((&[Test::Put], 8, 2)), Some(1.0));
    row("8 B push + flag, one way", Kind::PushFlag, 8, Some((&[Test::Put], 8, 2)), Some(1.0));
    row("4 KB push + flag, one way", Kind::PushFlag, 4096, None, None);
    row("active message, 6 words, one way", Kind::ActiveMessage, 48, Some((&[Test::ActiveMessage], 48, 2)), Some(1.0));
    row("call with reply, round trip", Kind::Call, 48, None, Some(2.0));
    row("null call to own interface", Kind::NullCall, 0, None, None);
    row("8 B pull", Kind::Pull, 8, Some((&[Test::Get], 8, 2)), None);
    row("fetch-and-add", Kind::FetchAdd, 8, Some((&[Test::FetchAdd], 8, 2)), None);
    row("notified 8 B pushes into a ring", Kind::Rate, 8, Some((&[Test::Rate], 8, 2)), None);
    row("8 B message, one way", Kind::Send, 8, Some((&[Test::Send], 8, 2)), Some(1.0));
    row("1 KB message, one way", Kind::Send, 1024, Some((&[Test::Send], 1024, 2)), None);
    row("4 KB message, one way", Kind::Send, 4096, Some((&[Test::Send], 4096, 2)), None);
    row("8 B synchronous message, one way", Kind::SendSynchronous, 8, None, Some(1.0));
    row("8 B messages, 64 outstanding", Kind::SendRate, 8, Some((&[Test::Rate], 8, 2)), None);
    for bytes in super::workload::SEND_BANDWIDTH_SIZES {
        let name = format!("{} messages, private memory", size(bytes));
        row(&name, Kind::SendBandwidth, bytes, Some((&[Test::Bandwidth], bytes, 2)), None);
    }
    row("barrier, 2 ranks", Kind::Barrier, 2, Some((&[Test::Barrier], 0, 2)), None);
    for figure in results.ours.iter().filter(|f| f.bytes != 2) {
        match figure.kind {
            Kind::Barrier => {
                let name = format!("barrier, {} ranks", figure.bytes);
                print_row(&name, figure, None, best_peer(results, &[Test::Barrier], 0, figure.bytes));
            }
            Kind::Start => {
                let name = format!("start and end of {} ranks", figure.bytes);
                print_row(&name, figure, None, best_peer(results, &[Test::Start], 0, figure.bytes));
            }
            _ => {}
        }
    }
    print_bandwidth(results);
    print_peers(results);
    for note in &results.notes {
        println!("note: {note}");
    }
}

fn print_limits(results: &Results) {
    println!("limits of this machine");
    if let Some(flag) = find(results, Kind::LimitFlag, 8) {
        println!("  flag between two cores, one way     {:>12}", show(flag.median(), Unit::Nanoseconds));
    }
    for bytes in [64 << 10, 1 << 20, 16 << 20] {
        if let (Some(one), Some(two)) =
            (find(results, Kind::LimitCopy, bytes), find(results, Kind::LimitCopyTwo, bytes))
        {
            println!(
                "  memcpy {:>6}: one core {:>12}, two cores together {:>12}",
                size(bytes),
                show(one.median(), Unit::GigabytesPerSecond),
                show(two.median(), Unit::GigabytesPerSecond)
            );
        }
    }
}

fn print_bandwidth(results: &Results) {
    println!(
        "\n{:<12}{:>12} {:>10} {:>12} {:>10}  {:>21}  {:>8}",
        "bandwidth", "push", "x memcpy", "pull", "x memcpy", "best peer (put)", "x peer"
    );
    for figure in results.ours.iter().filter(|f| f.kind == Kind::Push) {
        let bytes = figure.bytes;
        let (Some(pull), Some(limit)) =
            (find(results, Kind::PullBandwidth, bytes), find(results, Kind::LimitCopy, bytes))
        else {
            continue;
        };
        let ratio = |f: &Figure| median(&f.values.iter().zip(&limit.values).map(|(v, l)| v / l).collect::<Vec<_>>());
        let best = best_peer(results, &[Test::PutBandwidth], bytes, 2);
        println!(
            "{:<12}{:>12} {:>10.2} {:>12} {:>10.2}  {:>21}  {:>8}",
            size(bytes),
            show(figure.median(), Unit::GigabytesPerSecond),
            ratio(figure),
            show(pull.median(), Unit::GigabytesPerSecond),
            ratio(pull),
            best.map_or("-".into(), |s| format!("{} {}", show(s.value, Unit::GigabytesPerSecond), short(&s.peer))),
            best.map_or("-".into(), |s| format!("{:.2}", figure.median() / s.value)),
        );
    }
}

fn print_row(name: &str, figure: &Figure, to_limit: Option<f64>, best: Option<&Sample>) {
    let unit = figure.kind.unit();
    println!(
        "{name:<36}{:>12} {:>9}  {:>21}  {:>8}",
        show(figure.median(), unit),
        to_limit.map_or("-".into(), |ratio| format!("{ratio:.2}")),
        best.map_or("-".into(), |s| format!("{} {}", show(s.value, unit), short(&s.peer))),
        best.map_or("-".into(), |s| format!("{:.2}", figure.median() / s.value)),
    );
}

fn print_peers(results: &Results) {
    let mut names: Vec<&str> = results.peers.iter().map(|s| s.peer.as_str()).collect();
    names.dedup();
    if names.is_empty() {
        return;
    }
    println!("\npeers in the same run");
    for name in names {
        let figures: Vec<String> = results
            .peers
            .iter()
            .filter(|s| s.peer == name)
            .map(|s| {
                let what = match s.test {
                    Test::Barrier | Test::Start => format!("{} {}", s.test.name(), s.ranks),
                    _ => format!("{} {}", s.test.name(), size(s.bytes)),
                };
                format!("{what}: {} {}", round(s.value), s.unit)
            })
            .collect();
        println!("  {name}\n    {}", figures.join(", "));
    }
}

fn find(results: &Results, kind: Kind, bytes: usize) -> Option<&Figure> {
    results.ours.iter().find(|figure| figure.kind == kind && figure.bytes == bytes)
}

/// The best peer at any of the tests; `bytes` 0 means any size.
fn best_peer<'a>(results: &'a Results, tests: &[Test], bytes: usize, ranks: usize) -> Option<&'a Sample> {
    let fits = |s: &&Sample| tests.contains(&s.test) && s.ranks == ranks && (bytes == 0 || s.bytes == bytes);
    results.peers.iter().filter(fits).reduce(|best, s| {
        let better = if s.test.more_is_better() { s.value > best.value } else { s.value < best.value };
        if better { s } else { best }
    })
}

fn show(value: f64, unit: Unit) -> String {
    format!("{} {}", round(value), unit.name())
}

/// Three digits are all that such a measurement has.
fn round(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

fn size(bytes: usize) -> String {
    match bytes {
        b if b >= 1 << 20 => format!("{} MB", b >> 20),
        b if b >= 1 << 10 => format!("{} KB", b >> 10),
        b => format!("{b} B"),
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
