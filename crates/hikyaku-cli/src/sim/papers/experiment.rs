//! The papers' experiments, each as its paper describes it, on the model of its machine.

use super::figure::Figure;
use hikyaku::message::{Messages, Mode};
use hikyaku::sim::{Hardware, Machine, Sim};
use hikyaku::{By, Job, Pointer, Register, Result, Until};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The simulated number, in the figure's unit; `None` if there is no experiment for it.
pub fn simulate(figure: &Figure) -> Option<Result<f64>> {
    let Figure { ranks, bytes, .. } = *figure;
    let machine = || Machine::named(&figure.machine);
    let run = |program: &dyn Fn(&Job) -> Result<Duration>| run(machine()?, ranks, program);
    Some(match figure.id.as_str() {
        "fmpl-bare-write" => run(&bare_write).map(microseconds),
        "fmpl-latency" => run(&|job| ping_pong(job, bytes).map(|times| times.one_way)).map(microseconds),
        "fmpl-send-header" => machine().and_then(|machine| {
            let send = run(&|job| ping_pong(job, bytes).map(|times| times.send)).map(microseconds)?;
            Ok(send - machine.host.call - machine.operation.push_busy)
        }),
        "fmpl-receive-data" => machine().and_then(|machine| {
            let receive = run(&|job| ping_pong(job, bytes).map(|times| times.receive)).map(microseconds)?;
            Ok(receive - machine.host.call - machine.operation.word_busy)
        }),
        "fmpl-posted-gap" => run(&|job| posted_ahead(job, bytes).map(|it| it.0)).map(microseconds),
        "fmpl-posted-latency" => run(&|job| posted_ahead(job, bytes).map(|it| it.1)).map(microseconds),
        "fmpl-bandwidth" | "blacs-bandwidth" => {
            run(&|job| ping_pong(job, bytes).map(|times| times.one_way)).map(|time| bandwidth(bytes, time))
        }
        "fmpl-broadcast-hardware"
        | "fmpl-broadcast-buffers-64k"
        | "fmpl-broadcast-buffers-1m"
        | "fmpl-broadcast-buffers-4m" => machine().and_then(|machine| {
            let time = self::run(with_buffers(machine, figure.buffer), ranks, &|job| broadcast(job, bytes))?;
            Ok(bandwidth(bytes, time))
        }),
        "fmpl-broadcast-tree" => machine().and_then(|machine| {
            let machine = Machine { hardware: Hardware::default(), ..machine };
            Ok(bandwidth(bytes, self::run(machine, ranks, &|job| broadcast(job, bytes))?))
        }),
        "fmpl-broadcast-short" => run(&|job| broadcast(job, bytes)).map(microseconds),
        "fmpl-barrier" => run(&group_barrier).map(microseconds),
        "indirect-continued" => run(&|job| through_pointer(job, bytes)).map(|time| bandwidth(bytes, time)),
        "indirect-software" => machine().and_then(|mut machine| {
            machine.ni.handler = machine.ni.packet as f64 / figure.value.unwrap_or(1.0);
            Ok(bandwidth(bytes, self::run(machine, ranks, &|job| through_pointer(job, bytes))?))
        }),
        "indirect-barrier" => machine().and_then(|machine| {
            let words = self::run(machine.clone(), ranks, &plain_barrier).map(microseconds)?;
            Ok(self::run(machine, ranks, &counted_by_interface).map(microseconds)? / words)
        }),
        "am-overhead" => run(&|job| own_call(job, false)).map(microseconds),
        "am-reply" => run(&|job| own_call(job, true)).map(microseconds),
        "am-barrier-2" | "am-barrier-4" | "am-barrier-8" => run(&interface_barrier).map(microseconds),
        "am-barrier-step" => machine().and_then(|machine| {
            let of = |ranks| self::run(machine.clone(), ranks, &interface_barrier).map(microseconds);
            Ok((of(8)? - of(2)?) / 2.0)
        }),
        _ => return None,
    })
}

fn microseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

/// MB/s.
fn bandwidth(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / microseconds(time)
}

/// Runs an experiment; its time is that of the slowest rank.
fn run(machine: Machine, ranks: usize, program: &dyn Fn(&Job) -> Result<Duration>) -> Result<Duration> {
    let run = Sim::new(machine, ranks, 1).run(program)?;
    let times = run.results.into_iter().collect::<Result<Vec<_>>>()?;
    Ok(times.into_iter().max().unwrap_or_default())
}

/// The time since `begin`, without that of looking at the clock, which is a look at memory.
fn since(job: &Job, begin: Instant) -> Duration {
    let end = job.now();
    let look = job.now() - end;
    (end - begin).saturating_sub(look)
}

/// One rank writes a word, the other answers with one.
fn bare_write(job: &Job) -> Result<Duration> {
    const ROUNDS: u64 = 20;
    let (word, peer) = (job.symmetric::<u64>(1)?, 1 - job.rank());
    job.barrier()?;
    let begin = job.now();
    for round in 1..=ROUNDS {
        for turn in 0..2 {
            if turn == job.rank() {
                job.word(word.at(peer, 0), round)?;
            } else {
                job.wait_from(By::Rank(peer), word.here(0), Until::Equal(round))?;
            }
        }
    }
    Ok(since(job, begin) / (2 * ROUNDS as u32))
}

/// The mean times of a ping-pong.
#[derive(Default)]
struct Times {
    one_way: Duration,
    send: Duration,
    receive: Duration,
}

/// FMPL's mode is synchronous: a send waits for its receive, whose header says where the data go.
fn synchronous(job: &Job, slots: usize) -> Result<Messages<'_>> {
    let messages = job.messages(slots)?;
    messages.set_mode(Mode::Synchronous);
    Ok(messages)
}

/// Section 6.1: each rank sends and receives in turn.
fn ping_pong(job: &Job, bytes: usize) -> Result<Times> {
    let rounds = if bytes > 1 << 20 { 2 } else { 20 };
    let messages = synchronous(job, 1)?;
    let (peer, mut data) = (1 - job.rank(), vec![7u8; bytes]);
    let mut times = Times::default();
    // The first round sets up; times are those of the others.
    for round in 0..=rounds {
        let mut lap = job.now();
        for turn in 0..2 {
            let sends = turn == job.rank();
            match sends {
                true => messages.send(&data, peer, 0)?,
                false => drop(messages.recv(&mut data, peer, 0)?),
            }
            let now = job.now();
            if round > 0 {
                *(if sends { &mut times.send } else { &mut times.receive }) += (now - lap) / rounds;
                times.one_way += (now - lap) / (2 * rounds);
            }
            lap = now;
        }
    }
    job.barrier()?;
    Ok(times)
}

/// Table 2: 600 receives are posted, then messages go to and fro. The time to post one, and one way.
fn posted_ahead(job: &Job, bytes: usize) -> Result<(Duration, Duration)> {
    const POSTED: usize = 600;
    let messages = synchronous(job, POSTED)?;
    let (peer, mut into) = (1 - job.rank(), vec![0u8; POSTED * bytes]);
    let data = vec![7u8; bytes];
    // The first message in a slot higher than all before tells so: the highest one sets up.
    for turn in 0..2 {
        match turn == job.rank() {
            true => messages.send(&data, peer, POSTED - 1)?,
            false => drop(messages.recv(&mut into[..bytes], peer, POSTED - 1)?),
        }
    }
    into.fill(0);
    job.barrier()?;
    let times = messages.scope(|scope| {
        let (mut posted, mut posting) = (Vec::with_capacity(POSTED), Duration::ZERO);
        for (slot, into) in into.chunks_mut(bytes).enumerate() {
            let begin = job.now();
            posted.push(scope.irecv(into, peer, slot)?);
            posting += since(job, begin) / POSTED as u32;
        }
        job.barrier()?;
        let begin = job.now();
        for (slot, receive) in posted.into_iter().enumerate() {
            if job.rank() == 0 {
                messages.send(&data, peer, slot)?;
            }
            scope.wait_receive(receive)?;
            if job.rank() == 1 {
                messages.send(&data, peer, slot)?;
            }
        }
        Ok((posting, since(job, begin) / (2 * POSTED as u32)))
    })?;
    assert!(into.iter().all(|byte| *byte == 7), "what was sent");
    job.barrier()?;
    Ok(times)
}

/// The machine with static buffers of so many bytes for its broadcast; 0: of the library's own size.
fn with_buffers(mut machine: Machine, bytes: usize) -> Machine {
    if let Some(broadcast) = &mut machine.hardware.broadcast {
        broadcast.buffer_bytes = bytes;
    }
    machine
}

/// Section 6.3: again and again, each time with another root.
fn broadcast(job: &Job, bytes: usize) -> Result<Duration> {
    const ROUNDS: usize = 4;
    let world = job.new_world()?;
    let mut data = vec![0u8; bytes];
    world.barrier()?;
    let begin = job.now();
    for root in 0..ROUNDS {
        if job.rank() == root {
            data.fill(root as u8 + 1);
        }
        world.broadcast(&mut data, root)?;
        assert!(data.iter().all(|byte| *byte == root as u8 + 1), "what the root has");
    }
    let time = since(job, begin) / ROUNDS as u32;
    world.free()?;
    Ok(time)
}

/// Section 6.2: barriers of all, one after the other.
fn group_barrier(job: &Job) -> Result<Duration> {
    const ROUNDS: u32 = 20;
    let world = job.new_world()?;
    world.barrier()?;
    let begin = job.now();
    (0..ROUNDS).try_for_each(|_| world.barrier())?;
    let time = since(job, begin) / ROUNDS;
    world.free()?;
    Ok(time)
}

const OWN: u16 = 1;
const ENTER: u16 = 2;
const STEP: u16 = 3;

/// Section 6.3: a host calls its own interface, for a reply or without one.
fn own_call(job: &Job, reply: bool) -> Result<Duration> {
    job.register_handler(OWN, |context, message| {
        let _ = context.reply(message.arguments);
    })?;
    let _interface = job.start_ni_thread()?;
    job.barrier()?;
    let begin = job.now();
    match reply {
        true => drop(job.call(job.rank(), OWN, [7; 6], &[])?),
        false => job.send(job.rank(), OWN, 0, [7; 6], &[])?,
    }
    let time = since(job, begin);
    job.wait_handled(By::Rank(job.rank()), OWN, 1)?;
    Ok(time)
}

/// How far an interface is in a barrier.
#[derive(Default)]
struct Butterfly {
    entered: bool,
    step: usize,
    came: [bool; 8],
}

impl Butterfly {
    /// Goes on as far as it can: where to send next, in order.
    fn go_on(&mut self, rank: usize, size: usize) -> Vec<(usize, usize)> {
        let mut sends = Vec::new();
        let partner = |step: usize| ((rank + (1 << step)) % size, step);
        while self.entered && 1 << self.step < size && self.came[self.step] {
            self.step += 1;
            if 1 << self.step < size {
                sends.push(partner(self.step));
            }
        }
        sends
    }
}

/// Section 4.2: a message through a pointer, until the sender has its acknowledgement.
fn through_pointer(job: &Job, bytes: usize) -> Result<Duration> {
    let area = job.area::<u8>(1, bytes)?;
    job.set_register(0, Pointer::to(area.at(0))?)?;
    job.barrier()?;
    let begin = job.now();
    if job.rank() == 0 {
        job.push_indirect(Register { rank: 1, number: 0 }, &vec![1u8; bytes])?;
        job.flush(1)?;
    }
    let time = since(job, begin);
    job.barrier()?;
    assert!(job.rank() == 0 || area.get(bytes - 1) == 1, "all has come");
    Ok(time)
}

/// Section 4.3: every arrival interrupts the processor of one interface, which counts, and at the last writes to every rank.
fn counted_by_interface(job: &Job) -> Result<Duration> {
    let barrier = job.counting_barrier(0)?;
    job.barrier()?;
    let begin = job.now();
    barrier.post()?;
    barrier.wait()?;
    let time = since(job, begin);
    barrier.free().map(|()| time)
}

/// Section 4.3: the same by remote writes, which the hosts look at.
fn plain_barrier(job: &Job) -> Result<Duration> {
    job.barrier()?;
    let begin = job.now();
    job.barrier()?;
    Ok(since(job, begin))
}

/// Section 5: hosts tell their interfaces that they have come; those tell each other, in steps; hosts see the last.
fn interface_barrier(job: &Job) -> Result<Duration> {
    let (rank, size) = (job.rank(), job.size());
    let state = Arc::new(Mutex::new(Butterfly::default()));
    for handler in [ENTER, STEP] {
        let state = state.clone();
        job.register_handler(handler, move |context, message| {
            let mut butterfly = state.lock().expect("handlers do not panic");
            let first = match handler {
                ENTER => {
                    butterfly.entered = true;
                    Some(((rank + 1) % size, 0))
                }
                _ => {
                    butterfly.came[message.arguments[0] as usize] = true;
                    None
                }
            };
            for (to, step) in first.into_iter().chain(butterfly.go_on(rank, size)) {
                context.send(to, STEP, 0, [step as u64; 6], &[]).expect("few messages are under way");
            }
        })?;
    }
    let _interface = job.start_ni_thread()?;
    job.barrier()?;
    let begin = job.now();
    job.send(rank, ENTER, 0, [0; 6], &[])?;
    // Each step's message was sent after all before it had come there, so who has them all has heard of everyone.
    job.wait_handled(By::Anyone, STEP, u64::from(size.ilog2()))?;
    let time = since(job, begin);
    job.barrier()?;
    Ok(time)
}
