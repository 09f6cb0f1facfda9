//! Programs of two ranks that wait for each other for ever, each by a mistake that people make.

use hikyaku::collective::Sum;
use hikyaku::{Job, Result, Until};

/// A mistake, and what is made of it.
#[derive(Clone, Copy, Debug)]
pub struct Mistake {
    /// What it is called.
    pub name: &'static str,
    /// The program of a rank.
    pub run: fn(&Job) -> Result<()>,
    /// The calls in which ranks 0 and 1 wait, and for whom.
    pub waits: [(&'static str, &'static str); 2],
    /// The reason.
    pub sentence: &'static str,
}

const CIRCLE: &str = "Rank 0 waits for rank 1, which waits for rank 0.";

/// All of them.
pub const MISTAKES: [Mistake; 6] = [
    Mistake {
        name: "both_receive_first",
        run: both_receive_first,
        waits: [("recv(8 bytes, slot 0)", "rank 1"), ("recv(8 bytes, slot 0)", "rank 0")],
        sentence: CIRCLE,
    },
    Mistake {
        name: "both_send_first",
        run: both_send_first,
        waits: [("send(800000 bytes, slot 0)", "rank 1"), ("send(800000 bytes, slot 0)", "rank 0")],
        sentence: CIRCLE,
    },
    Mistake {
        name: "a_wrong_slot",
        run: a_wrong_slot,
        waits: [("recv(8 bytes, slot 1)", "rank 1"), ("recv(8 bytes, slot 0)", "rank 0")],
        sentence: CIRCLE,
    },
    Mistake {
        name: "a_flag_that_nobody_sets",
        run: a_flag_that_nobody_sets,
        waits: [("wait(word = 1)", "any rank"), ("barrier()", "rank 0")],
        sentence: "Rank 0 waits for any rank, and no rank is left that could do something.",
    },
    Mistake {
        name: "different_calls",
        run: different_calls,
        waits: [("allreduce()", "rank 1"), ("barrier()", "rank 0")],
        sentence: CIRCLE,
    },
    Mistake {
        name: "locks_in_different_order",
        run: locks_in_different_order,
        waits: [("lock()", "rank 1"), ("lock()", "rank 0")],
        sentence: CIRCLE,
    },
];

/// Threads of both ranks wait for each other, while the main threads wait for those threads. Not for simulated ranks, which have one.
pub const WORKERS: Mistake = Mistake {
    name: "workers_that_receive_first",
    run: workers_that_receive_first,
    waits: [("recv(8 bytes, slot 0)", "rank 1"), ("recv(8 bytes, slot 0)", "rank 0")],
    sentence: CIRCLE,
};

/// No mistake: threads of both ranks wait for their main threads, which take their time without a call.
pub const PATIENT: &str = "workers_that_wait_for_a_while";

/// Runs by name.
pub fn run(name: &str, job: &Job) -> Option<Result<()>> {
    if name == PATIENT {
        return Some(workers_that_wait_for_a_while(job));
    }
    let mistake = MISTAKES.iter().chain([&WORKERS]).find(|mistake| mistake.name == name)?;
    Some((mistake.run)(job))
}

fn workers_that_receive_first(job: &Job) -> Result<()> {
    let endpoints = job.endpoints(2, 1)?;
    std::thread::scope(|threads| {
        for endpoint in endpoints {
            threads.spawn(|| {
                endpoint.run(|worker| {
                    let peer = 1 - worker.rank();
                    worker.messages().recv(&mut [0u64], peer, 0)?;
                    worker.messages().send(&[1u64], peer, 0)
                })
            });
        }
    });
    Ok(())
}

fn workers_that_wait_for_a_while(job: &Job) -> Result<()> {
    let (endpoints, word) = (job.endpoints(2, 1)?, job.symmetric::<u64>(1)?);
    std::thread::scope(|threads| {
        for endpoint in endpoints {
            let word = &word;
            threads.spawn(|| endpoint.run(|worker| worker.wait(word.here(0), Until::Equal(1)).map(drop)).unwrap());
        }
        std::thread::sleep(std::time::Duration::from_secs(3));
        job.word(word.at(1 - job.rank(), 0), 1)
    })?;
    job.barrier()
}

fn both_receive_first(job: &Job) -> Result<()> {
    let (messages, peer) = (job.messages(1)?, 1 - job.rank());
    messages.recv(&mut [0u64], peer, 0)?;
    messages.send(&[1u64], peer, 0)
}

fn both_send_first(job: &Job) -> Result<()> {
    let (messages, peer, mut data) = (job.messages(1)?, 1 - job.rank(), vec![1u64; 100_000]);
    messages.send(&data, peer, 0)?;
    messages.recv(&mut data, peer, 0).map(drop)
}

fn a_wrong_slot(job: &Job) -> Result<()> {
    let messages = job.messages(2)?;
    if job.rank() == 0 {
        messages.recv(&mut [0u64], 1, 1)?;
        messages.send(&[1u64], 1, 0)
    } else {
        messages.send(&[1u64], 0, 0)?;
        messages.recv(&mut [0u64], 0, 0).map(drop)
    }
}

fn a_flag_that_nobody_sets(job: &Job) -> Result<()> {
    let flag = job.symmetric::<u64>(1)?;
    if job.rank() == 0 {
        job.wait(flag.here(0), Until::Equal(1))?;
    }
    job.barrier()
}

fn locks_in_different_order(job: &Job) -> Result<()> {
    let mutexes = [job.mutex(0)?, job.mutex(0)?];
    let _first = mutexes[job.rank()].lock()?;
    job.barrier()?;
    let _second = mutexes[1 - job.rank()].lock()?;
    Ok(())
}

fn different_calls(job: &Job) -> Result<()> {
    let world = job.new_world()?;
    if job.rank() == 0 { world.allreduce(&mut [1u64], Sum) } else { job.barrier() }
}
