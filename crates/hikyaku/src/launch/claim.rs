//! Which cores other jobs of this machine have left.
//!
//! A launcher takes a core for itself by binding a socket to a name that says its number. Such names (Linux calls them abstract) are
//! no files: nothing is left behind, and whichever way the launcher ends, the kernel gives them free. All users of a machine share
//! them, so whoever wants to can keep names from others; then jobs are not bound, which costs some speed and nothing else. Containers
//! with a network of their own have names of their own, and usually cores of their own.

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with};
use std::os::fd::OwnedFd;

/// Cores that are this job's as long as this exists.
#[derive(Debug)]
pub(super) struct Claims {
    /// The core, and its name.
    claimed: Vec<(usize, OwnedFd)>,
}

impl Claims {
    /// Takes the first `count` of these cores that nobody has; nothing if there are too few. Of two jobs that start at the same
    /// moment and do not both fit, each may find too few.
    pub fn take(cores: &[usize], count: usize) -> Option<Claims> {
        let free = cores.iter().filter_map(|core| Some((*core, claim(*core)?)));
        let claimed: Vec<_> = free.take(count).collect();
        (claimed.len() == count).then_some(Claims { claimed })
    }

    /// Takes all of these cores that nobody has.
    pub fn take_free(cores: &[usize]) -> Claims {
        Claims { claimed: cores.iter().filter_map(|core| Some((*core, claim(*core)?))).collect() }
    }

    /// Gives all free but these.
    pub fn keep(&mut self, cores: &[usize]) {
        self.claimed.retain(|(core, _)| cores.contains(core));
    }

    pub fn cores(&self) -> Vec<usize> {
        self.claimed.iter().map(|(core, _)| *core).collect()
    }
}

fn claim(core: usize) -> Option<OwnedFd> {
    let name = SocketAddrUnix::new_abstract_name(format!("hikyaku/core/{core}").as_bytes()).ok()?;
    let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None).ok()?;
    bind(&socket, &name).ok()?;
    Some(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_one_jobs_until_that_ends() {
        // Cores that no machine has: jobs that run beside this test do not matter.
        let cores = [70_001, 70_002, 70_003];
        let first = Claims::take(&cores, 2).unwrap();
        assert_eq!(first.cores(), [70_001, 70_002]);
        assert!(Claims::take(&cores, 2).is_none(), "one is left");
        assert_eq!(Claims::take(&cores, 1).unwrap().cores(), [70_003]);
        assert_eq!(Claims::take_free(&cores).cores(), [70_003]);
        drop(first);
        let mut all = Claims::take_free(&cores);
        all.keep(&[70_001, 70_003]);
        assert_eq!((all.cores(), Claims::take_free(&cores).cores()), (vec![70_001, 70_003], vec![70_002]));
        drop(all);
        assert_eq!(Claims::take(&cores, 3).unwrap().cores(), cores);
    }
}
