//! Pins of areas.

use super::check_refused;
use crate::support::{expect_error, lock, other, spin_until};
use hikyaku::{Error, Job, Pinned, Port, RemoteArea, Symmetric, Until};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::time::Duration;

const LEN: usize = 5000;
const SHORT: Duration = Duration::from_millis(1);

/// A pin is forgotten: the owner is told who has it, takes it away, and gets its vector; nobody writes there afterwards.
pub fn a_pin_is_forgotten(job: &Job) {
    let peer = other(job);
    for _ in 0..5 {
        let area = job.register(1, vec![0u64; LEN]).unwrap();
        job.barrier().unwrap();
        let remote = job.open_area::<u64>(peer, 1).unwrap();
        std::mem::forget(job.pin(remote.at(0), LEN).unwrap());
        job.barrier().unwrap();
        expect_error!(job.wait_unpinned(&area, Some(SHORT)), Error::AreaPinned { rank, .. } if rank == peer);
        assert_eq!(job.wait_unpinned(&area, Some(SHORT)).unwrap_err().rank(), Some(peer));
        area.unpin();
        job.wait_unpinned(&area, None).unwrap();
        job.barrier().unwrap();
        expect_error!(job.pin(remote.at(0), 1), Error::AreaRevoked { .. });
        // It is there until it is taken away.
        job.push(remote.at(0), &[1; LEN]).unwrap();
        job.flush(peer).unwrap();
        job.barrier().unwrap();
        let vector = area.into_vec();
        assert!(vector == [1; LEN]);
        job.barrier().unwrap();
        let _ = job.push(remote.at(0), &[2; LEN]);
        let _ = job.flush(peer);
        job.barrier().unwrap();
        assert!(vector == [1; LEN], "written after it was taken away");
    }
}

/// Areas are dropped and taken back under a pin: peers go on with them, and the program gets a copy.
pub fn pinned_areas_are_dropped(job: &Job) {
    let peer = other(job);
    let (area, vector) = (job.area::<u64>(1, LEN).unwrap(), job.register(2, vec![5u64; LEN]).unwrap());
    job.barrier().unwrap();
    let (first, second) = (job.open_area::<u64>(peer, 1).unwrap(), job.open_area::<u64>(peer, 2).unwrap());
    let pins = [job.pin(first.at(0), LEN).unwrap(), job.pin(second.at(0), LEN).unwrap()];
    job.barrier().unwrap();
    drop(area);
    let copy = vector.into_vec();
    assert!(copy == [5; LEN]);
    // What the rank allocates now is other memory.
    let later = (job.area::<u64>(3, LEN).unwrap(), vec![0u64; LEN]);
    expect_error!(job.area::<u64>(1, 1), Error::AreaIdTaken { id: 1, .. });
    job.barrier().unwrap();
    for pinned in &pins {
        job.push(pinned.at(0), &[9; LEN]).unwrap();
        assert_eq!(job.pull_one(pinned.at(LEN - 1)).unwrap(), 9);
    }
    job.flush(peer).unwrap();
    job.barrier().unwrap();
    assert!(copy == [5; LEN] && later.1 == [0; LEN] && later.0.to_vec() == [0; LEN]);
    drop(pins);
    // The areas are there until the job ends, as nobody has them who could take them away.
    job.barrier().unwrap();
    assert_eq!(job.pull_one(first.at(0)).unwrap(), 9);
    job.barrier().unwrap();
}

/// More pins than anybody needs, released in odd orders and too often: the owner keeps count.
pub fn pins_are_released_in_odd_orders(job: &Job) {
    let peer = other(job);
    let areas = [1, 2, 3].map(|id| job.area::<u64>(id, 10).unwrap());
    job.barrier().unwrap();
    let remote = [1, 2, 3].map(|id| job.open_area::<u64>(peer, id).unwrap());
    let mut pins = Vec::new();
    for turn in 0..500 {
        pins.push(job.pin(remote[turn % 3].at(turn % 10), 1).unwrap());
        if turn % 4 == 3 {
            drop(pins.swap_remove(turn * 7 % pins.len()));
        }
    }
    job.barrier().unwrap();
    assert!(areas.iter().all(|area| area.pinned_by() == Some(peer)));
    job.barrier().unwrap();
    while !pins.is_empty() {
        let at = 5 % pins.len();
        pins.swap_remove(at).release().unwrap();
    }
    areas.iter().for_each(|area| job.wait_unpinned(area, None).unwrap());
    job.barrier().unwrap();
}

/// The owner takes pins away that their holder releases later: later pins of other areas do not suffer.
pub fn a_pin_is_released_that_was_taken_away(job: &Job) {
    let peer = other(job);
    let (area, next) = (job.area::<u64>(1, 10).unwrap(), job.area::<u64>(2, 10).unwrap());
    job.barrier().unwrap();
    let (remote, other) = (job.open_area::<u64>(peer, 1).unwrap(), job.open_area::<u64>(peer, 2).unwrap());
    let (gone, kept) = (job.pin(remote.at(0), 10).unwrap(), job.pin(other.at(0), 10).unwrap());
    job.barrier().unwrap();
    area.unpin();
    drop(area);
    let again = job.area::<u64>(1, 10).unwrap();
    job.barrier().unwrap();
    let pinned = job.pin(job.open_area::<u64>(peer, 1).unwrap().at(0), 10).map(std::mem::forget);
    pinned.unwrap();
    gone.release().unwrap();
    job.sync().unwrap();
    job.barrier().unwrap();
    assert_eq!((again.pinned_by(), next.pinned_by()), (Some(peer), Some(peer)));
    job.barrier().unwrap();
    drop(kept);
    again.unpin();
    job.barrier().unwrap();
}

/// A panic drops a pin on its way.
pub fn a_panic_drops_a_pin(job: &Job) {
    let peer = other(job);
    for _ in 0..10 {
        let area = job.area::<u64>(1, 10).unwrap();
        job.barrier().unwrap();
        let remote = job.open_area::<u64>(peer, 1).unwrap();
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let _pinned = job.pin(remote.at(0), 10).unwrap();
            resume_unwind(Box::new("on purpose"));
        }));
        assert!(caught.is_err());
        job.barrier().unwrap();
        job.wait_unpinned(&area, None).unwrap();
        job.barrier().unwrap();
        drop(area);
    }
}

/// A handler panics while its rank waits for a pin that the owner notes later: nobody keeps that pin.
pub fn a_handler_panics_while_a_pin_is_asked_for(job: &Job) {
    const HANDLER: u16 = 1;
    job.register_handler(HANDLER, |_, _| resume_unwind(Box::new("on purpose"))).unwrap();
    let outside = job.symmetric::<u64>(1).unwrap();
    for round in 1..=10 {
        let area = (job.rank() == 0).then(|| job.register(1, vec![0u64; 10]).unwrap());
        job.barrier().unwrap();
        let remote = job.open_area::<u64>(0, 1).unwrap();
        // Both have left the calls in which the handler would run too early.
        job.word(outside.at(other(job), 0), round).unwrap();
        spin_until(|| outside.get(0) == round);
        if let Some(area) = &area {
            job.send(1, HANDLER, 0, [0; 6], &[]).unwrap();
            // Far from any call that would serve the other rank.
            std::thread::sleep(SHORT);
            job.barrier().unwrap();
            job.wait_unpinned(area, None).unwrap();
        } else {
            let asks = || {
                loop {
                    drop(job.pin(remote.at(0), 10).unwrap());
                }
            };
            assert!(catch_unwind(AssertUnwindSafe(asks)).is_err());
            job.barrier().unwrap();
        }
        job.barrier().unwrap();
    }
}

/// Neither a handler nor a function of a reduction can wait for a pin, or for the end of one.
pub fn handlers_and_functions_pin(job: &Job) {
    const HANDLER: u16 = 1;
    let peer = other(job);
    let (area, done) = (job.area::<u64>(1, 10).unwrap(), job.symmetric::<u64>(1).unwrap());
    job.barrier().unwrap();
    let remote = job.open_area::<u64>(peer, 1).unwrap();
    let held = job.pin(remote.at(0), 1).unwrap();
    let dropped = Mutex::new(Some(job.pin(remote.at(0), 10).unwrap()));
    let mut sums = vec![1u64; 100];
    let combine = |total: &mut [u64], input: &[u64]| {
        drop(lock(&dropped).take());
        check_refused(job.pin(remote.at(0), 1).map(drop));
        check_refused(job.wait_unpinned(&area, None));
        super::add(total, input);
    };
    job.world().unwrap().allreduce(&mut sums, combine).unwrap();
    assert!(sums.iter().all(|sum| *sum == 2));
    let port = job.open().unwrap();
    let mut own = Some(job.area::<u64>(2, 10).unwrap());
    job.register_handler(HANDLER, move |_, _| {
        if let Some(area) = own.take() {
            assert!(matches!(port.wait_unpinned(&area, None), Err(Error::InHandler)));
            let opened = port.open_area::<u64>(port.rank(), 2).unwrap();
            assert!(matches!(port.pin(opened.at(0), 1).map(drop), Err(Error::InHandler)));
        }
    })
    .unwrap();
    job.barrier().unwrap();
    job.send(peer, HANDLER, 0, [0; 6], &[]).unwrap();
    job.sync().unwrap();
    job.word(done.at(peer, 0), 1).unwrap();
    job.wait(done.here(0), Until::Equal(1)).unwrap();
    // Where nothing of it was combined here.
    drop(dropped.into_inner().unwrap());
    drop(held);
    job.wait_unpinned(&area, None).unwrap();
    job.barrier().unwrap();
}

/// Panics, and takes what it is sent.
const PANICS: u16 = 1;
const SINK: u16 = 2;

fn register_handlers(job: &Job) {
    job.register_handler(PANICS, |_, _| resume_unwind(Box::new("on purpose"))).unwrap();
    job.register_handler(SINK, |_, _| {}).unwrap();
    job.barrier().unwrap();
}

/// Sends so much to the other rank that there is no room for more.
fn fill(port: &Port) {
    while port.try_send(1 - port.rank(), SINK, 0, [0; 6], &[]).is_ok() {}
}

/// Rank 1 gets a pin of rank 0, which then stays out of the library until it is told by the word that `work` gets, and a while longer:
/// `work` gives the pin back, in whatever way. Then rank 0 waits until it has it.
fn pin_while_the_owner_is_away(job: &Job, round: u64, words: &Symmetric<u64>, work: impl FnOnce(&dyn Fn())) {
    let area = (job.rank() == 0).then(|| job.area::<u64>(1, 10).unwrap());
    job.barrier().unwrap();
    if let Some(area) = area {
        job.wait(words.here(0), Until::Equal(round)).unwrap();
        job.word(words.at(1, 1), round).unwrap();
        spin_until(|| words.get(2) == round);
        std::thread::sleep(10 * SHORT);
        job.barrier().unwrap();
        job.wait_unpinned(&area, None).unwrap();
    } else {
        work(&|| job.word(words.at(0, 2), round).unwrap());
        job.barrier().unwrap();
    }
    job.barrier().unwrap();
}

/// The pin that rank 1 gets, when rank 0 has left the library.
fn pinned_by<'p>(port: &'p Port, round: u64, words: &Symmetric<u64>, remote: &'p RemoteArea<u64>) -> Pinned<'p, u64> {
    let pinned = port.pin(remote.at(0), 10).unwrap();
    port.word(words.at(0, 0), round).unwrap();
    port.wait(words.here(1), Until::Equal(round)).unwrap();
    pinned
}

/// A handler panics while its rank waits for room to release a pin: it is released all the same.
pub fn a_handler_panics_while_a_pin_is_released(job: &Job) {
    register_handlers(job);
    let words = &job.symmetric::<u64>(3).unwrap();
    for round in 1..=6 {
        pin_while_the_owner_is_away(job, round, words, |tell| {
            let remote = job.open_area::<u64>(0, 1).unwrap();
            let pinned = pinned_by(job, round, words, &remote);
            fill(job);
            tell();
            let releases = || {
                job.send(1, PANICS, 0, [0; 6], &[]).unwrap();
                if round % 2 == 0 {
                    drop(pinned)
                } else {
                    pinned.release().unwrap()
                }
                job.progress();
            };
            assert!(catch_unwind(AssertUnwindSafe(releases)).is_err());
        });
    }
}

/// A panic ends a port while there is no room to release what it has pinned: that is released when there is.
pub fn a_port_ends_before_its_pins_are_released(job: &Job) {
    register_handlers(job);
    let words = &job.symmetric::<u64>(3).unwrap();
    for round in 1..=6 {
        pin_while_the_owner_is_away(job, round, words, |tell| {
            let port = job.open().unwrap();
            let caught = catch_unwind(AssertUnwindSafe(move || {
                let remote = port.open_area::<u64>(0, 1).unwrap();
                let _pinned = pinned_by(&port, round, words, &remote);
                fill(&port);
                resume_unwind(Box::new("on purpose"));
            }));
            assert!(caught.is_err());
            tell();
        });
    }
}

/// Pins are released in a function, where nothing can wait for room.
pub fn a_function_releases_pins(job: &Job) {
    register_handlers(job);
    let peer = other(job);
    for round in 0..30 {
        let area = job.area::<u64>(1, 10).unwrap();
        job.barrier().unwrap();
        let remote = job.open_area::<u64>(peer, 1).unwrap();
        let pinned = Mutex::new(Some(job.pin(remote.at(0), 10).unwrap()));
        let combine = |total: &mut [u64], input: &[u64]| {
            if let Some(pinned) = lock(&pinned).take() {
                // The other rank may take them as fast as they are sent.
                let _ = (0..5000).try_for_each(|_| job.try_send(peer, SINK, 0, [0; 6], &[]));
                if round % 2 == 0 { drop(pinned) } else { pinned.release().unwrap() }
            }
            super::add(total, input);
        };
        job.world().unwrap().allreduce(&mut vec![1u64; 100], combine).unwrap();
        drop(pinned.into_inner().unwrap());
        job.sync().unwrap();
        job.wait_unpinned(&area, None).unwrap();
        job.barrier().unwrap();
    }
}

/// A handler panics while an owner waits for the end of pins: the area stays as it is, and can be pinned again.
pub fn a_handler_panics_while_pins_are_awaited(job: &Job) {
    register_handlers(job);
    for _ in 0..10 {
        let area = (job.rank() == 0).then(|| job.area::<u64>(1, 10).unwrap());
        job.barrier().unwrap();
        let remote = job.open_area::<u64>(0, 1).unwrap();
        let first = (job.rank() == 1).then(|| job.pin(remote.at(0), 1).unwrap());
        job.barrier().unwrap();
        if let Some(area) = &area {
            let waits = || {
                job.send(0, PANICS, 0, [0; 6], &[]).unwrap();
                job.wait_unpinned(area, None).unwrap();
            };
            assert!(catch_unwind(AssertUnwindSafe(waits)).is_err());
        }
        job.barrier().unwrap();
        let second = (job.rank() == 1).then(|| job.pin(remote.at(5), 5).unwrap());
        job.barrier().unwrap();
        drop((first, second));
        if let Some(area) = &area {
            job.wait_unpinned(area, None).unwrap();
            // Once nobody has any, there are no others.
            let pinned = job.wait_unpinned(area, Some(SHORT));
            assert!(pinned.is_ok() && area.pinned_by().is_none());
        }
        job.barrier().unwrap();
    }
}

/// An area of one job is waited for, and a place of it pinned, in another.
pub fn a_pin_of_another_job_is_asked_for(job: &Job) {
    let area = job.area::<u64>(1, 10).unwrap();
    job.barrier().unwrap();
    let opened = job.open_area::<u64>(0, 1).unwrap();
    hikyaku::local(1, |inner| {
        expect_error!(inner.pin(opened.at(0), 1), Error::ForeignArea);
        expect_error!(inner.wait_unpinned(&area, None), Error::ForeignArea);
        // It dies with its job.
        let inner_area = inner.register(1, vec![1u8; 100]).unwrap();
        std::mem::forget(inner.pin(inner.open_area::<u8>(0, 1).unwrap().at(0), 100).unwrap());
        expect_error!(inner.wait_unpinned(&inner_area, Some(SHORT)), Error::AreaPinned { rank: 0, id: 1 });
    })
    .map(drop)
    .unwrap();
    job.wait_unpinned(&area, None).unwrap();
    job.barrier().unwrap();
}
