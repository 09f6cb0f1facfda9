//! The Cholesky factorisation by tiles, on tasks and with barriers.
//!
//! `example.rs` is `examples/rust/cholesky.rs`: what is measured is what its readers get.

#[allow(dead_code, reason = "what reads its command line")]
mod example;

use super::threads::VARIABLE;
use crate::bench::plan::{Figure, Figures, Kind};
use hikyaku::{Job, Result};

/// Tiles in a row, and the size of each.
pub const SHAPES: [(usize, usize); 3] = [(24, 32), (16, 64), (12, 96)];

/// Ranks, and threads of each.
pub const CREWS: [(usize, usize); 2] = [(2, 1), (4, 2)];

const REPETITIONS: usize = 8;

/// What stands for a shape in a figure: the bytes of a tile.
pub fn bytes(size: usize) -> usize {
    size * size * size_of::<f64>()
}

/// Measures with as many threads as the variable says, both ways in turn. Rank 0 gives the figures; instead of ranks they have the threads
/// of all ranks.
pub fn measure(job: &Job) -> Result<Figures> {
    let threads = std::env::var(VARIABLE).ok().and_then(|number| number.parse().ok()).unwrap_or(1);
    let mut figures = Figures::default();
    for (tiles, size) in SHAPES {
        let mut matrix = example::Matrix::new(job, tiles, size)?;
        for _ in 0..REPETITIONS {
            for (kind, barriers) in [(Kind::TilesTasks, false), (Kind::TilesBarriers, true)] {
                // Not timed: while the last result was checked, caches were filled with other data, and cores have slept.
                matrix.run(job, threads, barriers)?;
                let time = matrix.run(job, threads, barriers)?;
                assert!(matrix.is_right(job)?, "the factor is wrong");
                let values = vec![time.as_secs_f64() * 1e3];
                figures.add(Figure { kind, bytes: bytes(size), ranks: job.size() * threads, values });
            }
        }
        matrix.free(job)?;
    }
    Ok(figures)
}
