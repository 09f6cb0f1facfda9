//! Misuse of messages and collectives (faults 13 and 17): an error at the call, for everyone it concerns, and no hang.

use super::fork::{in_fork, refused};
use super::handlers::in_handler;
use crate::support::{bytes, expect_error, other};
use hikyaku::collective::{Max, Sum};
use hikyaku::message::{EAGER_MAX, Messages, Mode};
use hikyaku::{Error, Group, Job, Result};
use std::cell::Cell;
use std::time::Duration;

const SLOTS_MAX: usize = 1 << 20;

pub fn impossible_slots_are_refused_everywhere(job: &Job) {
    let odd = job.rank() == job.size() - 1;
    for slots in [0, SLOTS_MAX + 1, usize::MAX] {
        expect_error!(job.messages(slots), Error::Invalid(_));
        // One rank's mistake: the others must not wait for it.
        match job.messages(if odd { slots } else { 2 }) {
            Err(Error::Invalid(_)) if odd => {}
            Err(Error::Mismatch { .. } | Error::Refused { .. }) if !odd => {}
            result => panic!("{slots} slots: {result:?}"),
        }
    }
    expect_error!(job.messages(if odd { 3 } else { 2 }), Error::Mismatch { .. });
    // A retry succeeds.
    let messages = job.messages(2).unwrap();
    exchange(job, &messages, 1, 100);
    job.barrier().unwrap();
}

/// A message to the next rank, and one from the rank before.
fn exchange(job: &Job, messages: &Messages<'_>, slot: usize, len: usize) {
    let (next, before) = ((job.rank() + 1) % job.size(), (job.rank() + job.size() - 1) % job.size());
    let (mine, mut got) = (bytes(job.rank(), len), vec![0; len]);
    let received = messages.scope(|scope| {
        let receive = scope.irecv(&mut got, before, slot)?;
        messages.send(&mine, next, slot)?;
        scope.wait_receive(receive)
    });
    assert_eq!(received.unwrap(), len);
    assert!(got == bytes(before, len));
}

pub fn wrong_ranks_and_slots_are_refused_by_every_call(job: &Job) {
    let messages = job.messages(3).unwrap();
    let peer = other(job);
    let mut room = [0u8; 1];
    for rank in [2, 3, usize::MAX] {
        expect_error!(messages.send(&[1u8], rank, 0), Error::NoSuchRank { .. });
        expect_error!(messages.send_any(&[1u8], rank, 0), Error::NoSuchRank { .. });
        expect_error!(messages.recv(&mut room, rank, 0), Error::NoSuchRank { .. });
        expect_error!(messages.recv_any_slot(&mut room, rank), Error::NoSuchRank { .. });
        expect_error!(messages.scope(|scope| scope.isend(&[1u8], rank, 0)), Error::NoSuchRank { .. });
        expect_error!(messages.scope(|scope| scope.irecv(&mut room, rank, 0)), Error::NoSuchRank { .. });
        expect_error!(messages.prepare_send([1u8], rank, 0), Error::NoSuchRank { .. });
        expect_error!(messages.prepare_recv([1u8], rank, 0), Error::NoSuchRank { .. });
    }
    for slot in [3, 6, SLOTS_MAX, usize::MAX] {
        expect_error!(messages.send(&[1u8], peer, slot), Error::NoSuchSlot { slots: 3, .. });
        expect_error!(messages.send_any(&[1u8], peer, slot), Error::NoSuchSlot { slots: 3, .. });
        expect_error!(messages.recv(&mut room, peer, slot), Error::NoSuchSlot { slots: 3, .. });
        expect_error!(messages.recv_any(&mut room, slot), Error::NoSuchSlot { slots: 3, .. });
        expect_error!(messages.scope(|scope| scope.isend(&[1u8], peer, slot)), Error::NoSuchSlot { .. });
        expect_error!(messages.scope(|scope| scope.irecv(&mut room, peer, slot)), Error::NoSuchSlot { .. });
        expect_error!(messages.prepare_send([1u8], peer, slot), Error::NoSuchSlot { .. });
        expect_error!(messages.prepare_recv([1u8], peer, slot), Error::NoSuchSlot { .. });
    }
    exchange(job, &messages, 2, 1);
    job.barrier().unwrap();
}

pub fn empty_messages_arrive(job: &Job) {
    let messages = job.messages(2).unwrap();
    let (peer, nothing) = (other(job), [0u64; 0]);
    messages.set_spare(0).unwrap();
    for mode in [Mode::Standard, Mode::Synchronous, Mode::Spool(Duration::ZERO)] {
        messages.set_mode(mode);
        if job.rank() == 0 {
            messages.send(&nothing, peer, 0).unwrap();
            messages.send_any(&nothing, peer, 1).unwrap();
            messages.send(&nothing, peer, 1).unwrap();
        } else {
            assert_eq!(messages.recv(&mut [7u64; 0], peer, 0).unwrap(), 0);
            let any = messages.recv_any(&mut [7u64; 1], 1).unwrap();
            assert_eq!((any.rank, any.slot, any.len), (0, 1, 0));
            let any = messages.recv_any_slot(&mut [7u64; 1], peer).unwrap();
            assert_eq!((any.rank, any.slot, any.len), (0, 1, 0));
        }
        job.barrier().unwrap();
    }
    messages.set_mode(Mode::Standard);
    if job.rank() == 0 {
        messages.send(&[1u8], peer, 0).unwrap();
        expect_error!(messages.send(&vec![1u8; EAGER_MAX + 1], peer, 0), Error::Truncated { .. });
    } else {
        expect_error!(messages.recv(&mut [0u8; 0], peer, 0), Error::Truncated { from: 0, bytes: 1, .. });
        expect_error!(messages.recv(&mut [0u8; 0], peer, 0), Error::Truncated { from: 0, .. });
    }
    exchange(job, &messages, 0, 8);
    job.barrier().unwrap();
}

type Collective = (&'static str, fn(&Group<'_>) -> Result<()>);

/// One call of each kind, with arguments that fit together.
const KINDS: &[Collective] = &[
    ("barrier", |world| world.barrier()),
    ("broadcast", |world| world.broadcast(&mut [0u64; 3], 0)),
    ("long broadcast", |world| world.broadcast(&mut vec![0u64; 50_000], 0)),
    ("reduce", |world| world.reduce(&mut [0u64; 3], Sum, 0)),
    ("allreduce", |world| world.allreduce(&mut [0u64; 3], Sum)),
    ("scan", |world| world.scan(&mut [0u64; 3], Sum)),
    ("gather", |world| world.gather(&[0u64; 3], &mut vec![0; 3 * world.size()], 0)),
    ("allgather", |world| world.allgather(&[0u64; 3], &mut vec![0; 3 * world.size()])),
    ("scatter", |world| world.scatter(&vec![0u64; 3 * world.size()], &mut [0; 3], 0)),
    ("alltoall", |world| world.alltoall(&vec![0u64; 3 * world.size()], &mut vec![0; 3 * world.size()])),
    ("split", |world| world.split(None, 0).map(drop)),
];

/// One call of each kind, started and waited for.
const STARTED: &[Collective] = &[
    ("started barrier", |world| world.scope(|scope| scope.wait(scope.ibarrier()?))),
    ("started broadcast", |world| {
        let mut data = [0u64; 3];
        world.scope(|scope| scope.wait(scope.ibroadcast(&mut data, 0)?))
    }),
    ("started reduce", |world| {
        let mut data = [0u64; 3];
        world.scope(|scope| scope.wait(scope.ireduce(&mut data, Sum, 0)?))
    }),
    ("started allreduce", |world| {
        let mut data = [0u64; 3];
        world.scope(|scope| scope.wait(scope.iallreduce(&mut data, Sum)?))
    }),
    ("started scan", |world| {
        let mut data = [0u64; 3];
        world.scope(|scope| scope.wait(scope.iscan(&mut data, Sum)?))
    }),
    ("started gather", |world| {
        let mut all = vec![0u64; 3 * world.size()];
        world.scope(|scope| scope.wait(scope.igather(&[0; 3], &mut all, 0)?))
    }),
    ("started allgather", |world| {
        let mut all = vec![0u64; 3 * world.size()];
        world.scope(|scope| scope.wait(scope.iallgather(&[0; 3], &mut all)?))
    }),
    ("started scatter", |world| {
        let (all, mut mine) = (vec![0u64; 3 * world.size()], [0; 3]);
        world.scope(|scope| scope.wait(scope.iscatter(&all, &mut mine, 0)?))
    }),
    ("started alltoall", |world| {
        let (blocks, mut into) = (vec![0u64; 3 * world.size()], vec![0; 3 * world.size()]);
        world.scope(|scope| scope.wait(scope.ialltoall(&blocks, &mut into)?))
    }),
];

/// The last rank makes the one call, all others the other: everybody gets the error.
fn expect_mismatch(job: &Job, what: &str, call: impl Fn(&Group<'_>, bool) -> Result<()>) {
    let world = job.new_world().unwrap();
    // Some need not wait in the call itself, and learn of it later.
    let result = call(&world, job.rank() == job.size() - 1).and_then(|()| (0..20).try_for_each(|_| world.barrier()));
    assert!(matches!(result, Err(Error::Mismatch { .. })), "{what}: {result:?}");
    expect_error!(world.barrier(), Error::Mismatch { .. });
    job.barrier().unwrap();
}

pub fn different_collectives_never_match(job: &Job) {
    for (index, (name, call)) in KINDS.iter().enumerate() {
        for distance in [1, 4] {
            let (other_name, other_call) = KINDS[(index + distance) % KINDS.len()];
            expect_mismatch(
                job,
                &format!("{name}, {other_name}"),
                |world, odd| {
                    if odd { other_call(world) } else { call(world) }
                },
            );
        }
        // The same calls in another order.
        let barrier = KINDS[0].1;
        if index > 0 {
            expect_mismatch(job, &format!("{name} before or after a barrier"), |world, odd| match odd {
                true => barrier(world).and_then(|()| call(world)),
                false => call(world).and_then(|()| barrier(world)),
            });
        }
    }
}

pub fn different_collectives_under_way_never_match(job: &Job) {
    for (index, (name, call)) in STARTED.iter().enumerate() {
        let (other_name, other_call) = STARTED[(index + 1) % STARTED.len()];
        expect_mismatch(
            job,
            &format!("{name}, {other_name}"),
            |world, odd| {
                if odd { other_call(world) } else { call(world) }
            },
        );
    }
}

/// On most machines two ranks have a core each, and then other protocols.
pub fn different_collectives_of_two_never_match(job: &Job) {
    different_collectives_never_match(job);
}

pub fn roots_sizes_and_operations_of_two_are_compared(job: &Job) {
    roots_sizes_and_operations_are_compared(job);
}

pub fn roots_sizes_and_operations_are_compared(job: &Job) {
    let all = |len: usize| vec![0u64; len * job.size()];
    let len = |odd: bool| if odd { 5 } else { 4 };
    let root = |odd: bool| if odd { 1 } else { 0 };
    expect_mismatch(job, "root of gather", |world, odd| world.gather(&[0u64; 4], &mut all(4), root(odd)));
    expect_mismatch(job, "root of scatter", |world, odd| world.scatter(&all(4), &mut [0; 4], root(odd)));
    expect_mismatch(job, "root of reduce", |world, odd| world.reduce(&mut [0u64; 4], Sum, root(odd)));
    expect_mismatch(job, "size of scan", |world, odd| world.scan(&mut vec![0u64; len(odd)], Sum));
    expect_mismatch(job, "size of reduce", |world, odd| world.reduce(&mut vec![0u64; len(odd)], Sum, 0));
    expect_mismatch(job, "size of gather", |world, odd| world.gather(&vec![0u64; len(odd)], &mut all(len(odd)), 0));
    expect_mismatch(job, "size of scatter", |world, odd| world.scatter(&all(len(odd)), &mut vec![0; len(odd)], 0));
    expect_mismatch(job, "size of alltoall", |world, odd| world.alltoall(&all(len(odd)), &mut all(len(odd))));
    expect_mismatch(job, "size of a long alltoall", |world, odd| {
        world.alltoall(&all(20_000 * len(odd)), &mut all(20_000 * len(odd)))
    });
    expect_mismatch(job, "nothing and something", |world, odd| world.allreduce(&mut vec![0u64; odd as usize], Sum));
    expect_mismatch(job, "operation of reduce", |world, odd| match odd {
        true => world.reduce(&mut [0u64], Max, 0),
        false => world.reduce(&mut [0u64], Sum, 0),
    });
    expect_mismatch(job, "operation of scan", |world, odd| match odd {
        true => world.scan(&mut [0u64], Max),
        false => world.scan(&mut [0u64], Sum),
    });
}

/// Arguments that are wrong by themselves: the rank is told what is wrong, the others that it disagrees.
pub fn wrong_arguments_of_one_rank_end_the_call_of_all(job: &Job) {
    let all = |len: usize| vec![0u64; len * job.size()];
    let check = |what: &str, call: &dyn Fn(&Group<'_>, usize, usize) -> Result<()>| {
        let world = job.new_world().unwrap();
        let (root, extra) = if job.rank() == 0 { (usize::MAX, 1) } else { (0, 0) };
        let result = call(&world, root, extra).and_then(|()| (0..20).try_for_each(|_| world.barrier()));
        match (job.rank(), result) {
            (0, Err(Error::Invalid(_))) | (1.., Err(Error::Mismatch { rank: 0, .. })) => {}
            (rank, result) => panic!("{what}, rank {rank}: {result:?}"),
        }
        job.barrier().unwrap();
    };
    check("root of broadcast", &|world, root, _| world.broadcast(&mut [0u64], root));
    check("root of reduce", &|world, root, _| world.reduce(&mut [0u64], Sum, root));
    check("root of gather", &|world, root, _| world.gather(&[0u64], &mut all(1), root));
    check("root of scatter", &|world, root, _| world.scatter(&all(1), &mut [0u64], root));
    check("room of gather", &|world, _, extra| world.gather(&[0u64; 2], &mut vec![0; all(2).len() + extra], 0));
    check("room of allgather", &|world, _, extra| world.allgather(&[0u64; 2], &mut vec![0; all(2).len() + extra]));
    check("blocks of scatter", &|world, _, extra| world.scatter(&vec![0u64; all(2).len() + extra], &mut [0; 2], 0));
    check("blocks of alltoall", &|world, _, extra| {
        world.alltoall(&vec![0u64; all(2).len() + extra], &mut vec![0; all(2).len() + extra])
    });
}

thread_local! {
    static OWN: Cell<*const Own<'static>> = const { Cell::new(std::ptr::null()) };
}

/// What a program with global handles has at hand in a handler.
struct Own<'j> {
    job: &'j Job,
    messages: Messages<'j>,
    world: Group<'j>,
}

pub fn waiting_calls_in_a_handler_are_refused_whole(job: &Job) {
    let own = Own { job, messages: job.messages(2).unwrap(), world: job.new_world().unwrap() };
    OWN.set((&raw const own).cast());
    let peer = other(job);
    let results = in_handler(job, move |results| {
        // SAFETY: handlers run on this thread (there is no other one), inside calls that borrow what this points to.
        let Own { job, messages, world } = unsafe { &*OWN.get() };
        let long = vec![0xEEu8; 100_000];
        results.push(("long send", messages.send(&long, peer, 0)));
        results.push(("long send to any", messages.send_any(&long, peer, 0)));
        messages.set_mode(Mode::Synchronous);
        results.push(("synchronous send", messages.send(&[0xEEu8], peer, 0)));
        messages.set_mode(Mode::Standard);
        results.push(("receive", messages.recv(&mut [0u8], peer, 0).map(drop)));
        results.push(("long receive", messages.recv(&mut vec![0u8; 100_000], peer, 0).map(drop)));
        results.push(("receive from any", messages.recv_any(&mut [0u8], 0).map(drop)));
        results.push(("receive of any slot", messages.recv_any_slot(&mut [0u8], peer).map(drop)));
        results.push(("long send under way", messages.scope(|scope| scope.isend(&long, peer, 0)).map(drop)));
        let mut room = vec![0u8; 100_000];
        results.push(("receive under way", messages.scope(|scope| scope.irecv(&mut room, peer, 0)).map(drop)));
        let prepared = messages.prepare_send(long.clone(), peer, 0).and_then(|mut send| send.start());
        results.push(("prepared long send", prepared));
        let prepared = messages.prepare_recv(long.clone(), peer, 0).and_then(|mut receive| {
            receive.start()?;
            receive.wait().map(drop)
        });
        results.push(("prepared receive", prepared));
        results.push(("messages", job.messages(1).map(drop)));
        results.push(("group", job.group(true).map(drop)));
        results.extend(KINDS.iter().chain(STARTED).map(|(name, call)| (*name, call(world))));
    });
    assert_eq!(results.len(), 13 + KINDS.len() + STARTED.len());
    for (name, result) in results {
        assert!(matches!(result, Err(Error::InHandler)), "{name}: {result:?}");
    }
    job.barrier().unwrap();
    // Nothing of it has happened: what comes now is the first.
    exchange(job, &own.messages, 0, 8);
    exchange(job, &own.messages, 0, 100_000);
    own.world.allreduce(&mut [1u64], Sum).unwrap();
    own.world.barrier().unwrap();
}

pub fn messages_and_collectives_in_a_forked_child_are_refused(job: &Job) {
    let (messages, world) = (job.messages(2).unwrap(), job.new_world().unwrap());
    messages.set_spare(1000).unwrap();
    let (peer, long) = (other(job), vec![0u8; 100_000]);
    job.barrier().unwrap();
    let mut room = [0u8];
    // A short and a long one, started before.
    let sizes = [8, 100_000];
    let mut sends = [0, 1].map(|slot| messages.prepare_send(bytes(job.rank(), sizes[slot]), peer, slot).unwrap());
    let mut receives = [0, 1].map(|slot| messages.prepare_recv(vec![0u8; sizes[slot]], peer, slot).unwrap());
    receives.iter_mut().for_each(|receive| receive.start().unwrap());
    let verdict = in_fork(|| {
        let attempts = [
            refused(receives[0].wait()),
            refused(receives[0].test()),
            refused(receives[1].test()),
            refused(receives[1].start()),
            refused(sends[0].start()),
            refused(sends[1].start()),
            refused(sends[1].wait()),
            refused(messages.send(&[1u8], peer, 0)),
            refused(messages.send(&long, peer, 0)),
            refused(messages.send_any(&[1u8], peer, 0)),
            refused(messages.recv(&mut [0u8], peer, 0)),
            refused(messages.recv_any(&mut [0u8], 0)),
            refused(messages.recv_any_slot(&mut [0u8], peer)),
            refused(messages.scope(|scope| scope.isend(&long, peer, 0))),
            refused(messages.scope(|scope| scope.irecv(&mut room, peer, 0))),
            refused(messages.prepare_send([1u8], peer, 0)),
            refused(messages.prepare_recv([1u8], peer, 0)),
            refused(messages.check_spool()),
            refused(job.messages(1)),
            refused(job.messages(0)),
            refused(job.group(true)),
        ];
        // SAFETY: this process ends without dropping or using these again, nor the messages.
        let freed = unsafe {
            drop(std::ptr::read(&receives));
            refused(world.free_messages(std::ptr::read(&messages)))
        };
        let calls = KINDS.iter().chain(STARTED).map(|(_, call)| refused(call(&world)));
        attempts
            .into_iter()
            .chain([freed])
            .chain(calls)
            .position(|is_refused| !is_refused)
            .map_or(0, |step| step as i32 + 1)
    });
    assert_eq!(verdict, 0, "step of the child");
    // The parent is unharmed.
    sends.iter_mut().for_each(|send| send.start().unwrap());
    for (receive, size) in receives.iter_mut().zip(sizes) {
        assert!(receive.wait().unwrap() == bytes(peer, size));
    }
    sends.iter_mut().for_each(|send| send.wait().unwrap());
    drop((sends, receives));
    exchange(job, &messages, 0, 8);
    exchange(job, &messages, 0, 100_000);
    world.barrier().unwrap();
    world.free().unwrap();
}
