//! Pushes by a path of the caller's choice, to compare them. [`Port::push`] takes the one that suits the size.

use super::port::Port;
use crate::error::{Error, Result};
use crate::memory::copy;
use crate::ni::reach::place::{Place, Reach};
use crate::ni::wire::operation::Data;
use bytemuck::Pod;

/// How the bytes of a push go. The names in brackets are those of DIMMnet-1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushPath {
    /// All at once, at most 8 bytes (AOTF): one store, or one packet.
    Word,
    /// In windows of [`PushPath::WINDOW_BYTES`] (BOTF): through the caches, or in packets of that size.
    Window,
    /// In bulk (RDMA): as what the caches do not hold, or in packets as long as the transport takes.
    Bulk,
}

impl PushPath {
    /// Bytes of a window.
    pub const WINDOW_BYTES: usize = 464;
    /// Bytes that go at once.
    pub const WORD_BYTES: usize = 8;

    /// Bytes of a piece, of so many.
    fn piece(self, bytes: usize) -> usize {
        match self {
            PushPath::Word | PushPath::Bulk => bytes.max(1),
            PushPath::Window => PushPath::WINDOW_BYTES,
        }
    }
}

impl Port {
    /// [`Port::push`] by a given path. Fails for more than 8 bytes by [`PushPath::Word`].
    ///
    /// ```
    /// use hikyaku::PushPath;
    ///
    /// hikyaku::local(2, |job| {
    ///     let table = job.symmetric::<u8>(1000)?;
    ///     let peer = 1 - job.rank();
    ///     job.push_by(PushPath::Word, table.at(peer, 0), &[1; 8])?;
    ///     job.push_by(PushPath::Window, table.at(peer, 8), &[2; 900])?;
    ///     job.push_by(PushPath::Bulk, table.at(peer, 908), &[3; 92])?;
    ///     job.flush(peer)?;
    ///     job.barrier()?;
    ///     assert_eq!((table.get(7), table.get(907), table.get(999)), (1, 2, 3));
    ///     assert!(job.push_by(PushPath::Word, table.at(peer, 0), &[1; 9]).is_err());
    ///     job.barrier()
    /// })
    /// .unwrap()
    /// .into_iter()
    /// .for_each(Result::unwrap);
    /// ```
    pub fn push_by<T: Pod>(&self, path: PushPath, to: Place<'_, T>, data: &[T]) -> Result<()> {
        let bytes: &[u8] = bytemuck::cast_slice(data);
        if path == PushPath::Word && bytes.len() > PushPath::WORD_BYTES {
            return Err(Error::Invalid(format!("{} bytes do not go at once, but at most 8", bytes.len())));
        }
        let by = &self.initiator;
        by.tick();
        let reach = by.ni.resolve(to, data.len())?;
        for (number, piece) in bytes.chunks(path.piece(bytes.len())).enumerate() {
            let skipped = number * path.piece(bytes.len());
            match &reach {
                // SAFETY: found for all of the data, of which this is a part; a live slice.
                Reach::Pointer(target) => unsafe {
                    copy::copy_part(path == PushPath::Bulk, target.add(skipped), piece.as_ptr(), piece.len());
                },
                // SAFETY: a live slice.
                Reach::Area(area, offset) => unsafe {
                    by.push_area(area, offset + skipped, piece.as_ptr(), piece.len(), None)?;
                },
                Reach::Far(target) => by.push_routed(target.plus(skipped), Data::from(piece), None)?,
            }
        }
        Ok(())
    }
}
