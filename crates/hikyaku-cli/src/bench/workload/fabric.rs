//! Two ranks on two hosts, by libfabric.

use super::Round;
use super::pair::{LONG, Pair, REPETITIONS};
use crate::bench::plan::{Figures, Kind, median};
use hikyaku::{Error, Job, Result};

/// Measures everything between two ranks on two hosts. Rank 0 gives the figures.
pub fn measure(job: &Job) -> Result<Figures> {
    let mut figures = Figures::default();
    if job.size() != 2 {
        return Err(Error::Invalid("two ranks on two hosts, please".into()));
    }
    let (mut pair, area) = (Pair::new(job)?, job.symmetric(LONG / 8)?);
    for repetition in 0..=REPETITIONS {
        let mut round = Round { figures: &mut figures, ranks: 2, counts: repetition > 0 };
        round.note(Kind::FabricPush, 8, pair.push()?);
        round.note(Kind::FabricSend, 8, pair.send_short()?);
        round.note(Kind::FabricPushBandwidth, LONG, pair.push_long(&area)?);
        round.note(Kind::FabricBandwidth, LONG, pair.send_long()?);
        let times = pair.landing()?;
        round.note(Kind::FabricLanding, 8, median(&times));
        round.note(Kind::FabricLandingMost, 8, times.iter().copied().fold(0.0, f64::max));
    }
    let mut round = Round { figures: &mut figures, ranks: 2, counts: true };
    round.note(Kind::FabricIdle, 0, pair.idle()?);
    Ok(figures)
}
