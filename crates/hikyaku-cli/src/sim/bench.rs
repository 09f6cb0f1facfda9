//! `hikyaku sim bench`: the benchmark on a simulated machine.

use super::Place;
use crate::bench::{Part, simulate};

/// Print the tables of `hikyaku bench` for a simulated machine.
///
/// There are no limits and no peers to compare with, and starting a job takes no time. Remote operations and messages are
/// measured with 2 ranks, collectives with 2, 4 and the given number of ranks.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,

    /// Measure only this part; may be given several times
    #[arg(long, value_name = "PART", value_enum)]
    only: Vec<Part>,

    /// Print everything as JSON instead of tables
    #[arg(long)]
    json: bool,
}

pub fn run(Arguments { place, only, json }: Arguments) -> Result<(), String> {
    simulate(&place.machine, place.ranks, place.seed, &only, json)
}
