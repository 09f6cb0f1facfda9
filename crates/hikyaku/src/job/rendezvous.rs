//! Ranks started by a launcher of another library, which gives them nothing but their numbers and passes texts on: one rank of
//! each host makes the host's memory and hands it to the others there.
//!
//! ```text
//!   rank 0                                          other ranks
//!   makes the memory, listens on a socket
//!   that is in no file system
//!   card: host, name, secret   --- launcher --->    on the same host?
//!                              <--- socket ----     Arrival (rank, secret, cores)
//!   all have come
//!                              ---- socket --->     Welcome + descriptor of the memory
//!                                                   or who is missing
//! ```
//! That is all if the launcher says that there is one host. Otherwise ranks find out by themselves who shares a host with whom,
//! whatever their order ([`assembly`]).

use super::Config;
use super::assembly::assemble;
use super::card::{Card, FAILED};
use super::gathering::{Deadline, Gathering, Place, come, listen};
use super::pmi::Exchange;
use super::wire::{self, Welcome};
use crate::error::{Error, Result};
use crate::ni::random;
use crate::sync::fence::Fences;
use crate::transport::shm::layout::{JobMemory, Layout};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

/// What ranks say of themselves.
pub(super) const CARD: &str = "card";

/// This rank's place in the job. A rank with an `endpoint` may have others on other hosts.
pub(super) fn meet(exchange: &dyn Exchange, config: &Config, endpoint: Option<&[u8]>) -> Result<Place> {
    let patience = config.start_patience();
    let deadline = Deadline { at: Instant::now() + patience, after: patience };
    // The kernel takes ten milliseconds and more to register a process of several threads, and programs of MPI are such: so all ranks do it
    // at the same time. It is known afterwards.
    let _ = Fences::for_processes();
    match endpoint {
        Some(endpoint) => assemble(exchange, config, endpoint, &deadline),
        None if exchange.rank() == 0 => lead(exchange, config, &deadline),
        None => follow(exchange, &deadline),
    }
}

/// Rank 0's part.
fn lead(exchange: &dyn Exchange, config: &Config, deadline: &Deadline) -> Result<Place> {
    let size = exchange.size();
    let prepared = prepare(size, config);
    // The others are told also if it has failed, rather than left waiting.
    exchange.put(CARD, &prepared.as_ref().map_or_else(|_| FAILED.to_owned(), |(_, card, _)| card.text()))?;
    exchange.fence(deadline.at)?;
    let (memory, card, listener) = prepared?;
    let layout = memory.layout;
    let mut gathering = Gathering::new(&listener, card.secret, 1..size);
    gathering.complete(deadline)?;
    let welcome = Welcome {
        size: size as u64,
        near: size as u64,
        hosts: 1,
        ports: layout.ports as u64,
        heap_half_bytes: layout.heap_half_bytes as u64,
        job: random()?,
        // Launchers bind ranks to cores, so that each sees its own only.
        crowded: (size > gathering.core_count()) as u64,
        start_timeout_ms: config.start_patience().as_millis() as u64,
        ..of_host()
    };
    for (rank, socket) in gathering.arrived() {
        let rank = rank as u64;
        // Whoever has died meanwhile is missed when all wait for each other.
        let _ = wire::send(socket.as_fd(), &Welcome { rank, local: rank, ..welcome }, Some(memory.segment.file()));
    }
    Ok((welcome, memory, None))
}

/// What does not depend on the job.
pub(super) fn of_host() -> Welcome {
    Welcome {
        fences: Fences::for_processes() as u64,
        launcher: rustix::process::getppid().map_or(0, |process| process.as_raw_pid() as u64),
        ..Welcome::new()
    }
}

/// All that can fail before the others are called.
fn prepare(size: usize, config: &Config) -> Result<(JobMemory, Card, OwnedFd)> {
    let layout = Layout::new(size, config.ports, config.heap_bytes)?;
    let memory = JobMemory::create(layout, config.choices.words())?;
    let card = Card::new(&[])?;
    let listener = listen(&card)?;
    Ok((memory, card, listener))
}

/// The part of every other rank.
fn follow(exchange: &dyn Exchange, deadline: &Deadline) -> Result<Place> {
    exchange.fence(deadline.at)?;
    let card = Card::parse(0, &exchange.get(0, CARD)?)?;
    if card.host != Card::new(&[])?.host {
        return Err(Error::Launcher {
            reason: "the launcher says that all ranks are on one host, but they are in separate containers; \
                     start them by `hikyaku run --hosts`"
                .into(),
        });
    }
    come(exchange.rank(), 0, &card, deadline)
}
