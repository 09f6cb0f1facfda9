//! Bugs that tests plant, one at a time, to see that each is caught: every rule of the protocol is there for a reason.
//!
//! Without `--cfg hikyaku_planted` and outside of this crate's own tests nothing is planted, and the questions cost nothing. It is
//! no cargo feature: nobody gets it with a dependency. A bug is there in the thread that plants it, so for simulated ranks of that
//! thread too, and for nobody else.

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
    /// Every packet through a chain begins with its first command.
    SkipForgotten,
    /// Every packet of a long push looks at its pointer anew.
    PointerReread,
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
    /// The network's barrier is not waited for.
    GateOpen,
    /// The root of a broadcast by the network does not wait until a buffer was taken.
    CastUnanswered,
    /// A rank that waits for room is not told that there is some.
    RoomUntold,
    /// A rank counts as gone while packets of it are under way.
    DepartureEarly,
    /// News of the end of a rank reach only some hosts.
    NewsToOneHost,
    /// What the host was told of the end of far ranks is not read.
    NewsUnread,
    /// That a rank is lost is forgotten at once.
    LossForgotten,
    /// A sender takes more credit than there is.
    CreditIgnored,
    /// A receiver does not tell how many messages it has handled.
    CreditUntold,
    /// A sender believes that more was handled than it has sent.
    CreditUnchecked,
    /// Messages of far ranks are handled in another order than they came.
    MessagesDisordered,
    /// Any peer may write through a window.
    WindowOfAnyone,
    /// An old name of a window leads to the one that took its place.
    WindowNameUnread,
    /// What came through a window stays behind when it is aimed elsewhere.
    WindowAimedEmpty,
    /// A near rank is not woken by a word of a protocol for far ones.
    NearUnnotified,
    /// Of the words that follow a push only the first is written.
    TailLost,
    /// All pieces of a long pull land in the same place.
    PullMisplaced,
    /// A word that the network writes does not wait for what was put before it.
    WordUnfenced,
    /// What the network has not done yet is not waited for.
    PutsUncounted,
    /// Packets pass what was put before them.
    PacketsPassPuts,
    /// What the network does passes operations that travel as packets.
    PutsPassPackets,
    /// Bytes that are lent to the network are not taken back when a call is given up.
    LentForgotten,
    /// The key of an area is not taken back when the area is revoked.
    KeyKept,
    /// The memory of a rank is named by the key of another.
    ForeignKey,
    /// Ranks that meet do not pass on what they have heard.
    HearsayForgotten,
    /// A rank counts as one that came to a barrier in which it has lost another.
    ArrivalKept,
    /// A frame is taken again that has come before.
    ReplaysTaken,
    /// A frame is taken of which nobody knows any more whether it has come before.
    OldFramesTaken,
    /// Frames are believed without a look at their tags.
    TagUnread,
    /// The number of a frame is no part of its tag.
    NonceFixed,
    /// Both directions of a pair have one key.
    DirectionsAlike,
    /// All lives of a sender have one key.
    LivesAlike,
    /// Parts of messages of different ranks are put together.
    PartsMixed,
    /// What a message was put together from is still there for the next.
    PartsKept,
    /// A message is handed out before all its parts have come.
    PartsHandedOutEarly,
    /// A link is made for a frame that nobody of the job has written.
    LinksForStrangers,
    /// Frames of a rank that was lost are taken.
    LostHeardAgain,
    /// Where blocks have different lengths, that of a member is taken for the next one's.
    BlocksExchanged,
    /// The messages of an endpoint lie where its groups are formed.
    EndpointsShared,
    /// A transfer that goes on beside the program counts as ended before its last piece.
    TransfersEndEarly,
    /// The word of a copy between other ranks is written with the first part of it.
    CopyWordEarly,
    /// A rank that sends on what others ask for says that it is there when it is on its way.
    RelayAnsweredEarly,
    /// A rank that sends on what others ask for keeps to itself that it was refused.
    RelayRefusalKept,
    /// Of several ranks of a host that a multicast is for, the last one is forgotten.
    LastOfSeveralForgotten,
    /// A lock is released before what its owner has pushed has arrived.
    LockedPushesUnsettled,
    /// A ticket of a lock that was given up is not passed over.
    TicketNotPassed,
    /// A ticket of a lock that has no name yet is taken for one of a dead rank.
    TakersUnread,
    /// An owner of a lock that cannot be reached is taken for dead.
    UnreachablePassed,
    /// A lock is passed over to the next, but that an owner has died is not told.
    OwnersDeathUntold,
    /// A rank that joins a region does not look whether something was written meanwhile.
    JoinedBlindly,
    /// Whoever writes to a region does not notice that others have joined.
    DirectoryKept,
    /// That an update begins may come to the home after some of it.
    UpdateUnannounced,
    /// What a rank wrote to some before it died stays different.
    HalfUpdateKept,
    /// The last but one to arrive at a counted barrier tells that all have.
    ArrivalsMiscounted,
    /// An interface that counts arrivals tells only the ranks of its own host that all have come.
    ReleasesKept,
    /// The memory of a counted barrier is freed while ranks are still told that all have come.
    ReleasesUnawaited,
    /// Of several receives that take a message the last one gets it.
    LaterReceiveFirst,
    /// A long message is dropped with the receive that is withdrawn from it.
    WithdrawnMessageLost,
    /// Whoever may not send any more unasked does it all the same.
    BudgetIgnored,
    /// What was sent after short messages is taken before them.
    LaneOvertaken,
    /// Whoever has no slot left for an offer uses one that is taken.
    OfferSlotReused,
    /// The stamp of an item in a queue is written before the item.
    StampBeforeItem,
    /// A producer is told of room in a queue that it does not have yet.
    RoomToldEarly,
    /// A producer whose items nobody looks for does not say so.
    DoorbellUnrung,
    /// A message is written over others that were not received.
    RingOverrun,
    /// A message of another tag is lost.
    SetAsideLost,
    /// Any number of messages is set aside.
    KeptUnbounded,
    /// A packet is taken though one before it was refused.
    PacketBehindRefused,
    /// A packet that is refused counts as taken.
    RefusedTaken,
    /// Nobody is asked again for what was refused.
    RefusedForgotten,
    /// A sender goes on behind a packet that was refused.
    RefusalIgnored,
    /// Whatever comes is kept.
    RefusesNothing,
    /// A task that reads does not wait for one before it that writes.
    ReadersPassWriters,
    /// A task that writes waits for the first of those that read only.
    WritersPassReaders,
    /// A worker that rests does not look at words when it is woken.
    WordsUnseenAtRest,
    /// That the rank has ended whose word a task waits for is not noticed.
    EndOfWriterUnseen,
    /// Tasks are run though their scope fails.
    FailureIgnored,
    /// A future that is cancelled is not told.
    CancelUntold,
}

/// Whether this bug is planted in this thread.
#[inline(always)]
pub fn planted(bug: Bug) -> bool {
    #[cfg(any(test, hikyaku_planted))]
    return switch::PLANTED.get() == Some(bug);
    #[cfg(not(any(test, hikyaku_planted)))]
    {
        let _ = bug;
        false
    }
}

#[cfg(any(test, hikyaku_planted))]
pub use switch::with_bug;

/// A check passes, and fails with each of the bugs.
///
/// # Panics
/// If not.
#[cfg(test)]
pub fn catches(check: fn(), bugs: &[Bug]) {
    check();
    for bug in bugs {
        let caught = with_bug(*bug, || std::panic::catch_unwind(check));
        assert!(caught.is_err(), "{bug:?} was not noticed");
    }
}

#[cfg(any(test, hikyaku_planted))]
mod switch {
    use super::Bug;
    use std::cell::Cell;

    thread_local! {
        pub static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    /// Runs `act` with the bug in place.
    pub fn with_bug<R>(bug: Bug, act: impl FnOnce() -> R) -> R {
        struct Weeded;
        impl Drop for Weeded {
            fn drop(&mut self) {
                PLANTED.set(None);
            }
        }
        PLANTED.set(Some(bug));
        // Also by a panic.
        let _weeded = Weeded;
        act()
    }
}
