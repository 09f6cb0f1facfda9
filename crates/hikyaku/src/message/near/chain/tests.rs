//! What a peer writes where chains begin and go on is believed only as far as it does no harm.

use crate::error::{Error, Result};
use crate::memory::segment::PAGE_BYTES;
use crate::message::wire::node::{End, Node};
use crate::message::{Messages, Mode};
use crate::sync::brief::lock;
use crate::{Config, Job};
use std::time::Duration;

fn run(ranks: usize, body: impl Fn(&Job) -> Result<()> + Sync) {
    let results = crate::local(ranks, body).unwrap();
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}

/// Leads rank 1 to a node of slot 0 anywhere.
fn mislead(messages: &Messages<'_>, start: u64) {
    End::default().append(start, messages.core.their_side(1).link(0), |_| unreachable!("the first one"));
}

/// A node of this rank that says what it likes.
fn lie(job: &Job, number: u64, bytes: usize) -> u64 {
    let start = job.ni.take_heap(size_of::<Node>()).unwrap();
    job.ni.own_memory(start, size_of::<Node>()).at::<Node>(0).describe(number, bytes);
    start as u64
}

#[test]
fn a_node_outside_the_senders_memory_is_refused() {
    run(2, |job| {
        let messages = job.messages(1)?;
        let layout = &job.ni.memory.layout;
        let (node, half) = (size_of::<Node>() as u64, layout.heap_half_bytes as u64);
        let starts = [
            half - node,
            2 * half,
            2 * half - node + 8,
            half + 8,
            node,
            job.ni.memory.segment.bytes() as u64,
            1 << 63,
            u64::MAX - 63,
            u64::MAX,
        ];
        // Then a node in its place with more bytes than there are behind it.
        for (start, bytes) in starts
            .map(|start| (Some(start), 0))
            .into_iter()
            .chain([half as usize, usize::MAX, usize::MAX - size_of::<Node>()].map(|bytes| (None, bytes)))
        {
            if job.rank() == 0 {
                mislead(&messages, start.unwrap_or_else(|| lie(job, 1, bytes)));
            }
            job.barrier()?;
            if job.rank() == 1 {
                let mut into = vec![0u8; 100_000];
                let got = messages.recv(&mut into, 0, 0);
                assert!(matches!(got, Err(Error::PeerMisbehaved { rank: 0, .. })), "{start:x?}, {bytes}: {got:?}");
                assert!(into.iter().all(|byte| *byte == 0));
            }
            job.barrier()?;
        }
        // The sender finds its words again, and all is well.
        if job.rank() == 0 {
            mislead(&messages, 0);
            messages.send(&[7u8], 1, 0)?;
        }
        job.barrier()?;
        if job.rank() == 1 {
            let mut into = [0u8];
            messages.recv(&mut into, 0, 0)?;
            assert_eq!(into, [7]);
        }
        job.barrier()
    });
}

#[test]
fn a_chain_in_a_circle_ends() {
    run(2, |job| {
        let messages = job.messages(1)?;
        if job.rank() == 0 {
            let start = lie(job, 1, 0);
            let mut end = End::default();
            for _ in 0..2 {
                end.append(start, messages.core.their_side(1).link(0), |last| messages.core.own_node(last as usize));
            }
        }
        job.barrier()?;
        if job.rank() == 1 {
            assert_eq!(messages.recv(&mut [0u8], 0, 0)?, 0);
            assert_eq!(messages.waiting_slot(0)?, None);
        }
        job.barrier()
    });
}

#[test]
fn a_chain_that_is_full_goes_on_by_the_head() {
    run(2, |job| {
        let messages = job.messages(1)?;
        messages.set_spare(1000)?;
        messages.set_mode(Mode::Spool(Duration::ZERO));
        if job.rank() == 0 {
            messages.send(&[1u8], 1, 0)?;
            messages.send(&[2u8], 1, 0)?;
            messages.core.state(1).borrow_mut().slots[0].send.chain.fill();
            messages.send(&[3u8], 1, 0)?;
            assert_eq!(messages.core.state(1).borrow().slots[0].send.sent, 2, "the third waits for the slot");
        }
        job.barrier()?;
        if job.rank() == 1 {
            for number in 1..=3u8 {
                let mut into = [0];
                messages.recv(&mut into, 0, 0)?;
                assert_eq!(into, [number]);
            }
        }
        messages.settle();
        // It has left the chain, which begins anew.
        if job.rank() == 0 {
            (4..=5u8).try_for_each(|number| messages.send(&[number], 1, 0))?;
            assert_eq!(messages.core.state(1).borrow().slots[0].send.sent, 5);
        } else {
            for number in 4..=5u8 {
                let mut into = [0];
                messages.recv(&mut into, 0, 0)?;
                assert_eq!(into, [number]);
            }
        }
        job.barrier()
    });
}

fn largest_free(job: &Job) -> usize {
    lock(&job.ni.own_heap).largest_free()
}

/// What is left of the heap after `rounds` rounds of many messages in a chain, all of which were taken.
fn left_after(rounds: usize) -> Vec<usize> {
    let config = Config { heap_bytes: 4 << 20, ..Config::default() };
    let body = |job: &Job| -> Result<usize> {
        let world = job.world()?;
        for _ in 0..rounds {
            let messages = world.messages(2)?;
            messages.set_spare(1 << 20)?;
            messages.set_mode(Mode::Spool(Duration::ZERO));
            for slot in 0..2 {
                for number in 0..20u8 {
                    if job.rank() == 0 {
                        messages.send(&[number; 10_000], 1, slot)?;
                    }
                }
            }
            if job.rank() == 1 {
                for slot in 0..2 {
                    for number in 0..20u8 {
                        let mut into = [0; 10_000];
                        messages.recv(&mut into, 0, slot)?;
                        assert_eq!(into, [number; 10_000]);
                    }
                }
            }
            world.free_messages(messages)?;
        }
        Ok(largest_free(job))
    };
    crate::local_with(2, config, body).unwrap().into_iter().map(|left| left.unwrap()).collect()
}

#[test]
fn chains_give_their_memory_back() {
    assert_eq!(left_after(1), left_after(5));
}

/// Taking memory from the heap and giving it back are system calls for which all ranks of a host queue up: a rank that runs ahead of its
/// receiver again and again must not make them for every message.
#[test]
fn a_second_burst_takes_nothing_from_the_heap() {
    const BURST: usize = 300;
    run(2, |job| {
        let messages = job.messages(1)?;
        messages.set_spare(8 << 20)?;
        messages.set_mode(Mode::Spool(Duration::ZERO));
        let mut taken = [0; 2];
        for taken in &mut taken {
            if job.rank() == 0 {
                (0..BURST).try_for_each(|number| messages.send(&[number as u16; 2000], 1, 0))?;
            }
            job.barrier()?;
            if job.rank() == 1 {
                let mut into = [0u16; 2000];
                for number in 0..BURST {
                    messages.recv(&mut into, 0, 0)?;
                    assert_eq!(into, [number as u16; 2000]);
                }
            }
            job.barrier()?;
            messages.settle();
            *taken = messages.core.pool.borrow().taken();
        }
        assert!(job.rank() == 1 || taken[0] >= (BURST - 2) * 4096, "{taken:?}");
        assert_eq!(taken[0], taken[1]);
        job.barrier()
    });
}

/// What the pages of the last node of a chain hold when messages of so many bytes were taken.
fn left_in_the_last_node(bytes: usize, is_expected: fn(u8) -> bool) {
    run(2, |job| {
        let messages = job.messages(1)?;
        if job.rank() == 0 {
            (0..3).try_for_each(|_| messages.send_owned(vec![7; bytes].into(), 1, 0))?;
            job.barrier()?;
            messages.settle();
            let last = messages.core.tail(1, 0);
            let mut left = vec![0; bytes];
            job.ni.own_memory(last.start, bytes).copy_out(&mut left);
            assert!(left[PAGE_BYTES..].iter().all(|byte| is_expected(*byte)));
        } else {
            job.barrier()?;
            for _ in 0..3 {
                let mut into = vec![0u8; bytes];
                messages.recv(&mut into, 0, 0)?;
                assert!(into.iter().all(|byte| *byte == 7));
            }
        }
        job.barrier()
    });
}

#[test]
fn the_last_node_keeps_its_place_and_not_its_memory() {
    // Pages that were given back read as zero.
    left_in_the_last_node(10 * PAGE_BYTES, |byte| byte == 0);
}

/// Each call to the system costs more than such a message.
#[test]
fn short_nodes_are_taken_many_at_a_time() {
    run(2, |job| {
        let messages = job.messages(1)?;
        if job.rank() == 0 {
            // The first one is in its slot.
            (0..2).try_for_each(|_| messages.send_owned([1; 8].into(), 1, 0))?;
            let left = largest_free(job);
            (0..100).try_for_each(|_| messages.send_owned([2; 8].into(), 1, 0))?;
            assert_eq!(largest_free(job), left);
        }
        job.barrier()?;
        if job.rank() == 1 {
            let mut into = [0u8; 8];
            (0..102).try_for_each(|_| messages.recv(&mut into, 0, 0).map(drop))?;
            assert_eq!(into, [2; 8]);
        }
        job.barrier()
    });
}

#[test]
fn a_short_node_keeps_its_memory_for_the_next_message() {
    left_in_the_last_node(3 * PAGE_BYTES, |byte| byte == 7);
}

#[test]
fn the_chain_of_a_dead_receiver_is_given_back() {
    let ended = std::panic::catch_unwind(|| {
        let _ = crate::local(2, |job| {
            let messages = job.messages(1).unwrap();
            let before = largest_free(job);
            if job.rank() == 0 {
                (0..20).for_each(|_| messages.send_owned(vec![1; 10_000].into(), 1, 0).unwrap());
                assert!(largest_free(job) < before);
            }
            job.barrier().unwrap();
            assert_eq!(job.rank(), 0, "this rank dies");
            messages.settle();
            assert_eq!(messages.check_spool().unwrap().remaining, 0);
            messages.core.give_nodes();
            assert_eq!(largest_free(job), before);
        });
    });
    let message = ended.unwrap_err();
    assert!(message.downcast_ref::<String>().unwrap().contains("this rank dies"), "{message:?}");
}
