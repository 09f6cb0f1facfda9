//! Sorting numbers that are spread over the ranks: sample sort.
//!
//! Every rank sorts its numbers and shows the others a few of them, evenly spaced. From all these samples everyone takes
//! the same limits between the ranks, and sends each number to the rank within whose limits it lies. What comes is
//! sorted already, piece by piece, and is merged.
//!
//! ```text
//! cargo build --release --bins --examples
//! target/release/hikyaku run -n 4 -- target/release/examples/sort [NUMBERS_PER_RANK [SEED]]
//! ```

use hikyaku::collective::{BitXor, Sum};
use hikyaku::message::Messages;
use hikyaku::{Group, Job, Result};
use std::process::ExitCode;
use std::time::Instant;

/// Samples of every rank, per rank: the more, the more even the shares.
const SAMPLES: usize = 16;

fn main() -> ExitCode {
    let (Some(count), Some(seed)) = (argument(1, 500_000), argument(2, 1)) else {
        eprintln!("usage: sort [NUMBERS_PER_RANK [SEED]]");
        return ExitCode::FAILURE;
    };
    match run(count, seed) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("sort: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A number given on the command line; `None` if it is none.
fn argument(index: usize, default: usize) -> Option<usize> {
    std::env::args().nth(index).map_or(Some(default), |text| text.parse().ok())
}

/// True if everything came out as it should.
fn run(count: usize, seed: usize) -> Result<bool> {
    let job = Job::start()?;
    let world = job.world()?;
    let messages = job.messages(1)?;
    let (rank, size) = (job.rank(), job.size());

    let mut numbers = random_numbers(count, (seed * size + rank) as u64);
    let before = fingerprint(world, &numbers)?;
    job.barrier()?;
    let begin = Instant::now();
    numbers.sort_unstable();
    let limits = agree_on_limits(world, &numbers)?;
    let numbers = exchange(world, &messages, &numbers, &limits)?;
    job.barrier()?;
    let time = begin.elapsed();

    let after = fingerprint(world, &numbers)?;
    let is_sorted = is_sorted_everywhere(world, &numbers)?;
    if rank != 0 {
        return Ok(true);
    }
    if before != after {
        eprintln!("sort: numbers were lost or changed: count, sum and parity {before:x?} became {after:x?}");
    } else if !is_sorted {
        eprintln!("sort: the numbers are not in order");
    } else {
        println!("sort: {} numbers on {size} ranks in {time:.1?}, {} of them here", before[0], numbers.len());
        println!("in order, and none lost: the same count, sum and parity as before");
    }
    Ok(before == after && is_sorted)
}

/// The splitmix64 generator, which needs no library.
fn random_numbers(count: usize, stream: u64) -> Vec<u64> {
    let mut state = stream << 32;
    let next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Limits between the ranks, the same everywhere: rank `r` gets what is not below limit `r - 1` and below limit `r`.
fn agree_on_limits(world: &Group, sorted: &[u64]) -> Result<Vec<u64>> {
    let wanted = SAMPLES * world.size();
    // A rank without numbers shows samples too, which do no harm.
    let sample = |step| sorted.get(step * sorted.len() / wanted).copied().unwrap_or(u64::MAX);
    let own: Vec<u64> = (0..wanted).map(sample).collect();
    let mut all = vec![0; wanted * world.size()];
    world.allgather(&own, &mut all)?;
    all.sort_unstable();
    Ok((1..world.size()).map(|rank| all[rank * wanted]).collect())
}

/// Sends every number where it belongs; gives those that belong here, in order.
fn exchange(world: &Group, messages: &Messages, sorted: &[u64], limits: &[u64]) -> Result<Vec<u64>> {
    let size = world.size();
    // Where the piece of each rank ends, then how long it is: the receivers must know.
    let end = |rank: usize| limits.get(rank).map_or(sorted.len(), |limit| sorted.partition_point(|n| n < limit));
    let ends: Vec<usize> = (0..size).map(end).collect();
    let lengths: Vec<u64> =
        (0..size).map(|rank| (ends[rank] - rank.checked_sub(1).map_or(0, |r| ends[r])) as u64).collect();
    let mut coming = vec![0; size];
    world.alltoall(&lengths, &mut coming)?;

    let mut numbers = vec![0; coming.iter().sum::<u64>() as usize];
    messages.scope(|scope| {
        let mut room = &mut numbers[..];
        for (rank, length) in coming.iter().enumerate() {
            let (piece, rest) = room.split_at_mut(*length as usize);
            room = rest;
            let _ = scope.irecv(piece, rank, 0)?;
        }
        // Beginning with the next rank, so that not all send to the same one at once.
        for rank in (1..=size).map(|step| (world.rank() + step) % size) {
            let _ = scope.isend(&sorted[ends[rank] - lengths[rank] as usize..ends[rank]], rank, 0)?;
        }
        Ok(())
    })?;
    // The stable sort finds the sorted pieces and merges them.
    numbers.sort();
    Ok(numbers)
}

/// Count, sum and parity of the numbers of all ranks: the same only if, most likely, the numbers are.
fn fingerprint(world: &Group, numbers: &[u64]) -> Result<[u64; 3]> {
    // Sums go round at their end, as those of `Sum` do.
    let sum = numbers.iter().fold(0, |sum: u64, n| sum.wrapping_add(*n));
    let mut sums = [numbers.len() as u64, sum];
    world.allreduce(&mut sums, Sum)?;
    let mut parity = [numbers.iter().fold(0, |parity, n| parity ^ n)];
    world.allreduce(&mut parity, BitXor)?;
    Ok([sums[0], sums[1], parity[0]])
}

/// Whether the numbers of every rank are in order, and none is below those of the ranks before.
fn is_sorted_everywhere(world: &Group, numbers: &[u64]) -> Result<bool> {
    let ends = match numbers {
        [] => [1, 0, 0],
        [first, .., last] => [numbers.is_sorted() as u64, *first, *last],
        [only] => [1, *only, *only],
    };
    let own = [[ends[0], ends[1], ends[2], numbers.len() as u64]];
    let mut all = vec![[0; 4]; world.size()];
    world.allgather(&own, &mut all)?;
    let filled: Vec<_> = all.iter().filter(|[_, _, _, count]| *count > 0).collect();
    Ok(all.iter().all(|[sorted, ..]| *sorted == 1) && filled.windows(2).all(|pair| pair[0][2] <= pair[1][1]))
}
