//! The network interface's own thread: progress while the host computes.

use crate::support::{spin_until, words};
use hikyaku::Job;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const HANDLER: u16 = 1;

pub fn peers_are_served_while_the_host_computes(job: &Job) {
    let done = job.symmetric::<u64>(1).unwrap();
    job.register_handler(HANDLER, |context, message| context.reply(words(2 * message.arguments[0])).unwrap()).unwrap();
    let ni_thread = (job.rank() == 1).then(|| job.start_ni_thread().unwrap());
    job.barrier().unwrap();
    if job.rank() == 0 {
        for number in 0..200 {
            assert_eq!(job.call(1, HANDLER, words(number), &[]).unwrap(), words(2 * number));
        }
        job.push(done.at(1, 0), &[1]).unwrap();
    } else {
        // No call of the library until rank 0 has all its answers.
        spin_until(|| done.get(0) == 1);
    }
    job.barrier().unwrap();
    drop(ni_thread);
}

pub fn private_memory_is_served_while_the_host_computes(job: &Job) {
    let done = job.symmetric::<u64>(1).unwrap();
    let ni_thread = job.start_ni_thread().unwrap();
    let area = job.register(1, vec![1u64; 3000]).unwrap();
    job.barrier().unwrap();
    let peer = 1 - job.rank();
    let remote = job.open_area::<u64>(peer, 1).unwrap();
    let mut got = vec![0; 3000];
    job.pull(remote.at(0), &mut got).unwrap();
    assert_eq!(job.fetch_add(remote.at(5), 4).unwrap(), 1);
    job.word(remote.at(6), 9).unwrap();
    job.flush(peer).unwrap();
    job.push(done.at(peer, 0), &[1]).unwrap();
    spin_until(|| done.get(0) == 1);
    assert_eq!(got, [1; 3000]);
    assert_eq!((area.get(5), area.get(6)), (5, 9));
    job.barrier().unwrap();
    drop(ni_thread);
    job.barrier().unwrap();
}

pub fn it_ends_and_returns_its_port(job: &Job) {
    // More often than there are ports.
    for _ in 0..100 {
        let ni_thread = job.start_ni_thread().unwrap();
        assert!(ni_thread.descriptor().is_none());
        ni_thread.clear();
    }
    let together = [job.start_ni_thread().unwrap(), job.start_ni_thread().unwrap()];
    drop(together);
}

/// A handler waits for something of its own program, which makes no call of the library: the message must not be
/// forgotten when the thread has nothing else to do.
pub fn it_runs_what_a_handler_put_off(job: &Job) {
    let allowed = Arc::new(AtomicBool::new(false));
    let attempts = Arc::new(job.symmetric::<u64>(1).unwrap());
    let (allow, tries) = (allowed.clone(), attempts.clone());
    job.register_handler(HANDLER, move |context, _| {
        tries.set(0, 1);
        if !allow.load(Ordering::SeqCst) {
            context.retry_later();
        }
    })
    .unwrap();
    let ni_thread = job.start_ni_thread().unwrap();
    job.barrier().unwrap();
    job.send(1 - job.rank(), HANDLER, 0, [0; 6], &[]).unwrap();
    spin_until(|| attempts.get(0) > 0);
    allowed.store(true, Ordering::SeqCst);
    spin_until(|| job.handled(HANDLER) == 1);
    job.barrier().unwrap();
    drop(ni_thread);
    // The handler holds memory of the job.
    job.unregister_handler(HANDLER).unwrap();
}
