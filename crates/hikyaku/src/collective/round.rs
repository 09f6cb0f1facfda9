//! One call of a member: its number, and what the member asks for.

use super::label::{Label, history};
use super::words::SLOT_COUNT;

/// One call of this member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    pub number: u64,
    pub slot: usize,
    /// What this member asks for.
    pub head: u64,
    pub argument: u64,
}

impl Round {
    /// Call `number` of a member that asked for what `history` says before.
    #[inline(always)]
    pub fn new(label: Label, number: u64, history: u16) -> Round {
        let slot = (number % SLOT_COUNT) as usize;
        Round { number, slot, head: label.head(number, history), argument: label.argument() }
    }

    /// What this member asks for, as it is compared.
    #[inline(always)]
    pub fn asks(&self) -> [u64; 2] {
        [self.head, self.argument]
    }

    /// Of what this member asks for, and asked for before.
    #[inline(always)]
    pub fn checksum(&self) -> u16 {
        history(self.head, self.argument)
    }
}
