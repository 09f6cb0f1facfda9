//! Around the ring, in two ways.
//!
//! First a token: rank 0 sends it to rank 1, rank 1 to rank 2, and so on until it is home again; every rank adds its part.
//! One message is under way at any time, so the time of a hop is what a message takes.
//!
//! Then arrays: every rank passes on what it got last, all of them at once, and adds up what comes by. The same two
//! transfers are made again and again, so they are prepared once and only started.
//!
//! ```text
//! cargo build --release --bins --examples
//! target/release/hikyaku run -n 4 -- target/release/examples/ring [ELEMENTS [LAPS]]
//! ```

use hikyaku::message::Messages;
use hikyaku::{Job, Result};
use std::process::ExitCode;
use std::time::Instant;

/// Slots keep the two parts of this program apart.
const TOKEN: usize = 0;
const ARRAY: usize = 1;

fn main() -> ExitCode {
    let (Some(elements), Some(laps)) = (argument(1, 100_000), argument(2, 1000)) else {
        eprintln!("usage: ring [ELEMENTS [LAPS]]");
        return ExitCode::FAILURE;
    };
    match run(elements, laps) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("ring: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A number given on the command line; `None` if it is none.
fn argument(index: usize, default: usize) -> Option<usize> {
    std::env::args().nth(index).map_or(Some(default), |text| text.parse().ok())
}

/// True if everything came out as it should.
fn run(elements: usize, laps: usize) -> Result<bool> {
    let job = Job::start()?;
    let messages = job.messages(2)?;
    let is_right = pass_token(&messages, laps)? & pass_arrays(&messages, elements)?;
    // Nobody leaves while others still wait for its messages.
    job.barrier()?;
    Ok(is_right)
}

fn pass_token(messages: &Messages, laps: usize) -> Result<bool> {
    let (left, rank, right) = neighbours(messages);
    let mut token = [0];
    let begin = Instant::now();
    for _ in 0..laps {
        if rank == 0 {
            token[0] += part(rank);
            messages.send(&token, right, TOKEN)?;
            messages.recv(&mut token, left, TOKEN)?;
        } else {
            messages.recv(&mut token, left, TOKEN)?;
            token[0] += part(rank);
            messages.send(&token, right, TOKEN)?;
        }
    }
    if rank != 0 {
        return Ok(true);
    }
    let size = messages.size();
    let expected = laps as u64 * (0..size).map(part).sum::<u64>();
    if token[0] != expected {
        eprintln!("ring: the token came home with {}, not with {expected}", token[0]);
        return Ok(false);
    }
    let hop = begin.elapsed() / (laps * size).max(1) as u32;
    println!("token: {laps} laps of {size} ranks, {hop:.2?} a hop, sum {expected}: as expected");
    Ok(true)
}

fn pass_arrays(messages: &Messages, elements: usize) -> Result<bool> {
    let (left, rank, right) = neighbours(messages);
    let size = messages.size();
    let mine: Vec<u64> = (0..elements as u64).map(|index| part(rank) + index).collect();
    let mut sums = vec![0; elements];

    // From here on the two buffers belong to the transfers, and the slot too.
    let mut send = messages.prepare_send(mine.clone(), right, ARRAY)?;
    let mut receive = messages.prepare_recv(vec![0u64; elements], left, ARRAY)?;
    for _ in 0..size {
        receive.start()?;
        send.start()?;
        // While they travel: what is being sent may be read.
        sums.iter_mut().zip(send.data()).for_each(|(sum, part)| *sum += part);
        send.wait()?;
        let came = receive.wait()?;
        send.data_mut()?.copy_from_slice(came);
    }

    let all: u64 = (0..size).map(part).sum();
    let wrong = (0..elements).find(|index| sums[*index] != all + (size * index) as u64);
    if let Some(index) = wrong {
        eprintln!("ring: rank {rank} has {} in place {index}, not {}", sums[index], all + (size * index) as u64);
        return Ok(false);
    }
    if send.data() != mine {
        eprintln!("ring: the array of rank {rank} came home changed");
        return Ok(false);
    }
    if rank == 0 {
        println!("arrays: {elements} elements passed through {size} ranks and added up: as expected");
    }
    Ok(true)
}

/// (left, own, right); alone, a rank is its own neighbour.
fn neighbours(messages: &Messages) -> (usize, usize, usize) {
    let (rank, size) = (messages.rank(), messages.size());
    ((rank + size - 1) % size, rank, (rank + 1) % size)
}

/// What a rank adds.
fn part(rank: usize) -> u64 {
    rank as u64 + 1
}
