//! One rank of a job over hosts with which something happens: each role is one rank's behaviour in a test of
//! `tests/hosts_trouble.rs` or `tests/launchers.rs`. What it prints is what the tests look at. As `afar agent` it is the agent of a host.

use hikyaku::collective::Sum;
use hikyaku::ffi::RawPort;
use hikyaku::{Error, Job, Result, Until};
use hikyaku_testing::patience::eventually;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Of messages.
const SLOT: usize = 0;
/// Bytes of a message that no buffer takes in whole.
const LONG: usize = 1 << 20;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments[1] == "agent" {
        hikyaku::launch::serve_as_agent().unwrap();
        return;
    }
    hikyaku_testing::watchdog::watch_process();
    hikyaku_ofi::install();
    let job = Job::start().unwrap();
    match arguments[1].as_str() {
        "killed" => end_while_others_wait(&job, &arguments[2], true),
        "leaves" => end_while_others_wait(&job, &arguments[2], false),
        "cut" => lose_the_others(&job, &arguments[2], Path::new(&arguments[3])),
        "stopped" => wait_for_one_that_is_stopped(&job, Path::new(&arguments[2])),
        "mended" => go_on_when_mended(&job, Path::new(&arguments[2])),
        "computes" => compute_while_others_push(&job),
        "takes" => compute_after_a_message(&job),
        "besieged" => work_under_siege(&job, Path::new(&arguments[2])),
        "works" => work_until_cut(&job),
        "placed" => find_own_place(&job),
        "waits" => wait_until_killed(&job, Path::new(&arguments[2])),
        "exits" => exit_while_others_wait(&job),
        other => panic!("no such role: {other}"),
    }
    .unwrap();
}

/// A call that waits for `peer`, for ever.
fn wait_for(job: &Job, messages: &hikyaku::message::Messages<'_>, call: &str, peer: usize) -> Result<()> {
    let mut bytes = vec![0; LONG];
    match call {
        "recv" => messages.recv(&mut bytes, peer, SLOT).map(drop),
        "long send" => messages.send(&bytes, peer, SLOT),
        "barrier" => job.barrier(),
        other => panic!("no such call: {other}"),
    }
}

/// The last rank ends while all others wait for it in a call; they print what they were told, and when.
fn end_while_others_wait(job: &Job, call: &str, is_killed: bool) -> Result<()> {
    let (messages, world, flag) = (job.messages(1)?, job.new_world()?, job.symmetric::<u64>(1)?);
    let last = job.size() - 1;
    job.barrier()?;
    if job.rank() == last {
        // Until all others are deep in their call.
        std::thread::sleep(Duration::from_millis(500));
        println!("ended {}", now_ns());
        if is_killed {
            hikyaku_testing::os::kill_self();
        }
        return Ok(());
    }
    let result = match call {
        "allreduce" => world.allreduce(&mut [1u64; 4], Sum),
        "long allreduce" => world.allreduce(&mut vec![1u64; LONG], Sum),
        "wait" => job.wait_from(hikyaku::By::Rank(last), flag.here(0), Until::Equal(1)).map(drop),
        call => wait_for(job, &messages, call, last),
    };
    tell(result);
    Ok(())
}

/// Prints how a call ended, and when.
fn tell(result: Result<()>) {
    println!("learned {}", now_ns());
    match result {
        Err(Error::PeerDead { rank }) => println!("dead {rank}"),
        Err(Error::PeerLeft { rank }) => println!("left {rank}"),
        Err(Error::Unreachable { rank, tried }) => println!("unreachable {rank} ({tried})"),
        other => println!("something else: {other:?}"),
    }
}

/// Exchanges messages with a peer on the other host, or waits for one that is not sent, until the peer cannot be reached.
/// `folder` says when the test may cut the link, and when all have learned of it: whoever ends before that has left.
fn lose_the_others(job: &Job, call: &str, folder: &Path) -> Result<()> {
    let (messages, me) = (job.messages(1)?, job.rank());
    let peer = me ^ 1;
    let mut round = 0u64;
    let mut exchange = |bytes: usize| -> Result<()> {
        round += 1;
        let (mine, mut got) = (vec![round as u8; bytes], vec![0; bytes]);
        messages.scope(|scope| {
            let receive = scope.irecv(&mut got, peer, SLOT)?;
            messages.send(&mine, peer, SLOT)?;
            scope.wait_receive(receive)
        })?;
        assert!(got == mine, "round {round}");
        Ok(())
    };
    for _ in 0..20 {
        exchange(100)?;
    }
    job.barrier()?;
    note(folder, "ready", me);
    let result = match call {
        "exchange" => loop {
            if let Err(error) = exchange(100) {
                break Err(error);
            }
        },
        "long exchange" => loop {
            if let Err(error) = exchange(LONG) {
                break Err(error);
            }
        },
        call => wait_for(job, &messages, call, peer),
    };
    tell(result);
    note(folder, "learned", me);
    eventually("the others learn", || all_noted(folder, "learned", job.size()));
    Ok(())
}

/// Ranks of the other host wait for the last one, which the test stops, and print what they were told. It has nobody to answer
/// for it then, but is alive: the test kills it when all have learned.
fn wait_for_one_that_is_stopped(job: &Job, folder: &Path) -> Result<()> {
    let (messages, last) = (job.messages(1)?, job.size() - 1);
    job.barrier()?;
    note(folder, "ready", job.rank());
    if job.rank() == last {
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    }
    if job.rank() % 2 != last % 2 {
        tell(wait_for(job, &messages, "recv", last));
    }
    note(folder, "learned", job.rank());
    eventually("the others learn", || all_noted(folder, "learned", last));
    Ok(())
}

/// Exchanges messages while the link is cut and mended again, or a rank stopped and continued, until the test says that it was.
fn go_on_when_mended(job: &Job, folder: &Path) -> Result<()> {
    let (messages, me) = (job.messages(1)?, job.rank());
    let peer = me ^ 1;
    for round in 0u64.. {
        if round == 20 {
            note(folder, "ready", me);
        }
        // Either says when it is enough, and both end with that round.
        let is_last = round > 20 && folder.join("mended").exists();
        let (mine, mut got) = ([round, is_last as u64], [0; 2]);
        messages.scope(|scope| {
            let receive = scope.irecv(&mut got, peer, SLOT)?;
            messages.send(&mine, peer, SLOT)?;
            scope.wait_receive(receive)
        })?;
        assert_eq!(got[0], round);
        if [got, mine].iter().any(|said| said[1] == 1) {
            break;
        }
    }
    job.barrier()?;
    println!("went on");
    Ok(())
}

/// Rank 1 computes and looks at a word of its memory, without a call of the library, until rank 0 has written there. Prints how
/// long each word was on its way.
fn compute_while_others_push(job: &Job) -> Result<()> {
    const ROUNDS: u64 = 20;
    let (words, turn) = (job.symmetric::<u64>(2)?, job.symmetric::<u64>(1)?);
    job.barrier()?;
    for round in 1..=ROUNDS {
        if job.rank() == 0 {
            job.wait(turn.here(0), Until::Equal(round))?;
            // The other is out of the library by then.
            compute(Duration::from_millis(20));
            // By turns, the sender stays in the library or leaves it too.
            job.push(words.at(1, 0), &[now_ns(), round])?;
            if round % 2 == 0 {
                job.flush(1)?;
            } else {
                compute(Duration::from_millis(20));
            }
        } else {
            job.word(turn.at(0, 0), round)?;
            job.flush(0)?;
            let (sent, number) = (job.mapped_word(words.here(0))?, job.mapped_word(words.here(1))?);
            while number.load(Ordering::Acquire) != round {
                compute(Duration::from_micros(100));
            }
            println!("landed {}", now_ns() - sent.load(Ordering::Acquire));
        }
    }
    job.barrier()
}

/// Rank 1 takes a message that came while it was out of the library, and leaves it again. Rank 0 sends another one by the same slot, which has room
/// once it is told that the first was taken. Prints how long that took.
fn compute_after_a_message(job: &Job) -> Result<()> {
    const ROUNDS: u64 = 5;
    let messages = job.messages(1)?;
    let taken = job.symmetric::<u64>(1)?;
    job.barrier()?;
    for round in 1..=ROUNDS {
        if job.rank() == 0 {
            messages.send(&[round; 2], 1, SLOT)?;
            messages.send(&[round; 2], 1, SLOT)?;
            let told = now_ns();
            job.wait(taken.here(0), Until::NotEqual(0))?;
            println!("told {}", told.saturating_sub(job.mapped_word(taken.here(0))?.swap(0, Ordering::AcqRel)));
        } else {
            // A core is left for whoever serves.
            std::thread::sleep(Duration::from_millis(30));
            let mut message = [0u64; 2];
            messages.recv(&mut message, 0, SLOT)?;
            let when = now_ns();
            std::thread::sleep(Duration::from_millis(900));
            messages.recv(&mut message, 0, SLOT)?;
            job.word(taken.at(0, 0), when)?;
        }
    }
    job.barrier()
}

/// One round of a bit of everything with a rank of the other host, and with all.
struct Work<'j> {
    job: &'j Job,
    messages: hikyaku::message::Messages<'j>,
    world: hikyaku::Group<'j>,
    words: hikyaku::Symmetric<u64>,
    round: u64,
}

impl<'j> Work<'j> {
    fn new(job: &'j Job) -> Result<Work<'j>> {
        Ok(Work { job, messages: job.messages(1)?, world: job.new_world()?, words: job.symmetric(2)?, round: 0 })
    }

    /// Gives how many ranks have enough.
    fn round(&mut self, enough: bool) -> Result<u64> {
        let (me, peer) = (self.job.rank(), self.job.rank() ^ 1);
        self.round += 1;
        let (round, bytes) = (self.round, [8, 1000, 30_000][self.round as usize % 3]);
        let mut got = vec![0u8; bytes];
        self.messages.scope(|scope| {
            let receive = scope.irecv(&mut got, peer, SLOT)?;
            self.messages.send(&vec![(me as u64 + round) as u8; bytes], peer, SLOT)?;
            scope.wait_receive(receive)
        })?;
        assert!(got.iter().all(|byte| *byte == (peer as u64 + round) as u8), "round {round}");
        self.job.push_notify(self.words.at(peer, 0), &[round], self.words.at(peer, 1), round)?;
        self.job.wait_from(hikyaku::By::Rank(peer), self.words.here(1), Until::AtLeast(round))?;
        let mut sums = [1, enough as u64];
        self.world.allreduce(&mut sums, Sum)?;
        assert_eq!(sums[0], self.job.size() as u64);
        if round.is_multiple_of(4) {
            self.job.barrier()?;
        }
        Ok(sums[1])
    }
}

/// Works until the test says that it is enough, and prints how much memory it had before and has now, and how many frames it has
/// refused.
fn work_under_siege(job: &Job, folder: &Path) -> Result<()> {
    let mut work = Work::new(job)?;
    for _ in 0..200 {
        work.round(false)?;
    }
    println!("before {}", resident_bytes());
    note(folder, "ready", job.rank());
    while work.round(folder.join("enough").exists())? == 0 {}
    job.barrier()?;
    println!("after {}", resident_bytes());
    println!("refused {}", job.refused_frames());
    println!("rounds {}", work.round);
    Ok(())
}

/// Works until a call fails, and prints why and when.
fn work_until_cut(job: &Job) -> Result<()> {
    let mut work = None;
    let result = loop {
        let done = match &mut work {
            None => Work::new(job).map(|made| work = Some(made)),
            Some(work) => work.round(false).map(drop),
        };
        if done.is_err() {
            break done;
        }
    };
    tell(result);
    Ok(())
}

/// Checks that exactly the ranks of the same network namespace are near, works with the others, and prints where it is.
fn find_own_place(job: &Job) -> Result<()> {
    let (me, size) = (job.rank(), job.size());
    let namespaces = job.symmetric::<u64>(size)?;
    let mine = std::os::unix::fs::MetadataExt::ino(&std::fs::metadata("/proc/self/ns/net").unwrap());
    for peer in 0..size {
        job.push(namespaces.at(peer, me), &[mine])?;
    }
    job.barrier()?;
    let hosts: Vec<usize> = (0..size).map(|rank| job.host_of(rank)).collect::<Result<_>>()?;
    for (rank, namespace) in namespaces.to_vec().into_iter().enumerate() {
        assert_eq!(hosts[rank] == hosts[me], namespace == mine, "rank {me} sees rank {rank} on {hosts:?}");
    }
    let mut work = Work::new(job)?;
    for _ in 0..20 {
        work.round(false)?;
    }
    println!("placed {me} of {size} on {} hosts", job.host_count());
    Ok(())
}

/// Tells the test that it is ready, and waits for all in a barrier that one never comes to; prints what it was told.
fn wait_until_killed(job: &Job, folder: &Path) -> Result<()> {
    note(folder, "ready", job.rank());
    if job.rank() == job.size() - 1 {
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    }
    tell(job.barrier());
    Ok(())
}

/// The last rank ends its process without leaving the job; the others wait for it.
fn exit_while_others_wait(job: &Job) -> Result<()> {
    let (flag, last) = (job.symmetric::<u64>(1)?, job.size() - 1);
    job.barrier()?;
    if job.rank() == last {
        std::process::exit(0);
    }
    tell(job.wait_from(hikyaku::By::Rank(last), flag.here(0), Until::Equal(1)).map(drop));
    Ok(())
}

/// What is in memory of this process.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let kilobytes =
        text.lines().find_map(|line| line.strip_prefix("RssAnon:")?.split_whitespace().next()?.parse().ok());
    kilobytes.map_or(0, |kilobytes: u64| kilobytes * 1024)
}

fn compute(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Tells the test that this rank is so far, and its process.
fn note(folder: &Path, what: &str, rank: usize) {
    // Whoever reads it finds all of it.
    let (written, noted) = (folder.join(format!("new {what} {rank}")), folder.join(format!("{what} {rank}")));
    std::fs::write(&written, std::process::id().to_string()).unwrap();
    std::fs::rename(written, noted).unwrap();
}

fn all_noted(folder: &Path, what: &str, ranks: usize) -> Option<()> {
    (0..ranks).all(|rank| folder.join(format!("{what} {rank}")).exists()).then_some(())
}

fn now_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
