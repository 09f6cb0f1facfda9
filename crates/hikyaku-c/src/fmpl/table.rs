//! Numbers that stand for things, in C and Fortran alike: place (20 bits) and how often the place was used before (11
//! bits), so that the number of a thing that is gone names nothing.

use core_hikyaku::Group;
use core_hikyaku::collective::Max;
use std::ffi::c_int;

/// Bits of a place, unless a test needs fewer.
const USUAL_BITS: u32 = 20;
/// After so many uses of a place its numbers begin anew.
const USES: c_int = 1 << 10;

/// Things by number.
pub struct Table<T, const PLACE_BITS: u32 = USUAL_BITS> {
    places: Vec<Place<T>>,
    /// Things entered so far.
    entered: u64,
}

struct Place<T> {
    number: c_int,
    /// How many things had been entered when this one was.
    turn: u64,
    thing: Option<T>,
}

impl<T, const PLACE_BITS: u32> Default for Table<T, PLACE_BITS> {
    fn default() -> Self {
        Table { places: Vec::new(), entered: 0 }
    }
}

impl<T, const PLACE_BITS: u32> Table<T, PLACE_BITS> {
    const PLACE_MASK: c_int = (1 << PLACE_BITS) - 1;

    /// The thing of a number.
    #[inline(always)]
    pub fn get(&self, number: c_int) -> Option<&T> {
        let place = self.places.get((number & Self::PLACE_MASK) as usize).filter(|place| place.number == number)?;
        place.thing.as_ref()
    }

    /// Enters a thing; gives its number, unless the table is full.
    pub fn add(&mut self, thing: T) -> Option<c_int> {
        let free = self.places.iter().position(|place| place.thing.is_none());
        let index = free.unwrap_or(self.places.len());
        if index > Self::PLACE_MASK as usize {
            return None;
        }
        if free.is_none() {
            self.places.push(Place { number: index as c_int, turn: 0, thing: None });
        }
        let place = &mut self.places[index];
        place.thing = Some(thing);
        self.entered += 1;
        place.turn = self.entered;
        Some(place.number)
    }

    /// Whether nothing can be entered.
    pub fn is_full(&self) -> bool {
        self.places.len() > Self::PLACE_MASK as usize && self.places.iter().all(|place| place.thing.is_some())
    }

    /// Takes a thing out.
    pub fn remove(&mut self, number: c_int) -> Option<T> {
        self.get(number)?;
        let place = &mut self.places[(number & Self::PLACE_MASK) as usize];
        let uses = (place.number >> PLACE_BITS) + 1;
        place.number = (uses % USES) << PLACE_BITS | number & Self::PLACE_MASK;
        place.thing.take()
    }

    /// All things, in the order of their places.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|place| place.thing.as_ref())
    }

    /// All things, in the order of their places, to change them.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.places.iter_mut().filter_map(|place| place.thing.as_mut())
    }

    /// All things, taken out in the order they were entered: places are used again, so theirs need not be that of other ranks.
    pub fn into_all(mut self) -> impl DoubleEndedIterator<Item = T> {
        self.places.sort_by_key(|place| place.turn);
        self.places.into_iter().filter_map(|place| place.thing)
    }
}

/// The first member of a new group whose table is full, as all its members say together: nobody may enter a group that another
/// cannot.
pub fn who_is_full(group: &Group<'_>, is_full: bool) -> core_hikyaku::Result<Option<usize>> {
    // The first one has the greatest number.
    let mut told = [if is_full { group.size() - group.rank() } else { 0 } as u64];
    group.allreduce(&mut told, Max)?;
    Ok(group.size().checked_sub(told[0] as usize).filter(|member| *member < group.size()))
}
