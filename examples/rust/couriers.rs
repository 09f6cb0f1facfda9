//! Couriers that run round a ring of ranks, in an event loop that knows nothing of them: tokio's.
//!
//! Each courier is a task of tokio on every rank, which awaits a word of this rank's memory and hands the courier on. Meanwhile the
//! same loop serves a timer, as it would serve sockets.
//!
//! ```text
//! cargo build --release --bins --examples
//! target/release/hikyaku run -n 4 -- target/release/examples/couriers [COURIERS [LAPS]]
//! ```

use hikyaku::{Job, Result, Until};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

fn main() -> ExitCode {
    let (Some(couriers), Some(laps)) = (argument(1, 5), argument(2, 20)) else {
        eprintln!("usage: couriers [COURIERS [LAPS]]");
        return ExitCode::FAILURE;
    };
    match run(couriers as usize, laps) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("couriers: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A number given on the command line; `None` if it is none.
fn argument(index: usize, default: u64) -> Option<u64> {
    std::env::args().nth(index).map_or(Some(default), |text| text.parse().ok())
}

fn run(couriers: usize, laps: u64) -> Result<bool> {
    let job = Job::start()?;
    let (rank, size) = (job.rank(), job.size());
    // In which lap each courier is that has come here.
    let arrived = Arc::new(job.symmetric::<u64>(couriers.max(1))?);
    // It wakes futures of whatever executor, by a thread that sleeps.
    let events = Arc::new(job.events()?);
    job.barrier()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("tokio starts");
    let ticks = Arc::new(AtomicU64::new(0));
    let handed_on = runtime.block_on(async {
        let counted = ticks.clone();
        let timer = tokio::spawn(async move {
            loop {
                counted.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        // One port serves all of them: they run on one thread, and none keeps it while it waits.
        let port = Arc::new(std::sync::Mutex::new(job.open()?));
        let tasks: Vec<_> = (0..couriers)
            .map(|courier| {
                let (arrived, events, port) = (arrived.clone(), events.clone(), port.clone());
                tokio::spawn(async move {
                    let next = (rank + 1) % size;
                    let hand_on = |lap| port.lock().expect("nobody panics").word(arrived.at(next, courier), lap);
                    if rank == 0 && laps > 0 {
                        hand_on(1)?;
                    }
                    for lap in 1..=laps {
                        let word = events.word(arrived.here(courier), Until::AtLeast(lap));
                        word.by((rank + size - 1) % size).await?;
                        // At rank 0 a lap ends.
                        if rank != 0 {
                            hand_on(lap)?;
                        } else if lap < laps {
                            hand_on(lap + 1)?;
                        }
                    }
                    Result::Ok(laps)
                })
            })
            .collect();
        let mut handed_on = 0;
        for task in tasks {
            handed_on += task.await.expect("no task panics")?;
        }
        timer.abort();
        Result::Ok(handed_on)
    })?;
    let is_right = handed_on == couriers as u64 * laps && (couriers == 0 || ticks.load(Ordering::Relaxed) > 0);
    drop((events, runtime));
    job.barrier()?;
    if rank == 0 {
        let verdict = if is_right { "as expected" } else { "WRONG" };
        println!("{couriers} couriers have run {laps} times round {size} ranks and back: {verdict}");
    }
    Ok(is_right)
}
