//! Showing what ranks of other hosts print, by a thread of its own, so that a slow reader of the launcher's output delays
//! nothing else.
//!
//! An agent may be ahead of the reader by [`WINDOW_BYTES`]; what was shown is counted here, and the launcher tells the agent.
//! So memory is bounded, and a rank that prints more waits, as it would on this host.

use super::output::{Display, Printed, Stream};
use crate::error::{Error, Result};
use crate::sync::brief::lock;
use rustix::event::EventfdFlags;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

/// What the ranks of a host may print before the reader has seen any of it.
pub(super) const WINDOW_BYTES: usize = 256 * 1024;

/// The thread that shows.
pub(super) struct Relay {
    thread: JoinHandle<Printed>,
    chunks: Sender<Chunk>,
    shown: Arc<Shown>,
}

/// A piece of what a rank printed.
struct Chunk {
    host: usize,
    rank: usize,
    is_error: bool,
    /// Empty at the end.
    bytes: Vec<u8>,
}

/// What the thread has to say.
struct Shown {
    /// Readable when there is something new.
    bell: OwnedFd,
    news: Mutex<Progress>,
}

/// What has become of output.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Host and bytes that were shown.
    pub taken: Vec<(usize, usize)>,
    /// Streams that nobody reads any more: rank, and whether it is standard error.
    pub unread: Vec<(usize, bool)>,
}

impl Shown {
    fn news(&self) -> MutexGuard<'_, Progress> {
        lock(&self.news)
    }
}

impl Relay {
    pub fn start(ranks: usize, display: Display) -> Result<Relay> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let bell = rustix::event::eventfd(0, flags).map_err(|e| Error::system("eventfd", e))?;
        let shown = Arc::new(Shown { bell, news: Mutex::default() });
        let (chunks, coming) = channel();
        let telling = shown.clone();
        let thread = std::thread::Builder::new()
            .name("hikyaku-output".into())
            .spawn(move || show(&coming, ranks, display, &telling))
            .map_err(|error| Error::thread(&error))?;
        Ok(Relay { thread, chunks, shown })
    }

    /// A rank of a host has printed something; nothing at its end.
    pub fn take(&self, host: usize, rank: usize, is_error: bool, bytes: Vec<u8>) {
        // The thread ends after this side only.
        let _ = self.chunks.send(Chunk { host, rank, is_error, bytes });
    }

    /// Readable when [`Relay::progress`] has something new.
    pub fn bell(&self) -> &OwnedFd {
        &self.shown.bell
    }

    /// What has become of output since it was last asked.
    pub fn progress(&self) -> Progress {
        let _ = rustix::io::read(&self.shown.bell, &mut [0; 8]);
        std::mem::take(&mut *self.shown.news())
    }

    /// Nothing more comes: shows what is left, and gives what remains of it.
    pub fn finish(self) -> Printed {
        drop(self.chunks);
        self.thread.join().unwrap_or_default()
    }
}

fn show(coming: &Receiver<Chunk>, ranks: usize, mut display: Display, shown: &Shown) -> Printed {
    let mut streams: Vec<Stream> =
        (0..ranks).flat_map(|rank| [false, true].map(|is_error| Stream::new(rank, is_error))).collect();
    let patience = display.partial_line();
    // Those with the beginning of a line.
    let mut partial: Vec<usize> = Vec::new();
    loop {
        let chunk = match if partial.is_empty() {
            coming.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            coming.recv_timeout(patience)
        } {
            Ok(chunk) => chunk,
            Err(RecvTimeoutError::Timeout) => {
                partial.drain(..).for_each(|index| streams[index].show_partial(&mut display));
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let index = 2 * chunk.rank + usize::from(chunk.is_error);
        let stream = &mut streams[index];
        if chunk.bytes.is_empty() {
            stream.end(&mut display);
            continue;
        }
        let is_read = stream.take(&chunk.bytes, &mut display);
        if stream.is_partial() && !partial.contains(&index) {
            partial.push(index);
        }
        {
            let mut news = shown.news();
            match news.taken.iter_mut().find(|(host, _)| *host == chunk.host) {
                Some((_, bytes)) => *bytes += chunk.bytes.len(),
                None => news.taken.push((chunk.host, chunk.bytes.len())),
            }
            if !is_read {
                news.unread.push((chunk.rank, chunk.is_error));
            }
        }
        // Fails only if the counter were full, which says the same.
        let _ = rustix::io::write(&shown.bell, &1u64.to_ne_bytes());
    }
    // What a host that was lost has not finished.
    streams.iter_mut().filter(|stream| stream.is_partial()).for_each(|stream| stream.end(&mut display));
    display.finish()
}
