//! Frames for messages that are to be sent: made when they are first needed, never more than so many, and used again.

use crate::lent::Frame;
use crate::port::Port;
use hikyaku::Result;

/// Frames of one size.
pub struct Frames {
    bytes: usize,
    spare: Vec<Frame>,
    made: usize,
    max: usize,
}

impl Frames {
    /// At most so many, of so many bytes.
    pub fn new(bytes: usize, max: usize) -> Frames {
        Frames { bytes, spare: Vec::new(), made: 0, max }
    }

    /// Bytes that each holds.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// One of them; `None` while all are under way.
    ///
    /// # Errors
    /// When libfabric does not register it.
    pub fn take(&mut self, port: &Port) -> Result<Option<Frame>> {
        if let Some(frame) = self.spare.pop() {
            return Ok(Some(frame));
        }
        if self.made == self.max {
            return Ok(None);
        }
        let frame = port.frame(self.bytes)?;
        self.made += 1;
        Ok(Some(frame))
    }

    /// Takes one back.
    pub fn give_back(&mut self, frame: Frame) {
        self.spare.push(frame);
    }

    /// How many are under way.
    pub fn under_way(&self) -> usize {
        self.made - self.spare.len()
    }
}
