//! Several threads by `ompl.h`: a C program linked with our own library, as its users would be.

use super::folder::Folder;
use super::{Request, Test, Values, blacs, mpi, process};
use crate::run::library_beside;
use std::ffi::OsString;
use std::process::Command;
use std::time::Duration;

const PROGRAM: &str = "ompl";
const SOURCES: [(&str, &str); 2] =
    [("ompl.h", include_str!("../../../../../include/ompl.h")), ("ompl.c", include_str!("../../../peers/ompl.c"))];
const REPETITIONS: usize = 4;

/// The longest that one number of threads may take.
const LIMIT: Duration = Duration::from_secs(60);

/// The program, compiled.
#[derive(Debug)]
pub struct Ompl {
    folder: Folder,
}

impl Ompl {
    /// Compiles it with the library that is beside this program.
    pub fn prepare() -> Result<Ompl, String> {
        let said = |error| format!("ompl.h was not measured: {error}; try `cargo build --release --workspace`");
        let library = library_beside("libhikyaku.so").map_err(said)?;
        let (compiler, folder) = (blacs::c_compiler()?, Folder::create()?);
        let mut search = OsString::from("-I");
        search.push(folder.path());
        let mut place = OsString::from("-Wl,-rpath,");
        place.push(library.parent().unwrap_or(folder.path()));
        let libraries = [search, library.into(), place, "-pthread".into()];
        mpi::compile_files(&compiler, &SOURCES, PROGRAM, &libraries, folder.path())?;
        Ok(Ompl { folder })
    }

    /// Measures with so many threads of each of two ranks.
    pub fn measure(&self, threads: usize, ports: usize, requests: &[Request]) -> Values {
        let hikyaku = match crate::this_program() {
            Ok(program) => program,
            Err(error) => return (Vec::new(), Some(error)),
        };
        let mut command = Command::new(hikyaku);
        command.args(["run", "-n", "2", "--"]).arg(self.folder.path().join(PROGRAM));
        command.args([threads.to_string(), REPETITIONS.to_string()]).env("HIKYAKU_PORTS", ports.to_string());
        command.args(requests.iter().filter(|it| it.test == Test::ThreadsPut).map(|request| request.bytes.to_string()));
        let finished = match process::Running::start(&mut command, self.folder.path()) {
            Ok(running) => running.finish(LIMIT),
            Err(error) => return (Vec::new(), Some(error)),
        };
        let (values, wrong) = mpi::parse_lines(&finished.output, requests);
        let failed = finished.success("the program of several threads with ompl.h").err();
        (values, failed.or(wrong))
    }
}
