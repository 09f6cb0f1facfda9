//! Ranks that a launcher of another library may have started on several hosts find out who shares a host with whom.
//!
//! ```text
//!   every rank               the first rank of each host                  launcher
//!   card: host, endpoint     (rank 0: terms, choices)         ------->    fence
//!                            reads all cards: who is where
//!                            plan: how much memory fits       ------->    fence
//!   comes to the first  -->  the least of all plans: makes the memory
//!   of its host         <--  Welcome, memory, who is where
//! ```
//! Nothing is concluded from the order of ranks. Whoever fails says so in its next text, and comes to every fence: nobody waits
//! for it in vain.

use super::Config;
use super::card::{self, Card, FAILED, Terms};
use super::gathering::{Deadline, Gathering, Place, come, listen};
use super::neighborhood::{Neighborhood, Secret};
use super::pmi::Exchange;
use super::rendezvous::{CARD, of_host};
use super::wire::{self, Hosts, Welcome};
use crate::error::{Error, Result};
use crate::ni::random;
use crate::transport::shm::layout::{JobMemory, Layout};
use std::os::fd::{AsFd, OwnedFd};

/// What rank 0 decides for all.
const TERMS: &str = "terms";
/// Which version of a collective is used, which rank 0 decides too.
const CHOICES: &str = "choices";
/// How much memory a host has for each heap.
const PLAN: &str = "plan";

/// This rank's place in the job.
pub(super) fn assemble(
    exchange: &dyn Exchange,
    config: &Config,
    endpoint: &[u8],
    deadline: &Deadline,
) -> Result<Place> {
    let prepared = prepare(exchange, config, endpoint);
    exchange.put(CARD, &prepared.as_ref().map_or_else(|_| FAILED.to_owned(), |(card, _)| card.text()))?;
    exchange.fence(deadline.at)?;
    let found = prepared.and_then(|(card, listener)| Ok((listener, Part::find(exchange, &card)?)));
    match &found {
        Ok((_, Part::Leads(view))) => exchange.put(PLAN, &card::number_text(view.room))?,
        Ok((_, Part::Follows(..))) => {}
        Err(_) => exchange.put(PLAN, FAILED)?,
    }
    exchange.fence(deadline.at)?;
    match found? {
        (listener, Part::Leads(view)) => lead(exchange, *view, &listener, deadline),
        (_, Part::Follows(leader, card)) => come(exchange.rank(), leader, &card, deadline),
    }
}

/// All that can fail before anything is said, and what rank 0 says besides.
fn prepare(exchange: &dyn Exchange, config: &Config, endpoint: &[u8]) -> Result<(Card, OwnedFd)> {
    let card = Card::new(endpoint)?;
    let listener = listen(&card)?;
    if exchange.rank() == 0 {
        let terms = Terms {
            secret: Secret::random()?,
            job: random()?,
            ports: config.ports as u64,
            heap_bytes: config.heap_bytes,
            start_timeout_ms: config.start_patience().as_millis() as u64,
        };
        exchange.put(TERMS, &terms.text())?;
        exchange.put(CHOICES, &card::choices_text(&config.choices))?;
    }
    Ok((card, listener))
}

/// What a rank does for its host.
enum Part {
    /// It is the first there, and makes the memory.
    Leads(Box<View>),
    /// This rank is, and this is its card.
    Follows(usize, Card),
}

/// What the first rank of a host knows of all.
struct View {
    cards: Vec<Card>,
    /// The host of each rank, counted in the order of their first ranks.
    host_of: Vec<u32>,
    /// The first rank of each host.
    leaders: Vec<usize>,
    terms: Terms,
    /// How long each half of a heap can be here.
    room: u64,
}

impl Part {
    fn find(exchange: &dyn Exchange, mine: &Card) -> Result<Part> {
        let me = exchange.rank();
        let mut cards = Vec::with_capacity(me + 1);
        for rank in 0..me {
            let card = Card::parse(rank, &exchange.get(rank, CARD)?)?;
            if card.host == mine.host {
                return Ok(Part::Follows(rank, card));
            }
            cards.push(card);
        }
        cards.push(mine.clone());
        for rank in me + 1..exchange.size() {
            cards.push(Card::parse(rank, &exchange.get(rank, CARD)?)?);
        }
        let (host_of, leaders) = hosts(&cards);
        let terms = Terms::parse(&exchange.get(0, TERMS)?)?;
        let near = host_of.iter().filter(|host| **host == host_of[me]).count();
        let room = Layout::of_host(cards.len(), near, terms.ports as usize, terms.heap_bytes)?.heap_half_bytes as u64;
        Ok(Part::Leads(Box::new(View { cards, host_of, leaders, terms, room })))
    }
}

/// The host of each rank, and the first rank of each host.
fn hosts(cards: &[Card]) -> (Vec<u32>, Vec<usize>) {
    let mut leaders: Vec<usize> = Vec::new();
    let mut known = std::collections::HashMap::new();
    let host_of = cards.iter().enumerate().map(|(rank, card)| {
        *known.entry(card.host.as_str()).or_insert_with(|| {
            leaders.push(rank);
            leaders.len() as u32 - 1
        })
    });
    (host_of.collect(), leaders)
}

/// Makes the memory of this host, and hands it out.
fn lead(exchange: &dyn Exchange, view: View, listener: &OwnedFd, deadline: &Deadline) -> Result<Place> {
    let View { cards, host_of, leaders, terms, .. } = view;
    let (me, size) = (exchange.rank(), cards.len());
    let mut half = u64::MAX;
    for leader in &leaders {
        half = half.min(card::parse_number(*leader, &exchange.get(*leader, PLAN)?)?);
    }
    let near: Vec<usize> = (0..size).filter(|rank| host_of[*rank] == host_of[me]).collect();
    let layout = Layout::of_host(size, near.len(), terms.ports as usize, half)?;
    if layout.heap_half_bytes as u64 != half {
        let here = layout.heap_half_bytes;
        return Err(Error::Invalid(format!("heaps of {half} bytes are asked for, which would be {here} here")));
    }
    let memory = JobMemory::create(layout, card::parse_choices(&exchange.get(0, CHOICES)?)?)?;
    let machine_ranks = cards.iter().filter(|card| card.machine() == cards[me].machine()).count();
    let mut gathering = Gathering::new(listener, cards[me].secret, near.iter().copied().filter(|rank| *rank != me));
    gathering.complete(deadline)?;
    let welcome = Welcome {
        rank: me as u64,
        size: size as u64,
        near: near.len() as u64,
        hosts: leaders.len() as u64,
        ports: terms.ports,
        heap_half_bytes: half,
        job: terms.job,
        // Launchers bind ranks to cores, so that each sees its own only.
        crowded: (machine_ranks > gathering.core_count()) as u64,
        start_timeout_ms: terms.start_timeout_ms,
        ..of_host()
    };
    let endpoints = cards.into_iter().map(|card| card.endpoint).collect();
    let neighborhood = (leaders.len() > 1).then(|| Neighborhood { host_of, endpoints, secret: terms.secret.clone() });
    let table = neighborhood.as_ref().map(Neighborhood::to_file).transpose()?;
    for (rank, socket) in gathering.arrived() {
        let local = near.iter().position(|it| *it == rank).unwrap_or_default() as u64;
        let theirs = Welcome { rank: rank as u64, local, ..welcome };
        // Whoever has died meanwhile is missed when all wait for each other.
        let _ = wire::send(socket.as_fd(), &theirs, Some(memory.segment.file()));
        if let Some(table) = &table {
            let _ = wire::send(socket.as_fd(), &Hosts::new(), Some(table.as_fd()));
        }
    }
    Ok((welcome, memory, neighborhood))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::brief::lock;
    use std::collections::HashMap;
    use std::sync::{Barrier, Mutex};
    use std::time::{Duration, Instant};

    /// A launcher of threads.
    struct Board {
        said: Mutex<HashMap<(usize, String), String>>,
        all: Barrier,
    }

    struct Seat<'b> {
        board: &'b Board,
        rank: usize,
        size: usize,
    }

    impl Exchange for Seat<'_> {
        fn rank(&self) -> usize {
            self.rank
        }

        fn size(&self) -> usize {
            self.size
        }

        fn spans_hosts(&self) -> Result<bool> {
            Ok(true)
        }

        fn put(&self, topic: &str, text: &str) -> Result<()> {
            lock(&self.board.said).insert((self.rank, topic.to_owned()), text.to_owned());
            Ok(())
        }

        fn fence(&self, _: Instant) -> Result<()> {
            self.board.all.wait();
            Ok(())
        }

        fn get(&self, rank: usize, topic: &str) -> Result<String> {
            let said = lock(&self.board.said);
            said.get(&(rank, topic.to_owned())).cloned().ok_or_else(|| Error::Invalid(format!("no {topic} of {rank}")))
        }

        fn say_goodbye(&self) {}
    }

    /// What each of `size` ranks gets, whose configurations and endpoints these are.
    fn assembled(size: usize, config: impl Fn(usize) -> Config + Sync) -> Vec<Result<Place>> {
        let board = Board { said: Mutex::default(), all: Barrier::new(size) };
        let patience = Duration::from_secs(20);
        let run = |rank| {
            let deadline = Deadline { at: Instant::now() + patience, after: patience };
            assemble(&Seat { board: &board, rank, size }, &config(rank), &[rank as u8], &deadline)
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..size).map(|rank| scope.spawn(move || run(rank))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    fn small() -> Config {
        Config { heap_bytes: 1 << 20, ports: 4, ..Config::default() }
    }

    /// All of one process are on one host, whatever the launcher says.
    #[test]
    fn ranks_that_share_a_host_find_that_out() {
        let ports = |rank| if rank == 0 { 5 } else { 4 };
        let places = assembled(4, |rank| Config { ports: ports(rank), ..small() });
        for (rank, place) in places.into_iter().enumerate() {
            let (welcome, memory, neighborhood) = place.unwrap();
            assert_eq!((welcome.rank, welcome.local, welcome.size, welcome.hosts), (rank as u64, rank as u64, 4, 1));
            assert!(neighborhood.is_none() && memory.layout.ports == 5, "rank 0 decides");
        }
    }

    /// A heap that no host has room for: the first rank of the host fails, and nobody waits.
    #[test]
    fn everyone_hears_of_a_failure() {
        let places = assembled(3, |_| Config { heap_bytes: 1 << 60, ..small() });
        let errors: Vec<String> = places.into_iter().map(|place| place.unwrap_err().to_string()).collect();
        assert!(errors[0].contains("bytes are needed"), "{errors:?}");
        assert!(errors[1..].iter().all(|error| error.contains("rank 0")), "{errors:?}");
    }

    #[test]
    fn hosts_are_found_in_any_order() {
        let card = |host: &str| Card { host: host.into(), name: 1, secret: 2, endpoint: Box::default() };
        let (host_of, leaders) = hosts(&["b", "a", "b", "c", "a"].map(card));
        assert_eq!((host_of, leaders), (vec![0, 1, 0, 2, 1], vec![0, 1, 3]));
    }
}
