//! Messages and groups of several threads.

use super::canary::Guarded;
use crate::support::{beside, other};
use hikyaku::collective::{Sum, Worker};
use hikyaku::{Error, Job};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

const LONG: usize = 9000;

/// Does `work` once on a worker of a thread of its own, and then whatever the job can do.
fn on_a_thread(job: &Job, work: impl Fn(&Worker<'_>) + Sync) {
    let (endpoints, work) = (job.endpoints(1, 1).unwrap(), &work);
    beside(job, endpoints.into_iter().map(|endpoint| move || endpoint.run(work)), || {});
    job.barrier().unwrap();
    let mut sum = [1u64];
    job.world().unwrap().allreduce(&mut sum, Sum).unwrap();
    assert_eq!(sum, [job.size() as u64]);
}

/// Its thread ends while the message comes. What is allocated next must not be where it was to arrive.
pub fn a_worker_leaks_a_receive_and_ends(job: &Job) {
    for _ in 0..20 {
        on_a_thread(job, |worker| {
            let messages = worker.messages();
            if worker.rank() == 0 {
                let mut receive = messages.prepare_recv(vec![0u8; LONG], 1, 0).unwrap();
                receive.start().unwrap();
                std::mem::forget(receive);
            } else {
                // A scope would wait for a receive, if it were not for the panic.
                let left = catch_unwind(AssertUnwindSafe(|| {
                    let data = vec![1u8; LONG];
                    let _ = messages.scope(|scope| -> hikyaku::Result<()> {
                        let mut send = scope.isend(&data, 0, 0)?;
                        for _ in 0..50 {
                            match scope.test_send(send)? {
                                Ok(()) => break,
                                Err(pending) => send = pending,
                            }
                        }
                        panic!("on purpose");
                    });
                }));
                assert!(left.is_err());
            }
        });
        Guarded::new(LONG).check_untouched();
    }
}

/// The panic takes the buffer away. The message may come all the same, and then it is whole.
pub fn a_worker_panics_with_a_long_send_under_way(job: &Job) {
    on_a_thread(job, |worker| {
        let messages = worker.messages();
        if worker.rank() == 0 {
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                let data = vec![7u8; LONG];
                let _ = messages.scope(|scope| -> hikyaku::Result<()> {
                    let _send = scope.isend(&data, 1, 0)?;
                    panic!("on purpose");
                });
            }));
            assert!(panicked.is_err());
        } else {
            let mut room = vec![0u8; LONG];
            match messages.recv_for(&mut room, 0, 0, Duration::from_millis(20)) {
                Ok(len) => assert!(len == LONG && room.iter().all(|byte| *byte == 7)),
                Err(Error::Timeout { .. } | Error::PeerLeft { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    });
}

/// A thread that panics takes nothing of the others along.
pub fn a_workers_thread_panics_and_the_others_go_on(job: &Job) {
    let endpoints = job.endpoints(2, 1).unwrap();
    let works = endpoints.into_iter().enumerate().map(|(number, endpoint)| {
        move || {
            let _ = catch_unwind(AssertUnwindSafe(|| {
                endpoint.run(|worker| {
                    assert!(number == 1, "on purpose");
                    let (mut got, peer) = ([0], 1 - worker.rank());
                    for round in 0..100 {
                        worker.messages().sendrecv(&[round], peer, 0, &mut got, peer, 0).unwrap();
                        assert_eq!(got, [round]);
                    }
                })
            }));
        }
    });
    beside(job, works, || {});
    job.barrier().unwrap();
}

/// Two workers on one thread, one inside the other: what the outer has under way moves in the waits of the inner.
pub fn a_worker_runs_inside_another(job: &Job) {
    let mut endpoints = job.endpoints(2, 1).unwrap().into_iter();
    let (outer, inner) = (endpoints.next().unwrap(), endpoints.next().unwrap());
    let (peer, data, mut room) = (other(job), vec![3u8; LONG], Guarded::new(LONG));
    outer.run(|outer| {
        let messages = outer.messages();
        messages
            .scope(|scope| {
                let receive = scope.irecv(room.inside(), peer, 0)?;
                let send = scope.isend(&data, peer, 0)?;
                inner.run(|inner| {
                    inner.world()?.barrier()?;
                    inner.messages().sendrecv(&[1u8], peer, 0, &mut [0u8], peer, 0)
                })?;
                scope.wait_send(send)?;
                assert_eq!(scope.wait_receive(receive)?, LONG);
                Ok(())
            })
            .unwrap();
    });
    room.check_margins();
    assert!(room.inside().iter().all(|byte| *byte == 3));
    job.barrier().unwrap();
}

/// Those that no thread took are in nobody's way.
pub fn endpoints_are_dropped_or_leaked_unused(job: &Job) {
    drop(job.endpoints(2, 1).unwrap());
    std::mem::forget(job.endpoints(1, 1).unwrap());
    on_a_thread(job, |worker| worker.world().unwrap().barrier().unwrap());
}

/// A worker inside a scope of its job, with a scope of its own, panics: what both have under way is given up, and handles of the job are
/// strangers to the worker.
pub fn a_worker_panics_with_transfers_under_way(job: &Job) {
    const LONG: usize = 300_000;
    let (table, peer) = (job.symmetric::<u8>(LONG).unwrap(), other(job));
    table.write(0, &vec![5; LONG]);
    job.barrier().unwrap();
    for endpoint in job.endpoints(3, 1).unwrap() {
        let mut rooms = [Guarded::new(LONG), Guarded::new(LONG)];
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let [outer_room, room] = &mut rooms;
            job.scope(|outer| {
                let mut list = [Some(outer.start_pull(table.at(peer, 0), outer_room.inside())?)];
                endpoint.run(|worker| {
                    worker.scope(|inner| -> hikyaku::Result<()> {
                        let _forgotten = inner.start_pull(table.at(peer, 0), room.inside())?;
                        let waited = inner.wait_any(&mut list);
                        assert!(matches!(waited, Ok(Some((0, Ok(())))) | Err(Error::Invalid(_))), "{waited:?}");
                        panic!("on purpose");
                    })
                })
            })
        }));
        assert!(caught.is_err());
        rooms.iter_mut().for_each(|room| room.inside().fill(1));
        let mut again = vec![0; LONG];
        job.pull(table.at(peer, 0), &mut again).unwrap();
        assert!(again == vec![5; LONG]);
        for room in &mut rooms {
            room.check_margins();
            assert!(room.inside().iter().all(|byte| *byte == 1), "written after the panic");
        }
    }
    job.barrier().unwrap();
}
