//! Blocks of different lengths, and reductions whose result is shared out.
//!
//! As in `collective`, a call whose own arguments are wrong fails before the others hear of it.

use super::comm::Comm;
use super::entry::{count, with_comm};
use super::error::{Outcome, Trouble};
use super::function::Handle;
use crate::error::Failure;
use crate::given::{In, Source, Target, apart, exported};
use core_hikyaku::Error;
use core_hikyaku::collective::Blocks;
use std::ffi::c_int;

/// A list of sizes, one per member, as C and Fortran give it.
pub enum Sizes<'a> {
    C(In<'a, usize>),
    Short(In<'a, i32>),
    Long(In<'a, i64>),
}

impl Sizes<'_> {
    /// A private copy; nothing for a null pointer.
    fn list(&self, members: usize) -> Outcome<Option<Vec<usize>>> {
        fn numbers<N: Into<i64> + Copy>(list: Option<&[N]>) -> Outcome<Option<Vec<usize>>> {
            list.map(|list| list.iter().map(|number| count(*number, "a size or a beginning")).collect()).transpose()
        }
        match self {
            Sizes::C(list) => Ok(list.optional_slice(members).map(<[usize]>::to_vec)),
            Sizes::Short(list) => numbers(list.optional_slice(members)),
            Sizes::Long(list) => numbers(list.optional_slice(members)),
        }
    }
}

/// Sizes, and where blocks begin if they do not follow each other.
pub type Given<'a> = (Sizes<'a>, Sizes<'a>);

/// Blocks of a buffer, in bytes.
#[derive(Default)]
struct Plan {
    sizes: Vec<usize>,
    starts: Option<Vec<usize>>,
    /// Bytes of the buffer.
    bytes: usize,
}

impl Plan {
    fn of(comm: &Comm, (sizes, starts): &Given<'_>) -> Outcome<Plan> {
        let members = comm.group().size();
        let sizes = sizes.list(members)?.ok_or(Failure::Null("the sizes"))?;
        let mut plan = Plan { sizes, starts: starts.list(members)?, bytes: 0 };
        let bytes = plan.blocks().extent().filter(|bytes| *bytes <= isize::MAX as usize);
        plan.bytes = bytes.ok_or(Failure::Size(usize::MAX))?;
        Ok(plan)
    }

    /// Of blocks that are written.
    fn apart(comm: &Comm, given: &Given<'_>) -> Outcome<Plan> {
        let plan = Plan::of(comm, given)?;
        match plan.blocks().overlap() {
            None => Ok(plan),
            Some((one, other)) => Err(invalid(format!("blocks {one} and {other} overlap"))),
        }
    }

    fn blocks(&self) -> Blocks<'_> {
        match &self.starts {
            None => Blocks::from(&self.sizes),
            Some(starts) => Blocks::at(&self.sizes, starts),
        }
    }
}

fn invalid(reason: String) -> Trouble {
    Error::Invalid(reason).into()
}

pub fn gatherv(mine: Source<'_>, size: usize, all: Target<'_>, given: Given<'_>, root: c_int, comm: c_int) -> c_int {
    with_comm(comm, |_, comm| {
        let root = comm.root(root)?;
        let plan = if comm.group().rank() == root { Plan::apart(comm, &given)? } else { Plan::default() };
        let (mine, all) = apart(mine, size, all, plan.bytes)?;
        Ok(comm.group().gatherv(mine, all, plan.blocks(), root)?)
    })
}

pub fn allgatherv(mine: Source<'_>, size: usize, all: Target<'_>, given: Given<'_>, comm: c_int) -> c_int {
    with_comm(comm, |_, comm| {
        let (plan, rank) = (Plan::apart(comm, &given)?, comm.group().rank());
        if plan.sizes[rank] != size {
            let said = plan.sizes[rank];
            return Err(invalid(format!("the own block has {size} bytes, and the size of rank {rank} is {said}")));
        }
        let (mine, all) = apart(mine, size, all, plan.bytes)?;
        Ok(comm.group().allgatherv(mine, all, plan.blocks())?)
    })
}

pub fn scatterv(all: Source<'_>, given: Given<'_>, mine: Target<'_>, size: usize, root: c_int, comm: c_int) -> c_int {
    with_comm(comm, |_, comm| {
        let root = comm.root(root)?;
        let plan = if comm.group().rank() == root { Plan::of(comm, &given)? } else { Plan::default() };
        let (all, mine) = apart(all, plan.bytes, mine, size)?;
        Ok(comm.group().scatterv(all, plan.blocks(), mine, root)?)
    })
}

pub fn alltoallv(from: Source<'_>, given: Given<'_>, into: Target<'_>, taken: Given<'_>, comm: c_int) -> c_int {
    with_comm(comm, |_, comm| {
        let (given, taken) = (Plan::of(comm, &given)?, Plan::apart(comm, &taken)?);
        let (from, into) = apart(from, given.bytes, into, taken.bytes)?;
        Ok(comm.group().alltoallv(from, given.blocks(), into, taken.blocks())?)
    })
}

/// Of the blocks of all members, in elements.
fn reduce_scatter(
    data: Source<'_>,
    mine: Target<'_>,
    counts: &[usize],
    func: Handle,
    comm: &Comm,
    fmpl: &super::Fmpl,
) -> Outcome<()> {
    let function = fmpl.function(func)?;
    if !mine.is_aligned(function.align) {
        return Err(Failure::Misaligned("the buffer of the result").into());
    }
    let bytes = |elements: usize| {
        let bytes = elements.checked_mul(function.elements.bytes()).filter(|bytes| *bytes <= isize::MAX as usize);
        bytes.ok_or(Failure::Size(usize::MAX))
    };
    let total = Blocks::from(counts).extent().ok_or(Failure::Size(usize::MAX))?;
    let (data, mine) = apart(data, bytes(total)?, mine, bytes(counts[comm.group().rank()])?)?;
    let combine = |total: &mut [u8], input: &[u8]| function.combine(total, input);
    Ok(comm.group().reduce_scatter_elements(data, mine, counts, function.elements, &combine)?)
}

exported! {
    /// Collects blocks of different lengths at the root.
    pub fn fmpl_gatherv(
        mine: Source<'_>,
        size: usize,
        all: Target<'_>,
        sizes: In<'_, usize>,
        starts: In<'_, usize>,
        root: c_int,
        comm: c_int,
    ) -> c_int {
        gatherv(mine, size, all, (Sizes::C(sizes), Sizes::C(starts)), root, comm)
    }

    /// Collects them at all.
    pub fn fmpl_allgatherv(
        mine: Source<'_>,
        size: usize,
        all: Target<'_>,
        sizes: In<'_, usize>,
        starts: In<'_, usize>,
        comm: c_int,
    ) -> c_int {
        allgatherv(mine, size, all, (Sizes::C(sizes), Sizes::C(starts)), comm)
    }

    /// Gives each member its block of the root's.
    pub fn fmpl_scatterv(
        all: Source<'_>,
        sizes: In<'_, usize>,
        starts: In<'_, usize>,
        mine: Target<'_>,
        size: usize,
        root: c_int,
        comm: c_int,
    ) -> c_int {
        scatterv(all, (Sizes::C(sizes), Sizes::C(starts)), mine, size, root, comm)
    }

    /// Gives each member its block of everybody's.
    pub fn fmpl_alltoallv(
        from: Source<'_>,
        from_sizes: In<'_, usize>,
        from_starts: In<'_, usize>,
        into: Target<'_>,
        into_sizes: In<'_, usize>,
        into_starts: In<'_, usize>,
        comm: c_int,
    ) -> c_int {
        let given = (Sizes::C(from_sizes), Sizes::C(from_starts));
        alltoallv(from, given, into, (Sizes::C(into_sizes), Sizes::C(into_starts)), comm)
    }

    /// Combines the numbers of all members, and gives each member its block of the result.
    pub fn fmpl_reduce_scatter(
        data: Source<'_>,
        mine: Target<'_>,
        counts: In<'_, c_int>,
        func: Handle,
        comm: c_int,
    ) -> c_int {
        with_comm(comm, |fmpl, comm| {
            let counts = Sizes::Short(counts).list(comm.group().size())?.ok_or(Failure::Null("the counts"))?;
            reduce_scatter(data, mine, &counts, func, comm, fmpl)
        })
    }

    /// Likewise, of blocks of one length.
    pub fn fmpl_reduce_scatter_block(
        data: Source<'_>,
        mine: Target<'_>,
        number: c_int,
        func: Handle,
        comm: c_int,
    ) -> c_int {
        with_comm(comm, |fmpl, comm| {
            let counts = vec![count(number, "the count")?; comm.group().size()];
            reduce_scatter(data, mine, &counts, func, comm, fmpl)
        })
    }
}
