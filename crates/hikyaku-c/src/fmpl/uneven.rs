//! Blocks of different lengths, and reductions whose result is shared out.
//!
//! As in `collective`, a call whose own arguments are wrong fails before the others hear of it.

use super::comm::Comm;
use super::entry::{count, with_comm};
use super::error::{Outcome, Trouble};
use super::function::Handle;
use super::job::Fmpl;
use crate::error::Failure;
use crate::function::Function;
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

/// Blocks of a buffer, in bytes.
pub struct Plan {
    blocks: Blocks<'static>,
    /// Bytes of the buffer.
    bytes: usize,
}

impl Plan {
    /// Sizes, and where blocks begin if they do not follow each other.
    fn of(comm: &Comm, sizes: &Sizes<'_>, starts: &Sizes<'_>) -> Outcome<Plan> {
        let members = comm.group().size();
        let sizes = sizes.list(members)?.ok_or(Failure::Null("the sizes"))?;
        let blocks = Blocks::owned(sizes, starts.list(members)?);
        let bytes = blocks.extent().filter(|bytes| *bytes <= isize::MAX as usize);
        Ok(Plan { blocks, bytes: bytes.ok_or(Failure::Size(usize::MAX))? })
    }

    /// Of blocks that are written.
    fn apart(comm: &Comm, sizes: &Sizes<'_>, starts: &Sizes<'_>) -> Outcome<Plan> {
        let plan = Plan::of(comm, sizes, starts)?;
        match plan.blocks.overlap() {
            None => Ok(plan),
            Some((one, other)) => Err(invalid(format!("blocks {one} and {other} overlap"))),
        }
    }

    /// Where others than the root need none.
    fn none() -> Plan {
        Plan { blocks: Blocks::owned(Vec::new(), None), bytes: 0 }
    }
}

fn invalid(reason: String) -> Trouble {
    Error::Invalid(reason).into()
}

/// A buffer to read and one to write, with the blocks of one of them.
pub struct Parts<'a> {
    pub from: &'a [u8],
    pub into: &'a mut [u8],
    pub blocks: Blocks<'static>,
}

impl<'a> Parts<'a> {
    fn of((from, into): (&'a [u8], &'a mut [u8]), plan: Plan) -> Parts<'a> {
        Parts { from, into, blocks: plan.blocks }
    }

    /// What gatherv works on, and the root.
    pub fn of_gatherv(
        comm: &Comm,
        (mine, size): (Source<'a>, usize),
        all: Target<'a>,
        (sizes, starts): (Sizes<'_>, Sizes<'_>),
        root: c_int,
    ) -> Outcome<(Parts<'a>, usize)> {
        let root = comm.root(root)?;
        let is_root = comm.group().rank() == root;
        let plan = if is_root { Plan::apart(comm, &sizes, &starts)? } else { Plan::none() };
        Ok((Parts::of(apart(mine, size, all, plan.bytes)?, plan), root))
    }

    /// What allgatherv works on.
    pub fn of_allgatherv(
        comm: &Comm,
        (mine, size): (Source<'a>, usize),
        all: Target<'a>,
        (sizes, starts): (Sizes<'_>, Sizes<'_>),
    ) -> Outcome<Parts<'a>> {
        let (plan, rank) = (Plan::apart(comm, &sizes, &starts)?, comm.group().rank());
        let said = sizes.list(comm.group().size())?.map_or(size, |sizes| sizes[rank]);
        if said != size {
            return Err(invalid(format!("the own block has {size} bytes, and the size of rank {rank} is {said}")));
        }
        Ok(Parts::of(apart(mine, size, all, plan.bytes)?, plan))
    }

    /// What scatterv works on, and the root.
    pub fn of_scatterv(
        comm: &Comm,
        all: Source<'a>,
        (sizes, starts): (Sizes<'_>, Sizes<'_>),
        (mine, size): (Target<'a>, usize),
        root: c_int,
    ) -> Outcome<(Parts<'a>, usize)> {
        let root = comm.root(root)?;
        let is_root = comm.group().rank() == root;
        let plan = if is_root { Plan::of(comm, &sizes, &starts)? } else { Plan::none() };
        Ok((Parts::of(apart(all, plan.bytes, mine, size)?, plan), root))
    }

    /// What alltoallv works on: the blocks are those that are taken; those that are given come beside it.
    pub fn of_alltoallv(
        comm: &Comm,
        from: Source<'a>,
        (from_sizes, from_starts): (Sizes<'_>, Sizes<'_>),
        into: Target<'a>,
        (into_sizes, into_starts): (Sizes<'_>, Sizes<'_>),
    ) -> Outcome<(Parts<'a>, Blocks<'static>)> {
        let given = Plan::of(comm, &from_sizes, &from_starts)?;
        let taken = Plan::apart(comm, &into_sizes, &into_starts)?;
        Ok((Parts::of(apart(from, given.bytes, into, taken.bytes)?, taken), given.blocks))
    }
}

/// What reduce_scatter works on: counts are those of the blocks of all members, in elements.
pub struct Shares<'a> {
    pub data: &'a [u8],
    pub mine: &'a mut [u8],
    pub counts: Vec<usize>,
    pub function: Function,
}

impl<'a> Shares<'a> {
    /// By a list of counts.
    pub fn of_list(
        (fmpl, comm): (&Fmpl, &Comm),
        data: Source<'a>,
        mine: Target<'a>,
        counts: In<'_, c_int>,
        func: Handle,
    ) -> Outcome<Shares<'a>> {
        let counts = Sizes::Short(counts).list(comm.group().size())?.ok_or(Failure::Null("the counts"))?;
        Shares::of((fmpl, comm), data, mine, counts, func)
    }

    /// By one count for all.
    pub fn of_count(
        (fmpl, comm): (&Fmpl, &Comm),
        data: Source<'a>,
        mine: Target<'a>,
        number: c_int,
        func: Handle,
    ) -> Outcome<Shares<'a>> {
        let counts = vec![count(number, "the count")?; comm.group().size()];
        Shares::of((fmpl, comm), data, mine, counts, func)
    }

    fn of(
        (fmpl, comm): (&Fmpl, &Comm),
        data: Source<'a>,
        mine: Target<'a>,
        counts: Vec<usize>,
        func: Handle,
    ) -> Outcome<Shares<'a>> {
        let function = fmpl.function(func)?;
        if !mine.is_aligned(function.align) {
            return Err(Failure::Misaligned("the buffer of the result").into());
        }
        let bytes = |elements: usize| {
            let bytes = elements.checked_mul(function.elements.bytes()).filter(|bytes| *bytes <= isize::MAX as usize);
            bytes.ok_or(Failure::Size(usize::MAX))
        };
        let total = Blocks::from(&counts).extent().ok_or(Failure::Size(usize::MAX))?;
        let (data, mine) = apart(data, bytes(total)?, mine, bytes(counts[comm.group().rank()])?)?;
        Ok(Shares { data, mine, counts, function })
    }

    fn reduce(self, comm: &Comm) -> Outcome<()> {
        let Shares { data, mine, counts, function } = self;
        let combine = |total: &mut [u8], input: &[u8]| function.combine(total, input);
        Ok(comm.group().reduce_scatter_elements(data, mine, &counts, function.elements, &combine)?)
    }
}

/// With lists of any language.
pub fn gatherv(
    mine: Source<'_>,
    size: usize,
    all: Target<'_>,
    sizes: Sizes<'_>,
    starts: Sizes<'_>,
    root: c_int,
    comm: c_int,
) -> c_int {
    with_comm(comm, |_, comm| {
        let (parts, root) = Parts::of_gatherv(comm, (mine, size), all, (sizes, starts), root)?;
        Ok(comm.group().gatherv(parts.from, parts.into, parts.blocks, root)?)
    })
}

/// With lists of any language.
pub fn allgatherv(
    mine: Source<'_>,
    size: usize,
    all: Target<'_>,
    sizes: Sizes<'_>,
    starts: Sizes<'_>,
    comm: c_int,
) -> c_int {
    with_comm(comm, |_, comm| {
        let parts = Parts::of_allgatherv(comm, (mine, size), all, (sizes, starts))?;
        Ok(comm.group().allgatherv(parts.from, parts.into, parts.blocks)?)
    })
}

/// With lists of any language.
pub fn scatterv(
    all: Source<'_>,
    sizes: Sizes<'_>,
    starts: Sizes<'_>,
    mine: Target<'_>,
    size: usize,
    root: c_int,
    comm: c_int,
) -> c_int {
    with_comm(comm, |_, comm| {
        let (parts, root) = Parts::of_scatterv(comm, all, (sizes, starts), (mine, size), root)?;
        Ok(comm.group().scatterv(parts.from, parts.blocks, parts.into, root)?)
    })
}

/// With lists of any language.
pub fn alltoallv(
    from: Source<'_>,
    from_sizes: Sizes<'_>,
    from_starts: Sizes<'_>,
    into: Target<'_>,
    into_sizes: Sizes<'_>,
    into_starts: Sizes<'_>,
    comm: c_int,
) -> c_int {
    with_comm(comm, |_, comm| {
        let (parts, given) =
            Parts::of_alltoallv(comm, from, (from_sizes, from_starts), into, (into_sizes, into_starts))?;
        Ok(comm.group().alltoallv(parts.from, given, parts.into, parts.blocks)?)
    })
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
        gatherv(mine, size, all, Sizes::C(sizes), Sizes::C(starts), root, comm)
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
        allgatherv(mine, size, all, Sizes::C(sizes), Sizes::C(starts), comm)
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
        scatterv(all, Sizes::C(sizes), Sizes::C(starts), mine, size, root, comm)
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
        let [from_sizes, from_starts, into_sizes, into_starts] =
            [from_sizes, from_starts, into_sizes, into_starts].map(Sizes::C);
        alltoallv(from, from_sizes, from_starts, into, into_sizes, into_starts, comm)
    }

    /// Combines the numbers of all members, and gives each member its block of the result.
    pub fn fmpl_reduce_scatter(
        data: Source<'_>,
        mine: Target<'_>,
        counts: In<'_, c_int>,
        func: Handle,
        comm: c_int,
    ) -> c_int {
        with_comm(comm, |fmpl, comm| Shares::of_list((fmpl, comm), data, mine, counts, func)?.reduce(comm))
    }

    /// Likewise, of blocks of one length.
    pub fn fmpl_reduce_scatter_block(
        data: Source<'_>,
        mine: Target<'_>,
        number: c_int,
        func: Handle,
        comm: c_int,
    ) -> c_int {
        with_comm(comm, |fmpl, comm| Shares::of_count((fmpl, comm), data, mine, number, func)?.reduce(comm))
    }
}
