//! A program to do harm to: each role is one rank's behaviour in a fault test of `tests/faults.rs`. What it prints is
//! what the tests look at.

use hikyaku::ffi::{RawMessages, RawPort};
use hikyaku::message::Messages;
use hikyaku::{By, Error, Job, Result, Until};
use hikyaku_testing::patience::{assert_prompt, eventually};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn main() {
    ACTIONS.get_or_init(actions);
    let arguments: Vec<String> = std::env::args().collect();
    let role = arguments.get(1).map(String::as_str).unwrap_or("");
    match role {
        "early" => early(),
        "forbid" => hikyaku_testing::seccomp::forbid_cross_memory(),
        "few-files" => limit_files(&arguments[2]),
        "fail" => fail_calls(&arguments[2]),
        "exit-beside" => hikyaku_testing::ends::prepare_to_linger(),
        "skew" => return introduce_as_another_version(),
        _ => {}
    }
    let job = match Job::start() {
        Ok(job) => job,
        Err(error) => {
            println!("start: {error}");
            std::process::exit(7);
        }
    };
    let outcome = match role {
        "start" | "few-files" | "fail" => Ok(()),
        "early" => job.barrier(),
        "barrier" => barrier(&job),
        "flag" => flag(&job),
        "pull" => pull(&job),
        "handler" => handler(&job),
        "full-ring" => full_ring(&job),
        "spin" => spin(&job),
        "stuck" => stuck(&job),
        "give-up" => give_up(&job),
        "loop" => endless(&job),
        "idle" => idle(&job),
        "fork" => fork(&job),
        "signals" => signals(&job),
        "forbid" => forbidden(&job),
        "too-much" => too_much(&job),
        "exit" => exit_unannounced(&job),
        "exit-beside" => hikyaku_testing::ends::exit_beside(&job),
        "killed-inside" => hikyaku_testing::ends::killed_inside(&job),
        "bad-buffer" => bad_buffer(&job),
        "unwatched" => unwatched(&job),
        other => panic!("no such role: {other}"),
    };
    if let Err(error) = outcome {
        println!("error: {error}");
        std::process::exit(9);
    }
}

/// Long messages of whose buffers, on one side or the other, a page is not there: both sides are told, nobody writes to a
/// buffer whose receive has ended, and the next message arrives.
fn bad_buffer(job: &Job) -> Result<()> {
    const BYTES: usize = 1 << 20;
    let (messages, me, page) = (job.messages(2)?, job.rank(), rustix::param::page_size());
    let (mut good, holed) = (vec![3u8; BYTES], Mapping::new(BYTES));
    for bad in [0, 1] {
        for hole in [0, BYTES / 2, BYTES - page] {
            holed.protect(0..BYTES, libc::PROT_READ | libc::PROT_WRITE);
            holed.fill(5);
            holed.protect(hole..hole + page, libc::PROT_NONE);
            let buffer = if me == bad { holed.start } else { good.as_mut_ptr() };
            // SAFETY: one of the two buffers, both of so many bytes, which stay; only the kernel touches them meanwhile.
            let result = unsafe {
                match me {
                    0 => messages.isend(buffer, BYTES, 1, 0).and_then(|()| messages.isend_wait(1, 0)),
                    _ => messages.irecv(buffer, BYTES, 0, 0).and_then(|()| messages.irecv_wait(0, 0).map(drop)),
                }
            };
            match result {
                Err(Error::BadBuffer { from: 0, to: 1, slot: 0 }) => {}
                other => panic!("side {bad}, hole at {hole}: {other:?}"),
            }
            // What the ended receive leaves behind belongs to the program again.
            good.fill(7);
            job.barrier()?;
            assert!(good.iter().all(|byte| *byte == 7), "written to after the end, hole at {hole}");
            if me == 0 {
                messages.send(&vec![((hole >> 12) as u8).wrapping_add(9); BYTES], 1, 0)?;
            } else {
                assert_eq!(messages.recv(&mut good, 0, 0)?, BYTES);
                assert!(good.iter().all(|byte| *byte == ((hole >> 12) as u8).wrapping_add(9)), "the message after it");
            }
            good.fill(3);
        }
    }
    forbidden_later(job, &messages, &mut good)?;
    println!("told");
    job.barrier()
}

/// What the kernel has against the sender's copies, both sides are told, where it did not from the start.
fn forbidden_later(job: &Job, messages: &Messages<'_>, data: &mut [u8]) -> Result<()> {
    let turn = job.symmetric::<u64>(1)?;
    let result = if job.rank() == 0 {
        job.wait(turn.here(0), Until::Equal(1))?;
        hikyaku_testing::seccomp::forbid_cross_memory();
        let sent = messages.send(data, 1, 0);
        job.word(turn.at(1, 0), 1)?;
        sent
    } else {
        messages.scope(|scope| {
            let receive = scope.irecv(data, 0, 0)?;
            job.word(turn.at(0, 0), 1)?;
            // The sender alone shall copy: until it is done, this rank does not call the library.
            // SAFETY: a word of this rank's own symmetric memory, which stays until the job ends; others write it whole.
            let done = unsafe { AtomicU64::from_ptr(job.mapped_address(turn.here(0))?) };
            while done.load(Ordering::Acquire) == 0 {
                std::thread::yield_now();
            }
            scope.wait_receive(receive).map(drop)
        })
    };
    match result {
        Err(Error::System { errno: libc::EPERM, .. }) => Ok(()),
        other => panic!("forbidden: {other:?}"),
    }
}

/// Memory of the process whose pages can be taken away.
struct Mapping {
    start: *mut u8,
    bytes: usize,
}

impl Mapping {
    fn new(bytes: usize) -> Mapping {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, wherever the kernel puts it.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        Mapping { start: start.cast(), bytes }
    }

    fn protect(&self, part: std::ops::Range<usize>, access: i32) {
        // SAFETY: a part of the mapping, to which there are no references.
        let result = unsafe { libc::mprotect(self.start.add(part.start).cast(), part.len(), access) };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    }

    fn fill(&self, byte: u8) {
        // SAFETY: the mapping, all of which was made accessible.
        unsafe { self.start.write_bytes(byte, self.bytes) };
    }
}

/// The last rank is the one that dies.
fn victim(job: &Job) -> usize {
    job.size() - 1
}

fn die() -> ! {
    // SAFETY: a signal to this very process.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    unreachable!("nobody survives SIGKILL")
}

/// Tells everyone when, then dies.
fn die_announced(job: &Job, clock: &hikyaku::Symmetric<u64>) -> ! {
    for rank in 0..victim(job) {
        job.word(clock.at(rank, 0), now_ns()).unwrap();
    }
    die()
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

fn early() {
    if std::env::var("HIKYAKU_RANK").as_deref() == Ok("1") {
        die();
    }
}

fn barrier(job: &Job) -> Result<()> {
    let clock = job.symmetric::<u64>(64)?;
    job.barrier()?;
    if job.rank() == victim(job) {
        die_announced(job, &clock);
    }
    let result = job.barrier();
    check_death(job, &clock, result);
    go_on(job, &clock)
}

fn flag(job: &Job) -> Result<()> {
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
fn pull(job: &Job) -> Result<()> {
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
fn unwatched(job: &Job) -> Result<()> {
    assert!(job.size() > 1, "needs a launcher");
    let process = job.symmetric::<u64>(1)?;
    process.set(0, std::process::id() as u64);
    let _area = job.register(1, vec![7u64; 1000])?;
    job.barrier()?;
    if job.rank() != 0 {
        job.wait_from(By::Rank(0), process.here(0), Until::Equal(0))?;
        die();
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

fn handler(job: &Job) -> Result<()> {
    let clock = job.symmetric::<u64>(64)?;
    job.register_handler(1, |_, _| die())?;
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
fn full_ring(job: &Job) -> Result<()> {
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

/// Never calls the library again.
fn spin(job: &Job) -> Result<()> {
    println!("spinning {}", std::process::id());
    job.barrier()?;
    loop {
        std::hint::spin_loop();
    }
}

/// Waits for what never comes.
fn stuck(job: &Job) -> Result<()> {
    let word = job.symmetric::<u64>(1)?;
    println!("stuck {}", std::process::id());
    job.wait(word.here(0), Until::Equal(1)).map(drop)
}

/// Fails while the others never call the library again.
fn give_up(job: &Job) -> Result<()> {
    if job.rank() != victim(job) {
        return spin(job);
    }
    job.barrier()?;
    std::process::exit(3)
}

/// Communicates until somebody ends it.
fn endless(job: &Job) -> Result<()> {
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
fn idle(job: &Job) -> Result<()> {
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

fn fork(job: &Job) -> Result<()> {
    let table = job.symmetric::<u64>(8)?;
    job.barrier()?;
    // SAFETY: the child only makes calls that this test is about, then exits without unwinding or destructors.
    let child = unsafe { libc::fork() };
    if child == 0 {
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
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(if all { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: waits for the child made above.
    unsafe { libc::waitpid(child, &mut status, 0) };
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

/// What each signal does.
fn actions() -> Vec<usize> {
    let action = |signal| {
        // SAFETY: only asks.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut action);
            action.sa_sigaction
        }
    };
    (1..=31).map(action).collect()
}

/// The application's own signals: none is touched, and a storm of them disturbs no call.
fn signals(job: &Job) -> Result<()> {
    assert_eq!(Some(&actions()), ACTIONS.get(), "the library has changed what signals do");
    extern "C" fn count(_: libc::c_int) {}
    // SAFETY: a handler that does nothing, and a timer that calls it every 200 microseconds, without SA_RESTART.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count as extern "C" fn(libc::c_int) as usize;
        libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut());
        let every = libc::timeval { tv_sec: 0, tv_usec: 200 };
        libc::setitimer(
            libc::ITIMER_REAL,
            &libc::itimerval { it_interval: every, it_value: every },
            std::ptr::null_mut(),
        );
    }
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

/// process_vm_readv and process_vm_writev are forbidden: registered memory is reached all the same.
fn forbidden(job: &Job) -> Result<()> {
    let next = (job.rank() + 1) % job.size();
    assert!(!job.reaches_private_memory(next)?, "the probe did not notice");
    let area = job.register(1, vec![job.rank() as u64; 10_000])?;
    job.barrier()?;
    let theirs = job.open_area::<u64>(next, 1)?;
    let mut there = vec![0u64; 10_000];
    job.pull(theirs.at(0), &mut there)?;
    assert!(there.iter().all(|word| *word == next as u64));
    job.barrier()?;
    job.push(theirs.at(5), &vec![100 + job.rank() as u64; 9_000])?;
    job.flush(next)?;
    job.barrier()?;
    let before = (job.rank() + job.size() - 1) % job.size();
    let mine = area.to_vec();
    assert!(mine[5..9005].iter().all(|word| *word == 100 + before as u64));
    assert!(mine[..5].iter().chain(&mine[9005..]).all(|word| *word == job.rank() as u64));
    job.barrier()?;
    println!("reached");
    Ok(())
}

/// More than the machine has: an error that says how much, and the job goes on.
fn too_much(job: &Job) -> Result<()> {
    match job.symmetric::<u8>(1 << 46) {
        Err(Error::NoMemory { needed, .. }) => assert!(needed >= 1 << 46),
        other => panic!("expected NoMemory, got {other:?}"),
    }
    let small = job.symmetric::<u64>(8)?;
    job.barrier()?;
    job.free(small)?;
    println!("went on");
    Ok(())
}

/// Ends without a word while another rank waits.
fn exit_unannounced(job: &Job) -> Result<()> {
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

/// Says hello in a format that does not exist, and looks whether a descriptor comes with the answer.
fn introduce_as_another_version() {
    let socket: i32 = std::env::var("HIKYAKU_SOCKET").unwrap().parse().unwrap();
    let hello = [u64::from_be_bytes(*b"hikyaku\0"), 999, std::process::id() as u64];
    let mut welcome = [0u64; 32];
    // SAFETY: sends and receives plain numbers on the inherited socket; all buffers live during the calls.
    let (received, flags) = unsafe {
        assert_eq!(libc::send(socket, hello.as_ptr().cast(), 24, 0), 24);
        let mut part = libc::iovec { iov_base: welcome.as_mut_ptr().cast(), iov_len: 256 };
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        (libc::recvmsg(socket, &mut message, 0), message.msg_flags)
    };
    assert!(received > 16 && welcome[0] == hello[0] && welcome[1] != 999, "the launcher tells its format");
    // There is no room for a descriptor here, so one that came would have been cut off.
    assert_eq!(flags & libc::MSG_CTRUNC, 0, "a descriptor came");
    println!("no memory came");
}

/// One system call fails from now on, as if memory had run out.
fn fail_calls(name: &str) {
    let number = match name {
        "memfd_create" => libc::SYS_memfd_create,
        "ftruncate" => libc::SYS_ftruncate,
        "fallocate" => libc::SYS_fallocate,
        "madvise" => libc::SYS_madvise,
        "getrandom" => libc::SYS_getrandom,
        "recvmsg" => libc::SYS_recvmsg,
        "membarrier" => libc::SYS_membarrier,
        other => panic!("no such call: {other}"),
    };
    hikyaku_testing::seccomp::forbid(&[number], libc::ENOMEM);
}

fn limit_files(count: &str) {
    let limit = libc::rlimit { rlim_cur: count.parse().unwrap(), rlim_max: 4096 };
    // SAFETY: sets a limit of this process.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
}
