//! Compiles the programs of `tests/c` against the header and the library, and runs them: alone, and as the ranks of
//! jobs. They check themselves; see `check.h`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// A program that hangs is ended after this long.
const PATIENCE_SECONDS: &str = "120";

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn repository() -> PathBuf {
    crate_folder().join("../..").canonicalize().unwrap()
}

/// The folder with `libhikyaku.so`, `libhikyaku.a` and `hikyaku`, which are built first: cargo builds for a test only
/// what the test links to.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        // <target>/<profile>/deps/<this test>
        let test = std::env::current_exe().unwrap();
        let folder = test.ancestors().nth(2).unwrap().to_owned();
        let profile = match folder.file_name().unwrap().to_str().unwrap() {
            "debug" => "dev",
            other => other,
        };
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "-p", "hikyaku-c", "-p", "hikyaku-cli", "--profile", profile]);
        cargo.arg("--target-dir").arg(folder.parent().unwrap()).current_dir(repository());
        succeed(&mut cargo);
        folder
    })
}

fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    output
}

fn source(name: &str) -> PathBuf {
    crate_folder().join("tests/c").join(name)
}

/// Compiles a program; `suffix` tells several of one source apart.
fn compile(compiler: &str, source: &Path, suffix: &str, libraries: &[&str]) -> PathBuf {
    let name = format!("{}{suffix}", source.file_stem().unwrap().to_str().unwrap());
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut command = Command::new(compiler);
    command.args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"]).arg(&program).arg(source);
    command.arg("-I").arg(repository().join("include")).args(libraries);
    succeed(&mut command);
    program
}

fn shared_library() -> Vec<String> {
    let folder = built().display();
    vec![format!("-L{folder}"), format!("-Wl,-rpath,{folder}"), "-lhikyaku".into()]
}

fn compile_shared(source: &Path, suffix: &str) -> PathBuf {
    let libraries = shared_library();
    compile("gcc", source, suffix, &libraries.iter().map(String::as_str).collect::<Vec<_>>())
}

fn patiently(program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", PATIENCE_SECONDS]).arg(program);
    command
}

fn alone(name: &str) {
    succeed(&mut patiently(&compile_shared(&source(name), "-alone")));
}

fn job(name: &str, sizes: &[usize]) {
    let program = compile_shared(&source(name), "-job");
    for size in sizes {
        succeed(patiently(&built().join("hikyaku")).args(["run", "-n", &size.to_string(), "--"]).arg(&program));
    }
}

#[test]
fn the_header_is_c99_and_cpp() {
    for (compiler, language, standard) in
        [("gcc", "c", "-std=c99"), ("gcc", "c", "-std=c17"), ("g++", "c++", "-std=c++98"), ("g++", "c++", "-std=c++17")]
    {
        let mut command = Command::new(compiler);
        command.args(["-x", language, standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-long-long"]);
        succeed(command.arg("-fsyntax-only").arg(repository().join("include/hikyaku.h")));
    }
}

#[test]
fn cpp_programs_link() {
    let libraries = shared_library();
    let libraries: Vec<&str> = libraries.iter().map(String::as_str).collect();
    succeed(&mut patiently(&compile("g++", &source("header.cc"), "", &libraries)));
}

/// All `name = number` of codes in a text.
fn codes(text: &str) -> BTreeSet<(String, i32)> {
    let number = |text: &str| text.split([',', ' ']).next()?.trim().parse().ok();
    let code = |line: &str| {
        let (name, value) = line.trim().split_once(" = ")?;
        let is_code = name.starts_with("HK_ERR_") || name == "HK_BUSY" || name == "HK_SUCCESS";
        is_code.then(|| Some((name.to_owned(), number(value)?)))?
    };
    text.lines().filter_map(code).collect()
}

#[test]
fn header_and_library_agree() {
    let header = std::fs::read_to_string(repository().join("include/hikyaku.h")).unwrap();
    let library = std::fs::read_to_string(crate_folder().join("src/error.rs")).unwrap();
    assert!(codes(&header).len() == 29, "{:?}", codes(&header));
    assert_eq!(codes(&header), codes(&library));
    assert!(header.contains(&format!("#define HK_VERSION \"{}\"", env!("CARGO_PKG_VERSION"))));
    let package = std::fs::read_to_string(repository().join("pkgconfig/hikyaku.pc")).unwrap();
    assert!(package.contains(&format!("Version: {}\n", env!("CARGO_PKG_VERSION"))));

    // Declared: every name before a parenthesis, outside of comments.
    let code: String = header.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, code)| code)).collect();
    let before_parenthesis = |part: &str| {
        let name = part.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        name.starts_with("hk_").then(|| name.to_owned())
    };
    let mut declared: BTreeSet<String> = code.split('(').filter_map(before_parenthesis).collect();
    declared.remove("hk_handler");
    let symbols = succeed(Command::new("nm").args(["-D", "--defined-only"]).arg(built().join("libhikyaku.so")));
    let symbols = String::from_utf8(symbols.stdout).unwrap();
    let exported: BTreeSet<String> =
        symbols.lines().filter_map(|line| Some(line.split_whitespace().nth(2)?.to_owned())).collect();
    assert_eq!(declared, exported);
}

#[test]
fn programs_know_the_library_by_its_name() {
    let dynamic = succeed(Command::new("readelf").arg("-d").arg(built().join("libhikyaku.so")));
    assert!(String::from_utf8_lossy(&dynamic.stdout).contains("soname: [libhikyaku.so]"));
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

#[test]
fn active_messages() {
    alone("messages.c");
    job("messages.c", &[2, 3]);
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
    let run = |how: &str| {
        let mut command = patiently(&built().join("hikyaku"));
        command.args(["run", "-n", "3", "--on-death", "continue", "--"]).arg(&program).arg(how).output().unwrap()
    };
    let heard = |output: &Output| String::from_utf8_lossy(&output.stdout).matches("heard it").count();
    let left = run("leave");
    assert!(left.status.success() && heard(&left) == 2, "{left:?}");
    let died = run("die");
    assert!(died.status.code() == Some(128 + 9) && heard(&died) == 2, "{died:?}");
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
