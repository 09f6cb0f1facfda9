//! The examples of `examples/scalapack`, with Debian's ScaLAPACK, whose own BLACS are replaced when they run.

use std::path::{Path, PathBuf};
use std::process::Command;

fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}{err}", output.status);
    out.into_owned()
}

/// The folder with the library and `hikyaku`, which are built first: cargo builds for a test only what the test links to.
fn built() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.ancestors().nth(2).unwrap().to_owned();
    let profile = built.file_name().unwrap().to_str().unwrap().replace("debug", "dev");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "-p", "hikyaku-blacs", "-p", "hikyaku-cli", "--profile", &profile]);
    cargo.arg("--target-dir").arg(built.parent().unwrap()).current_dir(env!("CARGO_MANIFEST_DIR"));
    succeed(&mut cargo);
    built
}

#[test]
fn the_examples_solve_their_systems() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scalapack");
    let hikyaku = built().join("hikyaku");
    for (compiler, source) in [("gcc", "solve.c"), ("gfortran", "solve.f90")] {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(source.replace('.', "_"));
        let mut compile = Command::new(compiler);
        compile.args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(examples.join(source));
        succeed(compile.args(["-lscalapack-openmpi", "-lm"]));
        for ranks in ["1", "2", "4"] {
            let mut run = Command::new("timeout");
            run.args(["--kill-after=10", "60"]).arg(&hikyaku).args(["run", "--blacs", "-n", ranks]).arg(&program);
            let said = succeed(run.env("OMP_NUM_THREADS", "1"));
            assert!(said.contains("equations on") && said.lines().count() == 1, "{said}");
        }
    }
}
