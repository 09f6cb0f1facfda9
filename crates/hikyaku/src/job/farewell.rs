//! A rank that has left says what became of messages to handlers: of those that came to it and were never handled, and of those that
//! it has sent to ranks of other hosts which had left before they came.
//!
//! A message to a near rank lies in that rank's memory, so the receiver sees it, unless it is sent while the receiver leaves: then the
//! call that sends may fail as well. One to a far rank may be under way when that leaves, which only its sender can notice.

use super::Job;
use crate::ni::sent_in_vain;
use std::io::Write;
use std::sync::atomic::{Ordering, fence};

impl Job {
    /// Says it on standard error, when all know that this rank has left.
    pub(super) fn tell_unhandled(&self) {
        // Where ranks have died, others could not end as they wanted.
        if !self.ni.has_no_deaths() {
            return;
        }
        // Whoever sends after this look knows that this rank has left.
        fence(Ordering::SeqCst);
        let vain = self.port.initiator.sent_in_vain().into_iter().filter(|(to, _)| !self.ni.is_near(*to));
        let vain = vain.map(|(to, count)| sent_in_vain(self.ni.rank, to, count));
        for text in self.ni.unhandled().text(self.ni.rank).into_iter().chain(vain) {
            // A standard error that cannot be written is no reason to fail.
            let _ = std::io::stderr().write_all(format!("hikyaku: {text}\n").as_bytes());
        }
    }
}
