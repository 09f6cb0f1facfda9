//! Ranks in virtual time: for proof, and for machines we do not have.

use super::choice::Choices;
use super::neighborhood::RANK_COUNT_MAX;
use super::standstill;
use super::{Config, Job};
use crate::error::{Error, Result};
use crate::ni::{Ni, Routes, Settings, background, background::UnderWay, coroutine, refuse_in_handler};
use crate::sync::fence::Fences;
use crate::transport::Interface;
use crate::transport::hosts::Hosts;
use crate::transport::reliable::Counters;
use crate::transport::shm::layout::{JobMemory, Layout};
use crate::transport::sim::chance::Chance;
use crate::transport::sim::endpoint::Endpoint;
use crate::transport::sim::faults::Faults;
use crate::transport::sim::fiber::{Ending, Fiber};
use crate::transport::sim::machine::Machine;
use crate::transport::sim::nic::NicOrder;
use crate::transport::sim::passage::Passage;
use crate::transport::sim::world::{Next, World};
use std::sync::Arc;
use std::time::Duration;

/// A job on a simulated machine: the same programs as for [`crate::local`], in one thread, in virtual time.
///
/// ```
/// use hikyaku::sim::{Machine, Sim};
///
/// let run = Sim::new(Machine::plain(), 8, 1).run(|job| {
///     let table = job.symmetric::<u64>(1)?;
///     job.push(table.at((job.rank() + 1) % 8, 0), &[job.rank() as u64])?;
///     job.barrier()?;
///     hikyaku::Result::Ok(table.get(0))
/// })?;
/// let got = run.results.into_iter().collect::<hikyaku::Result<Vec<_>>>()?;
/// assert_eq!(got, [7, 0, 1, 2, 3, 4, 5, 6]);
/// println!("it took {:?} of virtual time", run.elapsed);
/// # hikyaku::Result::Ok(())
/// ```
#[derive(Clone, Debug)]
pub struct Sim {
    machine: Machine,
    size: usize,
    /// The host of each rank.
    hosts: Vec<u32>,
    seed: u64,
    config: Config,
    stack_bytes: usize,
    faults: Faults,
    nics: Option<NicOrder>,
    time_limit: Duration,
    trace: bool,
}

/// Address space of half a heap, if there is enough.
const HEAP_BYTES: u64 = 1 << 30;
/// And of those of all ranks.
const HEAPS_BYTES: u64 = 1 << 41;

/// What came of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Run<R> {
    /// What each rank returned.
    pub results: Vec<R>,
    /// Virtual time from the start to the last event.
    pub elapsed: Duration,
    /// Events.
    pub events: u64,
    /// What has happened on the links between ranks, if the wire has faults.
    pub links: Counters,
    /// A checksum of all events: the same seed gives the same one.
    pub hash: u64,
    /// What is said of ranks that have ended and left messages unhandled.
    pub remarks: Vec<String>,
    /// What went from where to where, if [`Sim::trace`] asked for it, in the order of sending.
    pub passages: Vec<Passage>,
}

impl Sim {
    /// A job of `size` ranks on a machine; everything left to chance follows from `seed`.
    pub fn new(machine: Machine, size: usize, seed: u64) -> Sim {
        // Not the machine that simulates, whose memory and choices may differ. Address space is all that a large heap costs.
        let heap_bytes = HEAP_BYTES.min(HEAPS_BYTES / size.max(1) as u64);
        let config = Config { ports: 16, heap_bytes, start_timeout: Duration::ZERO, choices: Choices::default() };
        Sim {
            machine,
            size,
            hosts: (0..size.min(RANK_COUNT_MAX) as u32).collect(),
            seed,
            config,
            stack_bytes: 512 * 1024,
            faults: Faults::default(),
            nics: None,
            time_limit: Duration::MAX,
            trace: false,
        }
    }

    /// Which versions of collectives are used, instead of the built-in choice.
    pub fn choices(mut self, choices: Choices) -> Sim {
        self.config.choices = choices;
        self
    }

    /// Address space for the symmetric memory of a rank, and as much again for its own areas.
    pub fn heap_bytes(mut self, bytes: u64) -> Sim {
        self.config.heap_bytes = bytes;
        self
    }

    /// On which host each rank is, in any order; without this each is on one of its own. Hosts are numbered from 0. Ranks of one
    /// host share its memory, and reach the others by its network.
    ///
    /// ```
    /// use hikyaku::sim::{Machine, Sim};
    ///
    /// let run = Sim::new(Machine::plain(), 4, 1).hosts(|rank| rank % 2).run(|job| {
    ///     job.is_mapped((job.rank() + 2) % 4)
    /// })?;
    /// assert!(run.results.into_iter().all(|is_mapped| is_mapped.unwrap()));
    /// # hikyaku::Result::Ok(())
    /// ```
    pub fn hosts(mut self, host_of: impl Fn(usize) -> usize) -> Sim {
        let ranks = 0..self.size.min(RANK_COUNT_MAX);
        self.hosts = ranks.map(|rank| u32::try_from(host_of(rank)).unwrap_or(u32::MAX)).collect();
        self
    }

    /// Bytes of stack of each rank's program. If there is no room for it, the run fails with [`Error::System`]; a program that
    /// needs more is ended by the kernel, as any that overflows its stack.
    pub fn stack_bytes(mut self, bytes: usize) -> Sim {
        self.stack_bytes = bytes;
        self
    }

    /// What goes wrong.
    pub fn faults(mut self, faults: Faults) -> Sim {
        self.faults = faults;
        self
    }

    /// Network interfaces reach memory of other hosts by themselves, as cards with remote memory do; without this they only carry
    /// packets, and the library does it.
    ///
    /// ```
    /// use hikyaku::sim::{Machine, NicOrder, Sim};
    ///
    /// let run = Sim::new(Machine::plain(), 2, 1).remote_memory(NicOrder::InOrder).trace(true).run(|job| {
    ///     let word = job.symmetric::<u64>(1)?;
    ///     for value in 1..=2 {
    ///         job.word(word.at(1, 0), value)?;
    ///         job.flush(1)?;
    ///     }
    ///     job.barrier()
    /// })?;
    /// assert!(run.passages.iter().any(|it| (it.what, it.from, it.to) == ("put", 0, 1)));
    /// # hikyaku::Result::Ok(())
    /// ```
    pub fn remote_memory(mut self, order: NicOrder) -> Sim {
        self.nics = Some(order);
        self
    }

    /// Virtual time after which a run fails.
    pub fn time_limit(mut self, limit: Duration) -> Sim {
        self.time_limit = limit;
        self
    }

    /// Whether [`Run::passages`] tells of every packet. Nothing else changes.
    ///
    /// ```
    /// use hikyaku::sim::{Machine, Sim};
    ///
    /// let run = Sim::new(Machine::plain(), 2, 1).trace(true).run(|job| {
    ///     let word = job.symmetric::<u64>(1)?;
    ///     job.word(word.at(1, 0), 7)?;
    ///     job.barrier()
    /// })?;
    /// for passage in &run.passages {
    ///     println!("{} from {} to {}: {:?}", passage.what, passage.from, passage.to, passage.arrived - passage.left);
    /// }
    /// # assert!(run.passages.iter().any(|it| (it.what, it.from, it.to) == ("word", 1, 0)));
    /// # hikyaku::Result::Ok(())
    /// ```
    pub fn trace(mut self, trace: bool) -> Sim {
        self.trace = trace;
        self
    }

    /// Runs `rank` on every rank. Fails if they wait for each other for ever, or if one was killed.
    ///
    /// # Panics
    /// If a rank panics, its peers get [`crate::Error::PeerDead`], and when all have ended the panic goes on here.
    pub fn run<R>(&self, rank: impl Fn(&Job) -> R) -> Result<Run<R>> {
        let run = self.run_mortal(rank)?;
        let one = |(rank, result): (usize, Option<R>)| result.ok_or(Error::PeerDead { rank });
        let results = run.results.into_iter().enumerate().map(one).collect::<Result<_>>()?;
        let Run { elapsed, events, links, hash, remarks, passages, .. } = run;
        Ok(Run { results, elapsed, events, links, hash, remarks, passages })
    }

    /// Runs the job where ranks may be killed: those return nothing.
    pub fn run_mortal<R>(&self, rank: impl Fn(&Job) -> R) -> Result<Run<Option<R>>> {
        if self.size > RANK_COUNT_MAX {
            return Err(Error::Invalid(format!("a job has 1 to {RANK_COUNT_MAX} ranks, not {}", self.size)));
        }
        self.faults.check(self.size)?;
        self.machine.check().map_err(|problem| Error::Invalid(format!("the machine has {problem}")))?;
        let hosts = Hosts::new(&self.hosts)?;
        let layout = |host| Layout::of_host(self.size, hosts.ranks_on(host), self.config.ports, self.config.heap_bytes);
        let layouts = (0..hosts.count()).map(layout).collect::<Result<Vec<_>>>()?;
        let memories = JobMemory::create_many(&layouts, self.config.choices.words())?;
        let memories: Vec<Arc<JobMemory>> = memories.into_iter().map(Arc::new).collect();
        let routes = memories.iter().enumerate().map(|(host, memory)| Routes::from(&hosts, host, memory));
        let routes: Vec<Routes> = routes.collect();
        let machine = self.machine.clone();
        let world =
            World::new(machine, (hosts.clone(), memories.clone()), self.seed, &self.faults, self.nics, self.trace);
        let world = Arc::new(world);
        let job = Chance::new(!self.seed).next().max(1);
        let interface = |rank| {
            let host = hosts.host_of(rank);
            let endpoint = Arc::new(Endpoint { world: world.clone(), rank, is_beside });
            let settings = Settings {
                rank,
                job,
                fences: Fences::for_threads(),
                crowded: false,
                cores: 1,
                threads: true,
                routes: routes[host].clone(),
                far: Some(endpoint.clone()),
                hardware: Some(endpoint.clone()),
                environment: Some(endpoint),
            };
            Ni::new(memories[host].clone(), settings)
        };
        let interfaces = (0..self.size).map(interface).collect::<Result<Vec<_>>>()?;
        let weak = |ni: &Arc<Ni>| Arc::downgrade(&(ni.clone() as Arc<dyn Interface>));
        world.connect(interfaces.iter().map(weak).collect());
        let program = |ni: Arc<Ni>| {
            let rank = &rank;
            move || {
                let job = Job::new(ni, None, None).inspect(Job::announce)?;
                let result = rank(&job);
                // What a handler has panicked with meanwhile must not go unheard.
                job.ni.failure.raise();
                job.has_returned.set(true);
                Ok(result)
            }
        };
        let owner = |ni: &Ni| world.owner(ni.rank);
        let fibers = interfaces.iter().map(|ni| Fiber::new(owner(ni), self.stack_bytes, program(ni.clone())));
        let fibers = fibers.map(|fiber| fiber.map(Some)).collect::<Result<Vec<_>>>()?;
        let explain = || {
            let views = |host: usize| standstill::look_back(&memories[host], routes[host].near());
            let mut views: Vec<_> = (0..memories.len()).flat_map(views).collect();
            views.sort_by_key(|view| view.rank);
            standstill::explain(&views)
        };
        let endings = turns(&world, fibers, self.time_limit, &explain)?;
        let (elapsed, events, hash) = world.summary();
        let ended = |ending: Ending<_>| ending.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let results = endings.into_iter().map(|ending| ending.map(ended).transpose()).collect::<Result<Vec<_>>>()?;
        // Where ranks have died, others could not end as they wanted.
        let has_no_deaths = interfaces.iter().all(|ni| ni.has_no_deaths());
        let remarks = interfaces.iter().filter(|_| has_no_deaths).filter_map(|ni| {
            let mut unhandled = ni.unhandled();
            world.take_inbox(ni.rank).iter().for_each(|parcel| unhandled.add(parcel.source, &parcel.packet));
            unhandled.text(ni.rank)
        });
        let (links, remarks) = (world.counters(), remarks.collect());
        Ok(Run { results, elapsed, events, links, hash, remarks, passages: world.take_passages() })
    }
}

fn is_beside() -> bool {
    coroutine::is_inside() || refuse_in_handler().is_err()
}

/// Lets the programs run, each when its time has come. A rank that was killed has no ending.
fn turns<R>(
    world: &World,
    mut fibers: Vec<Option<Fiber<'_, R>>>,
    limit: Duration,
    explain: &dyn Fn() -> String,
) -> Result<Vec<Option<Ending<R>>>> {
    let mut works: Vec<UnderWay> = fibers.iter().map(|_| UnderWay::default()).collect();
    let mut endings: Vec<Option<Ending<R>>> = fibers.iter().map(|_| None).collect();
    // Ranks of the same host may be in the middle of a transfer with one that was killed: its buffers stay.
    let mut killed = Vec::new();
    loop {
        if world.summary().0 > limit {
            break;
        }
        match world.advance() {
            Next::Went => {}
            Next::Nothing => break,
            Next::Kill(rank) => killed.push((rank, fibers[rank].take())),
            Next::Run(rank) => {
                let fiber = fibers[rank].as_mut().expect("a rank that has ended is not ready");
                background::exchange(&mut works[rank]);
                let ending = fiber.resume();
                background::exchange(&mut works[rank]);
                world.heed_bells(rank);
                if ending.is_some() {
                    endings[rank] = ending;
                    fibers[rank] = None;
                    world.end(rank);
                }
            }
        }
    }
    let stuck = world.unfinished();
    if !stuck.is_empty() {
        // Whatever they do while they are unwound ends at once.
        world.end_all();
        drop(fibers);
    }
    for (rank, fiber) in killed {
        background::exchange(&mut works[rank]);
        drop(fiber);
        background::exchange(&mut works[rank]);
    }
    if stuck.is_empty() {
        return Ok(endings);
    }
    // A panic is the better explanation.
    if let Some(panic) = endings.into_iter().flatten().find_map(Ending::err) {
        std::panic::resume_unwind(panic);
    }
    let first: Vec<_> = stuck.iter().take(8).map(usize::to_string).collect();
    let more = if stuck.len() > first.len() { " ..." } else { "" };
    let now = world.summary().0;
    let why = match now > limit {
        true => "have not ended within the limit",
        false => "wait for ever: nothing is under way that could wake them",
    };
    let text = format!("{now:?} after the start, ranks {}{more} {why}\n{}", first.join(", "), explain());
    Err(Error::Invalid(text.trim_end().into()))
}
