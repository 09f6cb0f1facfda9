//! The limits of the machine, measured by the same ranks in the same run: the same without a library.

use hikyaku::ffi::RawPort;
use hikyaku::{Job, Result, Symmetric};
use std::marker::PhantomData;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Words that [`hand_over`] may take.
pub const HAND_OVER_MAX: usize = 1024;
/// Words of its area: the data, and a flag on a line of its own.
pub const HAND_OVER_AREA: usize = HAND_OVER_MAX + 16;

/// Data and a flag handed back and forth between two cores with nothing around it: copied into memory that the other
/// has mapped, the flag raised, copied out there. Without data, the bare flag. One way, ns.
pub fn hand_over(job: &Job, area: &Symmetric<u64>, words: usize, round_trips: u64) -> Result<f64> {
    assert!(words <= HAND_OVER_MAX && area.len() == HAND_OVER_AREA);
    const FLAG: usize = HAND_OVER_MAX + 8;
    let (data, mut got) = (large_vector(words), vec![0u64; words]);
    area.set(FLAG, 0);
    let mine = area.as_ptr();
    let theirs = job.mapped_address(area.at(1 - job.rank(), 0))?;
    // SAFETY: both words lie in the symmetric area, which outlives this function, and are accessed atomically.
    let (my_flag, their_flag) = unsafe { (AtomicU64::from_ptr(mine.add(FLAG)), AtomicU64::from_ptr(theirs.add(FLAG))) };
    job.barrier()?;
    let begin = Instant::now();
    for round in 1..=round_trips {
        for turn in 0..2 {
            if turn == job.rank() {
                // SAFETY: `words` words of the peer's area, which it reads only when the flag is raised.
                unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), theirs, words) };
                their_flag.store(round, Ordering::Release);
            } else {
                while my_flag.load(Ordering::Acquire) != round {
                    std::hint::spin_loop();
                }
                // SAFETY: `words` words of the own area, which the peer writes only after it got its own flag.
                unsafe { std::ptr::copy_nonoverlapping(mine, got.as_mut_ptr(), words) };
                std::hint::black_box(&mut got);
            }
        }
    }
    let time = begin.elapsed();
    assert!(got == data, "data handed over");
    job.barrier()?;
    Ok(time.as_nanos() as f64 / (2 * round_trips) as f64)
}

/// A message copied to mapped memory of the other rank by a plain loop: its blocks of so many words to these places, one behind the other.
pub fn scatter(
    job: &Job,
    area: &Symmetric<u64>,
    message: &[u64],
    block: usize,
    places: impl Iterator<Item = usize>,
) -> Result<()> {
    let (theirs, room) = (job.mapped_address(area.at(1 - job.rank(), 0))?, area.len());
    for (words, at) in message.chunks_exact(block).zip(places) {
        assert!(at + block <= room);
        // SAFETY: inside the peer's area, which it reads only when the flag is raised.
        unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), theirs.add(at), block) };
    }
    Ok(())
}

/// Memory of this rank and the same of another, which is mapped: copied without a library.
pub struct Mapped<'a> {
    here: *const u32,
    there: *mut u32,
    len: usize,
    area: PhantomData<&'a Symmetric<u32>>,
}

impl<'a> Mapped<'a> {
    /// `len` elements from `first` on.
    pub fn new(
        port: &impl RawPort,
        area: &'a Symmetric<u32>,
        [here, there]: [usize; 2],
        first: usize,
        len: usize,
    ) -> Result<Mapped<'a>> {
        assert!(first + len <= area.len());
        let address = |rank| port.mapped_address(area.at(rank, first));
        Ok(Mapped { here: address(here)?, there: address(there)?, len, area: PhantomData })
    }

    /// To the other rank, which reads it only when it is told.
    pub fn copy_there(&self, data: &[u32]) {
        assert!(data.len() <= self.len);
        // SAFETY: inside the other rank's area, which is borrowed and mapped.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), self.there, data.len()) };
    }

    /// What the other rank has copied here, when it has told so.
    pub fn copy_here(&self, into: &mut [u32]) {
        assert!(into.len() <= self.len);
        // SAFETY: inside the own area, which is borrowed and mapped.
        unsafe { std::ptr::copy_nonoverlapping(self.here, into.as_mut_ptr(), into.len()) };
    }
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
    let start = (vector.as_ptr() as usize).next_multiple_of(rustix::param::page_size());
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

/// Has the kernel cut what this socket sends into datagrams of so many bytes, and join those that come; false if it does not.
pub fn use_trains(socket: &UdpSocket, frame_bytes: usize) -> bool {
    let set = |option: i32, value: i32| {
        let bytes = size_of::<i32>() as libc::socklen_t;
        // SAFETY: the value is an integer that lives during the call.
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_UDP, option, (&raw const value).cast(), bytes) == 0 }
    };
    set(libc::UDP_SEGMENT, frame_bytes as i32) && set(libc::UDP_GRO, 1)
}
