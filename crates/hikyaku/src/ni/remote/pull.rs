//! Reading bytes of another rank: by the network itself, or through that rank's interface, with several requests under way.

use super::initiator::Initiator;
use super::onesided::OneSided;
use crate::error::Result;
use crate::memory::copy;
use crate::ni::state::inside::refuse_in_handler;
use crate::ni::state::pull::WINDOW;
use crate::ni::wire::operation::{Act, Manner, Operation};
use crate::ni::wire::target::Target;
use std::cell::Cell;

impl Initiator {
    /// Reads `bytes` bytes.
    ///
    /// # Safety
    /// They can be written at `into`; peers may change them meanwhile.
    pub unsafe fn pull_routed(&self, from: Target, into: *mut u8, bytes: usize) -> Result<()> {
        let ni = &*self.ni;
        if ni.is_common(&from) {
            let source = ni.common_bytes(&from, bytes as u64).expect("the library's own places");
            // SAFETY: memory of a rank of this host, which stays mapped; the caller's promise.
            unsafe { copy::copy(into, source, bytes) };
            return Ok(());
        }
        refuse_in_handler()?;
        if ni.is_near(from.rank) {
            self.settle(from.rank)?;
        }
        if let Some(network) = OneSided::of(self)
            // SAFETY: the caller's promise.
            && unsafe { network.pull(from, into, bytes)? }
        {
            return Ok(());
        }
        let _calling = self.begin_call(from.rank)?;
        let piece = ni.payload_max(from.rank);
        // SAFETY: the caller's promise; the desk is closed when this returns.
        let open = unsafe { ni.pulls[self.index].open(self.index, from.rank, into, bytes, piece) };
        let (total, asked) = (bytes.div_ceil(piece), Cell::new(0));
        let request = |number: usize| {
            let at = number * piece;
            let act = Act::Pull { bytes: piece.min(bytes - at) as u64, position: at as u64 };
            self.try_operation(&Operation { at: from.plus(at), act, manner: Manner::Plain }, open.token)
        };
        // What has come makes room for further requests.
        let step = || -> Result<Option<()>> {
            let arrived = open.arrived()?;
            while asked.get() < total && asked.get() < arrived + WINDOW && request(asked.get())? {
                asked.set(asked.get() + 1);
            }
            Ok((arrived >= total).then_some(()))
        };
        self.wait_for_rank(from.rank, || step().transpose())?
    }

    /// Reads bytes.
    pub fn pull_bytes(&self, from: Target, into: &mut [u8]) -> Result<()> {
        // SAFETY: a live slice, borrowed mutably.
        unsafe { self.pull_routed(from, into.as_mut_ptr(), into.len()) }
    }
}
