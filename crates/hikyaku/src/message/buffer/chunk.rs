//! A long buffer in chunks, which two sides claim from a [`crate::message::wire::deal::Deal`] and copy at the same time.

use crate::message::wire::deal::CHUNKS_MAX;
use std::ops::Range;

/// Bytes that one side copies at a time: small enough that both finish together, large enough that claiming and the start
/// of a system call (about 1 µs for private memory) do not count. A megabyte is cut into eight, and what is longer too, up to chunks that
/// whoever gives its buffer up can wait for.
const CHUNK_MIN: usize = 32 * 1024;
const CHUNK: usize = 128 * 1024;
const CHUNK_MAX: usize = 512 * 1024;

/// How a buffer is cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunks {
    pub bytes: usize,
    size: usize,
    pub count: u64,
}

impl Chunks {
    pub fn of(bytes: usize) -> Chunks {
        // A buffer of few chunks is cut finer, a short one in halves, so that both sides have work; a huge one coarser, so
        // that they can be counted.
        let halves = if bytes < 2 * CHUNK_MIN { bytes.div_ceil(2) } else { CHUNK_MIN };
        let quarters = (bytes / 4).clamp(halves, CHUNK);
        let eighths = (bytes / 8).min(CHUNK_MAX);
        let size = quarters.max(eighths).max(bytes.div_ceil(CHUNKS_MAX)).max(1).next_multiple_of(4096);
        Chunks { bytes, size, count: bytes.div_ceil(size) as u64 }
    }

    pub fn range(&self, index: u64) -> Range<usize> {
        let start = index as usize * self.size;
        start..(start + self.size).min(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a message that a peer offers, for one.
    #[test]
    fn no_bytes_are_no_chunks() {
        assert_eq!(Chunks::of(0).count, 0);
    }

    #[test]
    fn chunks_cover_a_buffer_once_and_can_be_counted() {
        for bytes in [0, 1, 4096, 16_385, 100_000, 1 << 20, (8 << 20) + 5, (9 << 30) + 1, 1 << 40] {
            let chunks = Chunks::of(bytes);
            assert!(chunks.count <= CHUNKS_MAX as u64);
            let mut end = 0;
            for index in 0..chunks.count {
                let range = chunks.range(index);
                assert!(range.start == end && range.end > end);
                end = range.end;
            }
            assert_eq!(end, bytes);
        }
    }
}
