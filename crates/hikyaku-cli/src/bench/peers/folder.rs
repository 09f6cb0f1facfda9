//! A private temporary folder that goes away however this program ends.
//!
//! A shell keeps it: it waits for the end of a pipe that this process and the commands it has started hold, and removes the
//! folder then. Only then: a launcher that is ended with us still writes there while it takes its ranks down, and some make
//! the folder anew where it is gone. The shell is there before the folder, belongs to no group that a terminal signals,
//! and ignores what ends a whole session. If it is killed too, the next run finds a folder that nobody has locked.

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::FdFlags;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, process};

const PREFIX: &str = "hikyaku-peers-";

/// What the shell does. What does not go at once is still being filled by somebody who is about to end.
const KEEPER: &str = "trap '' HUP INT QUIT TERM; read -r nothing
    tries=0; until rm -rf -- \"$1\" 2>/dev/null || [ $((tries += 1)) -gt 100 ]; do sleep 0.1; done";

/// A private temporary folder, removed with everything in it when dropped, or when this process and its commands have ended.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    keeper: Option<Child>,
    /// The folder itself, locked: nobody takes it for left behind.
    _lock: OwnedFd,
}

impl Folder {
    pub fn create() -> Result<Folder, String> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let place = env::temp_dir();
        sweep(&place);
        loop {
            let name = format!("{PREFIX}{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let path = place.join(name);
            let refused = |error| format!("the temporary folder {} could not be made: {error}", path.display());
            let mut keeper = keeper(&path);
            let made = DirBuilder::new().mode(0o700).create(&path).and_then(|()| lock(&path));
            match made {
                Ok(Some(lock)) => return Ok(Folder { path, keeper, _lock: lock }),
                // Taken for left behind, between the two calls.
                Ok(None) => end(&mut keeper),
                Err(error) => {
                    end(&mut keeper);
                    return Err(refused(error));
                }
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Where it does not go, the keeper goes on trying.
        if fs::remove_dir_all(&self.path).is_ok() {
            end(&mut self.keeper);
        }
    }
}

/// A command that runs with this keeps its folder: to be called between fork and exec.
pub(super) fn hold() -> io::Result<()> {
    match alive() {
        Some((_, writer)) => Ok(rustix::io::fcntl_setfd(writer, FdFlags::empty())?),
        None => Ok(()),
    }
}

/// The pipe whose writer this process and its commands hold.
fn alive() -> Option<(BorrowedFd<'static>, BorrowedFd<'static>)> {
    static PIPE: OnceLock<Option<(OwnedFd, OwnedFd)>> = OnceLock::new();
    let pipe = PIPE.get_or_init(|| rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).ok());
    pipe.as_ref().map(|(reader, writer)| (reader.as_fd(), writer.as_fd()))
}

fn keeper(path: &Path) -> Option<Child> {
    let waits = alive()?.0.try_clone_to_owned().ok()?;
    let mut shell = Command::new("sh");
    shell.args(["-c", KEEPER, "sh"]).arg(path).process_group(0);
    shell.stdin(waits).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
}

fn end(keeper: &mut Option<Child>) {
    if let Some(keeper) = keeper {
        let _ = keeper.kill();
        let _ = keeper.wait();
    }
}

/// Takes a folder for this process, until the descriptor is closed; nothing if somebody else has it, or it is gone.
fn lock(path: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(folder) => folder,
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if flock(&folder, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(None);
    }
    let (locked, there) = (rustix::fs::fstat(&folder)?, fs::symlink_metadata(path));
    Ok(there.is_ok_and(|there| there.ino() == locked.st_ino).then_some(folder))
}

/// Removes what runs have left that were killed together with their keepers: folders of this user that nobody has locked.
fn sweep(place: &Path) {
    let user = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let is_named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let is_ours = is_named && entry.metadata().is_ok_and(|it| it.is_dir() && it.uid() == user);
        if is_ours && let Ok(Some(_lock)) = lock(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_has_locked_is_swept() {
        let here = Folder::create().unwrap();
        let place = here.path();
        let [left, used, other] =
            [format!("{PREFIX}1-0"), format!("{PREFIX}2-0"), "other".into()].map(|it| place.join(it));
        for folder in [&left, &used, &other] {
            fs::create_dir_all(folder.join("inside")).unwrap();
        }
        let user = lock(&used).unwrap().unwrap();
        sweep(place);
        assert_eq!([&left, &used, &other].map(|it| it.exists()), [false, true, true]);
        drop(user);
        sweep(place);
        assert!(!used.exists() && other.exists());
    }

    #[test]
    fn a_folder_goes_with_its_owner() {
        let folder = Folder::create().unwrap();
        let path = folder.path().to_owned();
        fs::write(path.join("file"), "").unwrap();
        assert!(lock(&path).unwrap().is_none());
        drop(folder);
        assert!(!path.exists());
    }
}
