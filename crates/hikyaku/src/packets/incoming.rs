//! What one rank has sent.

use crate::error::Error;
use crate::matching::Keys;
use std::collections::VecDeque;

/// What a message that is kept costs besides its bytes.
pub(super) const OVERHEAD: usize = 64;

/// What this rank keeps of a rank that sends to it.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    /// The number of the packet that is taken next.
    pub expected: u64,
    /// The message that packets come of.
    pub landing: Option<Landing>,
    /// The message whose first packet was refused.
    pub refused: Option<Refused>,
    /// Whole messages that no receive has taken, in order.
    pub kept: VecDeque<Kept>,
    /// What is kept and what lands in the system buffer, in bytes.
    pub cost: usize,
    /// What it has sent makes no sense: nothing of it is taken any more.
    pub spoilt: Option<&'static str>,
}

#[derive(Debug)]
pub(super) struct Landing {
    pub tag: u64,
    pub whole: usize,
    /// The number of its first packet.
    pub first: u64,
    pub arrived: usize,
    pub place: Place,
}

/// Where a message lands.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the buffer of the receive of this number.
    Posted(u64),
    /// In the system buffer.
    Kept(Vec<u8>),
    /// Nobody can have it any more.
    Nowhere,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Refused {
    pub tag: u64,
    pub whole: usize,
    /// Its sender was asked for it again.
    pub is_called: bool,
}

#[derive(Debug)]
pub(super) struct Kept {
    pub tag: u64,
    pub data: Vec<u8>,
}

impl Incoming {
    /// Takes the first message of the system buffer that is whole and has one of these tags.
    pub fn take(&mut self, tags: Keys) -> Option<Kept> {
        let at = self.kept.iter().position(|kept| tags.matches(kept.tag))?;
        let kept = self.kept.remove(at)?;
        self.cost -= kept.data.len() + OVERHEAD;
        Some(kept)
    }

    /// Whether more must come before all is whole that has begun.
    pub fn is_unfinished(&self) -> bool {
        self.landing.is_some() || self.refused.is_some()
    }

    /// Tag and bytes of the first message that has one of these tags and that no receive has, as far as it is known.
    pub fn find(&self, tags: Keys) -> Option<(u64, usize)> {
        let kept = self.kept.iter().map(|kept| (kept.tag, kept.data.len()));
        let is_kept = |landing: &&Landing| matches!(landing.place, Place::Kept(_));
        let landing = self.landing.iter().filter(is_kept).map(|landing| (landing.tag, landing.whole));
        let refused = self.refused.iter().map(|refused| (refused.tag, refused.whole));
        kept.chain(landing).chain(refused).find(|(tag, _)| tags.matches(*tag))
    }

    /// Fails if its sender does not keep to the rules.
    pub fn check(&self, rank: usize) -> Result<(), Error> {
        self.spoilt.map_or(Ok(()), |what| Err(Error::PeerMisbehaved { rank, what }))
    }
}
