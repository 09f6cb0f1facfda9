//! Showing what ranks print: whole lines, so that lines of different ranks never mix, with the rank in front if that is asked
//! for; or keeping it.

use std::io::{ErrorKind, Write};

/// What one rank printed.
#[derive(Clone, Debug, Default)]
pub struct Captured {
    /// Its standard output.
    pub output: Vec<u8>,
    /// Its standard error.
    pub errors: Vec<u8>,
}

/// A line longer than this is shown in pieces.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Where lines are shown or kept.
pub(super) struct Display {
    tag: bool,
    captured: Option<Vec<Captured>>,
}

impl Display {
    /// Shows lines of `ranks` ranks, or keeps them.
    pub fn new(ranks: usize, tag: bool, capture: bool) -> Display {
        Display { tag, captured: capture.then(|| vec![Captured::default(); ranks]) }
    }

    /// What was kept of each rank.
    pub fn finish(self) -> Vec<Captured> {
        self.captured.unwrap_or_default()
    }

    /// Writes whole lines at once; false if the reader has gone away, which is a reason to end only for ranks that print.
    fn show(&mut self, rank: usize, is_error: bool, bytes: &[u8]) -> bool {
        if let Some(captured) = &mut self.captured {
            let rank = &mut captured[rank];
            if is_error { &mut rank.errors } else { &mut rank.output }.extend_from_slice(bytes);
            return true;
        }
        let mut text = Vec::with_capacity(bytes.len() + 16);
        if self.tag {
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                let _ = write!(text, "[{rank}] ");
                text.extend_from_slice(line);
            }
        } else {
            text.extend_from_slice(bytes);
        }
        let written = if is_error {
            std::io::stderr().lock().write_all(&text)
        } else {
            let mut out = std::io::stdout().lock();
            out.write_all(&text).and_then(|()| out.flush())
        };
        !written.is_err_and(|error| error.kind() == ErrorKind::BrokenPipe)
    }
}

/// Standard output or standard error of one rank.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub rank: usize,
    pub is_error: bool,
    line: Vec<u8>,
}

impl Stream {
    pub fn new(rank: usize, is_error: bool) -> Stream {
        Stream { rank, is_error, line: Vec::new() }
    }

    /// More was printed; false if nobody reads it any more.
    pub fn take(&mut self, bytes: &[u8], display: &mut Display) -> bool {
        self.line.extend_from_slice(bytes);
        let whole = match self.line.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => end + 1,
            None if self.line.len() >= LINE_BYTES_MAX => self.line.len(),
            None => 0,
        };
        let rest = self.line.split_off(whole);
        let lines = std::mem::replace(&mut self.line, rest);
        lines.is_empty() || display.show(self.rank, self.is_error, &lines)
    }

    /// The end of a line is not in sight. A tagged line is shown whole or not at all.
    pub fn show_partial(&mut self, display: &mut Display) {
        if !display.tag && !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            display.show(self.rank, self.is_error, &line);
        }
    }

    /// Whether there is the beginning of a line.
    pub fn is_partial(&self) -> bool {
        !self.line.is_empty()
    }

    /// Nothing more comes.
    pub fn end(&mut self, display: &mut Display) {
        let mut line = std::mem::take(&mut self.line);
        if display.tag && !line.is_empty() {
            line.push(b'\n');
        }
        display.show(self.rank, self.is_error, &line);
    }
}
