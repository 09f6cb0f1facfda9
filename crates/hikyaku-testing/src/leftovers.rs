//! What a job might leave behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Looks for what the jobs of one test leave behind. Other jobs on the machine do not disturb it: temporary files belong in a
/// folder of its own, and what this process, as the launcher, might put elsewhere carries its number.
#[derive(Debug)]
pub struct Watch {
    folder: PathBuf,
    before: Vec<String>,
}

impl Watch {
    /// With a new folder in `place`, such as the `CARGO_TARGET_TMPDIR` of tests.
    ///
    /// # Panics
    /// If there cannot be one.
    pub fn new(place: impl AsRef<Path>) -> Watch {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("temporary-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = place.as_ref().join(name);
        fs::create_dir(&folder).unwrap();
        Watch { folder, before: shared() }
    }

    /// The `TMPDIR` of the jobs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// # Panics
    /// If something was left behind.
    pub fn check(self) {
        assert_eq!(names_in(&self.folder), [""; 0], "left behind in TMPDIR");
        assert_eq!(shared(), self.before, "left behind in shared places");
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Files of ours in places that all jobs share. Jobs have nothing in /dev/shm, so nobody else puts anything of ours there.
fn shared() -> Vec<String> {
    let own = std::process::id().to_string();
    let mut found = files_in(&[Path::new("/dev/shm")]);
    let is_own = |name: &String| name.split(|c: char| !c.is_ascii_digit()).any(|number| number == own);
    found.extend(files_in(&[Path::new("/tmp")]).into_iter().filter(is_own));
    found
}

/// Files of ours in these folders.
///
/// # Panics
/// If there is no such folder.
pub fn files_in(folders: &[&Path]) -> Vec<String> {
    let names = folders.iter().flat_map(|folder| names_in(folder));
    let mut found: Vec<String> = names.filter(|name| name.contains("hikyaku")).collect();
    found.sort();
    found
}

fn names_in(folder: &Path) -> Vec<String> {
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    fs::read_dir(folder).unwrap().flatten().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_where_nobody_was() {
        Watch::new(std::env::temp_dir()).check();
    }

    #[test]
    #[should_panic(expected = "left behind in TMPDIR")]
    fn a_temporary_file_is_found() {
        let watch = Watch::new(std::env::temp_dir());
        fs::write(watch.folder().join("socket"), "").unwrap();
        watch.check();
    }

    #[test]
    fn only_what_is_ours_counts() {
        let folder = Watch::new(std::env::temp_dir());
        for name in ["hikyaku-2", "a-hikyaku-1", "other"] {
            fs::write(folder.folder().join(name), "").unwrap();
        }
        assert_eq!(files_in(&[folder.folder()]), ["a-hikyaku-1", "hikyaku-2"]);
    }
}
