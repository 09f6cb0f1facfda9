//! How many descriptors a launcher needs for its ranks. They find the limit as it was.

use crate::error::{Error, Result};
use crate::memory::limits::{open_descriptors, want_descriptors};
use rustix::process::{Resource, Rlimit, getrlimit};

/// Of each rank: its process, its socket, two pipes, and the program if it is run by a wrapper.
const OF_RANK: u64 = 5;
/// While a rank is started, and for everything else.
const OTHERS: u64 = 64;

/// Makes room for so many ranks; gives the limit that ranks are to find, if it has changed.
pub(super) fn make_room(ranks: usize) -> Result<Option<Rlimit>> {
    let more = OTHERS + OF_RANK * ranks as u64;
    let needed = open_descriptors() + more;
    if let Some(maximum) = getrlimit(Resource::Nofile).maximum.filter(|maximum| *maximum < needed) {
        return Err(Error::Invalid(format!(
            "{ranks} ranks on one host need {needed} descriptors, but this process may have {maximum} at most; raise the limit \
             (`ulimit -Hn {needed}` as root, or in /etc/security/limits.conf), or use more hosts"
        )));
    }
    want_descriptors(more)
}
