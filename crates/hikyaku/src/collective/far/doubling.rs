//! Barrier and short allreduce of a team in a number of steps that grows with the logarithm of its size.
//!
//! In step `k` of an allreduce a place exchanges all it has with the one `2^k` away, in the bits of their numbers, and both
//! combine the lower one's first: so all get the same bits, in the order of places. Few places tell each other everything in one
//! step, and each combines all for itself. Where the size is no power of two, some
//! neighbours are one place in this (Rabenseifner and Träff, EuroPVM/MPI 2004, section 3):
//!
//! ```text
//!   5 places:   0 <- 1    2    3    4         0 and 1 together are number 0; 2, 3 and 4 are 1, 2 and 3
//! ```

use super::team::Team;
use crate::collective::operation::Combination;
use crate::collective::room::{Room, Scratch};
use crate::error::Result;
use crate::planted::{Bug, planted};
use crate::sync::barrier::partner;

/// Up to so many bytes are combined on the stack.
const STACK_BYTES: usize = 1024;
/// Up to so many places, with so few bytes, tell each other everything: one step of three messages takes less than two steps.
const DIRECT_PLACES_MAX: usize = 4;

impl Team<'_> {
    /// Waits until all places have come.
    pub fn barrier(&self) -> Result<()> {
        let (place, size) = (self.place(), self.size());
        for step in 0.. {
            let Some(above) = partner(place, size, step) else { break };
            if planted(Bug::ButterflyShort) && partner(place, size, step + 1).is_none() {
                break;
            }
            self.tell(above, &[])?;
            self.hear((place + size - (1 << step)) % size, &mut [])?;
        }
        Ok(())
    }

    /// Combines the data of all places, which fit one piece; all get the result.
    pub fn combine_all(&self, data: &mut [u8], how: &Combination<'_>) -> Result<()> {
        if self.size() == 1 {
            return Ok(());
        }
        if data.len() <= STACK_BYTES {
            let [mut mine, mut theirs] = [const { Scratch([0; STACK_BYTES]) }; 2];
            let (mine, theirs) = (&mut mine.0[..data.len()], &mut theirs.0[..data.len()]);
            return match self.size() <= DIRECT_PLACES_MAX {
                true => self.combine_at_once(data, how, mine, theirs),
                false => self.double(data, how, mine, theirs),
            };
        }
        let (mut mine, mut theirs) = (Room::of(data.len()), Room::of(data.len()));
        self.double(data, how, mine.bytes(), theirs.bytes())
    }

    fn combine_at_once(
        &self,
        data: &mut [u8],
        how: &Combination<'_>,
        mine: &mut [u8],
        theirs: &mut [u8],
    ) -> Result<()> {
        let (place, size) = (self.place(), self.size());
        (1..size).try_for_each(|distance| self.tell((place + distance) % size, data))?;
        mine.copy_from_slice(data);
        for other in 0..size {
            match (other, other == place) {
                (0, true) => {}
                (0, false) => self.hear(0, data)?,
                (_, true) => (how.combine)(data, mine),
                (_, false) => {
                    self.hear(other, theirs)?;
                    (how.combine)(data, theirs);
                }
            }
        }
        Ok(())
    }

    fn double(&self, data: &mut [u8], how: &Combination<'_>, mine: &mut [u8], theirs: &mut [u8]) -> Result<()> {
        let (place, numbering) = (self.place(), Numbering::of(self.size()));
        let Some(number) = numbering.number(place) else {
            self.tell(place - 1, data)?;
            return self.hear(place - 1, data);
        };
        if numbering.is_double(number) {
            self.hear(place + 1, theirs)?;
            (how.combine)(data, theirs);
        }
        let mut distance = 1;
        while distance < numbering.count {
            let other = number ^ distance;
            self.tell(numbering.place(other), data)?;
            self.hear(numbering.place(other), theirs)?;
            if number < other {
                (how.combine)(data, theirs);
            } else {
                mine.copy_from_slice(data);
                (how.combine)(theirs, mine);
                data.copy_from_slice(theirs);
            }
            distance *= 2;
        }
        if numbering.is_double(number) { self.tell(place + 1, data) } else { Ok(()) }
    }
}

/// A power of two of numbers for places, of which the first stand for two.
struct Numbering {
    count: usize,
    doubles: usize,
}

impl Numbering {
    fn of(size: usize) -> Numbering {
        let count = 1 << size.ilog2();
        Numbering { count, doubles: size - count }
    }

    /// The number of a place; `None` for the second of two.
    fn number(&self, place: usize) -> Option<usize> {
        match place / 2 < self.doubles {
            true => place.is_multiple_of(2).then_some(place / 2),
            false => Some(place - self.doubles),
        }
    }

    fn is_double(&self, number: usize) -> bool {
        number < self.doubles
    }

    fn place(&self, number: usize) -> usize {
        if self.is_double(number) { 2 * number } else { number + self.doubles }
    }
}

#[cfg(test)]
mod tests {
    use super::Numbering;

    #[test]
    fn numbers_are_in_the_order_of_places() {
        for size in 1..70 {
            let numbering = Numbering::of(size);
            assert!(numbering.count <= size && 2 * numbering.count > size);
            let numbers: Vec<usize> = (0..size).filter_map(|place| numbering.number(place)).collect();
            assert_eq!(numbers, (0..numbering.count).collect::<Vec<_>>());
            assert!((0..numbering.count).all(|number| numbering.number(numbering.place(number)) == Some(number)));
        }
    }
}
