//! A pseudo-terminal in place of a pipe: programs that look whether a terminal reads their output then print each line when it is
//! finished, as the C library does, and not when 4 KB have come together.

use crate::error::{Error, Result};
use rustix::pty::{OpenptFlags, openpt, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, OutputModes};
use std::os::fd::OwnedFd;

/// Opens one: the launcher's end, which is read, and the end that a rank prints to.
pub(super) fn open() -> Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags).map_err(|e| Error::system("openpt", e))?;
    unlockpt(&ours).map_err(|e| Error::system("unlockpt", e))?;
    let theirs = rustix::pty::ioctl_tiocgptpeer(&ours, flags).map_err(|e| Error::system("ioctl(TIOCGPTPEER)", e))?;
    let mut modes = rustix::termios::tcgetattr(&theirs).map_err(|e| Error::system("tcgetattr", e))?;
    // What is printed comes out as it is: a line does not end with two characters.
    modes.output_modes.remove(OutputModes::OPOST);
    modes.local_modes.remove(LocalModes::ECHO);
    rustix::termios::tcsetattr(&theirs, OptionalActions::Now, &modes).map_err(|e| Error::system("tcsetattr", e))?;
    if let Ok(size) = rustix::termios::tcgetwinsize(rustix::stdio::stdout()) {
        // One that stays of no size is no harm.
        let _ = rustix::termios::tcsetwinsize(&theirs, size);
    }
    Ok((ours, theirs))
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_printed_comes_out_as_it_is_and_then_ends() {
        let (ours, theirs) = super::open().unwrap();
        assert!(rustix::termios::isatty(&theirs));
        rustix::io::write(&theirs, b"a\nb").unwrap();
        drop(theirs);
        let mut bytes = [0; 16];
        let count = rustix::io::read(&ours, &mut bytes).unwrap();
        assert_eq!(&bytes[..count], b"a\nb");
        assert_eq!(rustix::io::read(&ours, &mut bytes), Err(rustix::io::Errno::IO));
    }
}
