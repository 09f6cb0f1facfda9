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

/// The blocks that some bytes of an operation belong to, found one after the other as its chain is followed.
pub(crate) struct Walk {
    way: Way,
    /// The command that comes next; none if the chain has ended.
    next: Option<u64>,
    /// Commands that the chain can have, and how many of them have not been there yet.
    count: u64,
    left: u64,
    /// Bytes still to skip, and then bytes still to move.
    skip: u64,
    bytes: u64,
    /// A command that takes several steps, while some of its blocks are left.
    in_part: Option<Command>,
}

impl Walk {
    /// From command `first` of `count`, for bytes `skip` to `skip + bytes`.
    #[inline]
    pub fn new((first, count): (u64, u64), way: Way, (skip, bytes): (u64, u64)) -> Walk {
        Walk { way, next: Some(first), count, left: count, skip, bytes, in_part: None }
    }

    /// The next blocks, until all bytes have their places. Command `number` is read by `read`, if there is one; only those that go this way
    /// matter.
    #[inline(always)]
    pub fn next(&mut self, read: impl Fn(u64) -> Command) -> Result<Option<Run>, Refusal> {
        while self.bytes > 0 {
            if self.in_part.is_some() {
                return Ok(self.cut());
            }
            let number = self.next.ok_or(Refusal::ChainTooShort)?;
            // Out of range, or more commands than there are: the chain loops.
            if number >= self.count || self.left == 0 {
                return Err(Refusal::BadChain);
            }
            self.left -= 1;
            let command = read(number);
            self.next = command.next.checked_sub(1);
            match command.bytes_if_small(self.way) {
                Some(has) if self.skip == 0 && has <= self.bytes => {
                    self.bytes -= has;
                    return Ok(Some(command.run(0, command.block, command.count)));
                }
                _ => self.begin(&command)?,
            }
        }
        Ok(None)
    }

    /// Starts a command that has to be checked in full, or that may be moved in part.
    #[cold]
    #[inline(never)]
    fn begin(&mut self, command: &Command) -> Result<(), Refusal> {
        let has = command.bytes().ok_or(Refusal::BadChain)?;
        if command.way == self.way as u32 {
            match self.skip < has {
                true => self.in_part = Some(*command),
                false => self.skip -= has,
            }
        }
        Ok(())
    }

    /// The next blocks of the command that takes several steps.
    #[cold]
    #[inline(never)]
    fn cut(&mut self) -> Option<Run> {
        let command = self.in_part?;
        let run = command.cut(self.skip, self.bytes);
        let moved = run.block * run.count;
        (self.skip, self.bytes) = (self.skip + moved, self.bytes - moved);
        if self.skip == command.block * command.count {
            (self.skip, self.in_part) = (0, None);
        }
        Some(run)
    }
}

#[cfg(test)]
mod tests;
