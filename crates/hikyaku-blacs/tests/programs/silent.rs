//! Programs that end without a word.

use crate::{PATIENCE_SECONDS, built, folder, succeed, text};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The program as a compiler makes it with some options.
fn program(name: &str, compiler: &str, options: &[&str]) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("silent-{name}"));
    let mut compile = Command::new(compiler);
    compile.args(["-O1", "-Wall", "-Werror", "-Wno-unused", "-o"]).arg(&program).arg(folder().join("tests/c/silent.c"));
    let (folder, rpath) = (format!("-L{}", built().display()), format!("-Wl,-rpath,{}", built().display()));
    succeed(compile.args([folder, rpath]).args(options));
    program
}

fn two(program: &Path, arguments: &[&str]) -> Output {
    let mut run = Command::new("timeout");
    run.args(["--kill-after=10", PATIENCE_SECONDS]).arg(built().join("hikyaku"));
    hikyaku_testing::watchdog::output(run.args(["run", "--blacs", "-n", "2"]).arg(program).args(arguments))
}

#[test]
fn before_any_call_is_a_success() {
    let output = two(&program("shared", "gcc", &[]), &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(text(&output.stdout), "nothing to do\n".repeat(2));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn programs_whose_blacs_cannot_be_replaced_are_told_so() {
    for (name, compiler, options, says) in [
        ("static", "gcc", &["-static"][..], "cannot be loaded into a static program"),
        ("mpi", "mpicc.openmpi", &["-DWITH_MPI"], "The program has used MPI, but not hikyaku's BLACS"),
    ] {
        let output = two(&program(name, compiler, options), &[]);
        assert_eq!(output.status.code(), Some(1), "{name}: {output:?}");
        assert!(text(&output.stdout).contains("nothing to do\n"), "{name}: {output:?}");
        assert!(text(&output.stderr).contains(says), "{name}: {output:?}");
    }
}

#[test]
fn sends_are_received_after_exit_and_missed_after_exit_at_once() {
    let program = program("sends", "gcc", &["-DWITH_BLACS", "-lhikyaku_blacs"]);
    let output = two(&program, &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let output = two(&program, &["at once"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stderr).contains("rank 0 has left the job"), "{output:?}");
}
