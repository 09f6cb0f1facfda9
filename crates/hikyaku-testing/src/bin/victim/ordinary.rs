//! What programs do beside the library: compute, wait, fork, get signals.

use hikyaku::{Error, Job, Result, Until};
use hikyaku_testing::os;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Never calls the library again.
pub fn spin(job: &Job) -> Result<()> {
    println!("spinning {}", std::process::id());
    job.barrier()?;
    loop {
        std::hint::spin_loop();
    }
}

/// Waits for what never comes.
pub fn stuck(job: &Job) -> Result<()> {
    let word = job.symmetric::<u64>(1)?;
    println!("stuck {}", std::process::id());
    job.wait(word.here(0), Until::Equal(1)).map(drop)
}

/// Communicates until somebody ends it.
pub fn endless(job: &Job) -> Result<()> {
    let table = job.symmetric::<u64>(512)?;
    let flag = job.symmetric::<u64>(64)?;
    job.register_handler(1, |context, message| {
        let _ = context.reply(message.arguments);
    })?;
    job.barrier()?;
    let (rank, size) = (job.rank(), job.size());
    for round in 1.. {
        let next = (rank + 1) % size;
        job.push_notify(table.at(next, 0), &[round; 512], flag.at(next, 0), round)?;
        job.wait(flag.here(0), Until::AtLeast(round))?;
        job.fetch_add(flag.at(round as usize % size, 8), 1)?;
        job.call((rank + 2) % size, 1, [round; 6], &[0; 100])?;
        job.barrier()?;
    }
    Ok(())
}

/// Waits for some seconds and tells how much processor time that took.
pub fn idle(job: &Job) -> Result<()> {
    let flag = job.symmetric::<u64>(8)?;
    job.barrier()?;
    if job.rank() == 0 {
        std::thread::sleep(Duration::from_secs(3));
        for rank in 1..job.size() {
            job.word(flag.at(rank, 0), 1)?;
        }
        return Ok(());
    }
    let (begin, before) = (Instant::now(), processor_time());
    job.wait(flag.here(0), Until::Equal(1))?;
    let share = (processor_time() - before).as_secs_f64() / begin.elapsed().as_secs_f64();
    println!("idle share {:.3} %", share * 100.0);
    assert!(share < 0.01, "an idle rank used {:.2} % of a core", share * 100.0);
    Ok(())
}

fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

pub fn fork(job: &Job) -> Result<()> {
    let table = job.symmetric::<u64>(8)?;
    job.barrier()?;
    let status = os::in_fork(|| {
        let refused = [
            job.push(table.at(0, 0), &[1]).err(),
            job.pull_one(table.at(0, 0)).err(),
            job.word(table.at(0, 0), 1).err(),
            job.fetch_add(table.at(0, 0), 1).err(),
            job.send(0, 1, 0, [0; 6], &[]).err(),
            job.barrier().err(),
            job.wait(table.here(0), Until::Equal(1)).err(),
            job.symmetric::<u64>(1).err(),
            job.open().err(),
            job.area::<u64>(1, 1).err(),
        ];
        let all = refused.iter().all(|error| matches!(error, Some(Error::ForkedChild)));
        if !all {
            eprintln!("{refused:?}");
        }
        if all { 0 } else { 1 }
    });
    assert_eq!(status, 0, "the forked child was not refused everywhere");
    // The parent is unharmed.
    for round in 1..=100u64 {
        job.word(table.at((job.rank() + 1) % job.size(), 1), round)?;
        job.wait(table.here(1), Until::AtLeast(round))?;
    }
    job.barrier()?;
    println!("parent unharmed");
    Ok(())
}

/// What signals did before there was a job.
static ACTIONS: OnceLock<Vec<usize>> = OnceLock::new();

/// To be called before there is a job.
pub fn note_actions() {
    ACTIONS.get_or_init(os::signal_actions);
}

/// The application's own signals: none is touched, and a storm of them disturbs no call.
pub fn signals(job: &Job) -> Result<()> {
    assert_eq!(Some(&os::signal_actions()), ACTIONS.get(), "the library has changed what signals do");
    os::storm_of_signals();
    let table = job.symmetric::<u64>(100_000)?;
    job.register_handler(1, |context, message| {
        let _ = context.reply(message.arguments);
    })?;
    job.barrier()?;
    let next = (job.rank() + 1) % job.size();
    let area = job.register(1, vec![job.rank() as u64; 100_000])?;
    job.barrier()?;
    for round in 1..=50u64 {
        job.push_notify(table.at(next, 1), &vec![round; 50_000], table.at(next, 0), round)?;
        job.wait(table.here(0), Until::AtLeast(round))?;
        assert_eq!(job.call(next, 1, [round; 6], &[])?, [round; 6]);
        let mut there = vec![0u64; 100_000];
        job.pull(job.open_area::<u64>(next, 1)?.at(0), &mut there)?;
        assert!(there.iter().all(|word| *word == next as u64));
        // Long enough to fall asleep.
        if round % 10 == 0 && job.rank() == 0 {
            let until = Instant::now() + Duration::from_millis(5);
            while Instant::now() < until {
                std::hint::spin_loop();
            }
        }
        job.barrier()?;
    }
    drop(area);
    println!("undisturbed");
    Ok(())
}
