//! Whether a program is one for this kind of machine. The system says no to others, and whoever starts programs by their names takes that
//! for a script without a first line, and has the shell read it.

use crate::error::{Error, Result};
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The beginning of a program: what it is, and for which processor.
const HEADER_BYTES: usize = 20;
const MAGIC: &[u8] = b"\x7fELF";

/// Fails if the program is one for another kind of processor, and nothing on this machine runs those.
pub(super) fn check(program: &OsStr) -> Result<()> {
    let Some(path) = find(program) else { return Ok(()) };
    let (Some(theirs), Some(ours)) = (header(&path), header(Path::new("/proc/self/exe"))) else { return Ok(()) };
    if !theirs.starts_with(MAGIC) || kind(&theirs) == kind(&ours) || runs(&theirs, &ours) || has_emulators() {
        return Ok(());
    }
    Err(Error::CannotStart {
        program: path.display().to_string(),
        reason: "it is built for another kind of processor than this machine has; build it here, or for this one"
            .into(),
        exists: true,
    })
}

/// The file that the name of a program means, as the system finds it.
fn find(program: &OsStr) -> Option<PathBuf> {
    if program.as_encoded_bytes().contains(&b'/') {
        return Some(program.into());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

fn header(path: &Path) -> Option<[u8; HEADER_BYTES]> {
    let file =
        std::fs::File::open(path).ok().filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()))?;
    let mut header = [0; HEADER_BYTES];
    (&file).read_exact(&mut header).ok()?;
    Some(header)
}

/// The size of addresses, the order of bytes, and the processor.
fn kind(header: &[u8; HEADER_BYTES]) -> [u8; 4] {
    [header[4], header[5], header[18], header[19]]
}

/// Processors that run programs of an older kind, too.
fn runs(theirs: &[u8; HEADER_BYTES], ours: &[u8; HEADER_BYTES]) -> bool {
    let number = |header: &[u8; HEADER_BYTES]| u16::from_ne_bytes([header[18], header[19]]);
    const I386: u16 = 3;
    const X86_64: u16 = 62;
    const ARM: u16 = 40;
    const AARCH64: u16 = 183;
    matches!((number(theirs), number(ours)), (I386, X86_64) | (X86_64, X86_64) | (ARM, AARCH64))
}

/// Whether the system was told of programs that run those of other processors.
fn has_emulators() -> bool {
    let entries = std::fs::read_dir("/proc/sys/fs/binfmt_misc").into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).any(|name| name != "register" && name != "status")
}
