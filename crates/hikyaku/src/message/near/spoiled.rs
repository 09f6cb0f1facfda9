//! Long messages that could not be copied, by whichever side: both are told, when nobody copies any more.

use super::pair::NearPair;
use crate::error::{Error, Result};
use crate::message::wire::deal::Deal;
use crate::ni::By;

impl NearPair<'_> {
    /// What a message to or from the member failed with that could not be copied.
    #[cold]
    pub fn why_spoiled(self, errno: i32, failed: Error) -> Error {
        // The memory of a process that ends may be gone before it is.
        match self.core.ni.check_departed(By::Rank(self.link.rank)) {
            Err(ended) => ended,
            Ok(()) if errno == libc::EFAULT => failed,
            Ok(()) => Error::System { call: "process_vm_readv or process_vm_writev", errno },
        }
    }
}

/// A claimed chunk of a message was copied, or not: that ends the message only after everybody has stopped copying, unless
/// the other side has ended anyway.
#[inline]
pub(super) fn count_copied(deal: &Deal, number: u64, copied: Result<()>) -> Result<()> {
    if let Err(error) = &copied {
        deal.spoil(number, if let Error::System { errno, .. } = error { *errno } else { libc::EFAULT });
    }
    deal.copied();
    match copied {
        Err(ended) if ended.is_end_of_peer() => Err(ended),
        _ => Ok(()),
    }
}
