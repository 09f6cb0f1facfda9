//! The limits of the machine, measured by the same ranks in the same run: what no library can beat.

use hikyaku::{Job, Result, Symmetric};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A flag handed back and forth between two cores with nothing around it: one way, ns.
pub fn flag(job: &Job, area: &Symmetric<u64>, round_trips: u64) -> Result<f64> {
    /// Each rank watches a line of its own.
    const WORD: usize = 64;
    area.set(WORD, 0);
    let mine = area.as_ptr().wrapping_add(WORD);
    let theirs = job.mapped_address(area.at(1 - job.rank(), WORD))?;
    // SAFETY: both words lie in the symmetric area, which outlives this function, and are accessed atomically.
    let (mine, theirs) = unsafe { (AtomicU64::from_ptr(mine), AtomicU64::from_ptr(theirs)) };
    job.barrier()?;
    let begin = Instant::now();
    for round in 1..=round_trips {
        if job.rank() == 0 {
            theirs.store(round, Ordering::Release);
            while mine.load(Ordering::Acquire) != round {}
        } else {
            while mine.load(Ordering::Acquire) != round {}
            theirs.store(round, Ordering::Release);
        }
    }
    let time = begin.elapsed();
    job.barrier()?;
    Ok(time.as_nanos() as f64 / (2 * round_trips) as f64)
}

/// The C library's memcpy between private buffers, GB/s: by one core, and by both at once (together).
pub fn memcpy(job: &Job, source: &[u64], target: &mut [u64], rounds: usize) -> Result<(f64, f64)> {
    let (bytes, rounds) = (size_of_val(source), rounds.max(1));
    target.fill(0);
    let mut copy = || {
        let begin = Instant::now();
        for _ in 0..rounds {
            target.copy_from_slice(source);
            std::hint::black_box(&mut *target);
        }
        (bytes * rounds) as f64 / begin.elapsed().as_secs_f64() / 1e9
    };
    job.barrier()?;
    let one = if job.rank() == 0 { copy() } else { 0.0 };
    job.barrier()?;
    let two = 2.0 * copy();
    job.barrier()?;
    assert!(target == source, "memcpy copies");
    Ok((one, two))
}

/// Private memory filled with a pattern, in huge pages where it is large enough: what a careful program would use.
pub fn large_vector(words: usize) -> Vec<u64> {
    const HUGE: usize = 2 << 20;
    let mut vector: Vec<u64> = Vec::with_capacity(words);
    let start = (vector.as_ptr() as usize).next_multiple_of(4096);
    let end = vector.as_ptr() as usize + words * 8;
    if words * 8 >= HUGE && end > start {
        // SAFETY: advice on the allocation just made; it changes no contents.
        let _ = unsafe { rustix::mm::madvise(start as *mut _, end - start, rustix::mm::Advice::LinuxHugepage) };
    }
    vector.extend((0..words).map(pattern));
    vector
}

/// Word `i` of every pattern: never zero, and no two near each other are alike.
pub fn pattern(i: usize) -> u64 {
    (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}
