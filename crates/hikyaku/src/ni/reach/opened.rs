//! Areas of one rank, by id, as those know them who operate on them: what RHiNET calls communication areas.
//!
//! The owner enters an area in its table under a random key; a peer opens it and holds the key. Every operation
//! checks the key inside the guard, so after a revocation nobody writes any more, and the memory may be freed. What the
//! owner itself does goes by a table of its own ([`crate::ni::state::own_areas`]), since any peer may write the one that all read.

use crate::error::{Error, Refusal, Result};
use crate::ni::base::Base;
use crate::ni::state::random::random;
use crate::ni::wire::target::Target;
use crate::sync::brief::lock;
use crate::transport::remote_memory::RemoteKey;
use crate::transport::shm::layout::{AREA_COUNT, AreaKind};

/// What a holder of an area knows of it.
#[derive(Clone, Copy)]
pub(crate) struct Opened {
    pub job: u64,
    pub rank: usize,
    pub id: u32,
    pub key: u64,
    pub kind: AreaKind,
    /// Offset in the owner's heap, or address in its private memory.
    pub start: u64,
    pub bytes: usize,
    /// This is the owner's own handle: the memory stays while it lives.
    pub owned: bool,
    /// How the network reaches it by itself, if it does.
    pub reach: Option<RemoteKey>,
}

impl Opened {
    /// Fails once the owner has revoked it. Call inside the guard.
    #[inline]
    pub fn check(&self, ni: &Base) -> Result<()> {
        let is_there = match self.rank == ni.rank {
            true => ni.own_areas.is(self.id, self.key),
            // A far owner finds out itself.
            false => ni.near_block(self.rank).is_none_or(|block| block.areas[self.id as usize].is(self.key)),
        };
        match is_there {
            true => Ok(()),
            false => Err(Error::AreaRevoked { rank: self.rank, id: self.id }),
        }
    }

    /// What an answer of the owner means to whoever has opened the area.
    pub fn why(&self, error: Error) -> Error {
        match error {
            Error::Refused { reason: Refusal::UnknownArea, .. } => Error::AreaRevoked { rank: self.rank, id: self.id },
            other => other,
        }
    }

    /// The address of a byte, if this process has one for it.
    #[inline]
    pub fn pointer(&self, ni: &Base, offset: usize) -> Option<*mut u8> {
        match self.kind {
            // SAFETY: the area was checked to lie in the owner's heap when it was opened, or is one of this rank.
            AreaKind::Mapped => ni.near_heap(self.rank).map(|heap| unsafe { heap.add(self.start as usize + offset) }),
            _ if !ni.is_near(self.rank) => None,
            AreaKind::Private if ni.threads || self.rank == ni.rank => Some((self.start as usize + offset) as *mut u8),
            AreaKind::Private => None,
        }
    }

    /// The address of a byte of an own area that stays while the handle is borrowed.
    pub fn own_address(&self, ni: &Base, offset: usize) -> Result<*mut u8> {
        self.check(ni)?;
        let stays = self.owned || self.kind == AreaKind::Mapped;
        self.pointer(ni, offset).filter(|_| stays).ok_or(Error::NotMine { rank: self.rank })
    }

    /// As the target of an operation, at an offset.
    pub fn target(&self, offset: usize) -> Target {
        Target::in_area(self.rank, self.id, self.key, self.reach, offset)
    }
}

impl Base {
    pub(crate) fn publish(&self, id: u32, kind: AreaKind, start: u64, bytes: usize) -> Result<Opened> {
        self.check_rank(self.rank)?;
        let taken = Error::AreaIdTaken { id, max: AREA_COUNT as u32 };
        // The tables are written by this rank alone; the heap's lock keeps its threads apart.
        let _lock = lock(&self.own_heap);
        let (key, words) = (self.random()?, [kind as u64, start, bytes as u64]);
        if !self.own_areas.publish(id, key, words) {
            return Err(taken);
        }
        let told = &self.mine().areas[id as usize];
        // Whatever a peer has left there.
        told.clear();
        told.publish(key, words);
        Ok(Opened { job: self.ground, rank: self.rank, id, key, kind, start, bytes, owned: true, reach: None })
    }

    /// An own area, by what this rank keeps to itself; or reads an entry of a peer's table and believes none of it: a
    /// mapped area must lie in the owner's heap.
    pub(crate) fn look_up(&self, rank: usize, id: u32) -> Result<Opened> {
        let found = match rank == self.rank {
            true => self.own_areas.look(id),
            false => self.near_block(rank).and_then(|block| block.areas.get(id as usize)?.look()),
        };
        let (key, words) = found.ok_or(Error::UnknownArea { rank, id })?;
        self.believe(rank, id, key, words)
    }

    pub(crate) fn believe(&self, rank: usize, id: u32, key: u64, [kind, start, bytes]: [u64; 3]) -> Result<Opened> {
        let kind = match kind {
            k if k == AreaKind::Mapped as u64 => AreaKind::Mapped,
            k if k == AreaKind::Private as u64 => AreaKind::Private,
            _ => return Err(Error::PeerMisbehaved { rank, what: "an area of unknown kind" }),
        };
        let heap_bytes = self.memory.layout.heap_bytes() as u64;
        let end = start.checked_add(bytes).filter(|_| bytes <= isize::MAX as u64);
        let inside = match kind {
            AreaKind::Mapped => end.is_some_and(|end| end <= heap_bytes),
            AreaKind::Private => end.is_some(),
        };
        if !inside {
            return Err(Error::PeerMisbehaved { rank, what: "an area outside its memory" });
        }
        Ok(Opened { job: self.ground, rank, id, key, kind, start, bytes: bytes as usize, owned: false, reach: None })
    }

    fn random(&self) -> Result<u64> {
        self.environment.as_ref().map_or_else(random, |environment| Ok(environment.random()))
    }
}
