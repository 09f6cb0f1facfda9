//! A rod whose ends are kept at two temperatures, cooled until nothing changes (Jacobi's method), with a fuzzy barrier.
//!
//! In each step a rank needs one value of each neighbour. It computes its two edges first, pushes them, and posts that it has come to the
//! barrier. Then it computes its interior, which needs nothing of others, and only then waits for them. Nothing has to be called in between:
//! the barrier goes on by itself, so if the interior takes longer than what the ranks are apart, nobody waits.
//!
//! ```text
//! cargo build --release --bins --examples
//! target/release/hikyaku run -n 4 -- target/release/examples/jacobi [CELLS_PER_RANK [STEPS]]
//! ```

use hikyaku::{Job, Result};
use std::process::ExitCode;

fn main() -> ExitCode {
    let (Some(cells), Some(steps)) = (argument(1, 1000), argument(2, 500)) else {
        eprintln!("usage: jacobi [CELLS_PER_RANK [STEPS]]");
        return ExitCode::FAILURE;
    };
    match run(cells.max(1), steps) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("jacobi: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A number given on the command line; `None` if it is none.
fn argument(index: usize, default: usize) -> Option<usize> {
    std::env::args().nth(index).map_or(Some(default), |text| text.parse().ok())
}

/// What the ends are kept at.
const ENDS: [f64; 2] = [100.0, -20.0];

fn run(cells: usize, steps: usize) -> Result<bool> {
    let job = Job::start()?;
    let (rank, size) = (job.rank(), job.size());
    // What the neighbours' edges are, two of each: those of a step are read while those of the next one come.
    let beside = job.symmetric::<f64>(4)?;
    let barrier = job.counting_barrier(0)?;
    let mut old = vec![0.0; cells + 2];
    let mut new = old.clone();
    for step in 0..steps {
        // The edges of this rank's part, from what its neighbours have pushed in the last step.
        let [left, right] = match step {
            0 => [0.0; 2],
            _ => [0, 1].map(|side| beside.get(2 * (step % 2) + side)),
        };
        old[0] = if rank == 0 { ENDS[0] } else { left };
        old[cells + 1] = if rank + 1 == size { ENDS[1] } else { right };
        for at in [1, cells] {
            new[at] = (old[at - 1] + old[at + 1]) / 2.0;
        }
        let next = 2 * ((step + 1) % 2);
        if rank > 0 {
            job.push(beside.at(rank - 1, next + 1), &[new[1]])?;
        }
        if rank + 1 < size {
            job.push(beside.at(rank + 1, next), &[new[cells]])?;
        }
        barrier.post()?;
        for at in 2..cells {
            new[at] = (old[at - 1] + old[at + 1]) / 2.0;
        }
        barrier.wait()?;
        std::mem::swap(&mut old, &mut new);
    }
    let mut all = vec![0.0; size * cells];
    job.world()?.gather(&old[1..=cells], &mut all, 0)?;
    let is_right = rank != 0 || all == alone(size * cells, steps);
    if !is_right {
        eprintln!("jacobi: the rod differs from that of one rank");
    } else if rank == 0 {
        println!("{} cells over {size} ranks after {steps} steps: the same as computed by one rank", size * cells);
    }
    barrier.free()?;
    Ok(is_right)
}

/// The same, without others.
fn alone(cells: usize, steps: usize) -> Vec<f64> {
    let mut old = vec![0.0; cells + 2];
    for _ in 0..steps {
        (old[0], old[cells + 1]) = (ENDS[0], ENDS[1]);
        let mut new = old.clone();
        (1..=cells).for_each(|at| new[at] = (old[at - 1] + old[at + 1]) / 2.0);
        old = new;
    }
    old[1..=cells].to_vec()
}
