//! Long reductions over hosts: everyone combines a share, and carries it between the hosts.
//!
//! ```text
//!   host a         host b
//!   0: AB--        2: AB--      1. on each host: share A of all to its first member, share B to its second, and so on
//!   1: AB--        3: AB--      2. between hosts: those who have the same share cut it again, one part for each host
//!   0: A <-> 2: A               3. and back: the parts to all that have the share,
//!   1: B <-> 3: B               4. the shares to all members of the host
//! ```
//! Each host sends and receives `2 (h - 1) / h` times the data, which is the least there is (reduce-scatter and allgather),
//! whatever the number of hosts. Two things were weighed against it:
//!
//! * A ring sends as much, but in `2 (h - 1)` steps that wait for each other, and combines each part in another order. Here all
//!   go to all at once, and whoever has all contributions combines them in the order of places.
//! * One leader per host carries all: fewer messages, but one core of a host then combines, copies and sends everything while
//!   the others wait. With shares every member's core and interface work.
//!
//! Hosts may have different numbers of members: there are as many shares as the smallest has. Hosts of one member each have
//! one, and steps 2 and 3 alone.

use super::group::FarGroup;
use super::hosts::View;
use super::team::Team;
use crate::collective::operation::Combination;
use crate::collective::room::{ALIGN, Room};
use crate::collective::round::Round;
use crate::error::Result;
use std::ops::Range;

/// Bytes that are combined at a time: they stay in the nearest cache.
const BLOCK_BYTES: usize = 16 * 1024;

/// Elements in parts of about the same size.
#[derive(Clone)]
struct Cut {
    bytes: Range<usize>,
    element: usize,
    parts: usize,
}

impl Cut {
    /// A part; those behind the last are empty.
    fn part(&self, index: usize) -> Range<usize> {
        let elements = self.bytes.len() / self.element;
        let start = |index: usize| self.bytes.start + index.min(self.parts) * elements / self.parts * self.element;
        start(index)..start(index + 1)
    }

    /// One of the parts, cut again.
    fn again(&self, index: usize, parts: usize) -> Cut {
        Cut { bytes: self.part(index), element: self.element, parts }
    }
}

/// How the data are cut for a view: a share for each carrier of a host.
fn shares(view: View<'_>, bytes: usize, element: usize) -> Cut {
    Cut { bytes: 0..bytes, element, parts: view.carriers() }
}

impl FarGroup<'_, '_> {
    /// All get the result.
    pub(super) fn allreduce_shares(
        self,
        round: &Round,
        view: View<'_>,
        data: &mut [u8],
        how: &Combination<'_>,
    ) -> Result<()> {
        self.combine_shares_far(round, view, data, how)?;
        let cut = shares(view, data.len(), how.element);
        if let Some(list) = view.peers() {
            let peers = Team { group: self, round, list };
            peers.collect(data, &cut.again(view.near().place, list.len()))?;
        }
        Team { group: self, round, list: view.near() }.collect(data, &cut)
    }

    /// Only `root` gets the result; the data of the others are what is left of theirs.
    pub(super) fn reduce_shares(
        self,
        round: &Round,
        view: View<'_>,
        data: &mut [u8],
        how: &Combination<'_>,
        root: usize,
    ) -> Result<()> {
        self.combine_shares_far(round, view, data, how)?;
        let (cut, hosts) = (shares(view, data.len(), how.element), view.host_count());
        let part = |host: usize, number: usize| cut.again(number, hosts).part(host);
        if self.rank() != root {
            let number = view.near().place;
            let mine = if number < view.carriers() { part(view.leaders().place, number) } else { 0..0 };
            return self.transfer(round, (root, &data[mine]), (root, &mut []));
        }
        let owners = (0..hosts).flat_map(|host| (0..view.carriers()).map(move |number| (host, number)));
        for (host, number) in owners.filter(|(host, number)| view.member(*host, *number) != root) {
            self.transfer(round, (root, &[]), (view.member(host, number), &mut data[part(host, number)]))?;
        }
        Ok(())
    }

    /// Afterwards each carrier has the result of its part of its share.
    fn combine_shares_far(self, round: &Round, view: View<'_>, data: &mut [u8], how: &Combination<'_>) -> Result<()> {
        let cut = shares(view, data.len(), how.element);
        Team { group: self, round, list: view.near() }.combine_parts(data, &cut, how)?;
        match view.peers() {
            None => Ok(()),
            Some(list) => {
                let cut = cut.again(view.near().place, list.len());
                Team { group: self, round, list }.combine_parts(data, &cut, how)
            }
        }
    }
}

impl Team<'_> {
    /// Each place combines its part of the data of all, in their order.
    fn combine_parts(&self, data: &mut [u8], cut: &Cut, how: &Combination<'_>) -> Result<()> {
        if self.size() == 1 {
            return Ok(());
        }
        let mine = cut.part(self.place());
        // What the others give, each at a place that is aligned.
        let stride = mine.len().next_multiple_of(ALIGN);
        let mut theirs = Room::of(stride * self.size());
        let place_of = |place: usize| place * stride..place * stride + mine.len();
        self.trade(data, |place| cut.part(place), theirs.bytes(), place_of)?;
        let theirs = theirs.bytes();
        theirs[place_of(self.place())].copy_from_slice(&data[mine.clone()]);
        // Whole elements, at multiples of the alignment.
        let unit = how.element << (ALIGN.ilog2().saturating_sub(how.element.trailing_zeros()));
        let block = (BLOCK_BYTES / unit).max(1) * unit;
        for start in (0..mine.len()).step_by(block) {
            let end = (start + block).min(mine.len());
            let total = &mut data[mine.start + start..mine.start + end];
            total.copy_from_slice(&theirs[start..end]);
            for place in 1..self.size() {
                (how.combine)(total, &theirs[place * stride + start..place * stride + end]);
            }
        }
        Ok(())
    }

    /// Each place gives its part to all.
    fn collect(&self, data: &mut [u8], cut: &Cut) -> Result<()> {
        if self.size() == 1 {
            return Ok(());
        }
        let mine = data[cut.part(self.place())].to_vec();
        self.trade(&mine, |_| 0..mine.len(), data, |place| cut.part(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_parts_cover_all_elements_once() {
        for (elements, element, carriers, hosts) in [(100, 8, 3, 4), (5, 24, 4, 3), (1, 1, 1, 2), (0, 8, 2, 2)] {
            let cut = Cut { bytes: 0..elements * element, element, parts: carriers };
            let mut next = 0;
            for number in 0..carriers + 2 {
                let share = cut.part(number);
                assert!(number < carriers || share.is_empty());
                for host in 0..hosts {
                    let part = cut.again(number, hosts).part(host);
                    assert_eq!(part.start, next);
                    assert!(part.len().is_multiple_of(element));
                    next = part.end;
                }
            }
            assert_eq!(next, elements * element);
        }
    }
}
