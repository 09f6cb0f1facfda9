//! Datagrams of libfabric, as what carries the frames of hikyaku's links: `hikyaku::spi::udp` repairs what they lose, and
//! authenticates them. So there is one endpoint for all peers, and no connection.
//!
//! A frame is copied into one of libfabric's, or given to it to copy; what has come is copied to where the endpoint looks. What finds
//! no room is dropped, as networks do.

use crate::frames::Frames;
use crate::lent::Frame;
use crate::library::Library;
use crate::port::{Completion, Port, Refused};
use hikyaku::spi::udp::{Batch, Inbox, Source, Staged, Trouble, Wire};
use hikyaku::{Error, Result};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Frames that may be under way, and those that may come before this rank looks.
pub const SEND_COUNT: usize = 128;
pub const RECEIVE_COUNT: usize = 256;
/// Bytes that the network keeps at least of what has come: by default, those of a socket.
const KEPT_BYTES: usize = 208 << 10;
/// How long room for a frame is waited for before it is dropped: a link repeats it.
const ROOM_WAIT: Duration = Duration::from_millis(2);
/// Looks for datagrams at a time, at most.
const LOOKS_MAX: usize = 8;

/// The endpoint of a rank; both halves of it.
pub struct Datagrams {
    state: Mutex<State>,
    /// That of the completion queue, which belongs to libfabric.
    descriptor: OwnedFd,
    keeps_bytes: usize,
}

/// The half that sends.
pub struct Sending(pub Arc<Datagrams>);

struct State {
    /// Of all ranks; empty where this is not used.
    addresses: Vec<Box<[u8]>>,
    /// What libfabric calls those that were talked to.
    ways: Vec<u64>,
    /// Bytes that libfabric wants before each frame.
    prefix: usize,
    /// Bytes of the longest frame, with those.
    frame_bytes: usize,
    /// Frames of so many bytes are copied by libfabric at once.
    inject_max: usize,
    /// Where they are put together for that.
    scratch: Box<[u8]>,
    frames: Frames,
    /// What has come, with its bytes.
    arrived: VecDeque<(Frame, usize)>,
    /// Frames to receive into, which libfabric did not take.
    unposted: Vec<Frame>,
    completions: Vec<Completion>,
    /// How often one looks for datagrams at a time: more often while more come.
    looks: usize,
    /// Last: frames go before what they are registered with.
    port: Port,
}

impl Datagrams {
    /// On an endpoint whose peers have these addresses.
    ///
    /// # Errors
    /// When libfabric takes no frames, or there is no descriptor left.
    pub fn new(port: Port, addresses: Vec<Box<[u8]>>) -> Result<Datagrams> {
        let descriptor = rustix::io::fcntl_dupfd_cloexec(port.descriptor(), 3)
            .map_err(|errno| Error::System { call: "fcntl", errno: errno.raw_os_error() })?;
        let (prefix, frame_bytes) = (port.offer().prefix(), port.offer().datagram_max());
        let mut state = State {
            addresses,
            ways: Vec::new(),
            prefix,
            frame_bytes,
            inject_max: port.offer().inject_max().min(frame_bytes),
            scratch: vec![0; frame_bytes].into(),
            frames: Frames::new(frame_bytes, SEND_COUNT),
            arrived: VecDeque::with_capacity(RECEIVE_COUNT),
            unposted: Vec::new(),
            completions: Vec::new(),
            looks: 1,
            port,
        };
        for _ in 0..RECEIVE_COUNT {
            let frame = state.port.frame(frame_bytes)?;
            state.receive_into(frame);
        }
        let keeps_bytes = KEPT_BYTES.min(RECEIVE_COUNT * frame_bytes);
        Ok(Datagrams { state: Mutex::new(state), descriptor, keeps_bytes })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Has libfabric receive into a frame.
    fn receive_into(&mut self, frame: Frame) {
        if let Err(Refused::Again(frame) | Refused::Never(frame, _)) = self.port.receive(frame) {
            self.unposted.push(frame);
        }
    }

    /// Takes what has completed; whether anything has come.
    fn look(&mut self) -> bool {
        let mut completions = std::mem::take(&mut self.completions);
        self.port.completions(&mut completions);
        let before = self.arrived.len();
        for completion in completions.drain(..) {
            match completion {
                Completion::Received(frame, bytes) => self.arrived.push_back((frame, bytes)),
                // Too long for a frame, perhaps: of a stranger then.
                Completion::Failed { frame, is_receive: true, .. } => self.receive_into(frame),
                // A link notices what is lost.
                Completion::Sent(frame) | Completion::Failed { frame, .. } => self.frames.give_back(frame),
            }
        }
        self.completions = completions;
        self.arrived.len() > before
    }

    /// Looks for what has come, the more often the more there was.
    fn look_often(&mut self) {
        if let Some(frame) = self.unposted.pop() {
            self.receive_into(frame);
        }
        let found = (0..self.looks).take_while(|_| self.look()).count();
        self.looks = if found == self.looks { (2 * found).min(LOOKS_MAX) } else { found.max(1) };
    }

    /// Puts the next datagram that has come into a buffer.
    fn next(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let (frame, bytes) = self.arrived.pop_front()?;
        let datagram = frame.bytes()[..bytes].get(self.prefix..).unwrap_or_default();
        let bytes = datagram.len().min(buffer.len());
        buffer[..bytes].copy_from_slice(&datagram[..bytes]);
        self.receive_into(frame);
        Some(bytes)
    }

    /// Sends a frame, or drops it where there is no room for too long.
    ///
    /// # Errors
    /// An error of libfabric.
    fn send(&mut self, frame: &Staged<'_>) -> std::result::Result<(), isize> {
        let mut waits_since = None;
        while !self.try_send(frame)? {
            self.look();
            let since = *waits_since.get_or_insert_with(Instant::now);
            if since.elapsed() > ROOM_WAIT {
                break;
            }
        }
        Ok(())
    }

    /// Whether there was room.
    fn try_send(&mut self, frame: &Staged<'_>) -> std::result::Result<bool, isize> {
        let bytes = self.prefix + frame.len();
        let Some(to) = self.ways.get(frame.way() as usize).copied() else { return Ok(true) };
        if bytes <= self.inject_max {
            let place = &mut self.scratch[..bytes];
            frame.copy(&mut place[self.prefix..]);
            return self.port.inject(place, to);
        }
        let Ok(Some(mut lent)) = self.frames.take(&self.port) else { return Ok(false) };
        let Some(place) = lent.bytes_mut().get_mut(self.prefix..bytes) else {
            self.frames.give_back(lent);
            return Err(-(libc::EMSGSIZE as isize));
        };
        frame.copy(place);
        match self.port.send(lent, bytes, to) {
            Ok(()) => Ok(true),
            Err(Refused::Again(lent)) => {
                self.frames.give_back(lent);
                Ok(false)
            }
            Err(Refused::Never(lent, code)) => {
                self.frames.give_back(lent);
                Err(code)
            }
        }
    }
}

impl Wire for Sending {
    fn reaches(&self, rank: usize) -> bool {
        self.0.state().addresses.get(rank).is_some_and(|address| !address.is_empty())
    }

    fn open(&mut self, rank: usize) -> Result<u32> {
        let mut state = self.0.state();
        let State { port, addresses, ways, .. } = &mut *state;
        let address = addresses.get(rank).ok_or(Error::NoSuchRank { rank, size: addresses.len() })?;
        ways.push(port.insert(address)?);
        Ok(ways.len() as u32 - 1)
    }

    fn frame_max(&self, _: u32) -> Option<usize> {
        let state = self.0.state();
        Some(state.frame_bytes - state.prefix)
    }

    fn send(&mut self, batch: &Batch, trouble: &mut dyn FnMut(u32, Trouble)) {
        let mut state = self.0.state();
        for frame in batch.frames() {
            if let Err(code) = state.send(&frame) {
                trouble(frame.to(), Trouble::Refused(code as i32));
            }
        }
    }

    fn describe(&self, _: u32) -> String {
        format!("its datagrams by libfabric's {}", self.0.state().port.offer().provider())
    }

    fn explain(&self, code: i32) -> String {
        let why = Library::get().map_or_else(|_| code.to_string(), |library| library.error_text(code as isize));
        format!("libfabric said: {why}")
    }
}

impl Source for Datagrams {
    fn keeps_bytes(&self) -> usize {
        self.keeps_bytes
    }

    fn receive(&self, inbox: &mut Inbox) -> (usize, bool) {
        let mut state = self.state();
        state.look_often();
        let (count, _) = inbox.fill(|buffer| state.next(buffer));
        (count, count > 0)
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    fn may_sleep(&self) -> bool {
        let mut state = self.state();
        state.arrived.is_empty() && state.port.may_sleep()
    }
}
