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
        // SAFETY: a live slice.
        unsafe { self.push_by_from(path, to, data.as_ptr(), data.len()) }
    }
}

/// Pushes by a given path from local memory that no slice can stand for, since peers may change it meanwhile.
pub trait RawPath: sealed::Sealed {
    /// [`Port::push_by`] from `len` elements at `data`.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn push_by_from<T: Pod>(&self, path: PushPath, to: Place<'_, T>, data: *const T, len: usize) -> Result<()>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Port {}
}

impl RawPath for Port {
    unsafe fn push_by_from<T: Pod>(&self, path: PushPath, to: Place<'_, T>, data: *const T, len: usize) -> Result<()> {
        let (data, bytes): (*const u8, usize) = (data.cast(), len * size_of::<T>());
        if path == PushPath::Word && bytes > PushPath::WORD_BYTES {
            return Err(Error::Invalid(format!("{bytes} bytes do not go at once, but at most 8")));
        }
        let by = &self.initiator;
        by.tick();
        let reach = by.ni.resolve(to, len)?;
        for start in (0..bytes).step_by(path.piece(bytes)) {
            let (piece, length) = (data.wrapping_add(start), path.piece(bytes).min(bytes - start));
            // SAFETY: the caller's promise, of which this is a part; the target was found for all of it.
            unsafe {
                match &reach {
                    Reach::Pointer(target) => copy::copy_part(path == PushPath::Bulk, target.add(start), piece, length),
                    Reach::Area(area, offset) => by.push_area(area, offset + start, piece, length, None)?,
                    Reach::Far(target) => by.push_routed(target.plus(start), Data::shared(piece, length), None)?,
                }
            }
        }
        Ok(())
    }
}
