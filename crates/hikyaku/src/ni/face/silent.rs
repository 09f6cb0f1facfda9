//! Words of layers above, most of which no sleeper waits for: changing one wakes nobody. So a rank that sleeps in a barrier, say, is not
//! woken by what others do to words that only happen to lie in its memory. None of this looks for messages; the caller does
//! (`Initiator::tick`).

use super::atomic::elsewhere;
use super::port::Port;
use super::raw::own_word;
use crate::error::Result;
use crate::memory::atomic::{Atomic, Change};
use crate::ni::reach::place::{Place, Reach};
use std::sync::atomic::{AtomicU64, Ordering};

impl Port {
    /// Changes a word; gives its value from before.
    #[inline]
    pub(crate) fn change_silently(&self, at: Place<'_, u64>, operation: Atomic) -> Result<u64> {
        self.pause();
        match self.initiator.word_to(&at) {
            Some(word) => Ok(operation.perform(word)),
            None => elsewhere(&self.initiator, at, Change::Word(operation)),
        }
    }

    /// Reads a word, in one order with all changes of words.
    #[inline]
    pub(crate) fn read_silently(&self, at: Place<'_, u64>) -> Result<u64> {
        self.pause();
        match self.initiator.word_to(&at) {
            Some(word) => Ok(word.load(Ordering::SeqCst)),
            None => elsewhere(&self.initiator, at, Change::Word(Atomic::Or(0))),
        }
    }

    /// Writes a word, before whatever this port does next at that rank.
    #[inline]
    pub(crate) fn write_silently(&self, at: Place<'_, u64>, value: u64) -> Result<()> {
        self.pause();
        match self.initiator.word_to(&at) {
            Some(word) => {
                word.store(value, Ordering::Release);
                Ok(())
            }
            None => self.word(at, value),
        }
    }

    /// Writes a word and wakes whoever waits for it, without asking whether it arrives: for what the other side finds out by itself
    /// if it does not. No flush waits for it.
    pub(crate) fn hint(&self, at: Place<'_, u64>, value: u64) -> Result<()> {
        match self.initiator.ni.resolve(at, 1)? {
            Reach::Far(target) => self.initiator.word_quietly(target, value),
            _ => self.word(at, value),
        }
    }

    /// A word of this rank's own memory, and its name for those who wait for it.
    pub(crate) fn own_word(&self, word: Place<'_, u64>) -> Result<(&AtomicU64, u64)> {
        own_word(&self.initiator, word)
    }

    /// A simulated rank may be interrupted, or killed, between any two of them.
    #[inline(always)]
    fn pause(&self) {
        self.initiator.ni.look();
    }
}
