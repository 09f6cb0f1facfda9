//! What the calls of a far group are made of.

use super::group::FarGroup;
use super::hosts::View;
use super::pieces::{PIECE_BYTES, pieces};
use super::team::Team;
use crate::collective::label::{Kind, Label};
use crate::collective::operation::{Combination, is_commutative};
use crate::collective::room::Room;
use crate::collective::round::Round;
use crate::collective::spread::Spread;
use crate::error::Result;
use crate::job::choice::{Call, Version};
use crate::planted::{Bug, planted};

impl<'g> FarGroup<'g, '_> {
    /// The members as a version sees them.
    fn view(self, version: Version) -> View<'g> {
        match version {
            Version::Flat => View::Flat { me: self.rank(), size: self.size() },
            _ => View::Hosts(&self.far.hosts),
        }
    }

    /// As a reduction sees them: hosts one after the other only if that is the order of members, or the order is all one.
    pub(super) fn view_of(self, version: Version, label: Label) -> View<'g> {
        let by_host = self.far.hosts.in_order || is_commutative(label.code);
        self.view(if by_host { version } else { Version::Flat })
    }

    /// The version of a call, which is noted.
    pub(super) fn far_version(self, call: Call, bytes: usize) -> Version {
        let version = self.version(call, bytes);
        self.note(version);
        version
    }

    pub(super) fn team<'t>(&'t self, round: &'t Round, view: View<'t>) -> Team<'t> {
        Team { group: *self, round, list: view.leaders() }
    }

    /// The network's own barrier; or the members of a host come to their leader, and the leaders to each other.
    pub(in crate::collective) fn far_barrier(self, label: Label) -> Result<()> {
        let round = self.begin(label)?;
        if let Some(gate) = self.gate(&round) {
            return self.pass_gate(&round, gate);
        }
        let view = self.view(self.far_version(Call::Barrier, 0));
        let View::Hosts(hosts) = view else { return self.team(&round, view).barrier() };
        let branch = &hosts.branch;
        branch.children.iter().rev().try_for_each(|child| self.hear(&round, *child, 0, &mut []))?;
        branch.parent.map_or(Ok(()), |parent| self.tell(&round, parent, 0, &[]))?;
        if view.leads() {
            self.team(&round, view).barrier()?;
        }
        self.pass_down(&round, branch, &mut [])
    }

    /// By the network's multicast, or a tree.
    #[cold]
    pub(in crate::collective) fn far_broadcast(self, label: Label, data: &mut [u8]) -> Result<()> {
        if let Some(cast) = self.cast() {
            return self.cast_broadcast(label, cast, data);
        }
        let round = self.begin(label)?;
        let view = self.view(self.far_version(Call::Broadcast, data.len()));
        self.pass_down(&round, &view.branch(label.root), data)
    }

    /// Reduce, allreduce, scan or exscan.
    pub(in crate::collective) fn far_combine(self, label: Label, data: &mut [u8], how: &Combination<'_>) -> Result<()> {
        match label.kind {
            Kind::Reduce => self.far_reduce(label, data, how),
            Kind::Allreduce => self.far_allreduce(label, data, how),
            Kind::Exscan => self.far_exscan(label, data, how),
            _ => self.far_scan(label, data, how),
        }
    }

    fn far_allreduce(self, label: Label, data: &mut [u8], how: &Combination<'_>) -> Result<()> {
        let round = self.begin(label)?;
        let version = self.far_version(Call::Allreduce, data.len());
        let view = self.view_of(version, label);
        if version == Version::Shares && !data.is_empty() {
            return self.allreduce_shares(&round, view, data, how);
        }
        if data.len() > PIECE_BYTES {
            let branch = view.branch(0);
            self.pass_up(&round, &branch, data, how)?;
            return self.pass_down(&round, &branch, data);
        }
        let View::Hosts(hosts) = view else { return self.team(&round, view).combine_all(data, how) };
        self.pass_up(&round, &hosts.branch, data, how)?;
        if view.leads() {
            self.team(&round, view).combine_all(data, how)?;
        }
        self.pass_down(&round, &hosts.branch, data)
    }

    fn far_reduce(self, label: Label, data: &mut [u8], how: &Combination<'_>) -> Result<()> {
        let round = self.begin(label)?;
        let (rank, root) = (self.rank(), label.root);
        let version = self.far_version(Call::Reduce, data.len());
        let view = self.view_of(version, label);
        // The others keep their data.
        let mut kept = (rank != root).then(|| Room::copy_of(data));
        let data = kept.as_mut().map_or(data, Room::bytes);
        if version == Version::Shares && !data.is_empty() {
            return self.reduce_shares(&round, view, data, how, root);
        }
        // The first member is the first of the tree, so that the order is kept.
        self.pass_up(&round, &view.branch(0), data, how)?;
        match (rank, root) {
            (0, 0) => Ok(()),
            (0, _) => self.tell_all(&round, root, data),
            _ if rank == root => self.hear_all(&round, 0, data),
            _ => Ok(()),
        }
    }

    /// In step `k` a member passes on what it has of the `2^k` members up to it, so the order of ranks is kept.
    fn far_scan(self, label: Label, data: &mut [u8], how: &Combination<'_>) -> Result<()> {
        let round = self.begin(label)?;
        let step_bytes = PIECE_BYTES / how.element * how.element;
        let mut total = Room::of(data.len().min(step_bytes));
        let count = data.len().div_ceil(step_bytes).max(1);
        for index in 0..count {
            let end = ((index + 1) * step_bytes).min(data.len());
            let piece = &mut data[index * step_bytes..end];
            let mut distance = 1;
            while distance < self.size() {
                if self.rank() + distance < self.size() {
                    self.tell(&round, self.rank() + distance, index, piece)?;
                }
                if self.rank() >= distance {
                    let total = &mut total.bytes()[..piece.len()];
                    self.hear(&round, self.rank() - distance, index, total)?;
                    match planted(Bug::ScanDisordered) {
                        true => (how.combine)(piece, total),
                        false => {
                            (how.combine)(total, piece);
                            piece.copy_from_slice(total);
                        }
                    }
                }
                distance *= 2;
            }
        }
        Ok(())
    }

    /// As [`FarGroup::far_scan`]; what a member passes on has its own contribution in it, its result has not.
    fn far_exscan(self, label: Label, data: &mut [u8], how: &Combination<'_>) -> Result<()> {
        let round = self.begin(label)?;
        let step_bytes = PIECE_BYTES / how.element * how.element;
        let room = || Room::of(data.len().min(step_bytes));
        let [mut passed, mut heard, mut before] = [room(), room(), room()];
        for index in 0..data.len().div_ceil(step_bytes).max(1) {
            let end = ((index + 1) * step_bytes).min(data.len());
            let piece = &mut data[index * step_bytes..end];
            let [passed, heard, before] =
                [&mut passed, &mut heard, &mut before].map(|room| &mut room.bytes()[..piece.len()]);
            passed.copy_from_slice(piece);
            let mut distance = 1;
            while distance < self.size() {
                if self.rank() + distance < self.size() {
                    self.tell(&round, self.rank() + distance, index, passed)?;
                }
                if self.rank() >= distance {
                    self.hear(&round, self.rank() - distance, index, heard)?;
                    before.copy_from_slice(heard);
                    if distance > 1 {
                        (how.combine)(before, piece);
                    }
                    piece.copy_from_slice(before);
                    (how.combine)(heard, passed);
                    passed.copy_from_slice(heard);
                }
                distance *= 2;
            }
        }
        Ok(())
    }

    pub(in crate::collective) fn far_gather(
        self,
        label: Label,
        mine: &[u8],
        all: &mut [u8],
        spread: Spread<'_>,
    ) -> Result<()> {
        let round = self.begin(label)?;
        if self.rank() != label.root {
            return self.tell_all(&round, label.root, mine);
        }
        all[spread.block(label.root)].copy_from_slice(mine);
        // Each begins with the next one, so that those who come first are not always the same.
        for distance in 1..self.size() {
            let member = (label.root + distance) % self.size();
            self.hear_all(&round, member, &mut all[spread.block(member)])?;
        }
        Ok(())
    }

    pub(in crate::collective) fn far_scatter(
        self,
        label: Label,
        all: &[u8],
        mine: &mut [u8],
        spread: Spread<'_>,
    ) -> Result<()> {
        let round = self.begin(label)?;
        if self.rank() != label.root {
            return self.hear_all(&round, label.root, mine);
        }
        mine.copy_from_slice(&all[spread.block(label.root)]);
        for distance in 1..self.size() {
            let member = (label.root + distance) % self.size();
            self.tell_all(&round, member, &all[spread.block(member)])?;
        }
        Ok(())
    }

    /// The blocks of a host go to its leader, from leader to leader, and from each to the members of its host. So each crosses
    /// to every other host once.
    pub(in crate::collective) fn far_allgather(self, label: Label, mine: &[u8], all: &mut [u8]) -> Result<()> {
        let round = self.begin(label)?;
        let hosts = &self.far.hosts;
        let view = View::Hosts(hosts);
        let (leaders, near, block) = (view.leaders(), view.near(), mine.len());
        // What is empty still tells what a member asks for.
        if leaders.len() == self.size() || block == 0 {
            return self.allgather_flat(&round, mine, all);
        }
        let place = |member: usize| member * block..(member + 1) * block;
        all[place(self.rank())].copy_from_slice(mine);
        if !view.leads() {
            self.tell_all(&round, near.member(0), mine)?;
        } else {
            for number in 1..near.len() {
                self.hear_all(&round, near.member(number), &mut all[place(near.member(number))])?;
            }
            let ends: Vec<usize> = (0..leaders.len())
                .scan(0, |end, host| {
                    *end += view.count_on(host) * block;
                    Some(*end)
                })
                .collect();
            let packed = |host: usize| ends[host] - view.count_on(host) * block..ends[host];
            let ours = (0..near.len()).flat_map(|number| all[place(near.member(number))].to_vec()).collect::<Vec<u8>>();
            let mut theirs = vec![0; all.len()];
            self.team(&round, view).trade(&ours, |_| 0..ours.len(), &mut theirs, packed)?;
            for host in (0..leaders.len()).filter(|host| *host != leaders.place) {
                for number in 0..view.count_on(host) {
                    let from = packed(host).start + number * block;
                    all[place(view.member(host, number))].copy_from_slice(&theirs[from..from + block]);
                }
            }
        }
        self.pass_down(&round, &hosts.branch, all)
    }

    /// In step `k` a member passes the `2^k` blocks that it has on to the member as far below it: those of itself and of
    /// the members above it.
    fn allgather_flat(self, round: &Round, mine: &[u8], all: &mut [u8]) -> Result<()> {
        let (rank, size, block) = (self.rank(), self.size(), mine.len());
        let mut blocks = vec![0u8; all.len()];
        blocks[..block].copy_from_slice(mine);
        let mut distance = 1;
        while distance < size {
            let count = distance.min(size - distance);
            let (have, come) = blocks.split_at_mut(distance * block);
            self.exchange_far(
                round,
                self.below(distance),
                &have[..count * block],
                (rank + distance) % size,
                &mut come[..count * block],
            )?;
            distance *= 2;
        }
        for (place, data) in blocks.chunks(block.max(1)).enumerate().take(if block == 0 { 0 } else { size }) {
            all[(rank + place) % size * block..][..block].copy_from_slice(data);
        }
        Ok(())
    }

    pub(in crate::collective) fn far_alltoall(
        self,
        label: Label,
        (blocks, given): (&[u8], Spread<'_>),
        (into, taken): (&mut [u8], Spread<'_>),
    ) -> Result<()> {
        let round = self.begin(label)?;
        let (rank, size) = (self.rank(), self.size());
        into[taken.block(rank)].copy_from_slice(&blocks[given.block(rank)]);
        for distance in 1..size {
            let (above, below) = ((rank + distance) % size, self.below(distance));
            let (data, target) = (&blocks[given.block(above)], &mut into[taken.block(below)]);
            match given {
                Spread::Even(_) => self.exchange_far(&round, above, data, below, target)?,
                Spread::Uneven { .. } => self.transfer(&round, (above, data), (below, target))?,
            }
        }
        Ok(())
    }

    /// The member a distance below.
    fn below(self, distance: usize) -> usize {
        (self.rank() + self.size() - distance) % self.size()
    }

    /// Sends to one member and receives as much from another, piece by piece, since slots are few.
    fn exchange_far(self, round: &Round, to: usize, data: &[u8], from: usize, into: &mut [u8]) -> Result<()> {
        for (index, piece) in pieces(data.len()) {
            self.tell(round, to, index, &data[piece.clone()])?;
            self.hear(round, from, index, &mut into[piece])?;
        }
        Ok(())
    }

    pub(super) fn tell_all(self, round: &Round, member: usize, data: &[u8]) -> Result<()> {
        pieces(data.len()).try_for_each(|(index, piece)| self.tell(round, member, index, &data[piece]))
    }

    pub(super) fn hear_all(self, round: &Round, member: usize, into: &mut [u8]) -> Result<()> {
        pieces(into.len()).try_for_each(|(index, piece)| self.hear(round, member, index, &mut into[piece]))
    }
}
