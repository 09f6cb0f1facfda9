//! Files of what each rank prints: `rank-0.out` and `rank-0.err` for rank 0, and so on, in one folder.

use super::shown::tell;
use crate::error::{Error, Result};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Two files for each rank: standard output and standard error.
pub(super) struct Files {
    files: Vec<Option<(PathBuf, File)>>,
    failures: Vec<String>,
}

impl Files {
    /// Makes the folder if it is missing, and empty files in it, so that what cannot be written is known before the job starts.
    pub fn create(folder: &Path, ranks: usize) -> Result<Files> {
        let cannot = |what: &Path, error| Error::Invalid(format!("cannot create {}: {error}", what.display()));
        std::fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
        let mut files = Vec::with_capacity(2 * ranks);
        for name in (0..ranks).flat_map(|rank| ["out", "err"].map(|kind| format!("rank-{rank}.{kind}"))) {
            let path = folder.join(name);
            let file = File::create(&path).map_err(|error| cannot(&path, error))?;
            files.push(Some((path, file)));
        }
        Ok(Files { files, failures: Vec::new() })
    }

    /// A file that cannot be written, as on a full disk, is given up and the user told; its rank goes on, since what it computes
    /// may be worth more than what it prints.
    pub fn write(&mut self, rank: usize, is_error: bool, bytes: &[u8]) {
        let place = &mut self.files[2 * rank + usize::from(is_error)];
        let Some((path, file)) = place else { return };
        if let Err(error) = file.write_all(bytes) {
            let failure = format!("cannot write {}: {error}; the rest of this output is lost", path.display());
            // If there is no standard error either, the failures below remain.
            tell(&format!("hikyaku: {failure}\n"));
            self.failures.push(failure);
            *place = None;
        }
    }

    /// What could not be written.
    pub fn finish(self) -> Vec<String> {
        self.failures
    }
}
