//! Chains of commands that incoming bytes are scattered by, and bytes that are asked for gathered.

use super::area::Area;
use super::port::Port;
use super::stride::Stride;
use crate::error::{Error, Result};
use crate::ni::reach::place::{Ground, Place};
use crate::ni::wire::command::{Command, Way};
use crate::ni::wire::pointer::{Lead, Pointer, tag_of};
use bytemuck::Pod;

/// Commands that say where in this rank's areas bytes belong that come through a pointer to them: the first bytes go to the first command
/// that writes, the next to the next one, and so on. Bytes that are asked for come from the commands that read.
///
/// Made of [`Commands`] by [`Port::chain`]. The commands are in an area of their own, so as long as this lives others can follow a
/// [`Chain::pointer`]; then they are refused.
///
/// ```
/// use hikyaku::{Commands, Register, Stride, Until};
///
/// hikyaku::local(2, |job| {
///     let flag = job.symmetric::<u64>(1)?;
///     // Incoming bytes are a header of two numbers and then a column of a matrix of 10 by 10.
///     let (head, matrix) = (job.area::<f64>(1, 2)?, job.area::<f64>(2, 100)?);
///     let chain = job.chain(3, &Commands::new().write(head.at(0), 2)?.write_blocks(matrix.at(4), Stride::new(1, 10, 10))?)?;
///     job.set_register(0, chain.pointer())?;
///     job.barrier()?;
///     if job.rank() == 0 {
///         let packed: Vec<f64> = (0..12).map(f64::from).collect();
///         job.push_indirect(Register { rank: 1, number: 0 }, &packed)?;
///         job.word(flag.at(1, 0), 1)?;
///     } else {
///         job.wait(flag.here(0), Until::Equal(1))?;
///         assert_eq!((head.get(1), matrix.get(4), matrix.get(94)), (1.0, 2.0, 11.0));
///     }
///     job.barrier()
/// })
/// .unwrap()
/// .into_iter()
/// .for_each(Result::unwrap);
/// ```
#[derive(Debug)]
pub struct Chain {
    commands: Area<Command>,
}

/// What [`Port::chain`] makes a [`Chain`] of. Each command is checked when it is added, and again when it is run: the areas it names may be
/// revoked by then.
#[derive(Clone, Debug, Default)]
pub struct Commands {
    commands: Vec<Command>,
    rank: Option<usize>,
}

impl Commands {
    /// None yet.
    pub fn new() -> Commands {
        Commands::default()
    }

    /// The next `count` elements that come are written to a place.
    pub fn write<T: Pod>(self, to: Place<'_, T>, count: usize) -> Result<Commands> {
        self.add(Way::Write, to, Stride::new(count, count, 1))
    }

    /// The next elements that come are written to blocks from a place on, which are [`Stride::there`] apart.
    pub fn write_blocks<T: Pod>(self, to: Place<'_, T>, blocks: Stride) -> Result<Commands> {
        self.add(Way::Write, to, blocks)
    }

    /// The next `count` elements that are asked for are read from a place.
    pub fn read<T: Pod>(self, from: Place<'_, T>, count: usize) -> Result<Commands> {
        self.add(Way::Read, from, Stride::new(count, count, 1))
    }

    /// The next elements that are asked for are read from blocks from a place on, which are [`Stride::there`] apart.
    pub fn read_blocks<T: Pod>(self, from: Place<'_, T>, blocks: Stride) -> Result<Commands> {
        self.add(Way::Read, from, blocks)
    }

    /// How many there are. Those that go on where the one before ends, or in the same steps, are one with it.
    pub fn len(&self) -> usize {
        self.commands.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    fn add<T: Pod>(mut self, way: Way, place: Place<'_, T>, blocks: Stride) -> Result<Commands> {
        let Ground::Area(area) = place.ground else {
            return Err(Error::Invalid("a command is about an area (Port::area, Port::register)".into()));
        };
        if self.rank.is_some_and(|rank| rank != area.rank) {
            return Err(Error::Invalid("the commands of a chain are about areas of one rank".into()));
        }
        let elements = blocks.span_there();
        if blocks.elements() == 0 {
            return Err(Error::Invalid("a command for no bytes".into()));
        }
        if place.index > place.len || elements > place.len - place.index {
            return Err(Error::OutOfBounds { index: place.index, count: elements, len: place.len });
        }
        let [block, count, distance] = blocks.parts_there().map(|number| number as u64);
        let element = size_of::<T>() as u64;
        let shape = [block * element, count, distance.saturating_mul(element)];
        let command = Command::new(way, area.id, area.key, place.index as u64 * element, shape);
        match self.commands.last_mut() {
            Some(last) if let Some(both) = last.joined(&command) => *last = both,
            _ => self.commands.push(command),
        }
        self.rank = Some(area.rank);
        Ok(self)
    }
}

impl Port {
    /// Makes a chain of commands about this rank's areas, in an area of its own, which has this `id`.
    pub fn chain(&self, id: u32, commands: &Commands) -> Result<Chain> {
        let rank = self.initiator.ni.rank;
        match commands.rank {
            None => return Err(Error::Invalid("a chain of no commands".into())),
            Some(other) if other != rank => return Err(Error::NotMine { rank: other }),
            Some(_) => {}
        }
        let linked: Vec<Command> =
            commands.commands.iter().enumerate().map(|(number, command)| command.then(number + 1)).collect();
        let area = self.area::<Command>(id, linked.len())?;
        area.write(0, &linked);
        let last = linked.len() - 1;
        area.write(last, &commands.commands[last..]);
        Ok(Chain { commands: area })
    }
}

impl Chain {
    /// What leads to its first command, in the memory or in a register of this rank.
    pub fn pointer(&self) -> Pointer {
        let lead = Lead::Chain { area: self.commands.id(), tag: tag_of(self.commands.key()), first: 0 };
        lead.pointer().expect("the first command is within reach")
    }

    /// The id of the area that it is in.
    pub fn id(&self) -> u32 {
        self.commands.id()
    }

    /// How many commands it has.
    pub fn len(&self) -> usize {
        self.commands.len()
    }

    /// Whether it has none, which cannot be.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }
}
