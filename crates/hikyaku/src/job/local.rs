//! Ranks as threads of this process: for tests, for documentation, and for programs that want ranks cheaply.

use super::asleep;
use super::standstill::{self, News, Standstill};
use super::{Config, Job};
use crate::error::{Error, Result};
use crate::ni::{Ni, Routes, Settings, random};
use crate::sync::fence::Fences;
use crate::sync::gate::Gate;
use crate::transport::hosts::Hosts;
use crate::transport::shm::layout::{JobMemory, Layout};
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Thread;

/// Runs `rank` as a job of `size` threads; gives what each returned, in the order of ranks.
///
/// ```
/// let sums = hikyaku::local(4, |job| {
///     let table = job.symmetric::<u64>(4).unwrap();
///     // Everyone writes its number into everyone's table.
///     for peer in 0..job.size() {
///         job.push(table.at(peer, job.rank()), &[job.rank() as u64]).unwrap();
///     }
///     job.barrier().unwrap();
///     table.to_vec().iter().sum::<u64>()
/// })
/// .unwrap();
/// assert_eq!(sums, [6, 6, 6, 6]);
/// ```
///
/// # Panics
/// If a rank panics, its peers get [`crate::Error::PeerDead`], and when all have ended the panic goes on here.
///
/// # Deadlocks
/// When every rank waits and nothing has moved for a second, a table of who waits for what is printed on standard error, once.
pub fn local<R: Send>(size: usize, rank: impl Fn(&Job) -> R + Sync) -> Result<Vec<R>> {
    local_with(size, Config::default(), rank)
}

/// Runs a job of threads with this configuration; see [`local`].
pub fn local_with<R: Send>(size: usize, config: Config, rank: impl Fn(&Job) -> R + Sync) -> Result<Vec<R>> {
    crate::settings::check()?;
    let layout = Layout::new(size, config.ports, config.heap_bytes)?;
    let memory = Arc::new(JobMemory::create(layout, config.choices.words())?);
    let (job, fences) = (random()?, Fences::for_threads());
    let (crowded, cores) = (size > super::topology::cores().len(), super::topology::own_cores(size));
    // All interfaces exist before any rank runs: none can fail to start and leave the others waiting.
    let routes = Routes::from(&Hosts::one(size), 0, &memory);
    let interface = |rank| {
        let (routes, far, hardware, environment) = (routes.clone(), None, None, None);
        Ni::new(
            memory.clone(),
            Settings { rank, job, fences, crowded, cores, threads: true, routes, far, hardware, environment },
        )
    };
    let interfaces = (0..size).map(interface).collect::<Result<Vec<_>>>()?;
    // Shut until every thread exists: only then does any rank run.
    let gate = Gate::new();
    let threads_before = asleep::threads_here();
    let watch = Watch { ended: AtomicUsize::new(0), watcher: std::thread::current(), threads_before };
    let body = |ni: Arc<Ni>| {
        let _ends = Ends(&watch);
        if !gate.pass() {
            return None;
        }
        let job = Job::new(ni, None, None).inspect(Job::announce);
        let run = |job: Job| {
            let result = rank(&job);
            // What a handler has panicked with meanwhile must not go unheard.
            job.ni.failure.raise();
            result
        };
        Some(job.map(run))
    };
    let endings = std::thread::scope(|scope| {
        let keeper = gate.keep();
        let start = |ni: Arc<Ni>| {
            let thread = std::thread::Builder::new().name(format!("rank {}", ni.rank));
            thread.spawn_scoped(scope, || body(ni))
        };
        let threads = interfaces.into_iter().map(start).collect::<std::io::Result<Vec<_>>>();
        // On an error the keeper is dropped, and no rank runs.
        let threads = threads.map_err(|error| Error::thread(&error))?;
        keeper.open();
        watch.until_all_ended(&memory, size);
        Ok(threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>())
    })?;
    let ended = endings.into_iter().map(|ending| ending.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    ended.map(|result| result.expect("every rank runs if all threads exist")).collect()
}

/// The thread that has started a job, while its ranks run.
struct Watch {
    ended: AtomicUsize,
    watcher: Thread,
    /// Threads that belong to no rank.
    threads_before: BTreeSet<u32>,
}

impl Watch {
    /// Waits for the end of all ranks. Says so if they stand still.
    fn until_all_ended(&self, memory: &JobMemory, size: usize) {
        let ranks: Vec<_> = (0..size).collect();
        let mut standstill = Standstill::default();
        while self.ended.load(Ordering::Acquire) < size {
            std::thread::park_timeout(standstill::LOOK_EVERY);
            if let Some(News::Stands(text)) =
                standstill.judge(&standstill::look_here(memory, &ranks, &self.threads_before))
            {
                // A standard error that cannot be written is no reason to end the job.
                let _ = std::io::stderr().write_all(format!("hikyaku: {text}").as_bytes());
            }
        }
    }
}

/// Tells the watch of the end of a rank, also by a panic.
struct Ends<'w>(&'w Watch);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Release);
        self.0.watcher.unpark();
    }
}
