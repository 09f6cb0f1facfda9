//! What becomes of the output of ranks: it is shown in whole lines, so that lines of different ranks never mix, with the rank in
//! front if that is asked for; or it is kept; or written to files.

use super::Launcher;
use super::files::Files;
use super::shown::Shown;
use crate::error::Result;
use std::io::{IsTerminal, Write};
use std::time::Duration;

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

/// How long all must be silent before the beginning of a line is shown on a terminal: a prompt comes at once to the eye.
const PROMPT: Duration = Duration::from_millis(100);
/// The same where lines of all ranks go to a pipe or a file. Whoever reads them wants them whole, also from a rank that is kept
/// from running in the middle of a line.
const UNFINISHED: Duration = Duration::from_secs(2);

/// What is left of the output when all ranks have ended.
#[derive(Default)]
pub(super) struct Printed {
    /// What was kept of each rank.
    pub captured: Vec<Captured>,
    /// What could not be written, in words.
    pub lost: Vec<String>,
}

/// Where lines go.
pub(super) struct Display {
    tag: bool,
    sink: Sink,
}

enum Sink {
    Shown(Shown),
    Kept(Vec<Captured>),
    Files(Files),
}

impl Display {
    /// For lines of `ranks` ranks.
    pub fn new(launcher: &Launcher, ranks: usize) -> Result<Display> {
        let sink = match &launcher.output_folder {
            Some(folder) => Sink::Files(Files::create(folder, ranks)?),
            None if launcher.capture => Sink::Kept(vec![Captured::default(); ranks]),
            None => Sink::Shown(Shown::default()),
        };
        Ok(Display { tag: launcher.tag, sink })
    }

    /// How long an unfinished line waits for its end before it is shown.
    pub fn partial_line(&self) -> Duration {
        match self.sink {
            Sink::Shown(_) if !std::io::stdout().is_terminal() => UNFINISHED,
            _ => PROMPT,
        }
    }

    /// Nothing more comes.
    pub fn finish(self) -> Printed {
        match self.sink {
            Sink::Shown(shown) => Printed { captured: Vec::new(), lost: shown.finish() },
            Sink::Kept(captured) => Printed { captured, lost: Vec::new() },
            Sink::Files(files) => Printed { captured: Vec::new(), lost: files.finish() },
        }
    }

    /// Writes whole lines at once; false if the reader has gone away, which is a reason to end only for ranks that print.
    fn show(&mut self, rank: usize, is_error: bool, bytes: &[u8]) -> bool {
        if let Sink::Kept(captured) = &mut self.sink {
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
        match &mut self.sink {
            Sink::Shown(shown) => shown.write(is_error, &text),
            Sink::Files(files) => {
                files.write(rank, is_error, &text);
                true
            }
            Sink::Kept(_) => true,
        }
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
        if line.is_empty() {
            return;
        }
        if display.tag {
            line.push(b'\n');
        }
        display.show(self.rank, self.is_error, &line);
    }
}
