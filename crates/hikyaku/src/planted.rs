//! Bugs that tests plant, one at a time, to see that each is caught: every rule of the protocol is there for a reason.
//!
//! Without the feature `planted` and outside of tests nothing is planted, and the questions cost nothing.

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
    /// An old handle reaches the area that took the place of its own.
    KeyUnread,
    /// Operations that are only counted are not waited for.
    CountUnread,
    /// An atomic operation is done twice.
    AtomicTwice,
    /// A comparison is not made: the word is swapped whatever it holds.
    ComparisonSkipped,
    /// The barrier of the job ends one step early.
    MeetingShort,
    /// Meetings use the same place every time, and not two in turn.
    MeetingPlaceShared,
    /// A message is written though the one before it in its slot was not taken.
    SlotReusedEarly,
    /// A bounce buffer counts as free while its message was not taken.
    BounceFreedEarly,
    /// A sender is not told that its message was too long.
    TruncationUntold,
    /// The next receive says that nothing was refused.
    RefusalForgotten,
    /// A receive that is given up closes its window, into which its sender may still write.
    HeaderDropped,
    /// The barrier of a group ends one step early.
    ButterflyShort,
    /// Members do not compare what they ask for.
    LabelUnread,
    /// A member that finds trouble keeps it to itself.
    AlarmSilent,
    /// A scan combines in the wrong order.
    ScanDisordered,
    /// A short reduction takes far members for near ones.
    FarTakenForNear,
    /// The network's barrier is not waited for.
    GateOpen,
    /// The root of a broadcast by the network does not wait until a buffer was taken.
    CastUnanswered,
    /// A rank that waits for room is not told that there is some.
    RoomUntold,
    /// A rank counts as gone while packets of it are under way.
    DepartureEarly,
}

/// Whether this bug is planted in this thread.
#[inline(always)]
pub fn planted(bug: Bug) -> bool {
    #[cfg(any(test, feature = "planted"))]
    return switch::PLANTED.get() == Some(bug);
    #[cfg(not(any(test, feature = "planted")))]
    {
        let _ = bug;
        false
    }
}

#[cfg(any(test, feature = "planted"))]
pub use switch::with_bug;

#[cfg(any(test, feature = "planted"))]
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
