//! Ranks as threads that are far from each other, over the smallest transport with remote memory and over udp, for tests.

use super::news::tell_own_end;
use super::{Choices, Job};
use crate::Until;
use crate::error::{Error, Result};
use crate::ni::{Ni, RawPort, Routes, Service, Settings};
use crate::sync::fence::Fences;
use crate::transport::core::{Armed, Body, Capabilities, Posted, Sink, Token, Transport};
use crate::transport::hosts::Hosts;
use crate::transport::loopback::{Endpoint, endpoints, memory_endpoints};
use crate::transport::packet::kind;
use crate::transport::shm::layout::{JobMemory, Layout, State};
use crate::transport::shm::ring::Packet;
use crate::transport::udp::{Bound, Config};
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Runs a job of threads, each on a host of its own. Nobody serves others but in calls of the library.
fn run_apart(size: usize, rank: impl Fn(&Job) -> Result<()> + Sync) {
    run_over(memory_endpoints(size).unwrap(), false, rank);
}

/// Runs it over udp on this machine, where sleepers are woken by what arrives. What is lent is sent from where it is, unless frames
/// are sealed.
fn run_over_udp(size: usize, is_sealed: bool, rank: impl Fn(&Job) -> Result<()> + Sync) {
    let bind = ([127, 0, 0, 1], 0).into();
    let config = if is_sealed { Config::new(bind, [7; 32]) } else { Config::unsealed(bind) };
    let bound: Vec<_> = (0..size).map(|_| Bound::new(config.clone()).unwrap()).collect();
    let addresses: Vec<_> = bound.iter().map(|bound| bound.address().ok()).collect();
    let start = |(rank, bound): (usize, Bound)| bound.start(rank, addresses.clone()).unwrap();
    run_over(bound.into_iter().enumerate().map(start).collect(), true, rank);
}

/// Runs it over the endpoints of all ranks; `is_served`: each rank has a service thread.
fn run_over<T: Transport + 'static>(endpoints: Vec<T>, is_served: bool, rank: impl Fn(&Job) -> Result<()> + Sync) {
    run_on(&(0..endpoints.len() as u32).collect::<Vec<_>>(), endpoints, is_served, rank);
}

/// Runs it with ranks on these hosts.
fn run_on<T: Transport + 'static>(
    host_of: &[u32],
    endpoints: Vec<T>,
    is_served: bool,
    rank: impl Fn(&Job) -> Result<()> + Sync,
) {
    let (size, hosts) = (endpoints.len(), Hosts::new(host_of).unwrap());
    let count = |host: u32| host_of.iter().filter(|of| **of == host).count();
    let layouts = (0..hosts.count() as u32).map(|host| Layout::of_host(size, count(host), 4, 1 << 20).unwrap());
    let memories = JobMemory::create_many(&layouts.collect::<Vec<_>>(), Choices::default().words()).unwrap();
    let memories: Vec<Arc<JobMemory>> = memories.into_iter().map(Arc::new).collect();
    let start = |(rank, endpoint)| {
        let memory = memories[host_of[rank] as usize].clone();
        let settings = Settings {
            rank,
            job: 77,
            fences: Fences::for_threads(),
            crowded: true,
            cores: 1,
            threads: true,
            routes: Routes::from(&hosts, host_of[rank] as usize, &memory),
            far: Some(Arc::new(endpoint)),
            hardware: None,
            environment: None,
        };
        Ni::new(memory, settings).unwrap()
    };
    let interfaces = endpoints.into_iter().enumerate().map(start);
    let interfaces: Vec<Arc<Ni>> = interfaces.collect();
    std::thread::scope(|scope| {
        for ni in interfaces {
            scope.spawn(|| {
                let mut job = Job::new(ni, None, None).inspect(Job::announce).unwrap();
                job.service = is_served.then(|| Service::start(&job.ni).unwrap());
                rank(&job).unwrap();
            });
        }
    });
}

/// Rank 1 computes: it looks at its own memory, and calls nothing of the library. Nobody else serves for it.
#[test]
fn a_put_lands_in_a_rank_that_computes() {
    run_apart(2, |job| {
        let (data, words) = (job.symmetric::<u8>(4000)?, job.symmetric::<u64>(2)?);
        if job.rank() == 0 {
            // By packet, and with it the question for the key.
            job.word(words.at(1, 0), 1)?;
            job.flush(1)?;
            job.word(words.at(1, 0), 2)?;
            job.push_notify(data.at(1, 0), &[5; 4000], words.at(1, 1), 7)?;
            job.flush(1)?;
            assert_eq!(job.swap(words.at(1, 1), 8)?, 7);
        } else {
            job.wait(words.here(0), Until::Equal(2))?;
            let word = job.mapped_word(words.here(1))?;
            let begin = Instant::now();
            while word.load(Ordering::Acquire) != 8 {
                assert!(begin.elapsed() < Duration::from_secs(60), "nothing has come");
                std::thread::yield_now();
            }
            assert_eq!(data.to_vec(), [5; 4000]);
        }
        job.barrier()
    });
}

/// A transport that has no room for the first credits.
struct Narrow(Endpoint, AtomicU32);

impl Transport for Narrow {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }
    unsafe fn post(&self, to: usize, packet: &Packet, body: Body, token: Option<Token>) -> Result<Posted> {
        if packet.kind == kind::CREDIT && self.1.fetch_add(1, Ordering::Relaxed) < 50 {
            return Ok(Posted::Busy);
        }
        // SAFETY: the caller's promise.
        unsafe { self.0.post(to, packet, body, token) }
    }
    fn poll(&self, sink: &mut dyn Sink) -> bool {
        self.0.poll(sink)
    }
    fn has_arrived(&self) -> bool {
        self.0.has_arrived()
    }
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.0.descriptor()
    }
    fn arm(&self) -> Armed {
        self.0.arm()
    }
    fn timer(&self) -> Option<BorrowedFd<'_>> {
        self.0.timer()
    }
    fn drained_but(&self, has_ended: &dyn Fn(usize) -> bool) -> bool {
        self.0.drained_but(has_ended)
    }
}

/// Nothing else comes after the question: the answer is tried again all the same.
#[test]
fn who_asks_is_told_also_where_there_was_no_room() {
    let narrow = endpoints(2).unwrap().into_iter().map(|endpoint| Narrow(endpoint, AtomicU32::new(0)));
    run_over(narrow.collect(), false, |job| {
        let word = job.symmetric::<u64>(1)?;
        job.register_handler(1, |_, _| {})?;
        job.barrier()?;
        let (begin, mut is_late) = (Instant::now(), false);
        if job.rank() == 0 {
            job.send(1, 1, 0, [0; 6], &[])?;
            job.sync()?;
            job.word(word.at(1, 0), 1)?;
        }
        while job.rank() == 1 && word.get(0) == 0 {
            job.progress();
            if begin.elapsed() > Duration::from_secs(5) {
                // Other messages, so that the engine runs: the test fails, and ends.
                is_late = true;
                job.send(1, 1, 0, [0; 6], &[])?;
            }
        }
        job.barrier()?;
        assert!(!is_late, "told only when something else came");
        Ok(())
    });
}

/// A rank is believed when it tells of its own host, and of no other.
#[test]
fn news_are_believed_of_the_host_they_come_from() {
    run_apart(3, |job| {
        let word = job.symmetric::<u64>(1)?;
        job.barrier()?;
        if job.rank() == 1 {
            for rank in [0, 2, 3, usize::MAX] {
                assert!(job.ni.tell_of_end(0, rank, State::Dead, 0)?);
            }
            // Nor is it an end to take part.
            assert!(job.ni.tell_of_end(0, 1, State::Joined, 0)?);
        }
        job.barrier()?;
        assert!((0..3).all(|rank| job.ni.end_of(rank).is_none()), "rank {} believes it", job.rank());
        job.barrier()?;
        if job.rank() == 1 {
            tell_own_end(&job.ni, State::Parted);
            return Ok(());
        }
        let waited = job.wait_from(crate::By::Anyone, word.here(0), Until::Equal(1));
        assert!(matches!(waited, Err(Error::PeerLeft { rank: 1 })), "{waited:?}");
        Ok(())
    });
}

/// Whoever has seen the end of a neighbour may leave before it has told of it, and nobody else of its host is left to.
#[test]
fn who_leaves_tells_of_its_neighbours_end_too() {
    let (has_told, has_passed) = (AtomicBool::new(false), AtomicBool::new(false));
    run_on(&[0, 1, 1], memory_endpoints(3).unwrap(), false, |job| {
        let word = job.symmetric::<u64>(1)?;
        job.barrier()?;
        match job.rank() {
            0 => {
                has_passed.store(true, Ordering::SeqCst);
                let patience = Some(Duration::from_secs(60));
                let waited = job.wait_for(crate::By::Rank(2), word.here(0), Until::Equal(1), patience);
                assert!(matches!(waited, Err(Error::PeerDead { rank: 2 })), "{waited:?}");
            }
            1 => {
                // Rank 0 is out of the barrier, for which rank 2 was still alive.
                while !has_passed.load(Ordering::SeqCst) {
                    job.progress();
                }
                job.ni.memory.mark_departed(job.ni.local_of(2), State::Dead);
                tell_own_end(&job.ni, State::Left);
                has_told.store(true, Ordering::SeqCst);
            }
            _ => {
                while !has_told.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
        Ok(())
    });
}

/// Many small operations of several ranks at once, beside what the same ranks send as packets.
#[test]
fn ranks_reach_each_other_in_both_ways_at_once() {
    run_apart(3, |job| {
        let (counts, words) = (job.symmetric::<u64>(3)?, job.symmetric::<u64>(3)?);
        job.register_handler(1, |_, _| {})?;
        job.barrier()?;
        for round in 1..=200 {
            for peer in (0..3).filter(|peer| *peer != job.rank()) {
                job.fetch_add(counts.at(peer, 0), 1)?;
                job.push_notify(counts.at(peer, job.rank()), &[], words.at(peer, job.rank()), round)?;
                job.send(peer, 1, 0, [0; 6], &[])?;
            }
        }
        for peer in (0..3).filter(|peer| *peer != job.rank()) {
            job.wait(words.here(peer), Until::Equal(200))?;
        }
        job.wait_handled(crate::By::Anyone, 1, 400)?;
        job.barrier()?;
        assert_eq!(counts.get(0), 400);
        job.barrier()
    });
}

/// The sender's buffer is lent to the network when a handler panics in its wait. It goes on from a copy, whatever becomes of the
/// buffer.
#[test]
fn a_long_send_that_a_panic_ends_leaves_its_buffer_alone() {
    [true, false].into_iter().for_each(send_until_a_panic);
}

fn send_until_a_panic(is_sealed: bool) {
    let bytes = 3 << 20;
    let given_up = AtomicBool::new(false);
    run_over_udp(2, is_sealed, |job| {
        let messages = job.messages(1)?;
        // The job outlives its handlers.
        let ni = Arc::downgrade(&job.ni);
        let is_lent = move || ni.upgrade().is_some_and(|ni| ni.loans.has_open());
        job.register_handler(1, move |_, _| assert!(!is_lent(), "a panic while bytes are lent"))?;
        job.barrier()?;
        let mut buffer = vec![0; bytes];
        for number in 1..=100 {
            if job.rank() == 0 {
                buffer.fill(number);
                let sent = catch_unwind(AssertUnwindSafe(|| messages.send(&buffer, 1, 0)));
                buffer.fill(0xee);
                assert!(!job.ni.loans.has_open(), "the network has let go of everything");
                match sent {
                    Ok(sent) => sent?,
                    Err(_) => given_up.store(true, Ordering::Relaxed),
                }
            } else {
                messages.scope(|scope| {
                    let mut receive = scope.irecv(&mut buffer, 0, 0)?;
                    while let Err(under_way) = scope.test_receive(receive)? {
                        receive = under_way;
                        job.send(0, 1, 0, [0; 6], &[])?;
                    }
                    Ok(())
                })?;
                assert!(
                    buffer.iter().all(|byte| *byte == number),
                    "message {number} was changed after it was given up"
                );
            }
            // Everyone sees it: rank 0 sets it before it calls the barrier.
            job.barrier()?;
            if given_up.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
        panic!("no handler ran while bytes were lent");
    });
}

/// The receiver leaves in the middle of a message, or while acknowledgements of it are missing.
#[test]
fn a_long_send_to_a_rank_that_leaves_gives_its_buffer_back() {
    for (takes, is_sealed) in [(false, true), (true, true), (false, false), (true, false)] {
        run_over_udp(2, is_sealed, |job| {
            let messages = job.messages(1)?;
            job.barrier()?;
            let mut buffer = vec![1; 3 << 20];
            if job.rank() == 0 {
                let sent = messages.send(&buffer, 1, 0);
                assert!(sent.is_ok() || !takes, "{sent:?}");
                assert!(!job.ni.loans.has_open());
            } else if takes {
                messages.recv(&mut buffer, 0, 0)?;
            } else {
                messages
                    .scope(|scope| {
                        let mut receive = scope.irecv(&mut buffer, 0, 0)?;
                        // Some of it comes.
                        for _ in 0..20 {
                            receive = scope.test_receive(receive)?.expect_err("all of it has come");
                        }
                        Err::<(), _>(Error::Invalid("given up".into()))
                    })
                    .unwrap_err();
            }
            Ok(())
        });
    }
}
