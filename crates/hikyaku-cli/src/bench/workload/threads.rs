//! Several threads of each of two ranks: thread i of one talks with thread i of the other, all at the same time.
//!
//! Rank 0 looks at the clock and says in its last message that it is the last, so a test takes as long as it should however slow it is.

use super::bare_threads::{Bare, words};
use crate::bench::limit::Mapped;
use crate::bench::plan::{Figure, Figures, Kind, median};
use hikyaku::collective::Worker;
use hikyaku::{Job, Result, Symmetric, Until};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

/// Threads of each rank.
pub const THREADS: [usize; 5] = [1, 2, 4, 8, 16];
/// The sizes whose latency is measured.
pub const SIZES: [usize; 5] = [4, 1 << 10, 4 << 10, 64 << 10, 1 << 20];
/// The size of messages that are counted.
pub const COUNTED: usize = SIZES[0];
/// The sizes whose bytes are counted: where they are long, threads wait for each other's turn, which no median shows.
pub const LONG: [usize; 2] = [SIZES[3], SIZES[4]];
/// By which a rank learns how many threads it has.
pub const VARIABLE: &str = "HIKYAKU_BENCH_THREADS";

const OUTSTANDING: usize = 64;
const REPETITIONS: usize = 4;
/// How long a test takes at least. Where there are more threads than cores, each must have had its turn several times.
fn long_enough(threads: usize) -> Duration {
    Duration::from_millis(40 + 10 * threads as u64)
}

/// What all threads do at the same time.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// Ping-pong of a push and a word.
    Push(usize),
    /// Ping-pong of messages by slots.
    Send(usize),
    /// Windows of messages, each with an answer.
    Stream,
    /// Ping-pong of memory and flags without a library.
    Bare(usize),
    /// Windows of lines without a library.
    BareStream,
}

/// Where pushes arrive, and what needs no library.
struct Place {
    data: Symmetric<u32>,
    flags: Symmetric<u64>,
    lines: Symmetric<u64>,
}

const STRIDE: usize = SIZES[SIZES.len() - 1] / 4 + 16;
const FLAG_STRIDE: usize = 8;
const LINES_STRIDE: usize = words(OUTSTANDING);

/// One thread.
struct Talker<'w, 'e> {
    worker: &'w Worker<'e>,
    place: &'w Place,
    bare: Bare<'w>,
    number: usize,
    /// To send from and to receive into.
    out: Vec<u32>,
    into: Vec<u32>,
    round: u32,
    /// How long a test takes.
    time: Duration,
}

/// What a thread has done.
#[derive(Default)]
struct Done {
    messages: u64,
    /// Round trips of rank 0, ns.
    round_trips: Vec<f64>,
}

/// Measures with as many threads as the variable says. Rank 0 gives the figures; instead of ranks they have the threads of both ranks.
pub fn measure(job: &Job) -> Result<Figures> {
    let threads = std::env::var(VARIABLE).ok().and_then(|number| number.parse().ok()).unwrap_or(1);
    let place = Place {
        data: job.symmetric(threads * STRIDE)?,
        flags: job.symmetric(threads * FLAG_STRIDE)?,
        lines: job.symmetric(threads * LINES_STRIDE)?,
    };
    let gate = Barrier::new(threads + 1);
    let done: Vec<Mutex<Done>> = (0..threads).map(|_| Mutex::default()).collect();
    let endpoints = job.endpoints(threads, OUTSTANDING + 1)?;
    let ping_pongs = SIZES.iter().flat_map(|bytes| [Work::Bare(*bytes), Work::Push(*bytes), Work::Send(*bytes)]);
    let works: Vec<Work> = ping_pongs.chain([Work::BareStream, Work::Stream]).collect();
    let works = || (0..=REPETITIONS).flat_map(|repetition| works.iter().map(move |work| (repetition, *work)));
    let mut figures = Figures::default();
    std::thread::scope(|scope| {
        for (number, endpoint) in endpoints.into_iter().enumerate() {
            let (place, gate, done, time) = (&place, &gate, &done[number], long_enough(threads));
            scope.spawn(move || {
                endpoint.run(|worker| {
                    // Nobody comes to the gate any more: the job ends.
                    let end = |error| -> ! {
                        eprintln!("thread {number}: {error}");
                        std::process::exit(1)
                    };
                    let talker = Talker::new(worker, place, number, time, threads > 1);
                    let mut talker = talker.unwrap_or_else(|error| end(error));
                    for (_, work) in works() {
                        gate.wait();
                        let result = talker.run(work).unwrap_or_else(|error| end(error));
                        *done.lock().unwrap_or_else(|it| it.into_inner()) = result;
                        gate.wait();
                    }
                });
            });
        }
        for (repetition, work) in works() {
            job.barrier()?;
            let begin = Instant::now();
            gate.wait();
            gate.wait();
            let time = begin.elapsed();
            let done = done.iter().map(|done| std::mem::take(&mut *done.lock().unwrap_or_else(|it| it.into_inner())));
            // The first one warms up.
            if repetition > 0 && job.rank() == 0 {
                note(&mut figures, work, threads, time, done.collect());
            }
        }
        job.barrier()
    })?;
    Ok(figures)
}

fn note(figures: &mut Figures, work: Work, threads: usize, time: Duration, done: Vec<Done>) {
    let messages: u64 = done.iter().map(|done| done.messages).sum();
    let rate = messages as f64 / time.as_secs_f64();
    let round_trips: Vec<f64> = done.into_iter().flat_map(|done| done.round_trips).collect();
    let mut add = |kind, bytes, value| figures.add(Figure { kind, bytes, ranks: 2 * threads, values: vec![value] });
    let (bytes, [one_way, per_second, throughput]) = match work {
        Work::Push(bytes) => (bytes, [Kind::ThreadsPush, Kind::ThreadsPushRate, Kind::ThreadsPushBandwidth]),
        Work::Send(bytes) => (bytes, [Kind::ThreadsSend, Kind::ThreadsSendRate, Kind::ThreadsSendBandwidth]),
        Work::Bare(bytes) => (bytes, [Kind::LimitThreads, Kind::LimitThreadsRate, Kind::LimitThreadsBandwidth]),
        Work::Stream => return add(Kind::ThreadsStream, COUNTED, rate / 1e6),
        Work::BareStream => return add(Kind::LimitThreadsStream, COUNTED, rate / 1e6),
    };
    add(one_way, bytes, median(&round_trips) / 2.0);
    if bytes == COUNTED {
        add(per_second, bytes, rate / 1e6);
    }
    if LONG.contains(&bytes) {
        add(throughput, bytes, rate * bytes as f64 / 1e9);
    }
}

impl<'w, 'e> Talker<'w, 'e> {
    fn new(
        worker: &'w Worker<'e>,
        place: &'w Place,
        number: usize,
        time: Duration,
        is_shared: bool,
    ) -> Result<Talker<'w, 'e>> {
        let ranks = [worker.rank(), 1 - worker.rank()];
        let data = Mapped::new(&**worker, &place.data, ranks, number * STRIDE, STRIDE)?;
        let bare = Bare::new(worker, &place.lines, number * LINES_STRIDE, OUTSTANDING, data, is_shared)?;
        let buffer = vec![0; STRIDE];
        Ok(Talker { worker, place, bare, number, out: buffer.clone(), into: buffer, round: 0, time })
    }
}

impl Talker<'_, '_> {
    fn run(&mut self, work: Work) -> Result<Done> {
        match work {
            Work::Push(bytes) => self.ping_pong(bytes / 4, Talker::push, Talker::take),
            Work::Send(bytes) => self.ping_pong(bytes / 4, Talker::send, Talker::receive),
            Work::Bare(bytes) => self.ping_pong(bytes / 4, Talker::give, Talker::fetch),
            Work::Stream => self.stream(Talker::send_to, Talker::receive_from),
            Work::BareStream => self.stream(Talker::give_line, Talker::fetch_line),
        }
    }

    /// Each message says its number, and whether it is the last.
    fn ping_pong(
        &mut self,
        words: usize,
        give: fn(&mut Self, usize) -> Result<()>,
        take: fn(&mut Self, usize) -> Result<()>,
    ) -> Result<Done> {
        let (is_first, begin) = (self.worker.rank() == 0, Instant::now());
        let (mut done, mut before) = (Done::default(), begin);
        loop {
            self.round = self.round.wrapping_add(1);
            let number = self.round << 1;
            if is_first {
                let is_last = before - begin >= self.time;
                (self.out[0], self.out[words - 1]) = (number | u32::from(is_last), number | u32::from(is_last));
                give(self, words)?;
            }
            take(self, words)?;
            let got = self.into[0];
            assert!(got >> 1 == self.round & (u32::MAX >> 1) && self.into[words - 1] == got, "a message was damaged");
            if !is_first {
                (self.out[0], self.out[words - 1]) = (got, got);
                give(self, words)?;
            }
            done.messages += 2;
            if is_first {
                let now = Instant::now();
                done.round_trips.push((now - before).as_nanos() as f64);
                before = now;
            }
            if got & 1 == 1 {
                return Ok(done);
            }
        }
    }

    fn push(&mut self, words: usize) -> Result<()> {
        let (Place { data, flags, .. }, peer) = (self.place, 1 - self.worker.rank());
        self.worker.push(data.at(peer, self.number * STRIDE), &self.out[..words])?;
        self.worker.word(flags.at(peer, self.number * FLAG_STRIDE), u64::from(self.round))
    }

    fn take(&mut self, words: usize) -> Result<()> {
        let Place { data, flags, .. } = self.place;
        self.worker.wait(flags.here(self.number * FLAG_STRIDE), Until::Equal(u64::from(self.round)))?;
        data.read(self.number * STRIDE, &mut self.into[..words]);
        Ok(())
    }

    fn send(&mut self, words: usize) -> Result<()> {
        self.worker.messages().send(&self.out[..words], 1 - self.worker.rank(), 0)
    }

    fn receive(&mut self, words: usize) -> Result<()> {
        self.worker.messages().recv(&mut self.into[..words], 1 - self.worker.rank(), 0).map(drop)
    }

    fn give(&mut self, words: usize) -> Result<()> {
        self.bare.give(0, self.round, &self.out[..words]);
        Ok(())
    }

    fn fetch(&mut self, words: usize) -> Result<()> {
        self.bare.take(0, self.round, &mut self.into[..words]);
        Ok(())
    }

    fn send_to(&mut self, slot: usize, word: u32) -> Result<()> {
        self.worker.messages().send(&[word], 1 - self.worker.rank(), slot)
    }

    fn receive_from(&mut self, slot: usize) -> Result<u32> {
        let mut got = [0];
        self.worker.messages().recv(&mut got, 1 - self.worker.rank(), slot)?;
        Ok(got[0])
    }

    fn give_line(&mut self, line: usize, word: u32) -> Result<()> {
        self.bare.give(line, self.round, &[word]);
        Ok(())
    }

    fn fetch_line(&mut self, line: usize) -> Result<u32> {
        let mut got = [0];
        self.bare.take(line, self.round, &mut got);
        Ok(got[0])
    }

    fn stream(
        &mut self,
        give: fn(&mut Self, usize, u32) -> Result<()>,
        take: fn(&mut Self, usize) -> Result<u32>,
    ) -> Result<Done> {
        let (is_first, begin) = (self.worker.rank() == 0, Instant::now());
        let mut done = Done::default();
        loop {
            self.round = self.round.wrapping_add(1);
            let (number, mut got) = (self.round << 1, 0);
            if is_first {
                let is_last = u32::from(begin.elapsed() >= self.time);
                for slot in 0..OUTSTANDING {
                    give(self, slot, number | is_last)?;
                }
                got = take(self, OUTSTANDING)?;
            } else {
                for slot in 0..OUTSTANDING {
                    got = take(self, slot)?;
                    assert!(got >> 1 == self.round & (u32::MAX >> 1), "a message was damaged");
                }
                give(self, OUTSTANDING, got)?;
            }
            done.messages += OUTSTANDING as u64;
            if got & 1 == 1 {
                return Ok(done);
            }
        }
    }
}
