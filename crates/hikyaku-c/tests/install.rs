//! `make install` into a clean folder, which is then moved: programs in C and Fortran are built and run from another one.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use support::{built, repository, succeed};

fn fresh(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).unwrap();
    folder
}

#[test]
fn what_is_installed_works_wherever_it_is_moved() {
    let (first, moved, elsewhere) = (fresh("installed"), fresh("moved").join("here"), fresh("elsewhere"));
    let mut make = Command::new("make");
    make.arg("install").arg(format!("PREFIX={}", first.display())).arg(format!("BUILD={}", built().display()));
    let cargo = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "-p", "hikyaku-blacs", "--profile"])
        .arg(if built().ends_with("debug") { "dev" } else { "release" })
        .arg("--target-dir")
        .arg(built().parent().unwrap())
        .current_dir(repository())
        .status();
    assert!(cargo.unwrap().success());
    succeed(make.current_dir(repository()));
    std::fs::rename(&first, &moved).unwrap();

    for file in [
        "lib/libhikyaku.so.0",
        "lib/libhikyaku.a",
        "lib/libhikyaku_blacs.so",
        "share/man/man1/hikyaku.1",
        "share/man/man1/hikyaku-run.1",
        "share/bash-completion/completions/hikyaku.bash",
        "share/zsh/site-functions/_hikyaku",
        "share/fish/vendor_completions.d/hikyaku.fish",
        "share/modulefiles/hikyaku/0.1.0",
    ] {
        assert!(moved.join(file).exists(), "{file} is missing");
    }

    let hikyaku = moved.join("bin/hikyaku");
    let flags = "$(pkg-config --cflags --libs hikyaku)";
    let sources = repository().join("examples");
    for (name, compile) in [
        ("sort", format!("gcc -O1 -o sort {0}/c/sort.c {flags}", sources.display())),
        (
            "heat",
            format!(
                "gfortran -O1 -o heat {}/include/fmpl.f90 {}/fortran/heat.f90 {flags}",
                moved.display(),
                sources.display()
            ),
        ),
    ] {
        let mut shell = Command::new("sh");
        shell.args(["-c", &compile]).current_dir(&elsewhere);
        succeed(shell.env("PKG_CONFIG_PATH", moved.join("lib/pkgconfig")));
        // From a third folder: no path to the library is relative.
        succeed(Command::new(&hikyaku).args(["run", "-n", "2"]).arg(elsewhere.join(name)).current_dir("/"));
    }
    let needed = succeed(Command::new("readelf").arg("-d").arg(elsewhere.join("sort")));
    assert!(String::from_utf8_lossy(&needed.stdout).contains("[libhikyaku.so.0]"));
}
