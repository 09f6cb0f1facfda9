//! What libfabric has for the time of an operation, and gives back by its address: frames of messages, and transfers of memory.

use crate::object::Region;
use hikyaku::spi::Token;
use std::ptr::NonNull;

/// What such a thing begins with.
#[repr(C)]
pub struct Context {
    /// Libfabric's own as long as it has it.
    scratch: [u64; 8],
    /// Its place in the list of those that libfabric has.
    slot: usize,
    pub purpose: Purpose,
}

/// What it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Send,
    Receive,
    Transfer,
}

impl Context {
    pub fn new(purpose: Purpose) -> Context {
        Context { scratch: [0; 8], slot: 0, purpose }
    }
}

/// Bytes of a message. It stays where it is, whoever has it.
pub struct Frame(pub Box<Inner>);

/// The bytes, and what libfabric needs besides.
#[repr(C)]
pub struct Inner {
    pub context: Context,
    /// Its registration, where there must be one. It is closed before the bytes are freed, and before the device is.
    pub region: Option<Region>,
    pub bytes: Box<[u8]>,
}

impl Frame {
    /// What it holds.
    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    /// To be filled.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0.bytes
    }
}

/// A transfer between memory of this rank and of another one.
#[repr(C)]
pub struct Transfer {
    pub context: Context,
    /// Of the own memory, where there must be one.
    pub region: Option<Region>,
    pub token: Token,
    pub rank: u32,
}

/// Begins with a context.
///
/// # Safety
/// It is `repr(C)`, and its first field is one.
pub unsafe trait Lendable {
    fn context(&mut self) -> &mut Context;
}

// SAFETY: see its fields.
unsafe impl Lendable for Inner {
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }
}

// SAFETY: see its fields.
unsafe impl Lendable for Transfer {
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }
}

/// Those that libfabric has.
pub struct Lent<T> {
    slots: Vec<Option<NonNull<T>>>,
    free: Vec<usize>,
}

// SAFETY: what it points to is owned, and can be sent.
unsafe impl<T: Send> Send for Lent<T> {}

impl<T> Default for Lent<T> {
    fn default() -> Lent<T> {
        Lent { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T: Lendable> Lent<T> {
    /// Lends one; libfabric knows it by this address.
    pub fn lend(&mut self, mut it: Box<T>) -> NonNull<T> {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        it.context().slot = slot;
        let it = NonNull::from(Box::leak(it));
        self.slots[slot] = Some(it);
        it
    }

    /// # Safety
    /// It was lent, is not yet back, and nobody else uses it any more.
    pub unsafe fn back(&mut self, it: NonNull<T>) -> Box<T> {
        // SAFETY: it was a box, and it is live by the caller's promise.
        let mut it = unsafe { Box::from_raw(it.as_ptr()) };
        let slot = it.context().slot;
        self.slots[slot] = None;
        self.free.push(slot);
        it
    }
}

impl<T> Drop for Lent<T> {
    fn drop(&mut self) {
        for it in self.slots.iter_mut().filter_map(Option::take) {
            // SAFETY: it was a box; the endpoint that had it is closed.
            drop(unsafe { Box::from_raw(it.as_ptr()) });
        }
    }
}
