//! A matrix, spread over the ranks by columns, in rows: each rank has some columns of every row, and needs the columns beside its own.
//!
//! A column of such a matrix lies in memory with a row's length from one element to the next. One push by stride moves it, from where it
//! is to where it belongs; nobody packs anything.
//!
//! ```text
//! cargo build --release --bins --examples
//! target/release/hikyaku run -n 4 -- target/release/examples/columns [ROWS [COLUMNS [STEPS]]]
//! ```

use hikyaku::{Job, Result, Stride};
use std::process::ExitCode;

fn main() -> ExitCode {
    let (Some(rows), Some(columns), Some(steps)) = (argument(1, 500), argument(2, 300), argument(3, 20)) else {
        eprintln!("usage: columns [ROWS [COLUMNS [STEPS]]]");
        return ExitCode::FAILURE;
    };
    match run(rows.max(1), columns.max(1), steps) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("columns: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A number given on the command line; `None` if it is none.
fn argument(index: usize, default: usize) -> Option<usize> {
    std::env::args().nth(index).map_or(Some(default), |text| text.parse().ok())
}

/// In each step every element becomes the sum of its two neighbours in the row, the matrix being a ring.
fn run(rows: usize, columns: usize, steps: usize) -> Result<bool> {
    let job = Job::start()?;
    let (rank, size) = (job.rank(), job.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    // Own columns are 1 to `columns`; 0 and `columns + 1` are copies of the neighbours'.
    let width = columns + 2;
    let matrix = job.symmetric::<u64>(rows * width)?;
    let mut mine: Vec<u64> = (0..rows * width).map(|at| start(rank * columns + at % width, at / width)).collect();
    let column = Stride::new(1, width, rows);
    for _ in 0..steps {
        // From my first column to the left one's last, and the other way round.
        job.push_stride(matrix.at(left, columns + 1), &mine[1..], column)?;
        job.push_stride(matrix.at(right, 0), &mine[columns..], column)?;
        job.barrier()?;
        for beside in [0, columns + 1] {
            job.pull_stride(matrix.here(beside), &mut mine[beside..], column)?;
        }
        job.barrier()?;
        for row in mine.chunks_exact_mut(width) {
            let before = row.to_vec();
            for at in 1..=columns {
                row[at] = before[at - 1].wrapping_add(before[at + 1]);
            }
        }
    }
    let wrong = mine.chunks_exact(width).enumerate().find(|(row, values)| {
        let expected = after(*row, size * columns, steps);
        values[1..=columns] != expected[rank * columns..][..columns]
    });
    if let Some((row, _)) = wrong {
        eprintln!("columns: row {row} of rank {rank} is wrong");
        return Ok(false);
    }
    job.barrier()?;
    if rank == 0 {
        println!("{steps} steps of {rows} x {} elements over {size} ranks came out as expected", size * columns);
    }
    Ok(true)
}

/// What is there in the beginning, by column (from 1) and row.
fn start(column: usize, row: usize) -> u64 {
    (column * 31 + row * 17) as u64 % 1000
}

/// A row after so many steps, computed by one.
fn after(row: usize, width: usize, steps: usize) -> Vec<u64> {
    let mut values: Vec<u64> = (1..=width).map(|column| start(column, row)).collect();
    for _ in 0..steps {
        let sum = |at: usize| values[(at + width - 1) % width].wrapping_add(values[(at + 1) % width]);
        values = (0..width).map(sum).collect();
    }
    values
}
