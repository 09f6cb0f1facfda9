//! Misuse of areas, symmetric memory, registered vectors and ports; several jobs in one process.

use crate::support::{expect_error, lock, other, push_outcome};
use hikyaku::{Area, By, Error, Job, Until};
use std::sync::{Arc, Mutex};

/// Elements of an area that takes a while to be written.
const LEN: usize = 1 << 16;

/// It stays reachable: its memory is never given back.
pub fn an_area_is_leaked(job: &Job) {
    std::mem::forget(job.register::<u64>(1, vec![0; 100]).unwrap());
    job.barrier().unwrap();
    let area = job.open_area::<u64>(other(job), 1).unwrap();
    job.push(area.at(0), &[1; 100]).unwrap();
    job.flush(other(job)).unwrap();
    job.barrier().unwrap();
}

/// Pushes into area 1 of rank 0 until it is gone.
fn push_until_revoked(job: &Job) {
    let Ok(area) = job.open_area::<u64>(0, 1) else { return };
    let data = vec![u64::MAX; LEN];
    loop {
        let pushed = job.push(area.at(0), &data).and_then(|()| job.flush(0));
        match push_outcome(job, 0, 1, pushed) {
            Ok(()) => {}
            Err(Error::AreaRevoked { .. } | Error::Refused { .. }) => return,
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// What was given back belongs to the program: nobody writes there any more.
fn check_quiet(memory: &mut [u64]) {
    memory.fill(7);
    for _ in 0..50 {
        std::thread::yield_now();
        assert!(std::hint::black_box(&memory[..]).iter().all(|word| *word == 7), "written after it was taken away");
    }
}

/// Nobody writes to an area that is gone, and whoever calls its owner meanwhile is answered.
pub fn areas_are_taken_away_from_peers_that_push_and_call(job: &Job) {
    job.register_handler(1, |context, _| context.reply([7; 6]).unwrap()).unwrap();
    for turn in 0..10 {
        let area = (job.rank() == 0).then(|| job.register(1, vec![0u64; LEN]).unwrap());
        job.barrier().unwrap();
        match area {
            Some(area) => {
                while area.get(LEN / 2) == 0 {
                    job.progress();
                }
                if turn % 2 == 0 {
                    check_quiet(&mut area.into_vec());
                } else {
                    drop(area);
                }
            }
            None => {
                let port = job.open().unwrap();
                let calls = std::thread::spawn(move || {
                    (0..100).for_each(|_| assert_eq!(port.call(0, 1, [0; 6], &[]).unwrap(), [7; 6]));
                });
                push_until_revoked(job);
                calls.join().unwrap();
            }
        }
        job.barrier().unwrap();
    }
}

/// The handler waits for the push under way, which waits for nobody: not for this handler either.
pub fn a_handler_takes_an_area_away(job: &Job) {
    let mut area = (job.rank() == 0).then(|| job.register(1, vec![0u64; LEN]).unwrap());
    job.register_handler(1, move |context, _| {
        area.take().map(Area::into_vec).iter_mut().for_each(|memory| check_quiet(memory));
        context.reply([0; 6]).unwrap();
    })
    .unwrap();
    job.barrier().unwrap();
    if job.rank() == 1 {
        let port = job.open().unwrap();
        let calls = std::thread::spawn(move || {
            port.call(0, 1, [0; 6], &[]).unwrap();
        });
        push_until_revoked(job);
        calls.join().unwrap();
    }
    job.barrier().unwrap();
}

/// Its destructor waits until nobody writes any more.
pub fn a_panic_takes_an_area_away(job: &Job) {
    job.register_handler(1, |_, _| panic!("on purpose")).unwrap();
    let area = (job.rank() == 0).then(|| job.register(1, vec![0u64; LEN]).unwrap());
    job.barrier().unwrap();
    if job.rank() == 1 {
        let port = job.open().unwrap();
        let sends = std::thread::spawn(move || (0..100).all(|_| port.send(0, 1, 0, [0; 6], &[]).is_ok()));
        let area = job.open_area::<u64>(0, 1);
        let data = vec![1; LEN];
        while let Ok(area) = &area
            && job.push(area.at(0), &data).and_then(|()| job.flush(0)).is_ok()
        {}
        let _ = sends.join().unwrap();
        return expect_error!(job.barrier(), Error::PeerDead { rank: 0 });
    }
    let area = area.unwrap();
    while area.get(0) == 0 {
        job.progress();
    }
    // In both cases a destructor ends it: by the panic of a handler, or by this one.
    panic!("on purpose");
}

/// Every start is refused once the area is gone.
pub fn a_prepared_push_outlives_its_area(job: &Job) {
    let area = (job.rank() == 0).then(|| job.register(1, vec![0u64; 100]).unwrap());
    job.barrier().unwrap();
    let remote = job.open_area::<u64>(0, 1).unwrap();
    let mut push = job.prepare_push(remote.at(0), vec![1; 100], None).unwrap();
    push.start().unwrap();
    job.flush(0).unwrap();
    job.barrier().unwrap();
    drop(area);
    job.barrier().unwrap();
    for _ in 0..3 {
        expect_error!(
            push.start().and_then(|()| job.flush(0)),
            Error::AreaRevoked { .. } | Error::Refused { rank: 0, .. }
        );
    }
    // A new area under the same name is another one.
    let area = (job.rank() == 0).then(|| job.register(1, vec![0u64; 100]).unwrap());
    job.barrier().unwrap();
    expect_error!(push.start().and_then(|()| job.flush(0)), Error::AreaRevoked { .. } | Error::Refused { rank: 0, .. });
    job.barrier().unwrap();
    assert!(area.is_none_or(|area| area.into_vec() == [0; 100]));
}

/// A place means nothing in another job, also after its own has ended.
pub fn places_of_another_job_are_used(job: &Job) {
    let mine = job.symmetric::<u64>(10).unwrap();
    let inner = hikyaku::local(1, |inner| {
        let (table, area) = (inner.symmetric::<u64>(10).unwrap(), inner.area::<u64>(1, 10).unwrap());
        (inner.open().unwrap(), table, area)
    });
    let (port, table, area) = inner.unwrap().remove(0);
    for place in [table.at(0, 0), area.at(0)] {
        expect_error!(job.push(place, &[1; 10]), Error::ForeignArea);
        expect_error!(job.pull(place, &mut [0; 10]), Error::ForeignArea);
        expect_error!(job.word(place, 1), Error::ForeignArea);
        expect_error!(job.wait(place, Until::Equal(1)), Error::ForeignArea);
        expect_error!(job.prepare_push(place, vec![1; 10], None), Error::ForeignArea);
        port.push(place, &[5; 10]).unwrap();
    }
    expect_error!(port.push(mine.here(0), &[1; 10]), Error::ForeignArea);
    expect_error!(job.free(table), Error::ForeignArea);
    assert_eq!((area.to_vec(), mine.to_vec()), (vec![5; 10], vec![0; 10]));
    drop(port);
    assert_eq!(area.into_vec(), [5; 10]);
}

/// They work, or say that the peers are gone; what they were for stays as long as they do.
pub fn ports_are_moved_between_threads_and_outlive_their_job(job: &Job) {
    let table = Arc::new(job.symmetric::<u64>(64).unwrap());
    let mut port = job.open().unwrap();
    for turn in 0..10u64 {
        let (peer, table) = (other(job), table.clone());
        let moved = std::thread::spawn(move || {
            port.push(table.at(peer, 0), &[turn; 64]).unwrap();
            port.send(peer, 1, 0, [0; 6], &[]).unwrap();
            port
        });
        port = moved.join().unwrap();
    }
    job.barrier().unwrap();
    // Ends some time after the job.
    let peer = other(job);
    std::thread::spawn(move || {
        while port.is_present(peer).unwrap() {
            port.push(table.at(peer, 0), &[1; 64]).unwrap();
        }
        let sent = port.send(peer, 1, 0, [0; 6], &[]);
        assert!(matches!(sent, Err(Error::PeerLeft { .. } | Error::PeerDead { .. })), "{sent:?}");
        let waited = port.wait_from(By::Rank(peer), table.here(0), Until::Equal(99));
        assert!(matches!(waited, Err(Error::PeerLeft { .. } | Error::PeerDead { .. })), "{waited:?}");
    });
}

/// Whoever takes an area away may hold a lock of its own that its handlers take.
pub fn an_area_is_dropped_under_a_lock_that_handlers_take(job: &Job) {
    let shared = Arc::new(Mutex::new(None::<Area<u64>>));
    let locked = shared.clone();
    job.register_handler(1, move |_, _| drop(lock(&locked))).unwrap();
    for _ in 0..10 {
        if job.rank() == 0 {
            *lock(&shared) = Some(job.register(1, vec![0; LEN]).unwrap());
        }
        job.barrier().unwrap();
        if job.rank() == 1 {
            let port = job.open().unwrap();
            let sends = std::thread::spawn(move || (0..200).for_each(|_| port.send(0, 1, 0, [0; 6], &[]).unwrap()));
            push_until_revoked(job);
            sends.join().unwrap();
        } else {
            let written = || lock(&shared).as_ref().is_none_or(|area| area.get(LEN / 2) != 0);
            while !written() {
                job.progress();
            }
            *lock(&shared) = None;
        }
        job.barrier().unwrap();
    }
}
