//! Libraries with BLACS of their own that a program opens while it runs, by `dlopen`: whatever it finds in them comes to the BLACS
//! of this library.

use crate::{PATIENCE_SECONDS, built, folder, succeed, text};
use std::path::Path;
use std::process::Command;

const SCALAPACK: &str = "libscalapack-openmpi.so.2.2";

/// Four ranks of a program in Python.
fn four(python: &Path, arguments: &[&str]) -> String {
    let mut run = Command::new("timeout");
    run.args(["--kill-after=10", PATIENCE_SECONDS]).arg(built().join("hikyaku"));
    run.args(["run", "--blacs", "-n", "4", "--"]).arg(python).args(arguments).env("OMP_NUM_THREADS", "1");
    text(&succeed(run.env("OPENBLAS_NUM_THREADS", "1")).stdout)
}

fn program(name: &str) -> String {
    folder().join("tests/python").join(name).to_str().unwrap().to_owned()
}

#[test]
fn scalapack_opened_from_python() {
    for flags in [&[][..], &["RTLD_LAZY", "RTLD_GLOBAL"], &["RTLD_NOW", "RTLD_DEEPBIND"]] {
        let said = four(Path::new("python3"), &[&[&*program("opened.py"), SCALAPACK], flags].concat());
        assert_eq!(said.matches("solved by process").count(), 4, "{flags:?}: {said}");
    }
}

#[test]
fn pyscalapack_as_it_is() {
    let python = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pyscalapack");
    if !python.join("ready").exists() {
        succeed(Command::new("python3").args(["-m", "venv"]).arg(&python));
        succeed(Command::new(python.join("bin/pip")).args(["install", "--quiet", "PyScalapack==0.3.17", "numpy"]));
        std::fs::write(python.join("ready"), "").unwrap();
    }
    let said = four(&python.join("bin/python"), &[&program("pyscalapack.py"), SCALAPACK]);
    assert_eq!(said.matches("right at process").count(), 4, "{said}");
}

/// Some distributions link all libraries like this.
#[test]
fn a_library_whose_calls_of_its_own_blacs_stay_inside() {
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libbound.so");
    let mut compile = Command::new("gcc");
    compile.args(["-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-Wl,-Bsymbolic-functions", "-o"]).arg(&library);
    succeed(compile.arg(folder().join("tests/c/bound.c")));
    let library = library.canonicalize().unwrap();
    let look = format!(
        "from ctypes import CDLL; bound = CDLL('{}'); \
         assert (bound.processes(), bound.Cksendid(), bound.finds_itself()) == (4, 9977, 1)",
        library.display()
    );
    four(Path::new("python3"), &["-c", &look]);
}
