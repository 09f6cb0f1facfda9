//! Bugs that tests plant, one at a time, to see that each is caught: every rule of the protocol is there for a reason.
//!
//! Outside of tests nothing is planted and the questions cost nothing.

/// A rule that is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Frames are believed without a look at their checksum.
    ChecksumUnread,
    /// Frames of an earlier life of the link are believed.
    EpochUnread,
    /// Serial numbers are compared as if they never wrapped.
    WrapForgotten,
    /// The receiver takes a message again that it had.
    DuplicatesTaken,
    /// The receiver skips what is missing.
    GapsSkipped,
    /// The receiver acknowledges what it has seen, whether or not there are gaps before it.
    GapsAcknowledged,
    /// The receiver never asks for what is missing.
    NothingRequested,
    /// An acknowledgement travels only on other frames.
    NeverAcknowledgedAlone,
    /// A sender that has waited for too long is not answered, so what was lost stays lost.
    AnswersForgotten,
    /// The sender gives its copy up when it is on the wire.
    CopyGivenUpEarly,
    /// The sender takes any number of messages.
    WindowIgnored,
    /// An acknowledgement that was overtaken by a later one is believed.
    OldAcknowledgementsBelieved,
    /// The sender does not resend when asked.
    RequestsIgnored,
    /// The sender does not resend after a timeout.
    TimeoutsIgnored,
    /// Timeouts stay long after something was acknowledged.
    BackoffKept,
    /// A peer that never answers is waited for without end.
    SilenceIgnored,
    /// A peer that answers but acknowledges nothing new is taken for unreachable.
    SlownessTakenForSilence,
}

/// Whether this bug is planted in this thread.
#[inline(always)]
pub fn planted(bug: Bug) -> bool {
    #[cfg(test)]
    return switch::PLANTED.get() == Some(bug);
    #[cfg(not(test))]
    {
        let _ = bug;
        false
    }
}

#[cfg(test)]
pub use switch::with_bug;

#[cfg(test)]
mod switch {
    use super::Bug;
    use std::cell::Cell;

    thread_local! {
        pub static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    /// Runs `act` with the bug in place.
    pub fn with_bug<R>(bug: Bug, act: impl FnOnce() -> R) -> R {
        PLANTED.set(Some(bug));
        let result = act();
        PLANTED.set(None);
        result
    }
}
