//! Compiles the programs of `tests/c` against the header and the library, and runs them: alone, and as the ranks of
//! jobs. They check themselves; see `check.h`.

mod support;

use hikyaku_testing::watchdog;
use std::path::Path;
use std::process::{Command, Output};
use support::*;

#[test]
fn the_headers_are_c99_and_cpp() {
    for (compiler, language, standard) in
        [("gcc", "c", "-std=c99"), ("gcc", "c", "-std=c17"), ("g++", "c++", "-std=c++98"), ("g++", "c++", "-std=c++17")]
    {
        for header in ["hikyaku.h", "fmpl.h", "ompl.h"] {
            let mut command = Command::new(compiler);
            command.args(["-x", language, standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-long-long"]);
            succeed(command.arg("-fsyntax-only").arg(repository().join("include").join(header)));
        }
    }
}

#[test]
fn cpp_programs_link() {
    let libraries = shared_library();
    let libraries: Vec<&str> = libraries.iter().map(String::as_str).collect();
    succeed(&mut patiently(&compile("g++", &source("header.cc"), "", &libraries)));
}

#[test]
fn header_and_library_agree() {
    let header = read("include/hikyaku.h");
    let library = read("crates/hikyaku-c/src/error.rs");
    assert!(codes(&header).len() == 32, "{:?}", codes(&header));
    assert_eq!(codes(&header), codes(&library));
    assert!(header.contains(&format!("#define HK_VERSION \"{}\"", env!("CARGO_PKG_VERSION"))));
    assert!(read("pkgconfig/hikyaku.pc").contains(&format!("Version: {}\n", env!("CARGO_PKG_VERSION"))));

    let mut declared = declared(&header, "hk_");
    declared.remove("hk_handler");
    assert_eq!(declared, exported("hk_"));
    // Nothing else gets out.
    let ours = ["hk_", "fmpl_", "ompl_"];
    assert_eq!(exported("").len(), ours.map(|start| exported(start).len()).iter().sum::<usize>());
}

#[test]
fn programs_know_the_library_by_its_name() {
    let dynamic = succeed(Command::new("readelf").arg("-d").arg(built().join("libhikyaku.so")));
    assert!(String::from_utf8_lossy(&dynamic.stdout).contains("soname: [libhikyaku.so.0]"));
}

#[test]
fn the_static_library_works_too() {
    let library = built().join("libhikyaku.a");
    let libraries = [library.to_str().unwrap(), "-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"];
    succeed(&mut patiently(&compile("gcc", &source("alone.c"), "-static", &libraries)));
}

#[test]
fn a_job_of_one_begins_and_ends() {
    alone("alone.c");
}

#[test]
fn another_thread_starts_the_next_job() {
    alone("takeover.c");
}

#[test]
fn misuse_gives_codes() {
    alone("misuse.c");
    job("misuse.c", &[2]);
}

#[test]
fn remote_operations() {
    alone("memory.c");
    job("memory.c", &[1, 2, 3]);
}

#[test]
fn partial_transfers() {
    alone("partial.c");
    job("partial.c", &[2, 3]);
}

#[test]
fn parts_that_are_started_and_areas_that_are_pinned() {
    alone("started_parts.c");
    job("started_parts.c", &[2, 3]);
}

#[test]
fn copies() {
    alone("bcopy.c");
    job("bcopy.c", &[2, 3, 4]);
}

#[test]
fn pointers_and_chains() {
    alone("indirect.c");
    job("indirect.c", &[2, 3]);
}

#[test]
fn multicast() {
    alone("multicast.c");
    job("multicast.c", &[2, 3]);
}

#[test]
fn locks() {
    alone("locks.c");
    job("locks.c", &[2, 3]);
}

#[test]
fn messages_of_parts() {
    alone("matched_parts.c");
    job("matched_parts.c", &[2, 3]);
}

#[test]
fn queues() {
    alone("queues.c");
    job("queues.c", &[2, 4]);
}

#[test]
fn message_exchange() {
    alone("exchange.c");
    job("exchange.c", &[2, 3]);
}

#[test]
fn messages_by_each_engine() {
    alone("passing.c");
    job("passing.c", &[2, 3]);
}

#[test]
fn regions() {
    alone("regions.c");
    job("regions.c", &[2, 4]);
}

#[test]
fn barriers_in_two_halves() {
    alone("counting.c");
    job("counting.c", &[2, 3]);
}

#[test]
fn messages_by_key() {
    alone("matching.c");
    job("matching.c", &[2, 3]);
}

#[test]
fn transfers_beside_the_program() {
    alone("transfers.c");
    job("transfers.c", &[2, 3]);
}

#[test]
fn areas_by_id() {
    alone("areas.c");
    job("areas.c", &[2, 3]);
}

#[test]
fn areas_by_id_through_the_network_interface() {
    let program = compile_shared(&source("areas.c"), "-routed");
    succeed(
        patiently(&built().join("hikyaku")).args(["run", "-n", "2", "--"]).arg(&program).env("HIKYAKU_CROSS", "off"),
    );
}

/// valgrind runs a program whose buffers nobody but peers has written; without valgrind there is nothing to see.
#[test]
fn what_peers_write_is_defined_for_valgrind() {
    if !Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("not run: there is no valgrind");
        return;
    }
    let program = compile_shared(&source("undefined.c"), "-valgrind");
    // It reads all that it finds of lines and types, which takes most of the time, unless there is nothing.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("valgrind");
    std::fs::create_dir_all(&folder).unwrap();
    let library = folder.join("libhikyaku.so.0");
    succeed(Command::new("strip").arg("-g").arg("-o").arg(library).arg(built().join("libhikyaku.so")));
    let checked = |command: &mut Command, arguments: &[&str]| {
        let command = command.args(["valgrind", "-q", "--error-exitcode=9"]).arg(&program).args(arguments);
        let output = watchdog::output(command.env("LD_LIBRARY_PATH", &folder));
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let mut job = patiently(&built().join("hikyaku"));
    assert_eq!(checked(job.args(["run", "-n", "2", "--heap", "8M"]), &[]), (Some(0), String::new()));
    // It would notice.
    assert_eq!(checked(&mut patiently(Path::new("env")), &["nothing"]).0, Some(9));
}

#[test]
fn active_messages() {
    alone("messages.c");
    job("messages.c", &[2, 3]);
}

#[test]
fn collective_calls() {
    alone("collective.c");
    job("collective.c", &[1, 2, 3]);
}

#[test]
fn waiting() {
    alone("waiting.c");
    job("waiting.c", &[2, 3]);
}

#[test]
fn threads_have_ports() {
    alone("threads.c");
    job("threads.c", &[2]);
}

#[test]
fn the_last_port() {
    alone("ports.c");
}

#[test]
fn forks_are_no_ranks() {
    alone("forked.c");
    job("forked.c", &[2]);
}

#[test]
fn a_rank_that_ends_is_reported() {
    let program = compile_shared(&source("departing.c"), "-job");
    let run = |how: &str, calls: Option<&str>| {
        let mut command = patiently(&built().join("hikyaku"));
        command.args(["run", "-n", "3", "--on-death", "continue", "--"]).arg(&program).arg(how).args(calls);
        watchdog::output(&mut command)
    };
    let heard = |output: &Output| String::from_utf8_lossy(&output.stdout).matches("heard it").count();
    for calls in [None, Some("first-collective")] {
        let left = run("leave", calls);
        assert!(left.status.success() && heard(&left) == 2, "{left:?}");
        let died = run("die", calls);
        assert!(died.status.code() == Some(128 + 9) && heard(&died) == 2, "{died:?}");
    }
}

#[test]
fn ranks_that_disagree_are_told() {
    job("disagree.c", &[2, 3]);
}

#[test]
fn the_example_runs_with_pkg_config() {
    let mut flags = Command::new("pkg-config");
    flags.arg(format!("--define-variable=libdir={}", built().display())).args(["--cflags", "--libs", "hikyaku"]);
    let flags = succeed(flags.env("PKG_CONFIG_PATH", repository().join("pkgconfig")));
    let flags = String::from_utf8(flags.stdout).unwrap();
    let example = repository().join("examples/c/pingpong.c");
    let program = compile("gcc", &example, "", &flags.split_whitespace().collect::<Vec<_>>());
    let output = succeed(patiently(&built().join("hikyaku")).args(["run", "-n", "2", "--"]).arg(program));
    assert_eq!(String::from_utf8_lossy(&output.stdout).matches("us one way").count(), 5);
}
