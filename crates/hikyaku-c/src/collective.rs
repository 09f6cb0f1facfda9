//! What all ranks do together, beside the barrier: broadcast, reductions, blocks. The header has the full description of each.
//!
//! The calls are those of a group of all ranks ([`with_world`]). Arguments are looked at before that: a call that is wrong
//! by itself fails before the others hear of it.

use crate::check;
use crate::entry::with_everyone;
use crate::error::Failure;
use crate::function::Function;
use crate::given::{Source, Target, apart, exported};
use crate::thread::with_world;
use core_hikyaku::collective::{And, BitAnd, BitOr, BitXor, Complex32, Complex64, Max, Min, Or, Product, Sum, Xor};
use std::ffi::c_int;

/// The values of an enumeration of the header, by name.
macro_rules! names {
    ($list:ident, $what:literal: $($name:ident)*) => {
        const $list: (&str, &[&str]) = ($what, &[$(stringify!($name)),*]);
    };
}

names! { TYPES, "hk_type": HK_I32 HK_I64 HK_U32 HK_U64 HK_F32 HK_F64 HK_CF32 HK_CF64 }
names! { OPERATIONS, "hk_reduce_op": HK_SUM HK_PROD HK_MIN HK_MAX HK_BAND HK_BOR HK_BXOR HK_LAND HK_LOR HK_LXOR }

/// The name of a value.
fn name((what, names): (&'static str, &[&'static str]), value: c_int) -> Result<&'static str, Failure> {
    let found = usize::try_from(value).ok().and_then(|at| names.get(at));
    found.copied().ok_or(Failure::Choice { what, value: value.into() })
}

/// What `hk_reduce_op` means for elements of an `hk_type`.
fn function(elements: c_int, operation: c_int) -> Result<Function, Failure> {
    macro_rules! of {
        ($type:ty: $($name:literal $operation:ident)*) => {
            match operation {
                $($name => Some(Function::known::<$type, $operation>()),)*
                _ => None,
            }
        };
    }
    macro_rules! integers {
        ($type:ty) => {
            of! { $type: 0 Sum 1 Product 2 Min 3 Max 4 BitAnd 5 BitOr 6 BitXor 7 And 8 Or 9 Xor }
        };
    }
    let (type_name, operation_name) = (name(TYPES, elements)?, name(OPERATIONS, operation)?);
    let known = match elements {
        0 => integers! { i32 },
        1 => integers! { i64 },
        2 => integers! { u32 },
        3 => integers! { u64 },
        4 => of! { f32: 0 Sum 1 Product 2 Min 3 Max },
        5 => of! { f64: 0 Sum 1 Product 2 Min 3 Max },
        6 => of! { Complex32: 0 Sum 1 Product },
        _ => of! { Complex64: 0 Sum 1 Product },
    };
    known.ok_or(Failure::Unlike { operation: operation_name, elements: type_name })
}

/// What a reduction works on, and what it is combined by.
fn numbers(
    data: Target<'_>,
    count: usize,
    elements: c_int,
    operation: c_int,
) -> Result<(&mut [u8], Function), Failure> {
    let by = function(elements, operation)?;
    Ok((check::elements(data, count, &by, "the buffer")?, by))
}

exported! {
    /// Copies from the root to all.
    pub fn hk_broadcast(data: Target<'_>, size: usize, root: c_int) -> c_int {
        with_everyone(|job| {
            let (root, data) = (check::root(root, job.size())?, data.bytes(size)?);
            with_world(|world| Ok(world.broadcast(data, root)?))
        })
    }

    /// Combines the elements of all ranks at the root.
    pub fn hk_reduce(data: Target<'_>, count: usize, elements: c_int, operation: c_int, root: c_int) -> c_int {
        with_everyone(|job| {
            let (data, by) = numbers(data, count, elements, operation)?;
            let root = check::root(root, job.size())?;
            with_world(|world| Ok(world.reduce_elements(data, by.elements, &|all, more| by.combine(all, more), root)?))
        })
    }

    /// Combines the elements of all ranks at all.
    pub fn hk_allreduce(data: Target<'_>, count: usize, elements: c_int, operation: c_int) -> c_int {
        with_everyone(|_| {
            let (data, by) = numbers(data, count, elements, operation)?;
            with_world(|world| Ok(world.allreduce_elements(data, by.elements, &|all, more| by.combine(all, more))?))
        })
    }

    /// Combines the elements of all ranks up to this one.
    pub fn hk_scan(data: Target<'_>, count: usize, elements: c_int, operation: c_int) -> c_int {
        with_everyone(|_| {
            let (data, by) = numbers(data, count, elements, operation)?;
            with_world(|world| Ok(world.scan_elements(data, by.elements, &|all, more| by.combine(all, more))?))
        })
    }

    /// Combines the elements of all ranks before this one.
    pub fn hk_exscan(data: Target<'_>, count: usize, elements: c_int, operation: c_int) -> c_int {
        with_everyone(|_| {
            let (data, by) = numbers(data, count, elements, operation)?;
            with_world(|world| Ok(world.exscan_elements(data, by.elements, &|all, more| by.combine(all, more))?))
        })
    }

    /// Collects the blocks of all ranks at the root.
    pub fn hk_gather(mine: Source<'_>, size: usize, all: Target<'_>, root: c_int) -> c_int {
        with_everyone(|job| {
            let (root, bytes) = check::blocks_at(root, size, job.rank(), job.size())?;
            let (mine, all) = apart(mine, size, all, bytes)?;
            with_world(|world| Ok(world.gather(mine, all, root)?))
        })
    }

    /// Collects the blocks of all ranks at all.
    pub fn hk_allgather(mine: Source<'_>, size: usize, all: Target<'_>) -> c_int {
        with_everyone(|job| {
            let (mine, all) = apart(mine, size, all, check::blocks(size, job.size())?)?;
            with_world(|world| Ok(world.allgather(mine, all)?))
        })
    }

    /// Gives each rank its block of the root's.
    pub fn hk_scatter(all: Source<'_>, size: usize, mine: Target<'_>, root: c_int) -> c_int {
        with_everyone(|job| {
            let (root, bytes) = check::blocks_at(root, size, job.rank(), job.size())?;
            let (all, mine) = apart(all, bytes, mine, size)?;
            with_world(|world| Ok(world.scatter(all, mine, root)?))
        })
    }

    /// Gives each rank its block of everybody's.
    pub fn hk_alltoall(blocks: Source<'_>, size: usize, into: Target<'_>) -> c_int {
        with_everyone(|job| {
            let bytes = check::blocks(size, job.size())?;
            let (blocks, into) = apart(blocks, bytes, into, bytes)?;
            with_world(|world| Ok(world.alltoall(blocks, into)?))
        })
    }
}
