//! The programs of `tests/c` that use `ompl.h`: alone, as ranks of a job, over two hosts, and under the launchers of MPI libraries.

mod support;

use hikyaku_testing::mpi;
use hikyaku_testing::netns::{AGENT, Network};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use support::*;

/// Runs a program as a job of so many ranks.
fn run(program: &Path, ranks: usize, arguments: &[&str]) {
    let mut command = patiently(&built().join("hikyaku"));
    succeed(command.args(["run", "-n", &ranks.to_string(), "--"]).arg(program).args(arguments));
}

/// Runs a program with its ranks in turn on each of two hosts, where there can be some.
fn run_on_hosts(program: &Path, ranks: usize, arguments: &[&str], settings: &[(&str, &str)]) {
    let Some(network) = Network::new(2) else { return };
    let slots: Vec<_> = (0..ranks).map(|rank| (rank % 2, 1)).collect();
    let mut command = patiently(&built().join("hikyaku"));
    command.args(["run", "--hosts", &network.list(&slots), "--agent", AGENT]);
    succeed(command.arg("--").arg(program).args(arguments).envs(settings.iter().copied()));
}

#[test]
fn header_and_library_agree() {
    let (header, library) = (read("include/ompl.h"), read("crates/hikyaku-c/src/ompl/error.rs"));
    assert_eq!(codes(&header).len(), 21);
    assert_eq!(codes(&header), codes(&library));
    // The values are those of hikyaku.h.
    let general: BTreeSet<_> = codes(&read("include/hikyaku.h")).into_iter().collect();
    for (name, value) in codes(&header) {
        assert!(general.contains(&(name.replace("OMPL_", "HK_"), value)), "{name}");
    }
    assert_eq!(declared(&header, "ompl_"), exported("ompl_"));
}

#[test]
fn every_call() {
    let program = compile_shared(&source("ompl_calls.c"), "");
    succeed(&mut patiently(&program));
    for ranks in [1, 2, 3] {
        run(&program, ranks, &[]);
    }
    run_on_hosts(&program, 3, &[], &[]);
    for mpi in mpi::installations() {
        mpi.succeed(3, &program, &[]);
    }
}

/// Threads that wait for flags, on the host of the rank that dies and on another one.
#[test]
fn fault_1_a_death_while_threads_wait_for_flags() {
    let program = compile_shared(&source("ompl_dead.c"), "");
    let network = Network::new(2);
    let list = network.as_ref().map(|network| network.list(&[(0, 1), (1, 1), (0, 1), (1, 1)]));
    for hosts in [None, list] {
        let mut command = patiently(&built().join("hikyaku"));
        command.args(["run", "--on-death", "continue"]);
        match &hosts {
            None => command.args(["-n", "4"]),
            Some(list) => command.args(["--hosts", list, "--agent", AGENT]),
        };
        let output = hikyaku_testing::watchdog::output(command.arg("--").arg(&program));
        let heard = String::from_utf8_lossy(&output.stdout).matches("heard it").count();
        assert!(output.status.code() == Some(128 + 9) && heard == 3, "{hosts:?}: {output:?}");
    }
}

#[test]
fn beside_the_other_interfaces() {
    let program = compile_shared(&source("ompl_with_others.c"), "");
    for order in ["inside", "outside", "first", "last"] {
        succeed(patiently(&program).arg(order));
        run(&program, 2, &[order]);
    }
    run_on_hosts(&program, 2, &["outside"], &[]);
}

#[test]
fn more_threads_than_ports() {
    alone("ompl_ports.c");
}

#[test]
fn what_threads_should_not_do() {
    let program = compile_shared(&source("ompl_misuse.c"), "");
    for ports in ["64", "16", "4", "3"] {
        succeed(patiently(&program).arg(ports));
    }
}

#[test]
fn threads_come_and_go() {
    let program = compile_shared(&source("ompl_threads.c"), "");
    succeed(&mut patiently(&program));
    run(&program, 2, &[]);
    run_on_hosts(&program, 2, &["5"], &[]);
    for mpi in mpi::installations() {
        mpi.succeed(2, &program, &["20"]);
    }
}

#[test]
fn many_puts_take_no_memory() {
    let program = compile_shared(&source("ompl_flood.c"), "");
    run(&program, 2, &["3000000"]);
    run_on_hosts(&program, 2, &["50000"], &[]);
}

#[test]
fn random_operations_do_what_a_model_says() {
    let program = compile_shared(&source("ompl_random.c"), "");
    run(&program, 1, &["24", "20000", "1"]);
    run(&program, 2, &["24", "10000", "2"]);
    run(&program, 3, &["5", "10000", "3"]);
    run_on_hosts(&program, 2, &["20", "300", "4"], &[]);
    let faults = [("HIKYAKU_UDP_FAULTS", "loss=0.02,double=0.02,reorder=0.02,seed=7")];
    run_on_hosts(&program, 3, &["6", "150", "5"], &faults);
}

/// 24 threads, a million operations each, in several layouts.
#[test]
#[ignore = "takes minutes: scripts/many-threads runs it"]
fn many_random_operations_do_what_a_model_says() {
    let program = compile_shared(&source("ompl_random.c"), "");
    for (ranks, ports) in [(1, "64"), (2, "64"), (2, "16"), (4, "8")] {
        let mut command = patiently(&built().join("hikyaku"));
        command.args(["run", "-n", &ranks.to_string(), "--"]).arg(&program).args(["24", "1000000", ports]);
        succeed(command.env("HIKYAKU_PORTS", ports));
    }
    run_on_hosts(&program, 2, &["24", "20000", "9"], &[("HIKYAKU_PORTS", "64")]);
}

#[test]
fn the_header_is_c99_and_cpp() {
    for (compiler, language, standard) in [("gcc", "c", "-std=c99"), ("g++", "c++", "-std=c++98")] {
        let mut command = Command::new(compiler);
        command.args(["-x", language, standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-long-long"]);
        succeed(command.arg("-fsyntax-only").arg(repository().join("include/ompl.h")));
    }
}
