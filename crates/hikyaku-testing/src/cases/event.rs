//! The descriptor for event loops (R15).

use crate::support::{spin_until, words};
use hikyaku::{Job, NiThread};
use rustix::event::{PollFd, PollFlags, Timespec};

/// Waits until the descriptor is readable.
fn await_readable(event: &NiThread) {
    let descriptor = event.descriptor().expect("made with one");
    let mut polled = [PollFd::new(&descriptor, PollFlags::IN)];
    while !matches!(rustix::event::poll(&mut polled, None), Ok(1)) {}
}

fn is_readable(event: &NiThread) -> bool {
    let descriptor = event.descriptor().expect("made with one");
    let mut polled = [PollFd::new(&descriptor, PollFlags::IN)];
    rustix::event::poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(1)
}

/// The loop of a program: clear, look, sleep in the kernel.
fn await_event(event: &NiThread, mut happened: impl FnMut() -> bool) {
    loop {
        event.clear();
        if happened() {
            return;
        }
        await_readable(event);
    }
}

pub fn a_descriptor_becomes_readable(job: &Job) {
    let word = job.symmetric::<u64>(1).unwrap();
    let peer = 1 - job.rank();
    let event = job.event_descriptor().unwrap();
    for round in 1..=100 {
        if round % 2 == job.rank() as u64 {
            job.word(word.at(peer, 0), round).unwrap();
        } else {
            await_event(&event, || word.get(0) == round);
        }
    }
    job.barrier().unwrap();
}

pub fn every_kind_of_arrival_signals(job: &Job) {
    const HANDLER: u16 = 1;
    let words_here = job.symmetric::<u64>(4).unwrap();
    let area = job.register(1, vec![0u64; 2]).unwrap();
    job.register_handler(HANDLER, |context, _| context.reply(words(1)).unwrap()).unwrap();
    let event = (job.rank() == 1).then(|| job.event_descriptor().unwrap());
    job.barrier().unwrap();
    if let Some(event) = event {
        let acknowledge = |step| job.push(words_here.at(0, 0), &[step]).unwrap();
        await_event(&event, || words_here.get(0) == 1);
        acknowledge(1);
        await_event(&event, || words_here.get(1) == 2);
        assert_eq!(words_here.get(2), 7);
        acknowledge(2);
        await_event(&event, || words_here.get(3) == 3);
        acknowledge(3);
        await_event(&event, || job.handled(HANDLER) == 1);
        acknowledge(4);
        await_event(&event, || area.get(0) == 5);
        acknowledge(5);
        await_event(&event, || area.get(1) == 6);
        acknowledge(6);
    } else {
        let remote = job.open_area::<u64>(1, 1).unwrap();
        let acknowledged = |step| spin_until(|| words_here.get(0) == step);
        job.word(words_here.at(1, 0), 1).unwrap();
        acknowledged(1);
        job.push_notify(words_here.at(1, 2), &[7], words_here.at(1, 1), 2).unwrap();
        acknowledged(2);
        job.fetch_add(words_here.at(1, 3), 3).unwrap();
        acknowledged(3);
        job.call(1, HANDLER, [0; 6], &[]).unwrap();
        acknowledged(4);
        job.word(remote.at(0), 5).unwrap();
        acknowledged(5);
        job.fetch_add(remote.at(1), 6).unwrap();
        acknowledged(6);
    }
    job.barrier().unwrap();
}

pub fn a_cleared_descriptor_stays_unreadable(job: &Job) {
    let word = job.symmetric::<u64>(1).unwrap();
    let event = job.event_descriptor().unwrap();
    for round in 1..=5 {
        job.word(word.at(0, 0), round).unwrap();
        await_event(&event, || word.get(0) == round);
        // What was under way may make it readable once more, not for ever.
        spin_until(|| {
            event.clear();
            std::thread::yield_now();
            !is_readable(&event)
        });
    }
}
