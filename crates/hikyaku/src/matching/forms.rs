//! Messages of some elements of a range: blocks at a distance, marked elements, those that have changed.
//!
//! The sender packs them, so its range may change when the call returns; the receiver puts them in their places when they come. Which
//! elements those are, each side says for itself: a message of blocks may be received as one range, or by a bitmap.

use super::buffer::{Data, Room};
use super::keys::{Keys, Pattern, Source};
use super::messages::{Matched, Matching};
use super::parts::{Parts, pack_changes};
use super::scope::{ReceiveHandle, Scope, SendHandle, Unit};
use crate::error::{Error, Result};
use crate::{Bitmap, Stride, Twin};
use bytemuck::Pod;

impl Parts {
    /// The blocks of memory of this rank, with every length in bytes. Fails if they overlap.
    pub fn of_stride(stride: Stride) -> Result<Parts> {
        let (block, distance, count) = stride.here_anywhere()?;
        Ok(Parts::Blocks { block, distance, count })
    }
}

/// The blocks of a slice.
fn blocks<T: Pod>(data: &[T], stride: Stride) -> Result<Parts> {
    let (block, distance, count) = stride.checked_here(data)?;
    let [block, distance] = [block, distance].map(|elements| elements.saturating_mul(size_of::<T>()));
    Ok(Parts::Blocks { block, distance, count })
}

/// The marked elements of a slice.
fn marked<T: Pod>(data: &[T], marked: &Bitmap) -> Result<Parts> {
    let units = marked.len();
    match units <= data.len() {
        true => Ok(Parts::Marked { unit: size_of::<T>(), units, words: marked.words().into() }),
        false => Err(Error::OutOfBounds { index: 0, count: units, len: data.len() }),
    }
}

/// Those of a slice that others say have changed.
fn changes<T: Pod>(into: &[T]) -> Result<(Parts, Unit)> {
    let parts = Parts::changes(size_of_val(into), size_of::<T>())?;
    Ok((parts, Unit::Changed(size_of::<T>(), into.len())))
}

fn pack<T: Pod>(data: &[T], parts: &Parts) -> Data {
    // SAFETY: the parts are in a live slice.
    Data::Own(unsafe { parts.pack(data.as_ptr().cast()) })
}

/// Has `send` send what differs from a twin; what it gives, and how many elements they are. The twin is as the data only if nothing has
/// failed: what was not sent is sent next time.
#[track_caller]
fn send_changes<T: Pod, R>(data: &[T], twin: &mut Twin<T>, send: impl FnOnce(Data) -> Result<R>) -> Result<(R, usize)> {
    twin.check_of(data)?;
    let (now, before) = (bytemuck::cast_slice(data), twin.bytes());
    let (packed, changes) = pack_changes(now, before, size_of::<T>())?;
    let sent = send(Data::Own(packed))?;
    changes.keep(now, before);
    Ok((sent, changes.count))
}

impl Matching<'_> {
    /// Sends the blocks of `data` as one message. Of the stride only what is said of this rank's memory counts.
    ///
    /// ```
    /// use hikyaku::Stride;
    ///
    /// # hikyaku::local(2, |job| {
    /// let matching = job.matching()?;
    /// let mut matrix = [0; 20]; // 4 rows of 5
    /// if job.rank() == 0 {
    ///     (0..20).for_each(|index| matrix[index] = index);
    ///     matching.send_stride(&matrix[2..], Stride::new(1, 5, 4), 1, 0)?; // a column
    /// } else {
    ///     matching.recv_stride(&mut matrix, Stride::new(1, 5, 4), 0, 0)?;
    ///     assert_eq!([matrix[0], matrix[5], matrix[10], matrix[15]], [2, 7, 12, 17]);
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// # Errors
    /// When blocks overlap or are not in `data`, and as [`Matching::send`].
    #[track_caller]
    pub fn send_stride<T: Pod>(&self, data: &[T], stride: Stride, rank: usize, key: u64) -> Result<()> {
        self.port().enter(&"send_stride");
        self.send_data(pack(data, &blocks(data, stride)?), rank, key)
    }

    /// Sends those elements of `data` that the bitmap has set as one message.
    ///
    /// # Errors
    /// When the bitmap is for more elements than `data` has, and as [`Matching::send`].
    #[track_caller]
    pub fn send_bitmap<T: Pod>(&self, data: &[T], bitmap: &Bitmap, rank: usize, key: u64) -> Result<()> {
        self.port().enter(&"send_bitmap");
        self.send_data(pack(data, &marked(data, bitmap)?), rank, key)
    }

    /// Sends those elements of `data` that differ from its twin, and which they are; how many they were. Then the twin is as `data`; after
    /// an error it is as before, so the next call sends them again. Received by [`Matching::recv_diff`].
    ///
    /// ```
    /// use hikyaku::Twin;
    ///
    /// # hikyaku::local(2, |job| {
    /// let matching = job.matching()?;
    /// let mut table = [0u64; 1000];
    /// if job.rank() == 0 {
    ///     let mut twin = Twin::of(&table);
    ///     table[7] = 1;
    ///     assert_eq!(matching.send_diff(&table, &mut twin, 1, 0)?, 1);
    /// } else {
    ///     assert_eq!(matching.recv_diff(&mut table, 0, 0)?.len, 1);
    ///     assert_eq!(table[7], 1);
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// # Errors
    /// When the twin has not as many elements as `data`, and as [`Matching::send`].
    #[track_caller]
    pub fn send_diff<T: Pod>(&self, data: &[T], twin: &mut Twin<T>, rank: usize, key: u64) -> Result<usize> {
        self.port().enter(&"send_diff");
        send_changes(data, twin, |packed| self.send_data(packed, rank, key)).map(|((), count)| count)
    }

    /// Receives a message into blocks of `into`. One that is shorter fills the first of them.
    ///
    /// # Errors
    /// When blocks overlap or are not in `into`, and as [`Matching::recv`].
    #[track_caller]
    pub fn recv_stride<T: Pod>(
        &self,
        into: &mut [T],
        stride: Stride,
        from: impl Into<Source>,
        keys: impl Into<Keys>,
    ) -> Result<Matched> {
        self.port().enter(&"recv_stride");
        let parts = blocks(into, stride)?;
        // SAFETY: in a slice that is borrowed for the time of this call.
        let room = unsafe { Room::of_parts(parts, into.as_mut_ptr().cast()) };
        Matched::of(self.receive(room, Pattern::new(from, keys), None)?, size_of::<T>())
    }

    /// Receives a message into those elements of `into` that the bitmap has set. One that is shorter fills the first of them.
    ///
    /// # Errors
    /// When the bitmap is for more elements than `into` has, and as [`Matching::recv`].
    #[track_caller]
    pub fn recv_bitmap<T: Pod>(
        &self,
        into: &mut [T],
        bitmap: &Bitmap,
        from: impl Into<Source>,
        keys: impl Into<Keys>,
    ) -> Result<Matched> {
        self.port().enter(&"recv_bitmap");
        let parts = marked(into, bitmap)?;
        // SAFETY: in a slice that is borrowed for the time of this call.
        let room = unsafe { Room::of_parts(parts, into.as_mut_ptr().cast()) };
        Matched::of(self.receive(room, Pattern::new(from, keys), None)?, size_of::<T>())
    }

    /// Receives a message, and keeps a twin of all of `into`: [`Matching::send_diff`] sends only what has changed since.
    ///
    /// # Errors
    /// As [`Matching::recv`].
    #[track_caller]
    pub fn recv_twin<T: Pod>(
        &self,
        into: &mut [T],
        from: impl Into<Source>,
        keys: impl Into<Keys>,
    ) -> Result<(Matched, Twin<T>)> {
        let matched = self.recv(into, from, keys)?;
        Ok((matched, Twin::of(into)))
    }

    /// Receives what has changed elsewhere into the same places of `into`; others are left as they are. Its length is how many have.
    ///
    /// # Errors
    /// When the message was not sent by [`Matching::send_diff`] from as many elements, and as [`Matching::recv`].
    #[track_caller]
    pub fn recv_diff<T: Pod>(&self, into: &mut [T], from: impl Into<Source>, keys: impl Into<Keys>) -> Result<Matched> {
        self.port().enter(&"recv_diff");
        let (parts, unit) = changes(into)?;
        // SAFETY: in a slice that is borrowed for the time of this call.
        let room = unsafe { Room::of_parts(parts, into.as_mut_ptr().cast()) };
        unit.matched(self.receive(room, Pattern::new(from, keys), None)?)
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts [`Matching::send_stride`]. What is sent was packed when it returns.
    ///
    /// # Errors
    /// As there.
    pub fn isend_stride<T: Pod>(&'scope self, data: &[T], stride: Stride, rank: usize, key: u64) -> Result<SendHandle> {
        self.begin_send(pack(data, &blocks(data, stride)?), rank, key)
    }

    /// Starts [`Matching::send_bitmap`]. What is sent was packed when it returns.
    ///
    /// # Errors
    /// As there.
    pub fn isend_bitmap<T: Pod>(
        &'scope self,
        data: &[T],
        bitmap: &Bitmap,
        rank: usize,
        key: u64,
    ) -> Result<SendHandle> {
        self.begin_send(pack(data, &marked(data, bitmap)?), rank, key)
    }

    /// Starts [`Matching::send_diff`]; how many elements are sent, which were packed when it returns. The twin is as `data` then, however
    /// the send ends.
    ///
    /// # Errors
    /// As there; then the twin is as before.
    pub fn isend_diff<T: Pod>(
        &'scope self,
        data: &[T],
        twin: &mut Twin<T>,
        rank: usize,
        key: u64,
    ) -> Result<(SendHandle, usize)> {
        send_changes(data, twin, |packed| self.begin_send(packed, rank, key))
    }

    /// Starts [`Matching::recv_stride`].
    ///
    /// # Errors
    /// As there.
    pub fn irecv_stride<T: Pod>(
        &'scope self,
        into: &'env mut [T],
        stride: Stride,
        from: impl Into<Source>,
        keys: impl Into<Keys>,
    ) -> Result<ReceiveHandle> {
        let parts = blocks(into, stride)?;
        // SAFETY: borrowed for longer than the scope, which ends the operation.
        let room = unsafe { Room::of_parts(parts, into.as_mut_ptr().cast()) };
        self.begin_receive(room, Pattern::new(from, keys), Unit::Element(size_of::<T>()))
    }

    /// Starts [`Matching::recv_bitmap`].
    ///
    /// # Errors
    /// As there.
    pub fn irecv_bitmap<T: Pod>(
        &'scope self,
        into: &'env mut [T],
        bitmap: &Bitmap,
        from: impl Into<Source>,
        keys: impl Into<Keys>,
    ) -> Result<ReceiveHandle> {
        let parts = marked(into, bitmap)?;
        // SAFETY: borrowed for longer than the scope, which ends the operation.
        let room = unsafe { Room::of_parts(parts, into.as_mut_ptr().cast()) };
        self.begin_receive(room, Pattern::new(from, keys), Unit::Element(size_of::<T>()))
    }

    /// Starts a receive whose message is written to a twin, too.
    ///
    /// # Errors
    /// When the twin has not as many elements as `into`, and as [`Scope::irecv`].
    pub fn irecv_twin<T: Pod>(
        &'scope self,
        into: &'env mut [T],
        twin: &'env mut Twin<T>,
        from: impl Into<Source>,
        keys: impl Into<Keys>,
    ) -> Result<ReceiveHandle> {
        twin.check_of(into)?;
        let into: &mut [u8] = bytemuck::cast_slice_mut(into);
        // SAFETY: both are borrowed for longer than the scope, which ends the operation.
        let room = unsafe { Room::with_twin(into.as_mut_ptr(), twin.bytes().as_mut_ptr(), into.len()) };
        self.begin_receive(room, Pattern::new(from, keys), Unit::Element(size_of::<T>()))
    }

    /// Starts [`Matching::recv_diff`].
    ///
    /// # Errors
    /// As there.
    pub fn irecv_diff<T: Pod>(
        &'scope self,
        into: &'env mut [T],
        from: impl Into<Source>,
        keys: impl Into<Keys>,
    ) -> Result<ReceiveHandle> {
        let (parts, unit) = changes(into)?;
        // SAFETY: borrowed for longer than the scope, which ends the operation.
        let room = unsafe { Room::of_parts(parts, into.as_mut_ptr().cast()) };
        self.begin_receive(room, Pattern::new(from, keys), unit)
    }
}
