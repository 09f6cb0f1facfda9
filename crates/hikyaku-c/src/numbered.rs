//! What C names by numbers: 0 names nothing, and no number is used twice.

use core_hikyaku::Error;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Values of one kind, of the init thread alone.
pub struct Numbered<T> {
    last: u64,
    values: BTreeMap<u64, Rc<T>>,
}

impl<T> Numbered<T> {
    pub const fn new() -> Numbered<T> {
        Numbered { last: 0, values: BTreeMap::new() }
    }

    /// Keeps a value; its number.
    pub fn add(&mut self, value: T) -> u64 {
        self.last += 1;
        self.values.insert(self.last, Rc::new(value));
        self.last
    }

    /// The value of a number. Whoever has it does not borrow the table: functions that run inside a call may use that.
    pub fn get(&self, number: u64) -> Option<Rc<T>> {
        self.values.get(&number).cloned()
    }

    /// Takes a value out, unless a function asks for it that runs in the middle of a call with it.
    pub fn take(&mut self, number: u64) -> Option<Result<T, Error>> {
        match Rc::try_unwrap(self.values.remove(&number)?) {
            Ok(value) => Some(Ok(value)),
            Err(used) => {
                self.values.insert(number, used);
                Some(Err(Error::InFunction))
            }
        }
    }

    /// None of them names anything any more: their job ends.
    pub fn clear(&mut self) {
        self.values.clear();
    }
}
