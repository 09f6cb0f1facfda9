//! Which members are on which host, and the teams that follow from it.
//!
//! ```text
//!   members   0 1 2 3 4 5 6      hosts   a b a b a b a
//!   order     0 2 4 6 | 1 3 5            leaders 0 1       the first of each host
//!   peers of 2 and 3: 2 3                                  those of the same number on every host
//! ```
//! As many numbers as every host has members have peers on all hosts: those members can carry a share each.

use super::branch::Branch;
use super::list::List;
use crate::ni::Ni;
use std::collections::HashMap;

/// See above, as seen by one member.
pub(super) struct Hosts {
    /// All members, those of a host beside each other; hosts in the order of their first members.
    order: Vec<u32>,
    /// Where each host begins there, and the end.
    starts: Vec<u32>,
    leaders: Vec<u32>,
    /// The members of this one's number on their hosts; empty if some host has none.
    peers: Vec<u32>,
    /// This member's host, and its number there.
    here: usize,
    number: usize,
    carriers: usize,
    /// The members in the order of their hosts are in the order of their numbers.
    pub in_order: bool,
    /// From the leader of this host to its members.
    pub branch: Branch,
}

impl Hosts {
    /// Of members with these ranks in the job, of which this one is number `me`.
    pub fn new(ni: &Ni, ranks: impl Iterator<Item = usize>, me: usize) -> Hosts {
        Hosts::over(ranks.map(|rank| ni.routes.to(rank).host), me)
    }

    fn over(hosts: impl Iterator<Item = u32>, me: usize) -> Hosts {
        let (mut known, mut members) = (HashMap::new(), Vec::<Vec<u32>>::new());
        for (member, host) in hosts.enumerate() {
            let index = *known.entry(host).or_insert(members.len());
            if index == members.len() {
                members.push(Vec::new());
            }
            members[index].push(member as u32);
        }
        let find = |list: &Vec<u32>| list.iter().position(|member| *member as usize == me);
        let place = members.iter().enumerate().find_map(|(host, list)| Some((host, find(list)?)));
        let (here, number) = place.expect("this rank is a member");
        let carriers = members.iter().map(Vec::len).min().unwrap_or(1);
        let of_number = |number: usize| members.iter().map(|list| list[number]).collect::<Vec<u32>>();
        let order = members.concat();
        let mut starts = vec![0];
        starts.extend(members.iter().scan(0, |end, list| {
            *end += list.len() as u32;
            Some(*end)
        }));
        Hosts {
            leaders: of_number(0),
            peers: if number < carriers { of_number(number) } else { Vec::new() },
            here,
            number,
            carriers,
            in_order: order.iter().enumerate().all(|(place, member)| place == *member as usize),
            branch: Branch::near(List::of(&members[here], number), 0),
            order,
            starts,
        }
    }

    fn of(&self, host: usize) -> &[u32] {
        &self.order[self.starts[host] as usize..self.starts[host + 1] as usize]
    }
}

/// How a call sees the members: by their hosts, or each as if it were alone on one.
#[derive(Clone, Copy)]
pub(super) enum View<'f> {
    Hosts(&'f Hosts),
    Flat { me: usize, size: usize },
}

impl<'f> View<'f> {
    /// The members of this one's host.
    pub fn near(self) -> List<'f> {
        match self {
            View::Hosts(hosts) => List::of(hosts.of(hosts.here), hosts.number),
            View::Flat { me, .. } => List::range(me, 1, 0),
        }
    }

    /// The first of each host; this member's place among them is that of its host.
    pub fn leaders(self) -> List<'f> {
        match self {
            View::Hosts(hosts) => List::of(&hosts.leaders, hosts.here),
            View::Flat { me, size } => List::range(0, size, me),
        }
    }

    /// The members of this one's number on all hosts, if there are such.
    pub fn peers(self) -> Option<List<'f>> {
        match self {
            View::Hosts(hosts) => (!hosts.peers.is_empty()).then(|| List::of(&hosts.peers, hosts.here)),
            View::Flat { .. } => Some(self.leaders()),
        }
    }

    /// How many members of each host can carry a share.
    pub fn carriers(self) -> usize {
        match self {
            View::Hosts(hosts) => hosts.carriers,
            View::Flat { .. } => 1,
        }
    }

    pub fn host_count(self) -> usize {
        self.leaders().len()
    }

    pub fn leads(self) -> bool {
        self.near().place == 0
    }

    /// How many members a host has.
    pub fn count_on(self, host: usize) -> usize {
        match self {
            View::Hosts(hosts) => hosts.of(host).len(),
            View::Flat { .. } => 1,
        }
    }

    /// The member with a number on a host.
    pub fn member(self, host: usize, number: usize) -> usize {
        match self {
            View::Hosts(hosts) => hosts.of(host)[number] as usize,
            View::Flat { .. } => host,
        }
    }

    /// The host of a member.
    pub fn host_of(self, member: usize) -> usize {
        match self {
            View::Hosts(hosts) => {
                let place = match hosts.in_order {
                    true => member as u32,
                    false => hosts.order.iter().position(|of| *of as usize == member).expect("a member") as u32,
                };
                hosts.starts.partition_point(|start| *start <= place) - 1
            }
            View::Flat { .. } => member,
        }
    }

    /// A tree of all members, of which `root` is the first.
    pub fn branch(self, root: usize) -> Branch {
        let (leaders, near) = (self.leaders(), self.near());
        let home = self.host_of(root);
        // For its host, the root is the leader.
        let head = if leaders.place == home { root } else { leaders.member(leaders.place) };
        let is_head = |place: &usize| near.member(*place) == head;
        let head_place = (0..near.len()).find(is_head).expect("on this host");
        let below = Branch::near(near, head_place);
        if near.place != head_place {
            return below;
        }
        let far = Branch::binomial(leaders.len(), leaders.place, home, |place| match place == home {
            true => root,
            false => leaders.member(place),
        });
        Branch { parent: far.parent, children: [far.children, below.children].concat() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_hosts_in_mixed_order_are_found() {
        let hosts = Hosts::over([7, 3, 7, 3, 7, 3, 7].into_iter(), 3);
        assert!(!hosts.in_order);
        let view = View::Hosts(&hosts);
        let all = |list: List<'_>| (0..list.len()).map(|place| list.member(place)).collect::<Vec<_>>();
        assert_eq!((all(view.near()), view.near().place), (vec![1, 3, 5], 1));
        assert_eq!((all(view.leaders()), view.leaders().place), (vec![0, 1], 1));
        assert_eq!(view.peers().map(all), Some(vec![2, 3]));
        assert_eq!((view.carriers(), view.host_count(), view.count_on(0)), (3, 2, 4));
        assert_eq!((0..7).map(|member| view.host_of(member)).collect::<Vec<_>>(), [0, 1, 0, 1, 0, 1, 0]);
        assert!(View::Hosts(&Hosts::over([7, 3, 7, 3, 7, 3, 7].into_iter(), 6)).peers().is_none());
        assert!(Hosts::over([5, 5, 2, 2, 9].into_iter(), 4).in_order);
    }

    /// Everyone has one parent that knows of it, and all lead to the root.
    #[test]
    fn all_members_hang_on_the_root() {
        for (size, root) in (1..20).flat_map(|size| [0, size / 2, size - 1].map(|root| (size, root))) {
            let branches: Vec<Branch> = (0..size).map(|me| View::Flat { me, size }.branch(root)).collect();
            for (me, branch) in branches.iter().enumerate() {
                assert_eq!(branch.parent.is_none(), me == root);
                assert!(branch.parent.is_none_or(|parent| branches[parent].children.contains(&me)));
                assert!(branch.children.iter().all(|child| branches[*child].parent == Some(me)));
            }
        }
    }
}
