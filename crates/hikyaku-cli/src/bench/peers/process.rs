//! Commands under a time limit, with their output in files.
//!
//! Files rather than pipes: nothing blocks when a command prints a lot, and a process that outlives
//! its parent cannot keep us waiting for the end of a pipe.
//!
//! At the limit the whole tree of processes has to go. MPI launchers put every rank into a process
//! group of its own, so that a signal to the launcher's group reaches the launcher alone; and a
//! rank that was left behind would spin on a processor for good. So the tree is taken down by its
//! parent links: the launcher is asked to end, which lets it remove its shared memory, and what is
//! left a moment later is killed.

use super::folder;
use rustix::process::Signal;
use std::collections::HashSet;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The longest that a command may take.
pub(super) const LIMIT: Duration = Duration::from_secs(20);

/// How long a launcher has to end its ranks after it was asked to.
const GRACE: Duration = Duration::from_secs(3);

/// How often a running command is looked at. Whole-command times are at least a hundred times this.
const POLL: Duration = Duration::from_millis(1);

/// How much of a command's output an error repeats.
const LINES_SHOWN: usize = 4;

/// Numbers output files, so that several may be in use at once.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// What a command left behind.
#[derive(Debug)]
pub(super) struct Finished {
    /// Nothing if it was stopped at the limit.
    pub status: Option<ExitStatus>,
    pub output: String,
    pub errors: String,
    pub elapsed: Duration,
}

impl Finished {
    /// The output, or why there is none, as the end of a sentence that begins with `step`.
    pub fn success(self, step: &str) -> Result<Finished, String> {
        let lines = self.last_lines();
        match self.status {
            Some(status) if status.success() => Ok(self),
            Some(status) => Err(format!("{step} failed with {status}; {lines}")),
            None => Err(format!("{step} was stopped after {:.1} s; {lines}", self.elapsed.as_secs_f32())),
        }
    }

    /// The last lines the command printed, errors before output. Where our own program says what
    /// went wrong, that alone: launchers then add a page that says only that something did.
    pub fn last_lines(&self) -> String {
        let text = match self.errors.trim() {
            "" => self.output.trim(),
            errors => errors,
        };
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|it| !it.is_empty() && !it.starts_with(['|', '+', '-'])) // no tables
            .collect();
        if let Some(own) = lines.iter().find(|line| line.starts_with("mpi: rank") || line.starts_with("blacs: rank")) {
            return format!("it printed: {own}");
        }
        match &lines[lines.len().saturating_sub(LINES_SHOWN)..] {
            [] => "it printed nothing".to_owned(),
            last => format!("it printed last: {}", last.join(" / ")),
        }
    }
}

/// A command that runs. Dropped before its end, it is ended.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    begin: Instant,
    output: PathBuf,
    errors: PathBuf,
}

impl Running {
    /// Starts a command with its output in `folder`.
    pub fn start(command: &mut Command, folder: &Path) -> Result<Running, String> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let output = folder.join(format!("{number}.out"));
        let errors = folder.join(format!("{number}.err"));
        let open =
            |path: &Path| File::create(path).map_err(|e| format!("{} could not be written: {e}", path.display()));
        command.stdin(Stdio::null()).stdout(open(&output)?).stderr(open(&errors)?);
        // Nothing runs on after us: launchers take their ranks along.
        let end_with_us = || {
            folder::hold()?;
            Ok(rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?)
        };
        // SAFETY: two system calls, which may be made between fork and exec; the pipe is there since the folder is.
        unsafe { command.pre_exec(end_with_us) };
        let begin = Instant::now();
        let child = command
            .spawn()
            .map_err(|e| format!("{} could not be started: {e}", Path::new(command.get_program()).display()))?;
        Ok(Running { child, begin, output, errors })
    }

    /// Waits for the end. At the limit it is stopped, and then nothing of it runs on.
    pub fn finish(mut self, limit: Duration) -> Finished {
        let status = self.wait(limit);
        let elapsed = self.begin.elapsed();
        if status.is_none() {
            end_tree(&mut self);
        }
        let read = |path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
        Finished { status, output: read(&self.output), errors: read(&self.errors), elapsed }
    }

    fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let end = Instant::now() + limit;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < end => thread::sleep(POLL),
                _ => return None,
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            end_tree(self);
        }
        let _ = fs::remove_file(&self.output);
        let _ = fs::remove_file(&self.errors);
    }
}

/// Runs a command to its end. `step` opens the sentence of an error: "the compiler".
pub(super) fn run(command: &mut Command, step: &str, folder: &Path) -> Result<Finished, String> {
    Running::start(command, folder)?.finish(LIMIT).success(step)
}

fn end_tree(running: &mut Running) {
    let root = running.child.id();
    let tree = tree_below(root, &processes());
    signal("TERM", &[root]);
    running.wait(GRACE);
    let seen: HashSet<_> = tree.iter().map(Process::identity).collect();
    let left = processes().into_iter().filter(|it| seen.contains(&it.identity()));
    signal("KILL", &left.map(|it| it.id).collect::<Vec<_>>());
    let _ = running.child.wait();
}

/// The standard library can signal only direct children; the shell's own `kill` is always there.
fn signal(name: &str, ids: &[u32]) {
    if !ids.is_empty() {
        let ids = ids.iter().map(u32::to_string);
        let _ = Command::new("sh").args(["-c", "kill -s \"$@\" 2>/dev/null", "sh", name]).args(ids).status();
    }
}

/// A process of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Process {
    pub id: u32,
    pub parent: u32,
    pub started: u64,
}

impl Process {
    /// Number and start time name a process for good: the number alone may be given away anew, and
    /// the parent changes when it ends first.
    fn identity(&self) -> (u32, u64) {
        (self.id, self.started)
    }
}

fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries.filter_map(|entry| parse_stat(&fs::read_to_string(entry.ok()?.path().join("stat")).ok()?)).collect()
}

/// Reads `/proc/ID/stat`. The command's name, in brackets, may itself hold blanks and brackets.
pub(super) fn parse_stat(text: &str) -> Option<Process> {
    let (head, tail) = text.rsplit_once(')')?;
    let fields: Vec<&str> = tail.split_whitespace().collect();
    Some(Process {
        id: head.split_whitespace().next()?.parse().ok()?,
        parent: fields.get(1)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

/// The process `root` and all that descend from it.
pub(super) fn tree_below(root: u32, all: &[Process]) -> HashSet<Process> {
    let mut tree: HashSet<Process> = all.iter().filter(|it| it.id == root).copied().collect();
    loop {
        let ids: HashSet<u32> = tree.iter().map(|it| it.id).collect();
        let before = tree.len();
        tree.extend(all.iter().filter(|it| ids.contains(&it.parent)));
        if tree.len() == before {
            return tree;
        }
    }
}
