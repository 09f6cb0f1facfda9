//! Blocks of different lengths over hosts: through a leader per host, so that each byte crosses to another host once.
//!
//! Leaders pack what belongs to one host together, whoever has it in its group's order and wherever members want it.

use super::group::FarGroup;
use super::hosts::View;
use crate::collective::label::Label;
use crate::collective::operation::Combination;
use crate::collective::room::{ALIGN, Room};
use crate::error::Result;
use crate::job::choice::Call;
use std::ops::Range;

/// Where blocks lie when those of a host are packed together.
struct Packed {
    /// Of each member.
    members: Vec<Range<usize>>,
    /// Of all members of each host.
    hosts: Vec<Range<usize>>,
}

impl Packed {
    fn of(view: View<'_>, ranges: &[Range<usize>]) -> Packed {
        let (mut members, mut hosts, mut end) = (vec![0..0; ranges.len()], Vec::new(), 0);
        for host in 0..view.host_count() {
            let start = end;
            for number in 0..view.count_on(host) {
                let member = view.member(host, number);
                members[member] = end..end + ranges[member].len();
                end = members[member].end;
            }
            hosts.push(start..end);
        }
        Packed { members, hosts }
    }

    fn bytes(&self) -> usize {
        self.hosts.last().map_or(0, |host| host.end)
    }
}

impl FarGroup<'_, '_> {
    /// The blocks of a host go to its leader, from leader to leader, and from each to the members of its host.
    pub(in crate::collective) fn far_allgatherv(
        self,
        label: Label,
        mine: &[u8],
        all: &mut [u8],
        ranges: &[Range<usize>],
    ) -> Result<()> {
        let round = self.begin(label)?;
        let hosts = &self.far.hosts;
        let view = View::Hosts(hosts);
        let (leaders, near, packed) = (view.leaders(), view.near(), Packed::of(view, ranges));
        let mut data = vec![0; packed.bytes()];
        if view.leads() {
            data[packed.members[self.rank()].clone()].copy_from_slice(mine);
            for member in (1..near.len()).map(|number| near.member(number)) {
                self.hear_all(&round, member, &mut data[packed.members[member].clone()])?;
            }
            let ours = data[packed.hosts[leaders.place].clone()].to_vec();
            let place_of = |host: usize| packed.hosts[host].clone();
            self.team(&round, view).trade(&ours, |_| 0..ours.len(), &mut data, place_of)?;
        } else {
            self.tell_all(&round, near.member(0), mine)?;
        }
        self.pass_down(&round, &hosts.branch, &mut data)?;
        for (range, place) in ranges.iter().zip(packed.members) {
            all[range.clone()].copy_from_slice(&data[place]);
        }
        Ok(())
    }

    /// Each host combines what its members give, the leaders give each other what is for the members of a host, and combine it
    /// in the order of hosts. Where the order of members does not allow that, each member is its own leader.
    pub(in crate::collective) fn far_reduce_scatter(
        self,
        label: Label,
        data: &[u8],
        mine: &mut [u8],
        ranges: &[Range<usize>],
        how: &Combination<'_>,
    ) -> Result<()> {
        let round = self.begin(label)?;
        let view = self.view_of(self.far_version(Call::Allreduce, data.len()), label);
        let (leaders, near) = (view.leaders(), view.near());
        // The program keeps its data.
        let mut data = Room::copy_of(data);
        if let View::Hosts(hosts) = view {
            self.pass_up(&round, &hosts.branch, data.bytes(), how)?;
        }
        if !view.leads() {
            return self.transfer(&round, (near.member(0), &[]), (near.member(0), mine));
        }
        let (packed, mut given) = (Packed::of(view, ranges), Room::of(data.bytes().len()));
        for (range, place) in ranges.iter().zip(&packed.members) {
            given.bytes()[place.clone()].copy_from_slice(&data.bytes()[range.clone()]);
        }
        let ours = packed.hosts[leaders.place].clone();
        // What each host gives, at a place that is aligned.
        let stride = ours.len().next_multiple_of(ALIGN);
        let mut parts = Room::of(stride * leaders.len());
        let part_of = |host: usize| host * stride..host * stride + ours.len();
        let team = self.team(&round, view);
        team.trade(given.bytes(), |host| packed.hosts[host].clone(), parts.bytes(), part_of)?;
        parts.bytes()[part_of(leaders.place)].copy_from_slice(&given.bytes()[ours.clone()]);
        let mut total = Room::copy_of(&parts.bytes()[part_of(0)]);
        if !ours.is_empty() {
            (1..leaders.len()).for_each(|host| (how.combine)(total.bytes(), &parts.bytes()[part_of(host)]));
        }
        for member in (0..near.len()).map(|number| near.member(number)) {
            let place = packed.members[member].clone();
            let block = &total.bytes()[place.start - ours.start..place.end - ours.start];
            match member == self.rank() {
                true => mine.copy_from_slice(block),
                false => self.transfer(&round, (member, block), (member, &mut []))?,
            }
        }
        Ok(())
    }
}
