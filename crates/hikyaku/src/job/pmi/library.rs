//! Finding the PMIx library while the program runs: a build needs none, and the launcher's own fits the launcher.

use super::unusable;
use crate::error::Result;
use rustix::process::Pid;
use std::ffi::{CStr, CString, c_void};
use std::ptr::NonNull;

/// Its name in every PMIx since version 2.
const NAME: &CStr = c"libpmix.so.2";
/// How many processes there may be between the launcher and this one (shells, debuggers).
const ANCESTORS_MAX: usize = 8;

/// A loaded library, which stays.
pub struct Library(NonNull<c_void>);

impl Library {
    /// The one that is loaded already (by MPI), else the one the launcher uses, else one by name.
    pub fn find() -> Result<Library> {
        let loaded = open(NAME, libc::RTLD_NOLOAD);
        let launchers = || launchers_library().and_then(|path| open(&path, 0));
        loaded.or_else(launchers).or_else(|| open(NAME, 0)).ok_or_else(|| {
            let name = NAME.to_string_lossy();
            unusable("PMIx", format!("{name} cannot be loaded (add its folder to LD_LIBRARY_PATH)"))
        })
    }

    /// The address of a function.
    pub fn function(&self, name: &CStr) -> Result<NonNull<c_void>> {
        // SAFETY: a live handle and a terminated name.
        let found = unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) };
        NonNull::new(found).ok_or_else(|| unusable("PMIx", format!("its library lacks {}", name.to_string_lossy())))
    }
}

fn open(path: &CStr, flags: libc::c_int) -> Option<Library> {
    // SAFETY: a terminated name; what runs at loading is the library's own initialisation.
    NonNull::new(unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | flags) }).map(Library)
}

/// The PMIx library that the nearest ancestor of this process has mapped.
fn launchers_library() -> Option<CString> {
    let mut process = rustix::process::getppid();
    for _ in 0..ANCESTORS_MAX {
        let folder = format!("/proc/{}", process?.as_raw_pid());
        let maps = std::fs::read_to_string(format!("{folder}/maps")).ok()?;
        if let Some(path) = library_in(&maps) {
            return CString::new(path).ok();
        }
        process = parent_in(&std::fs::read_to_string(format!("{folder}/stat")).ok()?);
    }
    None
}

fn library_in(maps: &str) -> Option<&str> {
    let paths = maps.lines().filter_map(|line| line.find('/').map(|start| &line[start..]));
    let mut libraries = paths.filter(|path| path.rsplit('/').next().is_some_and(|name| name.starts_with("libpmix.so")));
    libraries.next()
}

/// The parent in `/proc/<process>/stat`; the program's name before it is in parentheses, and may contain some.
fn parent_in(stat: &str) -> Option<Pid> {
    let (_, after_name) = stat.rsplit_once(')')?;
    Pid::from_raw(after_name.split_whitespace().nth(1)?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_in_a_map() {
        let maps = "7f00-7f01 r--p 00000000 fe:00 12  /usr/lib/openmpi3/mca_pmix_ext3x.so\n\
                    7f02-7f03 r-xp 00000000 00:00 0 \n\
                    7f04-7f05 r-xp 00001000 fe:00 13                         /opt/my mpi/lib/libpmix.so.2.6.2\n";
        assert_eq!(library_in(maps), Some("/opt/my mpi/lib/libpmix.so.2.6.2"));
        assert_eq!(library_in("7f00-7f01 r--p 00000000 fe:00 12  /usr/lib/libpmi.so.1\n"), None);
    }

    #[test]
    fn the_parent_is_found_whatever_the_program_is_called() {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        assert_eq!(parent_in(&stat), rustix::process::getppid());
        assert_eq!(parent_in("12 (a) b (c)) S 7 12 12"), Pid::from_raw(7));
        assert_eq!(parent_in("12 (a"), None);
    }
}
