//! `hikyaku run` as a user would: output, input, signals, statuses, what is left behind.

use hikyaku_testing::patience::{assert_prompt, eventually};
use hikyaku_testing::watchdog;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const HIKYAKU: &str = env!("CARGO_BIN_EXE_hikyaku");

fn run(arguments: &[&str]) -> Output {
    watchdog::output(Command::new(HIKYAKU).arg("run").args(arguments).stdin(Stdio::null()))
}

fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(HIKYAKU);
    command.arg("run").args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort();
    lines
}

#[test]
fn output_of_all_ranks_comes_in_whole_lines() {
    // Each rank writes its lines in pieces; they must not mix.
    let script =
        "for i in 1 2 3 4 5 6 7 8; do printf 'a%s' $HIKYAKU_RANK; sleep 0.002; printf 'b%s\\n' $HIKYAKU_RANK; done";
    let output = run(&["-n", "3", "--", "sh", "-c", script]);
    assert!(output.status.success());
    for (rank, chunk) in sorted(&out(&output)).chunks(8).enumerate() {
        assert!(chunk.iter().all(|line| *line == format!("a{rank}b{rank}")), "{chunk:?}");
    }
    assert_eq!(out(&output).lines().count(), 24);
}

#[test]
fn a_rank_may_pause_within_a_line() {
    let output = run(&["-n", "2", "--", "sh", "-c", "printf a; sleep 0.5; echo b"]);
    assert_eq!(out(&output), "ab\nab\n");
}

#[test]
fn a_prompt_is_shown_before_it_is_answered() {
    let mut child = Command::new(HIKYAKU)
        .args(["run", "-n", "1", "sh", "-c", "printf 'Name: '; read name; echo hello $name"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut shown = child.stdout.take().unwrap();
    let mut prompt = [0; 6];
    shown.read_exact(&mut prompt).unwrap();
    assert_eq!(&prompt, b"Name: ");
    child.stdin.take().unwrap().write_all(b"hikyaku\n").unwrap();
    let mut rest = String::new();
    shown.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "hello hikyaku\n");
    assert!(child.wait().unwrap().success());
}

#[test]
fn lines_are_tagged_on_request_and_streams_stay_apart() {
    let output = run(&["-n", "2", "--tag", "sh", "-c", "echo out; echo err >&2; printf unfinished"]);
    assert_eq!(sorted(&out(&output)), ["[0] out", "[0] unfinished", "[1] out", "[1] unfinished"]);
    assert_eq!(sorted(&err(&output)), ["[0] err", "[1] err"]);
}

#[test]
fn standard_input_goes_to_rank_0_alone() {
    let mut child = Command::new(HIKYAKU)
        .args(["run", "-n", "2", "--tag", "sh", "-c", "cat; echo end"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"hello\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(sorted(&out(&output)), ["[0] end", "[0] hello", "[1] end"]);
}

#[test]
fn the_first_failing_status_is_the_status() {
    let script = "[ $HIKYAKU_RANK = 1 ] && exit 42; sleep 1000";
    let begin = Instant::now();
    let output = run(&["-n", "3", "sh", "-c", script]);
    assert_eq!(output.status.code(), Some(42));
    assert!(err(&output).contains("rank 1 exited with status 42"), "{}", err(&output));
    assert_prompt(begin.elapsed(), Duration::from_secs(2), "the job ended");

    let output = run(&["-n", "2", "sh", "-c", "[ $HIKYAKU_RANK = 0 ] && kill -SEGV $$; sleep 1000"]);
    assert_eq!(output.status.code(), Some(128 + 11));
}

#[test]
fn ranks_that_ignore_being_asked_are_killed_within_a_second() {
    let script = "trap '' TERM; [ $HIKYAKU_RANK = 1 ] && exit 1; while :; do sleep 0.05; done";
    let begin = Instant::now();
    assert_eq!(run(&["-n", "3", "sh", "-c", script]).status.code(), Some(1));
    assert_prompt(begin.elapsed(), Duration::from_millis(1500), "the job ended");
}

#[test]
fn others_go_on_if_asked_to() {
    let script = "[ $HIKYAKU_RANK = 1 ] && exit 3; sleep 0.5; echo done";
    let output = run(&["-n", "3", "--on-death", "continue", "sh", "-c", script]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(out(&output), "done\ndone\n");
}

#[test]
fn signals_are_passed_on() {
    let script = "trap 'echo got it; exit 5' USR1 TERM; echo ready; while :; do sleep 0.01; done";
    for signal in ["-USR1", "-TERM"] {
        let mut child = start(&["-n", "2", "sh", "-c", script]);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for _ in 0..2 {
            assert_eq!(lines.next().unwrap().unwrap(), "ready");
        }
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert_eq!(child.wait().unwrap().code(), Some(5));
        let rest: Vec<String> = lines.map(Result::unwrap).collect();
        assert_eq!(rest, ["got it", "got it"]);
    }
}

/// What the children of a process run.
fn children(process: u32) -> Vec<String> {
    let list = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    let name = |child: &str| std::fs::read_to_string(format!("/proc/{child}/comm")).ok();
    list.split_whitespace().filter_map(name).map(|name| name.trim().to_owned()).collect()
}

#[test]
fn ranks_start_with_no_signal_blocked() {
    // A shell unblocks its signals, most programs do not: sleep must end by the default action.
    let mut child = start(&["-n", "2", "sleep", "1000"]);
    let have_started = || children(child.id()).iter().filter(|name| *name == "sleep").count() == 2;
    eventually("ranks start", || have_started().then_some(()));
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
}

#[test]
fn processes_left_behind_by_ranks_end_with_the_job() {
    let mark = format!("{}.5", 4000 + std::process::id() % 1000);
    let script = format!("(setsid sleep {mark} >/dev/null 2>&1 &) ; exit 0");
    assert!(run(&["-n", "2", "sh", "-c", &script]).status.success());
    let found = Command::new("pgrep").args(["-f", &format!("sleep {mark}")]).output().unwrap();
    assert_eq!(out(&found), "", "a process was left behind");
}

#[test]
fn mistakes_are_explained() {
    let output = run(&["-n", "2", "no-such-program"]);
    assert!(err(&output).contains("cannot start no-such-program"), "{}", err(&output));
    assert!(!output.status.success());
    let output = run(&["-n", "0", "true"]);
    assert!(err(&output).contains("ranks"), "{}", err(&output));
    let output = run(&["-n", "2", "--heap", "nonsense", "true"]);
    assert!(err(&output).contains("64M"), "{}", err(&output));
    assert!(!run(&[]).status.success());
}

#[test]
fn options_of_the_program_are_its_own() {
    let output = run(&["-n", "1", "echo", "-n", "--tag", "--", "x"]);
    assert_eq!(out(&output), "--tag -- x");
}

#[test]
fn info_and_help_say_what_they_should() {
    let info = Command::new(HIKYAKU).args(["info", "-n", "3"]).output().unwrap();
    assert!(info.status.success(), "{}", err(&info));
    for word in
        ["at once", "in windows", "464 bytes", "in bulk", "mapped memory", "process_vm_readv", "barrier", "binding"]
    {
        assert!(out(&info).contains(word), "{}", out(&info));
    }
    let networks = |name: &str, value: &str| out(&Command::new(HIKYAKU).arg("info").env(name, value).output().unwrap());
    let says = |info: &str, name: &str, text: &str| {
        let mut lines = info.lines().filter(|line| line.trim_start().starts_with(name));
        assert!(lines.any(|line| line.contains(text)), "{name}: {text}: {info}");
    };
    says(&networks("HIKYAKU_TRANSPORT", ""), "between hosts", "udp: no adapter here");
    says(&networks("HIKYAKU_TRANSPORT", "ofi"), "between hosts", "ofi, as HIKYAKU_TRANSPORT says");
    says(&networks("HIKYAKU_TRANSPORT", "cart"), "between hosts", "there is no such network");
    says(&networks("HIKYAKU_OFI_PROVIDER", "sockets"), "sockets (chosen)", "reliable endpoints");
    says(&networks("HIKYAKU_OFI_ENDPOINT", "datagram"), "udp (chosen)", "all by messages");
    let wrong = networks("HIKYAKU_OFI_PROVIDER", "nonsense");
    says(&wrong, "ofi", "cannot be used: HIKYAKU_OFI_PROVIDER=nonsense: libfabric");
    assert!(!wrong.contains("(chosen)"), "{wrong}");
    let off = Command::new(HIKYAKU).arg("info").env("HIKYAKU_CROSS", "off").output().unwrap();
    assert!(out(&off).contains("messages to the owner"), "{}", out(&off));
    let help = out(&Command::new(HIKYAKU).arg("--help").output().unwrap());
    for word in ["run", "bench", "info"] {
        assert!(help.contains(word));
    }
}

/// `hikyaku` in a folder of its own, beside something that is called as the BLACS are.
fn beside_strange_blacs(folder: &str) -> Command {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).unwrap();
    std::fs::hard_link(HIKYAKU, folder.join("hikyaku")).unwrap();
    std::fs::write(folder.join("libhikyaku_blacs.so"), "no library").unwrap();
    let mut command = Command::new(folder.join("hikyaku"));
    command.args(["run", "--blacs", "-n", "2"]);
    command
}

#[test]
fn blacs_that_cannot_be_preloaded_are_refused() {
    for folder in ["with space", "with:colon"] {
        let output = beside_strange_blacs(folder).args(["echo", "started"]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(out(&output), "");
        assert!(err(&output).contains("cannot be preloaded: its path has a space or a colon"), "{}", err(&output));
    }
}

#[test]
fn what_is_no_library_is_not_preloaded() {
    let output = beside_strange_blacs("strange").args(["echo", "started"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(out(&output), "");
    assert!(err(&output).contains("libhikyaku_blacs.so is no library for this machine"), "{}", err(&output));
}

#[test]
fn what_adapters_need_is_set_unless_somebody_has() {
    let said = |command: &mut Command| out(&command.args(["sh", "-c", "echo $FI_OFI_RXM_USE_SRX"]).output().unwrap());
    let run = || {
        let mut command = Command::new(HIKYAKU);
        command.env_remove("FI_OFI_RXM_USE_SRX").args(["run", "-n", "1"]);
        command
    };
    assert_eq!(said(&mut run()).trim(), "1");
    assert_eq!(said(run().env("FI_OFI_RXM_USE_SRX", "0")).trim(), "0");
    assert_eq!(said(run().args(["--env", "FI_OFI_RXM_USE_SRX=no"])).trim(), "no");
}
