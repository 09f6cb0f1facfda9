//! Where the answers to one port's calls arrive. In private memory of the rank: the port's holder asks, whichever thread
//! of the rank runs the engine fills in the answer.
//!
//! ```text
//!   port                                        engine (one thread at a time)
//!   expected = a token never used before        is this answer's token the expected one?  no: drop it
//!   send the call, with the token               words, payload, refusal
//!   done = token, acquired                      done = token, released
//!   read words, payload, refusal
//! ```
//! A call may be given up. Its answer is dropped when the next call has begun; if it was let in just before, it still
//! fills in its part. That does no harm: the next answer comes after it, since the engine has one thread at a time, and
//! fills in everything anew.

use crate::ni::wire::token;
use crate::sync::atomic::{AtomicU64, Mutex, MutexGuard, Ordering};
use crate::sync::brief::lock;
use crate::transport::shm::ring::ARGUMENT_COUNT;

/// The slot of one port.
#[derive(Debug, Default)]
pub struct CallSlot {
    /// Token of the last call opened. It only tells answers apart: what order an answer needs, it has from the message
    /// that asked for it.
    expected: AtomicU64,
    /// Token of the last call answered.
    done: AtomicU64,
    /// Why it was refused, or 0.
    refusal: AtomicU64,
    words: [AtomicU64; ARGUMENT_COUNT],
    /// Bytes of its payload.
    payload_bytes: AtomicU64,
    payload: Mutex<Vec<u8>>,
}

impl CallSlot {
    /// Begins a call; the token tells the port and is never used twice.
    pub fn open(&self, port: usize) -> u64 {
        let last = self.expected.load(Ordering::Relaxed);
        let token = token::called(port, token::number_of(last) + 1);
        self.expected.store(token, Ordering::Relaxed);
        token
    }

    /// Takes an answer, if it is the one expected.
    pub fn answer(&self, token: u64, words: &[u64; ARGUMENT_COUNT], payload: &[u8]) {
        if self.expected.load(Ordering::Relaxed) != token {
            return;
        }
        for (place, word) in self.words.iter().zip(words) {
            place.store(*word, Ordering::Relaxed);
        }
        self.payload_bytes.store(payload.len() as u64, Ordering::Relaxed);
        if !payload.is_empty() {
            let mut kept = self.payload();
            kept.clear();
            kept.extend_from_slice(payload);
        }
        self.finish(token, 0);
    }

    /// Takes a refusal of a call.
    pub fn refuse(&self, token: u64, reason: u64) {
        if self.expected.load(Ordering::Relaxed) == token {
            self.finish(token, reason.max(1));
        }
    }

    fn finish(&self, token: u64, refusal: u64) {
        self.refusal.store(refusal, Ordering::Relaxed);
        self.done.store(token, Ordering::Release);
    }

    /// Once the call is answered: why it was refused, or 0.
    #[inline]
    pub fn outcome(&self, token: u64) -> Option<u64> {
        (self.done.load(Ordering::Acquire) == token).then(|| self.refusal.load(Ordering::Relaxed))
    }

    /// The words of the answer.
    pub fn words(&self) -> [u64; ARGUMENT_COUNT] {
        std::array::from_fn(|i| self.words[i].load(Ordering::Relaxed))
    }

    /// Copies the payload of the answer, if it fits; how many bytes it has.
    pub fn read_payload(&self, into: &mut [u8]) -> usize {
        let bytes = self.payload_bytes.load(Ordering::Relaxed) as usize;
        if bytes > 0
            && let Some(into) = into.get_mut(..bytes)
        {
            let kept = self.payload();
            // As long as was said, unless answers of two peers came at once, of which one was given up.
            into.iter_mut().zip(kept.iter()).for_each(|(into, byte)| *into = *byte);
        }
        bytes
    }

    /// The payload of the last answer that had one.
    pub fn payload(&self) -> MutexGuard<'_, Vec<u8>> {
        lock(&self.payload)
    }
}
