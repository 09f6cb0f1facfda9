//! What a rank and its launcher say to each other, over an inherited socket that keeps message boundaries.
//!
//! ```text
//!   rank                                   launcher
//!   Hello (format, process,
//!          how it is reached)     --->
//!          + descriptor of the process
//!                                 <---     Welcome (its place in the job) + descriptor of its host's memory
//!                                          or Welcome with a refusal
//!                                 <---     in a job over several hosts: Hosts + descriptor of the `Neighborhood`
//! ```
//! In a job over several hosts the launcher answers when all ranks have said how they are reached. Who launches is the agent
//! of the rank's host there. Afterwards nothing more is said. The rank keeps its end: should the launcher die, the kernel ends the rank.

use super::inherited;
use crate::error::{Error, Result};
use crate::transport::shm::layout::{FORMAT, Layout};
use bytemuck::{Pod, Zeroable};
use rustix::event::PollFd;
use rustix::fs::Timespec;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Names the inherited socket.
pub const SOCKET_VARIABLE: &str = "HIKYAKU_SOCKET";
/// Names the launcher's door, and which rank of the host it is, in case a wrapper closes the socket.
pub const DOOR_VARIABLE: &str = "HIKYAKU_DOOR";
/// Tells scripts their rank.
pub const RANK_VARIABLE: &str = "HIKYAKU_RANK";
/// Tells scripts the number of ranks.
pub const SIZE_VARIABLE: &str = "HIKYAKU_SIZE";
/// Tells scripts which of the ranks of its host a rank is, counted from 0.
pub const LOCAL_RANK_VARIABLE: &str = "HIKYAKU_LOCAL_RANK";
/// Tells scripts the number of ranks of their host.
pub const LOCAL_SIZE_VARIABLE: &str = "HIKYAKU_LOCAL_SIZE";
/// Tells the name of the host, as the user has given it, in jobs that were started over hosts.
pub const HOST_VARIABLE: &str = "HIKYAKU_HOST";
/// Tells the number of hosts in such jobs: with more than one, ranks must say how they are reached.
pub const HOSTS_VARIABLE: &str = "HIKYAKU_HOSTS";

/// The longest name by which the transport of a rank is reached.
pub const ENDPOINT_BYTES_MAX: usize = 256;

const MAGIC: u64 = u64::from_be_bytes(*b"hikyaku\0");

/// A rank's first words.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Hello {
    /// Says that this library speaks.
    pub magic: u64,
    /// The layout it was built for.
    pub format: u64,
    /// Its process.
    pub process: u64,
    endpoint_bytes: u64,
    endpoint: [u8; ENDPOINT_BYTES_MAX],
}

impl Hello {
    pub fn new() -> Hello {
        Hello { magic: MAGIC, format: FORMAT, process: std::process::id() as u64, ..Hello::zeroed() }
    }

    /// The hello of a rank whose transport is reached by that name.
    pub fn reached_by(name: &[u8]) -> Result<Hello> {
        let mut hello = Hello { endpoint_bytes: name.len() as u64, ..Hello::new() };
        let place = hello.endpoint.get_mut(..name.len()).ok_or_else(|| Error::Launcher {
            reason: format!("the name of a transport has at most {ENDPOINT_BYTES_MAX} bytes, not {}", name.len()),
        })?;
        place.copy_from_slice(name);
        Ok(hello)
    }

    /// How the transport of the rank is reached; empty if it has none. Nothing if it says an impossible thing.
    pub fn endpoint(&self) -> Option<&[u8]> {
        self.endpoint.get(..usize::try_from(self.endpoint_bytes).ok()?)
    }

    /// Whether it comes from this library at all.
    pub fn is_valid(&self) -> bool {
        self.magic == MAGIC
    }
}

/// The first words of a rank that has come by the launcher's door; [`Hello`] follows.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Call {
    /// Says that this library speaks.
    magic: u64,
    /// The layout it was built for: all messages begin alike.
    format: u64,
    local: u64,
    key: u64,
}

impl Call {
    /// Which rank of the host comes, if it knows the key.
    pub fn local(&self, key: u64) -> Option<usize> {
        usize::try_from(self.local).ok().filter(|_| self.magic == MAGIC && self.key == key)
    }
}

/// How a rank of the host is told of the launcher's door.
pub fn door_address(name: &str, local: usize, key: u64) -> String {
    format!("{name}:{local}:{key:x}")
}

/// Comes to the launcher by its door, of which `address` tells.
pub fn call(address: &str) -> Result<OwnedFd> {
    // Without the address itself, which holds the key.
    let wrong = || Error::Launcher { reason: format!("{DOOR_VARIABLE} names no door of a launcher") };
    let (rest, key) = address.rsplit_once(':').ok_or_else(wrong)?;
    let (name, local) = rest.rsplit_once(':').ok_or_else(wrong)?;
    let key = u64::from_str_radix(key, 16).map_err(|_| wrong())?;
    let local = local.parse().map_err(|_| wrong())?;
    let name = SocketAddrUnix::new_abstract_name(name.as_bytes()).map_err(|_| wrong())?;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .map_err(|e| Error::system("socket", e))?;
    rustix::net::connect(&socket, &name).map_err(|e| Error::system("connect", e))?;
    send(socket.as_fd(), &Call { magic: MAGIC, format: FORMAT, local, key }, None)?;
    Ok(socket)
}

/// The launcher's answer.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Welcome {
    /// Says that this library speaks.
    pub magic: u64,
    /// The launcher's layout; a rank of another one is refused.
    pub format: u64,
    pub rank: u64,
    pub size: u64,
    pub ports: u64,
    pub heap_half_bytes: u64,
    pub job: u64,
    pub fences: u64,
    pub crowded: u64,
    pub launcher: u64,
    pub start_timeout_ms: u64,
    /// Ranks on this host, which its memory holds.
    pub near: u64,
    /// Which of those this rank is.
    pub local: u64,
    /// With more than one, [`Hosts`] follows.
    pub hosts: u64,
    /// 0, or why there is no job: one of the numbers below.
    pub refusal: u64,
}

const REFUSED_DEAD: u64 = 1;
const REFUSED_LEFT: u64 = 2;
const REFUSED_LATE: u64 = 3;

/// Why a rank that is needed at the start does not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// It has died.
    Dead,
    /// It has ended without joining.
    Left,
    /// It has not come for so long.
    Late(Duration),
}

/// Comes after the welcome of a job over several hosts, with the descriptor of a `Neighborhood`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Hosts {
    /// Says that this library speaks.
    pub magic: u64,
}

impl Hosts {
    pub fn new() -> Hosts {
        Hosts { magic: MAGIC }
    }

    pub fn is_valid(&self) -> bool {
        self.magic == MAGIC
    }
}

impl Welcome {
    pub fn new() -> Welcome {
        Welcome { magic: MAGIC, format: FORMAT, ..Welcome::zeroed() }
    }

    pub fn is_valid(&self) -> bool {
        self.magic == MAGIC
    }

    /// Says instead that there will be no job without `rank`.
    pub fn refusal(rank: usize, absence: Absence) -> Welcome {
        let (refusal, time) = match absence {
            Absence::Dead => (REFUSED_DEAD, Duration::ZERO),
            Absence::Left => (REFUSED_LEFT, Duration::ZERO),
            Absence::Late(time) => (REFUSED_LATE, time),
        };
        Welcome { rank: rank as u64, start_timeout_ms: time.as_millis() as u64, refusal, ..Welcome::new() }
    }

    /// What a refusal says.
    pub fn refused(&self) -> Option<Error> {
        let rank = self.rank as usize;
        match self.refusal {
            0 => None,
            REFUSED_LATE => {
                let after = Duration::from_millis(self.start_timeout_ms);
                Some(Error::StartTimeout { missing: vec![rank], after })
            }
            REFUSED_LEFT => Some(Error::PeerLeft { rank }),
            _ => Some(Error::PeerDead { rank }),
        }
    }

    /// The layout of the memory that comes with it: of the ranks of this host.
    pub fn layout(&self) -> Result<Layout> {
        let layout =
            Layout::of_host(self.size as usize, self.near as usize, self.ports as usize, self.heap_half_bytes)?;
        let fits = layout.heap_half_bytes as u64 == self.heap_half_bytes
            && self.rank < self.size
            && self.local < self.near
            && self.near <= self.size
            && (self.hosts > 1 || (self.near, self.local) == (self.size, self.rank));
        if !fits {
            return Err(Error::Launcher { reason: "the launcher describes an impossible job".into() });
        }
        Ok(layout)
    }
}

/// The other side lays memory out differently.
pub fn other_format(who: &str, theirs: u64) -> Error {
    Error::Launcher {
        reason: format!(
            "this program was built with format {FORMAT} of hikyaku, {who} speaks format {theirs}; rebuild one with the other's version"
        ),
    }
}

/// Sends a message, with a descriptor if there is one.
pub fn send<T: Pod>(socket: BorrowedFd<'_>, message: &T, descriptor: Option<BorrowedFd<'_>>) -> Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<BorrowedFd<'_>> = descriptor.into_iter().collect();
    if !descriptors.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
    }
    let bytes = [IoSlice::new(bytemuck::bytes_of(message))];
    loop {
        match rustix::net::sendmsg(socket, &bytes, &mut control, SendFlags::NOSIGNAL) {
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::system("sendmsg", error)),
        }
    }
}

/// Receives a message and the descriptor that came with it; `None` when the other end is closed. One of another format may be of
/// another length: of it, what says so is read, and the rest is 0.
pub fn receive<T: Pod>(socket: BorrowedFd<'_>) -> Result<Option<(T, Option<OwnedFd>)>> {
    let mut message = T::zeroed();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut bytes = [IoSliceMut::new(bytemuck::bytes_of_mut(&mut message))];
        match rustix::net::recvmsg(socket, &mut bytes, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Ok(received) => break received,
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::CONNRESET) => return Ok(None),
            Err(error) => return Err(Error::system("recvmsg", error)),
        }
    };
    let descriptor = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    match received.bytes {
        0 => Ok(None),
        bytes if bytes == size_of::<T>() || is_of_another_format(&bytemuck::bytes_of(&message)[..bytes]) => {
            Ok(Some((message, descriptor)))
        }
        _ => Err(Error::Launcher { reason: "the other end speaks another protocol".into() }),
    }
}

/// Whether a message that begins with these bytes is one of this library, but of another format. All formats begin alike.
fn is_of_another_format(bytes: &[u8]) -> bool {
    let mut words = bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("8 bytes")));
    words.next() == Some(MAGIC) && words.next().is_some_and(|format| format != FORMAT)
}

/// Waits until there is something on one of the descriptors; false when the time is over.
pub fn await_input(polled: &mut [PollFd<'_>], deadline: Instant) -> Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let wait = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos() as _ };
        match rustix::event::poll(polled, Some(&wait)) {
            Ok(count) => return Ok(count > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::system("poll", error)),
        }
    }
}

/// Whether the other end of `socket` belongs to this user.
pub fn check_user(socket: impl AsFd) -> Result<()> {
    let refused = |reason: String| Error::Launcher { reason };
    let (_, user) = inherited::peer(socket.as_fd())
        .map_err(|error| refused(format!("the socket to whoever makes the job's memory is none ({error})")))?;
    let mine = rustix::process::geteuid().as_raw();
    if user == mine || user == 0 {
        return Ok(());
    }
    Err(refused(format!("whoever makes the job's memory is user {user}, this process is of user {mine}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_transports_fit_or_are_refused() {
        for length in [0, 1, ENDPOINT_BYTES_MAX] {
            let name = vec![7; length];
            assert_eq!(Hello::reached_by(&name).unwrap().endpoint(), Some(&name[..]));
        }
        assert!(Hello::reached_by(&[7; ENDPOINT_BYTES_MAX + 1]).is_err());
        for length in [ENDPOINT_BYTES_MAX as u64 + 1, u64::MAX] {
            assert_eq!(Hello { endpoint_bytes: length, ..Hello::new() }.endpoint(), None);
        }
    }

    #[test]
    fn jobs_that_cannot_be_have_no_layout() {
        let ports = 4;
        let one_host = Welcome { size: 3, near: 3, ports, heap_half_bytes: 1 << 20, ..Welcome::new() };
        assert_eq!(one_host.layout().unwrap().size, 3);
        let over_hosts = Welcome { near: 2, local: 1, rank: 2, hosts: 2, ..one_host };
        assert_eq!(over_hosts.layout().unwrap().count, 2);
        for wrong in [
            Welcome { rank: 3, ..one_host },
            Welcome { near: 2, ..one_host },
            Welcome { local: 1, ..one_host },
            Welcome { local: 2, ..over_hosts },
            Welcome { near: 4, ..over_hosts },
            Welcome { near: 0, ..over_hosts },
        ] {
            assert!(wrong.layout().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_refusal_says_why() {
        use Error::{PeerDead, PeerLeft, StartTimeout};
        assert!(Welcome::new().refused().is_none());
        assert!(matches!(Welcome::refusal(3, Absence::Dead).refused(), Some(PeerDead { rank: 3 })));
        assert!(matches!(Welcome::refusal(3, Absence::Left).refused(), Some(PeerLeft { rank: 3 })));
        let late = Welcome::refusal(3, Absence::Late(Duration::from_secs(2))).refused();
        assert!(matches!(late, Some(StartTimeout { missing, after }) if missing == [3] && after.as_secs() == 2));
    }
}
