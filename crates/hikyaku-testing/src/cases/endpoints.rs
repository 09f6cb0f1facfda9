//! Endpoints: messages and groups of several threads of a rank.

use crate::support::{beside, expect_error, other, tag};
use hikyaku::collective::{Endpoint, Sum, Worker};
use hikyaku::{Error, Job, Result};

pub fn threads_exchange_messages_and_reduce_at_once(job: &Job) {
    const THREADS: usize = 3;
    const ROUNDS: usize = 20;
    let work = |endpoint: Endpoint<'_>, thread: usize| {
        endpoint.run(|worker| {
            for round in 0..ROUNDS {
                // In a head, in a bounce buffer, and by a deal.
                [1, 300, 5000].into_iter().for_each(|len| exchange(worker, thread, round, len).unwrap());
                let mut sum = vec![tag(thread, round); 1 + 700 * (round % 2)];
                worker.world().unwrap().allreduce(&mut sum, Sum).unwrap();
                assert!(sum.iter().all(|sum| *sum == 2 * tag(thread, round)), "thread {thread}, round {round}");
                worker.world().unwrap().barrier().unwrap();
            }
        });
    };
    let endpoints = job.endpoints(THREADS, 2).unwrap().into_iter().enumerate();
    beside(job, endpoints.map(|(thread, endpoint)| move || work(endpoint, thread)), || {});
    // The job's own are not in the way of theirs.
    let mut sum = [job.rank() as u64];
    job.world().unwrap().allreduce(&mut sum, Sum).unwrap();
    assert_eq!(sum, [1]);
    job.barrier().unwrap();
}

fn exchange(worker: &Worker<'_>, thread: usize, round: usize, len: usize) -> Result<()> {
    let (peer, mut got) = (1 - worker.rank(), vec![0; len]);
    let slot = round % worker.messages().slots();
    worker.messages().sendrecv(&vec![tag(thread, round); len], peer, slot, &mut got, peer, slot)?;
    assert!(got.iter().all(|word| *word == tag(thread, round)), "thread {thread}, round {round}: {:?}", got.first());
    Ok(())
}

pub fn a_worker_is_a_port_and_may_be_on_the_jobs_own_thread(job: &Job) {
    let table = job.symmetric::<u64>(1).unwrap();
    for endpoint in job.endpoints(2, 1).unwrap() {
        endpoint.run(|worker| {
            worker.fetch_add(table.at(other(job), 0), 1).unwrap();
            worker.world().unwrap().barrier().unwrap();
        });
    }
    assert_eq!(table.get(0), 2);
    job.barrier().unwrap();
}

pub fn all_ranks_learn_that_one_has_no_port_left(job: &Job) {
    let ports: Vec<_> = std::iter::from_fn(|| job.open().ok()).take_while(|_| job.rank() == 0).collect();
    match job.rank() {
        0 => expect_error!(job.endpoints(1, 1), Error::NoPort { .. }),
        _ => match job.endpoints(1, 1) {
            Err(Error::Mismatch { rank: 0, their_call, .. }) => {
                assert_eq!(their_call, "endpoints without a port left for them (HIKYAKU_PORTS)");
            }
            // Through a rank that has heard of it.
            Err(Error::Mismatch { .. } | Error::Refused { .. }) => {}
            other => panic!("{other:?}"),
        },
    }
    drop(ports);
    for endpoint in job.endpoints(1, 1).unwrap() {
        endpoint.run(|worker| exchange(worker, 0, 0, 1).unwrap());
    }
    job.barrier().unwrap();
}

pub fn numbers_of_slots_that_cannot_be_are_refused(job: &Job) {
    assert!(job.endpoints(0, 1).unwrap().is_empty());
    expect_error!(job.endpoints(1, 0), Error::Invalid(_));
    expect_error!(job.endpoints(1, usize::MAX), Error::Invalid(_));
    job.barrier().unwrap();
}
