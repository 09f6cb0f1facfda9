//! Combining the matrices of all processes of a scope, element by element.
//!
//! Contributions are combined in an order that depends on the topology alone, so results are the same in every run; and
//! they are the same at every process. Where coordinates are asked for, every value travels with its distance from the
//! destination, and of equal ones the nearest counts.

use crate::element::Element;
use crate::error::Outcome;
use crate::grid::Grid;
use crate::matrix::Matrix;
use crate::scope::{Circle, Scope};
use crate::topology::Topology;
use hikyaku::collective::Elements;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The sum.
    Sum,
    /// The value of the largest magnitude.
    Largest,
    /// The value of the smallest magnitude.
    Smallest,
}

/// Where the coordinates of the processes are stored that the values came from.
#[derive(Clone, Copy, Debug)]
pub struct Coordinates {
    /// Rows of processes.
    pub rows: *mut i32,
    /// Columns of processes.
    pub columns: *mut i32,
    /// Elements from one column of these matrices to the next.
    pub stride: i32,
}

/// A distance, as it travels behind its value.
type Distance = u32;
const DISTANCE_BYTES: usize = size_of::<Distance>();

/// Of combines that go from process to process; a whole number of elements of any type.
const PIECE_BYTES: usize = 1 << 20;

/// How elements are combined that are only bytes: `fold` takes its second slice into the first.
#[derive(Clone, Copy)]
struct Combination<'f> {
    elements: Elements,
    fold: &'f dyn Fn(&mut [u8], &[u8]),
}

impl Grid<'_> {
    /// Combines matrices; the result is at the process at (`row`, `column`), or at all if one of them is -1. The others keep
    /// theirs.
    ///
    /// # Safety
    /// The coordinates, if they are wanted, are matrices of the same size, the caller's to write.
    #[allow(clippy::too_many_arguments)]
    pub unsafe fn combine<T: Element>(
        &self,
        operation: Operation,
        scope: u8,
        topology: u8,
        matrix: &Matrix,
        coordinates: Option<Coordinates>,
        row: i32,
        column: i32,
    ) -> Outcome<()> {
        let circle = self.circle(Scope::of(scope)?);
        let topology = Topology::of(topology, self.combines.get())?;
        let root = match row == -1 || column == -1 {
            true => None,
            false => Some(self.number_in(circle, row, column, ["RDEST", "CDEST"])?),
        };
        let gets_it = root.is_none_or(|root| root == circle.me);
        let Some(coordinates) = coordinates else {
            return self.combine_values::<T>(operation, circle, topology, matrix, root, gets_it);
        };
        let distance = (circle.size + circle.me - root.unwrap_or(0)) % circle.size;
        let mut pairs = pair::<T>(matrix, distance as Distance);
        let fold = |total: &mut [u8], input: &[u8]| fold_pairs::<T>(operation, total, input);
        let how = Combination { elements: Elements::new(size_of::<T>() + DISTANCE_BYTES), fold: &fold };
        self.combine_bytes(circle, topology, &mut pairs, how, root)?;
        if gets_it {
            let place = |distance: usize| self.place_of(circle, (root.unwrap_or(0) + distance) % circle.size);
            // A place is worked out once, unless there are fewer elements than processes.
            let worth = matrix.bytes() / size_of::<T>() > circle.size;
            let places: Vec<_> = if worth { (0..circle.size).map(place).collect() } else { Vec::new() };
            let place = |distance| places.get(distance as usize).copied().unwrap_or_else(|| place(distance as usize));
            // SAFETY: the caller's promise.
            unsafe { unpair::<T>(matrix, &pairs, coordinates, place) };
        }
        Ok(())
    }

    fn combine_values<T: Element>(
        &self,
        operation: Operation,
        circle: Circle,
        topology: Topology,
        matrix: &Matrix,
        root: Option<usize>,
        gets_it: bool,
    ) -> Outcome<()> {
        let fold = |total: &mut [u8], input: &[u8]| fold_values::<T>(operation, total, input);
        let how = Combination { elements: Elements::new(size_of::<T>()), fold: &fold };
        if let (Some(run), Topology::Default) = (matrix.run(), topology) {
            // SAFETY: elements of the matrix, the caller's. Groups leave those of other members than the root alone.
            let values = unsafe { std::slice::from_raw_parts_mut(run, matrix.bytes()) };
            return self.combine_bytes(circle, topology, values, how, root);
        }
        // A group divides what is long by itself. By messages it goes in pieces, which stay in the caches, and the next process works
        // on one of them while this one works on the next.
        let most = if topology == Topology::Default { matrix.bytes() } else { PIECE_BYTES };
        let mut values = vec![0; matrix.bytes().min(most)];
        let (mut from, mut into) = (matrix.walk(), matrix.walk());
        let mut left = matrix.bytes();
        while left > 0 {
            let values = &mut values[..left.min(most)];
            from.gather(values);
            self.combine_bytes(circle, topology, values, how, root)?;
            if gets_it {
                into.scatter(values);
            }
            left -= values.len();
        }
        Ok(())
    }

    /// The coordinates in the grid of a number in a scope.
    fn place_of(&self, circle: Circle, number: usize) -> (usize, usize) {
        let member = circle.member(number);
        (member / self.position.columns, member % self.position.columns)
    }

    fn combine_bytes(
        &self,
        circle: Circle,
        topology: Topology,
        data: &mut [u8],
        how: Combination<'_>,
        root: Option<usize>,
    ) -> Outcome<()> {
        // Nothing to combine for anybody.
        if circle.size == 1 || data.is_empty() {
            return Ok(());
        }
        match (topology, root, self.group(circle.scope)) {
            (Topology::Default, None, Some(group)) => Ok(group.allreduce_elements(data, how.elements, how.fold)?),
            (Topology::Default, Some(root), Some(group)) => {
                Ok(group.reduce_elements(data, how.elements, how.fold, root)?)
            }
            (Topology::Hypercube, None, _) => self.exchange(circle, data, how),
            _ => self.combine_by_messages(circle, topology, data, how, root),
        }
    }

    /// Against the direction of a broadcast to the root, and back from there if all want the result.
    fn combine_by_messages(
        &self,
        circle: Circle,
        topology: Topology,
        data: &mut [u8],
        how: Combination<'_>,
        root: Option<usize>,
    ) -> Outcome<()> {
        let (size, to) = (circle.size, root.unwrap_or(0));
        let inwards = topology.inwards();
        let distance = inwards.distance(to, circle.me, size);
        let mut children = inwards.children(distance, size);
        // The nearest first, as their numbers are.
        children.reverse();
        for child in children {
            self.fold_from(circle, inwards.number(to, child, size), data, how)?;
        }
        if distance != 0 {
            self.tell(circle, inwards.number(to, inwards.parent(distance, size), size), data)?;
        }
        if root.is_some() {
            return Ok(());
        }
        let outwards = topology.outwards();
        let distance = outwards.distance(to, circle.me, size);
        if distance != 0 {
            self.hear(circle, outwards.number(to, outwards.parent(distance, size), size), data)?;
        }
        let bytes = data.len();
        // SAFETY: own bytes, only read.
        let data = unsafe { Matrix::bytes_of(data) };
        self.pass_on(circle, outwards, &data, bytes, to)
    }

    /// All exchange what they have, in pairs; those beyond the last power of 2 through a partner.
    fn exchange(&self, circle: Circle, data: &mut [u8], how: Combination<'_>) -> Outcome<()> {
        let cube = 1 << circle.size.ilog2();
        let me = circle.me;
        if me >= cube {
            self.tell(circle, me - cube, data)?;
            return self.hear(circle, me - cube, data);
        }
        let partner = (me + cube < circle.size).then_some(me + cube);
        if let Some(partner) = partner {
            self.fold_from(circle, partner, data, how)?;
        }
        let mut bit = 1;
        while bit < cube {
            let other = me ^ bit;
            self.tell(circle, other, data)?;
            let mut theirs = vec![0; data.len()];
            self.hear(circle, other, &mut theirs)?;
            // In the order of numbers at both: results are the same to the last bit.
            if other < me {
                data.swap_with_slice(&mut theirs);
            }
            (how.fold)(data, &theirs);
            bit <<= 1;
        }
        partner.map_or(Ok(()), |partner| self.tell(circle, partner, data))
    }

    fn fold_from(&self, circle: Circle, number: usize, data: &mut [u8], how: Combination<'_>) -> Outcome<()> {
        let mut theirs = vec![0; data.len()];
        self.hear(circle, number, &mut theirs)?;
        (how.fold)(data, &theirs);
        Ok(())
    }

    fn tell(&self, circle: Circle, number: usize, data: &mut [u8]) -> Outcome<()> {
        let bytes = data.len();
        // SAFETY: own bytes, only read.
        let data = unsafe { Matrix::bytes_of(data) };
        self.channel(circle.scope).send(self.messages(), &data, bytes, circle.member(number))
    }

    fn hear(&self, circle: Circle, number: usize, data: &mut [u8]) -> Outcome<()> {
        // SAFETY: own bytes.
        let data = unsafe { Matrix::bytes_of(data) };
        self.channel(circle.scope).receive(self.messages(), &data, circle.member(number)).map(drop)
    }
}

impl Topology {
    /// The broadcast whose reverse a combine is: rings of combines run to the destination, so away from it they run the
    /// other way round.
    fn inwards(self) -> Topology {
        match self {
            Topology::Paths(paths) => Topology::Paths(-paths),
            Topology::SplitRing => Topology::Paths(-2),
            other => other,
        }
    }

    /// How the result gets to all.
    fn outwards(self) -> Topology {
        match self {
            Topology::SplitRing => Topology::Paths(2),
            Topology::Paths(_) => self,
            _ => Topology::Tree(2),
        }
    }
}

fn read<T: Element>(bytes: &[u8]) -> T {
    bytemuck::pod_read_unaligned(bytes)
}

/// Whether the second of two values counts instead of the first; `None` if their magnitudes are equal.
fn replaces<T: Element>(operation: Operation, first: T, second: T) -> Option<bool> {
    let (first, second) = (first.magnitude(), second.magnitude());
    match operation {
        _ if first == second => None,
        Operation::Smallest => Some(first > second),
        _ => Some(first < second),
    }
}

fn fold_values<T: Element>(operation: Operation, total: &mut [u8], input: &[u8]) {
    match operation {
        Operation::Sum => fold_each(total, input, T::plus),
        Operation::Largest | Operation::Smallest => fold_each(total, input, |first: T, second: T| {
            match replaces(operation, first, second).unwrap_or_else(|| first.is_below(second)) {
                true => second,
                false => first,
            }
        }),
    }
}

#[inline(always)]
fn fold_each<T: Element>(total: &mut [u8], input: &[u8], fold: impl Fn(T, T) -> T) {
    let bytes = size_of::<T>();
    for (total, input) in total.chunks_exact_mut(bytes).zip(input.chunks_exact(bytes)) {
        let folded = fold(read(total), read(input));
        total.copy_from_slice(bytemuck::bytes_of(&folded));
    }
}

fn fold_pairs<T: Element>(operation: Operation, total: &mut [u8], input: &[u8]) {
    let bytes = size_of::<T>();
    let pair = bytes + DISTANCE_BYTES;
    for (total, input) in total.chunks_exact_mut(pair).zip(input.chunks_exact(pair)) {
        let nearer = || {
            bytemuck::pod_read_unaligned::<Distance>(&input[bytes..]) < bytemuck::pod_read_unaligned(&total[bytes..])
        };
        if replaces::<T>(operation, read(&total[..bytes]), read(&input[..bytes])).unwrap_or_else(nearer) {
            total.copy_from_slice(input);
        }
    }
}

/// The values of a matrix, each with a distance behind it.
fn pair<T: Element>(matrix: &Matrix, distance: Distance) -> Vec<u8> {
    let mut values = vec![0; matrix.bytes()];
    matrix.walk().gather(&mut values);
    let mut pairs = vec![0; values.len() / size_of::<T>() * (size_of::<T>() + DISTANCE_BYTES)];
    let each = pairs.chunks_exact_mut(size_of::<T>() + DISTANCE_BYTES);
    for (pair, value) in each.zip(values.chunks_exact(size_of::<T>())) {
        pair[..size_of::<T>()].copy_from_slice(value);
        pair[size_of::<T>()..].copy_from_slice(&distance.to_ne_bytes());
    }
    pairs
}

/// The inverse: values into a matrix, and the places their distances stand for into two others.
///
/// # Safety
/// The coordinates are matrices of the same size, the caller's to write.
unsafe fn unpair<T: Element>(
    matrix: &Matrix,
    pairs: &[u8],
    coordinates: Coordinates,
    place: impl Fn(Distance) -> (usize, usize),
) {
    let (rows, _) = matrix.size();
    let stride = (coordinates.stride.max(0) as usize).max(rows);
    let mut values = vec![0; matrix.bytes()];
    let (mut row, mut first) = (0, 0);
    let each = pairs.chunks_exact(size_of::<T>() + DISTANCE_BYTES);
    for (pair, value) in each.zip(values.chunks_exact_mut(size_of::<T>())) {
        value.copy_from_slice(&pair[..size_of::<T>()]);
        let (grid_row, grid_column) = place(bytemuck::pod_read_unaligned(&pair[size_of::<T>()..]));
        // SAFETY: within the matrices of coordinates.
        unsafe {
            coordinates.rows.add(first + row).write_unaligned(grid_row as i32);
            coordinates.columns.add(first + row).write_unaligned(grid_column as i32);
        }
        row += 1;
        if row == rows {
            (row, first) = (0, first + stride);
        }
    }
    matrix.walk().scatter(&values);
}
