//! A table on one rank, edited by all ranks at once.
//!
//! Each rank takes a copy with a twin, changes some entries, and pushes back only what differs from the twin. Ranks that change different
//! entries do not disturb each other, and nobody has to say which entries it changed.
//!
//! ```text
//! cargo build --release --bins --examples
//! target/release/hikyaku run -n 4 -- target/release/examples/table [ENTRIES [EDITS]]
//! ```

use hikyaku::{Job, Result};
use std::process::ExitCode;

fn main() -> ExitCode {
    let (Some(entries), Some(edits)) = (argument(1, 100_000), argument(2, 10)) else {
        eprintln!("usage: table [ENTRIES [EDITS]]");
        return ExitCode::FAILURE;
    };
    match run(entries, edits) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("table: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A number given on the command line; `None` if it is none.
fn argument(index: usize, default: usize) -> Option<usize> {
    std::env::args().nth(index).map_or(Some(default), |text| text.parse().ok())
}

fn run(entries: usize, edits: usize) -> Result<bool> {
    let job = Job::start()?;
    let (rank, size) = (job.rank(), job.size());
    let table = job.symmetric::<u64>(entries)?;
    let (mut copy, mut pushed) = (vec![0; entries], 0);
    for edit in 0..edits {
        let mut twin = job.pull_twin(table.at(0, 0), &mut copy)?;
        for index in (rank..entries).step_by(size).filter(|index| is_changed(*index, size, edit)) {
            copy[index] += 1;
        }
        pushed += job.push_diff(table.at(0, 0), &copy, &mut twin)?;
        // Everybody's changes are there before the next copy is taken.
        job.barrier()?;
    }
    job.pull(table.at(0, 0), &mut copy)?;
    let expected = |index: usize| (0..edits).filter(|edit| is_changed(index, size, *edit)).count() as u64;
    let is_right = copy.iter().enumerate().all(|(index, entry)| *entry == expected(index));
    if !is_right {
        eprintln!("table: rank {rank} finds another table than was written");
    }
    job.barrier()?;
    if rank == 0 && is_right {
        println!(
            "{entries} entries, {edits} edits by each of {size} ranks (this one pushed {pushed} entries): as expected"
        );
    }
    Ok(is_right)
}

/// Every tenth entry of each rank; which ones those are changes with the edit.
fn is_changed(index: usize, size: usize, edit: usize) -> bool {
    (index / size + edit).is_multiple_of(10)
}
