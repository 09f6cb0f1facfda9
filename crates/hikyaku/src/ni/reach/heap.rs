//! The half of a rank's heap that is its own: parts of it are taken, made ready and given back.

use crate::error::{Error, Result};
use crate::memory::heap::Heap;
use crate::memory::segment::PAGE_BYTES;
use crate::ni::base::Base;
use crate::sync::brief::lock;

impl Base {
    /// A part of the own heap, zeroed, with memory behind it; its offset in the heap.
    pub(crate) fn take_heap(&self, bytes: usize) -> Result<usize> {
        self.take_part(bytes, true)
    }

    /// A part of the own heap whose pages are taken when they are first touched: for tables of which little may be used.
    pub(crate) fn take_sparse(&self, bytes: usize) -> Result<usize> {
        self.take_part(bytes, false)
    }

    fn take_part(&self, bytes: usize, commit: bool) -> Result<usize> {
        self.check_rank(self.rank)?;
        let mut heap = lock(&self.own_heap);
        let start = heap.take(bytes).ok_or_else(|| no_room(bytes, heap.largest_free()))?;
        drop(heap);
        self.ready_memory(start, bytes, commit).inspect_err(|_| self.give_heap(start, bytes))?;
        Ok(start)
    }

    /// Puts memory behind a part of the heap of a rank that is near.
    pub(crate) fn commit_near(&self, rank: usize, start: usize, bytes: usize) -> Result<()> {
        self.memory.commit(self.memory.layout.heap(self.local_of(rank)) + start, bytes)
    }

    /// Puts memory behind a part of the own heap, so that touching it cannot fail.
    pub(crate) fn commit_heap(&self, start: usize, bytes: usize) -> Result<()> {
        self.memory.commit(self.own_span(start, bytes), bytes)
    }

    /// Makes whole pages of a part of the own heap zero, which are taken again when they are touched.
    pub(crate) fn release_heap(&self, start: usize, bytes: usize) {
        self.memory.segment.release(self.own_span(start, bytes), bytes);
    }

    /// Gives a part of the own heap back. Not in a forked child, whatever it drops: the memory is its parent's.
    pub(crate) fn give_heap(&self, start: usize, bytes: usize) {
        if self.is_forked() {
            return;
        }
        self.release_heap(start, bytes);
        lock(&self.own_heap).give(start, bytes);
    }

    /// Checks what a peer has told: that a part of its heap, of whole pages, lies in the half that is its own.
    pub(crate) fn check_own_part(&self, rank: usize, start: u64, bytes: usize) -> Result<()> {
        self.check_rank(rank)?;
        let whole_pages = start.is_multiple_of(PAGE_BYTES as u64);
        let half = self.memory.layout.heap_half_bytes as u64;
        let end = start.checked_add(bytes as u64);
        if whole_pages && start >= half && end.is_some_and(|end| end <= 2 * half) {
            return Ok(());
        }
        Err(Error::PeerMisbehaved { rank, what: "a part outside its memory" })
    }

    /// The first byte of a part of a near rank's heap, if it lies in the half that is its own.
    pub(crate) fn find_own_part(&self, rank: usize, start: u64, bytes: u64) -> Option<*mut u8> {
        self.near_bytes(rank, start, bytes).filter(|_| start >= self.memory.layout.heap_half_bytes as u64)
    }

    /// No operation under way writes its status into this part of the own heap any more: it is about to be freed.
    pub(crate) fn forget_statuses(&self, start: usize, bytes: usize) {
        for account in &self.accounts {
            account.forget_statuses(start..start + bytes);
        }
    }

    /// Makes freshly taken heap memory zero and, if committed, present, so that touching it cannot fail.
    pub(crate) fn ready_memory(&self, start: usize, bytes: usize, commit: bool) -> Result<()> {
        let bytes = Heap::rounded(bytes).expect("taken with the same size");
        let span = self.own_span(start, bytes);
        self.memory.segment.release(span, bytes);
        if commit {
            self.memory.commit(span, bytes)?;
        }
        if bytes < PAGE_BYTES {
            self.own_memory(start, bytes).copy_in(&vec![0u8; bytes]);
        }
        Ok(())
    }
}

/// The heap has no such part.
pub(crate) fn no_room(needed: usize, available: usize) -> Error {
    Error::NoMemory {
        needed: needed as u64,
        available: available as u64,
        limit: "heap of this rank (set HIKYAKU_HEAP for a larger one)",
    }
}
