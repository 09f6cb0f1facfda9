//! The launcher's own standard output and standard error, which may be slow, set to refuse what they cannot take at once, full, or read
//! by nobody.

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;

/// Where lines of ranks are shown.
#[derive(Default)]
pub(super) struct Shown {
    /// Why standard output cannot be written any more, and why standard error cannot.
    failures: [Option<Failure>; 2],
}

struct Failure {
    text: String,
    /// Nobody reads it.
    unread: bool,
}

impl Shown {
    /// Writes to standard output or standard error. False if nobody reads it, which is a reason to end only for ranks that print.
    /// One that cannot be written, as on a full disk, is given up and the user told; ranks go on, since what they compute may be worth
    /// more than what they print.
    pub fn write(&mut self, is_error: bool, bytes: &[u8]) -> bool {
        let failure = &mut self.failures[usize::from(is_error)];
        if let Some(failure) = failure {
            return !failure.unread;
        }
        let (name, to) = match is_error {
            true => ("standard error", rustix::stdio::stderr()),
            false => ("standard output", rustix::stdio::stdout()),
        };
        match write_all(to, bytes) {
            Ok(()) => true,
            Err(Errno::PIPE) => {
                let text = format!("nobody reads {name} any more; what was printed after that is lost");
                tell(&format!("hikyaku: {text}\n"));
                *failure = Some(Failure { text, unread: true });
                false
            }
            Err(error) => {
                let why = std::io::Error::from(error);
                let text = format!("cannot write {name}: {why}; the rest of this output is lost");
                tell(&format!("hikyaku: {text}\n"));
                *failure = Some(Failure { text, unread: false });
                true
            }
        }
    }

    /// What could not be written.
    pub fn finish(self) -> Vec<String> {
        self.failures.into_iter().flatten().map(|failure| failure.text).collect()
    }
}

/// Tells the user, on standard error, if there is one.
pub(super) fn tell(text: &str) {
    let _ = write_all(rustix::stdio::stderr(), text.as_bytes());
}

/// Writes everything, waiting where the other side takes nothing at once.
fn write_all(to: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(0) => return Err(Errno::IO),
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                // If this fails, the next attempt to write says why.
                let _ = rustix::event::poll(&mut [PollFd::new(&to, PollFlags::OUT)], None);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::AsFd;

    #[test]
    fn whoever_refuses_what_it_cannot_take_at_once_gets_everything() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        super::super::frame::set_nonblocking(&writer).unwrap();
        let bytes: Vec<u8> = (0..1_000_000u32).map(|at| (at / 7) as u8).collect();
        let sent = bytes.clone();
        let thread = std::thread::spawn(move || write_all(writer.as_fd(), &sent));
        let mut got = Vec::new();
        reader.read_to_end(&mut got).unwrap();
        assert_eq!(thread.join().unwrap(), Ok(()));
        assert!(got == bytes);
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        assert_eq!(write_all(full.as_fd(), b"x"), Err(Errno::NOSPC));
    }
}
