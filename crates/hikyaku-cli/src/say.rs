//! Printing for people, who may stop reading at any time.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};

/// Prints a line; see [`print`].
macro_rules! say {
    () => { $crate::say::print(format_args!("\n")) };
    ($($text:tt)*) => { $crate::say::print(format_args!("{}\n", format_args!($($text)*))) };
}

/// Prints without ending the line; see [`print`].
macro_rules! say_on {
    ($($text:tt)*) => { $crate::say::print(format_args!($($text)*)) };
}

/// Prints a line on standard error; see [`complain`].
macro_rules! complain {
    ($($text:tt)*) => { $crate::say::complain(&format!("{}\n", format_args!($($text)*))) };
}

/// Says something on standard error. If that cannot be written, nobody is left who could be told: the status says the rest.
pub fn complain(text: &str) {
    let (to, mut bytes) = (rustix::stdio::stderr(), text.as_bytes());
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => {
                let mut polled = [rustix::event::PollFd::new(&to, rustix::event::PollFlags::OUT)];
                let _ = rustix::event::poll(&mut polled, None);
            }
            Err(_) => return,
        }
    }
}

/// What a shell reports of a program that was ended because nobody read on.
const NOBODY_READS: i32 = 128 + 13;

/// Prints; when nobody reads any more, as in `hikyaku info | head -1`, the program ends without a word.
pub fn print(text: Arguments<'_>) {
    match std::io::stdout().lock().write_fmt(text) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(NOBODY_READS),
        Err(error) => {
            complain!("hikyaku: the output could not be written: {error}");
            std::process::exit(1);
        }
        Ok(()) => {}
    }
}
