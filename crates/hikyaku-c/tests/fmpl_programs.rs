//! FMPL: the C programs `tests/c/fmpl_*.c` and the Fortran programs of `tests/fortran`, which check themselves.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use support::*;

/// The functions that reductions combine by, as `extern const` in the header.
fn constants(header: &str) -> BTreeSet<String> {
    let header = without_comments(header);
    let lines = header.lines().filter_map(|line| line.strip_prefix("extern const fmpl_func "));
    lines.flat_map(|line| line.trim_end_matches(';').split(", ")).map(str::to_owned).collect()
}

#[test]
fn the_fmpl_header_and_the_library_agree() {
    let header = read("include/fmpl.h");
    assert!(codes(&header).len() == 26, "{:?}", codes(&header));
    assert_eq!(codes(&header), codes(&read("crates/hikyaku-c/src/fmpl/error.rs")));
    let for_c = |name: &String| !name.ends_with('_');
    let mut expected = declared(&header, "fmpl_");
    expected.extend(constants(&header));
    assert_eq!(expected, exported("fmpl_").into_iter().filter(for_c).collect());
}

#[test]
fn fmpl_messages() {
    alone("fmpl_messages.c");
    job("fmpl_messages.c", &[1, 2, 3, 4]);
}

/// Where a peer's memory cannot be reached by a system call.
#[test]
fn fmpl_messages_without_system_calls() {
    let program = compile_shared(&source("fmpl_messages.c"), "-routed");
    succeed(
        patiently(&built().join("hikyaku")).args(["run", "-n", "2", "--"]).arg(&program).env("HIKYAKU_CROSS", "off"),
    );
}

#[test]
fn fmpl_groups() {
    alone("fmpl_groups.c");
    job("fmpl_groups.c", &[1, 2, 3, 4]);
}

#[test]
fn fmpl_collective_calls() {
    alone("fmpl_collective.c");
    job("fmpl_collective.c", &[1, 2, 3, 4]);
}

#[test]
fn fmpl_collective_calls_that_are_started() {
    alone("fmpl_started.c");
    job("fmpl_started.c", &[1, 2, 3, 4]);
}

#[test]
fn fmpl_blocks_of_different_lengths_that_are_started() {
    alone("fmpl_uneven_started.c");
    job("fmpl_uneven_started.c", &[1, 2, 3, 4]);
}

/// By other protocols for long data.
#[test]
fn fmpl_collective_calls_that_are_started_without_system_calls() {
    let program = compile_shared(&source("fmpl_started.c"), "-routed");
    succeed(
        patiently(&built().join("hikyaku")).args(["run", "-n", "3", "--"]).arg(&program).env("HIKYAKU_CROSS", "off"),
    );
}

#[test]
fn fmpl_prepared_transfers_and_memory() {
    alone("fmpl_prepared.c");
    job("fmpl_prepared.c", &[1, 2, 3, 4]);
}

#[test]
fn fmpl_calls_from_several_threads() {
    alone("fmpl_threads.c");
    job("fmpl_threads.c", &[2, 3]);
}

#[test]
fn a_thread_that_has_ended_without_a_word_is_named() {
    alone("fmpl_deserted.c");
    job("fmpl_deserted.c", &[2]);
}

#[test]
fn threads_that_wait_for_each_other_are_told() {
    let program = compile_shared(&source("fmpl_circle.c"), "-job");
    let mut command = patiently(&built().join("hikyaku"));
    command.args(["run", "-n", "2", "--on-deadlock", "end", "--"]).arg(&program);
    let output = hikyaku_testing::watchdog::output(&mut command);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(124), "{text}");
    assert!(text.starts_with("hikyaku: nothing has moved for "), "{text}");
    for (rank, other) in [(0, 1), (1, 0)] {
        let row = format!("  {rank}     fmpl_recv(8 bytes, slot 0)  rank {other}  ");
        assert!(text.lines().any(|line| line.starts_with(&row)), "no {row:?} in\n{text}");
    }
    assert!(text.contains("\nRank 0 waits for rank 1, which waits for rank 0.\nThe job is ended."), "{text}");
}

#[test]
fn fmpl_misuse_gives_codes() {
    alone("fmpl_misuse.c");
    job("fmpl_misuse.c", &[2]);
}

#[test]
fn fmpl_and_hikyaku_share_a_job() {
    let program = compile_shared(&source("fmpl_both.c"), "-job");
    for size in ["1", "2", "3"] {
        for first in ["fmpl-first", "hikyaku-first"] {
            for last in ["fmpl-last", "hikyaku-last"] {
                let mut command = patiently(&built().join("hikyaku"));
                succeed(command.args(["run", "-n", size, "--"]).arg(&program).args([first, last]));
            }
        }
    }
}

#[test]
fn fmpl_ranks_that_disagree_are_told() {
    job("fmpl_disagree.c", &[2, 3]);
}

#[test]
fn fmpl_reports_a_rank_that_ends() {
    let program = compile_shared(&source("fmpl_departing.c"), "-job");
    for (how, status) in [("leave", 0), ("die", 128 + 9)] {
        let mut command = patiently(&built().join("hikyaku"));
        command.args(["run", "-n", "3", "--on-death", "continue", "--"]).arg(&program).arg(how);
        let output = hikyaku_testing::watchdog::output(&mut command);
        let heard = String::from_utf8_lossy(&output.stdout).matches("heard it").count();
        assert!(output.status.code() == Some(status) && heard == 2, "{output:?}");
    }
}

/// Compiles a Fortran program with the module `fmpl`, or with the include file.
fn compile_fortran(source: &Path, flags: &[&str]) -> PathBuf {
    static MODULE: OnceLock<PathBuf> = OnceLock::new();
    let module = MODULE.get_or_init(|| compile_module("fmpl", "-std=f2018"));
    support::compile_fortran(module, source, flags)
}

fn fortran_job(source: &Path, flags: &[&str]) {
    run_alone_and_as_jobs(&compile_fortran(source, flags), &["1", "2", "3", "4"]);
}

#[test]
fn fortran_programs_with_the_module() {
    // The numbers that are compared are exact.
    fortran_job(&crate_folder().join("tests/fortran/module.f90"), &["-Wno-compare-reals"]);
}

#[test]
fn fortran_programs_with_threads() {
    let program = compile_fortran(&crate_folder().join("tests/fortran/threads.f90"), &["-fopenmp"]);
    run_alone_and_as_jobs(&program, &["2", "3"]);
}

#[test]
fn fortran_77_programs_with_the_include_file() {
    // Fortran 77 passes buffers of different types to the same call.
    fortran_job(
        &crate_folder().join("tests/fortran/include.f"),
        &["-std=legacy", "-Wno-compare-reals", "-Wno-unused-parameter"],
    );
}

/// The numbers of functions: in the library, `fmpl_isum` is 1.
fn function_numbers() -> BTreeMap<String, i32> {
    let table = read("crates/hikyaku-c/src/fmpl/function.rs");
    let number = |line: &str| {
        let mut words = line.split_whitespace();
        let number: i32 = words.next()?.parse().ok()?;
        Some((words.next()?.to_owned(), number))
    };
    table.lines().filter_map(number).collect()
}

#[test]
fn the_fortran_files_and_the_library_agree() {
    let header = read("include/fmpl.h");
    let mut expected = function_numbers();
    assert_eq!(expected.keys().cloned().collect::<BTreeSet<_>>(), constants(&header));
    expected.extend(codes(&header).into_iter().map(|(name, code)| (name.to_lowercase(), code)));
    let defines = header.lines().filter_map(|line| line.strip_prefix("#define FMPL_")?.split_once(' '));
    for (name, value) in defines {
        let value = value.split("/*").next().unwrap().trim().trim_matches(['(', ')']);
        expected.insert(format!("fmpl_{}", name.to_lowercase()), value.parse().unwrap());
    }
    assert_eq!(expected.len(), 44 + 26 + 6);
    let module = read("include/fmpl.f90");
    assert_eq!(fortran_constants(&module), expected);
    assert_eq!(fortran_constants(&read("include/fmplf.h")), expected);

    // Every procedure has an interface in the module; C has all of them too.
    let name =
        |line: &str| line.trim().strip_prefix("subroutine ")?.split_once('(').map(|(name, _)| format!("{name}_"));
    let procedures: BTreeSet<String> = module.lines().filter_map(name).collect();
    let exported = exported("fmpl_");
    assert_eq!(procedures, exported.iter().filter(|name| name.ends_with('_')).cloned().collect());
    let for_c = |name: &String| name.trim_end_matches('_').trim_end_matches("_long").to_owned();
    let in_c: BTreeSet<String> = exported.difference(&procedures).cloned().collect();
    let missing: Vec<String> = procedures.iter().map(for_c).filter(|name| !in_c.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let calls = declared(&header, "fmpl_");
    assert_eq!(procedures.iter().map(for_c).collect::<BTreeSet<_>>(), calls);
}

#[test]
fn the_c_example_sorts() {
    let mut flags = Command::new("pkg-config");
    flags.arg(format!("--define-variable=libdir={}", built().display())).args(["--cflags", "--libs", "hikyaku"]);
    let flags = succeed(flags.env("PKG_CONFIG_PATH", repository().join("pkgconfig")));
    let flags = String::from_utf8(flags.stdout).unwrap();
    let example = repository().join("examples/c/sort.c");
    let program = compile("gcc", &example, "", &flags.split_whitespace().collect::<Vec<_>>());
    for size in ["1", "2", "4"] {
        let output = succeed(patiently(&built().join("hikyaku")).args(["run", "-n", size, "--"]).arg(&program));
        assert!(String::from_utf8_lossy(&output.stdout).contains("numbers in order"), "{output:?}");
    }
}

#[test]
fn the_fortran_example_agrees_with_its_serial_run() {
    let program = compile_fortran(&repository().join("examples/fortran/heat.f90"), &[]);
    for size in ["1", "2", "3"] {
        let output = succeed(patiently(&built().join("hikyaku")).args(["run", "-n", size, "--"]).arg(&program));
        assert!(String::from_utf8_lossy(&output.stdout).contains("the same numbers"), "{output:?}");
    }
}

#[test]
fn cpp_programs_use_fmpl() {
    let libraries = shared_library();
    let libraries: Vec<&str> = libraries.iter().map(String::as_str).collect();
    succeed(&mut patiently(&compile("g++", &source("fmpl_header.cc"), "", &libraries)));
}
