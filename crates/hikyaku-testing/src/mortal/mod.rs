//! What ranks do while one of them dies: the last one is killed at a random moment of an endless loop, and the others
//! must learn of it by name, in whatever call they are, and go on among themselves.
//!
//! `tests/mortality.rs` runs each loop as processes, through the program `mortal`.
//!
//! | file | concept |
//! |---|---|
//! | `messages` | loops of sends and receives with the one that dies |
//! | `collectives` | loops of collective calls |
//! | `services` | locks, counted barriers, regions, queues, message exchange, tasks |
//! | `accesses` | parts of ranges, copies by third ranks, multicasts, pointers and chains |
//! | `crowd` | many send to one, and a sender dies |
//! | `torn` | messages and contributions that break off at a known place |
//! | `aftermath` | what the others do afterwards |

mod accesses;
mod aftermath;
mod collectives;
mod crowd;
mod messages;
mod services;
pub mod torn;

use hikyaku::{Error, Job, Result};
use std::cell::RefCell;
use std::time::Duration;

/// A loop that ends with an error.
pub type Endless = fn(&Job, &Ready<'_>) -> Result<()>;

/// All loops of messages and collectives, by name.
pub fn loops() -> impl Iterator<Item = (&'static str, Endless)> {
    messages::LOOPS.iter().chain(collectives::LOOPS).copied()
}

/// All loops of what is built on remote memory, and of operations on it.
pub fn services() -> impl Iterator<Item = (&'static str, Endless)> {
    services::LOOPS.iter().chain(accesses::LOOPS).copied()
}

/// What all ranks have made together before anybody dies.
pub struct Ready<'j> {
    messages: hikyaku::message::Messages<'j>,
    matching: hikyaku::matching::Matching<'j>,
    world: hikyaku::Group<'j>,
    /// All but the one that dies, and messages between them.
    survivors: Option<hikyaku::Group<'j>>,
    among: Option<hikyaku::message::Messages<'j>>,
    /// Job memory to send from and to receive into.
    memory: RefCell<hikyaku::Block>,
}

/// Bytes of a message that is copied by both sides.
const LONG: usize = 1 << 20;
/// Of a loop.
const SLOT: usize = 0;
/// Of what comes afterwards.
const LATER_SLOT: usize = 3;

/// The last rank is the one that dies.
fn mortal(job: &Job) -> usize {
    job.size() - 1
}

/// One rank: the last dies after `life`, the others print when they learned of it and what they do then.
pub fn live(job: &Job, name: &str, life: Duration) -> Result<()> {
    let survivors = job.group(job.rank() != mortal(job))?;
    let ready = Ready {
        messages: job.messages(4)?,
        matching: job.matching()?,
        world: job.new_world()?,
        among: survivors.as_ref().map(|group| group.messages(1)).transpose()?,
        survivors,
        memory: RefCell::new(job.block(2 * LONG * job.size())?),
    };
    if name == "crowd" {
        return crowd::send_to_one(job, &ready, life);
    }
    if let Some(case) = torn::CASES.iter().find(|case| name.strip_prefix("torn ") == Some(case.name)) {
        return torn::live(job, &ready, case);
    }
    if name == "held lock" {
        return learn(job, &ready, services::hold(job));
    }
    let (_, endless) = loops().chain(services()).find(|(known, _)| *known == name).expect("a loop of that name");
    // The end may come while others are still in the barrier.
    let start = job.barrier();
    if job.rank() == mortal(job) {
        die_after(life);
    }
    let ended = start.and_then(|()| endless(job, &ready));
    println!("learned {}", now_ns());
    learn(job, &ready, ended)
}

/// A call has failed as the promise says, and the others go on.
fn learn(job: &Job, ready: &Ready<'_>, ended: Result<()>) -> Result<()> {
    let error = ended.expect_err("nobody loops for ever");
    assert!(matches!(error, Error::PeerDead { rank } if rank == mortal(job)), "{error:?}");
    aftermath::go_on(job, ready)?;
    println!("went on");
    Ok(())
}

/// Ends this process from outside of what it does, after saying when.
fn die_after(life: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(life);
        println!("died {}", now_ns());
        crate::os::kill_self();
    });
}

fn now_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// What `rank` sends in a round; a receiver that sees anything else has lost or mixed messages.
fn content(rank: usize, round: usize, bytes: usize) -> Vec<u8> {
    let word = |index: usize| ((rank as u64) << 56 | (round as u64) << 32 | index as u64).rotate_left(8 * rank as u32);
    let words: Vec<u64> = (0..bytes.div_ceil(8)).map(word).collect();
    bytemuck::cast_slice(&words)[..bytes].to_vec()
}

fn check(got: &[u8], rank: usize, round: usize) {
    assert!(
        got == content(rank, round, got.len()),
        "round {round} of rank {rank}: {} bytes are not as sent",
        got.len()
    );
}
