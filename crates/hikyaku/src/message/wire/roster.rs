//! Which ranks the members are, and where the parts of job memory lie in which each of them holds its words.

/// Where the parts of members lie.
pub(in crate::message) enum Roster {
    /// All ranks of the job, each at this offset of its heap.
    World(usize),
    /// (rank, where its part of its heap begins)
    Listed(Box<[(usize, usize)]>),
}

impl Roster {
    /// The rank of a member.
    #[inline(always)]
    pub fn rank(&self, member: usize) -> usize {
        match self {
            Roster::World(_) => member,
            Roster::Listed(members) => members[member].0,
        }
    }

    /// Where its part of its heap begins.
    pub fn part(&self, member: usize) -> usize {
        match self {
            Roster::World(start) => *start,
            Roster::Listed(members) => members[member].1,
        }
    }
}
