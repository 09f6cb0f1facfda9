//! Collectives as trees of messages, kept beside the versions over shared memory and chosen where they are measured to be
//! faster (see `choice`). Where members are on several hosts, see `far`.
//!
//! A binomial tree of all members, of a depth that grows with the logarithm of their number. Data go in pieces of a short
//! message, in several slots in turn, so that pieces follow each other through the tree. Reductions go up to the first
//! member, neighbours first, so contributions are combined in the order of ranks.
//!
//! ```text
//!   0 <- 1    2 <- 3    4 <- 5    6 <- 7
//!   0 <------ 2         4 <------ 6
//!   0 <------------------ 4
//! ```
//! Members show what they ask for as in every call, and compare it with whom they hear from; waits look out for trouble.

use super::group::NearGroup;
use crate::collective::binomial::{lowest, steps};
use crate::collective::label::{Kind, Label};
use crate::collective::operation::Combination;
use crate::collective::room::Room;
use crate::collective::round::Round;
use crate::collective::slots::SLOTS;
use crate::error::Result;
use crate::job::choice::Version;
use crate::message::{EAGER_MAX, Messages};

/// One call.
struct Climb<'g, 'j> {
    group: NearGroup<'g, 'j>,
    messages: &'g Messages<'j>,
    round: Round,
    /// Data in pieces of so many bytes.
    piece: usize,
}

impl<'g, 'j> NearGroup<'g, 'j> {
    /// The slots of trees, made by all together at the first need; `None` if some member has no memory for them.
    fn tree(self) -> Result<Option<&'g Messages<'j>>> {
        if !self.slots.is_known() {
            self.slots.set(match self.run_messages(Kind::Tree, SLOTS) {
                Ok(messages) => Some(messages),
                Err(error) if self.broken.borrow().is_some() => return Err(error),
                Err(_) => None,
            });
        }
        Ok(self.0.slots.get())
    }

    /// Begins a call; `None`: in another way.
    fn climb(self, label: Label, element: usize) -> Result<Option<Climb<'g, 'j>>> {
        let Some(messages) = self.tree()? else { return Ok(None) };
        self.note(Version::Tree);
        let round = self.enter(label)?;
        self.publish(&round);
        Ok(Some(Climb { group: self, messages, round, piece: EAGER_MAX / element * element }))
    }

    /// A barrier: up and down without data. False if it must be done in another way.
    pub(in crate::collective) fn tree_barrier(self, label: Label) -> Result<bool> {
        let Some(climb) = self.climb(label, 1)? else { return Ok(false) };
        climb.up(&mut [], None)?;
        climb.down(&mut [], 0)?;
        self.saw_everyone(&climb.round);
        self.finish(&climb.round);
        Ok(true)
    }

    /// Likewise.
    pub(in crate::collective) fn tree_broadcast(self, label: Label, data: &mut [u8]) -> Result<bool> {
        let Some(climb) = self.climb(label, 1)? else { return Ok(false) };
        climb.down(data, label.root)?;
        self.finish(&climb.round);
        Ok(true)
    }

    /// Likewise.
    pub(in crate::collective) fn tree_allreduce(
        self,
        label: Label,
        data: &mut [u8],
        how: &Combination<'_>,
    ) -> Result<bool> {
        let Some(climb) = self.climb(label, how.element)? else { return Ok(false) };
        climb.up(data, Some(how))?;
        climb.down(data, 0)?;
        self.finish(&climb.round);
        Ok(true)
    }

    /// Likewise.
    pub(in crate::collective) fn tree_reduce(
        self,
        label: Label,
        data: &mut [u8],
        how: &Combination<'_>,
    ) -> Result<bool> {
        let Some(climb) = self.climb(label, how.element)? else { return Ok(false) };
        let (rank, root) = (self.rank(), label.root);
        if rank == root && root == 0 {
            climb.up(data, Some(how))?;
        } else {
            // The others keep their data.
            let mut total = Room::copy_of(data);
            climb.up(total.bytes(), Some(how))?;
            if rank == 0 {
                climb.pieces(total.bytes(), |index, piece| climb.send(root, index, piece))?;
            }
            if rank == root {
                climb.pieces(data, |index, piece| climb.receive(0, index, piece))?;
            }
        }
        self.finish(&climb.round);
        Ok(true)
    }
}

impl Climb<'_, '_> {
    /// Combines what the members below have with the own data, and passes it on.
    fn up(&self, data: &mut [u8], how: Option<&Combination<'_>>) -> Result<()> {
        let (rank, size) = (self.group.rank(), self.group.size());
        let mut input = Room::of(data.len().min(self.piece));
        self.pieces(data, |index, piece| {
            let mut step = 1;
            while step < size && rank % (2 * step) == 0 {
                if rank + step < size {
                    let input = &mut input.bytes()[..piece.len()];
                    self.receive(rank + step, index, input)?;
                    if let Some(how) = how {
                        (how.combine)(piece, input);
                    }
                }
                step *= 2;
            }
            if rank == 0 { Ok(()) } else { self.send(rank - step, index, piece) }
        })
    }

    /// Passes the data of `root` on to all.
    fn down(&self, data: &mut [u8], root: usize) -> Result<()> {
        let size = self.group.size();
        // The tree is that of the first member, turned.
        let place = (self.group.rank() + size - root) % size;
        let member = |place: usize| (place + root) % size;
        let lowest = lowest(place, size);
        self.pieces(data, |index, piece| {
            if place != 0 {
                self.receive(member(place - lowest), index, piece)?;
            }
            steps(place, size).try_for_each(|step| self.send(member(place + step), index, piece))
        })
    }

    /// Each piece and its number: one, though empty, if there are no data.
    fn pieces(&self, data: &mut [u8], mut each: impl FnMut(usize, &mut [u8]) -> Result<()>) -> Result<()> {
        if data.len() <= self.piece {
            return each(0, data);
        }
        data.chunks_mut(self.piece).enumerate().try_for_each(|(index, piece)| each(index, piece))
    }

    fn send(&self, member: usize, index: usize, data: &[u8]) -> Result<()> {
        let sent = || self.messages.try_send(data, member, index % SLOTS).map(|sent| sent.then_some(())).transpose();
        // A member that has left because another died is not the cause.
        let cause = |error| self.group.check(&self.round).err().unwrap_or(error);
        // Each attempt may run handlers.
        let sent = self.group.quit_on_panic(|| self.group.wait(self.round, sent));
        sent?.map_err(|error| self.group.fail(cause(error)))
    }

    fn receive(&self, member: usize, index: usize, into: &mut [u8]) -> Result<()> {
        let expected = into.len();
        let came = || self.messages.try_recv(into, member, index % SLOTS).transpose();
        let came = self.group.quit_on_panic(|| self.group.wait(self.round, came))?;
        // It has shown what it asks for before it sent.
        if !self.group.has_entered(&self.round, member)? || came.as_ref().ok() != Some(&expected) {
            return Err(self.group.mismatch(&self.round, member));
        }
        Ok(())
    }
}
