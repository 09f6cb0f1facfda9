//! One datagram socket: its options, and the calls that take many datagrams at once.

use super::address::Address;
use super::batch::{self, Batch, CONTROL_BYTES, Control, Inbox, TRAINS_MAX, Train};
use super::ways::Way;
use super::wire::{Source, Trouble};
use crate::error::{Error, Result};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// What the kernel is asked to keep for a socket in each direction.
const BUFFER_BYTES: i32 = 8 << 20;
/// How long a full send buffer is waited for before frames are dropped: a link repeats them.
const ROOM_WAIT_MS: i32 = 2;

/// See above.
pub struct Socket {
    socket: UdpSocket,
    is_v6: bool,
    /// The kernel cuts trains; false once it has refused to on some device.
    cuts_trains: AtomicBool,
    /// It joins them.
    pub joins_trains: bool,
    /// Bytes it keeps of what has come.
    receive_bytes: usize,
}

impl Socket {
    /// A socket at this address; port 0 is any free one. Without `trains` the kernel is not asked for them.
    pub fn bind(address: SocketAddr, trains: bool) -> Result<Socket> {
        let socket = UdpSocket::bind(address).map_err(|error| system("bind", &error))?;
        socket.set_nonblocking(true).map_err(|error| system("fcntl", &error))?;
        let mut this = Socket {
            socket,
            is_v6: address.is_ipv6(),
            cuts_trains: AtomicBool::new(false),
            joins_trains: false,
            receive_bytes: 0,
        };
        widen(&this.socket, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF)?;
        widen(&this.socket, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)?;
        this.receive_bytes = this.get(libc::SOL_SOCKET, libc::SO_RCVBUF)?.max(0) as usize;
        this.allow_fragments(false)?;
        *this.cuts_trains.get_mut() = trains && this.set(libc::SOL_UDP, libc::UDP_SEGMENT, 0).is_ok();
        this.joins_trains = trains && this.set(libc::SOL_UDP, libc::UDP_GRO, 1).is_ok();
        Ok(this)
    }

    pub fn address(&self) -> Result<SocketAddr> {
        self.socket.local_addr().map_err(|error| system("getsockname", &error))
    }

    /// Whether the kernel cuts trains.
    pub fn cuts_trains(&self) -> bool {
        self.cuts_trains.load(Ordering::Relaxed)
    }

    /// A socket that sends to one address; `None` where there are no more.
    pub fn connected(&self, to: SocketAddr) -> Option<UdpSocket> {
        let mut local = self.address().ok()?;
        local.set_port(0);
        let socket = UdpSocket::bind(local).ok()?;
        socket.connect(to).ok()?;
        socket.set_nonblocking(true).ok()?;
        widen(&socket, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF).ok()?;
        allow_fragments(&socket, self.is_v6, false).ok()?;
        Some(socket)
    }

    /// Bytes of the longest datagram to this address that is not cut up on the way, as far as the kernel knows now.
    pub fn datagram_bytes_max(&self, to: SocketAddr) -> Option<usize> {
        // Only a socket with a peer can be asked, and this one has many.
        let mut local = self.address().ok()?;
        local.set_port(0);
        let probe = UdpSocket::bind(local).ok()?;
        probe.connect(to).ok()?;
        let (level, option, heads) =
            if self.is_v6 { (libc::IPPROTO_IPV6, libc::IPV6_MTU, 48) } else { (libc::IPPROTO_IP, libc::IP_MTU, 28) };
        let mtu = get(&probe, level, option).ok()?;
        usize::try_from(mtu - heads).ok()
    }

    /// Whether the kernel may send datagrams in fragments.
    fn allow_fragments(&self, may: bool) -> Result<()> {
        allow_fragments(&self.socket, self.is_v6, may)
    }

    fn set(&self, level: i32, option: i32, value: i32) -> Result<()> {
        set(&self.socket, level, option, value)
    }

    fn get(&self, level: i32, option: i32) -> Result<i32> {
        get(&self.socket, level, option)
    }

    /// Sends all trains of a batch, and tells `trouble` of those it has trouble with.
    #[inline]
    pub fn send(&self, batch: &Batch, ways: &[Way], trouble: &mut dyn FnMut(u32, Trouble)) {
        let way = |train: &Train| &ways[train.way as usize];
        let mut rest = batch.trains();
        // Mostly it is one frame.
        if let [train] = rest
            && train.count == 1
            && !train.fragments
            && let Some(fd) = way(train).socket()
            && self.send_frame(way(train), fd, batch.parts(train)).is_ok()
        {
            return;
        }
        while let Some(train) = rest.first() {
            // Those that may be cut into fragments go one by one.
            let goes_along = |other: &Train| !other.fragments && way(other).socket() == way(train).socket();
            let plain = rest.iter().position(|train| !goes_along(train)).unwrap_or(rest.len());
            let sent = if plain == 0 {
                self.send_singly(batch, train, way(train)).map(|()| 1)
            } else {
                self.send_trains(batch, &rest[..plain], ways)
            };
            match sent {
                Ok(count) => rest = &rest[count..],
                Err(Errno::INTR) => (),
                Err(Errno::AGAIN | Errno::NOBUFS) if self.wait_for_room(way(train)) => (),
                Err(errno) => {
                    if let Err(refused) = self.send_refused(batch, train, way(train), errno) {
                        trouble(train.to, refused);
                    }
                    rest = &rest[1..];
                }
            }
        }
    }

    /// Tries a train that the kernel refused in another manner; what is to be known of it.
    fn send_refused(&self, batch: &Batch, train: &Train, way: &Way, errno: Errno) -> std::result::Result<(), Trouble> {
        let is_too_long = errno == Errno::MSGSIZE || errno == Errno::INVAL && train.bytes > train.frame_bytes;
        if !is_too_long {
            if errno != Errno::IO || !self.cuts_trains() {
                return Err(Trouble::Refused(errno.raw_os_error()));
            }
            // The device cannot do without checksums made by hand.
            self.cuts_trains.store(false, Ordering::Relaxed);
        }
        let sent = self.send_singly(batch, train, way);
        match is_too_long {
            true => Err(Trouble::TooLong { bytes: train.frame_bytes, known: self.datagram_bytes_max(way.to()) }),
            false => sent.map_err(|errno| Trouble::Refused(errno.raw_os_error())),
        }
    }

    /// Sends trains that all take the same socket.
    fn send_trains(&self, batch: &Batch, trains: &[Train], ways: &[Way]) -> std::result::Result<usize, Errno> {
        let way = |train: &Train| &ways[train.way as usize];
        let fd = way(&trains[0]).socket().unwrap_or(self.socket.as_raw_fd());
        if let [train] = trains {
            if train.count == 1 {
                return self.send_frame(way(train), fd, batch.frame(train, 0)).map(|()| 1);
            }
            let mut control = Control::default();
            let header = self.header(batch, train, way(train), &mut control);
            // SAFETY: the header names the address, frames and control message of the train, all of which live.
            let sent = unsafe { libc::sendmsg(fd, &raw const header, 0) };
            return if sent >= 0 { Ok(1) } else { Err(errno()) };
        }
        let mut controls = [Control::default(); TRAINS_MAX];
        // SAFETY: all zeros are a header of nothing.
        let mut headers: [libc::mmsghdr; TRAINS_MAX] = unsafe { std::mem::zeroed() };
        for ((train, control), header) in trains.iter().zip(&mut controls).zip(&mut headers) {
            header.msg_hdr = self.header(batch, train, way(train), control);
        }
        // SAFETY: as many headers were filled as above.
        let sent = unsafe { libc::sendmmsg(fd, headers.as_mut_ptr(), trains.len().min(TRAINS_MAX) as u32, 0) };
        usize::try_from(sent).map_err(|_| errno())
    }

    fn header(&self, batch: &Batch, train: &Train, way: &Way, control: &mut Control) -> libc::msghdr {
        let mut header = self.plain_header(way, way.socket().is_none(), batch.parts(train));
        if train.count > 1 {
            *control = batch::control(train.frame_bytes as u16);
            header.msg_control = control.as_mut_ptr().cast();
            header.msg_controllen = CONTROL_BYTES as _;
        }
        header
    }

    /// The header of a message that lies in these parts, with the address where the socket has none.
    fn plain_header(&self, way: &Way, is_addressed: bool, parts: &[libc::iovec]) -> libc::msghdr {
        // SAFETY: all zeros are a header of nothing.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        if is_addressed {
            header.msg_name = std::ptr::from_ref(way.address()).cast_mut().cast();
            header.msg_namelen = Address::bytes(self.is_v6);
        }
        header.msg_iov = parts.as_ptr().cast_mut();
        header.msg_iovlen = parts.len() as _;
        header
    }

    /// Sends the frames of a train as datagrams that may be cut into fragments.
    fn send_singly(&self, batch: &Batch, train: &Train, way: &Way) -> std::result::Result<(), Errno> {
        let mut result = self.allow_fragments(true).map_err(|_| Errno::INVAL);
        for frame in 0..train.count {
            if let Err(errno) = self.send_frame(way, self.socket.as_raw_fd(), batch.frame(train, frame)) {
                result = Err(errno);
            }
        }
        let _ = self.allow_fragments(false);
        result
    }

    /// Sends a frame by a socket: this one, or that of the way.
    #[inline]
    fn send_frame(&self, way: &Way, fd: RawFd, parts: &[libc::iovec]) -> std::result::Result<(), Errno> {
        let is_addressed = fd == self.socket.as_raw_fd();
        let [frame] = parts else {
            let header = self.plain_header(way, is_addressed, parts);
            // SAFETY: the header names the address and the parts, all of which live.
            let sent = unsafe { libc::sendmsg(fd, &raw const header, 0) };
            return if sent >= 0 { Ok(()) } else { Err(errno()) };
        };
        if !is_addressed {
            // SAFETY: the frame lives, and the way keeps its socket open.
            let (fd, frame) = unsafe {
                (BorrowedFd::borrow_raw(fd), std::slice::from_raw_parts(frame.iov_base.cast::<u8>(), frame.iov_len))
            };
            return rustix::net::send(fd, frame, SendFlags::empty()).map(drop);
        }
        let name = std::ptr::from_ref(way.address()).cast();
        // SAFETY: frame and address live.
        let sent = unsafe { libc::sendto(fd, frame.iov_base, frame.iov_len, 0, name, Address::bytes(self.is_v6)) };
        if sent >= 0 { Ok(()) } else { Err(errno()) }
    }

    fn wait_for_room(&self, way: &Way) -> bool {
        let fd = way.socket().unwrap_or(self.socket.as_raw_fd());
        let mut poll = libc::pollfd { fd, events: libc::POLLOUT, revents: 0 };
        // SAFETY: one entry.
        unsafe { libc::poll(&raw mut poll, 1, ROOM_WAIT_MS) == 1 }
    }
}

impl Source for Socket {
    fn keeps_bytes(&self) -> usize {
        self.receive_bytes
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Short is less than [`GLANCE_BYTES`].
    fn receive_short<'i>(&self, inbox: &'i mut Inbox, is_wanted: &dyn Fn(&[u8]) -> bool) -> Option<&'i [u8]> {
        let buffer = &mut inbox.buffer()[..GLANCE_BYTES];
        let glance = RecvFlags::DONTWAIT | RecvFlags::PEEK | RecvFlags::TRUNC;
        let (_, bytes) = rustix::net::recv(&self.socket, &mut *buffer, glance).ok()?;
        if bytes >= GLANCE_BYTES || !is_wanted(&buffer[..bytes]) {
            return None;
        }
        let (bytes, _) = rustix::net::recv(&self.socket, &mut *buffer, RecvFlags::DONTWAIT).ok()?;
        Some(&buffer[..bytes])
    }

    fn receive(&self, inbox: &mut Inbox) -> (usize, bool) {
        if let Some(buffer) = inbox.single() {
            // Not by the C library, which prepares for being cancelled each time.
            let received = rustix::net::recv(&self.socket, buffer, RecvFlags::DONTWAIT);
            return inbox.filled_single(received.ok().map(|(bytes, _)| bytes));
        }
        let fd = self.socket.as_raw_fd();
        let headers = inbox.headers();
        let (vector, count) = (headers.as_mut_ptr(), headers.len() as u32);
        // SAFETY: each header names a buffer of its own, all of which live.
        let count = unsafe { libc::recvmmsg(fd, vector, count, libc::MSG_DONTWAIT, std::ptr::null_mut()) };
        inbox.filled_headers(usize::try_from(count).unwrap_or(0))
    }
}

/// Bytes that are looked at before a datagram is taken.
const GLANCE_BYTES: usize = 64;

/// Asks the kernel to keep much, forced where that is allowed.
fn widen(socket: &UdpSocket, forced: i32, plain: i32) -> Result<()> {
    set(socket, libc::SOL_SOCKET, forced, BUFFER_BYTES).or_else(|_| set(socket, libc::SOL_SOCKET, plain, BUFFER_BYTES))
}

/// Whether the kernel may send datagrams of a socket in fragments.
fn allow_fragments(socket: &UdpSocket, is_v6: bool, may: bool) -> Result<()> {
    let (level, option) =
        if is_v6 { (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER) } else { (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER) };
    set(socket, level, option, if may { libc::IP_PMTUDISC_DONT } else { libc::IP_PMTUDISC_DO })
}

fn set(socket: &UdpSocket, level: i32, option: i32, value: i32) -> Result<()> {
    let bytes = size_of::<i32>() as libc::socklen_t;
    // SAFETY: the value is an integer that lives during the call.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), bytes) };
    if result == 0 { Ok(()) } else { Err(Error::system("setsockopt", errno())) }
}

fn get(socket: &UdpSocket, level: i32, option: i32) -> Result<i32> {
    let (mut value, mut bytes) = (0i32, size_of::<i32>() as libc::socklen_t);
    // SAFETY: room for an integer, and its size.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, (&raw mut value).cast(), &raw mut bytes) };
    if result == 0 { Ok(value) } else { Err(Error::system("getsockopt", errno())) }
}

fn errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

fn system(call: &'static str, error: &std::io::Error) -> Error {
    Error::system(call, Errno::from_io_error(error).unwrap_or(Errno::IO))
}
