//! Misuse of active messages and of the interface's thread.

use crate::support::{expect_error, lock, other, spin_until, words};
use hikyaku::{By, Error, Event, Job, NiThread, Port, Refusal};
use rustix::event::{PollFd, PollFlags};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PANIC: u16 = 1;
const COUNT: u16 = 2;

/// The other rank has left the barrier before: in it, handlers would run that are to run later.
fn meet_outside(job: &Job) {
    let outside = job.symmetric::<u64>(1).unwrap();
    job.word(outside.at(other(job), 0), 1).unwrap();
    spin_until(|| outside.get(0) == 1);
}

/// In a program that is to end by a panic, a broken promise ends it otherwise.
fn insist(is_kept: bool, promise: &str) {
    if !is_kept {
        eprintln!("broken: {promise}");
        std::process::exit(3);
    }
}

/// The other rank dies before it says anything.
fn await_death(job: &Job, rank: usize) {
    let end = job.wait_handled(By::Rank(rank), 200, 1);
    insist(matches!(end, Err(Error::PeerDead { .. })), "its end is told");
}

/// Runs `work` again and again until a handler panics in it.
fn until_panic<R>(work: impl Fn() -> R) {
    let panic = catch_unwind(AssertUnwindSafe(|| {
        loop {
            work();
        }
    }));
    insist(panic.is_err_and(|panic| panic.downcast_ref::<&str>() == Some(&"on purpose")), "the handler's panic comes");
}

/// A port of a job of one, which it outlives, with a message to its handler 1 that nobody has looked at.
fn port_of_another_job(handler: impl FnMut() + Send + 'static) -> Port {
    let handler = Mutex::new(Some(handler));
    let ports = hikyaku::local(1, |job| {
        let mut handler = lock(&handler).take().unwrap();
        job.register_handler(1, move |_, _| handler()).unwrap();
        job.send(0, 1, 0, [0; 6], &[]).unwrap();
        job.open().unwrap()
    });
    ports.unwrap().remove(0)
}

/// The panic goes through the program of the rank whose handler it is, and the other is told of the end.
pub fn a_handler_panics_in_a_barrier(job: &Job) {
    if job.rank() == 0 {
        job.register_handler(1, |_, _| panic!("on purpose")).unwrap();
    }
    job.barrier().unwrap();
    if job.rank() == 1 {
        job.send(other(job), 1, 0, [0; 6], &[]).unwrap();
    }
    // One of them runs it: a barrier that finds the others there runs nothing.
    while job.barrier().is_ok() {}
}

/// The interface's thread ends by it, but the program computes on, and may be in the middle of a copy: it is alive until it
/// makes a call, which raises the panic.
pub fn a_handler_panics_while_the_program_goes_on(job: &Job) {
    let go_on = job.symmetric::<u64>(1).unwrap();
    job.register_handler(COUNT, |_, _| ()).unwrap();
    job.register_handler(PANIC, |context, message| {
        context.send(message.source, COUNT, 0, [0; 6], &[]).unwrap();
        panic!("on purpose");
    })
    .unwrap();
    let _thread = (job.rank() == 1).then(|| job.start_ni_thread().unwrap());
    meet_outside(job);
    if job.rank() == 1 {
        spin_until(|| go_on.get(0) == 1);
        until_panic(|| job.progress());
        // However often the program ignores it.
        insist(catch_unwind(AssertUnwindSafe(|| job.progress())).is_err(), "every call raises it");
        job.progress();
        return insist(false, "every call raises it");
    }
    job.send(1, PANIC, 0, [0; 6], &[]).unwrap();
    job.wait_handled(By::Rank(1), COUNT, 1).unwrap();
    for _ in 0..1000 {
        insist(job.is_present(1).unwrap(), "whoever runs is not called dead");
        std::thread::yield_now();
    }
    job.push(go_on.at(1, 0), &[1]).unwrap();
    await_death(job, 1);
}

/// A program that sleeps at the descriptor is woken, and its next call raises the panic.
pub fn a_handler_panics_beside_an_event_loop(job: &Job) {
    job.register_handler(PANIC, |_, _| panic!("on purpose")).unwrap();
    let events = (job.rank() == 1).then(|| job.event_descriptor().unwrap());
    meet_outside(job);
    let Some(events) = events else {
        job.send(1, PANIC, 0, [0; 6], &[]).unwrap();
        return await_death(job, 1);
    };
    loop {
        let descriptor = events.descriptor().unwrap();
        rustix::event::poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], None).unwrap();
        events.clear();
        job.progress();
    }
}

/// A message is used up by its handler, also if that panics: it runs once.
pub fn a_handlers_panic_is_caught_and_all_goes_on(job: &Job) {
    const MESSAGES: u64 = 100;
    let runs = Arc::new(AtomicU64::new(0));
    let counted = runs.clone();
    job.register_handler(PANIC, move |_, message| {
        assert_eq!(counted.fetch_add(1, Ordering::SeqCst), message.arguments[0]);
        std::panic::resume_unwind(Box::new("on purpose"));
    })
    .unwrap();
    job.register_handler(COUNT, |_, _| ()).unwrap();
    meet_outside(job);
    if job.rank() == 1 {
        (0..MESSAGES).for_each(|number| job.send(0, PANIC, 0, words(number), &[]).unwrap());
        job.send(0, COUNT, 0, [0; 6], &[]).unwrap();
    } else {
        (0..MESSAGES).for_each(|_| until_panic(|| job.progress()));
        job.wait_handled(By::Rank(1), COUNT, 1).unwrap();
        assert_eq!(runs.load(Ordering::SeqCst), MESSAGES);
    }
    job.barrier().unwrap();
}

/// What ended the interface's thread is raised by every thread of the rank: no other can go on as if nothing was.
pub fn a_handlers_panic_is_caught_by_one_thread_of_two(job: &Job) {
    job.register_handler(PANIC, |_, _| panic!("on purpose")).unwrap();
    let thread = (job.rank() == 1).then(|| job.start_ni_thread().unwrap());
    meet_outside(job);
    if thread.is_some() {
        let port = job.open().unwrap();
        let beside = std::thread::spawn(move || until_panic(|| port.is_present(0)));
        beside.join().unwrap();
        job.progress();
        return insist(false, "every thread raises it");
    }
    job.send(1, PANIC, 0, [0; 6], &[]).unwrap();
    await_death(job, 1);
}

/// A second panic would abort the process: it is kept until the first has ended.
pub fn handlers_panic_in_a_destructor_of_a_panic(job: &Job) {
    struct Calls<'j>(&'j Job);
    impl Drop for Calls<'_> {
        fn drop(&mut self) {
            // Runs handlers, all of which panic.
            let waited = self.0.wait_any(By::Rank(1), &[Event::Handler(COUNT, 1)], None);
            waited.unwrap();
        }
    }
    job.register_handler(PANIC, |_, _| panic!("on purpose")).unwrap();
    job.register_handler(COUNT, |_, _| ()).unwrap();
    meet_outside(job);
    if job.rank() == 1 {
        (0..3).for_each(|_| job.send(0, PANIC, 0, [0; 6], &[]).unwrap());
        job.send(0, COUNT, 0, [0; 6], &[]).unwrap();
        return await_death(job, 0);
    }
    until_panic(|| {
        let _calls = Calls(job);
        loop {
            job.progress();
        }
    });
    // What was kept meanwhile.
    until_panic(|| job.progress());
    job.progress();
    panic!("on purpose");
}

/// A rank that survives the panic of a handler leaves no caller waiting.
pub fn a_call_is_refused_whose_handler_panics(job: &Job) {
    job.register_handler(PANIC, |_, _| panic!("on purpose")).unwrap();
    job.register_handler(COUNT, |_, _| ()).unwrap();
    meet_outside(job);
    if job.rank() == 1 {
        let refused = job.call(0, PANIC, [0; 6], &[]);
        expect_error!(refused, Error::Refused { rank: 0, reason: Refusal::HandlerPanicked });
        job.send(0, COUNT, 0, [0; 6], &[]).unwrap();
    } else {
        until_panic(|| job.progress());
        job.wait_handled(By::Rank(1), COUNT, 1).unwrap();
    }
    job.barrier().unwrap();
}

/// Whatever a destructor does, no lock of the library is held.
pub fn what_a_handler_owns_calls_the_library_when_dropped(job: &Job) {
    struct Calls(Port, Arc<AtomicU64>);
    impl Drop for Calls {
        fn drop(&mut self) {
            let port = &self.0;
            port.register_handler(9, |_, _| ()).unwrap();
            port.send(0, 9, 0, [0; 6], &[]).unwrap();
            port.wait_handled(By::Rank(0), 9, 1).unwrap();
            port.unregister_handler(9).unwrap();
            drop(port.area::<u64>(3, 100).unwrap());
            self.1.fetch_add(1, Ordering::SeqCst);
        }
    }
    let dropped = Arc::new(AtomicU64::new(0));
    let calls = || Calls(job.open().unwrap(), dropped.clone());
    let owned = calls();
    job.register_handler(1, move |_, _| _ = &owned).unwrap();
    for id in [1, u16::MAX] {
        let owned = calls();
        expect_error!(job.register_handler(id, move |_, _| _ = &owned), Error::HandlerTaken { .. });
    }
    assert_eq!(dropped.load(Ordering::SeqCst), 2);
    job.unregister_handler(1).unwrap();
    assert_eq!(dropped.load(Ordering::SeqCst), 3);
}

/// A handler that has run another one is still a handler.
pub fn a_handler_moves_another_job_on_and_waits(job: &Job) {
    let inner_runs = Arc::new(AtomicU64::new(0));
    let counted = inner_runs.clone();
    let inner = port_of_another_job(move || _ = counted.fetch_add(1, Ordering::SeqCst));
    let outer = job.open().unwrap();
    job.register_handler(COUNT, move |_, _| {
        inner.progress();
        let wait = outer.wait_any(By::Anyone, &[Event::Handler(200, 1)], Some(Duration::from_millis(1)));
        expect_error!(wait, Error::InHandler);
        expect_error!(outer.unregister_handler(COUNT), Error::InHandler);
        expect_error!(inner.unregister_handler(COUNT), Error::InHandler);
    })
    .unwrap();
    job.send(0, COUNT, 0, [0; 6], &[]).unwrap();
    job.wait_handled(By::Rank(0), COUNT, 1).unwrap();
    assert_eq!(inner_runs.load(Ordering::SeqCst), 1);
    // Outside it is none.
    job.unregister_handler(COUNT).unwrap();
}

/// The panic is that of the other job, whose next call raises it.
pub fn a_handler_of_another_job_panics_in_a_handler(job: &Job) {
    let inner = Arc::new(Mutex::new(port_of_another_job(|| panic!("on purpose"))));
    let (outer, moved) = (job.open().unwrap(), inner.clone());
    job.register_handler(COUNT, move |_, _| {
        lock(&moved).progress();
        let wait = outer.wait_any(By::Anyone, &[Event::Handler(200, 1)], Some(Duration::from_millis(1)));
        expect_error!(wait, Error::InHandler);
    })
    .unwrap();
    job.send(0, COUNT, 0, [0; 6], &[]).unwrap();
    job.wait_handled(By::Rank(0), COUNT, 1).unwrap();
    let inner = lock(&inner);
    until_panic(|| inner.progress());
    inner.progress();
    job.progress();
}

/// All of it is refused or done, and nothing waits for itself.
pub fn a_handler_registers_drops_and_starts(job: &Job) {
    let mine = job.open().unwrap();
    let mut spare = Some(job.open().unwrap());
    let mut area = Some(job.register(1, vec![0u64; 100]).unwrap());
    job.register_handler(COUNT, move |context, message| {
        expect_error!(mine.register_handler(5, |_, _| ()), Error::InHandler);
        expect_error!(mine.unregister_handler(COUNT), Error::InHandler);
        expect_error!(mine.call(context.rank(), COUNT, [0; 6], &[]), Error::InHandler);
        mine.progress();
        // They are asked to end, and have a port each until they do.
        drop((mine.start_ni_thread(), mine.event_descriptor(), mine.open()));
        drop((spare.take(), area.take()));
        drop(mine.area::<u64>(2, 100).unwrap());
        context.reply(message.arguments).unwrap();
    })
    .unwrap();
    job.barrier().unwrap();
    for turn in 0..20 {
        assert_eq!(job.call(other(job), COUNT, words(turn), &[]).unwrap(), words(turn));
    }
    job.barrier().unwrap();
}

/// It is asked to end, and does.
pub fn a_handler_drops_the_thread_it_runs_on(job: &Job) {
    let thread = Arc::new(Mutex::new(None::<NiThread>));
    let owned = thread.clone();
    job.register_handler(COUNT, move |_, _| drop(lock(&owned).take())).unwrap();
    for turn in 1..=5 {
        *lock(&thread) = Some(job.start_ni_thread().unwrap());
        job.barrier().unwrap();
        job.send(other(job), COUNT, 0, [0; 6], &[]).unwrap();
        spin_until(|| job.handled(COUNT) == turn);
        assert!(lock(&thread).is_none());
        job.barrier().unwrap();
    }
}

/// Neither waits for the other.
pub fn handlers_of_two_jobs_drop_each_others_threads(job: &Job) {
    type Threads = Arc<[Mutex<Option<NiThread>>; 2]>;
    let threads: Threads = Arc::new([Mutex::new(None), Mutex::new(None)]);
    let met = Arc::new(AtomicU64::new(0));
    let handler = |drops: usize| {
        let (threads, met) = (threads.clone(), met.clone());
        move || {
            met.fetch_add(1, Ordering::SeqCst);
            spin_until(|| met.load(Ordering::SeqCst) >= 2);
            drop(lock(&threads[drops]).take());
            met.fetch_add(1, Ordering::SeqCst);
            spin_until(|| met.load(Ordering::SeqCst) >= 4);
        }
    };
    let inner = port_of_another_job(handler(1));
    let outer_handler = handler(0);
    job.register_handler(COUNT, move |_, _| outer_handler()).unwrap();
    *lock(&threads[0]) = Some(inner.start_ni_thread().unwrap());
    *lock(&threads[1]) = Some(job.start_ni_thread().unwrap());
    job.send(0, COUNT, 0, [0; 6], &[]).unwrap();
    spin_until(|| met.load(Ordering::SeqCst) == 4);
}

/// It serves until the process ends.
pub fn the_interfaces_thread_is_leaked(job: &Job) {
    job.register_handler(COUNT, |context, _| context.reply([7; 6]).unwrap()).unwrap();
    std::mem::forget(job.start_ni_thread().unwrap());
    std::mem::forget(job.event_descriptor());
    job.barrier().unwrap();
    for _ in 0..20 {
        assert_eq!(job.call(other(job), COUNT, [0; 6], &[]).unwrap(), [7; 6]);
    }
    job.barrier().unwrap();
}

/// What was handed over stays until it is taken.
pub fn a_handler_panics_while_messages_are_dropped(job: &Job) {
    const BYTES: usize = 200_000;
    job.register_handler(COUNT, |_, _| ()).unwrap();
    job.register_handler(PANIC, |context, message| {
        context.send(message.source, COUNT, 0, [0; 6], &[]).unwrap();
        panic!("on purpose");
    })
    .unwrap();
    let messages = job.messages(1).unwrap();
    meet_outside(job);
    if job.rank() == 0 {
        messages.send_owned(vec![7u8; BYTES].into(), 1, 0).unwrap();
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(messages)));
        // Takes what was given back too early.
        let others: Vec<_> = (0..20).map(|_| vec![8u8; BYTES].into_boxed_slice()).collect();
        assert!(dropped.is_ok(), "a destructor panicked");
        until_panic(|| job.progress());
        drop(others);
    } else {
        job.send(0, PANIC, 0, [0; 6], &[]).unwrap();
        job.wait_handled(By::Rank(0), COUNT, 1).unwrap();
        (0..1000).for_each(|_| std::thread::yield_now());
        let mut data = vec![0u8; BYTES];
        assert_eq!(messages.recv(&mut data, 0, 0).unwrap(), BYTES);
        assert!(data.iter().all(|byte| *byte == 7), "read after it was freed");
    }
    job.barrier().unwrap();
}

/// Calls are given up, because a handler panics while they wait: their replies, which come later, are not taken for those of the calls
/// after them. A handler that panics behind its reply has replied.
pub fn calls_for_bytes_are_given_up(job: &Job) {
    const ECHO: u16 = 3;
    const FOLLOWED: u16 = 4;
    job.register_handler(PANIC, |_, _| panic!("on purpose")).unwrap();
    job.register_handler(ECHO, |context, message| {
        if message.arguments[0] == 1 {
            // Before the reply, so it is handled in the wait for it.
            context.send(message.source, PANIC, 0, [0; 6], &[]).unwrap();
        }
        context.reply_with(message.arguments, message.payload).unwrap();
        context.reply_with([9; 6], &[9; 9]).unwrap();
    })
    .unwrap();
    job.register_handler(FOLLOWED, |context, _| {
        context.reply_with(words(5), b"first").unwrap();
        panic!("on purpose");
    })
    .unwrap();
    job.register_handler(COUNT, |_, _| {}).unwrap();
    meet_outside(job);
    if job.rank() == 0 {
        let mut reply = [0xC9; 300];
        for round in 0..20u8 {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                job.call_with(1, ECHO, words(1), &[round; 200], &mut reply).unwrap();
                // Between hosts a reply may come before a message that was sent before it.
                loop {
                    job.progress();
                }
            }));
            assert!(caught.is_err_and(|panic| panic.downcast_ref::<&str>() == Some(&"on purpose")));
            let (answer, bytes) = job.call_with(1, ECHO, words(2), &[round + 100; 100], &mut reply).unwrap();
            assert_eq!((answer, &reply[..bytes]), (words(2), &[round + 100; 100][..]));
        }
        let (answer, bytes) = job.call_with(1, FOLLOWED, [0; 6], &[], &mut reply).unwrap();
        assert_eq!((answer, &reply[..bytes]), (words(5), &b"first"[..]));
        job.send(1, COUNT, 0, [0; 6], &[]).unwrap();
        job.barrier().unwrap();
    } else {
        // The panic of its own handler comes in one of these.
        let mut panics = 0;
        while job.handled(COUNT) == 0 {
            panics += catch_unwind(AssertUnwindSafe(|| job.progress())).is_err() as u32;
        }
        assert_eq!(panics, 1);
        job.barrier().unwrap();
    }
}
