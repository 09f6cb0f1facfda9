//! Forwarding what ranks print: whole lines, so that lines of different ranks never mix, by a thread of its own, so
//! that a slow reader of the launcher's output delays nothing else.

use super::rank::Pipes;
use crate::error::{Error, Result};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::Timespec;
use std::io::{ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What one rank printed.
#[derive(Clone, Debug, Default)]
pub struct Captured {
    /// Its standard output.
    pub output: Vec<u8>,
    /// Its standard error.
    pub errors: Vec<u8>,
}

/// The thread that forwards.
pub(super) struct Forwarder {
    thread: JoinHandle<Vec<Captured>>,
    ended: Arc<AtomicBool>,
}

/// How long an unfinished line waits for its end before it is shown.
const PARTIAL_LINE: Duration = Duration::from_millis(20);
/// How long to wait for processes left behind by ranks, which may hold their output open.
const STRAGGLERS: Duration = Duration::from_millis(100);
/// A line longer than this is shown in pieces.
const LINE_BYTES_MAX: usize = 64 * 1024;

impl Forwarder {
    pub fn start(pipes: Vec<Pipes>, tag: bool, capture: bool) -> Result<Forwarder> {
        let ended = Arc::new(AtomicBool::new(false));
        let flag = ended.clone();
        let thread = std::thread::Builder::new()
            .name("hikyaku-output".into())
            .spawn(move || forward(pipes, tag, capture, &flag))
            .map_err(|error| Error::thread(&error))?;
        Ok(Forwarder { thread, ended })
    }

    /// All ranks have ended: forwards what is still in the pipes and gives what was captured.
    pub fn finish(self) -> Vec<Captured> {
        self.ended.store(true, Ordering::Release);
        self.thread.join().unwrap_or_default()
    }
}

struct Stream {
    pipe: OwnedFd,
    rank: usize,
    is_error: bool,
    line: Vec<u8>,
}

fn forward(pipes: Vec<Pipes>, tag: bool, capture: bool, ended: &AtomicBool) -> Vec<Captured> {
    let mut captured = vec![Captured::default(); pipes.len()];
    let mut streams: Vec<Stream> = Vec::new();
    for (rank, pipes) in pipes.into_iter().enumerate() {
        for (pipe, is_error) in [(pipes.output, false), (pipes.errors, true)] {
            streams.push(Stream { pipe, rank, is_error, line: Vec::new() });
        }
    }
    // False when nobody reads any more.
    let mut show = |stream: &Stream, bytes: &[u8]| {
        if !capture {
            return print(stream, bytes, tag);
        }
        let rank = &mut captured[stream.rank];
        if stream.is_error { &mut rank.errors } else { &mut rank.output }.extend_from_slice(bytes);
        true
    };
    let mut deadline = None;
    while !streams.is_empty() {
        if deadline.is_none() && ended.load(Ordering::Acquire) {
            deadline = Some(Instant::now() + STRAGGLERS);
        }
        let ready = poll(&streams);
        if ready.is_empty() {
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                break;
            }
            // A tagged line is shown whole or not at all.
            for stream in streams.iter_mut().filter(|_| !tag) {
                let line = std::mem::take(&mut stream.line);
                if !line.is_empty() {
                    show(stream, &line);
                }
            }
        }
        for index in ready.into_iter().rev() {
            let stream = &mut streams[index];
            let mut buffer = [0; 16 * 1024];
            match rustix::io::read(&stream.pipe, &mut buffer) {
                Ok(0) => {
                    let mut stream = streams.swap_remove(index);
                    let mut line = std::mem::take(&mut stream.line);
                    if tag && !line.is_empty() {
                        line.push(b'\n');
                    }
                    show(&stream, &line);
                }
                Ok(count) => {
                    stream.line.extend_from_slice(&buffer[..count]);
                    let whole = match stream.line.iter().rposition(|byte| *byte == b'\n') {
                        Some(end) => end + 1,
                        None if stream.line.len() >= LINE_BYTES_MAX => stream.line.len(),
                        None => 0,
                    };
                    let rest = stream.line.split_off(whole);
                    let lines = std::mem::replace(&mut stream.line, rest);
                    if !lines.is_empty() && !show(stream, &lines) {
                        // The rank learns it as it would without us.
                        streams.swap_remove(index);
                    }
                }
                Err(_) => {}
            }
        }
    }
    captured
}

/// Which streams have something, waiting a little.
fn poll(streams: &[Stream]) -> Vec<usize> {
    let mut polled: Vec<PollFd<'_>> = streams.iter().map(|s| PollFd::new(&s.pipe, PollFlags::IN)).collect();
    let wait = Timespec { tv_sec: 0, tv_nsec: PARTIAL_LINE.as_nanos() as _ };
    if rustix::event::poll(&mut polled, Some(&wait)).unwrap_or(0) == 0 {
        return Vec::new();
    }
    (0..streams.len()).filter(|index| !polled[*index].revents().is_empty()).collect()
}

/// Writes whole lines at once; false if the reader has gone away, which is a reason to end only for ranks that print.
fn print(stream: &Stream, bytes: &[u8], tag: bool) -> bool {
    let mut text = Vec::with_capacity(bytes.len() + 16);
    if tag {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let _ = write!(text, "[{}] ", stream.rank);
            text.extend_from_slice(line);
        }
    } else {
        text.extend_from_slice(bytes);
    }
    let written = if stream.is_error {
        std::io::stderr().lock().write_all(&text)
    } else {
        let mut out = std::io::stdout().lock();
        out.write_all(&text).and_then(|()| out.flush())
    };
    !written.is_err_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
