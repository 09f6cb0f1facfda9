//! Nothing that ranks print is lost without a word and a failing status: slow readers, readers that refuse, full disks, terminals.

mod support;

use hikyaku_testing::patience::eventually;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use support::{HIKYAKU, err, out};

fn run(arguments: &[&str]) -> Command {
    let mut command = Command::new(HIKYAKU);
    command.arg("run").args(arguments).stdin(Stdio::null());
    command
}

fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

/// Lines that each of two ranks prints, numbered from 1 on.
const LINES: usize = 500_000;
/// 100 bytes each with its end, 100 MB together.
const PRINTS: &str =
    "awk -v n=500000 -v r=$HIKYAKU_RANK 'BEGIN { for (i = 1; i <= n; i++) printf \"%d %096d\\n\", r, i }'";

/// Reads lines and checks that each rank's are all there, in order.
fn assert_all(reader: impl Read) {
    let mut next = [1, 1];
    for line in BufReader::with_capacity(1 << 20, reader).split(b'\n').map(Result::unwrap) {
        let (rank, number) = (usize::from(line[0] - b'0'), &line[2..]);
        assert_eq!(line.len(), 98);
        let number = number.iter().fold(0, |sum, digit| 10 * sum + usize::from(digit - b'0'));
        assert_eq!(number, next[rank]);
        next[rank] += 1;
    }
    assert_eq!(next, [LINES + 1; 2]);
}

/// A reader that pauses now and then.
struct Slow<R>(R, usize);

impl<R: Read> Read for Slow<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.1 += 1;
        if self.1.is_multiple_of(200) {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.0.read(buffer)
    }
}

/// 100 MB to a reader that is slow, through a pipe that refuses what it cannot take at once.
#[test]
fn a_pipe_that_refuses_gets_everything_in_its_time() {
    let (reader, writer) = std::io::pipe().unwrap();
    let flags = rustix::fs::fcntl_getfl(&writer).unwrap();
    rustix::fs::fcntl_setfl(&writer, flags | rustix::fs::OFlags::NONBLOCK).unwrap();
    let mut command = run(&["-n", "2", "sh", "-c", PRINTS]);
    let mut job = command.stdout(writer).spawn().unwrap();
    drop(command);
    assert_all(Slow(reader, 0));
    assert!(job.wait().unwrap().success());
}

#[test]
fn a_full_disk_is_told_and_is_a_failure() {
    let script = "echo out; sleep 0.1; echo more; echo err >&2; exit $STATUS";
    for (status, told) in
        [("0", "the job has succeeded, but a part of its output is lost (see above)"), ("3", "rank 0 exited")]
    {
        let output = run(&["--env", &format!("STATUS={status}"), "sh", "-c", script]).stdout(full()).output().unwrap();
        let said = err(&output);
        let lost = "hikyaku: cannot write standard output: No space left on device (os error 28); the rest of this output is lost\n";
        assert_eq!(said.matches(lost).count(), 1, "{said}");
        assert!(said.contains("err\n") && said.contains(told), "{said}");
        assert_eq!(output.status.code(), Some(if status == "0" { 1 } else { 3 }));
    }
}

#[test]
fn a_standard_error_that_cannot_be_written_is_a_failure_and_no_panic() {
    for what in ["full", "unread"] {
        let errors = || -> Stdio { if what == "full" { full().into() } else { std::io::pipe().unwrap().1.into() } };
        let status = |script: &str| {
            let job = run(&["-n", "2", "-v", "sh", "-c", script]).stdout(Stdio::null()).stderr(errors()).status();
            job.unwrap().code()
        };
        // What the launcher itself says there is no rank's.
        assert_eq!(status("exit 0"), Some(0), "{what}");
        assert_eq!(status("exit 5"), Some(5), "{what}");
        // One whose standard error nobody reads may be ended by that.
        let lost = status("echo lost >&2; sleep 0.3; exit 0");
        assert_eq!(lost, Some(1), "{what}");
    }
    assert_eq!(run(&["no-such-program"]).stderr(full()).status().unwrap().code(), Some(127));
}

#[test]
fn a_reader_that_goes_away_is_told_of_even_by_ranks_that_print_no_more() {
    let mut job = run(&["sh", "-c", "echo one; sleep 0.3; echo two; sleep 0.3"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut shown = BufReader::new(job.stdout.take().unwrap()).lines();
    assert_eq!(shown.next().unwrap().unwrap(), "one");
    drop(shown);
    let output = job.wait_with_output().unwrap();
    assert!(err(&output).contains("nobody reads standard output any more"), "{}", err(&output));
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
}

#[test]
fn of_100_mb_a_reader_gets_all_until_it_goes_away_and_the_status_says_that_it_has() {
    let mut command = run(&["-n", "2", "sh", "-c", PRINTS]);
    let mut job = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut next = [1, 1];
    for line in BufReader::new(job.stdout.take().unwrap()).lines().take(10_000).map(Result::unwrap) {
        let (rank, number) = line.split_once(' ').unwrap();
        let next = &mut next[rank.parse::<usize>().unwrap()];
        assert_eq!(number.parse(), Ok(*next));
        *next += 1;
    }
    let output = job.wait_with_output().unwrap();
    assert!(err(&output).contains("nobody reads standard output any more; what was printed after that is lost"));
    // Of the signal that whoever prints gets, or of a shell that has told of it.
    assert_eq!(output.status.code(), Some(128 + 13), "{}", err(&output));
}

#[test]
fn the_beginning_of_a_line_is_not_lost_though_another_process_holds_the_output() {
    // What is left behind ignores being asked, and holds the output until it is killed.
    let script = "(trap '' TERM; sleep 1000) & printf unfinished";
    let output = run(&["-n", "2", "sh", "-c", script]).output().unwrap();
    assert_eq!((out(&output), output.status.code()), ("unfinishedunfinished".into(), Some(0)));
}

/// Reads until a line comes.
fn line(job: &mut Child) -> String {
    let mut shown = BufReader::new(job.stdout.take().unwrap());
    let mut line = String::new();
    shown.read_line(&mut line).unwrap();
    job.stdout = Some(shown.into_inner());
    line
}

#[test]
fn on_a_terminal_programs_print_each_line_when_it_is_finished() {
    // awk prints by the C library, and then waits for its input to end.
    let script = "test -t 1 && awk 'BEGIN { print \"printed\" } { }'";
    let mut command = run(&["--tty", "sh", "-c", script]);
    let mut job = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(line(&mut job), "printed\n");
    drop(job.stdin.take());
    assert!(eventually("it stays", || job.try_wait().unwrap()).success());

    let script = "printf 'a\\nb\\n'; printf 'no end'; test -t 2 || echo err >&2";
    let output = run(&["-n", "2", "--tty", "--tag", "sh", "-c", script]).output().unwrap();
    assert_eq!(support::sorted(&out(&output)), ["[0] a", "[0] b", "[0] no end", "[1] a", "[1] b", "[1] no end"]);
    assert_eq!(support::sorted(&err(&output)), ["[0] err", "[1] err"]);
    assert!(output.status.success());
}

#[test]
fn over_hosts_ranks_have_a_terminal_too() {
    let agent = support::script("tty-agent", "shift; exec \"$@\"");
    let arguments =
        ["--hosts", "a,b", "--agent", agent.to_str().unwrap(), "--tty", "sh", "-c", "test -t 1 && echo yes"];
    let output = run(&arguments).output().unwrap();
    assert_eq!((out(&output), output.status.code()), ("yes\nyes\n".into(), Some(0)), "{}", err(&output));
}
