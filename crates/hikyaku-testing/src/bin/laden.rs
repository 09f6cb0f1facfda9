//! One rank of a job under load, as `tests/load.rs` says: more ranks than cores, ranks that wait for long, and ranks that
//! send to one that does not receive.

use hikyaku::collective::Sum;
use hikyaku::message::{Messages, Mode};
use hikyaku::{Group, Job, Result, Until};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

fn main() {
    hikyaku_testing::watchdog::watch_process();
    let arguments: Vec<String> = std::env::args().collect();
    let job = Job::start().unwrap();
    match arguments[1].as_str() {
        "busy" => busy(&job),
        "idle" => idle(&job, arguments[2].parse().unwrap()),
        "flood" => flood(&job, &arguments[2]),
        "ahead" => run_ahead(&job, &arguments[2]),
        other => panic!("no such role: {other}"),
    }
    .unwrap();
}

/// Messages round and round, and collectives.
fn busy(job: &Job) -> Result<()> {
    let (messages, world) = (job.messages(1)?, job.new_world()?);
    let (rank, size) = (job.rank(), job.size());
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
    world.barrier()?;
    let begin = Instant::now();
    for round in 0..30u64 {
        for len in [1, 500, 20_000] {
            let (mine, mut got) = (vec![round + rank as u64; len], vec![0; len]);
            messages.scope(|scope| {
                let receive = scope.irecv(&mut got, before, 0)?;
                messages.send(&mine, next, 0)?;
                scope.wait_receive(receive)
            })?;
            assert!(got.iter().all(|word| *word == round + before as u64));
        }
        let mut total = [round + rank as u64; 10];
        world.allreduce(&mut total, Sum)?;
        assert_eq!(total, [size as u64 * round + (size * (size - 1) / 2) as u64; 10]);
        world.broadcast(&mut total, round as usize % size)?;
        world.barrier()?;
    }
    println!("{:?}", begin.elapsed());
    Ok(())
}

/// Ways to wait for rank 0.
type Wait = fn(&Messages<'_>, &Group<'_>) -> Result<()>;
const WAITS: [(&str, Wait); 7] = [
    ("receive", |messages, _| messages.recv(&mut [0u8], 0, 0).map(drop)),
    ("barrier", |_, world| world.barrier()),
    ("receive from any rank", |messages, _| messages.recv_any(&mut [0u8], 0).map(drop)),
    ("receive of any slot", |messages, _| messages.recv_any_slot(&mut [0u8], 0).map(drop)),
    ("receive under way", |messages, _| {
        let mut room = [0u8; 100_000];
        messages.scope(|scope| scope.wait_receive(scope.irecv(&mut room, 0, 0)?).map(drop))
    }),
    ("barrier under way", |_, world| world.scope(|scope| scope.wait(scope.ibarrier()?))),
    ("end of a scope", |_, world| {
        let mut data = [0u64; 4];
        world.scope(|scope| scope.ibroadcast(&mut data, 0).map(drop))
    }),
];

/// All wait for rank 0, in all ways beginning with `first`. Tells how much processor time that takes.
fn idle(job: &Job, first: usize) -> Result<()> {
    let messages = job.messages(1)?;
    let way = |rank: usize| (first + rank - 1) % WAITS.len();
    // A group for each rank that waits for rank 0 in a collective call, and for all others.
    let groups = (1..job.size()).map(|rank| job.group(job.rank() == 0 || job.rank() == rank));
    let groups = groups.collect::<Result<Vec<_>>>()?;
    job.barrier()?;
    if job.rank() == 0 {
        std::thread::sleep(Duration::from_secs(2));
        for (rank, group) in (1..).zip(groups.into_iter().flatten()) {
            match WAITS[way(rank)].0 {
                "receive from any rank" => messages.send_any(&[1u8], rank, 0)?,
                name if name.starts_with("receive") => messages.send(&[1u8], rank, 0)?,
                "end of a scope" => group.broadcast(&mut [1u64; 4], 0)?,
                _ => group.barrier()?,
            }
        }
        return job.barrier();
    }
    let (name, wait) = WAITS[way(job.rank())];
    let group = groups[job.rank() - 1].as_ref().expect("this rank joins");
    let (begin, before) = (Instant::now(), processor_time());
    wait(&messages, group)?;
    let share = (processor_time() - before).as_secs_f64() / begin.elapsed().as_secs_f64();
    println!("{name}: idle share {:.3} %", share * 100.0);
    assert!(share < 0.01, "{name}: an idle rank used {:.2} % of a core", share * 100.0);
    job.barrier()
}

fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A way to flood.
struct Flood {
    bytes: usize,
    count: usize,
    any: bool,
    spool: bool,
    /// How many sends may return while nobody receives.
    ahead_max: usize,
}

const SPARE: usize = 1 << 20;
/// What a rank, or the job's memory, may grow by beside the spare buffer.
const GROWTH_MAX: usize = 4 << 20;

fn flood_of(name: &str) -> Flood {
    let flood = |bytes, count, any, spool, ahead_max| Flood { bytes, count, any, spool, ahead_max };
    match name {
        // A slot holds one message.
        "short" => flood(8, 20_000, false, false, 1),
        "bounce" => flood(4096, 10_000, false, false, 1),
        // A long one waits for its receive.
        "long" => flood(200_000, 300, false, false, 0),
        "any" => flood(4096, 10_000, true, false, 1),
        "spool" => flood(100_000, 600, false, true, SPARE / 100_000 + 1),
        "spool any" => flood(100_000, 600, true, true, SPARE / 100_000 + 1),
        other => panic!("no such flood: {other}"),
    }
}

/// Everyone sends to rank 0, which receives only when nothing moves any more.
fn flood(job: &Job, name: &str) -> Result<()> {
    let flood = flood_of(name);
    let messages = job.messages(2)?;
    let progress = job.symmetric::<u64>(job.size())?;
    let begun = job.symmetric::<u64>(1)?;
    if flood.spool {
        messages.set_spare(SPARE)?;
        messages.set_mode(Mode::Spool(Duration::ZERO));
    }
    job.barrier()?;
    if job.rank() == 0 {
        let before = (own_memory(), job_memory());
        job.wait(begun.here(0), Until::Equal(job.size() as u64 - 1))?;
        await_stillness(|| progress.to_vec());
        let ahead = progress.to_vec();
        assert!(ahead.iter().all(|sent| *sent as usize <= flood.ahead_max), "{name}: {ahead:?} sends returned");
        let grown = (own_memory().saturating_sub(before.0), job_memory().saturating_sub(before.1));
        assert!(grown.0 < GROWTH_MAX && grown.1 < GROWTH_MAX, "{name}: memory grew by {grown:?}");
        println!("{ahead:?} sends ahead, memory grew by {grown:?}");
        receive_all(job, &messages, &flood)?;
    } else {
        let before = own_memory();
        job.fetch_add(begun.at(0, 0), 1)?;
        for number in 0..flood.count {
            let data = content(job.rank(), number, flood.bytes);
            if flood.any {
                messages.send_any(&data, 0, 1)?
            } else {
                messages.send(&data, 0, 1)?
            }
            job.word(progress.at(0, job.rank()), number as u64 + 1)?;
        }
        let grown = own_memory().saturating_sub(before);
        assert!(grown < GROWTH_MAX + SPARE, "{name}: a sender grew by {grown}");
        while messages.check_spool()?.remaining > 0 {
            std::thread::yield_now();
        }
    }
    job.barrier()
}

/// Calls that a member may be ahead of one that sleeps: as many as have a place in its part. A long one takes several.
const AHEAD_MAX: u64 = 8;

/// The others call a collective of one kind over and over, of which rank 0 takes no part until nothing moves any more.
fn run_ahead(job: &Job, name: &str) -> Result<()> {
    const COUNT: u64 = 500;
    let (world, last) = (job.new_world()?, job.size() - 1);
    let (progress, begun) = (job.symmetric::<u64>(job.size())?, job.symmetric::<u64>(1)?);
    let (kind, len) = name.split_once(' ').expect("a kind and a length");
    let mut data = vec![0; len.parse().expect("a number")];
    let mut call = |number: u64| -> Result<()> {
        data.fill(number + job.rank() as u64);
        let expected = match kind {
            // Rank 0 reads, so the root must keep what it has not read yet.
            "broadcast" => world.broadcast(&mut data, last).map(|()| number + last as u64)?,
            // The others write, and rank 0 has not taken it yet.
            _ => world.reduce(&mut data, Sum, 0).map(|()| (0..job.size() as u64).map(|rank| number + rank).sum())?,
        };
        let is_told = kind == "broadcast" || job.rank() == 0;
        assert!(!is_told || data.iter().all(|word| *word == expected), "{name}: call {number}");
        Ok(())
    };
    // Whatever is made at the first call is there.
    (0..3).try_for_each(&mut call)?;
    job.barrier()?;
    let before = (own_memory(), job_memory());
    if job.rank() == 0 {
        job.wait(begun.here(0), Until::Equal(last as u64))?;
        await_stillness(|| progress.to_vec());
        let ahead = progress.to_vec();
        assert!(ahead.iter().all(|calls| *calls <= AHEAD_MAX), "{name}: {ahead:?} calls returned");
        println!("{ahead:?} calls ahead");
    } else {
        job.fetch_add(begun.at(0, 0), 1)?;
    }
    for number in 3..COUNT {
        call(number)?;
        job.word(progress.at(0, job.rank()), number - 2)?;
    }
    let grown = (own_memory().saturating_sub(before.0), job_memory().saturating_sub(before.1));
    assert!(grown.0 < GROWTH_MAX && grown.1 < GROWTH_MAX, "{name}: memory grew by {grown:?}");
    job.barrier()
}

/// Every message of everyone, in the order of its sender.
fn receive_all(job: &Job, messages: &Messages<'_>, flood: &Flood) -> Result<()> {
    let mut next = vec![0; job.size()];
    let mut got = vec![0; flood.bytes];
    for turn in 0..flood.count * (job.size() - 1) {
        let from = match flood.any {
            true => messages.recv_any(&mut got, 1)?.rank,
            false => {
                let from = 1 + turn % (job.size() - 1);
                messages.recv(&mut got, from, 1)?;
                from
            }
        };
        assert!(got == content(from, next[from], flood.bytes), "message {} of rank {from}", next[from]);
        next[from] += 1;
    }
    assert!(next[1..].iter().all(|count| *count == flood.count));
    Ok(())
}

fn content(rank: usize, number: usize, bytes: usize) -> Vec<u8> {
    let words: Vec<u64> = (0..bytes / 8).map(|i| ((rank * 1_000_003 + number) as u64) << 20 | i as u64).collect();
    bytemuck::cast_slice(&words).to_vec()
}

/// Waits until nothing has changed for a while.
fn await_stillness(look: impl Fn() -> Vec<u64>) {
    let (mut seen, mut since) = (look(), Instant::now());
    while since.elapsed() < Duration::from_millis(300) {
        std::thread::sleep(Duration::from_millis(5));
        let now = look();
        if now != seen {
            (seen, since) = (now, Instant::now());
        }
    }
}

/// Bytes of memory this process uses for itself.
fn own_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

/// Bytes of memory the job's segment uses.
fn job_memory() -> usize {
    let files = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let name = |path: &std::path::Path| std::fs::read_link(path).unwrap_or_default().to_string_lossy().into_owned();
    let is_segment = |path: &std::path::PathBuf| name(path).starts_with("/memfd:hikyaku");
    let segment = files.map(|file| file.path()).find(is_segment).expect("the job's memory");
    std::fs::metadata(segment).unwrap().blocks() as usize * 512
}
