//! `make install` into a clean folder, which is then moved: programs in C, Fortran and Rust are built and run from another one.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use support::{built, repository, succeed};

fn fresh(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).unwrap();
    folder
}

fn profile() -> &'static str {
    if built().ends_with("debug") { "dev" } else { "release" }
}

/// Where everything was moved after it was installed elsewhere.
fn installed() -> &'static Path {
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let (first, moved) = (fresh("installed"), fresh("moved").join("here"));
        let cargo = Command::new(env!("CARGO"))
            // With the program, as other tests do: for the library alone, what it rests on would be built once more.
            .args(["build", "--quiet", "-p", "hikyaku-blacs", "-p", "hikyaku-cli"])
            .args(["--profile", profile(), "--target-dir"])
            .arg(built().parent().unwrap())
            .current_dir(repository())
            .status();
        assert!(cargo.unwrap().success());
        let mut make = Command::new("make");
        make.arg("install").arg(format!("PREFIX={}", first.display())).arg(format!("BUILD={}", built().display()));
        succeed(make.current_dir(repository()));
        std::fs::rename(&first, &moved).unwrap();
        moved
    })
}

/// The libraries that a program or library asks for, and its own name.
fn dynamic(file: &Path) -> String {
    String::from_utf8(succeed(Command::new("readelf").arg("-d").arg(file)).stdout).unwrap()
}

#[test]
fn everything_is_installed() {
    for file in [
        "lib/libhikyaku.so",
        "lib/libhikyaku.so.0",
        "lib/libhikyaku.so.0.1.0",
        "lib/libhikyaku.a",
        "lib/libhikyaku_blacs.so",
        "lib/libhikyaku_blacs.so.0",
        "lib/libhikyaku_blacs.so.0.1.0",
        "share/man/man1/hikyaku.1",
        "share/man/man1/hikyaku-run.1",
        "share/bash-completion/completions/hikyaku.bash",
        "share/zsh/site-functions/_hikyaku",
        "share/fish/vendor_completions.d/hikyaku.fish",
        "share/modulefiles/hikyaku/0.1.0",
    ] {
        assert!(installed().join(file).exists(), "{file} is missing");
    }
    for library in ["libhikyaku.so", "libhikyaku_blacs.so"] {
        let own_name = format!("soname: [{library}.0]");
        assert!(dynamic(&installed().join("lib").join(library)).contains(&own_name), "{library}");
    }
    let page = std::fs::read_to_string(installed().join("share/man/man1/hikyaku-run.1")).unwrap();
    assert!(page.contains("\\-\\-output"), "the man page has the options of the program");
}

#[test]
fn programs_in_c_and_fortran_work_wherever_it_was_moved() {
    let (prefix, elsewhere, sources) = (installed(), fresh("elsewhere"), repository().join("examples"));
    let flags = "$(pkg-config --cflags --libs hikyaku)";
    for (name, compile) in [
        ("sort", format!("gcc -O1 -o sort {0}/c/sort.c {flags}", sources.display())),
        (
            "heat",
            format!(
                "gfortran -O1 -o heat {}/include/fmpl.f90 {}/fortran/heat.f90 {flags}",
                prefix.display(),
                sources.display()
            ),
        ),
        (
            "rod",
            format!(
                "gfortran -O1 -o rod {}/include/hikyaku.f90 {}/fortran/rod.f90 {flags}",
                prefix.display(),
                sources.display()
            ),
        ),
    ] {
        let mut shell = Command::new("sh");
        shell.args(["-c", &compile]).current_dir(&elsewhere);
        succeed(shell.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")));
        // From a third folder: no path to the library is relative.
        let hikyaku = prefix.join("bin/hikyaku");
        succeed(Command::new(hikyaku).args(["run", "-n", "2"]).arg(elsewhere.join(name)).current_dir("/"));
    }
    assert!(dynamic(&elsewhere.join("sort")).contains("[libhikyaku.so.0]"));
}

#[test]
fn the_module_file_is_enough_to_build_and_run() {
    const INIT: &str = "/usr/share/modules/init/bash";
    if !Path::new(INIT).exists() {
        return eprintln!("not tested: there is no {INIT} (environment-modules)");
    }
    let elsewhere = fresh("by-module");
    let script = format!(
        "set -e; . {INIT}; module use {}/share/modulefiles; module load hikyaku; command -v hikyaku
         gcc -O1 -o sort {}/examples/c/sort.c -lhikyaku; hikyaku run -n 2 ./sort; man -w hikyaku-run
         module unload hikyaku; ! command -v hikyaku",
        installed().display(),
        repository().display()
    );
    let clean = "/usr/local/bin:/usr/bin:/bin";
    let mut shell = Command::new("bash");
    let output = succeed(shell.args(["-c", &script]).current_dir(&elsewhere).env("PATH", clean).env_remove("MANPATH"));
    let text = String::from_utf8(output.stdout).unwrap();
    for found in ["bin/hikyaku", "share/man/man1/hikyaku-run.1"] {
        assert!(text.lines().any(|line| Path::new(line) == installed().join(found)), "{found} is not in {text}");
    }
}

/// As somebody would who has the package of the library and the installed program: no file of the repository is needed.
#[test]
fn a_program_in_rust_is_built_from_the_package() {
    let (elsewhere, packages) = (fresh("in-rust"), fresh("packages"));
    let mut package = Command::new(env!("CARGO"));
    package.args(["package", "--quiet", "-p", "hikyaku", "--no-verify", "--allow-dirty", "--offline", "--target-dir"]);
    succeed(package.arg(&packages).current_dir(repository()));
    let archive = packages.join("package/hikyaku-0.1.0.crate");
    succeed(Command::new("tar").arg("xzf").arg(archive).current_dir(&elsewhere));

    let program = elsewhere.join("program");
    std::fs::create_dir_all(program.join("src")).unwrap();
    let manifest = "[package]\nname = \"program\"\nedition = \"2024\"\n\n[workspace]\n\n\
                    [dependencies]\nhikyaku = { path = \"../hikyaku-0.1.0\" }\n";
    std::fs::write(program.join("Cargo.toml"), manifest).unwrap();
    std::fs::copy(repository().join("Cargo.lock"), program.join("Cargo.lock")).unwrap();
    let ring = repository().join("examples/rust/ring.rs");
    std::fs::copy(ring, program.join("src/main.rs")).unwrap();
    // What the library needs was built for these tests too. The library itself is built without optimisation, which is quick.
    let quickly = format!("profile.{}.package.hikyaku.opt-level=0", profile());
    let built = built().parent().unwrap();
    let cargo = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--profile", profile(), "--config", &quickly, "--target-dir"])
        .arg(built)
        .current_dir(&program)
        .status();
    assert!(cargo.unwrap().success());
    let program = support::built().join("program");
    succeed(
        Command::new(installed().join("bin/hikyaku"))
            .args(["run", "-n", "2"])
            .arg(program)
            .args(["1000", "10"])
            .current_dir("/"),
    );
}
