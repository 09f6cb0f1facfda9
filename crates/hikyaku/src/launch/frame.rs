//! Frames in a stream of bytes: a length, then so many bytes. Reading and writing never block.

use crate::error::{Error, Result};
use crate::job::neighborhood::wipe;
use rustix::io::Errno;
use std::os::fd::AsFd;

/// Frames on their way out.
#[derive(Default)]
pub(super) struct Outbox {
    bytes: Vec<u8>,
    sent: usize,
}

impl Outbox {
    /// Adds a frame.
    ///
    /// # Panics
    /// If it is longer than 4 GB.
    pub fn push(&mut self, frame: &[u8]) {
        let length = u32::try_from(frame.len()).expect("frames are bounded");
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(frame);
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Writes what the other side takes now; false when there is no other side any more.
    pub fn write(&mut self, to: impl AsFd) -> bool {
        let to = to.as_fd();
        while self.sent < self.bytes.len() {
            match rustix::io::write(to, &self.bytes[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return true,
                Err(_) => return false,
            }
        }
        // Among them was the secret of the job.
        wipe(&mut self.bytes);
        self.bytes.clear();
        self.bytes.shrink_to(64 * 1024);
        self.sent = 0;
        true
    }
}

/// Frames that come in.
pub(super) struct Inbox {
    bytes: Vec<u8>,
    frame_bytes_max: usize,
}

/// How reading went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// Something came, or nothing yet.
    Open,
    /// The other side has closed.
    Closed,
}

impl Inbox {
    pub fn new(frame_bytes_max: usize) -> Inbox {
        Inbox { bytes: Vec::new(), frame_bytes_max }
    }

    /// Reads what is there.
    pub fn read(&mut self, from: impl AsFd) -> Result<Read> {
        let mut buffer = [0; 64 * 1024];
        loop {
            match rustix::io::read(from.as_fd(), &mut buffer) {
                Ok(0) => return Ok(Read::Closed),
                Ok(count) => {
                    self.bytes.extend_from_slice(&buffer[..count]);
                    wipe(&mut buffer[..count]);
                    return Ok(Read::Open);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(Read::Open),
                // The other end of a socket that was closed with something unread.
                Err(Errno::CONNRESET | Errno::IO) => return Ok(Read::Closed),
                Err(error) => return Err(Error::system("read", error)),
            }
        }
    }

    /// Takes out the next whole frame and lets `decode` see it; `Err` if what came cannot be a frame, or `decode` finds that.
    pub fn next<T>(&mut self, decode: impl FnOnce(&[u8]) -> Option<T>) -> std::result::Result<Option<T>, NoFrame> {
        let Some(length) = self.bytes.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > self.frame_bytes_max {
            return Err(NoFrame);
        }
        let Some(frame) = self.bytes.get(4..4 + length) else { return Ok(None) };
        let message = decode(frame).ok_or(NoFrame)?;
        wipe(&mut self.bytes[..4 + length]);
        self.bytes.drain(..4 + length);
        Ok(Some(message))
    }

    /// What came and was not taken, as far as it can be shown to people.
    pub fn as_text(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes[..self.bytes.len().min(200)]);
        text.chars().filter(|c| !c.is_control() || *c == '\n').collect::<String>().trim().to_owned()
    }
}

/// What came is no frame of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoFrame;

/// Has reads and writes of a descriptor return when they would wait.
pub(super) fn set_nonblocking(descriptor: impl AsFd) -> Result<()> {
    let flags = rustix::fs::fcntl_getfl(&descriptor).map_err(|e| Error::system("fcntl", e))?;
    rustix::fs::fcntl_setfl(&descriptor, flags | rustix::fs::OFlags::NONBLOCK).map_err(|e| Error::system("fcntl", e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::rank::pipe;

    #[test]
    fn frames_come_whole_and_in_order_through_a_narrow_pipe() {
        let (reads, writes) = pipe().unwrap();
        set_nonblocking(&reads).unwrap();
        set_nonblocking(&writes).unwrap();
        let frames: Vec<Vec<u8>> = [0, 1, 5, 300_000, 2].iter().map(|length| vec![*length as u8; *length]).collect();
        let (mut out, mut into) = (Outbox::default(), Inbox::new(1 << 20));
        frames.iter().for_each(|frame| out.push(frame));
        let mut came = Vec::new();
        while came.len() < frames.len() {
            assert!(out.write(&writes));
            assert_eq!(into.read(&reads).unwrap(), Read::Open);
            while let Some(frame) = into.next(|frame| Some(frame.to_vec())).unwrap() {
                came.push(frame);
            }
        }
        assert_eq!(came, frames);
        assert!(out.is_empty() && into.next(|_| Some(())) == Ok(None));
        drop(writes);
        assert_eq!(into.read(&reads).unwrap(), Read::Closed);
    }

    #[test]
    fn what_is_too_long_or_makes_no_sense_is_no_frame() {
        let (reads, writes) = pipe().unwrap();
        rustix::io::write(&writes, b"Welcome to this host!\n").unwrap();
        let mut into = Inbox::new(1 << 20);
        into.read(&reads).unwrap();
        assert_eq!(into.next(|_| Some(())), Err(NoFrame));
        assert_eq!(into.as_text(), "Welcome to this host!");
        let mut into = Inbox::new(1 << 20);
        rustix::io::write(&writes, &[1, 0, 0, 0, 9]).unwrap();
        into.read(&reads).unwrap();
        assert_eq!(into.next(|_| None::<()>), Err(NoFrame));
    }

    #[test]
    fn nobody_to_write_to_is_noticed() {
        let (reads, writes) = pipe().unwrap();
        drop(reads);
        let mut out = Outbox::default();
        out.push(b"x");
        assert!(!out.write(&writes));
    }
}
