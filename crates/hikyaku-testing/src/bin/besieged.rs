//! Rank 0, and others if there are, work while rank 1, which works along, writes random words all over the job's shared memory: see `tests/hostile.rs`.
//! Whatever comes of it is right, but a crash, and bytes beside the buffers of the others that change. Words are all that rank 1
//! writes: the system calls by which it could write into their private memory are withheld, since its own library believes
//! the words that it has spoilt, and would write for it.
//!
//! Arguments: the words rank 1 writes before it dies, and the seed of everything.

use hikyaku::collective::{Formation, FormationChannel, Sum};
use hikyaku::exchange::Exchange;
use hikyaku::matching::Matching;
use hikyaku::message::{Messages, Mode};
use hikyaku::{CountingBarrier, Error, Group, Job, Mutex as Lock, Queue, Region, Result, Symmetric};
use hikyaku_testing::chance::Chance;
use hikyaku_testing::os::while_registered;
use hikyaku_testing::reach;
use hikyaku_testing::segment::Segment;
use hikyaku_testing::support::lock;
use std::cell::RefCell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Steps that rank 0 has begun.
static STEPS: AtomicU64 = AtomicU64::new(0);
/// The last of them.
static STEP: Mutex<&str> = Mutex::new("the start");
/// A step that takes longer, without the attacker, has been led into waiting for what never comes.
const PATIENCE: Duration = Duration::from_secs(2);
/// How rank 0 ends then: it sleeps, or it does not.
const WAITS: i32 = 3;
const SPINS: i32 = 4;
/// Errors after which the two are so far out of step that nothing new comes of it.
const ERRORS_MAX: usize = 12;

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).map(|number| number.parse().expect("a number")).collect();
    let [words, seed] = numbers[..] else { panic!("words and a seed") };
    let job = Job::start().unwrap();
    let is_victim = job.rank() != 1;
    let siege = Siege::new(&job, seed).unwrap();
    siege.table.set(0, std::process::id() as u64);
    job.barrier().unwrap();
    let attacker = job.pull_one(siege.table.at(1, 0)).unwrap() as i32;
    if !is_victim {
        reach::withhold();
    }
    if is_victim {
        std::thread::spawn(move || watch(attacker));
    }
    // The siege may have begun before this returns.
    let _ = job.barrier();
    if !is_victim {
        std::thread::spawn(move || scribble(words, seed));
    }
    siege.run();
    if !is_victim {
        // Until the words are written.
        loop {
            std::thread::park();
        }
    }
    // Whatever the ends of jobs, groups and messages would wait for.
    *lock(&STEP) = "the end";
    drop(siege);
    drop(job);
    println!("unharmed after {} steps", STEPS.load(Ordering::Relaxed));
}

/// Ends the process if it is stuck though the attacker, for whom it may wait, has ended.
fn watch(attacker: i32) {
    let is_alive = || {
        // One that nobody has asked for its status yet is still there, in state Z.
        let status = std::fs::read_to_string(format!("/proc/{attacker}/stat")).unwrap_or_default();
        status.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with(['Z', 'X']))
    };
    let (mut last, mut since) = (0, Instant::now());
    loop {
        std::thread::sleep(PATIENCE / 20);
        let now = STEPS.load(Ordering::Relaxed);
        if now != last || is_alive() {
            (last, since) = (now, Instant::now());
        } else if since.elapsed() > PATIENCE {
            let (sleeps, step) = (is_asleep(), lock(&STEP));
            println!("{} in {step}", if sleeps { "waits" } else { "spins" });
            hikyaku_testing::os::exit_now(if sleeps { WAITS } else { SPINS });
        }
    }
}

/// Whether the first thread sleeps: one that waits does, one in a loop does not.
fn is_asleep() -> bool {
    let state = || {
        std::thread::sleep(Duration::from_millis(10));
        let status =
            std::fs::read_to_string(format!("/proc/self/task/{}/stat", std::process::id())).unwrap_or_default();
        status.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('S'))
    };
    (0..50).filter(|_| state()).count() > 25
}

/// Writes so many words, and dies.
fn scribble(words: u64, seed: u64) {
    const NUMBERS: [u64; 14] =
        [0, 1, 2, 3, 8, 64, 0xffff, 0xffff_ffff, 1 << 32, 1 << 47, i64::MAX as u64, 1 << 63, u64::MAX - 1, u64::MAX];
    let (segment, mut chance) = (Segment::find(), Chance::new(seed, 1));
    let mut places: Vec<usize> = Vec::new();
    for word in 0..words {
        if word % 64 == 0 {
            // Where something is that is not the content of a buffer, and the words beside: what is used is there.
            places = segment.search(|[word]: [u64; 1]| word != 0 && word != word.rotate_left(8));
        }
        let near = places.get(chance.below(places.len())).copied().unwrap_or(0);
        let place = segment.word((near / 8 + chance.below(3)) * 8);
        let old = place.load(Ordering::Relaxed);
        let value = match chance.below(7) {
            0 => NUMBERS[chance.below(NUMBERS.len())],
            1 => old.wrapping_add(1),
            2 => old.wrapping_sub(1),
            3 => old ^ 1 << chance.below(64),
            4 => segment.word(places.get(chance.below(places.len())).copied().unwrap_or(0)).load(Ordering::Relaxed),
            5 => chance.number() >> chance.below(64),
            _ => old.rotate_left(chance.below(64) as u32),
        };
        place.store(value, Ordering::SeqCst);
        // Now as fast as it goes, now one by one.
        for _ in 0..chance.pick(&[0, 10, 1000, 10_000]) {
            std::hint::spin_loop();
        }
        if chance.below(4) == 0 {
            std::thread::yield_now();
        }
    }
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
}

/// Bytes with guards on both sides.
struct Guarded(Vec<u8>);

impl Guarded {
    const GUARD: usize = 64;

    fn new(bytes: usize) -> Guarded {
        let mut all = vec![0xAA; bytes + 2 * Guarded::GUARD];
        all[Guarded::GUARD..Guarded::GUARD + bytes].fill(1);
        Guarded(all)
    }

    fn bytes(&mut self) -> &mut [u8] {
        let end = self.0.len() - Guarded::GUARD;
        &mut self.0[Guarded::GUARD..end]
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let guards = self.0.iter().take(Guarded::GUARD).chain(self.0.iter().rev().take(Guarded::GUARD));
        assert!(guards.into_iter().all(|byte| *byte == 0xAA) || std::thread::panicking(), "written beside a buffer");
    }
}

fn add(total: &mut [u8], input: &[u8]) {
    total.iter_mut().zip(input).for_each(|(total, input)| *total = total.wrapping_add(*input));
}

const LENGTHS: [usize; 8] = [0, 5, 8, 60, 500, 5000, 30_000, 200_000];

struct Siege<'j> {
    job: &'j Job,
    messages: Messages<'j>,
    spooled: Messages<'j>,
    channel: FormationChannel<'j>,
    world: Group<'j>,
    table: Symmetric<u64>,
    matching: Matching<'j>,
    mail: Exchange<'j>,
    /// Its owner is rank 0.
    queue: RefCell<Queue<'j, u64>>,
    lock: Lock<'j>,
    region: Region<'j, u64>,
    barrier: CountingBarrier<'j>,
    seed: u64,
    /// What nobody was told of.
    secret: Vec<u64>,
}

impl<'j> Siege<'j> {
    fn new(job: &'j Job, seed: u64) -> Result<Siege<'j>> {
        job.register_handler(1, |context, message| drop(context.reply(message.arguments)))?;
        job.register_handler(2, |context, message| {
            drop(context.send(message.source, 3, message.address, message.arguments, message.payload));
        })?;
        job.register_handler(3, |_, message| assert!(message.payload.len() <= hikyaku::PAYLOAD_MAX))?;
        let (messages, spooled) = (job.messages(3)?, job.messages(2)?);
        spooled.set_spare(1 << 20)?;
        spooled.set_mode(Mode::Spool(Duration::ZERO));
        Ok(Siege {
            job,
            messages,
            spooled,
            channel: FormationChannel::new(job, 1)?,
            world: job.new_world()?,
            table: job.symmetric(64)?,
            matching: job.matching()?,
            mail: job.exchange()?,
            queue: RefCell::new(job.queue(0, QUEUED)?),
            lock: job.mutex(0)?,
            region: job.region(0, SHARED)?,
            barrier: job.counting_barrier(0)?,
            seed,
            secret: vec![0x5ec7e7; 4096],
        })
    }

    /// Both ranks take the same steps, until they are out of step.
    fn run(&self) {
        let mut chance = Chance::new(self.seed, 0);
        let mut errors = 0;
        for _ in 0..400 {
            let step = chance.below(NAMES.len());
            let length = chance.pick(&LENGTHS);
            let name = NAMES[step];
            *lock(&STEP) = name;
            STEPS.fetch_add(1, Ordering::Relaxed);
            let taken = self.step(name, length, &mut chance);
            assert!(self.secret.iter().all(|word| *word == 0x5ec7e7), "{name}: private memory was written");
            match taken {
                Ok(()) => {}
                Err(Error::PeerDead { .. } | Error::PeerLeft { .. }) if !self.are_all_there() => break,
                Err(error) => {
                    println!("{name}: {error}");
                    errors += 1;
                }
            }
            if errors == ERRORS_MAX {
                break;
            }
        }
    }

    fn are_all_there(&self) -> bool {
        (0..self.job.size()).all(|rank| self.job.is_present(rank).unwrap_or(false))
    }

    fn step(&self, name: &str, length: usize, chance: &mut Chance) -> Result<()> {
        let (job, world, me) = (self.job, &self.world, self.job.rank());
        let size = job.size();
        // One that is sent to, and one that is received from; of two ranks, the same.
        let (other, from, root) = ((me + 1) % size, (me + size - 1) % size, chance.below(size));
        let (mut one, mut two) = (Guarded::new(length), Guarded::new(length));
        let mut all = Guarded::new(size * length);
        match name {
            "an exchange" => self.exchange(&self.messages, one.bytes(), two.bytes(), [other, from]),
            "a message to oneself" => self.exchange(&self.messages, one.bytes(), two.bytes(), [me, me]),
            "spooled messages" => {
                (0..4).try_for_each(|_| self.spooled.send(one.bytes(), other, 0))?;
                (0..4).try_for_each(|_| self.spooled.recv(two.bytes(), from, 0).map(drop))
            }
            "messages from anyone" => {
                self.messages.send_any(one.bytes(), other, 1)?;
                self.messages.recv_any(two.bytes(), 1).map(drop)?;
                self.messages.send(&one.bytes()[..length.min(60)], other, 2)?;
                self.messages.recv_any_slot(two.bytes(), from).map(drop)
            }
            "prepared messages" => {
                let mut send = self.messages.prepare_send(vec![1u8; length], other, 0)?;
                let mut receive = self.messages.prepare_recv(vec![0u8; length], from, 0)?;
                for _ in 0..3 {
                    receive.start()?;
                    send.start()?;
                    send.wait()?;
                    receive.wait()?;
                }
                Ok(())
            }
            "a barrier" => world.barrier(),
            "a barrier of the job" => job.barrier(),
            "a broadcast" => world.broadcast(one.bytes(), root),
            "an allreduce" => world.allreduce(one.bytes(), add),
            "a reduce and a scan" => {
                world.reduce(one.bytes(), add, root)?;
                world.scan(two.bytes(), add)
            }
            "moving blocks" => {
                world.allgather(one.bytes(), all.bytes())?;
                world.scatter(all.bytes(), two.bytes(), root)?;
                let blocks = all.bytes().to_vec();
                world.alltoall(&blocks, all.bytes())
            }
            "calls under way" => {
                let mut sum = [1u64; 10];
                world.scope(|scope| {
                    let first = scope.iallreduce(&mut sum, Sum)?;
                    let second = scope.ibroadcast(one.bytes(), root)?;
                    let third = scope.ibarrier()?;
                    scope.wait(third)?;
                    scope.wait(first)?;
                    scope.wait(second)
                })
            }
            "groups" => {
                let half = world.split(Some(7), me as i64)?;
                half.map_or(Ok(()), |group| {
                    group.barrier()?;
                    group.free()
                })
            }
            "a formation" => {
                let ranks: Vec<_> = (0..size).collect();
                let formed = Formation::new(&self.channel, 0, &ranks, &[&ranks], 1)?;
                formed.all().barrier()?;
                let mut retired = formed.retire();
                (0..1000).try_for_each(|_| retired.try_free().map(drop))
            }
            "areas" => self.areas(length, other, chance),
            "matched messages" => self.matching.scope(|scope| {
                let key = chance.below(3) as u64;
                let send = scope.isend(one.bytes(), other, key)?;
                if chance.below(2) == 0 {
                    self.matching.try_probe(from, key).map(drop)?;
                }
                let receive = scope.irecv(two.bytes(), from, key)?;
                scope.wait_receive(receive).map(drop)?;
                scope.wait_send(send)
            }),
            "message exchange" => {
                let short = length.min(self.mail.buffered_max());
                self.mail.send(&one.bytes()[..short], other, 1)?;
                self.mail.try_probe(from, 1)?;
                self.mail.recv_for(two.bytes(), from, 1, SOON).map(drop)
            }
            "a queue" => self.use_queue(chance),
            "a lock" => {
                let turn = match chance.below(3) {
                    0 => self.lock.try_lock()?,
                    1 => Some(self.lock.lock_for(SOON)?),
                    _ => Some(self.lock.lock()?),
                };
                job.push(self.table.at(0, 62), &[chance.number()])?;
                turn.map_or(Ok(()), |turn| turn.unlock())
            }
            "a region" => self.share(chance),
            "a counted barrier" => {
                let posted = self.barrier.post();
                self.barrier.is_complete()?;
                self.barrier.wait_for(SOON)?;
                posted
            }
            "remote operations" => {
                let (at, value) = (chance.below(60), chance.number());
                job.push(self.table.at(other, at), &[value, value, value])?;
                job.fetch_add(self.table.at(other, at), 1)?;
                job.word(self.table.at(other, 63), value)?;
                job.pull_one(self.table.at(other, at)).map(drop)?;
                job.sync()
            }
            _ => {
                let payload = vec![2; length.min(hikyaku::PAYLOAD_MAX)];
                job.send(other, 2, 7, [1; 6], &payload)?;
                job.send(me, 3, 7, [1; 6], &payload)?;
                job.call(other, 1, [2; 6], &payload[..payload.len().min(100)]).map(drop)?;
                job.progress();
                Ok(())
            }
        }
    }

    fn use_queue(&self, chance: &mut Chance) -> Result<()> {
        let mut queue = self.queue.borrow_mut();
        if self.job.rank() != 0 {
            queue.try_push_many(&[chance.number(); 3])?;
            return queue.try_push(7).map(drop);
        }
        for _ in 0..QUEUED {
            if let Some(items) = queue.try_pop_many(4)? {
                assert!(items.iter().count() <= 4);
            }
            queue.try_pop()?.map(|item| item.get());
        }
        Ok(())
    }

    fn share(&self, chance: &mut Chance) -> Result<()> {
        let (mut copy, at) = (vec![0; SHARED], chance.below(SHARED));
        let shared = self.region.subscribe()?;
        let mut twin = shared.read_twin(&mut copy)?;
        copy[at] ^= chance.number();
        shared.write_diff(&copy, &mut twin)?;
        shared.write(at, &[1])?;
        shared.get(at)?;
        shared.refresh(&mut copy, &mut twin).map(drop)
    }

    fn exchange(
        &self,
        messages: &Messages<'_>,
        data: &mut [u8],
        into: &mut [u8],
        [to, from]: [usize; 2],
    ) -> Result<()> {
        messages.scope(|scope| {
            let receive = scope.irecv(into, from, 0)?;
            let send = scope.isend(data, to, 0)?;
            scope.wait_receive(receive)?;
            scope.wait_send(send)
        })
    }

    fn areas(&self, length: usize, other: usize, chance: &mut Chance) -> Result<()> {
        let (job, id, words) = (self.job, chance.below(4) as u32, length / 8 + 1);
        let mut memory = Guarded::new(8 * words + 8);
        let (_, aligned, _) = bytemuck::pod_align_to_mut::<u8, u64>(memory.bytes());
        while_registered(job, id, &mut aligned[..words], |_| self.use_areas(id, words, other, chance))?
    }

    /// Uses the areas of this number of all ranks, of which one is private and one mapped.
    fn use_areas(&self, id: u32, words: usize, other: usize, chance: &mut Chance) -> Result<()> {
        let job = self.job;
        let mapped = job.area::<u64>(id + 10, words)?;
        job.barrier()?;
        let used = [id, id + 10].iter().try_for_each(|id| {
            for rank in [other, job.rank()] {
                let area = job.open_area::<u64>(rank, *id)?;
                let at = chance.below(words);
                let count = words.min(area.len().saturating_sub(at)).min(words - at);
                job.push(area.at(at), &vec![3; count])?;
                job.word(area.at(at), 4)?;
                job.fetch_add(area.at(at), 1)?;
                job.pull(area.at(at), &mut vec![0; count])?;
            }
            job.sync()
        });
        let met = job.barrier();
        drop(mapped);
        used.and(met)
    }
}

/// Items of the queue, and elements of the region.
const QUEUED: usize = 8;
const SHARED: usize = 200;
/// How long a step waits where it can give up.
const SOON: Duration = Duration::from_millis(50);

const NAMES: [&str; 23] = [
    "an exchange",
    "a message to oneself",
    "spooled messages",
    "messages from anyone",
    "prepared messages",
    "a barrier",
    "a barrier of the job",
    "a broadcast",
    "an allreduce",
    "a reduce and a scan",
    "moving blocks",
    "calls under way",
    "groups",
    "a formation",
    "areas",
    "remote operations",
    "matched messages",
    "message exchange",
    "a queue",
    "a lock",
    "a region",
    "a counted barrier",
    "active messages",
];
