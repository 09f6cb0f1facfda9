//! How many descriptors a launcher needs for its ranks, and how it gets them.
//!
//! Systems let a program open 1,024 files and more if it asks for more, because old programs cannot handle more. A launcher can, and asks.
//! Its ranks find the limit as it was.

use crate::error::{Error, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Of each rank: its process, its socket, two pipes, and the program if it is run by a wrapper.
const OF_RANK: u64 = 5;
/// While a rank is started, and for everything else.
const OTHERS: u64 = 64;

/// Makes room for so many ranks; gives the limit that ranks are to find, if it has changed.
pub(super) fn make_room(ranks: usize) -> Result<Option<Rlimit>> {
    let before = getrlimit(Resource::Nofile);
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count) as u64;
    let needed = open + OTHERS + OF_RANK * ranks as u64;
    if before.current.is_none_or(|current| current >= needed) {
        return Ok(None);
    }
    if let Some(maximum) = before.maximum.filter(|maximum| *maximum < needed) {
        return Err(Error::Invalid(format!(
            "{ranks} ranks on one host need {needed} descriptors, but this process may have {maximum} at most; raise the limit \
             (`ulimit -Hn {needed}` as root, or in /etc/security/limits.conf), or use more hosts"
        )));
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(needed), ..before })
        .map_err(|e| Error::system("setrlimit", e))?;
    Ok(Some(before))
}
