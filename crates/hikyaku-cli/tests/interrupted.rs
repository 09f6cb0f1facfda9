//! Readers that go away and programs that are killed.

use hikyaku_testing::patience::eventually;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

const HIKYAKU: &str = env!("CARGO_BIN_EXE_hikyaku");

fn start(arguments: &[&str]) -> Child {
    Command::new(HIKYAKU).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn end(mut child: Child) -> (ExitStatus, String) {
    let status = eventually("it has not ended", || child.try_wait().unwrap());
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
        // Nobody reads from the beginning: a page fits a pipe, and may be written before its reader can go.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let program = Command::new(HIKYAKU).args(arguments).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let (status, errors) = end(program);
        assert_eq!((status.code(), errors.contains("panicked")), (Some(128 + 13), false), "{arguments:?}: {errors}");
    }
}

/// Every process of a benchmark has this variable, with its own value.
const MARK: &str = "HIKYAKU_TEST_BENCHMARK";

/// A benchmark that may write in an empty folder of its own.
struct Benchmark {
    program: Child,
    mark: String,
    place: PathBuf,
}

impl Benchmark {
    fn start(name: &str) -> Benchmark {
        let mark = format!("{name}-{}", std::process::id());
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("interrupted-{mark}"));
        std::fs::create_dir(&place).unwrap();
        // Whoever runs the tests in the background may have them ignore what a terminal sends.
        let mut command = Command::new("env");
        command.args(["--default-signal=HUP,INT,QUIT", HIKYAKU, "bench", "--only", "start"]);
        command.env("TMPDIR", &place).env(MARK, &mark);
        let program = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        Benchmark { program, mark, place }
    }

    /// Names below its folder, as `hikyaku-peers-7-1/mpi`.
    fn files(&self) -> Vec<String> {
        let names = |folder: &Path| -> Vec<PathBuf> {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect()
        };
        let folders = names(&self.place);
        let inside = folders.iter().flat_map(|folder| names(folder));
        let all = folders.iter().cloned().chain(inside);
        all.map(|path| path.strip_prefix(&self.place).unwrap().to_string_lossy().into_owned()).collect()
    }

    /// The processes that are left of it, whosever children they are by now.
    fn processes(&self) -> Vec<String> {
        let mark = format!("{MARK}={}", self.mark);
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let is_marked = |path: &Path| {
            let environment = std::fs::read(path.join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|it| it == mark.as_bytes())
        };
        let marked = entries.filter(|entry| is_marked(&entry.path()));
        marked.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// Waits for the end of everything, which must leave nothing behind; gives whether it was ended by a signal.
    fn end(self, what: &str) -> bool {
        eventually("processes stay", || self.processes().is_empty().then_some(()));
        let left = self.files();
        std::fs::remove_dir_all(&self.place).unwrap();
        assert_eq!(left, [""; 0], "{what}");
        !end(self.program).0.success()
    }
}

/// Its name, and the file by which it is noticed.
type Moment = (&'static str, fn(&str) -> bool);
/// Moments in the life of a benchmark: its first folder, the compiler's work, the work of a launcher.
const MOMENTS: [Moment; 3] = [
    ("folder", |name| name.starts_with("hikyaku-peers-")),
    ("compiler", |name| name.ends_with("/mpi.c")),
    ("launcher", |name| name.contains("/ompi.")),
];

/// Ends benchmarks at a moment of their lives, until one was not over before.
fn end_at((moment, has_come): Moment, name: &str, signal: impl Fn(&Benchmark)) {
    let was_ended = (0..20).any(|_| {
        let mut bench = Benchmark::start(name);
        let is_over = eventually(moment, || match bench.program.try_wait().unwrap() {
            Some(_) => Some(true),
            None => bench.files().iter().any(|file| has_come(file)).then_some(false),
        });
        if !is_over {
            signal(&bench);
        }
        bench.end(&format!("{name} at the {moment}"))
    });
    assert!(was_ended, "{name}: over before the {moment}");
}

#[test]
fn a_benchmark_that_is_killed_leaves_no_folder() {
    let at_the_last = ["-INT", "-HUP", "-QUIT", "-KILL"].map(|signal| (signal, MOMENTS[2]));
    for (signal, moment) in MOMENTS.map(|moment| ("-TERM", moment)).into_iter().chain(at_the_last) {
        end_at(moment, signal, |bench| {
            assert!(Command::new("kill").args([signal, &bench.program.id().to_string()]).status().unwrap().success());
        });
    }
}

#[test]
fn a_signal_to_all_its_processes_leaves_no_folder() {
    end_at(MOMENTS[2], "all", |bench| {
        // Some may end meanwhile, of which `kill` would tell.
        bench.processes().iter().for_each(|process| drop(Command::new("kill").args(["-TERM", process]).output()));
    });
}
