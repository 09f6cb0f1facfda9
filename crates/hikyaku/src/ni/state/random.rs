//! Numbers that nobody guesses.

use crate::error::{Error, Result};

/// A random number that is not 0.
pub(crate) fn random() -> Result<u64> {
    let mut bytes = [0u8; 8];
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::system("getrandom", error)),
        }
    }
    Ok(u64::from_ne_bytes(bytes).max(1))
}
