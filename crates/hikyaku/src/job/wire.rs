//! What a rank and its launcher say to each other, over an inherited socket that keeps message boundaries.
//!
//! ```text
//!   rank                                   launcher
//!   Hello (format, process)       --->
//!                                 <---     Welcome (its place in the job) + descriptor of the job's memory
//!                                          or Welcome with a refusal
//! ```
//! Afterwards nothing more is said. The rank keeps its end: should the launcher die, the kernel ends the rank.

use crate::error::{Error, Result};
use crate::transport::shm::layout::{FORMAT, Layout};
use bytemuck::{Pod, Zeroable};
use rustix::event::PollFd;
use rustix::fs::Timespec;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Names the inherited socket.
pub const SOCKET_VARIABLE: &str = "HIKYAKU_SOCKET";
/// Tells scripts their rank.
pub const RANK_VARIABLE: &str = "HIKYAKU_RANK";
/// Tells scripts the number of ranks.
pub const SIZE_VARIABLE: &str = "HIKYAKU_SIZE";

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
}

impl Hello {
    pub fn new() -> Hello {
        Hello { magic: MAGIC, format: FORMAT, process: std::process::id() as u64 }
    }

    /// Whether it comes from this library at all.
    pub fn is_valid(&self) -> bool {
        self.magic == MAGIC
    }
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
}

impl Welcome {
    pub fn new() -> Welcome {
        Welcome { magic: MAGIC, format: FORMAT, ..Welcome::zeroed() }
    }

    pub fn is_valid(&self) -> bool {
        self.magic == MAGIC
    }

    /// Says instead that there will be no job without `rank`, which has not come for so long, or has died.
    pub fn refusal(rank: usize, not_for: Option<Duration>) -> Welcome {
        let start_timeout_ms = not_for.map_or(0, |time| time.as_millis().max(1) as u64);
        Welcome { rank: rank as u64, start_timeout_ms, ..Welcome::new() }
    }

    /// What a refusal says.
    pub fn refused(&self) -> Option<Error> {
        let rank = self.rank as usize;
        match (self.size, self.start_timeout_ms) {
            (0, 0) => Some(Error::PeerDead { rank }),
            (0, time) => Some(Error::StartTimeout { missing: vec![rank], after: Duration::from_millis(time) }),
            _ => None,
        }
    }

    /// The layout of the memory that comes with it.
    pub fn layout(&self) -> Result<Layout> {
        let layout = Layout::new(self.size as usize, self.ports as usize, self.heap_half_bytes)?;
        if layout.heap_half_bytes as u64 != self.heap_half_bytes || self.rank >= self.size {
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

/// Receives a message and the descriptor that came with it; `None` when the other end is closed.
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
        bytes if bytes == size_of::<T>() => Ok(Some((message, descriptor))),
        _ => Err(Error::Launcher { reason: "the other end speaks another protocol".into() }),
    }
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
    let peer = rustix::net::sockopt::socket_peercred(socket)
        .map_err(|error| refused(format!("the socket to whoever makes the job's memory is none ({error})")))?;
    let mine = rustix::process::geteuid();
    if peer.uid == mine || peer.uid.is_root() {
        return Ok(());
    }
    Err(refused(format!(
        "whoever makes the job's memory is user {}, this process is of user {}",
        peer.uid.as_raw(),
        mine.as_raw()
    )))
}
