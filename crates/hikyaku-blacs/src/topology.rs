//! Topologies: the ways messages take through a scope.
//!
//! Everything is told by distances from the source of a broadcast, or the destination of a combine, which is at 0.
//!
//! ```text
//!   paths, here 2 for 6 processes          trees, here of 2 branches for 8 processes
//!        0 -> 1 -> 2 -> 3                       0 -> 4 -> 6 -> 7
//!        0 -> 4 -> 5                            |    `--> 5
//!   The other way round in a decreasing         |--> 2 -> 3
//!   ring, both ways in a split ring.            `--> 1
//! ```

use crate::error::{Outcome, Trouble};

/// What a letter stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Whatever is fastest: what the library's groups do.
    Default,
    /// So many paths; to lower numbers, if negative.
    Paths(i32),
    /// Every process has a path of its own.
    Star,
    /// Two paths, one to higher and one to lower numbers.
    SplitRing,
    /// Trees of so many branches, at least 2.
    Tree(usize),
    /// A hypercube: all exchange what they have, in pairs, if all want the result; a tree of 2 branches otherwise.
    Hypercube,
}

/// What a program has set, for broadcasts or for combines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Paths of topology M.
    pub rings: i32,
    /// Branches of topology T, less 1.
    pub branches: i32,
}

impl Topology {
    /// What a letter says, in either case.
    pub fn of(letter: u8, settings: Settings) -> Outcome<Topology> {
        Ok(match letter.to_ascii_lowercase() {
            b' ' => Topology::Default,
            b'i' => Topology::Paths(1),
            b'd' => Topology::Paths(-1),
            b's' => Topology::SplitRing,
            b'm' => Topology::Paths(settings.rings),
            b'f' => Topology::Star,
            b't' => Topology::Tree(settings.branches as usize + 1),
            b'h' => Topology::Hypercube,
            digit @ b'1'..=b'9' => Topology::Tree((digit - b'0') as usize + 1),
            other => return Err(Trouble::Topology(other)),
        })
    }

    /// Whether distances are counted to lower numbers.
    fn is_decreasing(self) -> bool {
        matches!(self, Topology::Paths(..0))
    }

    /// The number that is at a distance from `root`, of `size`.
    pub fn number(self, root: usize, distance: usize, size: usize) -> usize {
        let step = if self.is_decreasing() { size - distance % size } else { distance };
        (root + step) % size
    }

    /// The inverse.
    pub fn distance(self, root: usize, number: usize, size: usize) -> usize {
        if self.is_decreasing() { (size + root - number) % size } else { (size + number - root) % size }
    }

    /// From whom the process at a distance, other than 0, hears.
    pub fn parent(self, distance: usize, size: usize) -> usize {
        match self {
            Topology::Star => 0,
            Topology::Paths(paths) => {
                let begins = path_starts(paths, size).any(|start| start == distance);
                if begins { 0 } else { distance - 1 }
            }
            Topology::SplitRing if distance <= size / 2 => distance - 1,
            Topology::SplitRing => (distance + 1) % size,
            Topology::Tree(branches) => parent_in_tree(branches, distance),
            Topology::Default | Topology::Hypercube => parent_in_tree(2, distance),
        }
    }

    /// To whom the process at a distance tells, the farthest first: behind it is the most to be done.
    pub fn children(self, distance: usize, size: usize) -> Vec<usize> {
        (1..size).rev().filter(|child| self.parent(*child, size) == distance).collect()
    }
}

/// Where each of so many paths begins: the first ones are longer by one if they cannot all be equal.
fn path_starts(paths: i32, size: usize) -> impl Iterator<Item = usize> {
    let others = size - 1;
    let paths = (paths.unsigned_abs() as usize).clamp(1, others.max(1));
    let (length, longer) = (others / paths, others % paths);
    (0..paths).map(move |path| 1 + path * length + path.min(longer))
}

/// The distance without its last digit that is not 0, in a system of as many digits as there are branches.
fn parent_in_tree(branches: usize, distance: usize) -> usize {
    let mut place = 1;
    while distance.is_multiple_of(place * branches) {
        place *= branches;
    }
    distance - distance % (place * branches)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parents(topology: Topology, size: usize) -> Vec<usize> {
        (1..size).map(|distance| topology.parent(distance, size)).collect()
    }

    #[test]
    fn shapes() {
        assert_eq!(parents(Topology::Paths(1), 5), [0, 1, 2, 3]);
        assert_eq!(parents(Topology::Paths(2), 6), [0, 1, 2, 0, 4]);
        assert_eq!(parents(Topology::Paths(-9), 4), [0, 0, 0]);
        assert_eq!(parents(Topology::Star, 4), [0, 0, 0]);
        assert_eq!(parents(Topology::SplitRing, 6), [0, 1, 2, 5, 0]);
        assert_eq!(parents(Topology::SplitRing, 2), [0]);
        assert_eq!(parents(Topology::Tree(2), 8), [0, 0, 2, 0, 4, 4, 6]);
        assert_eq!(parents(Topology::Tree(3), 8), [0, 0, 0, 3, 3, 0, 6]);
        assert_eq!(Topology::Tree(2).children(0, 8), [4, 2, 1]);
    }

    #[test]
    fn everybody_hears_once_and_no_circle_closes() {
        let mut all: Vec<Topology> = (-4..=4).map(Topology::Paths).chain((2..=10).map(Topology::Tree)).collect();
        all.extend([Topology::Star, Topology::SplitRing, Topology::Hypercube]);
        for topology in all {
            for size in 1..20 {
                for root in 0..size {
                    for distance in 0..size {
                        assert_eq!(topology.distance(root, topology.number(root, distance, size), size), distance);
                    }
                }
                for distance in 1..size {
                    let mut steps = 0;
                    let mut at = distance;
                    while at != 0 {
                        assert!(topology.children(topology.parent(at, size), size).contains(&at));
                        at = topology.parent(at, size);
                        steps += 1;
                        assert!(steps < size, "{topology:?} {size}");
                    }
                }
            }
        }
    }

    #[test]
    fn letters() {
        let settings = Settings { rings: 3, branches: 4 };
        let of = |letter| Topology::of(letter, settings).ok();
        assert_eq!(of(b'T'), Some(Topology::Tree(5)));
        assert_eq!(of(b'm'), Some(Topology::Paths(3)));
        assert_eq!(of(b'1'), Some(Topology::Tree(2)));
        assert_eq!((of(b'0'), of(b'x'), of(0)), (None, None, None));
    }
}
