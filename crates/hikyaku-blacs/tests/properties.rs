//! Random programs on random grids, against a model that looks at one element at a time: all types, shapes, scopes and
//! topologies.

use hikyaku::collective::{Complex32, Complex64};
use hikyaku::sim::{Faults, Machine, Sim};
use hikyaku_blacs::{Blacs, Coordinates, Element, Grid, Matrix, Operation, Order, Shape};
use proptest::prelude::*;

/// What all processes of a grid do, one after the other.
#[derive(Clone, Debug)]
struct Step {
    kind: Kind,
    /// Which of the five types.
    element: u8,
    scope: u8,
    topology: u8,
    shape: Shape,
    m: i32,
    n: i32,
    /// Rows beyond the matrix, at the one who sends and at the one who receives.
    spare: [i32; 2],
    /// Processes, modulo what there is.
    from: usize,
    to: usize,
    seed: i64,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Message,
    Broadcast,
    /// With coordinates, and with the result at all.
    Combine(Operation, bool, bool),
}

/// A number as the model knows it: real and imaginary part.
type Parts = (f64, f64);

/// A type whose values are made of small numbers: sums are exact, and magnitudes are often equal.
trait Value: Element + PartialEq + std::fmt::Debug {
    fn parts(number: i64) -> Parts;
    fn of(parts: Parts) -> Self;
}

impl Value for i32 {
    fn parts(number: i64) -> Parts {
        ((number % 4) as f64, 0.0)
    }
    fn of(parts: Parts) -> i32 {
        parts.0 as i32
    }
}
impl Value for f32 {
    fn parts(number: i64) -> Parts {
        ((number % 4) as f64, 0.0)
    }
    fn of(parts: Parts) -> f32 {
        parts.0 as f32
    }
}
impl Value for f64 {
    fn parts(number: i64) -> Parts {
        ((number % 5) as f64 / 2.0, 0.0)
    }
    fn of(parts: Parts) -> f64 {
        parts.0
    }
}
impl Value for Complex32 {
    fn parts(number: i64) -> Parts {
        ((number % 3) as f64, (number / 3 % 3) as f64)
    }
    fn of(parts: Parts) -> Complex32 {
        Complex32 { re: parts.0 as f32, im: parts.1 as f32 }
    }
}
impl Value for Complex64 {
    fn parts(number: i64) -> Parts {
        ((number % 3) as f64, (number / 3 % 3) as f64)
    }
    fn of(parts: Parts) -> Complex64 {
        Complex64 { re: parts.0, im: parts.1 }
    }
}

/// What Netlib compares: not the absolute value of a complex number.
fn magnitude(value: Parts) -> f64 {
    value.0.abs() + value.1.abs()
}

/// A number between -1000 and 1000.
fn mix(parts: [i64; 4]) -> i64 {
    let mixed =
        parts.iter().fold(17u64, |sum, part| (sum ^ *part as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29));
    (mixed % 2001) as i64 - 1000
}

/// Whether element (i, j) belongs to a shape: by the position of the diagonal alone.
fn belongs(shape: Shape, m: i32, n: i32, i: i32, j: i32) -> bool {
    match shape {
        Shape::General => true,
        Shape::Upper { unit } => i - j < (m - n).max(0) + !unit as i32,
        Shape::Lower { unit } => i - j >= (m - n).min(0) + unit as i32,
    }
}

impl Step {
    /// The element (i, j) of the matrix of a process; those with i >= m are outside.
    fn parts<T: Value>(&self, process: usize, i: i32, j: i32) -> Parts {
        T::parts(mix([self.seed, process as i64, i as i64, j as i64]))
    }

    fn value<T: Value>(&self, process: usize, i: i32, j: i32) -> T {
        T::of(self.parts::<T>(process, i, j))
    }

    fn stride(&self, receives: bool) -> i32 {
        (self.m + self.spare[receives as usize]).max(1)
    }

    fn array<T: Value>(&self, process: usize, receives: bool) -> Vec<T> {
        let stride = self.stride(receives);
        (0..stride * self.n).map(|at| self.value(process, at % stride, at / stride)).collect()
    }

    /// Checks an array: what the model says inside, what was there before outside.
    fn check<T: Value>(&self, array: &[T], process: usize, receives: bool, inside: impl Fn(i32, i32) -> T) {
        let stride = self.stride(receives);
        for (at, found) in array.iter().enumerate() {
            let (i, j) = (at as i32 % stride, at as i32 / stride);
            let expected = match i < self.m && belongs(self.shape, self.m, self.n, i, j) {
                true => inside(i, j),
                false => self.value(process, i, j),
            };
            assert_eq!(*found, expected, "({i}, {j}) of process {process} in {self:?}");
        }
    }

    fn matrix<T: Value>(&self, array: &mut [T], receives: bool) -> Matrix {
        let (start, stride) = (array.as_mut_ptr().cast(), self.stride(receives));
        // SAFETY: the array is as large.
        unsafe { Matrix::new(start, size_of::<T>(), self.m, self.n, stride, self.shape) }
    }

    /// The processes that do this together with `process`, in order, on a grid of so many columns and processes.
    fn circle(&self, process: usize, columns: usize, size: usize) -> Vec<usize> {
        match self.scope {
            b'R' => (0..size).filter(|other| other / columns == process / columns).collect(),
            b'c' => (0..size).filter(|other| other % columns == process % columns).collect(),
            _ => (0..size).collect(),
        }
    }

    fn run<T: Value>(&self, grid: &Grid<'_>, me: usize) {
        let (columns, size) = (grid.position.columns, grid.ranks.len());
        let place = |process: usize| ((process / columns) as i32, (process % columns) as i32);
        match self.kind {
            Kind::Message => {
                let (from, to) = (self.from % size, self.to % size);
                if me == from {
                    let mut array = self.array::<T>(me, false);
                    grid.send(&self.matrix(&mut array, false), place(to).0, place(to).1).unwrap();
                }
                if me == to {
                    let mut array = self.array::<T>(me, true);
                    grid.receive(&self.matrix(&mut array, true), place(from).0, place(from).1).unwrap();
                    self.check(&array, me, true, |i, j| self.value(from, i, j));
                }
            }
            Kind::Broadcast => {
                let circle = self.circle(me, columns, size);
                let from = circle[self.from % circle.len()];
                let mut array = self.array::<T>(me, me != from);
                let matrix = self.matrix(&mut array, me != from);
                match me == from {
                    true => grid.broadcast(self.scope, self.topology, &matrix),
                    false => grid.receive_broadcast(self.scope, self.topology, &matrix, place(from).0, place(from).1),
                }
                .unwrap();
                self.check(&array, me, me != from, |i, j| self.value(from, i, j));
            }
            Kind::Combine(operation, located, all) => self.combine::<T>(grid, me, operation, located, all),
        }
    }

    fn combine<T: Value>(&self, grid: &Grid<'_>, me: usize, operation: Operation, located: bool, all: bool) {
        let (columns, size) = (grid.position.columns, grid.ranks.len());
        let circle = self.circle(me, columns, size);
        let to = self.to % circle.len();
        let (row, column) = match all {
            true => (-1, 0),
            false => ((circle[to] / columns) as i32, (circle[to] % columns) as i32),
        };
        let mut array = self.array::<T>(me, false);
        let stride = self.stride(false);
        let mut coordinates = [vec![-7; array.len()], vec![-7; array.len()]];
        let [rows, cols] = &mut coordinates;
        let places = located.then_some(Coordinates { rows: rows.as_mut_ptr(), columns: cols.as_mut_ptr(), stride });
        let matrix = self.matrix(&mut array, false);
        // SAFETY: the matrices of coordinates are as large.
        unsafe { grid.combine::<T>(operation, self.scope, self.topology, &matrix, places, row, column) }.unwrap();
        let gets_it = all || me == circle[to];
        // Beginning at the destination, or at the first: of equal ones the first counts, if coordinates are asked for.
        let begin = if all { 0 } else { to };
        let order: Vec<usize> = (0..circle.len()).map(|step| circle[(begin + step) % circle.len()]).collect();
        let model = |i: i32, j: i32| {
            order.iter().skip(1).fold((self.parts::<T>(order[0], i, j), order[0]), |best, process| {
                let value = self.parts::<T>(*process, i, j);
                if operation == Operation::Sum {
                    return ((best.0.0 + value.0, best.0.1 + value.1), best.1);
                }
                let counts = match operation {
                    Operation::Largest => magnitude(value) > magnitude(best.0),
                    _ => magnitude(value) < magnitude(best.0),
                };
                let equal = magnitude(value) == magnitude(best.0);
                // Without coordinates, of equal ones the greater: by the real part, then by the imaginary part.
                if counts || equal && !located && value > best.0 { (value, *process) } else { best }
            })
        };
        self.check(&array, me, false, |i, j| if gets_it { T::of(model(i, j).0) } else { self.value(me, i, j) });
        for (at, found) in coordinates[0].iter().zip(&coordinates[1]).enumerate() {
            let (i, j) = (at as i32 % stride, at as i32 / stride);
            let inside = i < self.m && gets_it && located;
            let from = if inside { model(i, j).1 } else { 0 };
            let expected = if inside { ((from / columns) as i32, (from % columns) as i32) } else { (-7, -7) };
            assert_eq!((*found.0, *found.1), expected, "({i}, {j}) of {me} in {self:?}");
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let operation = prop_oneof![Just(Operation::Sum), Just(Operation::Largest), Just(Operation::Smallest)];
    let kind = prop_oneof![
        2 => Just(Kind::Message),
        2 => Just(Kind::Broadcast),
        3 => (operation, any::<bool>(), any::<bool>()).prop_map(|(operation, located, all)| {
            Kind::Combine(operation, located && operation != Operation::Sum, all)
        }),
    ];
    let shape = (0u8..5).prop_map(|number| match number {
        0 => Shape::General,
        1 | 2 => Shape::Upper { unit: number == 1 },
        _ => Shape::Lower { unit: number == 3 },
    });
    // Mostly small, sometimes more than goes in one message.
    let side = prop_oneof![6 => 0..7i32, 1 => 40..90i32];
    let topologies = prop::sample::select(b" iDsHfmT123456789 ".to_vec());
    let names = (kind, 0u8..5, prop::sample::select(b"RcA".to_vec()), topologies, shape);
    let sizes = (side.clone(), side, [0..3i32, 0..3i32], 0..60usize, 0..60usize, any::<i64>());
    let step = (names, sizes).prop_map(|((kind, element, scope, topology, shape), (m, n, spare, from, to, seed))| {
        // Combines are of rectangles.
        let shape = if let Kind::Combine(..) = kind { Shape::General } else { shape };
        Step { kind, element, scope, topology, shape, m, n, spare, from, to, seed }
    });
    prop::collection::vec(step, 1..25)
}

/// A grid, what its topologies are made of, and what its processes do.
#[derive(Clone, Debug)]
struct Program {
    rows: i32,
    columns: i32,
    order: Order,
    rings: i32,
    branches: i32,
    steps: Vec<Step>,
}

impl Program {
    fn ranks(&self) -> usize {
        (self.rows * self.columns) as usize
    }

    fn run(&self, job: &hikyaku::Job) {
        let blacs = Blacs::new(job).unwrap();
        let context = blacs.grid_init(0, self.order, self.rows, self.columns).unwrap();
        for (what, value) in [(11, self.rings), (12, self.branches), (13, self.rings), (14, self.branches)] {
            assert_eq!(blacs.set(context, what, value).unwrap(), None);
        }
        let grid = blacs.grid(context).unwrap();
        let me = grid.position.row * grid.position.columns + grid.position.column;
        for step in &self.steps {
            match step.element {
                0 => step.run::<i32>(&grid, me),
                1 => step.run::<f32>(&grid, me),
                2 => step.run::<f64>(&grid, me),
                3 => step.run::<Complex32>(&grid, me),
                _ => step.run::<Complex64>(&grid, me),
            }
        }
        drop(grid);
        blacs.grid_exit(context).unwrap();
    }
}

fn programs() -> impl Strategy<Value = Program> {
    let rings = prop_oneof![-3..0i32, 1..4i32];
    let order = prop_oneof![Just(Order::Row), Just(Order::Column)];
    (1..4i32, 1..4i32, order, rings, 1..4i32, steps()).prop_map(|(rows, columns, order, rings, branches, steps)| {
        Program { rows, columns, order, rings, branches, steps }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn programs_do_what_the_model_says(program in programs()) {
        hikyaku::local(program.ranks(), |job| program.run(job)).unwrap();
    }

    /// Hosts of several ranks in mixed order, each alone, or all on one; over a wire with faults and over a perfect one.
    #[test]
    fn programs_do_what_the_model_says_over_simulated_hosts(
        program in programs(),
        hosts in 1..5usize,
        faults in prop_oneof![Just(0.0), Just(0.1)],
        seed in any::<u64>(),
    ) {
        let sim = Sim::new(Machine::plain(), program.ranks(), seed).heap_bytes(1 << 26).hosts(|rank| rank % hosts);
        sim.faults(Faults::of_wire(faults)).run(|job| program.run(job)).unwrap();
    }
}

/// Matrices of several megabytes, in one piece and not, with a receiver that waits and with one that comes late.
#[test]
fn long_matrices() {
    for late in [false, true] {
        for spare in [[0, 0], [0, 5], [3, 0], [2, 2]] {
            let step = Step {
                kind: Kind::Message,
                element: 2,
                scope: b'A',
                topology: b' ',
                shape: Shape::General,
                m: 1500,
                n: 900,
                spare,
                from: 0,
                to: 1,
                seed: 5,
            };
            hikyaku::local(2, |job| {
                let blacs = Blacs::new(job).unwrap();
                let context = blacs.grid_init(0, Order::Row, 1, 2).unwrap();
                let grid = blacs.grid(context).unwrap();
                if late && job.rank() == 1 {
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
                step.run::<f64>(&grid, job.rank());
                for shape in [Shape::General, Shape::Lower { unit: false }] {
                    let kind = Kind::Broadcast;
                    Step { kind, topology: b' ', shape, ..step.clone() }.run::<f64>(&grid, job.rank());
                    Step { kind, topology: b'i', shape, ..step.clone() }.run::<f64>(&grid, job.rank());
                }
                let kind = Kind::Combine(Operation::Largest, true, true);
                Step { kind, topology: b' ', ..step.clone() }.run::<f64>(&grid, job.rank());
            })
            .unwrap();
        }
    }
}

/// The bits of sums that depend on the order in which they are formed, by each topology, short and long.
fn inexact_sums(job: &hikyaku::Job) -> Vec<u64> {
    const TERMS: [f64; 6] = [1.0, 1e16, 3.0, -1e16, 0.1, 7e15];
    let blacs = Blacs::new(job).unwrap();
    let context = blacs.grid_init(0, Order::Row, 2, 3).unwrap();
    let grid = blacs.grid(context).unwrap();
    let mut bits = Vec::new();
    for topology in b" idsmfht129" {
        for length in [1, 3, 20_000] {
            let mut sums: Vec<f64> = (0..length).map(|index| TERMS[job.rank()] / (1 + index) as f64).collect();
            // SAFETY: as large as said; no coordinates are wanted.
            unsafe {
                let matrix = Matrix::new(sums.as_mut_ptr().cast(), 8, length, 1, length, Shape::General);
                grid.combine::<f64>(Operation::Sum, b'a', *topology, &matrix, None, -1, -1).unwrap();
            }
            bits.extend(sums.iter().map(|sum| sum.to_bits()));
        }
    }
    bits
}

#[test]
fn sums_are_the_same_to_the_last_bit_at_every_process_and_in_every_run() {
    let first = hikyaku::local(6, inexact_sums).unwrap();
    for bits in (0..3).flat_map(|_| hikyaku::local(6, inexact_sums).unwrap()).chain(first.clone()) {
        assert!(bits == first[0]);
    }
    // The order does matter: not all topologies come to the same.
    let firsts = first[0].chunks(20_004).map(|sums| sums[0]);
    assert!(firsts.collect::<std::collections::BTreeSet<_>>().len() > 1);
}
