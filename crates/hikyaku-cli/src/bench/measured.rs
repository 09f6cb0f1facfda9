//! What `hikyaku bench --json` has stored, read again.

use super::peers::Test;
use super::plan::{Figures, Kind, Unit};
use super::table::round;
use serde::Deserialize;
use std::path::Path;

/// See above.
#[derive(Deserialize)]
pub struct Measured {
    ours: Figures,
    peers: Vec<Peer>,
}

#[derive(Deserialize)]
struct Peer {
    peer: String,
    test: Test,
    bytes: usize,
    ranks: usize,
    value: f64,
}

impl Measured {
    pub fn read(path: &Path) -> Result<Measured, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let error = |error| format!("{} is not what `hikyaku bench --json` prints: {error}", path.display());
        serde_json::from_str(&text).map_err(error)
    }

    /// Our figure and that of the best peer, for people.
    pub fn show(&self, kind: Kind, bytes: usize, ranks: usize) -> Option<String> {
        let figure = self.ours.find(kind, bytes, ranks)?;
        let show = |value: f64| match kind.unit() {
            Unit::Nanoseconds => format!("{} us", round(value / 1e3)),
            Unit::GigabytesPerSecond => format!("{} MB/s", round(value * 1e3)),
            other => format!("{} {}", round(value), other.name()),
        };
        let same = |it: &&Peer| Some(it.test) == kind.counterpart() && (it.bytes, it.ranks) == (bytes, ranks);
        let best = self
            .peers
            .iter()
            .filter(same)
            .reduce(|best, it| if kind.unit().is_better(it.value, best.value) { it } else { best });
        let best = best.map_or(String::new(), |it| format!(" ({} {})", it.peer, show(it.value)));
        Some(show(figure.median()) + &best)
    }
}
