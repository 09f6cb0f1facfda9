//! A program that is ended in the middle of its traffic leaves nothing behind: no process, no file, no memory.

use crate::{built, compile, text};
use hikyaku_testing::chance::Chance;
use hikyaku_testing::patience::{assert_prompt, eventually};
use hikyaku_testing::watchdog::watched;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Nothing is there any more this long after the job was told to end.
const BOUND: Duration = Duration::from_secs(1);
/// What the ranks of `traffic.c` do.
const TRAFFIC: [&str; 5] = ["messages", "spools", "broadcasts", "combines", "grids"];
/// Every process of a job has this variable, with the job's own value.
const MARK: &str = "HIKYAKU_TEST_JOB";

/// A job whose ranks are in the middle of their traffic.
struct Traffic {
    what: String,
    mark: String,
    launcher: Child,
    said: BufReader<ChildStdout>,
    /// Of the ranks.
    processes: Vec<i32>,
    /// The memory they share, by its number.
    memory: BTreeSet<String>,
    /// Where it may write; empty at the start.
    folder: PathBuf,
    /// What was in the place for shared memory before.
    files: BTreeSet<OsString>,
}

impl Traffic {
    fn start(what: &str, ranks: usize, options: &[&str], life_us: u64) -> Traffic {
        static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| compile("c/traffic.c"));
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let mark = format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("traffic-{mark}"));
        std::fs::create_dir_all(&folder).unwrap();
        let files = shared_files();
        let mut command = Command::new(built().join("hikyaku"));
        command.args(["run", "--blacs", "-n", &ranks.to_string()]).args(options).arg("--");
        command.arg(&*PROGRAM).args([what, &life_us.to_string()]);
        command.env(MARK, &mark).env("TMPDIR", &folder).current_dir(&folder);
        let mut launcher = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(launcher.stdout.take().unwrap());
        let mut processes = vec![0; ranks];
        for _ in 0..ranks {
            let mut line = String::new();
            said.read_line(&mut line).unwrap();
            let numbers: Vec<i32> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            let &[rank, process] = numbers.as_slice() else { panic!("{what}: {line}{}", errors(&mut launcher)) };
            processes[rank as usize] = process;
        }
        let memory: BTreeSet<String> = processes.iter().flat_map(|process| shared_memory(*process)).collect();
        Traffic {
            what: format!("{what}, {ranks} ranks, {options:?}"),
            mark,
            launcher,
            said,
            processes,
            memory,
            folder,
            files,
        }
    }

    /// Waits for the end of everything, and checks that nothing is left; gives the launcher's status and errors.
    fn end(mut self, begin: Instant) -> (ExitStatus, String) {
        let what = &self.what;
        let (status, errors) = watched(what, || {
            let status = self.launcher.wait().unwrap();
            // The pipe closes when nobody has it any more.
            self.said.read_to_string(&mut String::new()).unwrap();
            (status, errors(&mut self.launcher))
        });
        eventually(&format!("{what}: the end of all processes"), || {
            (marked(&self.mark).is_empty() && holders(&self.memory).is_empty()).then_some(())
        });
        assert_prompt(begin.elapsed(), BOUND, format!("{what}: ended"));
        assert_eq!(shared_files(), self.files, "{what}");
        // Fails if there is anything in it.
        std::fs::remove_dir(&self.folder).unwrap_or_else(|error| panic!("{what}: {}: {error}", self.folder.display()));
        (status, errors)
    }
}

fn errors(launcher: &mut Child) -> String {
    let mut bytes = Vec::new();
    launcher.stderr.take().unwrap().read_to_end(&mut bytes).unwrap();
    text(&bytes)
}

fn kill(process: i32) -> Instant {
    // It was started here and is not reaped yet.
    hikyaku_testing::os::kill(process);
    Instant::now()
}

fn all_processes() -> impl Iterator<Item = i32> {
    std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Processes of the job, whosever children they are by now; not this one, where the variable is not set.
fn marked(mark: &str) -> Vec<i32> {
    let mark = format!("{MARK}={mark}");
    let environment = |process: &i32| std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    all_processes()
        .filter(|process| environment(process).split(|byte| *byte == 0).any(|it| it == mark.as_bytes()))
        .collect()
}

/// The shared segments that a process has mapped, by inode.
fn shared_memory(process: i32) -> BTreeSet<String> {
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    let segments = maps.lines().filter(|line| line.contains("/memfd:hikyaku"));
    segments.filter_map(|line| line.split_whitespace().nth(4)).map(str::to_owned).collect()
}

/// Files of ours for shared memory.
fn shared_files() -> BTreeSet<OsString> {
    let names = std::fs::read_dir("/dev/shm").unwrap().flatten().map(|entry| entry.file_name());
    names.filter(|name| name.to_string_lossy().contains("hikyaku")).collect()
}

fn holders(memory: &BTreeSet<String>) -> Vec<i32> {
    all_processes().filter(|process| !shared_memory(*process).is_disjoint(memory)).collect()
}

/// A moment that looks random and is the same in every run.
fn moment(chance: &mut Chance) -> Duration {
    Duration::from_micros(1 + chance.below(20_000) as u64)
}

#[test]
fn one_rank_killed() {
    let mut chance = Chance::new(1, 0);
    for what in TRAFFIC {
        for (ranks, victim, options) in [
            (2, 1, &[][..]),
            (4, 0, &[]),
            (4, 3, &[]),
            (2, 0, &["--on-death", "continue"]),
            (4, 2, &["--on-death", "continue"]),
        ] {
            let traffic = Traffic::start(what, ranks, options, 0);
            assert!(!traffic.memory.is_empty(), "{what}: ranks share memory");
            std::thread::sleep(moment(&mut chance));
            let begin = kill(traffic.processes[victim]);
            let (status, errors) = traffic.end(begin);
            assert_eq!(status.code(), Some(128 + 9), "{what}, {ranks} ranks, {options:?}: {errors}");
        }
    }
}

#[test]
fn blacs_abort() {
    let mut chance = Chance::new(1, 0);
    for what in TRAFFIC {
        for ranks in [1, 2, 4] {
            let life = moment(&mut chance);
            let mut traffic = Traffic::start(what, ranks, &[], life.as_micros() as u64);
            // What was begun is done before the call.
            let mut line = String::new();
            traffic.said.read_line(&mut line).unwrap();
            assert_eq!(line, "aborts\n", "{what}, {ranks} ranks");
            let (status, errors) = traffic.end(Instant::now());
            assert_eq!(status.code(), Some(42), "{what}, {ranks} ranks: {errors}");
            assert!(errors.contains("exiting with error #42"), "{what}: {errors}");
        }
    }
}

#[test]
fn the_launcher_killed() {
    let mut chance = Chance::new(1, 0);
    for what in TRAFFIC {
        for ranks in [2, 4] {
            let traffic = Traffic::start(what, ranks, &[], 0);
            std::thread::sleep(moment(&mut chance));
            let begin = kill(traffic.launcher.id() as i32);
            traffic.end(begin);
        }
    }
}
