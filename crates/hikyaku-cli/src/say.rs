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

/// What a shell reports of a program that was ended because nobody read on.
const NOBODY_READS: i32 = 128 + 13;

/// Prints; when nobody reads any more, as in `hikyaku info | head -1`, the program ends without a word.
pub fn print(text: Arguments<'_>) {
    match std::io::stdout().lock().write_fmt(text) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(NOBODY_READS),
        Err(error) => {
            eprintln!("hikyaku: the output could not be written: {error}");
            std::process::exit(1);
        }
        Ok(()) => {}
    }
}
