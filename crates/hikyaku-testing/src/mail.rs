//! Messages by rank and tag, however they travel: what message exchange and messages in packets have in common.

use bytemuck::Pod;
use hikyaku::Result;
use hikyaku::exchange::Exchange;
use hikyaku::matching::{Keys, Matched, Source};
use hikyaku::packets::Packets;
use std::time::Duration;

/// See [`Exchange`].
pub trait Mail {
    fn send<T: Pod>(&self, data: &[T], rank: usize, tag: u64) -> Result<()>;
    fn recv<T: Pod>(&self, into: &mut [T], from: impl Into<Source>, tags: impl Into<Keys>) -> Result<Matched>;
    fn recv_for<T: Pod>(
        &self,
        into: &mut [T],
        from: impl Into<Source>,
        tags: impl Into<Keys>,
        timeout: Duration,
    ) -> Result<Matched>;
    fn probe(&self, from: impl Into<Source>, tags: impl Into<Keys>) -> Result<Matched>;
    fn try_probe(&self, from: impl Into<Source>, tags: impl Into<Keys>) -> Result<Option<Matched>>;
    fn free(self) -> Result<()>;
}

macro_rules! mail {
    ($($kind:ident)*) => {$(
        impl Mail for $kind<'_> {
            fn send<T: Pod>(&self, data: &[T], rank: usize, tag: u64) -> Result<()> {
                $kind::send(self, data, rank, tag)
            }

            fn recv<T: Pod>(&self, into: &mut [T], from: impl Into<Source>, tags: impl Into<Keys>) -> Result<Matched> {
                $kind::recv(self, into, from, tags)
            }

            fn recv_for<T: Pod>(
                &self,
                into: &mut [T],
                from: impl Into<Source>,
                tags: impl Into<Keys>,
                timeout: Duration,
            ) -> Result<Matched> {
                $kind::recv_for(self, into, from, tags, timeout)
            }

            fn probe(&self, from: impl Into<Source>, tags: impl Into<Keys>) -> Result<Matched> {
                $kind::probe(self, from, tags)
            }

            fn try_probe(&self, from: impl Into<Source>, tags: impl Into<Keys>) -> Result<Option<Matched>> {
                $kind::try_probe(self, from, tags)
            }

            fn free(self) -> Result<()> {
                $kind::free(self)
            }
        }
    )*};
}

mail!(Exchange Packets);
