//! Numbers that stand for things, in C and Fortran alike: place (20 bits) and how often the place was used before (11
//! bits), so that the number of a thing that is gone names nothing.

use std::ffi::c_int;

const PLACE_BITS: u32 = 20;
const PLACE_MASK: c_int = (1 << PLACE_BITS) - 1;
/// After so many uses of a place its numbers begin anew.
const USES: c_int = 1 << 10;

/// Things by number.
pub struct Table<T> {
    places: Vec<Place<T>>,
}

struct Place<T> {
    number: c_int,
    thing: Option<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { places: Vec::new() }
    }
}

impl<T> Table<T> {
    /// The thing of a number.
    #[inline(always)]
    pub fn get(&self, number: c_int) -> Option<&T> {
        let place = self.places.get((number & PLACE_MASK) as usize).filter(|place| place.number == number)?;
        place.thing.as_ref()
    }

    /// Enters a thing; gives its number, unless the table is full.
    pub fn add(&mut self, thing: T) -> Option<c_int> {
        let free = self.places.iter().position(|place| place.thing.is_none());
        let index = free.unwrap_or(self.places.len());
        if index > PLACE_MASK as usize {
            return None;
        }
        if free.is_none() {
            self.places.push(Place { number: index as c_int, thing: None });
        }
        let place = &mut self.places[index];
        place.thing = Some(thing);
        Some(place.number)
    }

    /// Whether nothing can be entered.
    pub fn is_full(&self) -> bool {
        self.places.len() > PLACE_MASK as usize && self.places.iter().all(|place| place.thing.is_some())
    }

    /// Takes a thing out.
    pub fn remove(&mut self, number: c_int) -> Option<T> {
        self.get(number)?;
        let place = &mut self.places[(number & PLACE_MASK) as usize];
        let uses = (place.number >> PLACE_BITS) + 1;
        place.number = (uses % USES) << PLACE_BITS | number & PLACE_MASK;
        place.thing.take()
    }

    /// All things, in the order of their places.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|place| place.thing.as_ref())
    }

    /// The same, taken out.
    pub fn into_all(self) -> impl DoubleEndedIterator<Item = T> {
        self.places.into_iter().filter_map(|place| place.thing)
    }
}
