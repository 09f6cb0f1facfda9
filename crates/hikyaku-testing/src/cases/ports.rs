//! Ports: threads of one rank that never wait for each other.

use crate::support::{beside, expect_error, spin_until, tag, words};
use hikyaku::{By, Error, Job, Port, Until};

const HANDLER: u16 = 1;

pub fn threads_communicate_at_once(job: &Job) {
    const THREADS: usize = 3;
    const ROUNDS: u64 = 200;
    let table = job.symmetric::<u64>(THREADS * 8).unwrap();
    let flags = job.symmetric::<u64>(THREADS).unwrap();
    let total = job.symmetric::<u64>(1).unwrap();
    job.register_handler(HANDLER, |context, message| context.reply(words(message.arguments[0] + 1)).unwrap()).unwrap();
    job.barrier().unwrap();
    let (rank, peer) = (job.rank(), 1 - job.rank());
    let (table, flags, total) = (&table, &flags, &total);
    // Thread i of either rank plays ping-pong with thread i of the other.
    let work = move |port: Port, thread: usize| {
        for round in 1..=ROUNDS {
            let value = tag(thread, round as usize);
            port.push_notify(table.at(peer, thread * 8), &[value; 8], flags.at(peer, thread), round).unwrap();
            port.wait_from(By::Rank(peer), flags.here(thread), Until::AtLeast(round)).unwrap();
            let mut got = [0; 8];
            table.read(thread * 8, &mut got);
            assert!(got[0] >= value, "{got:?}");
            port.fetch_add(total.at(0, 0), 1).unwrap();
            assert_eq!(port.call(peer, HANDLER, words(round), &[]).unwrap(), words(round + 1));
        }
    };
    let ports: Vec<_> = (0..THREADS).map(|_| job.open().unwrap()).collect();
    beside(job, ports.into_iter().enumerate().map(|(thread, port)| move || work(port, thread)), || {});
    job.barrier().unwrap();
    if rank == 0 {
        assert_eq!(total.get(0), 2 * THREADS as u64 * ROUNDS);
    }
    assert_eq!(job.handled(HANDLER), THREADS as u64 * ROUNDS);
    job.barrier().unwrap();
}

pub fn ports_run_out_and_come_back(job: &Job) {
    for _ in 0..3 {
        let mut ports = Vec::new();
        let max = loop {
            match job.open() {
                Ok(port) => ports.push(port),
                Err(Error::NoPort { max }) => break max,
                Err(other) => panic!("{other:?}"),
            }
        };
        // One is the job's, one the network interface's.
        assert_eq!(ports.len() + 2, max);
        expect_error!(job.start_ni_thread(), Error::NoPort { .. });
        expect_error!(ports[0].open(), Error::NoPort { .. });
        ports.pop();
        let last = job.open().unwrap();
        assert_eq!((last.rank(), last.size()), (0, 1));
    }
}

/// Whoever opens a port next goes on where the last holder stopped: nothing is lost, repeated or reordered.
pub fn a_reopened_port_goes_on(job: &Job) {
    const ROUNDS: u64 = 300;
    let mut next = 0;
    job.register_handler(HANDLER, move |_, message| {
        assert_eq!(message.arguments[0], next);
        next += 1;
    })
    .unwrap();
    job.barrier().unwrap();
    for round in 0..ROUNDS {
        let port = job.open().unwrap();
        for number in 0..3 {
            port.send(1 - job.rank(), HANDLER, 0, words(3 * round + number), &[0; 100]).unwrap();
        }
    }
    job.wait_handled(By::Anyone, HANDLER, 3 * ROUNDS).unwrap();
    job.barrier().unwrap();
}

pub fn a_new_port_inherits_no_errors(job: &Job) {
    if job.rank() == 0 {
        let before = job.open().unwrap();
        job.send(1, 99, 0, [0; 6], &[]).unwrap();
        spin_until(|| {
            job.progress();
            matches!(job.sync(), Err(Error::Refused { rank: 1, .. }))
        });
        // The message had no name, so every port that was open then learns of it; one opened later does not.
        let after = job.open().unwrap();
        after.sync().unwrap();
        expect_error!(before.sync(), Error::Refused { rank: 1, .. });
        drop(before);
        job.open().unwrap().sync().unwrap();
    }
    job.barrier().unwrap();
}

pub fn a_port_moves_to_another_thread(job: &Job) {
    let word = job.symmetric::<u64>(1).unwrap();
    let peer = 1 - job.rank();
    let mut port = job.open().unwrap();
    for round in 1..=20 {
        let word = &word;
        port = std::thread::scope(|scope| {
            let thread = scope.spawn(move || {
                port.word(word.at(peer, 0), round).unwrap();
                port.wait(word.here(0), Until::AtLeast(round)).unwrap();
                port
            });
            thread.join().unwrap()
        });
    }
    job.barrier().unwrap();
}

/// Threads take a port for each turn, or for several calls of one: whatever one has pushed with it is there when its word is.
pub fn a_hundred_threads_share_two_ports(job: &Job) {
    const THREADS: usize = 100;
    const TURNS: u64 = 10;
    let data = job.symmetric::<u64>(THREADS).unwrap();
    let flags = job.symmetric::<u64>(THREADS).unwrap();
    let total = job.symmetric::<u64>(1).unwrap();
    let pool = job.pool(2).unwrap();
    let peer = 1 - job.rank();
    let work = |thread: usize| {
        for turn in 1..=TURNS {
            pool.take().unwrap().fetch_add(total.at(0, 0), 1).unwrap();
            let port = pool.take().unwrap();
            port.push(data.at(peer, thread), &[tag(thread, turn as usize)]).unwrap();
            port.word(flags.at(peer, thread), turn).unwrap();
        }
    };
    let look = || {
        for thread in 0..THREADS {
            let mut seen = 0;
            while seen < TURNS {
                seen = job.wait(flags.here(thread), Until::AtLeast(seen + 1)).unwrap();
                assert!(data.get(thread) >= tag(thread, seen as usize));
            }
        }
    };
    let work = &work;
    beside(job, (0..THREADS).map(|thread| move || work(thread)), look);
    job.barrier().unwrap();
    assert_eq!(job.pull_one(total.at(0, 0)).unwrap(), 2 * THREADS as u64 * TURNS);
    job.barrier().unwrap();
}
