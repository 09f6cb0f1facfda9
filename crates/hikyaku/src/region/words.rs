//! The words of a region.

/// At each rank: its [`Standing`].
pub(super) const STANDING: usize = 0;

/// At the home: moves on whenever an entry of the directory changes.
pub(super) const VERSION: usize = 1;

/// At the home, from here on: a word for each rank, which is 0 unless it shares the region. Otherwise it says how often the rank
/// has joined, so nobody takes a rank that has come back for the one that has left.
pub(super) const DIRECTORY: usize = 2;

/// At the home: a word that only `rank` writes, which is odd while it is in the middle of an update.
pub(super) fn update_of(rank: usize, size: usize) -> usize {
    DIRECTORY + size + rank
}

/// How many words each rank has: whole cache lines.
pub(super) fn words_of(size: usize) -> usize {
    (DIRECTORY + 2 * size).next_multiple_of(8)
}

/// How far a rank is with joining.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It does not share the region.
    Away = 0,
    /// It copies, and looks afterwards whether somebody has asked.
    Joining = 1,
    /// It copies, and those who ask wait until it is done.
    Holding = 2,
    /// It has a copy.
    Joined = 3,
}

/// How a rank takes part, and how often writers have asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing(pub u64);

/// What a writer adds to ask.
pub(super) const ASK: u64 = 4;

impl Standing {
    pub fn stage(self) -> Stage {
        match self.0 % ASK {
            0 => Stage::Away,
            1 => Stage::Joining,
            2 => Stage::Holding,
            _ => Stage::Joined,
        }
    }

    /// As often asked for, at another stage.
    pub fn at(self, stage: Stage) -> Standing {
        Standing(self.0 - self.0 % ASK + stage as u64)
    }
}
