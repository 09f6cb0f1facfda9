//! Where a rank finds its launcher if a wrapper has closed the descriptor that it was given, as Python's `subprocess` does: a socket with
//! a name that is no file. The name is in the rank's environment, and a key. Only processes of the same user that know it are let in.

use crate::job::wire::{self, Call};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::os::fd::{AsFd, OwnedFd};

/// So many may have come and not yet said who they are; whoever comes then takes the place of the first.
const CALLERS_MAX: usize = 32;

/// A socket that ranks may come to.
pub(super) struct Door {
    pub socket: OwnedFd,
    name: String,
    /// Only ranks know it: names are no secret.
    key: u64,
    /// Those who have come and have not said who they are, each at its place.
    callers: [Option<OwnedFd>; CALLERS_MAX],
    next: usize,
}

impl Door {
    /// Opens one; nothing where the system has no such names.
    pub fn open() -> Option<Door> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).ok()?;
        let name = format!("hikyaku/door/{:016x}", crate::ni::random().ok()?);
        rustix::net::bind(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes()).ok()?).ok()?;
        rustix::net::listen(&socket, 128).ok()?;
        Some(Door { socket, name, key: crate::ni::random().ok()?, callers: [const { None }; CALLERS_MAX], next: 0 })
    }

    /// What the environment of a rank says: the name of the door, which rank of this host it is, and the key.
    pub fn address(&self, local: usize) -> String {
        wire::door_address(&self.name, local, self.key)
    }

    /// Lets in whoever stands at the door.
    pub fn admit(&mut self) {
        // Nobody who says nothing is waited for.
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        while let Ok(caller) = rustix::net::accept_with(&self.socket, flags) {
            if wire::check_user(&caller).is_ok() {
                self.callers[self.next] = Some(caller);
                self.next = (self.next + 1) % CALLERS_MAX;
            }
        }
    }

    /// Those who have come and have not said who they are, with their places.
    pub fn callers(&self) -> impl Iterator<Item = (usize, &OwnedFd)> {
        self.callers.iter().enumerate().filter_map(|(index, caller)| Some((index, caller.as_ref()?)))
    }

    /// Asks a caller which rank of this host it is; nothing if it says no such thing.
    pub fn ask(&mut self, index: usize) -> Option<(usize, OwnedFd)> {
        let caller = self.callers.get_mut(index)?.take()?;
        let call = wire::receive::<Call>(caller.as_fd()).ok()??.0;
        call.local(self.key).map(|local| (local, caller))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, Result};

    #[test]
    fn callers_say_who_they_are_or_are_sent_away() {
        let mut door = Door::open().unwrap();
        let rank = wire::call(&door.address(3)).unwrap();
        let stranger = wire::call(&door.address(4)).unwrap();
        door.admit();
        assert_eq!(door.callers().count(), 2);
        assert_eq!(door.ask(0).map(|(local, _)| local), Some(3));
        assert!(door.ask(7).is_none() && door.ask(0).is_none() && door.ask(99).is_none());
        assert_eq!(door.callers().map(|(index, _)| index).collect::<Vec<_>>(), [1]);
        drop((rank, stranger));
        let without_key = wire::call(&wire::door_address(&door.name, 1, !door.key)).unwrap();
        door.admit();
        assert!(door.ask(2).is_none(), "it does not know the key");
        drop(without_key);
        for wrong in ["", "x", "hikyaku/door/none:1:a", "hikyaku/door/none", "hikyaku/door/none:1:x", "a:b:1"] {
            assert!(matches!(wire::call(wrong), Err(Error::System { .. } | Error::Launcher { .. })), "{wrong}");
        }
        let waiting: Vec<Result<OwnedFd>> = (0..50).map(|_| wire::call(&door.address(1))).collect();
        door.admit();
        assert_eq!(door.callers().count(), CALLERS_MAX);
        drop(waiting);
    }
}
