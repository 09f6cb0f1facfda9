//! Standard input of the launcher, for a rank 0 on another host.

use super::sources::{Source, Sources};
use super::words::{INPUT_WINDOW_BYTES, PIECE_BYTES_MAX};
use rustix::stdio::stdin;
use std::io::IsTerminal;
use std::os::fd::BorrowedFd;

/// What goes to rank 0.
pub(super) struct Input {
    /// The host of rank 0.
    pub host: usize,
    /// Rank 0 is there to read it.
    pub has_started: bool,
    descriptor: BorrowedFd<'static>,
    is_open: bool,
    is_terminal: bool,
    /// What may be on its way.
    window: usize,
}

impl Input {
    /// For a rank 0 on `host`, if there is to be any.
    pub fn new(is_open: bool, host: usize) -> Input {
        let is_terminal = std::io::stdin().is_terminal();
        Input { host, has_started: false, descriptor: stdin(), is_open, is_terminal, window: INPUT_WINDOW_BYTES }
    }

    pub fn watch<'a>(&'a self, sources: &mut Sources<'a>) {
        if self.is_open && self.has_started && self.window > 0 && !self.is_in_background() {
            sources.reads(Source::Input, &self.descriptor);
        }
    }

    /// Reads what is there; nothing at the end.
    pub fn read(&mut self) -> Option<Vec<u8>> {
        if !self.is_open {
            return None;
        }
        let mut buffer = [0; PIECE_BYTES_MAX];
        let room = self.window.min(PIECE_BYTES_MAX);
        match rustix::io::read(self.descriptor, &mut buffer[..room]) {
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => None,
            Ok(0) | Err(_) => {
                self.close();
                Some(Vec::new())
            }
            Ok(count) => {
                self.window -= count;
                Some(buffer[..count].to_vec())
            }
        }
    }

    /// Rank 0 has taken so many bytes; false if it cannot have.
    pub fn consumed(&mut self, bytes: usize) -> bool {
        self.window = self.window.saturating_add(bytes);
        self.window <= INPUT_WINDOW_BYTES
    }

    /// Nobody reads it any more.
    pub fn close(&mut self) {
        self.is_open = false;
    }

    /// Whether the terminal belongs to another program now: reading would stop this one.
    fn is_in_background(&self) -> bool {
        let foreground = || rustix::termios::tcgetpgrp(stdin()).ok();
        self.is_terminal && foreground() != Some(rustix::process::getpgrp())
    }
}
