//! Frames that go to the kernel in one call, and where it puts those that come.
//!
//! Frames of one size for one peer that follow each other make a *train*: the kernel takes it as one long datagram and cuts it up
//! as late as it can (GSO), and gives what arrived of it in one piece (GRO). Over virtual links it is never cut at all.

use super::head::first_bytes;
use super::piece::{CacheLine, lines};
use crate::memory::copy::copy_out;
use bytemuck::{cast_slice, cast_slice_mut};

/// Trains of a batch at most.
pub const TRAINS_MAX: usize = 32;
/// Frames of a batch at most.
const FRAMES_MAX: usize = 512;
/// Parts of a frame at most: what is before a body that is lent, and both parts of that.
pub const PARTS_MAX: usize = 3;
/// Frames of a train at most: what every kernel that has GSO takes.
const TRAIN_FRAMES_MAX: usize = 64;
/// Bytes of a train at most: a datagram's.
const TRAIN_BYTES_MAX: usize = 65_000;
/// Room for frames that are made while they are sent.
const STAGING_BYTES: usize = 256 << 10;

/// Frames to send. A frame may lie in several parts: a body that is lent is sent from where it is.
pub struct Batch {
    trains: Vec<Train>,
    /// Parts of all frames, one after the other.
    parts: Vec<libc::iovec>,
    /// Where the parts of each frame begin.
    frames: Vec<usize>,
    staging: Box<[u8]>,
    staged: usize,
    /// Whether the kernel cuts trains.
    pub(super) has_trains: bool,
}

// SAFETY: a batch is filled, sent and cleared by one holder of the endpoint's lock, within one hold. What its parts point to is his or
// is lent, which nobody takes back without that lock.
unsafe impl Send for Batch {}

/// Frames that travel together.
#[derive(Clone, Copy)]
pub struct Train {
    /// The rank they are for.
    pub to: u32,
    /// The number of the way there.
    pub way: u32,
    /// The kernel may cut each into fragments: they were made for a wider path.
    pub fragments: bool,
    /// Bytes of each but the last, which may be shorter.
    pub frame_bytes: usize,
    pub bytes: usize,
    first: usize,
    pub count: usize,
}

impl Batch {
    pub(super) fn new(has_trains: bool) -> Batch {
        Batch {
            trains: Vec::with_capacity(TRAINS_MAX),
            parts: Vec::with_capacity(FRAMES_MAX * PARTS_MAX),
            frames: Vec::with_capacity(FRAMES_MAX),
            staging: vec![0; STAGING_BYTES].into(),
            staged: 0,
            has_trains,
        }
    }

    /// Whether a frame of so many bytes finds no room.
    pub(super) fn is_full(&self, bytes: usize) -> bool {
        self.trains.len() == TRAINS_MAX || self.frames.len() == FRAMES_MAX || self.staged + bytes > self.staging.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.trains.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.trains.clear();
        self.parts.clear();
        self.frames.clear();
        self.staged = 0;
    }

    /// Room for a frame of so many bytes that is made now, or its beginning; the caller has seen that there is some. It is not sent
    /// before [`Batch::add`].
    pub(super) fn stage(&mut self, bytes: usize) -> &mut [u8] {
        let start = self.staged;
        self.staged += bytes;
        &mut self.staging[start..self.staged]
    }

    /// Adds a frame whose parts, at most [`PARTS_MAX`], stay where they are until the batch is cleared. Empty ones are left out.
    #[inline]
    pub(super) fn add(&mut self, to: u32, way: u32, fragments: bool, parts: &[(*const u8, usize)]) {
        let mut bytes = 0;
        self.frames.push(self.parts.len());
        for (start, len) in parts.iter().filter(|(_, len)| *len > 0) {
            self.parts.push(libc::iovec { iov_base: start.cast_mut().cast(), iov_len: *len });
            bytes += len;
        }
        if let Some(train) = self.trains.last_mut().filter(|_| self.has_trains && !fragments) {
            let is_full = train.count == TRAIN_FRAMES_MAX || train.bytes + bytes > TRAIN_BYTES_MAX;
            let is_even = train.bytes == train.count * train.frame_bytes && bytes <= train.frame_bytes;
            if train.way == way && !is_full && is_even && !train.fragments {
                train.count += 1;
                train.bytes += bytes;
                return;
            }
        }
        let first = self.frames.len() - 1;
        self.trains.push(Train { to, way, fragments, frame_bytes: bytes, bytes, first, count: 1 });
    }

    /// Room for nothing.
    pub(super) fn nothing() -> Batch {
        Batch {
            trains: Vec::new(),
            parts: Vec::new(),
            frames: Vec::new(),
            staging: Box::new([]),
            staged: 0,
            has_trains: false,
        }
    }

    /// Adds a copy of a frame of another batch, with a bit flipped if so asked for.
    pub(super) fn copy(&mut self, other: &Batch, train: usize, frame: usize, damage: Option<u64>) {
        let train = &other.trains[train];
        let parts = other.frame(train, frame);
        let bytes = parts.iter().map(|part| part.iov_len).sum();
        let place = self.stage(bytes);
        gather(parts, place);
        if let Some(bit) = damage {
            let bit = (bit % (8 * bytes as u64)) as usize;
            place[bit / 8] ^= 1 << (bit % 8);
        }
        let place = place.as_ptr();
        self.add(train.to, train.way, train.fragments, &[(place, bytes)]);
    }

    pub(super) fn trains(&self) -> &[Train] {
        &self.trains
    }

    /// The parts of all frames of a train.
    pub(super) fn parts(&self, train: &Train) -> &[libc::iovec] {
        &self.parts[self.frames[train.first]..self.end(train.first + train.count - 1)]
    }

    /// The parts of one of them.
    pub(super) fn frame(&self, train: &Train, frame: usize) -> &[libc::iovec] {
        let frame = train.first + frame;
        &self.parts[self.frames[frame]..self.end(frame)]
    }

    fn end(&self, frame: usize) -> usize {
        self.frames.get(frame + 1).copied().unwrap_or(self.parts.len())
    }

    /// All frames, one after the other.
    pub fn frames(&self) -> impl Iterator<Item = Staged<'_>> {
        self.trains
            .iter()
            .flat_map(move |train| (0..train.count).map(move |frame| Staged { train, parts: self.frame(train, frame) }))
    }

    /// The bytes of a frame.
    #[cfg(test)]
    pub(super) fn bytes(&self, train: &Train, frame: usize) -> Vec<u8> {
        let parts = self.frame(train, frame);
        let mut bytes = vec![0; parts.iter().map(|part| part.iov_len).sum()];
        gather(parts, &mut bytes);
        bytes
    }
}

/// A frame of a batch.
pub struct Staged<'b> {
    train: &'b Train,
    parts: &'b [libc::iovec],
}

impl Staged<'_> {
    /// The rank it is for.
    pub fn to(&self) -> u32 {
        self.train.to
    }

    /// The number of the way there.
    pub fn way(&self) -> u32 {
        self.train.way
    }

    /// Its bytes.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.iov_len).sum()
    }

    /// Whether there are none, which never is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies it into room for [`Staged::len`] bytes.
    pub fn copy(&self, into: &mut [u8]) {
        gather(self.parts, into);
    }
}

/// Copies the parts of a frame into room for all of them.
fn gather(parts: &[libc::iovec], mut into: &mut [u8]) {
    for part in parts {
        let (here, rest) = into.split_at_mut(part.iov_len);
        // SAFETY: whoever added the frame leaves its parts where they are until the batch is cleared.
        unsafe { copy_out(part.iov_base.cast_const().cast(), here) };
        into = rest;
    }
}

/// Datagrams, or trains of them, that are received at a time.
const INBOX_COUNT: usize = 8;
/// Bytes of the longest.
const INBOX_BYTES: usize = 1 << 16;
/// Bytes from which on they are received one by one.
const LONG_BYTES: usize = 1 << 13;
/// Single datagrams in a row, at most, after which several are asked for.
const PATIENCE_MAX: usize = 64;

/// Where the kernel puts what comes.
pub struct Inbox {
    buffers: Box<[CacheLine]>,
    /// Bytes in each buffer.
    received: [usize; INBOX_COUNT],
    places: Box<[libc::iovec; INBOX_COUNT]>,
    headers: Box<[libc::mmsghdr; INBOX_COUNT]>,
    /// How many datagrams are asked for next.
    wanted: usize,
    /// Single datagrams found in a row, and how many there must be before more are asked for at a time: asking for one more than
    /// there is costs as much as half of one, so each time that was in vain it is tried more seldom.
    in_a_row: usize,
    patience: usize,
}

// SAFETY: its pointers are to its own boxes.
unsafe impl Send for Inbox {}

impl Inbox {
    pub(super) fn new() -> Inbox {
        Inbox {
            buffers: lines(INBOX_COUNT * INBOX_BYTES),
            received: [0; INBOX_COUNT],
            places: Box::new([libc::iovec { iov_base: std::ptr::null_mut(), iov_len: INBOX_BYTES }; INBOX_COUNT]),
            // SAFETY: all zeros are a header of nothing.
            headers: Box::new(unsafe { std::mem::zeroed() }),
            wanted: 1,
            in_a_row: 0,
            patience: 2,
        }
    }

    /// Has buffers filled, each with a datagram of so many bytes, until there is none. How many were, and whether there may be more.
    pub fn fill(&mut self, mut next: impl FnMut(&mut [u8]) -> Option<usize>) -> (usize, bool) {
        let buffers = cast_slice_mut::<_, u8>(&mut self.buffers).chunks_exact_mut(INBOX_BYTES);
        let mut count = 0;
        for (buffer, received) in buffers.zip(&mut self.received) {
            let Some(bytes) = next(buffer) else { return (count, false) };
            *received = bytes.min(INBOX_BYTES);
            count += 1;
        }
        (count, true)
    }

    /// A buffer to look into, and to receive one datagram.
    pub(super) fn buffer(&mut self) -> &mut [u8] {
        &mut cast_slice_mut(&mut self.buffers)[..INBOX_BYTES]
    }

    /// The buffer to receive into, if only one datagram is asked for.
    pub(super) fn single(&mut self) -> Option<&mut [u8]> {
        (self.wanted == 1).then(|| self.buffer())
    }

    /// Headers for the kernel to fill. They point to boxes of this inbox, which lives on while they are used.
    pub(super) fn headers(&mut self) -> &mut [libc::mmsghdr] {
        let Inbox { buffers, places, headers, wanted, .. } = self;
        let buffers = cast_slice_mut::<_, u8>(buffers).chunks_exact_mut(INBOX_BYTES);
        for ((place, header), buffer) in places.iter_mut().zip(headers.iter_mut()).zip(buffers) {
            place.iov_base = buffer.as_mut_ptr().cast();
            header.msg_hdr.msg_iov = place;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_flags = 0;
        }
        &mut headers[..*wanted]
    }

    /// The kernel has filled the only buffer asked for with so many bytes, or none. How many were filled, and whether there may be
    /// more.
    #[inline]
    pub(super) fn filled_single(&mut self, bytes: Option<usize>) -> (usize, bool) {
        self.received[0] = bytes.unwrap_or(0).min(INBOX_BYTES);
        self.filled(usize::from(bytes.is_some()))
    }

    /// It has filled so many by their headers.
    pub(super) fn filled_headers(&mut self, count: usize) -> (usize, bool) {
        for (bytes, header) in self.received.iter_mut().zip(&self.headers[..count]) {
            let is_cut = header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
            *bytes = if is_cut { 0 } else { (header.msg_len as usize).min(INBOX_BYTES) };
        }
        self.filled(count)
    }

    #[inline]
    fn filled(&mut self, count: usize) -> (usize, bool) {
        let is_full = count == self.wanted;
        // A long one is handled while it is in the nearest caches.
        let is_long = self.received[..count].iter().any(|bytes| *bytes >= LONG_BYTES);
        if self.wanted > 1 {
            self.patience = if count > 1 { 2 } else { (2 * self.patience).min(PATIENCE_MAX) };
        }
        self.in_a_row = if is_full && !is_long { self.in_a_row + 1 } else { 0 };
        self.wanted = match count {
            _ if is_long => 1,
            1 if self.in_a_row < self.patience => 1,
            _ if is_full => (2 * count).clamp(1, INBOX_COUNT),
            _ => count.max(1),
        };
        (count, is_full)
    }

    /// Whether the only datagram that was received is long, so that more of them are to be expected.
    pub(super) fn is_long(&self) -> bool {
        self.received[0] >= LONG_BYTES
    }

    /// The datagrams in the buffer of this number.
    pub(super) fn datagrams(&self, index: usize) -> std::slice::Chunks<'_, u8> {
        let start = index * INBOX_BYTES;
        let bytes = &cast_slice(&self.buffers)[start..start + self.received[index]];
        bytes.chunks(first_bytes(bytes).max(1))
    }
}

/// The control message that says how long each frame of a train is: length, level and type, value.
pub type Control = [u64; 3];
pub const CONTROL_BYTES: usize = size_of::<Control>();

/// The control message for frames of so many bytes.
pub fn control(frame_bytes: u16) -> Control {
    let (level, kind) = (libc::SOL_UDP.to_ne_bytes(), libc::UDP_SEGMENT.to_ne_bytes());
    let both = std::array::from_fn(|byte| if byte < 4 { level[byte] } else { kind[byte - 4] });
    let mut value = [0; 8];
    value[..2].copy_from_slice(&frame_bytes.to_ne_bytes());
    [18, u64::from_ne_bytes(both), u64::from_ne_bytes(value)]
}
