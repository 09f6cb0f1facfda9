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

/// Several threads of each rank in both at once, and either ended first.
#[test]
fn the_hybrid_example_ends_in_either_order() {
    let mut libraries = shared_library();
    libraries.push("-lm".into());
    let libraries: Vec<&str> = libraries.iter().map(String::as_str).collect();
    let example = repository().join("examples/c/hybrid.c");
    for (index, mpi) in mpi::installations().iter().enumerate() {
        let program = compile(mpi.compiler.to_str().unwrap(), &example, &format!("-{index}"), &libraries);
        for (ranks, threads, first) in [(1, 4, "mpi"), (2, 3, "mpi"), (2, 3, "ompl")] {
            let said = said(&mpi.succeed(ranks, &program, &[&threads.to_string(), first]));
            let verdict = format!("{ranks} ranks of {threads} threads: the same as computed by one thread");
            assert!(said.contains(&verdict), "{mpi:?} {first}: {said}");
        }
    }
}
