//! Heat in a plate: the equation is solved by Jacobi's method, in strips of rows, one per rank.
//!
//! The edge above the plate is hot, the other three are cold. In every step each cell becomes the mean of its four
//! neighbours. A strip keeps a copy of the row above it and of the row below it (its halo), which its neighbours send in
//! every step, while the rows that do not need them are computed.
//!
//! Whatever the number of ranks, every cell is computed from the same numbers in the same order: at the end rank 0
//! computes the whole plate alone, and the two must agree to the last bit.
//!
//! ```text
//! cargo build --release --bins --examples
//! target/release/hikyaku run -n 4 -- target/release/examples/heat [ROWS [COLUMNS [STEPS]]]
//! ```

use hikyaku::collective::Max;
use hikyaku::message::Messages;
use hikyaku::{Job, Result};
use std::process::ExitCode;
use std::time::Instant;

/// A plate in which no cell changes by more than this in a step has come to rest.
const REST: f64 = 1e-6;
/// The ranks ask each other for the largest change every so many steps.
const LOOK_EVERY: usize = 50;

fn main() -> ExitCode {
    let (Some(rows), Some(columns), Some(steps)) = (argument(1, 300), argument(2, 400), argument(3, 1000)) else {
        eprintln!("usage: heat [ROWS [COLUMNS [STEPS]]]");
        return ExitCode::FAILURE;
    };
    match run(rows, columns, steps) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("heat: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A number given on the command line; `None` if it is none.
fn argument(index: usize, default: usize) -> Option<usize> {
    std::env::args().nth(index).map_or(Some(default), |text| text.parse().ok())
}

/// Some rows of the plate, with a row above, a row below, and a cold cell at either end of each.
struct Strip {
    width: usize,
    now: Vec<f64>,
    next: Vec<f64>,
}

impl Strip {
    fn new(rows: usize, columns: usize, is_topmost: bool) -> Strip {
        let width = columns + 2;
        let mut now = vec![0.0; (rows + 2) * width];
        if is_topmost {
            now[1..=columns].fill(1.0);
        }
        Strip { width, next: now.clone(), now }
    }

    /// One step; the halo comes from the neighbours meanwhile. Gives the largest change of a cell.
    fn step(&mut self, messages: &Messages, above: Option<usize>, below: Option<usize>) -> Result<f64> {
        let width = self.width;
        let rows = self.now.len() / width - 2;
        let (halo_above, rest) = self.now.split_at_mut(width);
        let (own, halo_below) = rest.split_at_mut(rows * width);
        let own = &*own;
        let next = &mut self.next;
        // The halo is lent to the receives until the scope ends; own rows may be read all the time.
        let inner = messages.scope(|scope| {
            if let Some(rank) = above {
                let _ = scope.irecv(halo_above, rank, 0)?;
                let _ = scope.isend(&own[..width], rank, 0)?;
            }
            if let Some(rank) = below {
                let _ = scope.irecv(halo_below, rank, 0)?;
                let _ = scope.isend(&own[(rows - 1) * width..], rank, 0)?;
            }
            Ok(relax(own, &mut next[2 * width..], width))
        })?;
        let first = relax(&self.now[..3 * width], &mut self.next[width..], width);
        let last = relax(&self.now[(rows - 1) * width..], &mut self.next[rows * width..], width);
        std::mem::swap(&mut self.now, &mut self.next);
        Ok(inner.max(first).max(last))
    }

    /// The rows without their surroundings.
    fn own(&self) -> &[f64] {
        &self.now[self.width..self.now.len() - self.width]
    }
}

/// Computes all rows of `now` but the first and the last into `next`, which begins with the second; gives the largest
/// change.
fn relax(now: &[f64], next: &mut [f64], width: usize) -> f64 {
    let mut change: f64 = 0.0;
    for row in 1..(now.len() / width).saturating_sub(1) {
        for cell in row * width + 1..(row + 1) * width - 1 {
            let mean = 0.25 * (now[cell - width] + now[cell - 1] + now[cell + 1] + now[cell + width]);
            change = change.max((mean - now[cell]).abs());
            next[cell - width] = mean;
        }
    }
    change
}

/// True if everything came out as it should.
fn run(rows: usize, columns: usize, steps: usize) -> Result<bool> {
    let job = Job::start()?;
    let world = job.world()?;
    let messages = job.messages(1)?;
    let (rank, size) = (job.rank(), job.size());

    if columns == 0 || rows < size {
        eprintln!("heat: {rows} rows of {columns} cells make no strips for {size} ranks");
        return Ok(false);
    }
    let height = |rank: usize| (rank + 1) * rows / size - rank * rows / size;
    let mut strip = Strip::new(height(rank), columns, rank == 0);
    let (above, below) = (rank.checked_sub(1), Some(rank + 1).filter(|below| *below < size));

    let begin = Instant::now();
    let (mut done, mut change) = (0, [f64::INFINITY]);
    while done < steps && change[0] > REST {
        let own_change = strip.step(&messages, above, below)?;
        done += 1;
        if done % LOOK_EVERY == 0 || done == steps {
            change = [own_change];
            world.allreduce(&mut change, Max)?;
        }
    }
    let time = begin.elapsed();

    // Blocks of one size are gathered: lower strips are filled up.
    let mut block = strip.own().to_vec();
    block.resize(rows.div_ceil(size) * strip.width, 0.0);
    let mut blocks = vec![0.0; if rank == 0 { size * block.len() } else { 0 }];
    world.gather(&block, &mut blocks, 0)?;
    if rank != 0 {
        return Ok(true);
    }
    let trimmed = |(rank, block): (usize, &[f64])| block[..height(rank) * strip.width].to_vec();
    let plate: Vec<f64> = blocks.chunks(block.len()).enumerate().flat_map(trimmed).collect();
    let mut alone = Strip::new(rows, columns, true);
    let changes = (0..done).map(|_| alone.step(&messages, None, None)).collect::<Result<Vec<_>>>()?;
    if plate != alone.own() || changes.last().is_some_and(|last| *last != change[0]) {
        eprintln!("heat: {size} ranks and one rank alone come to different plates");
        return Ok(false);
    }
    let mean = alone.own().iter().sum::<f64>() / (rows * columns) as f64;
    println!("heat: {rows} x {columns} cells, {done} steps by {size} ranks in {time:.1?}");
    println!("last change {:.2e}, mean temperature {mean:.6}: the same as computed by one rank", change[0]);
    Ok(true)
}
