//! The examples of `examples/scalapack`, with Debian's ScaLAPACK, whose own BLACS are replaced when they run.

use crate::{PATIENCE_SECONDS, built, folder, succeed, text};
use std::path::Path;
use std::process::Command;

#[test]
fn the_examples_solve_their_systems() {
    let examples = folder().join("../../examples/scalapack");
    let hikyaku = built().join("hikyaku");
    for (compiler, source) in [("gcc", "solve.c"), ("gfortran", "solve.f90")] {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(source.replace('.', "_"));
        let mut compile = Command::new(compiler);
        compile.args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(examples.join(source));
        succeed(compile.args(["-lscalapack-openmpi", "-lm"]));
        for ranks in ["1", "2", "4"] {
            let mut run = Command::new("timeout");
            run.args(["--kill-after=10", PATIENCE_SECONDS])
                .arg(&hikyaku)
                .args(["run", "--blacs", "-n", ranks])
                .arg(&program);
            let said = text(&succeed(run.env("OMP_NUM_THREADS", "1")).stdout);
            assert!(said.contains("equations on") && said.lines().count() == 1, "{said}");
        }
    }
}
