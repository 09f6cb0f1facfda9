//! Heat in a plate, by blocks that are tasks, without a barrier.
//!
//! Each rank has a strip of the plate, in blocks. A block is computed as soon as the blocks beside it are where it is, and those above and
//! below have come from the other ranks: each has a flag that counts steps. So a block may be some steps ahead of one that is far away.
//!
//! ```text
//! cargo build --release --bins --examples
//! target/release/hikyaku run -n 4 -- target/release/examples/stencil [BLOCKS [BLOCK_SIZE [STEPS [THREADS [--barriers]]]]]
//! ```

use hikyaku::task::{Data, Tasks, when};
use hikyaku::{Job, Port, Result, Symmetric, Until};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let numbers = [(1, 4), (2, 32), (3, 50), (4, 2)].map(|(index, default)| argument(index, default));
    let [Some(blocks), Some(size), Some(steps), Some(threads)] = numbers else {
        eprintln!("usage: stencil [BLOCKS [BLOCK_SIZE [STEPS [THREADS [--barriers]]]]]");
        return ExitCode::FAILURE;
    };
    let barriers = std::env::args().nth(5).is_some_and(|way| way == "--barriers");
    match run(blocks.max(1), size.max(1), steps, threads.max(1), barriers) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("stencil: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A number given on the command line; `None` if it is none.
fn argument(index: usize, default: usize) -> Option<usize> {
    std::env::args().nth(index).map_or(Some(default), |text| text.parse().ok())
}

/// Around the plate.
const OUTSIDE: f64 = 1.0;

/// What a place is at first.
fn first(row: usize, column: usize) -> f64 {
    ((row * 31 + column * 17) % 100) as f64
}

fn run(blocks: usize, size: usize, steps: usize, threads: usize, barriers: bool) -> Result<bool> {
    let job = Job::start()?;
    let (rank, ranks) = (job.rank(), job.size());
    let block = |at| move |i: usize| first(rank * size + i / size, at * size + i % size);
    let blank = |_| Data::new(vec![0.0; size * size]);
    let strip = Strip {
        rank,
        ranks,
        blocks,
        size,
        edges: job.symmetric(4 * blocks * size)?,
        flags: job.symmetric(2 * blocks)?,
        // Those of even steps, and those of odd ones.
        data: [
            (0..blocks).map(|at| Data::new((0..size * size).map(block(at)).collect())).collect(),
            (0..blocks).map(blank).collect(),
        ],
    };
    job.barrier()?;
    let begin = Instant::now();
    job.tasks(threads, |tasks| {
        for at in 0..blocks {
            let strip = &strip;
            // It writes, so that no step of the block comes before: the flags count.
            tasks.task(strip.data[0][at].write(), move |port, block| strip.send(port, block, at, 0))?;
        }
        for step in 0..steps {
            (0..blocks).try_for_each(|at| strip.compute(tasks, at, step))?;
            if barriers {
                tasks.wait()?;
                job.barrier()?;
            }
        }
        Ok(())
    })?;
    job.barrier()?;
    let time = begin.elapsed();
    let is_right = strip.check(&job, steps)?;
    if rank == 0 {
        println!("{:.2} ms", time.as_secs_f64() * 1e3);
        let verdict = if is_right { "the same as computed by one rank" } else { "WRONG" };
        println!("{steps} steps of {blocks} blocks of {size} on each of {ranks} ranks x {threads} threads: {verdict}");
    }
    job.barrier()?;
    Ok(is_right)
}

/// The blocks of one rank.
struct Strip {
    rank: usize,
    ranks: usize,
    blocks: usize,
    size: usize,
    /// The rows above and below each block, which other ranks push: of even steps, and of odd ones. A rank is at most one step ahead of the
    /// same block of its neighbour, so none is overwritten before it was used.
    edges: Symmetric<f64>,
    /// How many of them have come.
    flags: Symmetric<u64>,
    data: [Vec<Data<Vec<f64>>>; 2],
}

#[derive(Clone, Copy)]
enum Side {
    Above = 0,
    Below = 1,
}

impl Strip {
    fn edge(&self, side: Side, at: usize, step: usize) -> usize {
        ((step % 2 * 2 + side as usize) * self.blocks + at) * self.size
    }

    fn flag(&self, side: Side, at: usize) -> usize {
        side as usize * self.blocks + at
    }

    /// The rank on that side.
    fn beside(&self, side: Side) -> Option<usize> {
        match side {
            Side::Above => self.rank.checked_sub(1),
            Side::Below => Some(self.rank + 1).filter(|rank| *rank < self.ranks),
        }
    }

    /// Tells the neighbours of a block as it is before a step.
    fn send(&self, port: &Port, block: &[f64], at: usize, step: usize) -> Result<()> {
        let last = (self.size - 1) * self.size;
        let ways = [(Side::Above, Side::Below, &block[..self.size]), (Side::Below, Side::Above, &block[last..])];
        for (side, back, row) in ways {
            if let Some(rank) = self.beside(side) {
                let (to, flag) =
                    (self.edges.at(rank, self.edge(back, at, step)), self.flags.at(rank, self.flag(back, at)));
                port.push_notify(to, row, flag, step as u64 + 1)?;
            }
        }
        Ok(())
    }

    /// A task that computes a step of a block, when all around it are as they must be before.
    fn compute<'s>(&'s self, tasks: &Tasks<'s, '_>, at: usize, step: usize) -> Result<()> {
        let flags: Vec<_> = [Side::Above, Side::Below]
            .into_iter()
            .filter_map(|side| {
                let flag = self.flags.here(self.flag(side, at));
                Some(when(flag, Until::AtLeast(step as u64 + 1)).by(self.beside(side)?))
            })
            .collect();
        let (old, new) = (&self.data[step % 2], &self.data[(step + 1) % 2]);
        let around: Vec<_> = (at.saturating_sub(1)..=(at + 1).min(self.blocks - 1)).map(|at| old[at].read()).collect();
        let middle = at.min(1);
        tasks.task((flags, around, new[at].write()), move |port, (_, around, new)| {
            let size = self.size;
            let mut rows = [vec![OUTSIDE; size], vec![OUTSIDE; size]];
            for side in [Side::Above, Side::Below].into_iter().filter(|side| self.beside(*side).is_some()) {
                self.edges.read(self.edge(side, at, step), &mut rows[side as usize]);
            }
            let left = middle.checked_sub(1).map(|index| &around[index][..]);
            step_of(size, around[middle], left, around.get(middle + 1).map(|right| &right[..]), &rows, new);
            self.send(port, new, at, step + 1)
        })
    }

    /// Rank 0 compares all of it with what it computes alone.
    fn check(&self, job: &Job, steps: usize) -> Result<bool> {
        let (size, whole) = (self.size, self.blocks * self.size);
        let result = job.symmetric::<f64>(self.ranks * size * whole)?;
        for (at, block) in self.data[steps % 2].iter().enumerate() {
            let block = block.look(Vec::clone).expect("no task is left");
            for (row, values) in block.chunks(size).enumerate() {
                job.push(result.at(0, (self.rank * size + row) * whole + at * size), values)?;
            }
        }
        job.sync()?;
        job.barrier()?;
        Ok(self.rank != 0 || result.to_vec() == alone(self.ranks * size, whole, steps))
    }
}

fn step_of(
    size: usize,
    old: &[f64],
    left: Option<&[f64]>,
    right: Option<&[f64]>,
    rows: &[Vec<f64>; 2],
    new: &mut [f64],
) {
    let at = |row: usize, column: usize| row * size + column;
    for row in 0..size {
        let above = if row == 0 { &rows[0][..] } else { &old[at(row - 1, 0)..at(row, 0)] };
        let below = if row + 1 == size { &rows[1][..] } else { &old[at(row + 1, 0)..at(row + 2, 0)] };
        let this = &old[at(row, 0)..at(row + 1, 0)];
        let (west, east) =
            (left.map_or(OUTSIDE, |block| block[at(row, size - 1)]), right.map_or(OUTSIDE, |block| block[at(row, 0)]));
        let new = &mut new[at(row, 0)..at(row + 1, 0)];
        for column in 0..size {
            let before = if column == 0 { west } else { this[column - 1] };
            let after = if column + 1 == size { east } else { this[column + 1] };
            new[column] = (above[column] + below[column] + before + after) / 4.0;
        }
    }
}

/// The same, without others.
fn alone(rows: usize, columns: usize, steps: usize) -> Vec<f64> {
    let mut old: Vec<f64> = (0..rows * columns).map(|i| first(i / columns, i % columns)).collect();
    for _ in 0..steps {
        let value = |row: Option<usize>, column: Option<usize>| match (row, column) {
            (Some(row), Some(column)) if row < rows && column < columns => old[row * columns + column],
            _ => OUTSIDE,
        };
        let new = (0..rows * columns).map(|i| {
            let (row, column) = (i / columns, i % columns);
            let vertical = value(row.checked_sub(1), Some(column)) + value(Some(row + 1), Some(column));
            (vertical + value(Some(row), column.checked_sub(1)) + value(Some(row), Some(column + 1))) / 4.0
        });
        old = new.collect();
    }
    old
}
