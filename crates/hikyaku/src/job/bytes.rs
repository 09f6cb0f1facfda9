//! Writing messages as bytes and reading them back: little-endian numbers, and texts that begin with their length.
//!
//! A reader answers `None` to anything that is not there, so that what another process says is never believed beyond its end.

/// Bytes that are written one after the other.
#[derive(Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    pub fn new() -> Writer {
        Writer(Vec::new())
    }

    pub fn u8(&mut self, value: u8) -> &mut Writer {
        self.0.push(value);
        self
    }

    pub fn u32(&mut self, value: u32) -> &mut Writer {
        self.raw(&value.to_le_bytes())
    }

    pub fn u64(&mut self, value: u64) -> &mut Writer {
        self.raw(&value.to_le_bytes())
    }

    /// Bytes of a length that the reader knows.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Writer {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Bytes of any length.
    ///
    /// # Panics
    /// If they are more than 4 GB.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Writer {
        self.count(bytes.len()).raw(bytes)
    }

    /// How many of something follow.
    ///
    /// # Panics
    /// If they are more than 4 billion.
    pub fn count(&mut self, count: usize) -> &mut Writer {
        self.u32(u32::try_from(count).expect("fewer than 4 billion"))
    }

    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Bytes that are read one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }

    pub fn u8(&mut self) -> Option<u8> {
        Some(self.raw(1)?[0])
    }

    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.array()?))
    }

    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.raw(N)?.try_into().ok()
    }

    /// So many bytes.
    pub fn raw(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// Bytes that begin with their length, which is at most `max`.
    pub fn bytes(&mut self, max: usize) -> Option<&'a [u8]> {
        let count = self.count(max)?;
        self.raw(count)
    }

    /// How many of something follow: at most `max`, and no more than there are bytes left, so that making room for them is safe.
    pub fn count(&mut self, max: usize) -> Option<usize> {
        let count = self.u32()? as usize;
        (count <= max && count <= self.0.len()).then_some(count)
    }

    /// A list of at most `max` things, each read by `read`.
    pub fn list<T>(&mut self, max: usize, mut read: impl FnMut(&mut Reader<'a>) -> Option<T>) -> Option<Vec<T>> {
        let count = self.count(max)?;
        (0..count).map(|_| read(self)).collect()
    }

    /// Something, if nothing follows it.
    pub fn end<T>(self, value: T) -> Option<T> {
        self.0.is_empty().then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let mut writer = Writer::new();
        writer.u8(7).u32(70_000).u64(1 << 40).bytes(b"text").raw(b"raw").count(0);
        let bytes = writer.finish();
        let mut reader = Reader::new(&bytes);
        assert_eq!((reader.u8(), reader.u32(), reader.u64()), (Some(7), Some(70_000), Some(1 << 40)));
        assert_eq!((reader.bytes(4), reader.array()), (Some(&b"text"[..]), Some(*b"raw")));
        assert_eq!(reader.list(9, Reader::u8), Some(vec![]));
        assert_eq!(reader.end(()), Some(()));
        assert_eq!(Reader::new(&bytes).end(()), None);
    }

    #[test]
    fn what_is_not_there_is_not_read() {
        // A length of 5, and 4 bytes.
        let bytes = [5, 0, 0, 0, 1, 2, 3, 4];
        assert_eq!(Reader::new(&bytes).bytes(usize::MAX), None);
        assert_eq!(Reader::new(&bytes).list(usize::MAX, Reader::u8), None);
        assert_eq!(Reader::new(&[2, 0, 0, 0, 1, 2]).bytes(1), None, "more than allowed");
        assert_eq!(Reader::new(&[1, 2, 3]).u32(), None);
        assert_eq!(Reader::new(&[]).u8(), None);
    }
}
