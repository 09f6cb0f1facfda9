//! Compiles the programs of `tests/c` and `tests/fortran` against the library and runs them as the ranks of jobs. They
//! check themselves.

mod communicators;
mod ends;
mod opened;
mod scalapack;
mod silent;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// A program that hangs is ended after this long.
const PATIENCE_SECONDS: &str = "1800";

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder with the library and `hikyaku`, which are built first: cargo builds for a test only what the test links to.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        // <target>/<profile>/deps/<this test>
        let test = std::env::current_exe().unwrap();
        let built = test.ancestors().nth(2).unwrap().to_owned();
        let profile = match built.file_name().unwrap().to_str().unwrap() {
            "debug" => "dev",
            other => other,
        };
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "-p", "hikyaku-blacs", "-p", "hikyaku-cli", "--profile", profile]);
        cargo.arg("--target-dir").arg(built.parent().unwrap()).current_dir(folder());
        // Not watched: it may have much to build, or wait for others that build.
        assert!(cargo.status().unwrap().success(), "{cargo:?}");
        built
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn succeed(command: &mut Command) -> Output {
    let output = hikyaku_testing::watchdog::output(command);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}{err}", output.status);
    output
}

fn compile(source: &str) -> PathBuf {
    compile_by(if source.ends_with(".c") { "gcc" } else { "gfortran" }, source)
}

fn compile_by(compiler: &str, source: &str) -> PathBuf {
    let source = folder().join("tests").join(source);
    // Tests run at the same time, and some use the same program.
    let (name, test) = (source.file_stem().unwrap().to_str().unwrap(), std::thread::current());
    let test = test.name().unwrap_or("test").replace("::", "-");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{test}"));
    let mut command = Command::new(compiler);
    command.args(["-O1", "-g", "-Wall", "-Werror", "-Wno-unused-function", "-o"]).arg(&program).arg(&source);
    command.arg(format!("-L{0}", built().display())).arg(format!("-Wl,-rpath,{}", built().display()));
    succeed(command.arg("-lhikyaku_blacs"));
    program
}

fn job(program: &Path, ranks: usize) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", PATIENCE_SECONDS]).arg(built().join("hikyaku"));
    command.args(["run", "-n", &ranks.to_string(), "--"]).arg(program);
    command
}

fn runs(source: &str, sizes: &[usize]) {
    let program = compile(source);
    for size in sizes {
        succeed(&mut job(&program, *size));
    }
}

#[test]
fn grids() {
    runs("c/grids.c", &[1, 2, 4, 5]);
}

#[test]
fn many_grids() {
    runs("c/many.c", &[1, 4]);
}

#[test]
fn messages() {
    runs("c/messages.c", &[1, 2, 3, 5]);
}

#[test]
fn combines() {
    runs("c/combines.c", &[1, 2, 3, 4, 6]);
}

#[test]
fn fortran() {
    runs("fortran/interface.f", &[1, 2, 4]);
}

#[test]
fn a_program_started_alone_is_a_grid_of_one() {
    succeed(&mut Command::new(compile("c/combines.c")));
}

#[test]
fn misuse_ends_the_job_and_says_why() {
    let program = compile("c/troubles.c");
    for (what, status, says) in [
        ("topology", 1, "BLACS ERROR 'Unknown topology 'x''\nfrom {0,0}, pnum=0, Contxt=0, in igebs2d."),
        ("scope", 1, "BLACS ERROR 'Unknown scope 'q''"),
        ("number", 1, "BLACS ERROR 'Unknown scope 'q''\nfrom {0,0}, pnum=0, Contxt=0, in KBRID."),
        ("gridexit", 1, "BLACS ERROR 'Trying to exit non-existent context -1'\nfrom {-1,-1}, pnum=0, Contxt=-1"),
        ("context", 1, "BLACS ERROR 'Invalid context handle: 77'"),
        ("destination", 1, "BLACS ERROR 'CDEST out of range; CDEST=3, NPCOL=3'"),
        ("source", 1, "BLACS ERROR 'RSRC out of range; RSRC=-1, NPROW=1'"),
        ("own", 1, "BLACS ERROR 'Node tries to recv its own broadcast'"),
        ("grid", 1, "BLACS ERROR 'Illegal grid (3 x 2), #procs=3'"),
        ("map", 1, "BLACS ERROR 'Illegal process 3 in the map"),
        ("handle", 1, "BLACS ERROR 'No system context corresponding to BLACS system context handle 12345'"),
        ("long", 1, "BLACS ERROR 'A message of 40 bytes is longer than the 12 bytes it is received into'\nfrom {0,1}"),
        (
            "rows",
            1,
            "BLACS ERROR 'Illegal dimensions of a matrix: M=-1, N=3'\nfrom {0,0}, pnum=0, Contxt=0, in igesd2d.",
        ),
        ("columns", 1, "BLACS ERROR 'Illegal dimensions of a matrix: M=1, N=-3'"),
        ("shape", 1, "3 x 1"),
        ("shape", 1, "makes this grid with"),
        ("smaller", 1, "makes this grid with"),
        ("order", 1, "makes this grid of other processes than this process does, or in another order'"),
        ("abort", 42, "{0,0}, pnum=0, Contxt=0, killed other procs, exiting with error #42."),
        ("exit", 7, ""),
    ] {
        let output = hikyaku_testing::watchdog::output(job(&program, 3).arg(what));
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(status), "{what}: {out}{err}");
        assert!(err.contains(says), "{what}: {err}");
        // What the rank that ended the job had printed is not lost.
        let ended = match what {
            "long" => "rank 1",
            // Whoever finds it out first.
            "shape" | "smaller" | "order" => "rank ",
            _ => "rank 0",
        };
        assert!(out.contains(ended) && out.contains("was here"), "{what}: {out}");
    }
}

/// Every line of the benchmark's program ran, and what it moved was right.
#[test]
fn the_benchmark_measures_the_library() {
    let mut bench = Command::new("timeout");
    bench.args(["--kill-after=10", PATIENCE_SECONDS]).arg(built().join("hikyaku"));
    let said = text(&succeed(bench.args(["bench", "--only", "blacs", "--no-peers"])).stdout);
    for row in [
        "8 B, one way",
        "16 MB in one piece",
        "a sub-matrix",
        "an upper triangle",
        "gridinfo",
        "gridinit",
        "sum) 8 KB, 4 ranks",
    ] {
        assert!(said.contains(row), "{row}: {said}");
    }
    assert!(!said.contains("note:"), "{said}");
}

/// The names of Netlib's BLACS, and nothing else that programs call.
#[test]
fn the_library_has_the_names_of_the_blacs() {
    let symbols = succeed(Command::new("nm").args(["-D", "--defined-only"]).arg(built().join("libhikyaku_blacs.so")));
    let exported: BTreeSet<String> =
        text(&symbols.stdout).lines().filter_map(|line| line.split_whitespace().nth(2)).map(str::to_owned).collect();
    let mut names: Vec<String> =
        "blacs_pinfo blacs_setup blacs_get blacs_set blacs_gridinit blacs_gridmap blacs_gridexit \
        blacs_gridinfo blacs_pnum blacs_pcoord blacs_barrier blacs_freebuff blacs_exit blacs_abort blacs2sys_handle \
        sys2blacs_handle free_blacs_system_handle ksendid krecvid kbsid kbrid dcputime00 dwalltime00"
            .split_whitespace()
            .map(str::to_owned)
            .collect();
    for letter in ["i", "s", "d", "c", "z"] {
        for call in ["gesd", "gerv", "gebs", "gebr", "trsd", "trrv", "trbs", "trbr", "gsum", "gamx", "gamn"] {
            names.push(format!("{letter}{call}2d"));
        }
    }
    let both = names.iter().flat_map(|name| [format!("C{name}"), format!("{name}_")]);
    // And one by which libraries are noticed that a program opens.
    let both = both.chain(["dlsym".to_owned()]);
    assert_eq!(exported, both.collect());
    assert_eq!(exported.len(), 157);
    let dynamic = succeed(Command::new("readelf").arg("-d").arg(built().join("libhikyaku_blacs.so")));
    assert!(text(&dynamic.stdout).contains("soname: [libhikyaku_blacs.so.0]"));
}
