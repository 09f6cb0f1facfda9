//! Tasks, and futures that wait for what other ranks do.

use crate::support::expect_error;
use hikyaku::task::{Awaits, Data, Tasks, when};
use hikyaku::{By, Error, Job, Result, Symmetric, Until};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::Thread;
use std::time::Duration;

/// A simulated rank has one thread.
fn workers(job: &Job) -> usize {
    if job.is_simulated() { 1 } else { 3 }
}

/// Each cell of a table is the sum of that of the rank before and of its own last one: a wave goes through all ranks, without any
/// barrier, and every task sees the data of the flag that it waits for.
pub fn a_wave_goes_through_the_ranks(job: &Job) {
    let steps = if job.is_simulated() { 20 } else { 300 };
    let (rank, size) = (job.rank(), job.size());
    let (inbox, flag) = (job.symmetric::<u64>(steps).unwrap(), job.symmetric::<u64>(1).unwrap());
    let (sum, ends) = (Data::new(1u64), Data::new(Vec::new()));
    job.tasks(workers(job), |tasks| {
        let (inbox, flag) = (&inbox, &flag);
        for step in 0..steps {
            let pass_on = move |port: &hikyaku::Port, sum: u64| match rank + 1 {
                next if next < size => {
                    port.push_notify(inbox.at(next, step), &[sum], flag.at(next, 0), step as u64 + 1)
                }
                _ => Ok(()),
            };
            match rank {
                0 => tasks.task((sum.write(), ends.write()), move |port, (sum, ends)| {
                    *sum = sum.wrapping_mul(3);
                    ends.push(*sum);
                    pass_on(port, *sum)
                })?,
                _ => {
                    let come = when(flag.here(0), Until::AtLeast(step as u64 + 1)).by(rank - 1);
                    tasks.task((come, sum.write(), ends.write()), move |port, (come, sum, ends)| {
                        assert!(come > step as u64);
                        *sum = sum.wrapping_add(inbox.get(step));
                        ends.push(*sum);
                        pass_on(port, *sum)
                    })?
                }
            }
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(ends.into_inner().unwrap(), wave(rank, steps));
    job.barrier().unwrap();
}

fn wave(rank: usize, steps: usize) -> Vec<u64> {
    let mut sum = 1u64;
    match rank {
        0 => (0..steps)
            .map(|_| {
                sum = sum.wrapping_mul(3);
                sum
            })
            .collect(),
        _ => {
            let add = |before: u64| {
                sum = sum.wrapping_add(before);
                sum
            };
            wave(rank - 1, steps).into_iter().map(add).collect()
        }
    }
}

/// Tasks that answer each other's flags, each submitted by the one before.
pub fn tasks_answer_tasks(job: &Job) {
    fn turn<'s>(tasks: &'s Tasks<'s, '_>, flag: &'s Symmetric<u64>, rank: usize, number: u64, last: u64) -> Result<()> {
        let peer = 1 - rank;
        tasks.task(when(flag.here(0), Until::AtLeast(number)).by(peer), move |port, _| {
            if rank == 1 || number < last {
                port.word(flag.at(peer, 0), number + (rank == 0) as u64)?;
            }
            if number < last { turn(tasks, flag, rank, number + 1, last) } else { Ok(()) }
        })
    }
    let (flag, last) = (job.symmetric::<u64>(1).unwrap(), if job.is_simulated() { 20 } else { 1000 });
    job.tasks(workers(job), |tasks| {
        turn(tasks, &flag, job.rank(), 1, last)?;
        if job.rank() == 0 { job.word(flag.at(1, 0), 1) } else { Ok(()) }
    })
    .unwrap();
    assert_eq!(flag.get(0), last);
    job.barrier().unwrap();
}

/// A flag that never comes, because its rank has left, is an error of the scope, not a hang. What the rank did before counts.
pub fn a_flag_of_a_rank_that_leaves(job: &Job) {
    let last = job.size() - 1;
    let flags = job.symmetric::<u64>(2).unwrap();
    job.barrier().unwrap();
    if job.rank() == last {
        (0..last).try_for_each(|rank| job.word(flags.at(rank, 0), 1)).unwrap();
        job.sync().unwrap();
        return;
    }
    let ran = Data::new(0);
    let result = job.tasks(workers(job), |tasks| {
        tasks.task((when(flags.here(0), Until::Equal(1)).by(last), ran.write()), |_, (_, ran)| Ok(*ran += 1))?;
        tasks.wait()?;
        tasks.task((when(flags.here(1), Until::Equal(1)).by(last), ran.write()), |_, (_, ran)| Ok(*ran += 10))?;
        // Nor does it run what comes after.
        tasks.task(ran.write(), |_, ran| Ok(*ran += 100))
    });
    expect_error!(result, Error::PeerLeft { rank } if rank == last);
    assert_eq!(ran.into_inner().unwrap(), 1);
    let result = job.tasks(workers(job), |tasks| {
        let flags = &flags;
        tasks.spawn(async move {
            expect_error!(tasks.word(flags.here(1), Until::Equal(1)).by(last).await, Error::PeerLeft { rank } if rank == last);
            tasks.word(flags.here(1), Until::Equal(1)).by(last).await.map(drop)
        })
    });
    expect_error!(result, Error::PeerLeft { rank } if rank == last);
}

/// On one thread, all at once: words, messages of both kinds, barriers and locks, while tasks run.
pub fn futures_wait_for_everything(job: &Job) {
    let rounds = if job.is_simulated() { 3 } else { 20 };
    let (rank, size) = (job.rank(), job.size());
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
    let (words, counter) = (job.symmetric::<u64>(1).unwrap(), job.symmetric::<u64>(1).unwrap());
    let (messages, matching) = (job.messages(1).unwrap(), job.matching().unwrap());
    let (barrier, mutex) = (job.counting_barrier(0).unwrap(), job.mutex(size - 1).unwrap());
    job.tasks(workers(job), |tasks| {
        let (words, counter, messages, matching) = (&words, &counter, &messages, &matching);
        let (barrier, mutex) = (&barrier, &mutex);
        tasks.spawn(async move {
            for round in 1..=rounds {
                tasks.port(|port| port.word(words.at(next, 0), round))?;
                tasks.word(words.here(0), Until::AtLeast(round)).by(before).await?;
            }
            Ok(())
        })?;
        tasks.spawn_local(async move {
            let mut number = [0u64];
            for round in 0..rounds {
                messages.send(&[round * 10 + rank as u64], next, 0)?;
                assert_eq!(tasks.recv(messages, &mut number, before, 0).await?, 1);
                assert_eq!(number, [round * 10 + before as u64]);
            }
            Ok(())
        })?;
        tasks.spawn_local(async move {
            let mut number = [0u64];
            for round in 0..rounds {
                matching.send(&[round * 10 + rank as u64], next, 7)?;
                let matched = tasks.recv_matched(matching, &mut number, before, 7).await?;
                assert_eq!((matched.rank, matched.len, number), (before, 1, [round * 10 + before as u64]));
            }
            Ok(())
        })?;
        tasks.spawn_local(async move {
            for _ in 0..rounds {
                tasks.barrier(barrier).await?;
                let guard = tasks.lock(mutex).await?;
                let value = job.pull_one(counter.at(0, 0))?;
                job.push(counter.at(0, 0), &[value + 1])?;
                guard.unlock()?;
            }
            Ok(())
        })
    })
    .unwrap();
    job.barrier().unwrap();
    assert_eq!(job.pull_one(counter.at(0, 0)).unwrap(), rounds * size as u64);
    job.barrier().unwrap();
}

/// A scope that fails on one rank leaves the job as it was.
pub fn a_scope_that_fails_leaves_the_job_usable(job: &Job) {
    let flag = job.symmetric::<u64>(1).unwrap();
    let result = job.tasks(workers(job), |tasks| {
        let flag = &flag;
        tasks.task(when(flag.here(0), Until::Equal(9)), |_, _| unreachable!())?;
        tasks.spawn(async move { tasks.word(flag.here(0), Until::Equal(9)).await.map(drop) })?;
        tasks.task((), |_, ()| Err(Error::Invalid("on purpose".into())))
    });
    expect_error!(result, Error::Invalid(_));
    job.barrier().unwrap();
    job.word(flag.at((job.rank() + 1) % job.size(), 0), 9).unwrap();
    job.tasks(workers(job), |tasks| tasks.task(when(flag.here(0), Until::Equal(9)), |_, _| Ok(()))).unwrap();
    job.barrier().unwrap();
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The smallest executor.
fn block_on<F: Future>(future: F) -> F::Output {
    let (mut future, waker) = (pin!(future), Arc::new(Unpark(std::thread::current())).into());
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return result;
        }
        std::thread::park_timeout(Duration::from_secs(60));
    }
}

/// In an executor that knows nothing of the library, futures are woken, also by the end of a rank.
pub fn any_executor_can_wait(job: &Job) {
    if job.is_simulated() {
        return expect_error!(job.events(), Error::Invalid(_));
    }
    let (rank, size) = (job.rank(), job.size());
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
    let words = job.symmetric::<u64>(2).unwrap();
    let barrier = job.counting_barrier(0).unwrap();
    let events = job.events().unwrap();
    job.barrier().unwrap();
    let all = async {
        for round in 1..=50u64 {
            if rank == 0 {
                job.word(words.at(next, 0), round)?;
            }
            assert_eq!(events.word(words.here(0), Until::AtLeast(round)).by(before).await?, round);
            if rank != 0 {
                job.word(words.at(next, 0), round)?;
            }
            if round % 10 == 0 {
                events.barrier(&barrier).await?;
            }
        }
        Result::Ok(())
    };
    block_on(all).unwrap();
    job.barrier().unwrap();
    // The last one leaves, and the others wait for it.
    if rank + 1 == size {
        return;
    }
    let never = block_on(events.word(words.here(1), Until::Equal(1)).by(size - 1));
    expect_error!(never, Error::PeerLeft { rank } if rank == size - 1);
    drop(events);
    // Rank 0 keeps the barrier's words.
    match rank {
        0 => assert_eq!(job.wait_from(By::Rank(1), words.here(1), Until::AtLeast(7)).unwrap(), 7),
        _ => job.word(words.at(0, 1), 7).unwrap(),
    }
}
