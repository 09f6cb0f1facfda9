//! Windows: private buffers, each opened to one far peer for one message.
//!
//! A peer is told a window's name, never an address. The owner's interface looks the name up, checks who asks and how far
//! it reaches, and writes while it holds the table; so whoever has closed a window, or aimed it elsewhere, knows that
//! nobody writes to the old place any more.

use crate::memory::copy;
use crate::planted::{Bug, planted};
use crate::sync::brief::lock;
use std::sync::{Arc, Mutex, MutexGuard};

/// All windows of a rank.
#[derive(Debug, Default)]
pub(crate) struct Windows(Mutex<Table>);

#[derive(Debug, Default)]
pub(in crate::ni) struct Table {
    views: Vec<View>,
    closed: Vec<usize>,
    /// Windows opened so far: no name is used twice.
    opened: u64,
}

/// Where a window leads; to no bytes when it is closed.
#[derive(Debug)]
struct View {
    name: u64,
    peer: usize,
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the pointer is followed only inside the table, for a buffer that stays until its window is closed or aimed
// elsewhere, as whoever opened it has promised.
unsafe impl Send for View {}

/// An open window; closed when dropped.
pub(crate) struct Window {
    of: Arc<Windows>,
    /// Which window it is, and which opening of it.
    pub name: u64,
}

impl std::fmt::Debug for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "window {:#x}", self.name)
    }
}

/// Bits of a name that say which window.
const INDEX_BITS: u32 = 24;

impl Windows {
    pub(in crate::ni) fn table(&self) -> MutexGuard<'_, Table> {
        // Nothing in here panics while the table is changed.
        lock(&self.0)
    }
}

impl Table {
    fn index_of(&self, name: u64) -> Option<usize> {
        let index = name as usize % (1 << INDEX_BITS);
        self.views.get(index).filter(|view| view.name == name || planted(Bug::WindowNameUnread)).map(|_| index)
    }

    /// The address of bytes that `peer` named; none of it is believed.
    pub fn find(&self, peer: usize, name: u64, offset: u64, bytes: u64) -> Option<*mut u8> {
        let view = &self.views
            [self.index_of(name).filter(|index| self.views[*index].peer == peer || planted(Bug::WindowOfAnyone))?];
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= view.bytes as u64);
        // SAFETY: inside the buffer.
        inside.then(|| unsafe { view.start.add(offset as usize) })
    }
}

impl Window {
    /// Opens `bytes` bytes at `start` to `peer`; none if a rank has opened all it can name.
    ///
    /// # Safety
    /// They stay, and nobody else uses them, until the window is closed or aimed elsewhere.
    pub unsafe fn open(of: &Arc<Windows>, peer: usize, start: *mut u8, bytes: usize) -> Option<Window> {
        let mut table = of.table();
        if table.closed.is_empty() && table.views.len() >= 1 << INDEX_BITS {
            return None;
        }
        table.opened += 1;
        let index = table.closed.pop().unwrap_or(table.views.len());
        let view = View { name: table.opened << INDEX_BITS | index as u64, peer, start, bytes };
        let name = view.name;
        match table.views.get_mut(index) {
            Some(old) => *old = view,
            None => table.views.push(view),
        }
        Some(Window { of: of.clone(), name })
    }

    /// Aims the window elsewhere, and takes the bytes along that have come, as many as fit.
    ///
    /// # Safety
    /// As for [`Window::open`].
    pub unsafe fn aim(&self, start: *mut u8, bytes: usize) {
        let mut table = self.of.table();
        let index = table.index_of(self.name).expect("this window is open");
        let view = &mut table.views[index];
        if !planted(Bug::WindowAimedEmpty) {
            // SAFETY: the old buffer is still there, by the promise it was opened with, the new one by the caller's.
            unsafe { copy::copy(start, view.start, bytes.min(view.bytes)) };
        }
        (view.start, view.bytes) = (start, bytes);
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        let mut table = self.of.table();
        if let Some(index) = table.index_of(self.name) {
            table.views[index] = View { name: 0, peer: 0, start: std::ptr::null_mut(), bytes: 0 };
            table.closed.push(index);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_window_leads_its_peer_to_its_bytes_and_nobody_else_anywhere() {
        // In this thread, where bugs are planted.
        let sim = crate::sim::Sim::new(crate::sim::Machine::plain(), 1, 1);
        sim.run(|job| {
            let (mut first, mut second) = (vec![1u8; 10], vec![2u8; 12]);
            let find = |peer, name, offset, bytes| job.ni.windows.table().find(peer, name, offset, bytes);
            // SAFETY: both buffers outlive the window, and are looked at only below.
            let window = unsafe { Window::open(&job.ni.windows, 5, first.as_mut_ptr(), 10).unwrap() };
            let name = window.name;
            assert_eq!(find(5, name, 0, 10), Some(first.as_mut_ptr()));
            assert_eq!(find(5, name, 10, 0), Some(first.as_mut_ptr().wrapping_add(10)));
            for (peer, name, offset, bytes) in
                [(4, name, 0, 1), (5, name + 1, 0, 1), (5, name, 0, 11), (5, name, u64::MAX, 2), (5, 0, 0, 0)]
            {
                assert_eq!(find(peer, name, offset, bytes), None);
            }
            // SAFETY: as above.
            unsafe { window.aim(second.as_mut_ptr(), 12) };
            assert_eq!(find(5, name, 2, 10), Some(second.as_mut_ptr().wrapping_add(2)));
            drop(window);
            assert_eq!(find(5, name, 0, 0), None);
            assert_eq!(second, [[1u8; 10].as_slice(), &[2; 2]].concat(), "what had come was taken along");
            // SAFETY: as above.
            let again = unsafe { Window::open(&job.ni.windows, 5, first.as_mut_ptr(), 10).unwrap() };
            assert_ne!(again.name, name, "an old name leads nowhere");
            assert_eq!(find(5, name, 0, 0), None);
        })
        .unwrap();
    }

    #[test]
    fn planted_bugs_are_caught() {
        let bugs = [Bug::WindowOfAnyone, Bug::WindowNameUnread, Bug::WindowAimedEmpty];
        crate::planted::catches(a_window_leads_its_peer_to_its_bytes_and_nobody_else_anywhere, &bugs);
    }
}
