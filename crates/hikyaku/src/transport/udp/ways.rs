//! The ways of a socket to its peers.

use super::address::Address;
use super::batch::Batch;
use super::socket::Socket;
use super::wire::{Trouble, Wire};
use crate::error::{Error, Result};
use rustix::io::Errno;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

/// Ways that have a socket of their own: a descriptor each.
const CONNECTED_MAX: usize = 64;

/// The sending half of a socket.
pub struct Ways {
    socket: Arc<Socket>,
    /// Where each rank is; `None` for those that are not reached by datagrams.
    addresses: Box<[Option<SocketAddr>]>,
    open: Vec<Way>,
}

/// How a peer is reached.
pub struct Way {
    to: SocketAddr,
    address: Address,
    /// A socket that sends to it alone, for which the kernel looks up the route once: that is an eighth of the time of a short frame.
    /// What comes arrives at the one socket that all peers send to, by whichever they use: a frame says whose it is.
    socket: Option<UdpSocket>,
    /// That socket is not used, though it stays: a filter on the way may let pass only what looks like an answer, from the port
    /// that was sent to.
    is_common: bool,
}

impl Way {
    /// The socket that sends to it alone, as long as this is there.
    pub fn socket(&self) -> Option<RawFd> {
        self.socket.as_ref().filter(|_| !self.is_common).map(AsRawFd::as_raw_fd)
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    pub fn to(&self) -> SocketAddr {
        self.to
    }
}

impl Ways {
    pub fn new(socket: Arc<Socket>, addresses: Vec<Option<SocketAddr>>) -> Ways {
        Ways { socket, addresses: addresses.into(), open: Vec::new() }
    }
}

impl Wire for Ways {
    fn reaches(&self, rank: usize) -> bool {
        matches!(self.addresses.get(rank), Some(Some(_)))
    }

    fn open(&mut self, rank: usize) -> Result<u32> {
        let to = self.addresses.get(rank).copied().flatten();
        let to = to.ok_or(Error::NoSuchRank { rank, size: self.addresses.len() })?;
        let socket = if self.open.len() < CONNECTED_MAX { self.socket.connected(to) } else { None };
        self.open.push(Way { to, address: Address::new(to), socket, is_common: false });
        Ok(self.open.len() as u32 - 1)
    }

    fn frame_max(&self, way: u32) -> Option<usize> {
        self.socket.datagram_bytes_max(self.open[way as usize].to)
    }

    fn send(&mut self, batch: &Batch, trouble: &mut dyn FnMut(u32, Trouble)) {
        self.socket.send(batch, &self.open, trouble);
    }

    fn takes_trains(&self) -> bool {
        self.socket.cuts_trains()
    }

    fn suspect(&mut self, way: u32) {
        self.open[way as usize].is_common = true;
    }

    fn describe(&self, way: u32) -> String {
        format!("{} by udp", self.open[way as usize].to)
    }

    fn explain(&self, code: i32) -> String {
        format!("the kernel said: {}", Errno::from_raw_os_error(code))
    }
}
