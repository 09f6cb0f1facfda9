//! What the network itself does keeps the order and the promises of operations by packets.

use crate::planted::{Bug, catches};
use crate::sim::{Crash, Faults, Machine, NicOrder, Sim};
use crate::{By, Error, Job, Result, Symmetric, Until};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

const ORDERS: [NicOrder; 2] = [NicOrder::InOrder, NicOrder::AnyOrder];
const BYTES: usize = 20_000;

fn sim(order: NicOrder, ranks: usize, seed: u64) -> Sim {
    Sim::new(Machine::plain(), ranks, seed).heap_bytes(1 << 22).remote_memory(order)
}

/// Runs a program with some seeds, in both orders, and where transfers alone are done by the network.
fn with_seeds(ranks: usize, program: impl Fn(&Job) -> Result<()>) {
    let all = ORDERS.into_iter().chain([NicOrder::TransfersOnly, NicOrder::AreasOnly]);
    for (order, seed) in all.flat_map(|order| (0..5).map(move |seed| (order, seed))) {
        let run = sim(order, ranks, seed).run(&program).unwrap();
        run.results.into_iter().for_each(|result| result.unwrap());
    }
}

/// The first operation goes by packet; after this the key of `peer` is known.
fn meet(job: &Job, peer: usize, word: &Symmetric<u64>) -> Result<()> {
    // Where words are always packets, they ask for no key.
    let (ni, target) = (&job.ni, super::Target::in_heap(peer, 0));
    ni.direct.as_ref().unwrap().find(&target, 8, || ni.try_ask_key(peer));
    job.word(word.at(peer, 0), 0)?;
    job.flush(peer)
}

/// What goes between two ranks when the first pushes so many times with a notification.
fn passages(order: NicOrder, pushes: u64) -> BTreeMap<&'static str, usize> {
    let run = sim(order, 2, 1).trace(true).run(|job| {
        let (data, word) = (job.symmetric::<u8>(3000)?, job.symmetric::<u64>(1)?);
        if job.rank() == 0 {
            meet(job, 1, &word)?;
            (1..=pushes).try_for_each(|push| job.push_notify(data.at(1, 0), &[7; 3000], word.at(1, 0), push))?;
            job.flush(1)?;
        } else {
            job.wait(word.here(0), Until::Equal(pushes))?;
            assert_eq!(data.get(2999), if pushes > 0 { 7 } else { 0 });
        }
        job.barrier()
    });
    let run = run.unwrap();
    run.results.into_iter().for_each(|result| result.unwrap());
    let mut counts = BTreeMap::new();
    run.passages.iter().for_each(|passage| *counts.entry(passage.what).or_default() += 1);
    counts
}

#[test]
fn a_push_with_notification_is_one_put_and_no_packet() {
    for order in ORDERS {
        let mut expected = passages(order, 0);
        *expected.entry("put").or_default() += 1;
        *expected.entry("done").or_default() += 1;
        assert_eq!(passages(order, 1), expected);
    }
}

#[test]
fn where_transfers_alone_are_done_by_the_network_words_are_packets() {
    let (without, with) = (passages(NicOrder::TransfersOnly, 0), passages(NicOrder::TransfersOnly, 20));
    let more = |what: &str| with.get(what).copied().unwrap_or(0) - without.get(what).copied().unwrap_or(0);
    let puts = more("put");
    // Some are given up; then packets do all of it.
    assert!((5..20).contains(&puts), "{puts} puts");
    assert_eq!((more("done"), more("push")), (puts, 20), "{with:?}");
}

/// Pages of symmetric memory come and go: a network that would go on using those it was given must not reach it.
#[test]
fn a_network_that_pins_pages_reaches_areas_and_no_symmetric_memory() {
    let run = sim(NicOrder::AreasOnly, 2, 1).trace(true).run(|job| {
        let data = job.symmetric::<u8>(BYTES)?;
        let area = job.register(1, vec![0u8; BYTES])?;
        job.barrier()?;
        if job.rank() == 0 {
            job.push(data.at(1, 0), &[7; BYTES])?;
            job.flush(1)?;
            assert_eq!(job.ni.direct.as_ref().unwrap().own_key(), [0; 3]);
            let there = job.open_area::<u8>(1, 1)?;
            (0..20).try_for_each(|_| job.push(there.at(0), &[8; BYTES]))?;
            job.flush(1)?;
        }
        job.barrier()?;
        if job.rank() == 1 {
            assert_eq!(data.to_vec(), [7; BYTES]);
            assert_eq!(area.into_vec(), [8; BYTES]);
        }
        job.barrier()
    });
    let run = run.unwrap();
    run.results.into_iter().for_each(|result| result.unwrap());
    let puts = run.passages.iter().filter(|passage| passage.what == "put").count();
    // Each in five pieces. Some are given up; then packets do all of it.
    assert!((5 * 5..20 * 5).contains(&puts), "{puts} pieces of puts");
}

fn a_word_never_passes_the_data_before_it() {
    with_seeds(2, |job| {
        let (data, word) = (job.symmetric::<u8>(BYTES)?, job.symmetric::<u64>(1)?);
        for round in 1..=10u8 {
            if job.rank() == 0 {
                // Short ones, whose bytes are read at once, and a long one.
                for at in (0..2000).step_by(200) {
                    job.push(data.at(1, at), &[round; 200])?;
                }
                job.push(data.at(1, 2000), &vec![round; BYTES - 2000])?;
                job.push(data.at(1, 5), &[0xff])?;
                job.word(word.at(1, 0), round as u64)?;
            } else {
                job.wait(word.here(0), Until::Equal(round as u64))?;
                let mut expected = vec![round; BYTES];
                expected[5] = 0xff;
                assert!(data.to_vec() == expected, "round {round}");
            }
            job.barrier()?;
        }
        Ok(())
    });
}

fn after_a_flush_everybody_sees_it() {
    with_seeds(3, |job| {
        let (data, word) = (job.symmetric::<u8>(200)?, job.symmetric::<u64>(1)?);
        for round in 1..=10u8 {
            match job.rank() {
                0 => {
                    job.push(data.at(1, 0), &[round; 200])?;
                    job.flush(1)?;
                    job.word(word.at(2, 0), round as u64)?;
                }
                2 => {
                    job.wait(word.here(0), Until::Equal(round as u64))?;
                    let mut seen = [0; 200];
                    job.pull(data.at(1, 0), &mut seen)?;
                    assert_eq!(seen, [round; 200]);
                }
                _ => {}
            }
            job.barrier()?;
        }
        Ok(())
    });
}

fn a_message_never_passes_the_push_before_it() {
    with_seeds(2, |job| {
        let (data, word) = (job.symmetric::<u8>(200)?, job.symmetric::<u64>(1)?);
        job.register_handler(3, |_, _| {})?;
        job.barrier()?;
        for round in 1..=10u8 {
            if job.rank() == 0 {
                meet(job, 1, &word)?;
                job.push(data.at(1, 0), &[round; 200])?;
                job.send(1, 3, 0, [0; 6], &[])?;
            } else {
                job.wait_handled(By::Rank(0), 3, round as u64)?;
                assert_eq!(data.to_vec(), [round; 200]);
            }
            job.barrier()?;
        }
        Ok(())
    });
}

/// The first push goes by packet, and is under way for long when the key has come.
fn a_word_never_passes_a_packet() {
    with_seeds(2, |job| {
        let (data, word) = (job.symmetric::<u8>(1 << 20)?, job.symmetric::<u64>(1)?);
        if job.rank() == 0 {
            job.push(data.at(1, 0), &vec![1; 1 << 20])?;
            let later = job.now() + Duration::from_micros(20);
            while job.now() < later {}
            job.word(word.at(1, 0), 1)?;
        } else {
            job.wait(word.here(0), Until::Equal(1))?;
            assert_eq!(data.get((1 << 20) - 1), 1);
        }
        job.barrier()
    });
}

/// Operations on areas, too; and nothing reaches one that was revoked, whose memory has a new owner.
fn an_area_is_reached_until_it_is_revoked() {
    with_seeds(2, |job| {
        let word = job.symmetric::<u64>(1)?;
        for round in 1..=3u64 {
            let area = job.register::<u64>(7, vec![round; 1000])?;
            job.barrier()?;
            if job.rank() == 0 {
                let there = job.open_area::<u64>(1, 7)?;
                job.push(there.at(1), &[9; 900])?;
                assert_eq!(job.fetch_add(there.at(2), 1)?, 9);
                assert_eq!(job.pull_one(there.at(2))?, 10);
                job.push_notify(there.at(3), &[11], word.at(1, 0), round)?;
                // Until the owner has taken it back.
                while job.push(there.at(0), &[8; 40]).and_then(|()| job.flush(1)).is_ok() {}
                assert!(matches!(job.fetch_add(there.at(2), 1), Err(Error::AreaRevoked { rank: 1, id: 7 })));
                assert!(matches!(job.pull_one(there.at(2)), Err(Error::AreaRevoked { rank: 1, id: 7 })));
            } else {
                job.wait(word.here(0), Until::Equal(round))?;
                assert_eq!(area.get(3), 11);
                // Never freed: with the planted bug it is written for longer.
                let memory = std::mem::ManuallyDrop::new(area.into_vec());
                let before = memory.clone();
                let later = job.now() + Duration::from_millis(1);
                while job.now() < later {}
                assert!(*memory == *before, "written after it was revoked");
            }
            job.barrier()?;
        }
        Ok(())
    });
}

/// An area that was opened needs no packet either.
#[test]
fn operations_on_an_area_are_no_packets() {
    let run = sim(NicOrder::InOrder, 2, 1).trace(true).run(|job| {
        let _area = job.area::<u64>(1, 10)?;
        job.barrier()?;
        if job.rank() == 0 {
            let there = job.open_area::<u64>(1, 1)?;
            job.push(there.at(0), &[1, 2, 3])?;
            job.word(there.at(3), 4)?;
            job.flush(1)?;
            assert_eq!((job.pull_one(there.at(3))?, job.swap(there.at(2), 7)?), (4, 3));
        }
        job.barrier()
    });
    let run = run.unwrap();
    run.results.into_iter().for_each(|result| result.unwrap());
    let count = |what| run.passages.iter().filter(|passage| passage.what == what).count();
    assert_eq!(["put", "get", "change", "push", "atomic"].map(count), [2, 1, 1, 0, 0]);
}

/// Bytes that the network is to write stay as they are when the call that lent them was given up.
fn a_pull_that_is_given_up_leaves_its_bytes_alone() {
    let run = sim(NicOrder::AnyOrder, 2, 1).run(|job| {
        let (data, word) = (job.symmetric::<u8>(1 << 20)?, job.symmetric::<u64>(1)?);
        data.write(0, &vec![9; 1 << 20]);
        job.register_handler(3, |_, _| std::panic::resume_unwind(Box::new("given up")))?;
        job.barrier()?;
        if job.rank() == 0 {
            meet(job, 1, &word)?;
            job.word(word.at(1, 0), 1)?;
            let mut into = vec![0; 1 << 20];
            let pulled = catch_unwind(AssertUnwindSafe(|| job.pull(data.at(1, 0), &mut into)));
            assert!(pulled.is_err() && into.contains(&0), "the pull was over before the handler ran");
            let before = into.clone();
            let later = job.now() + Duration::from_millis(10);
            while job.now() < later {}
            assert!(into == before, "written after the call");
        } else {
            job.wait(word.here(0), Until::Equal(1))?;
            job.send(0, 3, 0, [0; 6], &[])?;
        }
        job.barrier()
    });
    run.unwrap().results.into_iter().for_each(|result| result.unwrap());
}

#[test]
fn promises_are_kept_and_planted_bugs_are_caught() {
    catches(a_word_never_passes_the_data_before_it, &[Bug::WordUnfenced, Bug::ForeignKey]);
    catches(after_a_flush_everybody_sees_it, &[Bug::PutsUncounted]);
    catches(a_message_never_passes_the_push_before_it, &[Bug::PacketsPassPuts]);
    catches(a_word_never_passes_a_packet, &[Bug::PutsPassPackets]);
    catches(an_area_is_reached_until_it_is_revoked, &[Bug::KeyKept]);
    catches(a_pull_that_is_given_up_leaves_its_bytes_alone, &[Bug::LentForgotten]);
}

#[test]
fn a_status_word_tells_when_a_push_is_there() {
    with_seeds(2, |job| {
        let (data, status) = (job.symmetric::<u8>(BYTES)?, job.symmetric::<u64>(2)?);
        if job.rank() == 0 {
            meet(job, 1, &status)?;
            // One that is read at once, and one whose bytes are lent.
            job.push_status(data.at(1, 0), &[1; 100], status.here(0), 5)?;
            job.push_status(data.at(1, 100), &[2; BYTES - 100], status.here(1), 6)?;
            job.wait(status.here(0), Until::Equal(5))?;
            job.wait(status.here(1), Until::Equal(6))?;
            let mut seen = [0; 2];
            job.pull(data.at(1, 99), &mut seen)?;
            assert_eq!(seen, [1, 2]);
        }
        job.barrier()
    });
}

/// Every call ends, with the error of the rank that is gone, whatever the network had under way.
#[test]
fn what_is_under_way_to_a_rank_that_dies_ends() {
    for (order, at) in ORDERS.into_iter().flat_map(|order| (20..80).step_by(3).map(move |at| (order, at))) {
        let crash = Crash { rank: 1, at: Duration::from_micros(at) };
        let faults = if at % 2 == 0 { Faults::default() } else { Faults::of_wire(0.1) };
        let sim = sim(order, 2, at).faults(Faults { crashes: vec![crash], ..faults });
        let run = sim.time_limit(Duration::from_secs(5)).run_mortal(|job| {
            let (data, word) = (job.symmetric::<u8>(BYTES)?, job.symmetric::<u64>(1)?);
            if job.rank() == 1 {
                return job.wait(word.here(0), Until::Equal(u64::MAX)).map(drop);
            }
            let mut into = vec![0; BYTES];
            loop {
                job.push(data.at(1, 0), &vec![1; BYTES])?;
                job.push_notify(data.at(1, 0), &[2; 9], word.at(1, 0), 3)?;
                job.pull(data.at(1, 0), &mut into)?;
                job.fetch_add(word.at(1, 0), 1)?;
                job.flush(1)?;
            }
        });
        let results = run.unwrap().results;
        assert!(matches!(results[0], Some(Err(Error::PeerDead { rank: 1 }))), "{order:?} {at} {:?}", results[0]);
    }
}

/// Nothing of a rank's own part of its heap is reached by the key of symmetric memory, however far one asks.
#[test]
fn a_place_outside_of_symmetric_memory_is_not_found() {
    with_seeds(2, |job| {
        let word = job.symmetric::<u64>(1)?;
        let half = job.ni.memory.layout.heap_half_bytes;
        if job.rank() == 0 {
            meet(job, 1, &word)?;
            let direct = job.ni.direct.as_ref().unwrap();
            let find = |offset, bytes| direct.find(&super::Target::in_heap(1, offset), bytes, || false).is_some();
            let reaches = !direct.limits.pins;
            assert_eq!([find(0, half as u64), find(half - 8, 8)], [reaches; 2]);
            assert!(!find(half - 8, 9) && !find(half, 1) && !find(8, u64::MAX));
        }
        job.barrier()
    });
}
