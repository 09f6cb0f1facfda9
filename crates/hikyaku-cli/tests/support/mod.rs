//! What tests of jobs over hosts need.

#![allow(dead_code, reason = "each test program uses some of it")]

use hikyaku_testing::netns::{AGENT, Network};
use hikyaku_testing::patience::eventually;
use hikyaku_testing::watchdog;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

pub const HIKYAKU: &str = env!("CARGO_BIN_EXE_hikyaku");

/// Every process of a job has this variable, with the job's value.
const MARK: &str = "HIKYAKU_TEST_MARK";

/// One job over hosts that are network namespaces.
pub struct Trial {
    pub command: Command,
    mark: String,
}

impl Trial {
    /// `hikyaku run` on these hosts.
    pub fn new(network: &Network, slots: &[(usize, usize)]) -> Trial {
        let mut trial = Trial::with(&["--agent", AGENT]);
        trial.command.args(["--hosts", &network.list(slots)]);
        trial
    }

    /// `hikyaku run` with these arguments.
    pub fn with(arguments: &[&str]) -> Trial {
        Trial::of_program(Path::new(HIKYAKU), arguments)
    }

    /// `run` of a `hikyaku` that is somewhere else, with these arguments.
    pub fn of_program(program: &Path, arguments: &[&str]) -> Trial {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // Of the same length for all: what is said of one job is as long as what is said of another.
        let mark = format!("{:08}-{:04}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        // Whoever runs the tests in the background may have them ignore what a terminal sends.
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP,INT,QUIT").arg(program);
        command.arg("run").args(arguments).env(MARK, &mark).stdin(Stdio::null());
        Trial { command, mark }
    }

    pub fn args(mut self, arguments: &[&str]) -> Trial {
        self.command.args(arguments);
        self
    }

    /// Runs it to its end, which leaves no process.
    pub fn run(mut self) -> Output {
        let output = watchdog::output(&mut self.command);
        assert_eq!(self.processes(), [0; 0], "left behind");
        output
    }

    /// Starts it, with its output in a pipe.
    pub fn start(&mut self) -> Child {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The processes of the job that have not ended, whosever children they are by now.
    pub fn processes(&self) -> Vec<u32> {
        let mark = format!("{MARK}={}", self.mark);
        let is_marked = |process: &u32| {
            let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|it| it == mark.as_bytes())
        };
        let numbers =
            std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.filter(is_marked).collect()
    }

    /// Those of them that run these words and nothing else.
    pub fn running(&self, words: &str) -> Vec<u32> {
        let runs = |process: &u32| {
            let line = std::fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
            line.trim_end_matches('\0').replace('\0', " ") == words
        };
        self.processes().into_iter().filter(runs).collect()
    }

    /// Waits until so many processes run these words.
    pub fn await_running(&self, words: &str, count: usize) -> Vec<u32> {
        eventually("they have not started", || Some(self.running(words)).filter(|found| found.len() == count))
    }

    /// The agents, and the commands that are to become them: children of the launcher.
    pub fn agents(&self, launcher: u32) -> Vec<u32> {
        let path = format!("/proc/{launcher}/task/{launcher}/children");
        let list = std::fs::read_to_string(path).unwrap_or_default();
        list.split_whitespace().filter_map(|process| process.parse().ok()).collect()
    }

    /// Waits until nothing is left of the job.
    pub fn await_end(&self) {
        eventually("processes stay", || self.processes().is_empty().then_some(()));
    }
}

pub fn signal(process: u32, signal: &str) {
    // It may have ended meanwhile, of which `kill` would tell.
    Command::new("kill").args([signal, &process.to_string()]).output().unwrap();
}

pub fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort();
    lines
}

/// A program of a few lines, to be used as an agent command.
pub fn script(name: &str, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path
}

/// The folder with the examples, which are built first: cargo builds them only when it builds all tests.
pub fn examples() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        // <target>/<profile>/hikyaku
        let folder = Path::new(HIKYAKU).parent().unwrap();
        let profile = match folder.file_name().unwrap().to_str().unwrap() {
            "debug" => "dev",
            other => other,
        };
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "-p", "hikyaku-cli", "--examples", "--profile", profile]);
        cargo.arg("--target-dir").arg(folder.parent().unwrap()).current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(cargo.status().unwrap().success());
        folder.join("examples")
    })
}
