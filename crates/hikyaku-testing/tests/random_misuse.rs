//! Random sequences of public calls, most of them misuse, on threads.
//!
//! Every rank makes its own calls, without regard to what the others do: sends and receives are started, tested, dropped in
//! the middle and forgotten, areas are revoked while peers write to them, scopes end by panics, handlers try what handlers
//! may not, arguments are out of range. Nothing waits for a peer but what all ranks do together at the end of a round, so
//! whatever hangs is the library's fault.
//!
//! What is checked: a message has the bytes of one send, nothing is written outside a buffer, and nothing is written to
//! memory that was a buffer before.

#![forbid(unsafe_code)]

use hikyaku::Group;
use hikyaku::collective::{Max, Sum};
use hikyaku::message::{Messages, PreparedReceive, PreparedSend};
use hikyaku::{Area, By, Error, Job, Port, RemoteArea, Result, Symmetric, Until};
use hikyaku_testing::misuse::canary::Guarded;
use hikyaku_testing::watchdog::watched;
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

const RANKS: usize = 3;
const SLOTS: usize = 2;
const AREAS: usize = 2;
/// What a program panics with on purpose.
const ON_PURPOSE: &str = "on purpose";

/// One call of one rank. Indices into what is there count round.
#[derive(Clone, Debug)]
enum Step {
    Receive {
        peer: usize,
        slot: usize,
        bytes: usize,
    },
    Send {
        peer: usize,
        slot: usize,
        bytes: usize,
    },
    /// Test, start again, print, drop or forget a receive or a send.
    TestReceive(usize),
    TestSend(usize),
    StartAgain(usize),
    Print(usize),
    DropReceive(usize),
    DropSend(usize),
    ForgetReceive(usize),
    ForgetSend(usize),
    /// Takes memory that was a buffer before, and sees that nobody writes to it any more.
    Keep(usize),
    /// Starts a send and a receive in a scope and panics.
    PanicInScope {
        peer: usize,
        slot: usize,
        bytes: usize,
    },
    Register {
        id: usize,
        bytes: usize,
    },
    Allocate {
        id: usize,
        bytes: usize,
    },
    Revoke {
        id: usize,
        keep: bool,
    },
    Open {
        peer: usize,
        id: usize,
    },
    Push {
        way: usize,
        at: usize,
        bytes: usize,
    },
    Pull {
        way: usize,
        at: usize,
        bytes: usize,
    },
    Count {
        way: usize,
        at: usize,
    },
    /// An active message; its handler tries what `action` says.
    Message {
        peer: usize,
        action: u64,
        bytes: usize,
    },
    OpenPort,
    ClosePort,
    Unregister,
    WaitForNothing,
    Progress,
    WrongArguments,
}

/// What all ranks do together after a round.
#[derive(Clone, Debug)]
enum Together {
    Barrier,
    Allreduce(usize),
    /// Started before the round and waited for after it.
    Under(usize),
    /// The last rank asks for something else.
    Mismatch,
    /// A function that makes calls of its own.
    Nested(usize),
    /// A function that panics, on the rank of that number.
    PanicInFunction(usize),
}

#[derive(Clone, Debug)]
struct Round {
    steps: [Vec<Step>; RANKS],
    together: Together,
}

/// What a rank has at hand.
struct Hands<'m> {
    job: &'m Job,
    messages: &'m Messages<'m>,
    /// A word that nobody writes.
    word: &'m Symmetric<u64>,
    receives: Vec<PreparedReceive<'m, u8>>,
    sends: Vec<PreparedSend<'m, u8>>,
    areas: [Option<Area<u8>>; AREAS],
    ways: Vec<RemoteArea<u8>>,
    ports: Vec<Port>,
    kept: Vec<Guarded>,
}

impl<'m> Hands<'m> {
    fn new(job: &'m Job, messages: &'m Messages<'m>, word: &'m Symmetric<u64>) -> Hands<'m> {
        Hands {
            job,
            messages,
            word,
            receives: Vec::new(),
            sends: Vec::new(),
            areas: [const { None }; AREAS],
            ways: Vec::new(),
            ports: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// Drops what is under way; in which order, is the round's choice.
    fn let_go(&mut self, sends_first: bool) {
        if sends_first {
            self.sends.clear();
        }
        self.receives.clear();
        self.sends.clear();
    }

    fn check_kept(&self) {
        self.kept.iter().for_each(Guarded::check_untouched);
    }

    fn keep(&mut self, bytes: usize) {
        self.kept.push(Guarded::new(bytes));
    }

    /// A way to a peer's memory, and a range that mostly lies within it.
    fn way(&self, way: usize, at: usize) -> Option<(&RemoteArea<u8>, usize)> {
        let way = self.ways.get(way.checked_rem(self.ways.len())?)?;
        Some((way, at))
    }

    fn step(&mut self, step: &Step) {
        let me = self.job.rank();
        let (job, messages) = (self.job, self.messages);
        match *step {
            Step::Receive { peer, slot, bytes } => {
                if let Ok(mut receive) = messages.prepare_recv(vec![0u8; bytes], peer, slot) {
                    let _ = receive.start();
                    self.receives.push(receive);
                }
            }
            Step::Send { peer, slot, bytes } => {
                if let Ok(mut send) = messages.prepare_send(vec![me as u8 + 1; bytes], peer, slot) {
                    let _ = send.start();
                    self.sends.push(send);
                }
            }
            Step::TestReceive(which) => {
                if let Some(receive) = pick(&mut self.receives, which)
                    && let Ok(Some(data)) = receive.test()
                {
                    check_message(data);
                }
            }
            Step::TestSend(which) => drop(pick(&mut self.sends, which).map(PreparedSend::test)),
            Step::StartAgain(which) => {
                drop(pick(&mut self.sends, which).map(PreparedSend::start));
                drop(pick(&mut self.receives, which).map(PreparedReceive::start));
            }
            Step::Print(which) => {
                drop(pick(&mut self.sends, which).map(|send| format!("{send:?}")));
                drop(pick(&mut self.receives, which).map(|receive| format!("{receive:?}")));
            }
            Step::DropReceive(which) => drop(take(&mut self.receives, which)),
            Step::DropSend(which) => drop(take(&mut self.sends, which)),
            Step::ForgetReceive(which) => std::mem::forget(take(&mut self.receives, which)),
            Step::ForgetSend(which) => std::mem::forget(take(&mut self.sends, which)),
            Step::Keep(bytes) => self.keep(bytes),
            Step::PanicInScope { peer, slot, bytes } => {
                let (data, mut room) = (vec![me as u8 + 1; bytes], Guarded::new(bytes));
                let panicked = catch_unwind(AssertUnwindSafe(|| {
                    messages.scope(|scope| {
                        let _ = scope.irecv(room.inside(), peer, slot);
                        let _ = scope.isend(&data, peer, slot);
                        std::panic::resume_unwind(Box::new(ON_PURPOSE));
                        #[allow(unreachable_code)]
                        Ok(())
                    })
                }));
                assert_eq!(panicked.unwrap_err().downcast_ref::<&str>(), Some(&ON_PURPOSE));
                room.check_margins();
                self.keep(bytes);
            }
            Step::Register { id, bytes } => {
                if let Ok(area) = job.register(id as u32, vec![0u8; bytes]) {
                    self.areas[id] = Some(area);
                }
            }
            Step::Allocate { id, bytes } => {
                if let Ok(area) = job.area(id as u32, bytes) {
                    self.areas[id] = Some(area);
                }
            }
            Step::Revoke { id, keep } => match self.areas[id].take() {
                Some(area) if keep => check_area(&area.into_vec()),
                Some(area) => {
                    let bytes = area.len();
                    drop(area);
                    self.keep(bytes);
                }
                None => {}
            },
            Step::Open { peer, id } => self.ways.extend(job.open_area(peer, id as u32)),
            Step::Push { way, at, bytes } => {
                if let Some((way, at)) = self.way(way, at) {
                    let _ = job.push(way.at(at), &vec![me as u8 + 1; bytes]);
                }
            }
            Step::Pull { way, at, bytes } => {
                let mut into = Guarded::new(bytes);
                if let Some((way, at)) = self.way(way, at) {
                    let _ = job.pull(way.at(at), into.inside());
                }
                into.check_margins();
            }
            Step::Count { way, at } => {
                if let Some((way, at)) = self.way(way, at)
                    && let Ok(word) = way.at(at).cast::<u64>()
                {
                    // Adds nothing: what is in an area is the number of a rank in each byte.
                    let _ = job.fetch_add(word, 0);
                }
            }
            Step::Message { peer, action, bytes } => {
                let _ = job.try_send(peer, 1, 0, [action, 0, 0, 0, 0, 0], &vec![1; bytes]);
            }
            Step::OpenPort => self.ports.extend(job.open()),
            Step::ClosePort => drop(self.ports.pop()),
            Step::Unregister => {
                let _ = job.unregister_handler(1);
                let _ = register(job);
            }
            Step::WaitForNothing => {
                let waited = job.wait_for(By::Rank(me), self.word.here(0), Until::Equal(1), Some(Duration::ZERO));
                assert!(matches!(waited, Err(Error::Timeout { .. })), "{waited:?}");
            }
            Step::Progress => drop(job.progress()),
            Step::WrongArguments => {
                assert!(messages.send(&[0u8], RANKS, 0).is_err());
                assert!(messages.recv(&mut [0u8], 0, SLOTS).is_err());
                assert!(messages.prepare_recv([0u8], usize::MAX, usize::MAX).is_err());
                assert!(job.open_area::<u8>(RANKS, 0).is_err());
                assert!(job.call(RANKS, 1, [0; 6], &[]).is_err());
                assert!(job.flush(usize::MAX).is_err());
            }
        }
    }
}

fn pick<T>(things: &mut [T], which: usize) -> Option<&mut T> {
    let index = which.checked_rem(things.len())?;
    things.get_mut(index)
}

fn take<T>(things: &mut Vec<T>, which: usize) -> Option<T> {
    let index = which.checked_rem(things.len())?;
    Some(things.swap_remove(index))
}

/// A message is the number of its sender, plus one, in every byte.
fn check_message(data: &[u8]) {
    let Some(first) = data.first() else { return };
    assert!((1..=RANKS as u8).contains(first), "a byte that nobody sent: {first}");
    assert!(data.iter().all(|byte| byte == first), "bytes of several messages");
}

fn check_area(data: &[u8]) {
    assert!(data.iter().all(|byte| *byte as usize <= RANKS), "bytes that nobody pushed");
}

/// A handler that tries what its message says, through a port of its own.
fn register(job: &Job) -> Result<()> {
    let port = job.open()?;
    let mut again = false;
    job.register_handler(1, move |context, message| {
        check_message(message.payload);
        match message.arguments[0] {
            0 => drop(context.send(message.source, 1, 0, [u64::MAX, 0, 0, 0, 0, 0], message.payload)),
            1 => drop(context.reply([7; 6])),
            2 => {
                again = !again;
                if again {
                    context.retry_later();
                }
            }
            3 => assert!(port.call(message.source, 1, [0; 6], &[]).is_err()),
            4 => assert!(port.flush(message.source).is_ok() || port.flush(message.source).is_err()),
            5 => {
                if let Ok(area) = port.open_area::<u8>(message.source, 0) {
                    drop(port.push(area.at(0), &[context.rank() as u8 + 1; 8]));
                }
            }
            6 => assert!(port.wait_handled(By::Anyone, 1, u64::MAX).is_err()),
            7 => drop(port.progress()),
            8 => drop(port.register(1_000, vec![0u8; 5_000])),
            _ => {}
        }
    })
}

impl Together {
    /// What `world` does; a group that had to fail is of no use afterwards.
    fn run(&self, job: &Job, world: &Group<'_>) {
        match *self {
            Together::Barrier => world.barrier().unwrap(),
            Together::Allreduce(len) => {
                let mut data = vec![1u64; len];
                world.allreduce(&mut data, Sum).unwrap();
                assert!(data.iter().all(|sum| *sum == RANKS as u64));
            }
            Together::Under(_) => {}
            Together::Mismatch => {
                let failed = if job.rank() == RANKS - 1 {
                    world.allreduce(&mut [1u64; 3], Sum)
                } else {
                    world.allreduce(&mut [1u64; 4], Max)
                };
                assert!(matches!(failed, Err(Error::Mismatch { .. })), "{failed:?}");
            }
            Together::Nested(len) => {
                let mut data = vec![1u64; len];
                let nested = |total: &mut [u64], more: &[u64]| {
                    assert!(world.barrier().is_err());
                    assert!(world.allreduce(&mut [0u64; 5], Sum).is_err());
                    assert!(job.barrier().is_err());
                    assert!(job.symmetric::<u64>(1).is_err());
                    total.iter_mut().zip(more).for_each(|(total, more)| *total += more);
                };
                world.allreduce(&mut data, nested).unwrap();
                assert!(data.iter().all(|sum| *sum == RANKS as u64));
            }
            Together::PanicInFunction(rank) => {
                let mut data = vec![1u64; 2_000];
                let function = |total: &mut [u64], more: &[u64]| {
                    if job.rank() == rank {
                        std::panic::resume_unwind(Box::new(ON_PURPOSE));
                    }
                    total.iter_mut().zip(more).for_each(|(total, more)| *total += more);
                };
                // Who calls the function, and who learns of its end, depends on the version.
                let _ = catch_unwind(AssertUnwindSafe(|| world.allreduce(&mut data, function)));
                data.fill(9);
                job.barrier().unwrap();
                assert!(data.iter().all(|value| *value == 9), "written after its call");
            }
        }
    }
}

fn run(rounds: &[Round]) {
    let config = hikyaku::Config { heap_bytes: 64 << 20, ..Default::default() };
    hikyaku::local_with(RANKS, config, |job| {
        let messages = job.messages(SLOTS).unwrap();
        let word = job.symmetric::<u64>(1).unwrap();
        register(job).unwrap();
        let mut hands = Hands::new(job, &messages, &word);
        job.barrier().unwrap();
        for (number, Round { steps, together }) in rounds.iter().enumerate() {
            let world = job.new_world().unwrap();
            let mut data = match together {
                Together::Under(len) => vec![1u64; *len],
                _ => Vec::new(),
            };
            let under_way = matches!(together, Together::Under(_));
            world
                .scope(|scope| {
                    let handle = under_way.then(|| scope.iallreduce(&mut data, Sum)).transpose()?;
                    steps[job.rank()].iter().for_each(|step| hands.step(step));
                    hands.let_go(number % 2 == 0);
                    handle.map_or(Ok(()), |handle| scope.wait(handle))
                })
                .unwrap();
            assert!(data.iter().all(|sum| *sum == RANKS as u64));
            together.run(job, &world);
            job.barrier().unwrap();
            hands.check_kept();
        }
        for area in hands.areas.iter_mut().filter_map(Option::take) {
            check_area(&area.into_vec());
        }
        job.barrier().unwrap();
        hands.check_kept();
    })
    .unwrap();
}

fn step() -> impl Strategy<Value = Step> {
    // Both sides of the sizes where the way changes.
    let bytes = || prop_oneof![0usize..100, 4_000usize..10_000, 60_000usize..300_000];
    let small = || 0usize..3_000;
    let place = || (0..RANKS, 0..SLOTS);
    let which = 0usize..8;
    prop_oneof![
        6 => (place(), bytes()).prop_map(|((peer, slot), bytes)| Step::Receive { peer, slot, bytes }),
        6 => (place(), bytes()).prop_map(|((peer, slot), bytes)| Step::Send { peer, slot, bytes }),
        3 => which.clone().prop_map(Step::TestReceive),
        2 => which.clone().prop_map(Step::TestSend),
        2 => which.clone().prop_map(Step::StartAgain),
        1 => which.clone().prop_map(Step::Print),
        4 => which.clone().prop_map(Step::DropReceive),
        3 => which.clone().prop_map(Step::DropSend),
        1 => which.clone().prop_map(Step::ForgetReceive),
        1 => which.clone().prop_map(Step::ForgetSend),
        4 => bytes().prop_map(Step::Keep),
        2 => (place(), bytes()).prop_map(|((peer, slot), bytes)| Step::PanicInScope { peer, slot, bytes }),
        2 => (0..AREAS, bytes()).prop_map(|(id, bytes)| Step::Register { id, bytes }),
        1 => (0..AREAS, bytes()).prop_map(|(id, bytes)| Step::Allocate { id, bytes }),
        2 => (0..AREAS, any::<bool>()).prop_map(|(id, keep)| Step::Revoke { id, keep }),
        2 => (0..RANKS, 0..AREAS).prop_map(|(peer, id)| Step::Open { peer, id }),
        4 => (which.clone(), bytes(), bytes()).prop_map(|(way, at, bytes)| Step::Push { way, at, bytes }),
        2 => (which.clone(), bytes(), bytes()).prop_map(|(way, at, bytes)| Step::Pull { way, at, bytes }),
        1 => (which, bytes()).prop_map(|(way, at)| Step::Count { way, at }),
        4 => (0..RANKS, 0u64..10, small()).prop_map(|(peer, action, bytes)| Step::Message { peer, action, bytes }),
        1 => Just(Step::OpenPort),
        1 => Just(Step::ClosePort),
        1 => Just(Step::Unregister),
        1 => Just(Step::WaitForNothing),
        2 => Just(Step::Progress),
        1 => Just(Step::WrongArguments),
    ]
}

fn together() -> impl Strategy<Value = Together> {
    let len = || prop_oneof![0usize..20, 1_000usize..3_000, 50_000usize..100_000];
    prop_oneof![
        3 => Just(Together::Barrier),
        2 => len().prop_map(Together::Allreduce),
        3 => len().prop_map(Together::Under),
        1 => Just(Together::Mismatch),
        1 => len().prop_map(Together::Nested),
        1 => (0..RANKS).prop_map(Together::PanicInFunction),
    ]
}

fn rounds() -> impl Strategy<Value = Vec<Round>> {
    let steps = prop::collection::vec(step(), 0..30);
    let round = (prop::array::uniform3(steps), together()).prop_map(|(steps, together)| Round { steps, together });
    prop::collection::vec(round, 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.min(100), ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_corrupted_and_nobody_hangs(rounds in rounds()) {
        // A program that hangs is told by the watchdog.
        watched(&format!("{rounds:?}"), || run(&rounds));
    }
}
