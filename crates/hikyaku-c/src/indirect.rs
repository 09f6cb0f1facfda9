//! Operations through pointers, registers and chains. The header has the full description of each.

use crate::area::insert_chain;
use crate::entry::with_port;
use crate::error::Failure;
use crate::given::{In, Out, Source, Target, exported};
use crate::handle::Handle;
use core_hikyaku::{Commands, Pointer, Register, Stride, Through};
use std::ffi::c_int;

/// `hk_command`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CCommand {
    way: c_int,
    area: Handle,
    offset: usize,
    block: usize,
    count: usize,
    distance: usize,
}

/// `HK_WRITE` and `HK_READ`.
const WRITE: c_int = 1;
const READ: c_int = 2;

impl CCommand {
    fn add(self, port_rank: usize, commands: Commands) -> Result<Commands, Failure> {
        let CCommand { way, area, offset, block, count, distance } = self;
        let blocks = Stride::new(block, distance, count);
        area.with_bytes(port_rank, offset, |at| match way {
            WRITE => Ok(commands.write_blocks(at, blocks)?),
            READ => Ok(commands.read_blocks(at, blocks)?),
            _ => Err(Failure::Choice { what: "way of a command", value: way.into() }),
        })
    }
}

fn register(rank: c_int, number: c_int) -> Register {
    Register { rank: rank as usize, number: number as usize }
}

exported! {
    /// A pointer to a byte of an area.
    pub fn hk_pointer_to(rank: c_int, area: Handle, offset: usize, out: Out<'_, u64>) -> c_int {
        with_port(|_| {
            out.required("the pointer to be given")?;
            out.give(area.with_bytes(rank as usize, offset, |at| Ok(Pointer::to(at)?.word()))?);
            Ok(())
        })
    }

    /// Remote write to where a pointer leads.
    pub fn hk_push_indirect(my_addr: Source<'_>, rank: c_int, area: Handle, offset: usize, size: usize) -> c_int {
        with_port(|port| {
            area.with_word(rank as usize, offset, |at| my_addr.push_through(port, Through::Place(at.cast()?), size))
        })
    }

    /// Remote read from where a pointer leads.
    pub fn hk_pull_indirect(my_addr: Target<'_>, rank: c_int, area: Handle, offset: usize, size: usize) -> c_int {
        with_port(|port| {
            area.with_word(rank as usize, offset, |at| my_addr.pull_through(port, Through::Place(at.cast()?), size))
        })
    }

    /// Aims a register of this rank.
    pub fn hk_register_set(number: c_int, pointer: u64) -> c_int {
        with_port(|port| Ok(port.set_register(number as usize, Pointer::from_word(pointer))?))
    }

    /// Where a register of this rank leads.
    pub fn hk_register_get(number: c_int, out: Out<'_, u64>) -> c_int {
        with_port(|port| {
            out.required("the pointer to be given")?;
            out.give(port.register_value(number as usize)?.word());
            Ok(())
        })
    }

    /// Remote write to where a register leads.
    pub fn hk_push_register(my_addr: Source<'_>, rank: c_int, number: c_int, size: usize) -> c_int {
        with_port(|port| my_addr.push_through(port, register(rank, number).into(), size))
    }

    /// Remote read from where a register leads.
    pub fn hk_pull_register(my_addr: Target<'_>, rank: c_int, number: c_int, size: usize) -> c_int {
        with_port(|port| my_addr.pull_through(port, register(rank, number).into(), size))
    }

    /// Makes a chain of commands.
    pub fn hk_chain_create(id: u32, commands: In<'_, CCommand>, count: usize, out: Out<'_, u64>) -> c_int {
        with_port(|port| {
            out.required("the pointer to be given")?;
            let add = |list, command: &CCommand| command.add(port.rank(), list);
            let commands = commands.slice(count, "the commands")?.iter().try_fold(Commands::new(), add)?;
            let chain = port.chain(id, &commands)?;
            let pointer = chain.pointer();
            insert_chain(port, chain)?;
            out.give(pointer.word());
            Ok(())
        })
    }
}
