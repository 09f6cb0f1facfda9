//! The job's shared memory as a hostile rank sees it: words, without what the library means by them.

use crate::os::Mapped;
use rustix::fs::SeekFrom;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// The segment of this process's job.
#[derive(Debug)]
pub struct Segment {
    file: File,
    memory: Mapped,
    bytes: usize,
}

/// A part of the segment that has memory: (offset, bytes).
pub type Extent = (usize, usize);

impl Segment {
    /// Finds the segment among the descriptors of this process, and maps it once more.
    pub fn find() -> Segment {
        let is_segment = |path: &PathBuf| {
            let name = std::fs::read_link(path).unwrap_or_default();
            name.to_string_lossy().starts_with("/memfd:hikyaku")
        };
        let paths = std::fs::read_dir("/proc/self/fd").unwrap().flatten().map(|file| file.path());
        let path = paths.into_iter().find(is_segment).expect("the job's memory");
        let file = File::options().read(true).write(true).open(path).unwrap();
        let bytes = file.metadata().unwrap().len() as usize;
        let memory = Mapped::new(&file, bytes);
        Segment { file, memory, bytes }
    }

    /// The parts that have memory, in order.
    pub fn extents(&self) -> Vec<Extent> {
        let mut extents = Vec::new();
        let mut at = 0;
        while let Some(start) = self.seek(SeekFrom::Data(at as u64)) {
            let end = self.seek(SeekFrom::Hole(start as u64)).unwrap_or(self.bytes);
            extents.push((start, end - start));
            at = end;
        }
        extents
    }

    fn seek(&self, to: SeekFrom) -> Option<usize> {
        rustix::fs::seek(&self.file, to).ok().map(|found| found as usize)
    }

    /// The word at an offset, which is a multiple of 8.
    pub fn word(&self, offset: usize) -> &AtomicU64 {
        self.memory.word(offset)
    }

    /// Offsets of all places where consecutive words are as `fits` says.
    pub fn search<const N: usize>(&self, fits: impl Fn([u64; N]) -> bool) -> Vec<usize> {
        let mut found = Vec::new();
        for (start, bytes) in self.extents() {
            let mut data = vec![0; bytes];
            self.file.read_exact_at(&mut data, start as u64).unwrap();
            let words: Vec<u64> =
                data.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap())).collect();
            let fitting = words.windows(N).enumerate().filter(|(_, words)| fits((*words).try_into().unwrap()));
            found.extend(fitting.map(|(index, _)| start + index * 8));
        }
        found
    }

    /// Writes `value` wherever [`Segment::search`] finds a place, `distance` words from its first; gives how many.
    pub fn replace<const N: usize>(&self, fits: impl Fn([u64; N]) -> bool, distance: usize, value: u64) -> usize {
        let found = self.search(fits);
        found.iter().for_each(|offset| self.word(offset + 8 * distance).store(value, Ordering::SeqCst));
        found.len()
    }
}
