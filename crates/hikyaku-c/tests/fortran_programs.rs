//! The module `hikyaku` of Fortran: programs that check themselves, and the file beside the header.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use support::*;

/// What Fortran programs do without: areas of one rank and their pins, pointers and chains, addresses, status words,
/// blocks, threads that serve.
const NOT_IN_FORTRAN: [&str; 40] = [
    "hk_address",
    "hk_allgather",
    "hk_alltoall",
    "hk_area_close",
    "hk_area_create",
    "hk_area_open",
    "hk_area_register",
    "hk_area_revoke",
    "hk_area_size",
    "hk_areas_open",
    "hk_atomic_i64",
    "hk_event_clear",
    "hk_event_fd",
    "hk_fetch_add_i64",
    "hk_gather",
    "hk_ni_thread_start",
    "hk_ni_thread_stop",
    "hk_pull_status",
    "hk_push_status",
    "hk_reaches_private_memory",
    "hk_scatter",
    "hk_wait_any",
    "hk_chain_create",
    "hk_pointer_to",
    "hk_pull_indirect",
    "hk_pull_register",
    "hk_push_indirect",
    "hk_push_register",
    "hk_register_get",
    "hk_register_set",
    "hk_mcast_a_bitmap_notify",
    "hk_mcast_a_diff_notify",
    "hk_mcast_a_stride_notify",
    "hk_mcast_b_bitmap_notify",
    "hk_mcast_b_diff_notify",
    "hk_mcast_b_stride_notify",
    "hk_area_unpin",
    "hk_area_wait_unpinned",
    "hk_pd_release",
    "hk_pd_req",
];

fn module() -> &'static Path {
    static MODULE: OnceLock<PathBuf> = OnceLock::new();
    MODULE.get_or_init(|| compile_module("hikyaku", "-std=f2008"))
}

#[test]
fn every_operation_of_the_module() {
    // The numbers that are compared are exact.
    let source = crate_folder().join("tests/fortran/onesided.f90");
    run_alone_and_as_jobs(&compile_fortran(module(), &source, &["-Wno-compare-reals"]), &["2", "3"]);
}

#[test]
fn active_messages() {
    let source = crate_folder().join("tests/fortran/messages.f90");
    run_alone_and_as_jobs(&compile_fortran(module(), &source, &["-Wno-compare-reals"]), &["2", "3"]);
}

#[test]
fn parts_of_a_range_and_multicast() {
    let source = crate_folder().join("tests/fortran/parts.f90");
    run_alone_and_as_jobs(&compile_fortran(module(), &source, &["-Wno-compare-reals"]), &["2", "3"]);
}

#[test]
fn messages_by_key_and_barriers_in_two_halves() {
    let source = crate_folder().join("tests/fortran/matching.f90");
    run_alone_and_as_jobs(&compile_fortran(module(), &source, &["-Wno-compare-reals"]), &["2", "3"]);
}

#[test]
fn parts_that_are_started_or_tell_of_themselves() {
    let source = crate_folder().join("tests/fortran/started_parts.f90");
    run_alone_and_as_jobs(&compile_fortran(module(), &source, &["-Wno-compare-reals"]), &["2", "3"]);
}

#[test]
fn messages_of_parts() {
    let source = crate_folder().join("tests/fortran/message_parts.f90");
    run_alone_and_as_jobs(&compile_fortran(module(), &source, &["-Wno-compare-reals"]), &["2", "3"]);
}

#[test]
fn shared_regions() {
    let source = crate_folder().join("tests/fortran/regions.f90");
    run_alone_and_as_jobs(&compile_fortran(module(), &source, &["-Wno-compare-reals"]), &["2", "3"]);
}

#[test]
fn queues_and_message_exchange() {
    let source = crate_folder().join("tests/fortran/queues.f90");
    run_alone_and_as_jobs(&compile_fortran(module(), &source, &["-Wno-compare-reals"]), &["2", "3"]);
}

#[test]
fn the_one_sided_example_finds_the_temperature() {
    let program = compile_fortran(module(), &repository().join("examples/fortran/rod.f90"), &[]);
    for size in ["1", "2", "3"] {
        let output = succeed(patiently(&built().join("hikyaku")).args(["run", "-n", size, "--"]).arg(&program));
        assert!(String::from_utf8_lossy(&output.stdout).contains("the temperature rises evenly"), "{output:?}");
    }
}

#[test]
fn an_error_that_nobody_asks_for_ends_the_program() {
    let source = module().with_file_name("careless.f90");
    let text =
        "program careless\n use hikyaku\n call hk_init()\n call hk_flush(7)\n print *, 'not here'\nend program\n";
    std::fs::write(&source, text).unwrap();
    let output = hikyaku_testing::watchdog::output(&mut patiently(&compile_fortran(module(), &source, &[])));
    assert!(output.status.code() == Some(1) && output.stdout.is_empty(), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.lines().next(), Some("hikyaku: rank 0: rank 7 does not exist: the job has 1 ranks (0 to 0)"));
}

/// `HK_X = number` of the enumerations of the header, and `#define HK_X (number)`.
fn header_constants(header: &str) -> BTreeMap<String, i32> {
    let constant = |line: &str| {
        let line = line.trim();
        let (name, value) = match line.strip_prefix("#define ") {
            Some(line) => line.split_once(' ')?,
            None => line.split_once(" = ")?,
        };
        let value = value.split([',', '/']).next()?.trim().trim_matches(['(', ')']);
        name.starts_with("HK_").then_some((name.to_lowercase(), value.parse().ok()?))
    };
    header.lines().filter_map(constant).collect()
}

#[test]
fn the_module_and_the_header_agree() {
    let (header, module) = (read("include/hikyaku.h"), read("include/hikyaku.f90"));
    let (in_c, in_fortran) = (header_constants(&header), fortran_constants(&module));
    for (name, value) in in_fortran.iter().filter(|(name, _)| name.starts_with("hk_")) {
        assert_eq!(in_c.get(name), Some(value), "{name}");
    }
    let not_here: BTreeSet<&str> =
        in_c.keys().map(String::as_str).filter(|name| !in_fortran.contains_key(*name)).collect();
    let expected = [
        "hk_cf32",
        "hk_cf64",
        "hk_event_count_max",
        "hk_event_handler",
        "hk_event_word",
        "hk_registers",
        "hk_u32",
        "hk_u64",
    ];
    assert_eq!(not_here, expected.into_iter().collect());

    let name = |line: &str| line.split_once("name='hk_")?.1.split_once('\'').map(|(name, _)| format!("hk_{name}"));
    let mut bound: BTreeSet<String> = module.lines().filter_map(name).collect();
    assert!(NOT_IN_FORTRAN.iter().all(|name| !bound.contains(*name)));
    bound.extend(NOT_IN_FORTRAN.map(str::to_owned));
    let mut declared = declared(&header, "hk_");
    declared.remove("hk_handler");
    assert_eq!(bound, declared);
}
