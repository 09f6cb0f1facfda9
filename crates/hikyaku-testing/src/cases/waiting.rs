//! Waiting: what ends it, and that a sleeper is always woken.

use crate::support::{await_asleep, beside, expect_error, spin_until, thread_number, words};
use hikyaku::{By, Error, Event, Job, Until};
use std::time::Duration;

const HANDLER: u16 = 1;

pub fn a_timeout_ends_a_wait(job: &Job) {
    let word = job.symmetric::<u64>(1).unwrap();
    let events = [Event::Word(word.here(0), Until::Equal(1))];
    for timeout in [0, 1, 30].map(Duration::from_millis) {
        let begin = job.now();
        expect_error!(
            job.wait_any(By::Anyone, &events, Some(timeout)),
            Error::Timeout { after } if after == timeout
        );
        assert!(job.now() - begin >= timeout);
    }
    // What has happened counts, even without any time.
    word.set(0, 1);
    assert_eq!(job.wait_any(By::Anyone, &events, Some(Duration::ZERO)).unwrap(), 0);
    assert_eq!(job.wait_any(By::Anyone, &events, Some(Duration::MAX)).unwrap(), 0);
}

pub fn a_timeout_holds_in_heavy_traffic(job: &Job) {
    let words_here = job.symmetric::<u64>(2).unwrap();
    // A message that is never taken keeps this rank busy all the time.
    job.register_handler(HANDLER, |context, _| context.retry_later()).unwrap();
    job.barrier().unwrap();
    job.send(1 - job.rank(), HANDLER, 0, [0; 6], &[]).unwrap();
    spin_until(|| job.progress());
    let timeout = Duration::from_millis(20);
    let events = [Event::Word(words_here.here(0), Until::Equal(1))];
    expect_error!(job.wait_any(By::Anyone, &events, Some(timeout)), Error::Timeout { .. });
    assert_eq!(job.handled(HANDLER), 0);
    // Without a handler the message is refused, and the barrier does not wait for it.
    job.unregister_handler(HANDLER).unwrap();
    job.barrier().unwrap();
}

pub fn wait_any_tells_which(job: &Job) {
    let words_here = job.symmetric::<u64>(4).unwrap();
    job.register_handler(HANDLER, |_, _| {}).unwrap();
    job.barrier().unwrap();
    let peer = 1 - job.rank();
    let word = |index| Event::Word(words_here.here(index), Until::NotEqual(0));
    if job.rank() == 0 {
        let events = [word(0), Event::Handler(HANDLER, 1), word(1)];
        assert_eq!(job.wait_any(By::Rank(1), &events, None).unwrap(), 2);
        job.word(words_here.at(peer, 0), 1).unwrap();
        let events = [word(0), Event::Handler(HANDLER, 1)];
        assert_eq!(job.wait_any(By::Rank(1), &events, Some(Duration::from_secs(1000))).unwrap(), 1);
        job.word(words_here.at(peer, 1), 1).unwrap();
    } else {
        job.word(words_here.at(peer, 1), 1).unwrap();
        job.wait(words_here.here(0), Until::Equal(1)).unwrap();
        job.send(peer, HANDLER, 0, [0; 6], &[]).unwrap();
        job.wait(words_here.here(1), Until::Equal(1)).unwrap();
    }
    job.barrier().unwrap();
}

pub fn poll_looks_once(job: &Job) {
    let word = job.symmetric::<u64>(1).unwrap();
    let area = job.register(1, vec![0u64; 2]).unwrap();
    job.barrier().unwrap();
    if job.rank() == 0 {
        assert_eq!(job.poll(word.here(0)).unwrap(), 0);
        assert_eq!(job.poll(area.at(1)).unwrap(), 0);
        job.barrier().unwrap();
        // Polling also serves: rank 1 writes to private memory of this rank.
        spin_until(|| job.poll(word.here(0)).unwrap() == 5 && job.poll(area.at(1)).unwrap() == 6);
    } else {
        job.barrier().unwrap();
        job.word(word.at(0, 0), 5).unwrap();
        job.word(job.open_area::<u64>(0, 1).unwrap().at(1), 6).unwrap();
        expect_error!(job.poll(word.at(0, 0)), Error::NotMine { rank: 0 });
    }
    job.barrier().unwrap();
}

/// Rank 1 goes to sleep in `sleep`; rank 0 runs `wake` only when it does.
fn sleep_and_wake(job: &Job, sleep: impl Fn(), wake: impl Fn()) {
    let thread = job.symmetric::<u64>(1).unwrap();
    for round in 0..3 {
        if job.rank() == 0 {
            let sleeper = job.swap(thread.here(0), 0).unwrap();
            let sleeper = if sleeper != 0 { sleeper } else { job.wait(thread.here(0), Until::NotEqual(0)).unwrap() };
            await_asleep(job, sleeper);
            wake();
        } else {
            job.word(thread.at(0, 0), thread_number()).unwrap();
            sleep();
        }
        job.barrier().unwrap_or_else(|error| panic!("round {round}: {error}"));
        thread.set(0, 0);
        job.barrier().unwrap();
    }
}

pub fn a_sleeper_is_woken_by_a_word(job: &Job) {
    let word = job.symmetric::<u64>(1).unwrap();
    let sleep = || {
        assert_eq!(job.wait(word.here(0), Until::NotEqual(0)).unwrap(), 5);
        word.set(0, 0);
    };
    sleep_and_wake(job, sleep, || job.word(word.at(1, 0), 5).unwrap());
}

pub fn a_sleeper_is_woken_by_a_notification(job: &Job) {
    let data = job.symmetric::<u64>(100).unwrap();
    let area = job.area::<u64>(1, 1).unwrap();
    job.barrier().unwrap();
    let remote = job.open_area::<u64>(1, 1).unwrap();
    let sleep = || {
        job.wait(area.at(0), Until::Equal(1)).unwrap();
        assert_eq!(data.to_vec(), [7; 100]);
        area.write(0, &[0]);
        data.write(0, &[0; 100]);
    };
    sleep_and_wake(job, sleep, || job.push_notify(data.at(1, 0), &[7; 100], remote.at(0), 1).unwrap());
    job.barrier().unwrap();
}

pub fn a_sleeper_is_woken_by_a_message(job: &Job) {
    job.register_handler(HANDLER, |context, _| context.reply(words(1)).unwrap()).unwrap();
    job.barrier().unwrap();
    let runs = std::cell::Cell::new(0);
    let sleep = || {
        runs.set(runs.get() + 1);
        job.wait_handled(By::Rank(0), HANDLER, runs.get()).unwrap();
    };
    sleep_and_wake(job, sleep, || assert_eq!(job.call(1, HANDLER, [0; 6], &[]).unwrap(), words(1)));
}

pub fn a_sleeper_is_woken_by_a_barrier(job: &Job) {
    sleep_and_wake(job, || job.barrier().unwrap(), || job.barrier().unwrap());
}

pub fn two_threads_sleep_for_different_words(job: &Job) {
    let words_here = job.symmetric::<u64>(2).unwrap();
    let threads = job.symmetric::<u64>(2).unwrap();
    if job.rank() == 0 {
        // In the other order: the first must not be woken in vain and take the second's place.
        for index in [1, 0] {
            await_asleep(job, job.wait(threads.here(index), Until::NotEqual(0)).unwrap());
            job.word(words_here.at(1, index), 1).unwrap();
        }
    } else {
        let sleepers = [0, 1].map(|index| {
            let (port, words_here, threads) = (job.open().unwrap(), &words_here, &threads);
            move || {
                port.word(threads.at(0, index), thread_number()).unwrap();
                port.wait(words_here.here(index), Until::Equal(1)).unwrap();
            }
        });
        beside(job, sleepers, || {});
    }
    job.barrier().unwrap();
}

pub fn a_rank_that_left_ends_waits_for_it(job: &Job) {
    let word = job.symmetric::<u64>(2).unwrap();
    job.register_handler(HANDLER, |_, _| {}).unwrap();
    job.barrier().unwrap();
    match job.rank() {
        0 => {
            expect_error!(job.wait_from(By::Rank(1), word.here(0), Until::Equal(1)), Error::PeerLeft { rank: 1 });
            assert!(!job.is_present(1).unwrap() && job.is_present(0).unwrap());
            expect_error!(job.wait_handled(By::Rank(1), HANDLER, 1), Error::PeerLeft { rank: 1 });
            // Another may still come, so a wait for anyone goes on, and so does one for rank 2.
            job.word(word.at(2, 0), 1).unwrap();
            assert_eq!(job.wait(word.here(0), Until::NotEqual(0)).unwrap(), 2);
            job.word(word.at(2, 0), 2).unwrap();
            job.wait_from(By::Rank(2), word.here(1), Until::Equal(3)).unwrap();
            // Now nobody is left.
            expect_error!(job.wait(word.here(0), Until::Equal(9)), Error::PeerLeft { .. });
        }
        2 => {
            job.wait_from(By::Rank(0), word.here(0), Until::Equal(1)).unwrap();
            job.word(word.at(0, 0), 2).unwrap();
            job.wait_from(By::Rank(0), word.here(0), Until::Equal(2)).unwrap();
            job.word(word.at(0, 1), 3).unwrap();
        }
        _ => {}
    }
}

pub fn a_rank_that_left_fails_messages_and_barriers(job: &Job) {
    let area = job.symmetric::<u64>(1).unwrap();
    job.register_handler(HANDLER, |_, _| {}).unwrap();
    job.barrier().unwrap();
    if job.rank() == 0 {
        spin_until(|| !job.is_present(1).unwrap());
        expect_error!(job.send(1, HANDLER, 0, [0; 6], &[]), Error::PeerLeft { rank: 1 });
        expect_error!(job.try_send(1, HANDLER, 0, [0; 6], &[]), Error::PeerLeft { rank: 1 });
        expect_error!(job.call(1, HANDLER, [0; 6], &[]), Error::PeerLeft { rank: 1 });
        expect_error!(job.barrier(), Error::PeerLeft { rank: 1 });
        expect_error!(job.symmetric::<u64>(1), Error::PeerLeft { rank: 1 });
        if job.is_mapped(1).unwrap() {
            // Its memory stays with the job.
            job.push(area.at(1, 0), &[3]).unwrap();
            assert_eq!(job.pull_one(area.at(1, 0)).unwrap(), 3);
        } else {
            expect_error!(job.push(area.at(1, 0), &[3]), Error::PeerLeft { rank: 1 });
            expect_error!(job.pull_one(area.at(1, 0)), Error::PeerLeft { rank: 1 });
            job.sync().expect("nothing is under way");
        }
    }
}

pub fn what_a_rank_did_before_it_left_counts(job: &Job) {
    let word = job.symmetric::<u64>(1).unwrap();
    job.register_handler(HANDLER, |_, _| {}).unwrap();
    job.barrier().unwrap();
    if job.rank() == 0 {
        spin_until(|| !job.is_present(1).unwrap());
        // Nearly a whole ring of messages is still unread.
        job.wait_handled(By::Rank(1), HANDLER, 250).unwrap();
        assert_eq!(job.wait_from(By::Rank(1), word.here(0), Until::Equal(1)).unwrap(), 1);
    } else if job.rank() == 1 {
        for _ in 0..250 {
            job.send(0, HANDLER, 0, [0; 6], &[]).unwrap();
        }
        job.word(word.at(0, 0), 1).unwrap();
    }
}
