//! Words of layers above, most of which no sleeper waits for: changing one wakes nobody. So a rank that sleeps in a barrier, say, is not
//! woken by what others do to words that only happen to lie in its memory. None of this looks for messages; the caller does
//! (`Initiator::tick`).

use super::atomic::elsewhere;
use super::port::Port;
use super::raw::{own_word, own_word_of};
use super::symmetric::Symmetric;
use crate::error::Result;
use crate::memory::atomic::{Atomic, Change};
use crate::memory::span::Span;
use crate::ni::interface::Ni;
use crate::ni::reach::place::{Place, Reach};
use crate::ni::wire::operation::Operation;
use crate::ni::wire::target::Target;
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

    /// Some words that are mapped here, for whoever changes several of them in one call: silently too, and not in a forked child.
    #[inline(always)]
    pub(crate) fn mapped_words<'a>(&'a self, at: Place<'a, u64>, count: usize) -> Option<Span<'a>> {
        self.initiator.span_to(&at, count)
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
    /// if it does not. No flush waits for it; who frees the memory does ([`Initiator::settle_hints`](crate::ni::remote::initiator::Initiator::settle_hints)).
    /// Nor does it wait for pushes before it, so to a rank whose memory is mapped here it comes from a function that combines, too.
    pub(crate) fn hint(&self, at: Place<'_, u64>, value: u64) -> Result<()> {
        let ni = &self.initiator.ni;
        if let Some(word) = self.initiator.word_to(&at) {
            self.initiator.tick();
            word.store(value, Ordering::Release);
            ni.notify(at.rank, ni.watch_of(word.as_ptr().cast()));
            return Ok(());
        }
        match ni.resolve(at, 1)? {
            Reach::Far(target) => {
                self.initiator.note_hint(target.rank);
                self.initiator.word_quietly(target, value)
            }
            _ => self.word(at, value),
        }
    }

    /// This rank comes for the `number`th time to a barrier whose words are these at `manager`
    /// ([`arrival`](crate::ni::reach::arrival)): counted here where they are mapped, else by the manager's interface, for which nobody waits.
    pub(crate) fn arrive(&self, words: &Symmetric<u64>, manager: usize, number: u64) -> Result<()> {
        let (by, ni) = (&self.initiator, &*self.initiator.ni);
        let at = Target::in_heap(manager, words.start);
        let Some(roll) = ni.roll(&at) else { return by.arrive(at, number) };
        self.pause();
        if roll.count_own(ni.rank, number, || self.pause()) {
            let tell = |operation: &Operation<'_>| {
                self.pause();
                // No handler runs meanwhile, whose panic could keep this rank from telling the rest.
                while !ni.tell(operation) {
                    ni.serve_far();
                    ni.relax();
                }
            };
            ni.release(&roll, at.offset, || self.pause(), tell);
        }
        Ok(())
    }

    /// A word of this rank's own memory, and its name for those who wait for it.
    pub(crate) fn own_word(&self, word: Place<'_, u64>) -> Result<(&AtomicU64, u64)> {
        own_word(&self.initiator, word)
    }

    /// Likewise, of whoever has the interface and no port.
    pub(crate) fn own_word_of<'p>(ni: &'p Ni, word: Place<'_, u64>) -> Result<&'p AtomicU64> {
        own_word_of(ni, word).map(|(word, _)| word)
    }

    /// A simulated rank may be interrupted, or killed, between any two of them.
    #[inline(always)]
    fn pause(&self) {
        self.initiator.ni.look();
    }
}
