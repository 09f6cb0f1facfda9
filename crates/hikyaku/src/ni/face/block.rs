//! Memory of this rank that all ranks of the host map, without an id by which peers could name it.

use super::port::Port;
use crate::error::Result;
use crate::ni::interface::Ni;
use bytemuck::Pod;
use std::sync::Arc;

/// A part of this rank's heap: long messages from or into it are copied by both sides without a system call. Given back
/// when dropped.
pub struct Block {
    ni: Arc<Ni>,
    start: usize,
    bytes: usize,
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Block {{ bytes: {} }}", self.bytes)
    }
}

impl Port {
    /// Takes `bytes` zeroed bytes of this rank's heap.
    ///
    /// ```
    /// hikyaku::local(1, |job| {
    ///     let mut block = job.block(1000)?;
    ///     let bytes = block.as_mut_slice::<u8>();
    ///     assert_eq!(bytes[999], 0);
    ///     bytes[0] = 7;
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    pub fn block(&self, bytes: usize) -> Result<Block> {
        let ni = &self.initiator.ni;
        let start = ni.take_heap(bytes.max(1))?;
        Ok(Block { ni: ni.clone(), start, bytes: bytes.max(1) })
    }
}

impl Block {
    /// Its first byte, at a multiple of a cache line. It is the program's to see to it that nobody uses the memory at the
    /// same time as a message.
    pub fn start(&self) -> *mut u8 {
        self.ni.own_bytes(self.start, self.bytes)
    }

    /// As many elements as it holds. Peers cannot name it, so it is written by this rank, and by messages that are received into it.
    pub fn as_mut_slice<T: Pod>(&mut self) -> &mut [T] {
        // SAFETY: so many bytes of the heap, which stays mapped with `ni`. They are given to nobody else, and borrowed as a whole.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.start(), self.bytes) };
        let whole = bytes.len() / size_of::<T>().max(1) * size_of::<T>();
        bytemuck::cast_slice_mut(&mut bytes[..whole])
    }

    /// Bytes, at least 1.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // In a fork the memory is the parent's.
        if self.ni.check_rank(self.ni.rank).is_ok() {
            self.ni.give_heap(self.start, self.bytes);
        }
    }
}
