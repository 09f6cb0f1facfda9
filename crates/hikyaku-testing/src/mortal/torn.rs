//! Messages and contributions that break off, always at the same place: the later pages of what the last rank sends are
//! taken away from it, so the kernel ends it in the midst of its copy. What comes before has arrived, what comes after
//! never will.

use super::{LONG, Ready, SLOT, aftermath, content, mortal, now_ns};
use crate::seccomp;
use hikyaku::collective::Sum;
use hikyaku::message::EAGER_MAX;
use hikyaku::{Error, Job, Result};
use std::time::Duration;

/// One way of breaking off.
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// Whether private memory is reached directly: `HIKYAKU_CROSS`.
    pub cross: &'static str,
    /// The signal that ends the sender.
    pub signal: i32,
    /// Where what is sent lies, and the buffer that it is received into.
    memory: Memory,
    bytes: usize,
    /// Bytes that the sender can read.
    readable: usize,
    /// Bytes from the beginning that member 0 has got.
    arrives: fn(&Job) -> usize,
    send: fn(&Job, &Ready<'_>, &mut [u8]) -> Result<()>,
    receive: fn(&Job, &Ready<'_>, &mut [u8], &Sender) -> Result<()>,
}

#[derive(PartialEq, Eq)]
enum Memory {
    Private,
    Job,
}

/// A message through a bounce buffer, in pieces of 1 KB.
const BOUNCED: Case = Case {
    name: "bounced",
    cross: "on",
    signal: libc::SIGSEGV,
    memory: Memory::Private,
    bytes: EAGER_MAX,
    readable: EAGER_MAX / 2,
    arrives: |_| 1024,
    send,
    receive: |job, ready, got, sender| {
        sender.go(job, ready)?;
        ready.messages.recv(got, mortal(job), SLOT).map(drop)
    },
};

/// A long message, which the sender alone copies until it ends: the receive was started before, and its rank does not come
/// back before the sender's end.
const LONG_COPIED: Case = Case {
    name: "long, by the sender's copies",
    memory: Memory::Job,
    bytes: LONG,
    readable: LONG / 2,
    arrives: |_| LONG / 2,
    receive: |job, ready, got, sender| {
        ready.messages.scope(|scope| {
            let receive = scope.irecv(got, mortal(job), SLOT)?;
            sender.go(job, ready)?;
            sender.await_end();
            scope.wait_receive(receive).map(drop)
        })
    },
    ..BOUNCED
};

/// A long message from private memory: the sender ends in the system call that was to copy the first of it.
const LONG_BY_KERNEL: Case = Case {
    name: "long, by the sender's system calls",
    memory: Memory::Private,
    signal: libc::SIGSYS,
    readable: 0,
    arrives: |_| 0,
    send: |job, ready, data| {
        seccomp::die_of(&[libc::SYS_process_vm_writev]);
        send(job, ready, data)
    },
    ..LONG_COPIED
};

/// A contribution of several buffers of 16 KB each. Where every rank has a core, a buffer is read while it is written.
const BROADCAST: Case = Case {
    name: "broadcast",
    bytes: 64 << 10,
    readable: 40 << 10,
    arrives: |job| if job.is_crowded() { 32 << 10 } else { 40 << 10 },
    send: |job, ready, data| ready.world.broadcast(data, mortal(job)),
    receive: |job, ready, got, sender| {
        sender.go(job, ready)?;
        ready.world.broadcast(got, mortal(job))
    },
    ..BOUNCED
};

/// A contribution of several buffers that is combined with those of the others.
const REDUCE: Case = Case {
    name: "reduce",
    arrives: |_| 0,
    send: reduce,
    receive: |job, ready, got, sender| {
        sender.go(job, ready)?;
        reduce(job, ready, got)?;
        // Whoever only contributes learns of it in a later call.
        ready.world.barrier()
    },
    ..BROADCAST
};

/// All of them.
pub const CASES: &[Case] = &[
    BOUNCED,
    Case {
        name: "bounced, received after the end",
        receive: |job, ready, got, sender| {
            sender.go(job, ready)?;
            sender.await_end();
            ready.messages.recv(got, mortal(job), SLOT).map(drop)
        },
        ..BOUNCED
    },
    Case {
        name: "bounced, non-blocking",
        receive: |job, ready, got, sender| {
            ready.messages.scope(|scope| {
                let receive = scope.irecv(got, mortal(job), SLOT)?;
                sender.go(job, ready)?;
                scope.wait_receive(receive).map(drop)
            })
        },
        ..BOUNCED
    },
    Case {
        name: "bounced, nobody waits for it",
        receive: |job, ready, got, sender| {
            ready.messages.scope(|scope| {
                let _ = scope.irecv(got, mortal(job), SLOT)?;
                sender.go(job, ready)
            })?;
            ready.messages.recv(&mut [0u8], mortal(job), SLOT + 1).map(drop)
        },
        arrives: |_| 0,
        ..BOUNCED
    },
    Case {
        name: "bounced, prepared",
        receive: |job, ready, got, sender| {
            let mut receive = ready.messages.prepare_recv(vec![0u8; got.len()], mortal(job), SLOT)?;
            receive.start()?;
            sender.go(job, ready)?;
            receive.wait().map(drop)
        },
        arrives: |_| 0,
        ..BOUNCED
    },
    Case {
        name: "bounced, from any slot",
        receive: |job, ready, got, sender| {
            sender.go(job, ready)?;
            ready.messages.recv_any_slot(got, mortal(job)).map(drop)
        },
        ..BOUNCED
    },
    Case {
        name: "bounced, from anyone",
        send: |_, ready, data| ready.messages.send_any(data, 0, SLOT),
        receive: |job, ready, got, sender| {
            sender.go(job, ready)?;
            ready.messages.recv_any(got, SLOT).map(drop)
        },
        ..BOUNCED
    },
    LONG_COPIED,
    LONG_BY_KERNEL,
    Case {
        name: "long, prepared",
        receive: |job, ready, got, sender| {
            let mut receive = ready.messages.prepare_recv(vec![0u8; got.len()], mortal(job), SLOT)?;
            receive.start()?;
            sender.go(job, ready)?;
            sender.await_end();
            receive.wait().map(drop)
        },
        ..LONG_BY_KERNEL
    },
    // Here it ends while it copies its message aside, before it has offered it.
    Case { name: "long, copied aside", memory: Memory::Private, cross: "off", arrives: |_| 0, ..LONG_COPIED },
    BROADCAST,
    Case {
        name: "broadcast of one buffer",
        bytes: 16 << 10,
        readable: 8 << 10,
        arrives: |job| if job.is_crowded() { 0 } else { 8 << 10 },
        ..BROADCAST
    },
    Case {
        name: "broadcast, non-blocking",
        receive: |job, ready, got, sender| {
            ready.world.scope(|scope| {
                let broadcast = scope.ibroadcast(got, mortal(job))?;
                sender.go(job, ready)?;
                scope.wait(broadcast)
            })
        },
        ..BROADCAST
    },
    REDUCE,
    Case { name: "reduce of one buffer", bytes: 16 << 10, readable: 8 << 10, ..REDUCE },
    Case {
        name: "allreduce",
        send: allreduce,
        receive: |job, ready, got, sender| {
            sender.go(job, ready)?;
            allreduce(job, ready, got)
        },
        ..REDUCE
    },
];

fn send(_: &Job, ready: &Ready<'_>, data: &mut [u8]) -> Result<()> {
    ready.messages.send(data, 0, SLOT)
}

fn reduce(_: &Job, ready: &Ready<'_>, data: &mut [u8]) -> Result<()> {
    ready.world.reduce(bytemuck::cast_slice_mut::<u8, u64>(data), Sum, 0)
}

fn allreduce(_: &Job, ready: &Ready<'_>, data: &mut [u8]) -> Result<()> {
    ready.world.allreduce(bytemuck::cast_slice_mut::<u8, u64>(data), Sum)
}

/// What comes before and after the loops use other slots.
const PROCESS_SLOT: usize = SLOT + 1;
const GO_SLOT: usize = SLOT + 2;

/// The process that will end.
struct Sender(u32);

impl Sender {
    /// Tells it to begin.
    fn go(&self, job: &Job, ready: &Ready<'_>) -> Result<()> {
        ready.messages.send(&[0u8], mortal(job), GO_SLOT)
    }

    /// Waits for its end without the library.
    fn await_end(&self) {
        let is_over = || match std::fs::read_to_string(format!("/proc/{}/stat", self.0)) {
            Ok(stat) => stat.contains(") Z "),
            Err(_) => true,
        };
        while !is_over() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// One rank: the last one's message breaks off, the others print when they learned of it and what they do then.
pub fn live(job: &Job, ready: &Ready<'_>, case: &Case) -> Result<()> {
    if job.rank() == mortal(job) {
        return break_off(job, ready, case);
    }
    let mut process = [0];
    ready.messages.recv(&mut process, mortal(job), PROCESS_SLOT)?;
    let mut words = vec![0u64; case.bytes / 8];
    let got = match case.memory {
        Memory::Private => bytemuck::cast_slice_mut(&mut words),
        // SAFETY: this rank's own part of the area; nobody but the library writes there.
        Memory::Job => unsafe { std::slice::from_raw_parts_mut(own_part(ready, case.bytes), case.bytes) },
    };
    let error = (case.receive)(job, ready, got, &Sender(process[0])).expect_err("it never comes as a whole");
    println!("learned {}", now_ns());
    assert!(matches!(error, Error::PeerDead { rank } if rank == mortal(job)), "{error:?}");
    if job.rank() == 0 {
        let sent = content(mortal(job), 0, case.bytes);
        let arrives = (case.arrives)(job);
        assert!(got[..arrives] == sent[..arrives], "it ended before the place where it was to end");
        let next = case.readable..case.readable + 8;
        assert!(got[next.clone()] != sent[next], "it did not end in the midst");
    }
    // Nobody may write there any more.
    got.fill(UNUSED);
    aftermath::go_on(job, ready)?;
    assert!(got.iter().all(|byte| *byte == UNUSED), "a buffer was used after its receive had failed");
    println!("went on");
    Ok(())
}

const UNUSED: u8 = 0xEE;

fn break_off(job: &Job, ready: &Ready<'_>, case: &Case) -> Result<()> {
    let start = match case.memory {
        Memory::Private => fresh_memory(case.bytes),
        Memory::Job => own_part(ready, case.bytes),
    };
    // SAFETY: memory that only this function and the library use, and that stays.
    let data = unsafe { std::slice::from_raw_parts_mut(start, case.bytes) };
    data.copy_from_slice(&content(job.rank(), 0, case.bytes));
    for rank in 0..job.rank() {
        ready.messages.send(&[std::process::id()], rank, PROCESS_SLOT)?;
    }
    for rank in 0..job.rank() {
        ready.messages.recv(&mut [0u8], rank, GO_SLOT)?;
    }
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: whole pages of memory that only this function uses. Whoever reads there ends this process: that is what they
    // are for. And no memory is written to a file then.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        let (start, bytes) = (data.as_mut_ptr().add(case.readable), case.bytes - case.readable);
        assert_eq!(libc::mprotect(start.cast(), bytes, libc::PROT_NONE), 0);
    }
    println!("died {}", now_ns());
    panic!("it was to end in the midst of this: {:?}", (case.send)(job, ready, data))
}

fn fresh_memory(bytes: usize) -> *mut u8 {
    let (read_write, own) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: the kernel chooses a place where nothing is.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, read_write, own, -1, 0) };
    assert_ne!(start, libc::MAP_FAILED);
    start.cast()
}

/// The beginning of this rank's part of the memory of the job, from a page on.
fn own_part(ready: &Ready<'_>, bytes: usize) -> *mut u8 {
    let memory = ready.memory.borrow();
    let start = memory.start();
    let page = start.align_offset(rustix::param::page_size());
    assert!(page + bytes <= memory.bytes());
    start.wrapping_add(page)
}
