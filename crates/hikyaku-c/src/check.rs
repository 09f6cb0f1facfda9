//! Arguments of collective calls. What is wrong with them is found before other ranks hear of the call, so that it can be made again.

use crate::error::Failure;
use crate::function::Function;
use crate::given::Target;
use core_hikyaku::Error;
use std::ffi::c_int;

/// The root, if there is such a member.
pub fn root(root: c_int, members: usize) -> Result<usize, Failure> {
    let rank = root as usize;
    if rank < members { Ok(rank) } else { Err(Error::NoSuchRank { rank, size: members }.into()) }
}

/// Bytes of a block of every member.
pub fn blocks(size: usize, members: usize) -> Result<usize, Failure> {
    let bytes = size.checked_mul(members).filter(|bytes| *bytes <= isize::MAX as usize);
    bytes.ok_or(Failure::Size(size))
}

/// The root, and the bytes of a block of every member if it is this one, else none.
pub fn blocks_at(at: c_int, size: usize, me: usize, members: usize) -> Result<(usize, usize), Failure> {
    let root = root(at, members)?;
    Ok((root, if root == me { blocks(size, members)? } else { 0 }))
}

/// `count` elements that `function` combines, at `place`.
pub fn elements<'a>(
    place: Target<'a>,
    count: usize,
    function: &Function,
    what: &'static str,
) -> Result<&'a mut [u8], Failure> {
    let bytes = count.checked_mul(function.elements.bytes()).ok_or(Failure::Size(usize::MAX))?;
    match place.is_aligned(function.align) {
        true => place.bytes(bytes),
        false => Err(Failure::Misaligned(what)),
    }
}
