//! What a handler may do, and what is refused there.

use crate::os::{Found, found, while_found};
use crate::support::{expect_error, lock, words};
use hikyaku::{By, Error, Event, Job, Symmetric, Until};
use std::sync::{Arc, Mutex};

const HANDLER: u16 = 1;

/// Runs `attempts` inside a handler of this rank and gives their results by name.
pub(super) fn in_handler(
    job: &Job,
    attempts: impl FnOnce(&mut Vec<(&'static str, hikyaku::Result<()>)>) + Send + 'static,
) -> Vec<(&'static str, hikyaku::Result<()>)> {
    let results = Arc::new(Mutex::new(Vec::new()));
    let (log, mut attempts) = (results.clone(), Some(attempts));
    job.register_handler(HANDLER, move |_, _| {
        if let Some(attempts) = attempts.take() {
            attempts(&mut lock(&log));
        }
    })
    .unwrap();
    job.send(job.rank(), HANDLER, 0, [0; 6], &[]).unwrap();
    job.wait_handled(By::Anyone, HANDLER, 1).unwrap();
    job.unregister_handler(HANDLER).unwrap();
    std::mem::take(&mut *lock(&results))
}

pub fn waiting_in_a_handler_is_refused(job: &Job) {
    let word = Arc::new(job.symmetric::<u64>(1).unwrap());
    let (port, own) = (job.open().unwrap(), word.clone());
    let results = in_handler(job, move |results| {
        let place = own.here(0);
        results.push(("wait", port.wait(place, Until::Equal(1)).map(drop)));
        results.push(("wait_from", port.wait_from(By::Rank(0), place, Until::Equal(1)).map(drop)));
        let events = [Event::Word(place, Until::Equal(1))];
        results.push(("wait_any", port.wait_any(By::Anyone, &events, None).map(drop)));
        results.push(("wait_handled", port.wait_handled(By::Anyone, 2, 1)));
        results.push(("call", port.call(0, HANDLER, [0; 6], &[]).map(drop)));
        // More than a ring takes: the one that would have to wait is refused.
        let flood = (0..100_000).find_map(|_| port.send(port.rank(), 2, 0, [0; 6], &[]).err());
        results.push(("send", flood.map_or(Ok(()), Err)));
        assert!(!port.progress(), "no handler inside a handler");
    });
    assert_eq!(results.len(), 6);
    for (name, result) in results {
        assert!(matches!(result, Err(Error::InHandler)), "{name}: {result:?}");
    }
    // The flood went to an unknown handler of this rank; that is reported here at most once per look.
    while job.progress() || job.sync().is_err() {}
    job.barrier().unwrap();
}

thread_local! {
    static JOB: Found<Job> = const { Found::nothing() };
}

/// A program with a global job (the C interface is one) may call a collective in a handler: refused before it has
/// any effect, so the collectives of the ranks do not get out of step.
pub fn collectives_in_a_handler_are_refused_whole(job: &Job) {
    let mut area: Option<Symmetric<u64>> = Some(job.symmetric::<u64>(4).unwrap());
    let mut refused = move |job: &Job, results: &mut Vec<(&'static str, hikyaku::Result<()>)>| {
        results.push(("barrier", job.barrier()));
        results.push(("symmetric", job.symmetric::<u64>(8).map(drop)));
        results.push(("free", job.free(area.take().unwrap())));
        results.push(("register_handler", job.register_handler(9, |_, _| {})));
        results.push(("unregister_handler", job.unregister_handler(HANDLER)));
    };
    // Handlers run on this thread: there is no other one.
    let rank = job.rank();
    let in_handler = || in_handler(job, move |results| found(&JOB, rank, |job| refused(job, results)));
    let results = while_found(&JOB, rank, job, in_handler);
    assert_eq!(results.len(), 5);
    for (name, result) in results {
        assert!(matches!(result, Err(Error::InHandler)), "{name}: {result:?}");
    }
    // Only one rank tries; the others know nothing of it, and everything goes on in step.
    for round in 1..=3 {
        let area = job.symmetric::<u64>(2).unwrap();
        job.push(area.at(1 - job.rank(), 0), &[round]).unwrap();
        job.barrier().unwrap();
        assert_eq!(area.get(0), round);
    }
}

pub fn a_handler_uses_remote_memory(job: &Job) {
    let table = Arc::new(job.symmetric::<u64>(4).unwrap());
    let (port, memory) = (job.open().unwrap(), table.clone());
    job.register_handler(2, move |context, message| {
        let source = message.source;
        port.push(memory.at(source, 0), &[message.arguments[0]]).unwrap();
        if port.is_mapped(source).unwrap() {
            port.fetch_add(memory.at(source, 1), 5).unwrap();
            assert_eq!(port.pull_one(memory.at(source, 0)).unwrap(), message.arguments[0]);
        } else {
            // What needs an answer would wait for it.
            expect_error!(port.fetch_add(memory.at(source, 1), 5), Error::InHandler);
            expect_error!(port.pull_one(memory.at(source, 0)), Error::InHandler);
            port.push(memory.at(source, 1), &[5]).unwrap();
        }
        port.word(memory.at(source, 2), 1).unwrap();
        context.reply(words(1)).unwrap();
    })
    .unwrap();
    job.barrier().unwrap();
    job.send(1 - job.rank(), 2, 0, words(77), &[]).unwrap();
    job.wait(table.here(2), Until::Equal(1)).unwrap();
    assert_eq!(table.to_vec(), [77, 5, 1, 0]);
    job.barrier().unwrap();
    // The handler holds a port of this rank; without it the rank can end.
    job.unregister_handler(2).unwrap();
}

pub fn handlers_are_registered_once(job: &Job) {
    job.register_handler(0, |_, _| {}).unwrap();
    job.register_handler(255, |_, _| {}).unwrap();
    expect_error!(job.register_handler(0, |_, _| {}), Error::HandlerTaken { id: 0, max: 256 });
    expect_error!(job.register_handler(256, |_, _| {}), Error::HandlerTaken { id: 256, max: 256 });
    expect_error!(job.register_handler(u16::MAX, |_, _| {}), Error::HandlerTaken { .. });
    expect_error!(job.unregister_handler(256), Error::UnknownHandler { id: 256 });
    job.unregister_handler(0).unwrap();
    job.register_handler(0, |_, _| {}).unwrap();
}
