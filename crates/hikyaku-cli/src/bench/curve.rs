//! Bandwidth over the size of the data: a table of several curves, and a plot of one of them beside the best peer.

use super::Results;
use super::part::Part;
use super::plan::{Kind, Unit};
use super::rows::{THRONG, collective_ranks, size};
use super::table::{best_peer, round};
use super::workload;

/// Columns of the plot.
const PLOT_COLUMNS: f64 = 30.0;

/// One column of the table.
struct Curve {
    name: String,
    ranks: usize,
    /// What was measured at each size, in the order of sizes.
    points: Vec<(Kind, usize)>,
    /// Whether peers do the same.
    compared: bool,
}

/// The curves of a part.
fn curves(part: Part, crowd: usize) -> Vec<Curve> {
    let points = |short: (Kind, &[usize]), long: (Kind, &[usize])| {
        let of = |(kind, sizes): (Kind, &[usize])| sizes.iter().map(|bytes| (kind, *bytes)).collect::<Vec<_>>();
        [of(short), of(long)].concat()
    };
    match part {
        Part::Messages => {
            let (short, long) = (&workload::MESSAGE_LATENCY_SIZES, &workload::MESSAGE_BANDWIDTH_SIZES);
            let push = points((Kind::PushPrepared, short), (Kind::PushPrepared, long));
            let mapped = points((Kind::SendBandwidthMapped, &[]), (Kind::SendBandwidthMapped, long));
            let private = points((Kind::Send, short), (Kind::SendBandwidth, long));
            vec![
                Curve { name: "prepared push".into(), ranks: 2, points: push, compared: false },
                Curve { name: "job memory".into(), ranks: 2, points: mapped, compared: true },
                Curve { name: "private memory".into(), ranks: 2, points: private, compared: true },
            ]
        }
        Part::Indirect => {
            let sizes = &workload::PATH_CURVE_SIZES;
            let curve = |name: &str, kind, sizes: &[usize], compared| {
                let points = points((kind, sizes), (kind, &[]));
                Curve { name: name.into(), ranks: 2, points, compared }
            };
            vec![
                curve("path word", Kind::PathWord, &sizes[..1], false),
                curve("path window", Kind::PathWindow, sizes, false),
                curve("path bulk", Kind::PathBulk, sizes, false),
                curve("push", Kind::PathPlain, sizes, true),
            ]
        }
        Part::Exchange => {
            let (short, long) = (&workload::EXCHANGED_SHORT, &workload::EXCHANGED_LONG);
            let push = points((Kind::PathPlain, &workload::PATH_CURVE_SIZES), (Kind::PathPlain, &[]));
            let exchange = points((Kind::ExchangeSend, short), (Kind::ExchangeBandwidth, long));
            vec![
                // Where it was measured too.
                Curve { name: "push".into(), ranks: 2, points: push, compared: false },
                Curve { name: "message exchange".into(), ranks: 2, points: exchange, compared: true },
            ]
        }
        Part::Collectives if crowd < THRONG => {
            let (short, long) = (&workload::BROADCAST_SIZES, &workload::BROADCAST_BANDWIDTH_SIZES);
            let points = points((Kind::Broadcast, short), (Kind::BroadcastBandwidth, long));
            let curve = |ranks| Curve { name: format!("{ranks} ranks"), ranks, points: points.clone(), compared: true };
            collective_ranks(crowd).into_iter().map(curve).collect()
        }
        _ => Vec::new(),
    }
}

/// What peers are measured at: kind, bytes, ranks.
pub fn compared_points(part: Part, crowd: usize) -> Vec<(Kind, usize, usize)> {
    let points = |curve: Curve| curve.points.into_iter().map(move |(kind, bytes)| (kind, bytes, curve.ranks));
    curves(part, crowd).into_iter().filter(|curve| curve.compared).flat_map(points).collect()
}

/// Prints the curves of a part, the last of them as a plot.
pub fn print(results: &Results, part: Part) {
    let mut curves = curves(part, results.crowd);
    curves.retain(|curve| curve.points.iter().any(|(_, bytes)| at(results, curve, *bytes)[0].is_some()));
    let Some(plotted) = curves.last() else { return };
    let points: Vec<[Option<f64>; 2]> = plotted.points.iter().map(|(_, bytes)| at(results, plotted, *bytes)).collect();
    let Some(scale) = Scale::over(points.iter().flatten().flatten()) else { return };
    let what = if part == Part::Collectives { "broadcast" } else { "bandwidth" };
    say_on!("\n  {what:<12}");
    for curve in &curves {
        say_on!("{:>17}", curve.name);
        if curve.compared && results.is_compared() {
            say_on!(" {:>7}", "x peer");
        }
    }
    say!("  {}{}", scale.title(), if results.is_compared() { ", # ours, | peer" } else { "" });
    for ((_, bytes), [ours, peer]) in plotted.points.iter().zip(&points) {
        say_on!("  {:<12}", size(*bytes));
        for curve in &curves {
            let [ours, peer] = at(results, curve, *bytes);
            say_on!("{:>17}", ours.map_or("-".into(), show));
            if curve.compared && results.is_compared() {
                say_on!(" {:>7}", ours.zip(peer).map_or("-".into(), |(ours, peer)| format!("{:.2}", ours / peer)));
            }
        }
        say!("  {}", scale.bar(*ours, *peer));
    }
}

/// Bandwidth of ours and of the best peer, GB/s.
fn at(results: &Results, curve: &Curve, bytes: usize) -> [Option<f64>; 2] {
    let Some((kind, _)) = curve.points.iter().find(|point| point.1 == bytes) else { return [None; 2] };
    let bandwidth = |value: f64| match kind.unit() {
        Unit::Nanoseconds => bytes as f64 / value,
        Unit::Microseconds => bytes as f64 / value / 1e3,
        _ => value,
    };
    let ours = results.ours.find(*kind, bytes, curve.ranks).map(|figure| figure.median());
    let peer = best_peer(results, *kind, bytes, curve.ranks).map(|sample| sample.value);
    [ours, peer].map(|value| value.map(bandwidth))
}

/// A bandwidth with its unit.
pub fn show(gigabytes: f64) -> String {
    match gigabytes {
        g if g >= 1.0 => format!("{} GB/s", round(g)),
        g => format!("{} MB/s", round(g * 1e3)),
    }
}

/// A logarithmic axis from one power of ten to another.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// The shortest that holds all values.
    fn over<'a>(values: impl Iterator<Item = &'a f64> + Clone) -> Option<Scale> {
        let low = values.clone().copied().reduce(f64::min)?.log10().floor();
        Some(Scale { low, high: values.copied().reduce(f64::max)?.log10().floor() + 1.0 })
    }

    fn title(&self) -> String {
        format!("{} to {}", show(10f64.powf(self.low)), show(10f64.powf(self.high)))
    }

    fn column(&self, value: f64) -> usize {
        ((value.log10() - self.low) / (self.high - self.low) * PLOT_COLUMNS) as usize
    }

    fn bar(&self, ours: Option<f64>, peer: Option<f64>) -> String {
        let mut bar = "#".repeat(ours.map_or(0, |value| self.column(value)));
        if let Some(column) = peer.map(|value| self.column(value)) {
            bar.extend(std::iter::repeat_n(' ', (column + 1).saturating_sub(bar.len())));
            bar.replace_range(column..=column, "|");
        }
        bar
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_reach_as_far_as_the_logarithm() {
        let scale = Scale::over([0.02, 4.0].iter()).unwrap();
        assert_eq!(scale.title(), "10.0 MB/s to 10.0 GB/s");
        assert_eq!(scale.bar(Some(0.1001), None), "#".repeat(10));
        assert_eq!(scale.bar(Some(0.1001), Some(1.001)), format!("{}{}|", "#".repeat(10), " ".repeat(10)));
        assert_eq!(scale.bar(Some(1.001), Some(0.1001)), format!("{}|{}", "#".repeat(10), "#".repeat(9)));
        assert!(Scale::over([].iter()).is_none());
    }

    #[test]
    fn curves_grow_and_peers_are_asked_for_their_points() {
        for part in Part::ALL {
            for curve in curves(part, 16) {
                assert!(curve.points.is_sorted_by_key(|(_, bytes)| *bytes), "{}", curve.name);
            }
        }
        let points = compared_points(Part::Messages, 16);
        assert!(points.contains(&(Kind::Send, 8, 2)) && points.contains(&(Kind::SendBandwidth, 16 << 20, 2)));
        assert!(
            !points.iter().any(|(kind, ..)| *kind == Kind::PushPrepared),
            "only the prepared pushes' row has a peer"
        );
        assert!(compared_points(Part::Indirect, 8).contains(&(Kind::PathPlain, 4 << 20, 2)));
        assert!(compared_points(Part::Exchange, 8).contains(&(Kind::ExchangeBandwidth, 4 << 20, 2)));
        assert!(compared_points(Part::Collectives, 8).contains(&(Kind::BroadcastBandwidth, 8 << 20, 8)));
    }
}
