//! Ranks that end in the middle of something, and what the others are told.

use super::ordinary::spin;
use hikyaku::{By, Error, Job, Result, Until};
use hikyaku_testing::os;
use hikyaku_testing::patience::{assert_prompt, eventually};
use std::time::{Duration, Instant};

/// The last rank is the one that dies.
fn victim(job: &Job) -> usize {
    job.size() - 1
}

/// Tells everyone when, then dies.
fn die_announced(job: &Job, clock: &hikyaku::Symmetric<u64>) -> ! {
    for rank in 0..victim(job) {
        job.word(clock.at(rank, 0), now_ns()).unwrap();
    }
    os::kill_self()
}

fn now_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A survivor's call must have ended with the victim's name, soon after its death.
fn check_death<T: std::fmt::Debug>(job: &Job, clock: &hikyaku::Symmetric<u64>, result: Result<T>) {
    let after = Duration::from_nanos(now_ns().saturating_sub(clock.get(0)));
    match result {
        Err(Error::PeerDead { rank }) if rank == victim(job) => {}
        other => panic!("expected the death of rank {}, got {other:?}", victim(job)),
    }
    assert_prompt(after, Duration::from_millis(100), "learned of the death");
    println!("survived");
}

/// After a death the others still exchange data.
fn go_on(job: &Job, flag: &hikyaku::Symmetric<u64>) -> Result<()> {
    let others = victim(job);
    if job.rank() < others && others > 1 {
        let (next, before) = ((job.rank() + 1) % others, (job.rank() + others - 1) % others);
        for round in 1..=100 {
            job.word(flag.at(next, 8), round)?;
            job.wait_from(By::Rank(before), flag.here(8), Until::AtLeast(round))?;
        }
    }
    Ok(())
}

pub fn early() {
    if std::env::var("HIKYAKU_RANK").as_deref() == Ok("1") {
        os::kill_self();
    }
}

pub fn barrier(job: &Job) -> Result<()> {
    let clock = job.symmetric::<u64>(64)?;
    job.barrier()?;
    if job.rank() == victim(job) {
        die_announced(job, &clock);
    }
    let result = job.barrier();
    check_death(job, &clock, result);
    go_on(job, &clock)
}

pub fn flag(job: &Job) -> Result<()> {
    let clock = job.symmetric::<u64>(64)?;
    job.barrier()?;
    if job.rank() == victim(job) {
        // Let the others fall asleep first: the death must wake them.
        std::thread::sleep(Duration::from_millis(20));
        die_announced(job, &clock);
    }
    let result = job.wait_from(By::Rank(victim(job)), clock.here(16), Until::Equal(1));
    check_death(job, &clock, result);
    go_on(job, &clock)
}

/// Dies while others pull from its registered memory all the time.
pub fn pull(job: &Job) -> Result<()> {
    let clock = job.symmetric::<u64>(64)?;
    if job.rank() == victim(job) {
        let _area = job.register(1, vec![7u64; 1000])?;
        job.barrier()?;
        std::thread::sleep(Duration::from_millis(5));
        die_announced(job, &clock);
    }
    job.barrier()?;
    let area = job.open_area::<u64>(victim(job), 1)?;
    let mut data = [0u64; 1000];
    let result = loop {
        if let Err(error) = job.pull(area.at(0), &mut data) {
            break Err::<(), _>(error);
        }
        assert!(data.iter().all(|word| *word == 7));
    };
    check_death(job, &clock, result);
    go_on(job, &clock)
}

/// A rank dies while its launcher is stopped, so that nobody tells: one that reaches for its memory finds out itself. The
/// others wait for a word that does not come, until that one has left.
pub fn unwatched(job: &Job) -> Result<()> {
    assert!(job.size() > 1, "needs a launcher");
    let process = job.symmetric::<u64>(1)?;
    process.set(0, std::process::id() as u64);
    let _area = job.register(1, vec![7u64; 1000])?;
    job.barrier()?;
    if job.rank() != 0 {
        job.wait_from(By::Rank(0), process.here(0), Until::Equal(0))?;
        os::kill_self();
    }
    assert!(job.reaches_private_memory(victim(job))?);
    let area = job.open_area::<u64>(victim(job), 1)?;
    let (mut dying, mut data) = ([0], [0u64; 1000]);
    job.pull(process.at(victim(job), 0), &mut dying)?;
    let _launcher = Stopped::new(rustix::process::getppid().expect("a launcher"));
    job.word(process.at(victim(job), 0), 0)?;
    await_state(dying[0], 'Z');
    let begin = Instant::now();
    match job.pull(area.at(0), &mut data) {
        Err(Error::PeerDead { rank }) if rank == victim(job) => {}
        other => panic!("{other:?}"),
    }
    let took = begin.elapsed();
    assert!(took >= Duration::from_secs(1), "somebody may still have told: {took:?}");
    println!("found out by itself");
    Ok(())
}

/// A process that is stopped until this is dropped.
struct Stopped(rustix::process::Pid);

impl Stopped {
    fn new(process: rustix::process::Pid) -> Stopped {
        rustix::process::kill_process(process, rustix::process::Signal::STOP).unwrap();
        let stopped = Stopped(process);
        await_state(process.as_raw_nonzero().get() as u64, 'T');
        stopped
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(self.0, rustix::process::Signal::CONT);
    }
}

/// Waits until the system says that a process is in this state.
fn await_state(process: u64, state: char) {
    let is_there =
        || std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap().contains(&format!(") {state} "));
    eventually(&format!("process {process} in state {state}"), || is_there().then_some(()));
}

pub fn handler(job: &Job) -> Result<()> {
    let clock = job.symmetric::<u64>(64)?;
    job.register_handler(1, |_, _| os::kill_self())?;
    job.barrier()?;
    if job.rank() == 0 {
        clock.set(0, now_ns());
        let result = job.call(victim(job), 1, [0; 6], &[]);
        check_death(job, &clock, result);
    } else {
        let result = job.wait_from(By::Rank(victim(job)), clock.here(16), Until::Equal(1));
        clock.set(0, now_ns());
        check_death(job, &clock, result);
    }
    go_on(job, &clock)
}

/// Floods a rank that does not receive, until it dies.
pub fn full_ring(job: &Job) -> Result<()> {
    let clock = job.symmetric::<u64>(64)?;
    job.register_handler(1, |_, _| {})?;
    job.barrier()?;
    if job.rank() == victim(job) {
        std::thread::sleep(Duration::from_millis(50));
        die_announced(job, &clock);
    }
    let result = loop {
        if let Err(error) = job.send(victim(job), 1, 0, [0; 6], &[1; 1000]) {
            break Err::<(), _>(error);
        }
    };
    check_death(job, &clock, result);
    go_on(job, &clock)
}

/// Ends without a word while another rank waits.
pub fn exit_unannounced(job: &Job) -> Result<()> {
    job.barrier()?;
    if job.rank() == victim(job) {
        std::process::exit(0);
    }
    match job.barrier() {
        Err(Error::PeerLeft { rank }) if rank == victim(job) => println!("survived"),
        other => panic!("expected that rank {} left, got {other:?}", victim(job)),
    }
    Ok(())
}

/// Fails while the others never call the library again.
pub fn give_up(job: &Job) -> Result<()> {
    if job.rank() != victim(job) {
        return spin(job);
    }
    job.barrier()?;
    std::process::exit(3)
}

/// The last rank dies with pins in areas of the others: those that wait for the release go on, and have their memory back.
pub fn pinned(job: &Job) -> Result<()> {
    const LEN: usize = 100;
    let clock = job.symmetric::<u64>(64)?;
    if job.rank() == victim(job) {
        job.barrier()?;
        for rank in 0..victim(job) {
            std::mem::forget(job.pin(job.open_area::<u64>(rank, 1)?.at(0), LEN)?);
            std::mem::forget(job.pin(job.open_area::<u64>(rank, 2)?.at(0), LEN)?);
        }
        job.barrier()?;
        // Let the others fall asleep first.
        std::thread::sleep(Duration::from_millis(20));
        die_announced(job, &clock);
    }
    let (area, vector) = (job.area::<u64>(1, LEN)?, job.register(2, vec![5u64; LEN])?);
    job.barrier()?;
    job.barrier()?;
    assert_eq!(area.pinned_by(), Some(victim(job)));
    job.wait_unpinned(&vector, None)?;
    let after = Duration::from_nanos(now_ns().saturating_sub(clock.get(0)));
    assert_prompt(after, Duration::from_millis(100), "learned that nobody has a pin");
    check_taken_back(job, area, vector)?;
    println!("survived");
    go_on(job, &clock)
}

/// The last rank dies at some moment of asking for a pin, or of releasing it.
pub fn pinning(job: &Job) -> Result<()> {
    const LEN: usize = 100;
    let word = job.symmetric::<u64>(16)?;
    if job.rank() == victim(job) {
        job.barrier()?;
        let life = Duration::from_micros(500 + now_ns() % 3000);
        std::thread::spawn(move || {
            std::thread::sleep(life);
            os::kill_self();
        });
        loop {
            for rank in 0..victim(job) {
                let area = job.open_area::<u64>(rank, 2)?;
                let pinned = job.pin(area.at(0), LEN)?;
                job.push(pinned.at(0), &[5; LEN])?;
            }
        }
    }
    let (area, vector) = (job.area::<u64>(1, LEN)?, job.register(2, vec![5u64; LEN])?);
    job.barrier()?;
    match job.wait_from(By::Rank(victim(job)), word.here(0), Until::Equal(1)) {
        Err(Error::PeerDead { rank }) if rank == victim(job) => {}
        other => panic!("{other:?}"),
    }
    let begin = Instant::now();
    job.wait_unpinned(&vector, None)?;
    assert_prompt(begin.elapsed(), Duration::from_millis(100), "nobody has a pin");
    check_taken_back(job, area, vector)?;
    println!("survived");
    go_on(job, &word)
}

fn check_taken_back(job: &Job, area: hikyaku::Area<u64>, vector: hikyaku::Area<u64>) -> Result<()> {
    let start = vector.as_ptr();
    let vector = vector.into_vec();
    assert_eq!((vector.as_ptr(), vector[0]), (start.cast_const(), 5), "the vector itself");
    drop(area);
    job.area::<u64>(1, 1).map(drop)
}
