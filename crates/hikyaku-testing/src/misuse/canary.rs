//! Buffers that notice who writes to them.

/// What nobody sends.
const CANARY: u8 = 0xC9;
const MARGIN: usize = 64;

/// A buffer between margins that nobody may write.
#[derive(Clone)]
pub struct Guarded {
    bytes: Vec<u8>,
}

impl Guarded {
    /// A buffer of `len` bytes, all of them canaries.
    pub fn new(len: usize) -> Guarded {
        Guarded { bytes: vec![CANARY; len + 2 * MARGIN] }
    }

    /// What may be written.
    pub fn inside(&mut self) -> &mut [u8] {
        let end = self.bytes.len() - MARGIN;
        &mut self.bytes[MARGIN..end]
    }

    /// Panics if a margin was written.
    pub fn check_margins(&self) {
        let end = self.bytes.len() - MARGIN;
        check_untouched(&self.bytes[..MARGIN]);
        check_untouched(&self.bytes[end..]);
    }

    /// Panics if anything was written.
    pub fn check_untouched(&self) {
        check_untouched(&self.bytes);
    }
}

fn check_untouched(bytes: &[u8]) {
    let touched = bytes.iter().position(|byte| *byte != CANARY);
    assert_eq!(touched, None, "a buffer that nobody may write was written");
}
