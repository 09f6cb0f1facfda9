//! One datagram socket: its options, and the calls that take many datagrams at once.

use super::address::Address;
use super::batch::{Batch, INBOX_BYTES, INBOX_COUNT, Inbox, TRAINS_MAX, Train};
use crate::error::{Error, Result};
use rustix::io::Errno;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// What the kernel is asked to keep for a socket in each direction.
const BUFFER_BYTES: i32 = 8 << 20;
/// How long a full send buffer is waited for before frames are dropped: a link repeats them.
const ROOM_WAIT_MS: i32 = 2;
/// Bytes of the control message that tells the size of a train's frames.
const CONTROL_BYTES: usize = 24;

/// See above.
pub struct Socket {
    socket: UdpSocket,
    is_v6: bool,
    /// The kernel cuts trains; false once it has refused to on some device.
    cuts_trains: AtomicBool,
    /// It joins them.
    pub joins_trains: bool,
    /// Bytes it keeps of what has come.
    pub receive_bytes: usize,
}

/// What may happen to a train beside being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Its frames, of so many bytes, are longer than the path takes. They were sent in fragments.
    TooLong(usize),
    /// The kernel did not take it.
    Refused(Errno),
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
        for (forced, plain) in [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)] {
            if this.set(libc::SOL_SOCKET, forced, BUFFER_BYTES).is_err() {
                this.set(libc::SOL_SOCKET, plain, BUFFER_BYTES)?;
            }
        }
        this.receive_bytes = this.get(libc::SOL_SOCKET, libc::SO_RCVBUF)?.max(0) as usize;
        this.allow_fragments(false)?;
        *this.cuts_trains.get_mut() = trains && this.set(libc::SOL_UDP, libc::UDP_SEGMENT, 0).is_ok();
        this.joins_trains = trains && this.set(libc::SOL_UDP, libc::UDP_GRO, 1).is_ok();
        Ok(this)
    }

    pub fn address(&self) -> Result<SocketAddr> {
        self.socket.local_addr().map_err(|error| system("getsockname", &error))
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Whether the kernel cuts trains.
    pub fn cuts_trains(&self) -> bool {
        self.cuts_trains.load(Ordering::Relaxed)
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
        let (level, option) = if self.is_v6 {
            (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER)
        } else {
            (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER)
        };
        self.set(level, option, if may { libc::IP_PMTUDISC_DONT } else { libc::IP_PMTUDISC_DO })
    }

    fn set(&self, level: i32, option: i32, value: i32) -> Result<()> {
        let bytes = size_of::<i32>() as libc::socklen_t;
        let fd = self.socket.as_raw_fd();
        // SAFETY: the value is an integer that lives during the call.
        let result = unsafe { libc::setsockopt(fd, level, option, (&raw const value).cast(), bytes) };
        if result == 0 { Ok(()) } else { Err(Error::system("setsockopt", errno())) }
    }

    fn get(&self, level: i32, option: i32) -> Result<i32> {
        get(&self.socket, level, option)
    }

    /// Sends all trains of a batch, and tells `trouble` of those it has trouble with.
    pub fn send(&self, batch: &Batch, trouble: &mut dyn FnMut(u32, Trouble)) {
        let mut rest = batch.trains();
        while let Some(train) = rest.first() {
            // Those that may be cut into fragments go one by one.
            let plain = rest.iter().position(|train| train.fragments).unwrap_or(rest.len());
            let sent = if plain == 0 {
                self.send_singly(batch, train).map(|()| 1)
            } else {
                self.send_trains(batch, &rest[..plain])
            };
            match sent {
                Ok(count) => rest = &rest[count..],
                Err(Errno::INTR) => (),
                Err(Errno::AGAIN | Errno::NOBUFS) if self.wait_for_room() => (),
                Err(errno) => {
                    self.send_refused(batch, train, errno, trouble);
                    rest = &rest[1..];
                }
            }
        }
    }

    fn send_refused(&self, batch: &Batch, train: &Train, errno: Errno, trouble: &mut dyn FnMut(u32, Trouble)) {
        let is_too_long = errno == Errno::MSGSIZE || errno == Errno::INVAL && train.bytes > train.frame_bytes;
        if is_too_long {
            trouble(train.to, Trouble::TooLong(train.frame_bytes));
        } else if errno == Errno::IO && self.cuts_trains() {
            // The device cannot do without checksums made by hand.
            self.cuts_trains.store(false, Ordering::Relaxed);
        } else {
            return trouble(train.to, Trouble::Refused(errno));
        }
        if let Err(errno) = self.send_singly(batch, train) {
            trouble(train.to, Trouble::Refused(errno));
        }
    }

    fn send_trains(&self, batch: &Batch, trains: &[Train]) -> std::result::Result<usize, Errno> {
        let mut controls = [[0u64; CONTROL_BYTES / 8]; TRAINS_MAX];
        // SAFETY: all zeros are a header of nothing.
        let mut headers: [libc::mmsghdr; TRAINS_MAX] = unsafe { std::mem::zeroed() };
        let count = trains.len().min(TRAINS_MAX);
        for ((train, control), header) in trains.iter().zip(&mut controls).zip(&mut headers) {
            let frames = batch.frames(train);
            let header = &mut header.msg_hdr;
            header.msg_name = (&raw const train.address).cast_mut().cast();
            header.msg_namelen = Address::bytes(self.is_v6);
            header.msg_iov = frames.as_ptr().cast_mut();
            header.msg_iovlen = frames.len() as _;
            if frames.len() > 1 {
                write_control(control, train.frame_bytes as u16);
                header.msg_control = control.as_mut_ptr().cast();
                header.msg_controllen = CONTROL_BYTES as _;
            }
        }
        let fd = self.socket.as_raw_fd();
        if count == 1 {
            // SAFETY: the header names the address, frames and control message of one train, all of which live.
            let sent = unsafe { libc::sendmsg(fd, &raw const headers[0].msg_hdr, 0) };
            return if sent >= 0 { Ok(1) } else { Err(errno()) };
        }
        // SAFETY: so many headers were filled as above.
        let sent = unsafe { libc::sendmmsg(fd, headers.as_mut_ptr(), count as u32, 0) };
        usize::try_from(sent).map_err(|_| errno())
    }

    /// Sends the frames of a train as datagrams that may be cut into fragments.
    fn send_singly(&self, batch: &Batch, train: &Train) -> std::result::Result<(), Errno> {
        let mut result = self.allow_fragments(true).map_err(|_| Errno::INVAL);
        for frame in batch.frames(train) {
            let (fd, name) = (self.socket.as_raw_fd(), (&raw const train.address).cast());
            // SAFETY: frame and address live.
            let sent =
                unsafe { libc::sendto(fd, frame.iov_base, frame.iov_len, 0, name, Address::bytes(self.is_v6)) };
            if sent < 0 {
                result = Err(errno());
            }
        }
        let _ = self.allow_fragments(false);
        result
    }

    fn wait_for_room(&self) -> bool {
        let mut poll = libc::pollfd { fd: self.socket.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
        // SAFETY: one entry.
        unsafe { libc::poll(&raw mut poll, 1, ROOM_WAIT_MS) == 1 }
    }

    /// Takes what has come; how many buffers were filled.
    pub fn receive(&self, inbox: &mut Inbox) -> usize {
        let mut controls = [[0u64; CONTROL_BYTES / 8]; INBOX_COUNT];
        let mut places = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: INBOX_BYTES }; INBOX_COUNT];
        // SAFETY: all zeros are a header of nothing.
        let mut headers: [libc::mmsghdr; INBOX_COUNT] = unsafe { std::mem::zeroed() };
        for (index, buffer) in inbox.buffers.chunks_exact_mut(INBOX_BYTES).enumerate() {
            places[index].iov_base = buffer.as_mut_ptr().cast();
            let header = &mut headers[index].msg_hdr;
            header.msg_iov = &raw mut places[index];
            header.msg_iovlen = 1;
            if self.joins_trains {
                header.msg_control = controls[index].as_mut_ptr().cast();
                header.msg_controllen = CONTROL_BYTES as _;
            }
        }
        let (fd, vector) = (self.socket.as_raw_fd(), headers.as_mut_ptr());
        // SAFETY: each header names a buffer of its own and a control message, all of which live.
        let count = unsafe { libc::recvmmsg(fd, vector, INBOX_COUNT as u32, libc::MSG_DONTWAIT, std::ptr::null_mut()) };
        let count = usize::try_from(count).unwrap_or(0);
        for index in 0..count {
            let header = &headers[index];
            let bytes = (header.msg_len as usize).min(INBOX_BYTES);
            let is_cut = header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
            let each = read_control(&controls[index], header.msg_hdr.msg_controllen as usize).unwrap_or(bytes);
            inbox.received[index] = if is_cut { (0, 0) } else { (bytes, each) };
        }
        count
    }
}

/// Writes the control message that says how long each frame of a train is: length, level, type, value.
fn write_control(control: &mut [u64; CONTROL_BYTES / 8], frame_bytes: u16) {
    control[0] = 18;
    control[1] = pair(libc::SOL_UDP, libc::UDP_SEGMENT);
    let mut value = [0; 8];
    value[..2].copy_from_slice(&frame_bytes.to_ne_bytes());
    control[2] = u64::from_ne_bytes(value);
}

/// Reads how long each datagram is of those that came in one piece.
fn read_control(control: &[u64; CONTROL_BYTES / 8], bytes: usize) -> Option<usize> {
    let is_it = bytes >= 20 && control[0] == 20 && control[1] == pair(libc::SOL_UDP, libc::UDP_GRO);
    let value = control[2].to_ne_bytes();
    is_it.then(|| i32::from_ne_bytes([value[0], value[1], value[2], value[3]]))?.try_into().ok().filter(|each| *each > 0)
}

/// Two integers, one after the other.
fn pair(first: i32, second: i32) -> u64 {
    let (first, second) = (first.to_ne_bytes(), second.to_ne_bytes());
    u64::from_ne_bytes(std::array::from_fn(|byte| if byte < 4 { first[byte] } else { second[byte - 4] }))
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
