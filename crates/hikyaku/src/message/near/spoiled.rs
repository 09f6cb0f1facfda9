//! Long messages that could not be copied, by whichever side: both are told, when nobody copies any more.

use crate::error::{Error, Result};
use crate::message::Core;
use crate::message::wire::deal::Deal;
use crate::ni::wait::By;

impl Core {
    /// A claimed chunk of a message was copied, or not: that ends the message only after everybody has stopped copying, unless
    /// the other side has ended anyway.
    #[inline]
    pub(in crate::message) fn count_copied(&self, deal: &Deal, number: u64, copied: Result<()>) -> Result<()> {
        if let Err(error) = &copied {
            deal.spoil(number, if let Error::System { errno, .. } = error { *errno } else { libc::EFAULT });
        }
        deal.copied();
        match copied {
            Err(ended) if ended.is_end_of_peer() => Err(ended),
            _ => Ok(()),
        }
    }

    /// What a message to or from `member` failed with that could not be copied.
    #[cold]
    pub(in crate::message) fn why_spoiled(&self, errno: i32, member: usize, failed: Error) -> Error {
        // The memory of a process that ends may be gone before it is.
        match self.ni.check_departed(By::Rank(self.rank_of(member))) {
            Err(ended) => ended,
            Ok(()) if errno == libc::EFAULT => failed,
            Ok(()) => Error::System { call: "process_vm_readv or process_vm_writev", errno },
        }
    }
}
