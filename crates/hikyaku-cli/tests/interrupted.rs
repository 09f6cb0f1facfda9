//! Readers that go away and programs that are killed.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const HIKYAKU: &str = env!("CARGO_BIN_EXE_hikyaku");
const LONG: Duration = Duration::from_secs(60);

fn start(arguments: &[&str]) -> Child {
    Command::new(HIKYAKU).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn wait_until<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(begin.elapsed() < LONG, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn end(mut child: Child) -> (ExitStatus, String) {
    let status = wait_until("it has not ended", || child.try_wait().unwrap());
    let errors = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap).collect::<Vec<_>>();
    (status, errors.join("\n"))
}

#[test]
fn ranks_that_print_end_when_nobody_reads_any_more() {
    let mut job = start(&["run", "-n", "2", "yes"]);
    let mut lines = BufReader::new(job.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "y");
    drop(lines);
    let (status, errors) = end(job);
    assert_eq!(status.code(), Some(128 + 13), "{errors}");
}

#[test]
fn ranks_that_print_nothing_do_not_care_who_reads() {
    let mut job = start(&["run", "-n", "2", "sh", "-c", "sleep 0.3"]);
    drop(job.stdout.take());
    assert!(end(job).0.success());
}

#[test]
fn a_page_that_nobody_reads_ends_quietly() {
    for arguments in [&["info"] as &[_], &["sim", "machines"], &["sim", "bench", "--ranks", "2", "--only", "remote"]] {
        let mut program = start(arguments);
        drop(program.stdout.take());
        let (status, errors) = end(program);
        assert_eq!((status.code(), errors.contains("panicked")), (Some(128 + 13), false), "{arguments:?}: {errors}");
    }
}

#[test]
fn a_benchmark_that_is_killed_leaves_no_folder() {
    for signal in ["-KILL", "-TERM"] {
        let bench = start(&["bench", "--only", "start"]);
        let ours = format!("hikyaku-peers-{}-", bench.id());
        let folder = || -> Option<PathBuf> {
            let entries = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
            entries.map(|entry| entry.path()).find(|path| path.to_string_lossy().contains(&ours))
        };
        let path = wait_until("no folder for the peers", folder);
        assert!(Command::new("kill").args([signal, &bench.id().to_string()]).status().unwrap().success());
        assert!(!end(bench).0.success());
        wait_until("the folder stays", || (!path.exists()).then_some(()));
    }
}
