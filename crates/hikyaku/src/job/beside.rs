//! Ranks as threads that are far from each other: a job over the smallest transport with remote memory, for tests.

use super::{Choices, Job};
use crate::Until;
use crate::error::Result;
use crate::ni::{Ni, RawPort, Routes, Settings};
use crate::sync::fence::Fences;
use crate::transport::hosts::Hosts;
use crate::transport::loopback::memory_endpoints;
use crate::transport::shm::layout::{JobMemory, Layout};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Runs a job of threads, each on a host of its own. Nobody serves others but in calls of the library.
fn run_apart(size: usize, rank: impl Fn(&Job) -> Result<()> + Sync) {
    let hosts = Hosts::new(&(0..size as u32).collect::<Vec<_>>()).unwrap();
    let layouts: Vec<_> = (0..size).map(|_| Layout::of_host(size, 1, 4, 1 << 20).unwrap()).collect();
    let memories = JobMemory::create_many(&layouts, Choices::default().words()).unwrap();
    let start = |(rank, (memory, endpoint))| {
        let memory: Arc<JobMemory> = Arc::new(memory);
        let settings = Settings {
            rank,
            job: 77,
            fences: Fences::for_threads(),
            crowded: true,
            threads: true,
            routes: Routes::from(&hosts, rank, &memory),
            far: Some(Arc::new(endpoint)),
            hardware: None,
            environment: None,
        };
        Ni::new(memory, settings).unwrap()
    };
    let interfaces = memories.into_iter().zip(memory_endpoints(size).unwrap()).enumerate().map(start);
    let interfaces: Vec<Arc<Ni>> = interfaces.collect();
    std::thread::scope(|scope| {
        for ni in interfaces {
            scope.spawn(|| {
                let job = Job::new(ni, None, None).inspect(Job::announce).unwrap();
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
