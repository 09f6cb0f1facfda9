//! Where the launcher may find itself: containers that forbid calls, namespaces, valgrind, programs that cannot be started.

mod support;

use hikyaku_testing::patience::eventually;
use hikyaku_testing::seccomp;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{HIKYAKU, Trial, err, examples, out, script, signal};

fn mistakes() -> String {
    examples().join("mistakes").display().to_string()
}

/// Does something on a thread whose processes fail in these calls with EPERM.
fn without<R: Send>(calls: &[libc::c_long], work: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|threads| {
        let thread = threads.spawn(|| {
            seccomp::forbid(calls, libc::EPERM);
            work()
        });
        thread.join().unwrap()
    })
}

fn has(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

#[test]
fn where_binding_is_forbidden_ranks_are_not_bound() {
    let output = without(&[libc::SYS_sched_setaffinity], || Trial::with(&["-n", "2", "-v", "echo", "runs"]).run());
    assert_eq!((out(&output), output.status.code()), ("runs\nruns\n".into(), Some(0)), "{}", err(&output));
    assert!(!err(&output).contains("on core"), "{}", err(&output));
}

#[test]
fn where_descriptors_of_processes_cannot_be_signalled_numbers_are() {
    without(&[libc::SYS_pidfd_send_signal], || {
        let mut trial =
            Trial::with(&["-n", "2", "sh", "-c", "trap 'exit 5' USR1; echo ready; while :; do sleep 0.02; done"]);
        let mut job = trial.start();
        let lines = BufReader::new(job.stdout.take().unwrap()).lines();
        assert_eq!(lines.take(2).map(Result::unwrap).collect::<Vec<_>>(), ["ready", "ready"]);
        signal(job.id(), "-USR1");
        assert_eq!(eventually("the job stays", || job.try_wait().unwrap()).code(), Some(5));
        trial.await_end();
        // One that has failed ends the other.
        let output = Trial::with(&["-n", "2", "sh", "-c", "[ $HIKYAKU_RANK = 1 ] && exit 3; sleep 1000"]).run();
        assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    });
}

#[test]
fn ranks_may_have_namespaces_of_processes_of_their_own() {
    if !has("unshare", &["-p", "--fork", "true"]) {
        return;
    }
    let program = mistakes();
    let run = |name: &str| Trial::with(&["-n", "2", "unshare", "-p", "--fork", &program, "processes", name]).run();
    let output = run("none");
    assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()));
    let output = run("abort");
    // The first process of a namespace does not die of every signal, so `abort` has to try another one.
    assert!(matches!(output.status.code(), Some(134 | 139)), "{}", err(&output));
}

#[test]
fn what_ranks_leave_behind_is_ended_without_proc_too() {
    if !has("unshare", &["-m", "mount", "-t", "tmpfs", "none", "/proc"]) {
        return;
    }
    let without = "mount -t tmpfs none /proc && ! [ -e /proc/self ] && exec \"$0\" \"$@\"";
    let program = script("without-proc", &format!("exec unshare -m sh -c '{without}' {HIKYAKU} \"$@\""));
    // Some in a session of their own, some with children of their own, which appear when these have ended.
    let leaves = "sleep 1000 & setsid sleep 1000 & sh -c 'sh -c \"sleep 1000 & sleep 1000\" & sleep 1000' &";
    for options in [&["-n", "2"][..], &["-n", "1", "--on-death", "continue"]] {
        // `run` looks that nothing is left.
        let output = Trial::of_program(&program, options).args(&["sh", "-c", &format!("({leaves}) >&- 2>&-")]).run();
        assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()));
    }
    let output = Trial::of_program(&program, &["-n", "2", &mistakes(), "processes", "abort"]).run();
    assert_eq!(output.status.code(), Some(128 + 6), "{}", err(&output));
    std::fs::remove_file(program).unwrap();
}

#[test]
fn valgrind_is_told_which_option_helps() {
    if !has("valgrind", &["--version"]) {
        return;
    }
    let program = mistakes();
    let run = |heap: &[&str]| {
        // Without a tool it is many times as fast, and has as little room.
        let valgrind = ["-n", "2", "valgrind", "-q", "--tool=none", &program, "processes", "none"];
        Trial::with(heap).args(&valgrind).run()
    };
    let output = run(&[]);
    assert!(err(&output).contains("smaller heap: `hikyaku run --heap 64M`"), "{}", err(&output));
    let output = run(&["--heap", "64M"]);
    assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()));
}

/// A file that can be executed, of this test's own.
fn program(name: &str, bytes: &[u8], mode: u32) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    path
}

#[test]
fn programs_that_cannot_be_started_give_the_statuses_of_shells() {
    let run = |program: &str| -> Output { Trial::with(&["-n", "2", program]).run() };
    assert_eq!(run("no-such-program").status.code(), Some(127));
    assert_eq!(run("/no/such/program").status.code(), Some(127));
    assert_eq!(run("/tmp").status.code(), Some(126));
    let plain = program("not-executable", b"#!/bin/sh\n", 0o644);
    assert_eq!(run(plain.to_str().unwrap()).status.code(), Some(126));
    // The machine of this number is none that runs programs.
    let mut foreign = std::fs::read("/proc/self/exe").unwrap()[..4096].to_vec();
    foreign[18..20].copy_from_slice(&247u16.to_ne_bytes());
    let foreign = program("foreign", &foreign, 0o755);
    let output = run(foreign.to_str().unwrap());
    if !Path::new("/proc/sys/fs/binfmt_misc/status").exists() {
        assert_eq!(output.status.code(), Some(126), "{}", err(&output));
        assert!(err(&output).contains("built for another kind of processor"), "{}", err(&output));
    }
    // A script without a first line is still one.
    let script = program("no-first-line", b"echo a script\n", 0o755);
    assert_eq!(out(&run(script.to_str().unwrap())), "a script\na script\n");
    for file in [plain, foreign, script] {
        std::fs::remove_file(file).unwrap();
    }
}

#[test]
fn settings_that_cannot_be_read_are_told() {
    for (name, value) in [("HIKYAKU_HEAP", "4GB"), ("HIKYAKU_PORTS", "many"), ("HIKYAKU_START_TIMEOUT", "3s")] {
        let mut trial = Trial::with(&["true"]);
        trial.command.env(name, value);
        let output = trial.run();
        assert_eq!(output.status.code(), Some(1));
        assert!(err(&output).contains(&format!("{name}={value} cannot be read; accepted is ")), "{}", err(&output));
    }
}

#[test]
fn files_of_choices_that_are_none_are_refused_before_anything_is_measured() {
    let tune = |file: &str| {
        let mut command = Command::new(support::HIKYAKU);
        command.args(["tune", "-n", "2", "--rounds", "1", "--time", "1", "--max", "64"]).env("HIKYAKU_TUNE", file);
        hikyaku_testing::watchdog::output(&mut command)
    };
    let pipe = std::env::temp_dir().join(format!("hikyaku-tune-pipe-{}", std::process::id()));
    assert!(has("mkfifo", &[pipe.to_str().unwrap()]));
    for file in ["/dev/zero", "/proc/nobody/can/write/here", pipe.to_str().unwrap()] {
        let output = tune(file);
        assert_eq!((output.status.code(), out(&output)), (Some(1), String::new()), "{file}: {}", err(&output));
        assert!(err(&output).contains(&format!("cannot write {file}")), "{}", err(&output));
        // Jobs read it, and go on without it.
        let mut trial = Trial::with(&["echo", "runs"]);
        trial.command.env("HIKYAKU_TUNE", file);
        assert_eq!(out(&trial.run()), "runs\n", "{file}");
    }
    std::fs::remove_file(pipe).unwrap();
}
