//! Forwarding what ranks of this host print, by a thread of its own, so that a slow reader of the launcher's output delays
//! nothing else.

use super::output::{Display, Printed, Stream};
use super::rank::Pipes;
use crate::error::{Error, Result};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::Timespec;
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The thread that forwards.
pub(super) struct Forwarder {
    thread: JoinHandle<Printed>,
    ended: Arc<AtomicBool>,
}

/// How often one looks whether the ranks have ended.
pub(super) const LOOK: Duration = Duration::from_millis(20);
/// How long to wait for processes left behind by ranks, which may hold their output open.
pub(super) const STRAGGLERS: Duration = Duration::from_millis(100);

impl Forwarder {
    pub fn start(pipes: Vec<Pipes>, display: Display) -> Result<Forwarder> {
        let ended = Arc::new(AtomicBool::new(false));
        let flag = ended.clone();
        let thread = std::thread::Builder::new()
            .name("hikyaku-output".into())
            .spawn(move || forward(pipes, display, &flag))
            .map_err(|error| Error::thread(&error))?;
        Ok(Forwarder { thread, ended })
    }

    /// All ranks have ended: forwards what is still in the pipes and gives what is left of it.
    pub fn finish(self) -> Printed {
        self.ended.store(true, Ordering::Release);
        self.thread.join().unwrap_or_default()
    }
}

fn forward(pipes: Vec<Pipes>, mut display: Display, ended: &AtomicBool) -> Printed {
    let mut streams: Vec<(OwnedFd, Stream)> = Vec::new();
    for (rank, pipes) in pipes.into_iter().enumerate() {
        streams.push((pipes.output, Stream::new(rank, false)));
        streams.push((pipes.errors, Stream::new(rank, true)));
    }
    let patience = display.partial_line();
    let (mut deadline, mut quiet_since) = (None, Instant::now());
    while !streams.is_empty() {
        if deadline.is_none() && ended.load(Ordering::Acquire) {
            deadline = Some(Instant::now() + STRAGGLERS);
        }
        let ready = poll(&streams);
        if ready.is_empty() {
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                break;
            }
            if quiet_since.elapsed() >= patience {
                streams.iter_mut().for_each(|(_, stream)| stream.show_partial(&mut display));
            }
        } else {
            quiet_since = Instant::now();
        }
        for index in ready.into_iter().rev() {
            let (pipe, stream) = &mut streams[index];
            let mut buffer = [0; 16 * 1024];
            match rustix::io::read(pipe, &mut buffer) {
                // The second is how the end of a pseudo-terminal is told.
                Ok(0) | Err(Errno::IO) => streams.swap_remove(index).1.end(&mut display),
                // The rank learns that nobody reads as it would without us.
                Ok(count) if !stream.take(&buffer[..count], &mut display) => drop(streams.swap_remove(index)),
                Ok(_) | Err(_) => {}
            }
        }
    }
    // Processes that were left behind hold these open; what came of a line before is not lost.
    streams.iter_mut().for_each(|(_, stream)| stream.end(&mut display));
    display.finish()
}

/// Which streams have something, waiting a little.
fn poll(streams: &[(OwnedFd, Stream)]) -> Vec<usize> {
    let mut polled: Vec<PollFd<'_>> = streams.iter().map(|(pipe, _)| PollFd::new(pipe, PollFlags::IN)).collect();
    let wait = Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as _ };
    if rustix::event::poll(&mut polled, Some(&wait)).unwrap_or(0) == 0 {
        return Vec::new();
    }
    (0..streams.len()).filter(|index| !polled[*index].revents().is_empty()).collect()
}
