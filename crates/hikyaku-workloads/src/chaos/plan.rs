//! What a seed stands for.

use super::trouble::{Outcome, promise};
use super::{active, locks, matched, memory, multicast, regions, revoked, slots, together, workers};
use crate::chance::Chance;
use hikyaku::sim::{
    Crash, Faults, Hardware, HardwareBarrier, HardwareBroadcast, Machine, NicOrder, Partition, Shape, Slow,
};
use hikyaku::{By, Error, Job};
use std::fmt;
use std::time::Duration;

/// What the ranks do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Workload {
    /// Pushes, pulls, words, atomic operations.
    Memory,
    /// Active messages and calls.
    Active,
    /// Messages in slots.
    Slots,
    /// Collective calls.
    Together,
    /// Areas that come and go.
    Revoked,
    /// Locks.
    Locks,
    /// Messages that are matched by keys: a part of `Slots`, too.
    Matching,
    /// Shared regions: a part of `Memory`, too.
    Regions,
    /// Parts of memory, for one rank or several: a part of `Memory`, too.
    Multicast,
    /// Some of the above, one after the other.
    Mixture,
}

impl Workload {
    /// All of them.
    pub const ALL: [Workload; 10] = [
        Workload::Memory,
        Workload::Active,
        Workload::Slots,
        Workload::Together,
        Workload::Revoked,
        Workload::Locks,
        Workload::Mixture,
        Workload::Matching,
        Workload::Regions,
        Workload::Multicast,
    ];

    /// Those of which a seed chooses.
    const DRAWN: &[Workload] = Workload::ALL.split_at(7).0;
    /// Those of which a mixture consists.
    const MIXED: &[Workload] = Workload::ALL.split_at(6).0;

    /// As in `--workload`.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Memory => "memory",
            Workload::Active => "active",
            Workload::Slots => "slots",
            Workload::Together => "together",
            Workload::Revoked => "revoked",
            Workload::Locks => "locks",
            Workload::Matching => "matching",
            Workload::Regions => "regions",
            Workload::Multicast => "multicast",
            Workload::Mixture => "mixture",
        }
    }

    /// One rank's part. In the end all memory must have come back.
    pub(super) fn run(self, job: &Job, seed: u64) -> Outcome {
        job.register_handler(FAREWELL, |_, _| {})?;
        let before = free_memory(job)?;
        match self {
            Workload::Mixture => {
                let mut chance = Chance::new(seed, 7);
                for part in 0..2 + chance.below(2) as u64 {
                    chance.pick(Workload::MIXED).perform(job, Chance::new(seed, 100 + part).number())?;
                }
            }
            _ => self.perform(job, seed)?,
        }
        job.sync()?;
        job.barrier()?;
        let after = free_memory(job)?;
        promise!(before == after, "a leak: {before:?} bytes were free, and {after:?} are");
        if self == Workload::Together && seed.is_multiple_of(4) {
            together::disagreement(job, seed)?;
        }
        if self == Workload::Memory && seed.is_multiple_of(2) {
            regions::run(job, seed)?;
        }
        if self == Workload::Memory && seed.is_multiple_of(3) {
            multicast::run(job, seed)?;
        }
        if self == Workload::Slots && seed.is_multiple_of(2) {
            matched::run(job, seed)?;
        }
        if self == Workload::Slots && seed.is_multiple_of(3) {
            workers::run(job, seed)?;
        }
        say_farewell(job)
    }

    fn perform(self, job: &Job, seed: u64) -> Outcome {
        match self {
            Workload::Memory => memory::run(job, seed),
            Workload::Active => active::run(job, seed),
            Workload::Slots => slots::run(job, seed),
            Workload::Together => together::run(job, seed),
            Workload::Revoked => revoked::run(job, seed),
            Workload::Locks => locks::run(job, seed),
            Workload::Matching => matched::run(job, seed),
            Workload::Regions => regions::run(job, seed),
            Workload::Multicast => multicast::run(job, seed),
            Workload::Mixture => unreachable!("a mixture of others"),
        }
    }
}

/// Handler of the last message of a rank.
const FAREWELL: u16 = 9;

/// Each rank sends to the next and leaves: what it did before counts, though it may still be under way.
fn say_farewell(job: &Job) -> Outcome {
    let (me, size) = (job.rank(), job.size());
    job.send((me + 1) % size, FAREWELL, 0, [0; 6], &[])?;
    Ok(job.wait_handled(By::Rank((me + size - 1) % size), FAREWELL, 1)?)
}

/// The largest free parts of this rank's heaps, as told to those who ask for too much.
fn free_memory(job: &Job) -> Outcome<[u64; 2]> {
    let told = |error: Option<Error>| match error {
        Some(Error::NoMemory { available, .. }) => Ok(available),
        Some(other) => Err(other),
        None => Err(Error::Invalid("more memory than there is".into())),
    };
    let symmetric = told(job.symmetric::<u8>(1 << 40).err())?;
    Ok([symmetric, told(job.area::<u8>(0, 1 << 40).err())?])
}

/// What a seed stands for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed.
    pub seed: u64,
    /// Ranks.
    pub ranks: usize,
    /// The host of each rank.
    pub hosts: Vec<usize>,
    /// What they do.
    pub workload: Workload,
    /// The network has a broadcast and a barrier of its own.
    pub hardware: bool,
    /// Network interfaces reach memory of other hosts by themselves.
    pub nics: Option<NicOrder>,
    /// What goes wrong.
    pub faults: Faults,
}

impl Plan {
    /// The plan of a seed, with another workload if one is given.
    pub fn new(seed: u64, workload: Option<Workload>) -> Plan {
        let mut chance = Chance::new(seed, 1);
        let chosen = chance.pick(Workload::DRAWN);
        // Mostly few: what goes wrong between three ranks is found sooner than between eight.
        let ranks = chance.pick(&[2, 2, 3, 3, 3, 4, 4, 5, 6, 7, 8]);
        let hardware = Chance::new(seed, 10).once_in(3);
        let (hosts, workload) = (hosts(&mut Chance::new(seed, 11), ranks), workload.unwrap_or(chosen));
        Plan {
            seed,
            ranks,
            hosts,
            workload,
            hardware,
            nics: nics(&mut Chance::new(seed, 13)),
            faults: faults(&mut chance, ranks),
        }
    }

    /// The plan of a seed, in which one in six has a cut that does not heal.
    pub fn parted(seed: u64, workload: Option<Workload>) -> Plan {
        let mut plan = Plan::new(seed, workload);
        plan.faults.partitions.extend(lasting_cut(&mut Chance::new(seed, 12), plan.ranks));
        plan
    }

    /// The machine it runs on: one of round numbers.
    pub(super) fn machine(&self) -> Machine {
        let mut machine = Machine::plain();
        if self.hardware {
            let condition = || "none".to_owned();
            let barrier = HardwareBarrier { time: 1.0, shape: Shape::Any, condition: condition() };
            let broadcast = HardwareBroadcast {
                start: 0.0,
                bandwidth: 10_000.0,
                buffers: 2,
                // So that most broadcasts take several.
                buffer_bytes: 1000,
                serial: true,
                shape: Shape::Any,
                condition: condition(),
            };
            machine.hardware = Hardware { barrier: Some(barrier), broadcast: Some(broadcast) };
        }
        machine
    }

    /// Whether a rank is killed.
    pub fn is_mortal(&self) -> bool {
        !self.faults.crashes.is_empty()
    }

    /// Whether two ranks lose each other for good. Ranks of one host need no network.
    pub fn is_cut(&self, one: usize, other: usize) -> bool {
        let lasting = |cut: &&Partition| cut.end == Duration::MAX;
        let parts = |cut: &Partition| cut.ranks.contains(&one) != cut.ranks.contains(&other);
        self.hosts[one] != self.hosts[other] && self.faults.partitions.iter().filter(lasting).any(parts)
    }

    /// Whether any two do.
    pub fn is_torn(&self) -> bool {
        (0..self.ranks).any(|one| (0..one).any(|other| self.is_cut(one, other)))
    }
}

/// Which rank is on which host: each alone, all together, or several on some, in any order.
fn hosts(chance: &mut Chance, ranks: usize) -> Vec<usize> {
    match chance.below(6) {
        0 => (0..ranks).collect(),
        1 => vec![0; ranks],
        2 => (0..ranks).map(|rank| rank % 2).collect(),
        3 => (0..ranks).map(|rank| rank / 2).collect(),
        _ => {
            let mut count = 0;
            let mut host = || {
                let host = chance.below(count + 1);
                count = count.max(host + 1);
                host
            };
            (0..ranks).map(|_| host()).collect()
        }
    }
}

/// Whether network interfaces reach memory by themselves, and how.
fn nics(chance: &mut Chance) -> Option<NicOrder> {
    const ORDERS: [NicOrder; 4] = [NicOrder::InOrder, NicOrder::AnyOrder, NicOrder::AnyOrder, NicOrder::TransfersOnly];
    chance.once_in(3).then(|| chance.pick(&ORDERS))
}

/// A cut that does not heal, in one direction or both: those on either side of it lose each other.
fn lasting_cut(chance: &mut Chance, ranks: usize) -> Option<Partition> {
    chance.once_in(6).then(|| Partition {
        ranks: (0..ranks).filter(|_| chance.once_in(2)).collect(),
        both_ways: chance.once_in(3),
        start: moment(chance),
        end: Duration::MAX,
    })
}

/// When the script of a run plays: most runs take some hundred microseconds.
fn moment(chance: &mut Chance) -> Duration {
    let most = chance.pick(&[20_000, 200_000, 2_000_000]);
    Duration::from_nanos(chance.below(most) as u64)
}

fn faults(chance: &mut Chance, ranks: usize) -> Faults {
    let mut faults = Faults::default();
    // One run in eight is on a perfect wire: there the library is on its own.
    if !chance.once_in(8) {
        let mut level = || if chance.once_in(3) { 0.0 } else { 0.3 * chance.fraction() };
        (faults.loss, faults.duplication) = (level(), level());
        (faults.reordering, faults.corruption) = (level(), level());
        if chance.once_in(4) {
            faults.delay = Duration::from_nanos(1000 + chance.below(100_000) as u64);
        }
        for _ in 0..if chance.once_in(3) { 1 + chance.below(2) } else { 0 } {
            let start = moment(chance);
            faults.partitions.push(Partition {
                ranks: (0..ranks).filter(|_| chance.once_in(2)).collect(),
                both_ways: chance.once_in(2),
                start,
                // Links give up after some milliseconds without a sign of life.
                end: start + Duration::from_nanos(chance.below(500_000) as u64),
            });
        }
        if chance.once_in(5) {
            faults.crashes.push(Crash { rank: chance.below(ranks), at: moment(chance) });
        }
    }
    if chance.once_in(3) {
        faults.slow.push(Slow { rank: chance.below(ranks), factor: 1.0 + 50.0 * chance.fraction() });
    }
    if chance.once_in(3) {
        faults.buffers = Some(1 + chance.below(8));
    }
    faults
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plan { seed, ranks, hosts, workload, hardware, nics, faults } = self;
        write!(f, "seed {seed} ({} on {ranks} ranks of hosts {hosts:?}", workload.name())?;
        if *hardware {
            write!(f, ", broadcast and barrier by the network")?;
        }
        match nics {
            Some(NicOrder::InOrder) => write!(f, ", remote memory in order")?,
            Some(NicOrder::TransfersOnly) => write!(f, ", remote memory for transfers only")?,
            Some(NicOrder::AreasOnly) => write!(f, ", remote memory for transfers with areas only")?,
            Some(_) => write!(f, ", remote memory in any order")?,
            None => {}
        }
        let chances = [
            ("loss", faults.loss),
            ("duplication", faults.duplication),
            ("reordering", faults.reordering),
            ("corruption", faults.corruption),
        ];
        for (name, chance) in chances.iter().filter(|(_, chance)| *chance > 0.0) {
            write!(f, ", {name} {:.0} %", chance * 100.0)?;
        }
        if !faults.delay.is_zero() {
            write!(f, ", delays up to {:?}", faults.delay)?;
        }
        for cut in &faults.partitions {
            let ways = if cut.both_ways { "from and to" } else { "from" };
            write!(f, ", nothing {ways} {:?} from {:?}", cut.ranks, cut.start)?;
            if cut.end < Duration::MAX {
                write!(f, " to {:?}", cut.end)?;
            }
        }
        for slow in &faults.slow {
            write!(f, ", rank {} {:.0} times as slow", slow.rank, slow.factor)?;
        }
        if let Some(buffers) = faults.buffers {
            write!(f, ", {buffers} packets per queue")?;
        }
        for crash in &faults.crashes {
            write!(f, ", rank {} dies after {:?}", crash.rank, crash.at)?;
        }
        write!(f, ")")
    }
}
