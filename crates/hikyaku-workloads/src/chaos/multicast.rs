//! Parts of memory, for one rank or several: every form of push with a shape, and of pull.
//!
//! Each rank writes to a part of its own at every recipient, and everyone works out what all have written.

use super::trouble::{Outcome, promise};
use crate::chance::Chance;
use hikyaku::{Bitmap, Job, Stride, Twin, Until};

/// Transfers of a rank, each to a part of its own.
const TRANSFERS: usize = 3;

/// One transfer: who gets it, and what becomes of the part, which was 0.
struct Transfer {
    to: Vec<usize>,
    form: usize,
    data: Vec<u32>,
    /// Elements of a block, from one to the next, and how many blocks.
    blocks: (usize, usize, usize),
    marked: Bitmap,
}

const PLAIN: usize = 0;
const NOTIFIED: usize = 1;
const BLOCKS: usize = 2;
const MARKED: usize = 3;
const CHANGED: usize = 4;

fn transfers(seed: u64, rank: usize, size: usize, len: usize) -> Vec<Transfer> {
    let mut chance = Chance::new(seed, 6000 + rank as u64);
    let transfer = |number: usize| {
        let to: Vec<usize> = (0..size).filter(|_| chance.below(3) > 0).collect();
        let block = 1 + chance.below(len);
        let distance = block + chance.below(4);
        let count = 1 + (len - block) / distance;
        let mut marked = Bitmap::new(len);
        let rarity = chance.pick(&[1, 2, 50]);
        (0..len).filter(|_| chance.below(rarity) == 0).for_each(|index| marked.set(index));
        let data = (0..len).map(|index| ((rank + 1) << 24 | (number + 1) << 20 | index) as u32).collect();
        Transfer { to, form: chance.below(5), data, blocks: (block, distance, count), marked }
    };
    (0..TRANSFERS).map(transfer).collect()
}

impl Transfer {
    fn stride(&self) -> Stride {
        let (block, distance, count) = self.blocks;
        Stride::new(block, distance, count)
    }

    fn is_in_block(&self, index: usize) -> bool {
        let (block, distance, count) = self.blocks;
        index % distance < block && index / distance < count
    }

    /// What a recipient's part is afterwards.
    fn result(&self) -> Vec<u32> {
        let is_written = |index: usize| match self.form {
            BLOCKS => self.is_in_block(index),
            MARKED | CHANGED => self.marked.get(index),
            _ => true,
        };
        (0..self.data.len()).map(|index| if is_written(index) { self.data[index] } else { 0 }).collect()
    }
}

pub fn run(job: &Job, seed: u64) -> Outcome {
    let (me, size) = (job.rank(), job.size());
    let len = Chance::new(seed, 4).pick(&[1, 5, 300, 3000]);
    let parts = size * TRANSFERS;
    let (table, flags) = (job.symmetric::<u32>(parts * len)?, job.symmetric::<u64>(parts)?);
    for (number, transfer) in transfers(seed, me, size, len).iter().enumerate() {
        let (part, Transfer { data, marked, .. }) = (me * TRANSFERS + number, transfer);
        let (to, at) = (job.recipients(&transfer.to)?, part * len);
        // A twin that differs where the marks are.
        let mut twin = data.clone();
        (0..len).filter(|index| marked.get(*index)).for_each(|index| twin[index] = !twin[index]);
        let mut twin = Twin::of(&twin);
        // To a single rank by a push in half of the cases.
        match (transfer.form, transfer.to.as_slice()) {
            (BLOCKS, [rank]) if seed.is_multiple_of(2) => {
                job.push_stride(table.at(*rank, at), data, transfer.stride())?
            }
            (MARKED, [rank]) if seed.is_multiple_of(2) => job.push_bitmap(table.at(*rank, at), data, marked)?,
            (CHANGED, [rank]) if seed.is_multiple_of(2) => drop(job.push_diff(table.at(*rank, at), data, &mut twin)?),
            (PLAIN, _) => job.multicast(&to, &table, at, data)?,
            (NOTIFIED, _) => job.multicast_notify(&to, &table, at, data, (&flags, part), 1)?,
            (BLOCKS, _) => job.multicast_stride(&to, &table, at, data, transfer.stride())?,
            (MARKED, _) => job.multicast_bitmap(&to, &table, at, data, marked)?,
            _ => drop(job.multicast_diff(&to, &table, at, data, &mut twin)?),
        }
    }
    let all: Vec<Vec<Transfer>> = (0..size).map(|rank| transfers(seed, rank, size, len)).collect();
    let each = || (0..size).flat_map(|rank| (0..TRANSFERS).map(move |number| (rank, number)));
    // Whoever sees the word sees the data.
    for (rank, number) in each() {
        let (transfer, part) = (&all[rank][number], rank * TRANSFERS + number);
        if transfer.form == NOTIFIED && transfer.to.contains(&me) {
            job.wait_from(hikyaku::By::Rank(rank), flags.here(part), Until::Equal(1))?;
            let mut seen = vec![0; len];
            table.read(part * len, &mut seen);
            promise!(seen == transfer.data, "part {part} was told, and is not there");
        }
    }
    job.barrier()?;
    for (rank, number) in each() {
        let (transfer, part) = (&all[rank][number], rank * TRANSFERS + number);
        let expected = if transfer.to.contains(&me) { transfer.result() } else { vec![0; len] };
        let mut seen = vec![0; len];
        table.read(part * len, &mut seen);
        promise!(seen == expected, "form {} of rank {rank} for {:?}: {seen:?}", transfer.form, transfer.to);
    }
    // And back: what a neighbour has of it, by blocks and marks.
    let (neighbour, one) = ((me + 1) % size, &all[(me + 2) % size][0]);
    let part = ((me + 2) % size) * TRANSFERS;
    let has = if one.to.contains(&neighbour) { one.result() } else { vec![0; len] };
    let (mut blocks, mut marked) = (vec![9; len], vec![9; len]);
    job.pull_stride(table.at(neighbour, part * len), &mut blocks, one.stride())?;
    job.pull_bitmap(table.at(neighbour, part * len), &mut marked, &one.marked)?;
    for index in 0..len {
        promise!(blocks[index] == if one.is_in_block(index) { has[index] } else { 9 }, "a pull of blocks: {blocks:?}");
        promise!(marked[index] == if one.marked.get(index) { has[index] } else { 9 }, "a pull of marks: {marked:?}");
    }
    job.barrier()?;
    job.free(table)?;
    Ok(job.free(flags)?)
}
