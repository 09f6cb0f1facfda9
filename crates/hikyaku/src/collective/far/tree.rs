//! Trees of messages over the hosts: a binomial tree of one member per host, and on each host its members below that one.
//!
//! ```text
//!   host a:  0 <- 2, 4, 6          reductions go up, members of a host first, neighbours first
//!            ^
//!   host b:  1 <- 3, 5             broadcasts go down, to the farthest first, which has the most to pass on
//! ```
//! Data go in pieces of a short message, in several slots in turn, so that pieces follow each other through the tree. Long
//! broadcasts go straight from buffer to buffer, see `long`.

use super::super::group::Group;
use super::super::reduce::Combination;
use super::super::room::Room;
use super::super::round::Round;
use super::super::tree::{lowest, steps};
use super::PIECE_BYTES;
use super::hosts::View;
use super::long::is_long;
use super::team::List;
use crate::error::Result;

/// Up to so many members of a host are told by one: a message costs less than another step does.
const FAN_MAX: usize = 8;

/// What one member of a tree talks to.
#[derive(Default)]
pub(super) struct Branch {
    pub parent: Option<usize>,
    /// The farthest first.
    pub children: Vec<usize>,
}

impl Branch {
    /// A tree of all members of a host; the one at place `head` is the first.
    pub fn near(list: List<'_>, head: usize) -> Branch {
        if list.len() > FAN_MAX {
            return Branch::binomial(list.len(), list.place, head, |place| list.member(place));
        }
        let others = || (1..list.len()).rev().map(|distance| list.member((head + distance) % list.len()));
        match list.place == head {
            true => Branch { parent: None, children: others().collect() },
            false => Branch { parent: Some(list.member(head)), children: Vec::new() },
        }
    }

    fn binomial(size: usize, place: usize, first: usize, member: impl Fn(usize) -> usize) -> Branch {
        // The tree of the first one, turned.
        let place = (place + size - first) % size;
        let at = |place: usize| member((place + first) % size);
        Branch {
            parent: (place > 0).then(|| at(place - lowest(place, size))),
            children: steps(place, size).map(|step| at(place + step)).collect(),
        }
    }

    /// A tree of all members, of which `root` is the first.
    pub fn over(view: View<'_>, root: usize) -> Branch {
        let (leaders, near) = (view.leaders(), view.near());
        let home = view.host_of(root);
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

impl Group<'_> {
    /// Combines what the members below have with the own data, in their order, and passes it on.
    pub(super) fn pass_up(&self, round: &Round, branch: &Branch, data: &mut [u8], how: &Combination<'_>) -> Result<()> {
        let step = PIECE_BYTES / how.element * how.element;
        let mut input = Room::of(if branch.children.is_empty() { 0 } else { data.len().min(step) });
        each_piece(data, step, |index, piece| {
            for child in branch.children.iter().rev() {
                let input = &mut input.bytes()[..piece.len()];
                self.hear(round, *child, index, input)?;
                (how.combine)(piece, input);
            }
            branch.parent.map_or(Ok(()), |parent| self.tell(round, parent, index, piece))
        })
    }

    /// Passes the data of the first member on to all.
    pub(super) fn pass_down(&self, round: &Round, branch: &Branch, data: &mut [u8]) -> Result<()> {
        if is_long(data.len()) {
            return self.pass_down_long(round, branch, data);
        }
        each_piece(data, PIECE_BYTES, |index, piece| {
            branch.parent.map_or(Ok(()), |parent| self.hear(round, parent, index, piece))?;
            branch.children.iter().try_for_each(|child| self.tell(round, *child, index, piece))
        })
    }
}

/// Each piece and its number: one, though empty, if there are no data.
fn each_piece(data: &mut [u8], bytes: usize, mut each: impl FnMut(usize, &mut [u8]) -> Result<()>) -> Result<()> {
    if data.len() <= bytes {
        return each(0, data);
    }
    data.chunks_mut(bytes).enumerate().try_for_each(|(index, piece)| each(index, piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everyone has one parent that knows of it, and all lead to the root.
    #[test]
    fn all_members_hang_on_the_root() {
        for (size, root) in (1..20).flat_map(|size| [0, size / 2, size - 1].map(|root| (size, root))) {
            let branches: Vec<Branch> = (0..size).map(|me| Branch::over(View::Flat { me, size }, root)).collect();
            for (me, branch) in branches.iter().enumerate() {
                assert_eq!(branch.parent.is_none(), me == root);
                assert!(branch.parent.is_none_or(|parent| branches[parent].children.contains(&me)));
                assert!(branch.children.iter().all(|child| branches[*child].parent == Some(me)));
            }
        }
    }
}
