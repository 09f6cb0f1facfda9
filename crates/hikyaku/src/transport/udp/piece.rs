//! What a link holds of messages: pieces that fit a frame.
//!
//! A message is its packet and its body, one after the other. Short ones are copied, several into a frame while it waits; a body that
//! its owner lends is read each time a piece of it is sent, and given back when the last piece is acknowledged.

use super::head::HEAD_BYTES;
use crate::transport::core::{Body, Token};
use crate::transport::packet::Encoded;
use bytemuck::{Pod, Zeroable, cast_slice_mut};

/// Frames lie on lines of the caches so that their data begin with one: stores that cross from one line to the next take twice as
/// long.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct CacheLine([u8; LINE_BYTES]);

const LINE_BYTES: usize = 64;
/// Bytes before the head of a frame.
const LEAD_BYTES: usize = HEAD_BYTES.next_multiple_of(LINE_BYTES) - HEAD_BYTES;

/// Memory for so many bytes.
pub fn lines(bytes: usize) -> Box<[CacheLine]> {
    vec![CacheLine::zeroed(); bytes.div_ceil(LINE_BYTES)].into()
}

/// What a link holds.
pub enum Piece {
    /// Copied: goes on the wire from here.
    Copied(Copied),
    /// A piece of a message whose body is lent.
    Lent(Span),
    /// Came before its turn.
    Early { frame: Vec<u8>, part: bool },
}

/// A frame with its data; the head is written when it is sent.
pub struct Copied {
    pub memory: Box<[CacheLine]>,
    /// Bytes of the frame that are used, the head among them, and that may be at most.
    pub bytes: u32,
    most: u32,
    pub part: bool,
}

/// Which bytes of which message.
#[derive(Clone, Copy)]
pub struct Span {
    pub message: u32,
    pub offset: u32,
    pub bytes: u32,
}

/// A message whose body is lent.
pub struct Lent {
    pub packet: Encoded,
    pub body: Body,
    /// Whose it is; nobody's once it was recalled.
    pub token: Option<Token>,
    /// The copy of a body that was recalled.
    kept: Vec<u8>,
}

// SAFETY: whoever posted the body has promised that it can be read until its token is completed, by whichever thread.
unsafe impl Send for Lent {}

impl Lent {
    pub fn new(packet: Encoded, body: Body, token: Token) -> Lent {
        Lent { packet, body, token: Some(token), kept: Vec::new() }
    }

    /// Copies the body, so that its owner has it back.
    pub fn recall(&mut self) {
        let mut kept = vec![0; self.body.len()];
        // SAFETY: the body is still lent.
        unsafe { self.body.copy(0, &mut kept) };
        self.body = Body::of(&kept);
        self.kept = kept;
        self.token = None;
    }

    /// Bytes of the message.
    pub fn len(&self) -> usize {
        self.packet.len() + self.body.len()
    }

    /// So many bytes of the message from `offset` on: those of the packet, and where those of the body are.
    pub fn part(&self, offset: usize, bytes: usize) -> (&[u8], [(*const u8, usize); 2]) {
        let before = self.packet.len();
        let packet = &self.packet[offset.min(before)..(offset + bytes).min(before)];
        (packet, self.body.part((offset + packet.len()) - before, bytes - packet.len()))
    }

    /// Copies bytes of the message from `offset` on.
    pub fn copy(&self, offset: usize, into: &mut [u8]) {
        let before = self.packet.len();
        let (head, rest) = into.split_at_mut(before.saturating_sub(offset).min(into.len()));
        head.copy_from_slice(&self.packet[offset.min(before)..][..head.len()]);
        // SAFETY: the body is lent until the last piece is acknowledged; spans lie within the message.
        unsafe { self.body.copy((offset + head.len()) - before, rest) };
    }
}

impl Copied {
    /// An empty frame of so many bytes at most, in memory for as many.
    pub fn new(memory: Box<[CacheLine]>, most: usize, part: bool) -> Copied {
        Copied { memory, bytes: HEAD_BYTES as u32, most: most as u32, part }
    }

    /// Lines that a frame of so many bytes takes.
    pub fn lines(most: usize) -> usize {
        (LEAD_BYTES + most).div_ceil(LINE_BYTES)
    }

    /// The frame, as far as it is used.
    pub fn frame(&mut self) -> &mut [u8] {
        &mut cast_slice_mut(&mut self.memory)[LEAD_BYTES..][..self.bytes as usize]
    }

    /// Adds bytes; the caller has seen that they fit.
    pub fn add(&mut self, bytes: &[u8]) {
        self.extend(bytes.len()).copy_from_slice(bytes);
    }

    /// Adds bytes of a body.
    ///
    /// # Safety
    /// The body can be read, and has them.
    pub unsafe fn add_body(&mut self, body: &Body, offset: usize, bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe { body.copy(offset, self.extend(bytes)) };
    }

    /// Room for so many bytes more, which are used from now on.
    fn extend(&mut self, bytes: usize) -> &mut [u8] {
        let start = self.bytes as usize;
        self.bytes += bytes as u32;
        &mut self.frame()[start..]
    }

    /// Bytes that still fit.
    pub fn room(&self) -> usize {
        (self.most - self.bytes) as usize
    }
}
