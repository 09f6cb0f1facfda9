//! The Cholesky factorisation of a matrix by tiles, as tasks on several ranks.
//!
//! Tiles are dealt out to a grid of ranks. Every rank goes through the same loops and submits the tasks that are its own; a tile of
//! another rank it awaits by a flag. So nobody waits for anybody in general: whatever has its inputs runs, and the next steps begin
//! while the last ones are still under way. With `--barriers` all ranks wait for each other after each step, as programs without tasks do.
//!
//! ```text
//! cargo build --release --bins --examples
//! target/release/hikyaku run -n 4 -- target/release/examples/cholesky [TILES [TILE_SIZE [THREADS [--barriers]]]]
//! ```

use hikyaku::task::{Data, Tasks, when};
use hikyaku::{Job, Port, Result, Symmetric, Until};
use hikyaku_workloads::tiles::{element, factor, solve, subtract};
use ndarray::Array2;
use std::process::ExitCode;
use std::time::{Duration, Instant};

type Tile = Array2<f64>;

fn main() -> ExitCode {
    let numbers = [(1, 12), (2, 48), (3, 2)].map(|(index, default)| argument(index, default));
    let [Some(tiles), Some(size), Some(threads)] = numbers else {
        eprintln!("usage: cholesky [TILES [TILE_SIZE [THREADS [--barriers]]]]");
        return ExitCode::FAILURE;
    };
    let barriers = std::env::args().nth(4).is_some_and(|way| way == "--barriers");
    match run(tiles.max(1), size.max(1), threads.max(1), barriers) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cholesky: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A number given on the command line; `None` if it is none.
fn argument(index: usize, default: usize) -> Option<usize> {
    std::env::args().nth(index).map_or(Some(default), |text| text.parse().ok())
}

fn run(tiles: usize, size: usize, threads: usize, barriers: bool) -> Result<bool> {
    let job = Job::start()?;
    let mut matrix = Matrix::new(&job, tiles, size)?;
    let time = matrix.run(&job, threads, barriers)?;
    let is_right = matrix.is_right(&job)?;
    if job.rank() == 0 {
        let flops = (tiles * size).pow(3) as f64 / 3.0;
        let speed = flops / time.as_secs_f64() / 1e9;
        println!("{:.2} ms, {speed:.2} Gflop/s", time.as_secs_f64() * 1e3);
        let verdict = if is_right { "the same as computed by one rank" } else { "WRONG" };
        println!("{tiles} x {tiles} tiles of {size} over {} ranks x {threads} threads: {verdict}", job.size());
    }
    job.barrier()?;
    Ok(is_right)
}

/// Ranks in rows and columns, over which tiles are dealt out.
#[derive(Clone, Copy)]
struct Grid {
    rows: usize,
    columns: usize,
}

impl Grid {
    /// As square as it gets.
    fn of(ranks: usize) -> Grid {
        let rows = (1..=ranks).rev().find(|rows| rows * rows <= ranks && ranks.is_multiple_of(*rows)).unwrap_or(1);
        Grid { rows, columns: ranks / rows }
    }

    fn owner(self, row: usize, column: usize) -> usize {
        row % self.rows * self.columns + column % self.columns
    }
}

/// Tiles on and below the diagonal.
fn places(tiles: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..tiles).flat_map(|row| (0..=row).map(move |column| (row, column)))
}

/// A tile of the matrix, which is symmetric and positive definite.
fn part(order: usize, size: usize, row: usize, column: usize) -> Tile {
    Tile::from_shape_fn((size, size), |(i, j)| element(order, row * size + i, column * size + j))
}

/// The tiles of a rank.
pub struct Matrix {
    rank: usize,
    grid: Grid,
    tiles: usize,
    size: usize,
    /// Where others push their tiles to, and the flag of each.
    inbox: Symmetric<f64>,
    flags: Symmetric<u64>,
    /// The own tiles, and copies of others.
    data: Vec<Data<Tile>>,
}

impl Matrix {
    /// For so many tiles in a row, of this size; all ranks make it together.
    pub fn new(job: &Job, tiles: usize, size: usize) -> Result<Matrix> {
        let (inbox, flags) = (tiles * (tiles + 1) / 2 * size * size, tiles * (tiles + 1) / 2);
        Ok(Matrix {
            rank: job.rank(),
            grid: Grid::of(job.size()),
            tiles,
            size,
            inbox: job.symmetric(inbox)?,
            flags: job.symmetric(flags)?,
            data: Vec::new(),
        })
    }

    /// Fills the matrix and factors it: the time that the latter took.
    pub fn run(&mut self, job: &Job, threads: usize, barriers: bool) -> Result<Duration> {
        let order = self.tiles * self.size;
        self.data = places(self.tiles).map(|(row, column)| Data::new(part(order, self.size, row, column))).collect();
        (0..self.flags.len()).for_each(|index| self.flags.set(index, 0));
        job.barrier()?;
        let begin = Instant::now();
        job.tasks(threads, |tasks| self.factorize(job, tasks, barriers))?;
        job.barrier()?;
        Ok(begin.elapsed())
    }

    /// Gives its memory back; all ranks do it together.
    pub fn free(self, job: &Job) -> Result<()> {
        job.free(self.inbox)?;
        job.free(self.flags)
    }

    fn index(&self, row: usize, column: usize) -> usize {
        row * (row + 1) / 2 + column
    }

    fn tile(&self, row: usize, column: usize) -> &Data<Tile> {
        &self.data[self.index(row, column)]
    }

    fn is_mine(&self, row: usize, column: usize) -> bool {
        self.grid.owner(row, column) == self.rank
    }

    /// Who needs a tile of the factor: a diagonal tile those of its column, any other those of its row and of the column of that number.
    fn readers(&self, row: usize, column: usize) -> Vec<usize> {
        let below = (row..self.tiles).map(|other| (other, if row == column { column } else { row }));
        let beside = (column + 1..row).map(|other| (row, other));
        let mut ranks: Vec<_> = below.chain(beside).map(|(row, column)| self.grid.owner(row, column)).collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks.retain(|rank| *rank != self.grid.owner(row, column));
        ranks
    }

    /// Pushes a tile that is done to whoever needs it, and then its flag.
    fn send(&self, port: &Port, tile: &Tile, row: usize, column: usize) -> Result<()> {
        let (index, values) = (self.index(row, column), tile.as_slice().expect("tiles lie in one piece"));
        self.readers(row, column).into_iter().try_for_each(|rank| {
            port.push_notify(self.inbox.at(rank, index * values.len()), values, self.flags.at(rank, index), 1)
        })
    }

    /// A task that copies a tile of another rank when it has come, if this rank needs it.
    fn receive<'s>(&'s self, tasks: &Tasks<'s, '_>, row: usize, column: usize) -> Result<()> {
        if !self.readers(row, column).contains(&self.rank) {
            return Ok(());
        }
        let index = self.index(row, column);
        let flag = when(self.flags.here(index), Until::Equal(1)).by(self.grid.owner(row, column));
        tasks.urgent((flag, self.tile(row, column).write()), move |_, (_, tile)| {
            let values = tile.as_slice_mut().expect("tiles lie in one piece");
            self.inbox.read(index * values.len(), values);
            Ok(())
        })
    }

    fn factorize<'s>(&'s self, job: &Job, tasks: &'s Tasks<'s, '_>, barriers: bool) -> Result<()> {
        let step = || if barriers { tasks.wait().and_then(|()| job.barrier()) } else { Ok(()) };
        for k in 0..self.tiles {
            match self.is_mine(k, k) {
                // Others wait for it: first of all.
                true => tasks.urgent(self.tile(k, k).write(), move |port, tile| {
                    factor(tile.view_mut());
                    self.send(port, tile, k, k)
                })?,
                false => self.receive(tasks, k, k)?,
            }
            step()?;
            for i in k + 1..self.tiles {
                match self.is_mine(i, k) {
                    true => tasks.urgent(
                        (self.tile(k, k).read(), self.tile(i, k).write()),
                        move |port, (above, tile)| {
                            solve(above.view(), tile.view_mut());
                            self.send(port, tile, i, k)
                        },
                    )?,
                    false => self.receive(tasks, i, k)?,
                }
            }
            step()?;
            for j in k + 1..self.tiles {
                for i in (j..self.tiles).filter(|i| self.is_mine(*i, j)) {
                    self.update(tasks, i, j, k)?;
                }
            }
            step()?;
        }
        Ok(())
    }

    /// A task that takes off what column `k` contributes to a tile; those of the next column first, which others wait for next.
    fn update<'s>(&'s self, tasks: &'s Tasks<'s, '_>, i: usize, j: usize, k: usize) -> Result<()> {
        let (left, tile) = (self.tile(i, k).read(), self.tile(i, j).write());
        let diagonal =
            |_: &Port, (left, tile): (&Tile, &mut Tile)| Ok(subtract(left.view(), left.view(), tile.view_mut()));
        let other = |_: &Port, (left, right, tile): (&Tile, &Tile, &mut Tile)| {
            Ok(subtract(left.view(), right.view(), tile.view_mut()))
        };
        match (i == j, j == k + 1) {
            (true, true) => tasks.urgent((left, tile), diagonal),
            (true, false) => tasks.task((left, tile), diagonal),
            (false, true) => tasks.urgent((left, self.tile(j, k).read(), tile), other),
            (false, false) => tasks.task((left, self.tile(j, k).read(), tile), other),
        }
    }

    /// Whether it was factored rightly, which rank 0 finds out: it gets all tiles and compares them with what it computes alone.
    pub fn is_right(&self, job: &Job) -> Result<bool> {
        for (row, column) in places(self.tiles).filter(|(row, column)| self.is_mine(*row, *column)) {
            let at = self.inbox.at(0, self.index(row, column) * self.size * self.size);
            let push = |tile: &Tile| job.push(at, tile.as_slice().expect("tiles lie in one piece"));
            self.tile(row, column).look(push).expect("no task is left")?;
        }
        job.sync()?;
        job.barrier()?;
        if self.rank != 0 {
            return Ok(true);
        }
        let order = self.tiles * self.size;
        let mut whole = part(order, order, 0, 0);
        factor(whole.view_mut());
        let mut values = vec![0.0; self.size * self.size];
        let mut worst = 0f64;
        for (row, column) in places(self.tiles) {
            self.inbox.read(self.index(row, column) * values.len(), &mut values);
            for (at, value) in values.iter().enumerate() {
                let (i, j) = (row * self.size + at / self.size, column * self.size + at % self.size);
                if i >= j {
                    worst = worst.max((value - whole[[i, j]]).abs() / whole[[i, i]]);
                }
            }
        }
        Ok(worst < 1e-12 * order as f64)
    }
}
