//! Random programs against a plain model.
//!
//! In every round each rank may write one part of every memory, a different one each round, so the model knows the
//! outcome of a round whatever the order; counters, which everyone changes at once, commute.

use hikyaku::{Area, Atomic, Job, RemoteArea, Symmetric};
use hikyaku_testing::support::changed;
use hikyaku_testing::watchdog;
use proptest::prelude::*;

/// Words of a memory that one rank may write in a round.
const PART: usize = 24;
/// Words that everyone adds to.
const COUNTERS: usize = 3;

/// Which memory of a rank.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Symmetric,
    Mapped,
    Registered,
}

const KINDS: [Kind; 3] = [Kind::Symmetric, Kind::Mapped, Kind::Registered];

#[derive(Clone, Debug)]
enum Step {
    Push { kind: usize, rank: usize, at: usize, data: Vec<u64> },
    Pull { kind: usize, rank: usize, at: usize, len: usize },
    Word { kind: usize, rank: usize, at: usize, value: u64 },
    Change { kind: usize, rank: usize, at: usize, operation: Atomic },
    Count { kind: usize, rank: usize, counter: usize, value: u64 },
    Sync,
}

/// Steps by round and rank.
#[derive(Clone, Debug)]
struct Program {
    size: usize,
    rounds: Vec<Vec<Vec<Step>>>,
}

/// What the model holds: memory by kind and rank, counters last.
type Memory = Vec<Vec<Vec<u64>>>;

impl Program {
    fn words(&self) -> usize {
        PART * self.size + COUNTERS
    }

    /// The part of every memory that `rank` may write in `round`.
    fn part(&self, round: usize, rank: usize) -> usize {
        (rank + round) % self.size * PART
    }
}

/// Does a step on the model; gives what the step gives.
fn apply(memory: &mut Memory, part: usize, counters: usize, step: &Step) -> Vec<u64> {
    match *step {
        Step::Push { kind, rank, at, ref data } => {
            memory[kind][rank][part + at..][..data.len()].copy_from_slice(data);
            vec![]
        }
        Step::Pull { kind, rank, at, len } => memory[kind][rank][part + at..][..len].to_vec(),
        Step::Word { kind, rank, at, value } => {
            memory[kind][rank][part + at] = value;
            vec![]
        }
        Step::Change { kind, rank, at, operation } => {
            let word = &mut memory[kind][rank][part + at];
            let before = *word;
            *word = changed(before, operation);
            vec![before]
        }
        Step::Count { kind, rank, counter, value } => {
            let word = &mut memory[kind][rank][counters + counter];
            *word = word.wrapping_add(value);
            vec![]
        }
        Step::Sync => vec![],
    }
}

/// One rank's memories, and its ways to the others'.
struct Ways {
    symmetric: Symmetric<u64>,
    mapped: Area<u64>,
    registered: Area<u64>,
    remote: Vec<[RemoteArea<u64>; 2]>,
}

impl Ways {
    fn new(job: &Job, words: usize) -> Ways {
        let symmetric = job.symmetric(words).unwrap();
        let (mapped, registered) = (job.area(1, words).unwrap(), job.register(2, vec![0; words]).unwrap());
        job.barrier().unwrap();
        let remote = (0..job.size()).map(|rank| [1, 2].map(|id| job.open_area(rank, id).unwrap())).collect();
        Ways { symmetric, mapped, registered, remote }
    }

    fn at(&self, kind: usize, rank: usize, index: usize) -> hikyaku::Place<'_, u64> {
        match KINDS[kind] {
            Kind::Symmetric => self.symmetric.at(rank, index),
            Kind::Mapped => self.remote[rank][0].at(index),
            Kind::Registered => self.remote[rank][1].at(index),
        }
    }

    fn own(&self, kind: usize) -> Vec<u64> {
        match KINDS[kind] {
            Kind::Symmetric => self.symmetric.to_vec(),
            Kind::Mapped => self.mapped.to_vec(),
            Kind::Registered => self.registered.to_vec(),
        }
    }

    /// Does a step for real.
    fn perform(&self, job: &Job, part: usize, counters: usize, step: &Step) -> Vec<u64> {
        match *step {
            Step::Push { kind, rank, at, ref data } => job.push(self.at(kind, rank, part + at), data).unwrap(),
            Step::Pull { kind, rank, at, len } => {
                let mut got = vec![0; len];
                job.pull(self.at(kind, rank, part + at), &mut got).unwrap();
                return got;
            }
            Step::Word { kind, rank, at, value } => job.word(self.at(kind, rank, part + at), value).unwrap(),
            Step::Change { kind, rank, at, operation } => {
                return vec![job.atomic(self.at(kind, rank, part + at), operation).unwrap()];
            }
            Step::Count { kind, rank, counter, value } => {
                job.fetch_add(self.at(kind, rank, counters + counter), value).unwrap();
            }
            Step::Sync => job.sync().unwrap(),
        }
        vec![]
    }
}

/// Runs a program on a job and on the model, side by side.
fn run(program: &Program) {
    hikyaku::local(program.size, |job| {
        let (words, counters) = (program.words(), program.words() - COUNTERS);
        let ways = Ways::new(job, words);
        let mut memory: Memory = vec![vec![vec![0; words]; program.size]; KINDS.len()];
        for (round, by_rank) in program.rounds.iter().enumerate() {
            for (rank, steps) in by_rank.iter().enumerate() {
                let part = program.part(round, rank);
                for step in steps {
                    let expected = apply(&mut memory, part, counters, step);
                    if rank == job.rank() {
                        let got = ways.perform(job, part, counters, step);
                        assert_eq!(got, expected, "round {round}, rank {rank}: {step:?}");
                    }
                }
            }
            job.barrier().unwrap();
            for (kind, by_rank) in memory.iter().enumerate() {
                assert_eq!(ways.own(kind), by_rank[job.rank()], "round {round}, {:?} memory", KINDS[kind]);
            }
            // Nobody writes meanwhile, so any part of any memory may be looked at.
            let peer = (job.rank() + round) % program.size;
            let mut all = vec![0; words];
            job.pull(ways.at(round % KINDS.len(), peer, 0), &mut all).unwrap();
            assert_eq!(all, memory[round % KINDS.len()][peer], "round {round}, pulled from rank {peer}");
            job.barrier().unwrap();
        }
    })
    .unwrap();
}

fn operation() -> impl Strategy<Value = Atomic> {
    // Small values, so that a comparison is met now and then.
    let value = 0u64..4;
    prop_oneof![
        any::<u64>().prop_map(Atomic::Add),
        value.clone().prop_map(Atomic::Swap),
        (value.clone(), any::<u64>()).prop_map(|(old, new)| Atomic::CompareSwap { old, new }),
        any::<u64>().prop_map(Atomic::And),
        value.prop_map(Atomic::Or),
        any::<u64>().prop_map(Atomic::Xor),
    ]
}

fn step(size: usize) -> impl Strategy<Value = Step> {
    let place = (0..KINDS.len(), 0..size, 0..PART);
    let range = (0..=PART).prop_flat_map(|at| (Just(at), 0..=PART - at));
    prop_oneof![
        (0..KINDS.len(), 0..size, range.clone(), any::<u64>()).prop_map(|(kind, rank, (at, len), seed)| {
            let data = (0..len as u64).map(|i| seed.wrapping_mul(i + 1)).collect();
            Step::Push { kind, rank, at, data }
        }),
        (0..KINDS.len(), 0..size, range).prop_map(|(kind, rank, (at, len))| Step::Pull { kind, rank, at, len }),
        (place.clone(), 0u64..4).prop_map(|((kind, rank, at), value)| Step::Word { kind, rank, at, value }),
        (place, operation()).prop_map(|((kind, rank, at), operation)| Step::Change { kind, rank, at, operation }),
        (0..KINDS.len(), 0..size, 0..COUNTERS, any::<u64>()).prop_map(|(kind, rank, counter, value)| Step::Count {
            kind,
            rank,
            counter,
            value
        }),
        Just(Step::Sync),
    ]
}

fn program() -> impl Strategy<Value = Program> {
    (1usize..=4).prop_flat_map(|size| {
        let steps = proptest::collection::vec(step(size), 0..16);
        let round = proptest::collection::vec(steps, size);
        proptest::collection::vec(round, 1..7).prop_map(move |rounds| Program { size, rounds })
    })
}

/// What all ranks do together with symmetric memory.
#[derive(Clone, Debug)]
enum Call {
    Allocate(usize),
    /// The area with this number, counted round.
    Free(usize),
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let size = prop_oneof![0usize..200, 3900usize..4200, 0usize..40_000];
    proptest::collection::vec(
        prop_oneof![3 => size.prop_map(Call::Allocate), 2 => any::<usize>().prop_map(Call::Free)],
        1..40,
    )
}

/// Does the calls on three ranks; gives each rank's places, counted from its first.
fn allocate(calls: &[Call]) -> Vec<Vec<usize>> {
    hikyaku::local(3, |job| {
        let next = (job.rank() + 1) % 3;
        let first = job.symmetric::<u8>(64).unwrap().as_ptr() as usize;
        let mut live: Vec<(Symmetric<u8>, u8)> = Vec::new();
        let mut places = Vec::new();
        for (number, call) in calls.iter().enumerate() {
            match *call {
                Call::Allocate(len) => {
                    let area = job.symmetric::<u8>(len).unwrap();
                    places.push(area.as_ptr() as usize - first);
                    assert!(area.to_vec().iter().all(|byte| *byte == 0), "call {number}: not zeroed");
                    job.barrier().unwrap();
                    let value = number as u8 + 1;
                    // All of it, and by a peer: that shows both the place and the size.
                    job.push(area.at(next, 0), &vec![value; len]).unwrap();
                    live.push((area, value));
                }
                Call::Free(_) if live.is_empty() => {}
                Call::Free(pick) => job.free(live.swap_remove(pick % live.len()).0).unwrap(),
            }
            job.barrier().unwrap();
            for (area, value) in &live {
                assert!(area.to_vec().iter().all(|byte| byte == value), "call {number} changed another area");
            }
            job.barrier().unwrap();
        }
        places
    })
    .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.min(100), ..ProptestConfig::default() })]

    #[test]
    fn programs_do_what_the_model_does(program in program()) {
        watchdog::watched("a random program", || run(&program));
    }

    #[test]
    fn symmetric_memory_is_equal_zeroed_and_apart(calls in calls()) {
        let places = watchdog::watched("random allocations", || allocate(&calls));
        prop_assert_eq!(&places[0], &places[1]);
        prop_assert_eq!(&places[0], &places[2]);
    }
}
