//! What the head of a program or library says of it, in the format of the system (ELF, of 64 bits).

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A program or library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elf {
    /// For which processor.
    pub machine: u16,
    /// Whether it is loaded by the system's loader, which also loads what it is told to load before.
    pub is_loaded: bool,
}

const HEAD_BYTES: usize = 64;
const ENTRY_BYTES: usize = 56;
/// An entry that names the loader, and one that lists what the loader needs to know.
const INTERPRETER: u32 = 3;
const DYNAMIC: u32 = 2;

impl Elf {
    /// What is said of a file; nothing if it is none of these, a script say.
    pub fn of(path: &Path) -> Option<Elf> {
        let mut file = File::open(path).ok()?;
        let mut head = [0; HEAD_BYTES];
        file.read_exact(&mut head).ok()?;
        // The sign, 64 bits, the lowest byte first.
        if !head.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let half = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let table = u64::from_le_bytes(head[32..40].try_into().ok()?);
        let kind = |index: u16| -> Option<u32> {
            let mut entry = [0; ENTRY_BYTES];
            file.read_exact_at(&mut entry, table.checked_add(index as u64 * ENTRY_BYTES as u64)?).ok()?;
            Some(u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]))
        };
        let kinds: Vec<u32> = (0..half(56)).map_while(kind).collect();
        let is_library = kinds.contains(&DYNAMIC) && path.extension().is_some_and(|end| end == "so");
        Some(Elf { machine: half(18), is_loaded: kinds.contains(&INTERPRETER) || is_library })
    }
}

/// The file that the system starts for a program's name.
pub fn find(program: &Path, path: &std::ffi::OsStr) -> Option<std::path::PathBuf> {
    if program.components().count() > 1 || program.is_absolute() {
        return Some(program.to_owned());
    }
    std::env::split_paths(path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_known_and_others_are_not() {
        let this = Elf::of(&std::env::current_exe().unwrap()).unwrap();
        assert!(this.is_loaded && this.machine != 0);
        let shell = find(Path::new("sh"), &std::env::var_os("PATH").unwrap()).unwrap();
        assert_eq!(Elf::of(&shell), Some(this));
        assert_eq!(Elf::of(Path::new(env!("CARGO_MANIFEST_PATH"))), None);
        assert_eq!(Elf::of(Path::new("/no such file")), None);
        assert_eq!(find(Path::new("./sh"), "".as_ref()), Some("./sh".into()));
        assert_eq!(find(Path::new("sh"), "".as_ref()), None);
    }
}
