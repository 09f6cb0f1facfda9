//! Frames that go to the kernel in one call, and where it puts those that come.
//!
//! Frames of one size for one peer that follow each other make a *train*: the kernel takes it as one long datagram and cuts it up
//! as late as it can (GSO), and gives what arrived of it in one piece (GRO). Over virtual links it is never cut at all.

use super::address::Address;

/// Trains of a batch at most.
pub const TRAINS_MAX: usize = 32;
/// Frames of a batch at most.
const FRAMES_MAX: usize = 512;
/// Frames of a train at most: what every kernel that has GSO takes.
const TRAIN_FRAMES_MAX: usize = 64;
/// Bytes of a train at most: a datagram's.
const TRAIN_BYTES_MAX: usize = 65_000;
/// Room for frames that are made while they are sent.
const STAGING_BYTES: usize = 256 << 10;

/// Frames to send.
pub struct Batch {
    trains: Vec<Train>,
    frames: Vec<libc::iovec>,
    staging: Box<[u8]>,
    staged: usize,
    /// Whether the kernel cuts trains.
    pub has_trains: bool,
}

// SAFETY: a batch is filled, sent and cleared by one holder of the endpoint's lock, who also owns all its frames point to.
unsafe impl Send for Batch {}

/// Frames that travel together.
#[derive(Clone, Copy)]
pub struct Train {
    /// The rank they are for.
    pub to: u32,
    pub address: Address,
    /// The kernel may cut each into fragments: they were made for a wider path.
    pub fragments: bool,
    /// Bytes of each but the last, which may be shorter.
    pub frame_bytes: usize,
    pub bytes: usize,
    first: usize,
    count: usize,
}

impl Batch {
    pub fn new(has_trains: bool) -> Batch {
        Batch {
            trains: Vec::with_capacity(TRAINS_MAX),
            frames: Vec::with_capacity(FRAMES_MAX),
            staging: vec![0; STAGING_BYTES].into(),
            staged: 0,
            has_trains,
        }
    }

    /// Whether a frame of so many bytes finds no room.
    pub fn is_full(&self, bytes: usize) -> bool {
        self.trains.len() == TRAINS_MAX || self.frames.len() == FRAMES_MAX || self.staged + bytes > self.staging.len()
    }

    pub fn is_empty(&self) -> bool {
        self.trains.is_empty()
    }

    pub fn clear(&mut self) {
        self.trains.clear();
        self.frames.clear();
        self.staged = 0;
    }

    /// Room for a frame of so many bytes that is made now; the caller has seen that there is some. It is not sent before
    /// [`Batch::add`].
    pub fn stage(&mut self, bytes: usize) -> &mut [u8] {
        let start = self.staged;
        self.staged += bytes;
        &mut self.staging[start..self.staged]
    }

    /// Adds a frame, which stays where it is until the batch is cleared.
    pub fn add(&mut self, to: u32, address: Address, fragments: bool, frame: *mut u8, bytes: usize) {
        self.frames.push(libc::iovec { iov_base: frame.cast(), iov_len: bytes });
        if let Some(train) = self.trains.last_mut().filter(|_| self.has_trains && !fragments) {
            let is_full = train.count == TRAIN_FRAMES_MAX || train.bytes + bytes > TRAIN_BYTES_MAX;
            let is_even = train.bytes == train.count * train.frame_bytes && bytes <= train.frame_bytes;
            if train.to == to && !is_full && is_even && !train.fragments {
                train.count += 1;
                train.bytes += bytes;
                return;
            }
        }
        let first = self.frames.len() - 1;
        self.trains.push(Train { to, address, fragments, frame_bytes: bytes, bytes, first, count: 1 });
    }

    /// Room for nothing.
    pub fn nothing() -> Batch {
        Batch { trains: Vec::new(), frames: Vec::new(), staging: Box::new([]), staged: 0, has_trains: false }
    }

    /// The bytes of a frame.
    pub fn bytes(&self, train: &Train, frame: usize) -> &[u8] {
        let frame = self.frames(train)[frame];
        // SAFETY: whoever added the frame leaves it where it is until the batch is cleared, and nobody writes to it meanwhile.
        unsafe { std::slice::from_raw_parts(frame.iov_base.cast(), frame.iov_len) }
    }

    /// Adds a copy of a frame of another batch, with a bit flipped if so asked for.
    pub fn copy(&mut self, other: &Batch, train: usize, frame: usize, damage: Option<u64>) {
        let train = &other.trains[train];
        let bytes = other.bytes(train, frame);
        let place = self.stage(bytes.len());
        place.copy_from_slice(bytes);
        if let Some(bit) = damage {
            let bit = (bit % (8 * bytes.len() as u64)) as usize;
            place[bit / 8] ^= 1 << (bit % 8);
        }
        let place = place.as_mut_ptr();
        self.add(train.to, train.address, train.fragments, place, bytes.len());
    }

    pub fn trains(&self) -> &[Train] {
        &self.trains
    }

    /// The frames of a train.
    pub fn frames(&self, train: &Train) -> &[libc::iovec] {
        &self.frames[train.first..train.first + train.count]
    }
}

/// Datagrams that are received at a time.
pub const INBOX_COUNT: usize = 8;
/// Bytes of the longest datagram, or train of them.
pub const INBOX_BYTES: usize = 1 << 16;

/// Where the kernel puts what comes.
pub struct Inbox {
    pub buffers: Box<[u8]>,
    /// For each buffer: bytes in it, and bytes of each datagram but the last.
    pub received: [(usize, usize); INBOX_COUNT],
}

impl Inbox {
    pub fn new() -> Inbox {
        Inbox { buffers: vec![0; INBOX_COUNT * INBOX_BYTES].into(), received: [(0, 0); INBOX_COUNT] }
    }

    /// The datagrams in the buffer of this number.
    pub fn datagrams(&self, index: usize) -> std::slice::Chunks<'_, u8> {
        let (bytes, each) = self.received[index];
        let start = index * INBOX_BYTES;
        self.buffers[start..start + bytes].chunks(each.max(1))
    }
}
