//! Memory that is not there, cannot be reached, or cannot be had.

use hikyaku::ffi::{RawMessages, RawPort};
use hikyaku::message::Messages;
use hikyaku::{Error, Job, Result, Until};
use std::sync::atomic::Ordering;

/// Long messages of whose buffers, on one side or the other, a page is not there: both sides are told, nobody writes to a
/// buffer whose receive has ended, and the next message arrives.
pub fn bad_buffer(job: &Job) -> Result<()> {
    const BYTES: usize = 1 << 20;
    let (messages, me, page) = (job.messages(2)?, job.rank(), rustix::param::page_size());
    let (mut good, holed) = (vec![3u8; BYTES], Mapping::new(BYTES));
    for bad in [0, 1] {
        for hole in [0, BYTES / 2, BYTES - page] {
            holed.protect(0..BYTES, libc::PROT_READ | libc::PROT_WRITE);
            holed.fill(5);
            holed.protect(hole..hole + page, libc::PROT_NONE);
            let buffer = if me == bad { holed.start } else { good.as_mut_ptr() };
            // SAFETY: one of the two buffers, both of so many bytes, which stay; only the kernel touches them meanwhile.
            let result = unsafe {
                match me {
                    0 => messages.isend(buffer, BYTES, 1, 0).and_then(|()| messages.isend_wait(1, 0)),
                    _ => messages.irecv(buffer, BYTES, 0, 0).and_then(|()| messages.irecv_wait(0, 0).map(drop)),
                }
            };
            match result {
                Err(Error::BadBuffer { from: 0, to: 1, slot: 0 }) => {}
                other => panic!("side {bad}, hole at {hole}: {other:?}"),
            }
            // What the ended receive leaves behind belongs to the program again.
            good.fill(7);
            job.barrier()?;
            assert!(good.iter().all(|byte| *byte == 7), "written to after the end, hole at {hole}");
            if me == 0 {
                messages.send(&vec![((hole >> 12) as u8).wrapping_add(9); BYTES], 1, 0)?;
            } else {
                assert_eq!(messages.recv(&mut good, 0, 0)?, BYTES);
                assert!(good.iter().all(|byte| *byte == ((hole >> 12) as u8).wrapping_add(9)), "the message after it");
            }
            good.fill(3);
        }
    }
    forbidden_later(job, &messages, &mut good)?;
    println!("told");
    job.barrier()
}

/// What the kernel has against the sender's copies, both sides are told, where it did not from the start.
fn forbidden_later(job: &Job, messages: &Messages<'_>, data: &mut [u8]) -> Result<()> {
    let turn = job.symmetric::<u64>(1)?;
    let result = if job.rank() == 0 {
        job.wait(turn.here(0), Until::Equal(1))?;
        hikyaku_testing::seccomp::forbid_cross_memory();
        let sent = messages.send(data, 1, 0);
        job.word(turn.at(1, 0), 1)?;
        sent
    } else {
        messages.scope(|scope| {
            let receive = scope.irecv(data, 0, 0)?;
            job.word(turn.at(0, 0), 1)?;
            // The sender alone shall copy: until it is done, this rank does not call the library.
            let done = job.mapped_word(turn.here(0))?;
            while done.load(Ordering::Acquire) == 0 {
                std::thread::yield_now();
            }
            scope.wait_receive(receive).map(drop)
        })
    };
    match result {
        Err(Error::System { errno: libc::EPERM, .. }) => Ok(()),
        other => panic!("forbidden: {other:?}"),
    }
}

/// Memory of the process whose pages can be taken away.
struct Mapping {
    start: *mut u8,
    bytes: usize,
}

impl Mapping {
    fn new(bytes: usize) -> Mapping {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, wherever the kernel puts it.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        Mapping { start: start.cast(), bytes }
    }

    fn protect(&self, part: std::ops::Range<usize>, access: i32) {
        // SAFETY: a part of the mapping, to which there are no references.
        let result = unsafe { libc::mprotect(self.start.add(part.start).cast(), part.len(), access) };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    }

    fn fill(&self, byte: u8) {
        // SAFETY: the mapping, all of which was made accessible.
        unsafe { self.start.write_bytes(byte, self.bytes) };
    }
}

/// process_vm_readv and process_vm_writev are forbidden: registered memory is reached all the same.
pub fn forbidden(job: &Job) -> Result<()> {
    let next = (job.rank() + 1) % job.size();
    assert!(!job.reaches_private_memory(next)?, "the probe did not notice");
    let area = job.register(1, vec![job.rank() as u64; 10_000])?;
    job.barrier()?;
    let theirs = job.open_area::<u64>(next, 1)?;
    let mut there = vec![0u64; 10_000];
    job.pull(theirs.at(0), &mut there)?;
    assert!(there.iter().all(|word| *word == next as u64));
    job.barrier()?;
    job.push(theirs.at(5), &vec![100 + job.rank() as u64; 9_000])?;
    job.flush(next)?;
    job.barrier()?;
    let before = (job.rank() + job.size() - 1) % job.size();
    let mine = area.to_vec();
    assert!(mine[5..9005].iter().all(|word| *word == 100 + before as u64));
    assert!(mine[..5].iter().chain(&mine[9005..]).all(|word| *word == job.rank() as u64));
    job.barrier()?;
    println!("reached");
    Ok(())
}

/// More than the machine has: an error that says how much, and the job goes on.
pub fn too_much(job: &Job) -> Result<()> {
    match job.symmetric::<u8>(1 << 46) {
        Err(Error::NoMemory { needed, .. }) => assert!(needed >= 1 << 46),
        other => panic!("expected NoMemory, got {other:?}"),
    }
    let small = job.symmetric::<u64>(8)?;
    job.barrier()?;
    job.free(small)?;
    println!("went on");
    Ok(())
}
