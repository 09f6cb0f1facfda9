//! Compiling programs of other languages against the library, and running them: alone, and as the ranks of jobs.

// No test uses all of it.
#![allow(dead_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// A program that hangs is ended after this long.
const PATIENCE_SECONDS: &str = "1800";

pub fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn repository() -> PathBuf {
    crate_folder().join("../..").canonicalize().unwrap()
}

/// The folder with `libhikyaku.so`, `libhikyaku.a` and `hikyaku`, which are built first: cargo builds for a test only
/// what the test links to.
pub fn built() -> &'static Path {
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
        // Not watched: it may have much to build, or wait for others that build.
        assert!(cargo.status().unwrap().success(), "{cargo:?}");
        folder
    })
}

pub fn succeed(command: &mut Command) -> Output {
    let output = hikyaku_testing::watchdog::output(command);
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

pub fn source(name: &str) -> PathBuf {
    crate_folder().join("tests/c").join(name)
}

/// Compiles a program; `suffix` tells several of one source apart.
pub fn compile(compiler: &str, source: &Path, suffix: &str, libraries: &[&str]) -> PathBuf {
    let name = format!("{}{suffix}", source.file_stem().unwrap().to_str().unwrap());
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut command = Command::new(compiler);
    command.args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"]).arg(&program).arg(source);
    command.arg("-I").arg(repository().join("include")).args(libraries);
    succeed(&mut command);
    program
}

pub fn shared_library() -> Vec<String> {
    let folder = built().display();
    vec![format!("-L{folder}"), format!("-Wl,-rpath,{folder}"), "-lhikyaku".into()]
}

pub fn compile_shared(source: &Path, suffix: &str) -> PathBuf {
    let libraries = shared_library();
    compile("gcc", source, suffix, &libraries.iter().map(String::as_str).collect::<Vec<_>>())
}

pub fn patiently(program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", PATIENCE_SECONDS]).arg(program);
    command
}

pub fn alone(name: &str) {
    succeed(&mut patiently(&compile_shared(&source(name), "-alone")));
}

pub fn job(name: &str, sizes: &[usize]) {
    let program = compile_shared(&source(name), "-job");
    for size in sizes {
        succeed(patiently(&built().join("hikyaku")).args(["run", "-n", &size.to_string(), "--"]).arg(&program));
    }
}

/// All `name = number` of codes in a text.
pub fn codes(text: &str) -> BTreeSet<(String, i32)> {
    let number = |text: &str| text.split([',', ' ', ')', ';']).next()?.trim().parse().ok();
    let code = |line: &str| {
        let line = line.trim().trim_start_matches("parameter (").trim_start_matches("integer, parameter :: ");
        let (name, value) = line.split_once(" = ").or(line.split_once('='))?;
        let name = name.trim();
        let is_code = name.contains("_ERR_") || name == "HK_BUSY" || name.ends_with("_SUCCESS");
        is_code.then(|| Some((name.to_owned(), number(value)?)))?
    };
    text.lines().filter_map(code).collect()
}

pub fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(repository().join(path)).unwrap()
}

/// The symbols of the shared library that programs can use.
pub fn exported(starts_with: &str) -> BTreeSet<String> {
    let symbols = succeed(Command::new("nm").args(["-D", "--defined-only"]).arg(built().join("libhikyaku.so")));
    let symbols = String::from_utf8(symbols.stdout).unwrap();
    let names = symbols.lines().filter_map(|line| line.split_whitespace().nth(2));
    names.filter(|name| name.starts_with(starts_with)).map(str::to_owned).collect()
}

/// A header without its comments.
pub fn without_comments(header: &str) -> String {
    header.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, code)| code)).collect()
}

/// Every name before a parenthesis that begins so.
pub fn declared(header: &str, starts_with: &str) -> BTreeSet<String> {
    let before_parenthesis = |part: &str| {
        let name = part.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        name.starts_with(starts_with).then(|| name.to_owned())
    };
    without_comments(header).split('(').filter_map(before_parenthesis).collect()
}

/// `name = number` of the constants of a Fortran file, in lower case.
pub fn fortran_constants(text: &str) -> BTreeMap<String, i32> {
    let constant = |line: &str| {
        let line = line.trim().trim_start_matches("parameter (").trim_start_matches("integer, parameter");
        let line = line.trim_start_matches(", public").trim_start_matches(" :: ");
        let (name, value) = line.split_once('=')?;
        Some((name.trim().to_lowercase(), value.trim().trim_end_matches(')').parse().ok()?))
    };
    text.lines().filter_map(constant).collect()
}

/// Compiles a module of `include`; gives its object file, beside which its description lies.
pub fn compile_module(name: &str, standard: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fortran").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let object = folder.join(name).with_extension("o");
    let mut command = Command::new("gfortran");
    command.args([standard, "-O2", "-Wall", "-Wextra", "-Werror", "-c", "-J"]).arg(&folder);
    succeed(command.arg("-o").arg(&object).arg(repository().join("include").join(name).with_extension("f90")));
    object
}

/// Compiles a Fortran program with a module, given by its object file.
pub fn compile_fortran(module: &Path, source: &Path, flags: &[&str]) -> PathBuf {
    let folder = module.parent().unwrap();
    let program = folder.join(source.file_stem().unwrap());
    let mut command = Command::new("gfortran");
    command.args(["-O2", "-Wall", "-Wextra", "-Werror"]).args(flags).arg("-I").arg(folder).arg("-J").arg(folder);
    command.arg("-I").arg(repository().join("include")).arg("-o").arg(&program).arg(source).arg(module);
    succeed(command.args(shared_library()));
    program
}

/// Runs a program as it is, and as jobs of so many ranks.
pub fn run_alone_and_as_jobs(program: &Path, sizes: &[&str]) {
    succeed(&mut patiently(program));
    for size in sizes {
        succeed(patiently(&built().join("hikyaku")).args(["run", "-n", size, "--"]).arg(program));
    }
}
