//! Where frames leave: the socket, or something around it.

use super::batch::Batch;
use super::socket::{Socket, Trouble};
use std::sync::Arc;

/// Takes batches of frames.
pub trait Wire: Send {
    /// Sends a batch, and tells `trouble` of trains it has trouble with.
    fn send(&mut self, batch: &Batch, trouble: &mut dyn FnMut(u32, Trouble));

    /// Time passes: what was held up may go now.
    fn pass(&mut self) {}
}

impl Wire for Arc<Socket> {
    fn send(&mut self, batch: &Batch, trouble: &mut dyn FnMut(u32, Trouble)) {
        Socket::send(self, batch, trouble);
    }
}
