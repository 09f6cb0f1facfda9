//! Which version of a collective call is used for which number of ranks and which size: a small table that all ranks
//! share, so that they choose alike.

use crate::transport::shm::layout::{CHOICE_WORDS, JobMemory};
use std::sync::atomic::Ordering;

/// A collective call that has several versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// [`crate::Group::barrier`].
    Barrier,
    /// [`crate::Group::broadcast`].
    Broadcast,
    /// [`crate::Group::reduce`].
    Reduce,
    /// [`crate::Group::allreduce`].
    Allreduce,
}

/// A version of a collective call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Version {
    /// Through words and small buffers of the members that all map; a barrier: flags in a butterfly.
    Buffers = 1,
    /// Through two larger buffers of the root, used in turn.
    Stage = 2,
    /// Each reads, and writes, the memory of the others where it is; a barrier: one counter that all add to.
    Direct = 3,
    /// A tree of messages.
    Tree = 4,
    /// Over several hosts: messages between all members, wherever they are.
    Flat = 5,
    /// Over several hosts: members of a host through their leader, and messages between the leaders.
    Leaders = 6,
    /// Over several hosts: every member combines a share of the data, and carries it between the hosts.
    Shares = 7,
}

impl Call {
    /// All of them.
    pub const ALL: [Call; 4] = [Call::Barrier, Call::Broadcast, Call::Reduce, Call::Allreduce];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Call::Barrier => "barrier",
            Call::Broadcast => "broadcast",
            Call::Reduce => "reduce",
            Call::Allreduce => "allreduce",
        }
    }

    /// The versions there are for a call of `bytes` bytes among members of one host.
    pub fn versions(self, bytes: usize) -> &'static [Version] {
        use Version::*;
        match self {
            Call::Barrier => &[Buffers, Direct, Tree],
            _ if bytes <= BUFFER_MAX => &[Buffers, Tree],
            Call::Broadcast => &[Buffers, Stage, Direct, Tree],
            Call::Reduce | Call::Allreduce => &[Buffers, Direct, Tree],
        }
    }

    /// The versions there are for a call among members of several hosts.
    pub fn far_versions(self) -> &'static [Version] {
        use Version::*;
        match self {
            Call::Barrier | Call::Broadcast => &[Flat, Leaders],
            Call::Reduce | Call::Allreduce => &[Flat, Leaders, Shares],
        }
    }

    /// Whether there is such a version for `bytes` bytes.
    pub(crate) fn has(self, version: Version, bytes: usize) -> bool {
        self.versions(bytes).contains(&version) || self.far_versions().contains(&version)
    }

    /// The version that members on `hosts` hosts use if nobody has measured.
    pub fn default_far_version(self, hosts: usize, bytes: usize) -> Version {
        match self {
            Call::Reduce | Call::Allreduce
                if bytes > FAR_SHORT_MAX && hosts <= FAR_HOSTS_MAX && bytes / hosts.max(1) >= FAR_SHARE_MIN =>
            {
                Version::Shares
            }
            _ => Version::Leaders,
        }
    }

    /// The version that is used if nobody has measured: for private memory of processes that reach each other's. Memory of
    /// the job, and that of threads, is always used where it is, if it is long.
    pub fn default_version(self, ranks: usize, bytes: usize, crowded: bool) -> Version {
        // By class, as what was measured.
        let bytes = BYTE_LIMITS[class(&BYTE_LIMITS, bytes)];
        match self {
            // Whoever gets a core sees at one glance whether it may go on.
            Call::Barrier if crowded && ranks > 2 => Version::Direct,
            Call::Barrier => Version::Buffers,
            _ if bytes <= BUFFER_MAX => Version::Buffers,
            Call::Broadcast if bytes <= SHORT_MAX => Version::Buffers,
            // What one member has just read is still in the cache for the next.
            Call::Broadcast if crowded => Version::Stage,
            Call::Broadcast => Version::Direct,
            Call::Reduce | Call::Allreduce if bytes / ranks < SHARE_MIN => Version::Buffers,
            Call::Reduce | Call::Allreduce => Version::Direct,
        }
    }
}

/// Up to so many bytes there is one small buffer, and nothing to choose but a tree.
pub(crate) const BUFFER_MAX: usize = 16 * 1024;
/// Up to so many bytes copying twice costs less than a system call for each reader.
const SHORT_MAX: usize = 64 * 1024;
/// Private buffers are worth the system calls of a reduction if each share has so many bytes.
const SHARE_MIN: usize = 64 * 1024;

/// Up to so many bytes, what a host has is one message between leaders.
const FAR_SHORT_MAX: usize = 8000;
/// Up to so many hosts, whoever carries a share talks to one of each: more would need much memory for it.
const FAR_HOSTS_MAX: usize = 64;
/// Shares are worth their messages if each has so many bytes.
const FAR_SHARE_MIN: usize = 128;

impl Version {
    /// Those for members of one host.
    pub const ALL: [Version; 4] = [Version::Buffers, Version::Stage, Version::Direct, Version::Tree];
    /// Those for members of several hosts.
    pub const FAR: [Version; 3] = [Version::Flat, Version::Leaders, Version::Shares];

    /// Whether it is for members of several hosts.
    pub fn is_far(self) -> bool {
        Version::FAR.contains(&self)
    }

    /// The version of that name.
    pub fn named(name: &str) -> Option<Version> {
        Version::each().find(|version| version.name() == name)
    }

    fn each() -> impl Iterator<Item = Version> {
        Version::ALL.into_iter().chain(Version::FAR)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Version::Buffers => "buffers",
            Version::Stage => "stage",
            Version::Direct => "direct",
            Version::Tree => "tree",
            Version::Flat => "flat",
            Version::Leaders => "leaders",
            Version::Shares => "shares",
        }
    }

    fn from_code(code: u8) -> Option<Version> {
        Version::each().find(|version| *version as u8 == code)
    }
}

/// The classes of rank counts, each by its largest.
const RANK_LIMITS: [usize; 6] = [2, 4, 8, 16, 32, usize::MAX];
/// The classes of sizes, each by its largest.
const BYTE_LIMITS: [usize; 8] = [64, 1 << 10, 8 << 10, BUFFER_MAX, 64 << 10, 512 << 10, 4 << 20, usize::MAX];

fn class(limits: &[usize], value: usize) -> usize {
    limits.iter().position(|limit| value <= *limit).expect("the last class has no limit")
}

/// The version of each call for each class of rank counts and sizes; nothing: the default. Groups of one host and groups of
/// several have tables of their own: a version tells which one it belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    near: Table,
    far: Table,
}

type Table = [[[u8; BYTE_LIMITS.len()]; RANK_LIMITS.len()]; Call::ALL.len()];

/// The row of one class of rank counts.
pub(crate) type Row = [[u8; BYTE_LIMITS.len()]; Call::ALL.len()];

impl Choices {
    /// The largest size of each class of sizes.
    pub const SIZES: [usize; BYTE_LIMITS.len()] = BYTE_LIMITS;

    /// One version for everything that has it.
    pub fn all(version: Version) -> Choices {
        let mut choices = Choices::default();
        for call in Call::ALL {
            for (ranks, bytes) in RANK_LIMITS.iter().flat_map(|ranks| BYTE_LIMITS.map(|bytes| (*ranks, bytes))) {
                if call.has(version, bytes) {
                    choices.set(call, ranks, bytes, version);
                }
            }
        }
        choices
    }

    /// The version for a call of `bytes` bytes among `ranks` ranks of one host, if one was chosen.
    pub fn get(&self, call: Call, ranks: usize, bytes: usize) -> Option<Version> {
        look_up(&self.near, call, ranks, bytes)
    }

    /// The version for a call of `bytes` bytes among `ranks` ranks of several hosts, if one was chosen.
    pub fn get_far(&self, call: Call, ranks: usize, bytes: usize) -> Option<Version> {
        look_up(&self.far, call, ranks, bytes)
    }

    /// Chooses a version for the class of that rank count and size.
    pub fn set(&mut self, call: Call, ranks: usize, bytes: usize, version: Version) {
        let table = if version.is_far() { &mut self.far } else { &mut self.near };
        table[call as usize][class(&RANK_LIMITS, ranks)][class(&BYTE_LIMITS, bytes)] = version as u8;
    }

    /// With the choices between hosts of others.
    pub(crate) fn with_far(&self, others: &Choices) -> Choices {
        Choices { near: self.near, far: others.far }
    }

    /// What was chosen: call, largest rank count and size of the class (the last has none: `usize::MAX`), version.
    pub fn iter(&self) -> impl Iterator<Item = (Call, usize, usize, Version)> {
        let classes = RANK_LIMITS.iter().flat_map(|ranks| BYTE_LIMITS.map(|bytes| (*ranks, bytes)));
        let all = Call::ALL.iter().flat_map(move |call| classes.clone().map(|(ranks, bytes)| (*call, ranks, bytes)));
        all.flat_map(|(call, ranks, bytes)| {
            let versions = [self.get(call, ranks, bytes), self.get_far(call, ranks, bytes)];
            versions.into_iter().flatten().map(move |version| (call, ranks, bytes, version))
        })
    }

    /// The table of a job. What chooses a version that a call does not have is left out: any rank may have written there.
    pub(crate) fn of(memory: &JobMemory) -> Choices {
        let told = Choices::from_words(memory.header().choices.each_ref().map(|word| word.load(Ordering::Relaxed)));
        let mut choices = Choices::default();
        for (call, ranks, bytes, version) in told.iter().filter(|(call, _, bytes, version)| call.has(*version, *bytes))
        {
            choices.set(call, ranks, bytes, version);
        }
        choices
    }

    pub(crate) fn row(&self, ranks: usize) -> Row {
        self.near.map(|of_call| of_call[class(&RANK_LIMITS, ranks)])
    }

    pub(crate) fn far_row(&self, ranks: usize) -> Row {
        self.far.map(|of_call| of_call[class(&RANK_LIMITS, ranks)])
    }

    pub(crate) fn words(&self) -> [u64; CHOICE_WORDS] {
        let rows = [self.near, self.far].concat().concat();
        let words: Vec<u64> = rows.iter().map(|row| u64::from_le_bytes(*row)).collect();
        words.try_into().expect("a word per row")
    }

    pub(crate) fn from_words(words: [u64; CHOICE_WORDS]) -> Choices {
        let mut rows = words.iter().map(|word| word.to_le_bytes());
        let mut table =
            || [(); Call::ALL.len()].map(|()| [(); RANK_LIMITS.len()].map(|()| rows.next().expect("a row")));
        Choices { near: table(), far: table() }
    }
}

fn look_up(table: &Table, call: Call, ranks: usize, bytes: usize) -> Option<Version> {
    Version::from_code(table[call as usize][class(&RANK_LIMITS, ranks)][class(&BYTE_LIMITS, bytes)])
}

/// The version in a row, if one was chosen.
#[inline]
pub(crate) fn chosen(row: &Row, call: Call, bytes: usize) -> Option<Version> {
    Version::from_code(row[call as usize][class(&BYTE_LIMITS, bytes)])
}

/// Whether a barrier of `ranks` ranks is one counter. Who chose a tree, and cannot have it, gets what is usual.
pub(crate) fn counts(row: &Row, ranks: usize, crowded: bool) -> bool {
    let chosen = chosen(row, Call::Barrier, 0).filter(|version| *version != Version::Tree);
    chosen.unwrap_or_else(|| Call::Barrier.default_version(ranks, 0, crowded)) == Version::Direct
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_is_one_counter_where_members_share_cores_unless_something_else_was_chosen() {
        let by = |version: Option<Version>| version.map_or_else(Choices::default, Choices::all).row(3);
        for usual in [None, Some(Version::Tree)] {
            assert!(counts(&by(usual), 3, true));
            assert!(!counts(&by(usual), 2, true) && !counts(&by(usual), 3, false));
        }
        assert!(counts(&by(Some(Version::Direct)), 2, false));
        assert!(!counts(&by(Some(Version::Buffers)), 3, true));
    }

    #[test]
    fn choices_are_by_class() {
        let mut choices = Choices::default();
        assert_eq!(choices.iter().count(), 0);
        choices.set(Call::Reduce, 3, 9000, Version::Tree);
        assert_eq!(choices.get(Call::Reduce, 4, 16384), Some(Version::Tree));
        assert_eq!(choices.get(Call::Reduce, 2, 16384), None);
        assert_eq!(choices.get(Call::Reduce, 4, 8192), None);
        assert_eq!(choices.get(Call::Allreduce, 4, 16384), None);
        assert_eq!(choices.iter().collect::<Vec<_>>(), [(Call::Reduce, 4, 16384, Version::Tree)]);
        assert_eq!(chosen(&choices.row(4), Call::Reduce, 10_000), Some(Version::Tree));
        assert_eq!(Choices::from_words(choices.words()), choices);
        // Beside it, for groups of several hosts.
        choices.set(Call::Reduce, 3, 9000, Version::Shares);
        assert_eq!(choices.get(Call::Reduce, 4, 16384), Some(Version::Tree));
        assert_eq!(choices.get_far(Call::Reduce, 4, 16384), Some(Version::Shares));
        assert_eq!((choices.iter().count(), Choices::from_words(choices.words())), (2, choices));
    }

    #[test]
    fn the_default_exists() {
        for (call, ranks, bytes) in Call::ALL
            .iter()
            .flat_map(|call| [1, 2, 16, 500].map(|ranks| (*call, ranks)))
            .flat_map(|(call, ranks)| Choices::SIZES.map(|bytes| (call, ranks, bytes)))
        {
            assert!(call.far_versions().contains(&call.default_far_version(ranks, bytes)));
            for crowded in [false, true] {
                assert!(call.versions(bytes).contains(&call.default_version(ranks, bytes, crowded)));
            }
        }
    }
}
