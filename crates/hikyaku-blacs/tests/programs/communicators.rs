//! Communicators of MPI as system handles, and grids as communicators.

use crate::{PATIENCE_SECONDS, compile_by, job, succeed, text};
use std::path::Path;
use std::process::Command;

fn mpirun(family: &str, program: &Path) -> Command {
    let mut mpirun = Command::new("timeout");
    mpirun.args(["--kill-after=10", PATIENCE_SECONDS, &format!("mpirun.{family}")]);
    if family == "openmpi" {
        mpirun.args(["--oversubscribe", "--bind-to", "none"]);
        mpirun.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    }
    mpirun.args(["-n", "4"]).arg(program);
    mpirun
}

/// With both families, whose communicators are different things.
#[test]
fn grids_have_communicators_and_communicators_have_grids() {
    for family in ["openmpi", "mpich"] {
        succeed(&mut mpirun(family, &compile_by(&format!("mpicc.{family}"), "c/communicators.c")));
        succeed(&mut mpirun(family, &compile_by(&format!("mpifort.{family}"), "fortran/communicators.f90")));
    }
}

/// To MPI each of these ranks is alone in the world.
#[test]
fn communicators_need_ranks_that_mpi_has_started() {
    let program = compile_by("mpicc.openmpi", "c/communicators.c");
    let output = hikyaku_testing::watchdog::output(&mut job(&program, 2));
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("MPI has not started these processes as one job"), "{output:?}");
}
