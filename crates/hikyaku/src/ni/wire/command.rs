//! Chains of commands at a receiver, which say where in its memory incoming bytes belong, or which bytes are asked for.
//!
//! A chain is memory of its owner, but anybody may have written there. So a command is copied before it is looked at, nothing in it is
//! believed, and no command is run twice for one operation: a chain that loops ends with an error after as many commands as there can be.

use crate::error::Refusal;
use bytemuck::{Pod, Zeroable};

/// A command: blocks of an area of its owner. One cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(64))]
pub(crate) struct Command {
    /// [`Way`], as a number.
    way: u32,
    area: u32,
    /// The area's key.
    key: u64,
    /// Of the first block, in bytes.
    offset: u64,
    /// Bytes of a block.
    block: u64,
    count: u64,
    /// From the begin of a block to that of the next.
    distance: u64,
    /// The number of the next command and one; 0 for the last.
    next: u64,
    spare: u64,
}

/// Which operations a command is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Way {
    /// Bytes that come are written there.
    Write = 1,
    /// Bytes that are asked for are read there.
    Read = 2,
}

/// Blocks of an area that some bytes of an operation go to, or come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub area: u32,
    pub key: Key,
    pub offset: u64,
    pub block: u64,
    pub count: u64,
    pub distance: u64,
}

/// How much is known of the key of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Whole(u64),
    /// [`tag_of`](super::pointer::tag_of) it.
    Tag(u64),
}

impl Run {
    /// From its first byte to its last; `None` if that cannot be counted.
    pub fn span(&self) -> Option<u64> {
        self.count.saturating_sub(1).checked_mul(self.distance)?.checked_add(self.block)
    }
}

impl Command {
    /// A command for blocks, which is the last one of its chain.
    pub fn new(way: Way, area: u32, key: u64, offset: u64, [block, count, distance]: [u64; 3]) -> Command {
        Command { way: way as u32, area, key, offset, block, count, distance, next: 0, spare: 0 }
    }

    /// The same, followed by command `next`.
    pub fn then(self, next: usize) -> Command {
        Command { next: next as u64 + 1, ..self }
    }

    /// One command for what this one and then `next` are for, if `next` goes on where this one ends or in the same steps.
    pub fn joined(&self, next: &Command) -> Option<Command> {
        if (self.way, self.area, self.key) != (next.way, next.area, next.key) {
            return None;
        }
        let step = next.offset.checked_sub(self.offset)?;
        match (self.count, next.count) {
            (1, 1) if step == self.block => Some(Command { block: step.checked_add(next.block)?, ..*self }),
            _ if self.block != next.block => None,
            // From here on by the step that the two have made, as long as no block is on another.
            (1, 1) if step > self.block => Some(Command { count: 2, distance: step, ..*self }),
            (count, 1) if self.distance >= self.block && self.distance.checked_mul(count) == Some(step) => {
                Some(Command { count: count + 1, ..*self })
            }
            _ => None,
        }
    }

    /// How many bytes it is for; `None` if it is no command.
    fn bytes(&self) -> Option<u64> {
        let known = self.way == Way::Write as u32 || self.way == Way::Read as u32;
        let bytes = self.block.checked_mul(self.count).filter(|bytes| known && *bytes > 0)?;
        self.offset.checked_add(self.run(0, self.block, self.count).span()?).map(|_| bytes)
    }

    /// [`Command::bytes`] of one that goes this way, and whose numbers are so small that nothing has to be checked; `None` for others.
    #[inline(always)]
    fn bytes_if_small(&self, way: Way) -> Option<u64> {
        let are_small = (self.offset | self.block | self.count | self.distance) >> 31 == 0;
        let bytes = self.block.wrapping_mul(self.count);
        (self.way == way as u32 && are_small && bytes > 0).then_some(bytes)
    }

    /// `count` blocks of `block` bytes that begin `offset` bytes behind its first.
    fn run(&self, offset: u64, block: u64, count: u64) -> Run {
        let Command { area, key, distance, .. } = *self;
        Run { area, key: Key::Whole(key), offset: self.offset + offset, block, count, distance }
    }

    /// The first blocks of those that bytes from `skip` on go to, at most `bytes`: the rest of one, whole ones, or the begin of one.
    fn cut(&self, skip: u64, bytes: u64) -> Run {
        let (number, inside) = (skip / self.block, skip % self.block);
        let (at, whole) = (number * self.distance + inside, bytes / self.block);
        match inside == 0 && whole > 0 {
            true => self.run(at, self.block, whole.min(self.count - number)),
            false => self.run(at, bytes.min(self.block - inside), 1),
        }
    }
}

/// Calls `each` with the blocks that bytes `skip` to `skip + bytes` of an operation belong to, in their order, until one fails. Command
/// `number` is read by `read`, if it is less than `count`; only those that go this way matter.
#[inline]
pub(crate) fn walk<E: From<Refusal>>(
    (first, count): (u64, u64),
    way: Way,
    (mut skip, mut bytes): (u64, u64),
    mut read: impl FnMut(u64) -> Command,
    mut each: impl FnMut(Run) -> Result<(), E>,
) -> Result<(), E> {
    let mut next = first;
    for _ in 0..count {
        if bytes == 0 {
            return Ok(());
        }
        if next >= count {
            return Err(Refusal::BadChain.into());
        }
        let command = read(next);
        match command.bytes_if_small(way) {
            Some(has) if skip == 0 && has <= bytes => {
                each(command.run(0, command.block, command.count))?;
                bytes -= has;
            }
            _ => (skip, bytes) = walk_in_part(&command, way, (skip, bytes), &mut each)?,
        }
        next = match command.next.checked_sub(1) {
            Some(next) => next,
            None if bytes > 0 => return Err(Refusal::ChainTooShort.into()),
            None => return Ok(()),
        };
    }
    // Each was there once, and there is more: it loops.
    if bytes == 0 { Ok(()) } else { Err(Refusal::BadChain.into()) }
}

/// [`walk`] of one command of any kind; gives what is left.
#[cold]
fn walk_in_part<E: From<Refusal>>(
    command: &Command,
    way: Way,
    (mut skip, mut bytes): (u64, u64),
    each: &mut impl FnMut(Run) -> Result<(), E>,
) -> Result<(u64, u64), E> {
    let has = command.bytes().ok_or(Refusal::BadChain)?;
    if command.way == way as u32 {
        while bytes > 0 && skip < has {
            let run = command.cut(skip, bytes);
            each(run)?;
            (skip, bytes) = (skip + run.block * run.count, bytes - run.block * run.count);
        }
        skip -= has.min(skip);
    }
    Ok((skip, bytes))
}

#[cfg(test)]
mod tests;
