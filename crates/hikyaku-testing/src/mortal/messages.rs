//! Loops of sends and receives: the rank that dies exchanges messages with each of the others in turn.

use super::{Endless, LONG, Ready, SLOT, check, content, mortal};
use hikyaku::message::Mode;
use hikyaku::{Job, Result};
use std::time::Duration;

pub const LOOPS: &[(&str, Endless)] = &[
    ("short", |job, ready| ping_pong(job, ready, Mode::Standard, 8)),
    ("line", |job, ready| ping_pong(job, ready, Mode::Standard, 60)),
    ("bounce", |job, ready| ping_pong(job, ready, Mode::Standard, 4096)),
    ("synchronous", |job, ready| ping_pong(job, ready, Mode::Synchronous, 8)),
    ("long", |job, ready| ping_pong(job, ready, Mode::Standard, LONG)),
    ("long in job memory", long_in_job_memory),
    ("both ways at once", both_ways_at_once),
    ("prepared", prepared),
    ("spooled", spooled),
    ("to any", to_any),
    ("from any", from_any),
    ("any slot", any_slot),
    ("matched, short", |job, ready| matched(job, ready, |_| 8)),
    ("matched, short and longer", |job, ready| matched(job, ready, |round| [8, 40, 41, 8, 3000][round % 5])),
];

/// Calls `exchange` with every peer of this rank, for ever.
fn with_peers(job: &Job, mut exchange: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
    for round in 0.. {
        if job.rank() == mortal(job) {
            (0..mortal(job)).try_for_each(|peer| exchange(peer, round))?;
        } else {
            exchange(mortal(job), round)?;
        }
    }
    Ok(())
}

/// The lower rank sends first.
fn ping_pong(job: &Job, ready: &Ready<'_>, mode: Mode, bytes: usize) -> Result<()> {
    let messages = &ready.messages;
    messages.set_mode(mode);
    let mut got = vec![0; bytes];
    with_peers(job, |peer, round| {
        let mine = content(job.rank(), round, bytes);
        if job.rank() < peer {
            messages.send(&mine, peer, SLOT)?;
        }
        assert_eq!(messages.recv(&mut got, peer, SLOT)?, bytes);
        check(&got, peer, round);
        if job.rank() > peer {
            messages.send(&mine, peer, SLOT)?;
        }
        Ok(())
    })
}

/// Several messages at a time under one key; the lower rank sends first.
fn matched(job: &Job, ready: &Ready<'_>, bytes: impl Fn(usize) -> usize) -> Result<()> {
    let matching = &ready.matching;
    let mut got = vec![0; 4096];
    with_peers(job, |peer, round| {
        let rounds = 3 * round..3 * (round + 1);
        let send =
            || rounds.clone().try_for_each(|round| matching.send(&content(job.rank(), round, bytes(round)), peer, 5));
        if job.rank() < peer {
            send()?;
        }
        for round in rounds.clone() {
            let len = matching.recv(&mut got, peer, 5)?.len;
            assert_eq!(len, bytes(round));
            check(&got[..len], peer, round);
        }
        if job.rank() > peer {
            send()?;
        }
        Ok(())
    })
}

fn long_in_job_memory(job: &Job, ready: &Ready<'_>) -> Result<()> {
    let messages = &ready.messages;
    with_peers(job, |peer, round| {
        let start = 2 * LONG * peer;
        let mut memory = ready.memory.borrow_mut();
        let (mine, got) = memory.as_mut_slice()[start..start + 2 * LONG].split_at_mut(LONG);
        mine.copy_from_slice(&content(job.rank(), round, LONG));
        if job.rank() < peer {
            messages.send(mine, peer, SLOT)?;
        }
        assert_eq!(messages.recv(got, peer, SLOT)?, LONG);
        check(got, peer, round);
        if job.rank() > peer {
            messages.send(mine, peer, SLOT)?;
        }
        Ok(())
    })
}

fn both_ways_at_once(job: &Job, ready: &Ready<'_>) -> Result<()> {
    let messages = &ready.messages;
    with_peers(job, |peer, round| {
        let bytes = 100_000;
        let (first, second) = (content(job.rank(), round, bytes), content(job.rank(), round + 1, 500));
        let (mut one, mut two) = (vec![0; bytes], vec![0; 500]);
        messages.scope(|scope| {
            let receives = [scope.irecv(&mut one, peer, SLOT)?, scope.irecv(&mut two, peer, SLOT + 1)?];
            let sends = [scope.isend(&first, peer, SLOT)?, scope.isend(&second, peer, SLOT + 1)?];
            receives.into_iter().try_for_each(|receive| scope.wait_receive(receive).map(drop))?;
            sends.into_iter().try_for_each(|send| scope.wait_send(send))
        })?;
        check(&one, peer, round);
        check(&two, peer, round + 1);
        Ok(())
    })
}

/// Transfers that were set up once.
fn prepared(job: &Job, ready: &Ready<'_>) -> Result<()> {
    let (messages, bytes) = (&ready.messages, 50_000);
    let peers = if job.rank() == mortal(job) { 0..mortal(job) } else { mortal(job)..job.size() };
    let mut transfers = peers
        .map(|peer| {
            let send = messages.prepare_send(vec![0u8; bytes], peer, SLOT)?;
            Ok((peer, send, messages.prepare_recv(vec![0u8; bytes], peer, SLOT)?))
        })
        .collect::<Result<Vec<_>>>()?;
    for round in 0.. {
        for (_, send, receive) in &mut transfers {
            receive.start()?;
            send.data_mut()?.copy_from_slice(&content(job.rank(), round, bytes));
            send.start()?;
        }
        for (peer, send, receive) in &mut transfers {
            check(receive.wait()?, *peer, round);
            send.wait()?;
        }
    }
    Ok(())
}

/// Both sides send several messages, which wait in the spare buffers, before either receives.
fn spooled(job: &Job, ready: &Ready<'_>) -> Result<()> {
    let messages = &ready.messages;
    messages.set_spare(LONG)?;
    messages.set_mode(Mode::Spool(Duration::ZERO));
    let bytes = 50_000;
    let mut got = vec![0; bytes];
    with_peers(job, |peer, round| {
        for part in 0..3 {
            messages.send(&content(job.rank(), 3 * round + part, bytes), peer, SLOT)?;
        }
        for part in 0..3 {
            messages.recv(&mut got, peer, SLOT)?;
            check(&got, peer, 3 * round + part);
        }
        Ok(())
    })
}

/// All others send to the one that dies, which takes what comes and answers.
fn to_any(job: &Job, ready: &Ready<'_>) -> Result<()> {
    let (messages, bytes) = (&ready.messages, 2000);
    let mut got = vec![0; bytes];
    let mut rounds = vec![0; job.size()];
    loop {
        if job.rank() == mortal(job) {
            let from = messages.recv_any(&mut got, SLOT)?.rank;
            check(&got, from, rounds[from]);
            messages.send(&content(job.rank(), rounds[from], 8), from, SLOT)?;
            rounds[from] += 1;
        } else {
            let round = rounds[mortal(job)];
            messages.send_any(&content(job.rank(), round, bytes), mortal(job), SLOT)?;
            messages.recv(&mut got[..8], mortal(job), SLOT)?;
            check(&got[..8], mortal(job), round);
            rounds[mortal(job)] += 1;
        }
    }
}

/// All others wait for anyone, and only the one that dies sends.
fn from_any(job: &Job, ready: &Ready<'_>) -> Result<()> {
    let messages = &ready.messages;
    with_peers(job, |peer, round| {
        let bytes = [8, 3000, 100_000][round % 3];
        if job.rank() == mortal(job) {
            return messages.send_any(&content(job.rank(), round, bytes), peer, SLOT);
        }
        let mut got = vec![0; bytes];
        assert_eq!(messages.recv_any(&mut got, SLOT)?.rank, peer);
        check(&got, peer, round);
        Ok(())
    })
}

fn any_slot(job: &Job, ready: &Ready<'_>) -> Result<()> {
    let messages = &ready.messages;
    with_peers(job, |peer, round| {
        let bytes = [8, 3000, 100_000][round % 3];
        if job.rank() == mortal(job) {
            messages.send(&content(job.rank(), round, bytes), peer, round % 2)?;
            // Otherwise the next one might be found first, in the lower slot.
            return messages.recv(&mut [0u8], peer, SLOT + 2).map(drop);
        }
        let mut got = vec![0; bytes];
        let received = messages.recv_any_slot(&mut got, peer)?;
        assert_eq!(received.slot, round % 2);
        check(&got, peer, round);
        messages.send(&[0u8], peer, SLOT + 2)
    })
}
