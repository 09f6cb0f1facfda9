//! Many threads of each rank that do what chance says, beside a model that says what must come of it; and many that sleep.

use crate::chance::Chance;
use crate::support::{beside, other};
use hikyaku::collective::Endpoint;
use hikyaku::{Atomic, Job, Port, Symmetric, Until};
use std::time::{Duration, Instant};

/// Threads of each rank: with that of the job and that of the interface as many as have a port.
const THREADS: usize = 12;
const OPERATIONS: usize = 300;
const WINDOW: usize = 32;
const LETTER: usize = 20;

/// What threads of both ranks use: of each thread a window at either rank for each of them, and flags on lines of their own.
#[derive(Clone, Copy)]
struct Place<'a> {
    windows: &'a Symmetric<u32>,
    letters: &'a Symmetric<u32>,
    flags: &'a Symmetric<u64>,
}

const FLAG_COUNT: usize = 4;
/// A thread sets and clears its own; the others say that a letter has come, that one was read, and that no more will come.
const OWN: usize = 0;
const COME: usize = 1;
const READ: usize = 2;
const OVER: usize = 3;

/// One thread, and what it knows.
struct Talker<'a> {
    port: &'a Port,
    place: Place<'a>,
    number: usize,
    chance: Chance,
    windows: [[u32; WINDOW]; 2],
    is_set: bool,
    sent: u32,
    read: u32,
    received: u32,
}

/// Whatever threads put, get, set, await and look at is what a model says, however many do so at once.
pub fn threads_do_what_a_model_says(job: &Job) {
    let windows = job.symmetric(2 * THREADS * WINDOW).unwrap();
    let letters = job.symmetric(THREADS * LETTER).unwrap();
    let flags = job.symmetric(THREADS * FLAG_COUNT * 8).unwrap();
    let place = Place { windows: &windows, letters: &letters, flags: &flags };
    let work = move |port: Port, number: usize| {
        let chance = Chance::new(20, (2 * number + port.rank()) as u64);
        let windows = [[0; WINDOW]; 2];
        Talker { port: &port, place, number, chance, windows, is_set: false, sent: 0, read: 0, received: 0 }.run();
    };
    let ports: Vec<_> = (0..THREADS).map(|_| job.open().unwrap()).collect();
    beside(job, ports.into_iter().enumerate().map(|(number, port)| move || work(port, number)), || {});
    job.barrier().unwrap();
}

impl Talker<'_> {
    fn run(mut self) {
        for _ in 0..OPERATIONS {
            match self.chance.below(8) {
                0 | 1 => self.put(),
                2 => self.get(),
                3 => self.set(self.port.rank(), OWN),
                4 => assert_eq!(self.take(OWN), std::mem::take(&mut self.is_set)),
                5 if std::mem::take(&mut self.is_set) => {
                    self.port.wait(self.place.flags.here(self.flag(OWN)), Until::NotEqual(0)).unwrap();
                    assert!(self.take(OWN));
                }
                6 if self.sent == self.read => self.send_letter(),
                _ => self.look_for_letters(),
            }
        }
        while self.sent != self.read {
            self.look_for_letters();
        }
        self.set(1 - self.port.rank(), OVER);
        while !self.take(OVER) {
            self.look_for_letters();
        }
        for rank in 0..2 {
            let mut got = [0; WINDOW];
            self.port.pull(self.place.windows.at(rank, self.window()), &mut got).unwrap();
            assert_eq!(got, self.windows[rank], "thread {} at rank {rank}", self.number);
        }
    }

    fn window(&self) -> usize {
        (2 * self.number + self.port.rank()) * WINDOW
    }

    fn flag(&self, which: usize) -> usize {
        (self.number * FLAG_COUNT + which) * 8
    }

    fn set(&mut self, rank: usize, which: usize) {
        self.is_set |= which == OWN;
        self.port.word(self.place.flags.at(rank, self.flag(which)), 1).unwrap();
    }

    /// Clears a flag, if it is set.
    fn take(&self, which: usize) -> bool {
        let flag = self.place.flags.here(self.flag(which));
        self.port.poll(flag).unwrap() != 0 && self.port.atomic(flag, Atomic::Swap(0)).unwrap() != 0
    }

    fn part(&mut self) -> (usize, usize, usize) {
        let (rank, from) = (self.chance.below(2), self.chance.below(WINDOW));
        (rank, from, self.chance.below(WINDOW - from + 1))
    }

    fn put(&mut self) {
        let (rank, from, len) = self.part();
        let data: Vec<u32> = (0..len).map(|_| self.chance.number() as u32).collect();
        self.windows[rank][from..from + len].copy_from_slice(&data);
        self.port.push(self.place.windows.at(rank, self.window() + from), &data).unwrap();
    }

    fn get(&mut self) {
        let (rank, from, len) = self.part();
        let mut got = vec![0; len];
        self.port.pull(self.place.windows.at(rank, self.window() + from), &mut got).unwrap();
        assert_eq!(got, self.windows[rank][from..from + len], "thread {} at rank {rank}", self.number);
    }

    /// In two parts, before their flag.
    fn send_letter(&mut self) {
        let (peer, half, start) = (1 - self.port.rank(), self.chance.below(LETTER + 1), self.number * LETTER);
        let letter: Vec<u32> = (0..LETTER as u32).map(|at| self.sent * 1000 + at).collect();
        self.port.push(self.place.letters.at(peer, start), &letter[..half]).unwrap();
        self.port.push(self.place.letters.at(peer, start + half), &letter[half..]).unwrap();
        self.set(peer, COME);
        self.sent += 1;
    }

    fn look_for_letters(&mut self) {
        if self.take(COME) {
            let mut letter = [0; LETTER];
            self.place.letters.read(self.number * LETTER, &mut letter);
            let expected: [u32; LETTER] = std::array::from_fn(|at| self.received * 1000 + at as u32);
            assert_eq!(letter, expected, "thread {}", self.number);
            self.received += 1;
            self.set(1 - self.port.rank(), READ);
        }
        self.read += u32::from(self.take(READ));
    }
}

/// Threads that sleep in receives, in sends that wait for their receive, and in waits for words beside messages under way are woken by
/// what they sleep for, each by its own: none has to wait until it looks by itself, which it does only once a second.
pub fn sleepers_are_woken_for_what_is_theirs(job: &Job) {
    const SLEEPERS: usize = 4;
    const ROUNDS: u64 = 4;
    const LONG: usize = 30_000;
    let words = job.symmetric::<u64>(SLEEPERS * 8).unwrap();
    let (words, peer, begin, is_simulated) = (&words, other(job), Instant::now(), job.is_simulated());
    let pause = move || {
        // Longer than any thread waits awake.
        if !is_simulated {
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let work = move |endpoint: Endpoint<'_>, number: usize| {
        endpoint.run(|worker| {
            let messages = worker.messages();
            for round in 1..=ROUNDS {
                let mut got = vec![0; LONG];
                if worker.rank() == 0 {
                    // Short, long, and long while both are elsewhere.
                    messages.recv(&mut got[..1], peer, 0).unwrap();
                    messages.recv(&mut got, peer, 0).unwrap();
                    messages
                        .scope(|scope| {
                            let receive = scope.irecv(&mut got, peer, 1)?;
                            worker.wait(words.here(number * 8), Until::AtLeast(round))?;
                            scope.wait_receive(receive)
                        })
                        .unwrap();
                    assert!(got.iter().all(|word| *word == round), "thread {number}, round {round}");
                } else {
                    pause();
                    messages.send(&[round], peer, 0).unwrap();
                    pause();
                    messages.send(&vec![round; LONG], peer, 0).unwrap();
                    pause();
                    messages.send(&vec![round; LONG], peer, 1).unwrap();
                    worker.word(words.at(peer, number * 8), round).unwrap();
                }
            }
        });
    };
    let endpoints = job.endpoints(SLEEPERS, 2).unwrap().into_iter().enumerate();
    let works: Vec<_> = endpoints.map(|(number, endpoint)| move || work(endpoint, number)).collect();
    beside(job, works, || {});
    // A second in each round would take longer; a busy machine does not.
    assert!(
        job.is_simulated() || begin.elapsed() < Duration::from_millis(750) * ROUNDS as u32,
        "{:?}",
        begin.elapsed()
    );
    job.barrier().unwrap();
}
