//! A hang becomes a failure that says where: with the stacks of all threads of the test and of the processes it has started.
//!
//! How long something takes says little on a machine that others use too. So time is counted by what the processes do: they
//! hang if they use no processor time for long ([`Limits::still`]) although nobody keeps them from it, and if they use more than
//! the work could ever need ([`Limits::busy`]), as those do that wait in a loop. What the clock says matters only in the end.
//!
//! Rests on nothing but the system, so that tests of other crates can take in this file.

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Resource, Rlimit, Signal};
use std::fmt::Write as _;
use std::fs;
use std::io::{PipeReader, Write as _};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// What is taken for a hang.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// So long next to no processor time was used by any process, and none waited for a processor.
    pub still: Duration,
    /// So much processor time was used by all together.
    pub busy: Duration,
    /// So much time has passed.
    pub clock: Duration,
}

/// Far beyond what any case needs, sanitizers included.
pub const LIMITS: Limits =
    Limits { still: Duration::from_secs(60), busy: Duration::from_secs(300), clock: Duration::from_secs(1800) };

/// Less than this is no work, but a timer that looks around.
const STIR: Duration = Duration::from_millis(200);
/// How often it looks. Most work is over before it does for the first time.
const LOOK: Duration = Duration::from_secs(1);
/// Whoever wants a processor so many times in a row does not get it. Once is nothing: a timer may have just run out.
const STARVED_LOOKS: u32 = 5;

/// Runs `work`; if it hangs, says where and ends this process and all that it has started.
pub fn watched<R>(name: &str, work: impl FnOnce() -> R) -> R {
    watched_with(LIMITS, name, work)
}

/// Runs `work`; if it goes beyond these limits, says where it hangs and ends this process and all that it has started.
pub fn watched_with<R>(limits: Limits, name: &str, work: impl FnOnce() -> R) -> R {
    // The pipe closes when the work is over, also by a panic.
    let (over, running) = std::io::pipe().expect("a pipe");
    let name = name.to_owned();
    let watcher = std::thread::spawn(move || watch(limits, &name, &over));
    let result = work();
    drop(running);
    let _ = watcher.join();
    result
}

/// Runs a command to its end.
///
/// # Panics
/// If it cannot be started.
pub fn output(command: &mut Command) -> Output {
    let name = format!("{command:?}");
    watched(&name, || command.output().unwrap_or_else(|error| panic!("{name}: {error}")))
}

/// For a process that is one rank, in case nobody watches it: the kernel ends it.
pub fn watch_process() {
    let limit =
        Rlimit { current: Some(LIMITS.busy.as_secs()), maximum: rustix::process::getrlimit(Resource::Cpu).maximum };
    let _ = rustix::process::setrlimit(Resource::Cpu, limit);
    crate::os::alarm(LIMITS.clock.as_secs() as u32);
}

fn watch(limits: Limits, name: &str, over: &PipeReader) {
    let (begin, begin_used) = (Instant::now(), used(&tree()));
    let mut stirred = (begin, begin_used);
    let mut kept_waiting = 0;
    let pause = LOOK.min(limits.still / 4);
    while !is_over(over, pause) {
        let processes = tree();
        let now = used(&processes);
        kept_waiting = if processes.iter().any(|process| is_kept_waiting(*process)) { kept_waiting + 1 } else { 0 };
        // It becomes less where a process is gone that nobody has waited for.
        if now.abs_diff(stirred.1) >= STIR || kept_waiting >= STARVED_LOOKS {
            stirred = (Instant::now(), now);
        }
        let reason = if stirred.0.elapsed() >= limits.still {
            format!("nothing has moved for {:?}", limits.still)
        } else if now.saturating_sub(begin_used) >= limits.busy {
            format!("more than {:?} of processor time were used", limits.busy)
        } else if begin.elapsed() >= limits.clock {
            format!("more than {:?} have passed", limits.clock)
        } else {
            continue;
        };
        end(name, &reason);
    }
}

/// Whether the work ends before the pause does.
fn is_over(over: &PipeReader, pause: Duration) -> bool {
    let pause = Timespec { tv_sec: pause.as_secs() as i64, tv_nsec: pause.subsec_nanos() as i64 };
    match rustix::event::poll(&mut [PollFd::new(over, PollFlags::IN)], Some(&pause)) {
        Ok(ended) => ended > 0,
        Err(error) => {
            assert_eq!(error, rustix::io::Errno::INTR);
            false
        }
    }
}

fn end(name: &str, reason: &str) -> ! {
    // Not by `eprintln`, which the test harness would keep to itself.
    let _ = writeln!(std::io::stderr(), "{name} hangs: {reason}");
    // Others before this one: a debugger stops it.
    for process in tree().into_iter().rev() {
        let _ = std::io::stderr().write_all(threads(process).as_bytes());
        stacks(process);
    }
    for process in tree().into_iter().skip(1).filter_map(|process| Pid::from_raw(process as i32)) {
        let _ = rustix::process::kill_process(process, Signal::KILL);
    }
    std::process::abort()
}

/// This process, and all that descend from it.
fn tree() -> Vec<u32> {
    let mut tree = vec![std::process::id()];
    let mut seen = 0;
    while seen < tree.len() {
        for thread in tasks(tree[seen]) {
            let list = fs::read_to_string(format!("/proc/{thread}/task/{thread}/children")).unwrap_or_default();
            tree.extend(list.split_whitespace().filter_map(|id| id.parse::<u32>().ok()));
        }
        seen += 1;
    }
    tree
}

fn tasks(process: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The processor time that processes, and children of theirs that have ended, have used; without that of this thread.
fn used(processes: &[u32]) -> Duration {
    let ticks: u64 = processes.iter().map(|process| ticks(*process).unwrap_or(0)).sum();
    let all = Duration::from_nanos(ticks.saturating_mul(1_000_000_000 / rustix::param::clock_ticks_per_second()));
    let own = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    all.saturating_sub(Duration::new(own.tv_sec as u64, own.tv_nsec as u32))
}

/// Whether a thread of a process, other than this one, could run: others have the processors.
fn is_kept_waiting(process: u32) -> bool {
    let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    tasks(process).into_iter().filter(|thread| *thread != own).any(|thread| {
        let stat = fs::read_to_string(format!("/proc/{process}/task/{thread}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('R'))
    })
}

fn ticks(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name is in brackets and may hold anything. Fields 14 to 17 of the whole line.
    let (_, rest) = stat.rsplit_once(')')?;
    Some(rest.split_whitespace().skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum())
}

/// What the system says about the threads of a process.
fn threads(process: u32) -> String {
    let read = |thread: u32, file: &str| {
        let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/{file}")).unwrap_or_default();
        text.trim().to_owned()
    };
    let command = fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default().replace('\0', " ");
    let mut said = format!("process {process}: {}\n", command.trim());
    for thread in tasks(process) {
        let stat = read(thread, "stat");
        let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next()).unwrap_or("?");
        let (name, place, call) = (read(thread, "comm"), read(thread, "wchan"), read(thread, "syscall"));
        let _ = writeln!(said, "  thread {thread} {name}: state {state}, in the kernel {place}, system call {call}");
        for line in read(thread, "stack").lines() {
            let _ = writeln!(said, "    {line}");
        }
    }
    said
}

/// The stacks of a process, by a debugger if there is one. It writes by itself: it stops this process too, which then cannot
/// read what it says.
fn stacks(process: u32) {
    // A debugger that is ended before it is done leaves the process stopped.
    let script = r#"timeout --kill-after=5 60 gdb -nx -batch -p "$0" -ex "set width 0" -ex "thread apply all backtrace 40"
        kill -CONT "$0""#;
    let mut debugger = Command::new("sh");
    debugger.args(["-c", script, &process.to_string()]);
    let Ok(stderr) = std::os::fd::AsFd::as_fd(&std::io::stderr()).try_clone_to_owned() else { return };
    // A process may be traced by its children only where it allows that.
    let _ = rustix::process::set_ptracer(rustix::process::PTracer::Any);
    let _ = debugger.stdin(Stdio::null()).stdout(stderr).stderr(Stdio::null()).status();
}
