//! What a wait is for, and who is to bring it about.

/// Who is expected to end the wait: its death ends it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum By {
    /// Any peer. The death of any rank ends the wait, and so does one that leaves because it could not reach another.
    Anyone,
    /// This rank.
    Rank(usize),
    /// Every rank, each of which must arrive at the barrier of this number.
    Barrier(u64),
}

/// How the awaited thing comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// By a handler that runs here: look for messages all the time.
    Always,
    /// By a store of a peer: look for messages now and then.
    Seldom,
}

/// What a word is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Until {
    /// The word equals the value.
    Equal(u64),
    /// The word differs from the value.
    NotEqual(u64),
    /// The word, as an unsigned number, is at least the value.
    AtLeast(u64),
}

impl Until {
    #[inline(always)]
    pub(in crate::ni) fn met(self, word: u64) -> bool {
        match self {
            Until::Equal(value) => word == value,
            Until::NotEqual(value) => word != value,
            Until::AtLeast(value) => word >= value,
        }
    }
}
