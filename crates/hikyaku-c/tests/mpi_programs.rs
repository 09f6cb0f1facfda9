//! C programs that the launchers of MPI libraries start: with hikyaku alone, and with MPI and hikyaku in one process.

mod support;

use hikyaku_testing::mpi::{self, said};
use support::*;

#[test]
fn programs_without_mpi() {
    for name in ["memory.c", "messages.c", "fmpl_messages.c", "fmpl_collective.c"] {
        let program = compile_shared(&source(name), "-mpirun");
        for mpi in mpi::installations() {
            mpi.succeed(3, &program, &[]);
        }
    }
}

/// In every order of beginning and ending.
#[test]
fn programs_that_use_mpi_as_well() {
    let libraries = shared_library();
    let libraries: Vec<&str> = libraries.iter().map(String::as_str).collect();
    for (index, mpi) in mpi::installations().iter().enumerate() {
        let compiler = mpi.compiler.to_str().unwrap();
        let program = compile(compiler, &source("with_mpi.c"), &format!("-{index}"), &libraries);
        let mpi_starts_first = ["mpi-outside", "mpi-first", "no-finalize"];
        let mpi_starts_second: &[&str] = if mpi.may_start_second { &["mpi-inside", "mpi-last"] } else { &[] };
        for order in mpi_starts_first.iter().chain(mpi_starts_second) {
            let output = mpi.succeed(4, &program, &[order]);
            assert_eq!(said(&output).matches("both agree").count(), 4, "{mpi:?} {order}: {}", said(&output));
        }
    }
}
