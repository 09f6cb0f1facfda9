//! What the ranks of the benchmark do: the limit of the machine, and each operation of the library. Every test checks
//! the bytes it moved.

use super::limit;
use super::plan::{Figure, Kind, Unit};
use hikyaku::message::{Messages, Mode};
use hikyaku::{By, Job, Result, Symmetric, Until};
use std::time::Instant;

/// Repetitions; every test is run once in each, so that a slow moment of the machine hits all alike.
const REPETITIONS: usize = 7;
/// Round trips per repetition of a latency test.
const ROUND_TRIPS: u64 = 20_000;
/// Operations per repetition of a one-sided test.
const OPERATIONS: u64 = 50_000;
/// Bytes moved per repetition of a bandwidth test, at most.
const BANDWIDTH_BYTES: usize = 256 << 20;
/// Entries of the ring in the message rate test.
const RING: usize = 1024;

/// Messages outstanding in the message rate test.
const OUTSTANDING: usize = 64;
/// The sizes of the message bandwidth tests.
pub const SEND_BANDWIDTH_SIZES: [usize; 3] = [64 << 10, 1 << 20, 16 << 20];

const PING: u16 = 1;
const PONG: u16 = 2;
const NULL: u16 = 3;

/// The sizes of the bandwidth tests: 8 bytes to 64 MB.
pub fn bandwidth_sizes() -> Vec<usize> {
    vec![8, 64, 512, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20]
}

/// Everything two ranks measure. Rank 0 gives the figures.
pub fn pair(job: &Job) -> Result<Vec<Figure>> {
    let bench = Bench::new(job)?;
    let mut figures = Figures::default();
    for repetition in 0..=REPETITIONS {
        // The first round warms up.
        let keep = repetition > 0;
        let mut note = |kind, bytes, value| {
            if keep {
                figures.add(kind, bytes, value);
            }
        };
        note(Kind::LimitFlag, 8, limit::flag(job, &bench.flags, ROUND_TRIPS)?);
        note(Kind::Word, 8, bench.word()?);
        note(Kind::PushFlag, 8, bench.push_flag(1)?);
        note(Kind::ActiveMessage, 48, bench.active_message()?);
        note(Kind::Call, 48, bench.call()?);
        note(Kind::NullCall, 0, bench.null_call()?);
        note(Kind::Pull, 8, bench.pull()?);
        note(Kind::FetchAdd, 8, bench.fetch_add()?);
        note(Kind::Rate, 8, bench.rate()?);
        for bytes in [8, 1024, 4096] {
            note(Kind::Send, bytes, bench.send(bytes, Mode::Standard)?);
        }
        note(Kind::SendSynchronous, 8, bench.send(8, Mode::Synchronous)?);
        note(Kind::SendRate, 8, bench.send_rate()?);
        for bytes in SEND_BANDWIDTH_SIZES {
            note(Kind::SendBandwidth, bytes, bench.send_bandwidth(bytes)?);
        }
        note(Kind::Barrier, 2, bench.barrier(ROUND_TRIPS)?);
        note(Kind::PushFlag, 4096, bench.push_flag(512)?);
        for bytes in bandwidth_sizes() {
            let (one, two) = limit::memcpy(job, bytes, rounds_for(bytes) / 2)?;
            note(Kind::LimitCopy, bytes, one);
            note(Kind::LimitCopyTwo, bytes, two);
            note(Kind::Push, bytes, bench.push_bandwidth(bytes)?);
            note(Kind::PullBandwidth, bytes, bench.pull_bandwidth(bytes)?);
        }
    }
    Ok(figures.0)
}

/// The barrier of any number of ranks.
pub fn barrier(job: &Job) -> Result<Vec<Figure>> {
    let bench = Bench::new(job)?;
    let mut figures = Figures::default();
    let rounds = if job.is_crowded() { 1000 } else { ROUND_TRIPS };
    for repetition in 0..=REPETITIONS {
        let value = bench.barrier(rounds)?;
        if repetition > 0 {
            figures.add(Kind::Barrier, job.size(), value);
        }
    }
    Ok(figures.0)
}

#[derive(Default)]
struct Figures(Vec<Figure>);

impl Figures {
    fn add(&mut self, kind: Kind, bytes: usize, value: f64) {
        match self.0.iter_mut().find(|figure| figure.kind == kind && figure.bytes == bytes) {
            Some(figure) => figure.values.push(value),
            None => self.0.push(Figure { kind, bytes, values: vec![value] }),
        }
    }
}

/// The memory the tests use.
struct Bench<'a> {
    job: &'a Job,
    /// Words of the flag tests; data and flag of a small push share a line.
    flags: Symmetric<u64>,
    ring: Symmetric<u64>,
    bulk: Symmetric<u64>,
    own: Vec<u64>,
    messages: Messages<'a>,
}

impl<'a> Bench<'a> {
    fn new(job: &'a Job) -> Result<Bench<'a>> {
        let largest = bandwidth_sizes().into_iter().max().unwrap_or(8);
        job.register_handler(PING, |context, message| {
            let _ = context.send(message.source, PONG, message.address, message.arguments, &[]);
        })?;
        job.register_handler(PONG, |_, message| {
            assert_eq!(message.arguments, [1, 2, 3, 4, 5, message.address], "a message was damaged");
        })?;
        job.register_handler(NULL, |context, message| {
            let _ = context.reply(message.arguments);
        })?;
        let words = if job.size() == 2 { largest / 8 } else { 8 };
        let own = limit::large_vector(words);
        let (flags, ring, bulk) = (job.symmetric(4096)?, job.symmetric(2 * RING + 16)?, job.symmetric(words)?);
        let messages = job.messages(OUTSTANDING + 1)?;
        job.barrier()?;
        Ok(Bench { job, flags, ring, bulk, own, messages })
    }

    fn peer(&self) -> usize {
        1 - self.job.rank()
    }

    /// Ping-pong of a word that is its own flag: half of the round trip, ns.
    fn word(&self) -> Result<f64> {
        let (job, area, peer) = (self.job, &self.flags, self.peer());
        area.set(128, 0);
        job.barrier()?;
        let begin = Instant::now();
        for round in 1..=ROUND_TRIPS {
            for turn in 0..2 {
                if turn == job.rank() {
                    job.word(area.at(peer, 128), round)?;
                } else {
                    job.wait_from(By::Rank(peer), area.here(128), Until::Equal(round))?;
                }
            }
        }
        let time = begin.elapsed();
        job.barrier()?;
        Ok(time.as_nanos() as f64 / (2 * ROUND_TRIPS) as f64)
    }

    /// Ping-pong of `words` words and a flag behind them: half of the round trip, ns.
    fn push_flag(&self, words: usize) -> Result<f64> {
        let (job, area, peer) = (self.job, &self.flags, self.peer());
        let mut data = limit::large_vector(words);
        let mut got = vec![0u64; words];
        area.set(words, 0);
        job.barrier()?;
        let begin = Instant::now();
        for round in 1..=ROUND_TRIPS {
            for turn in 0..2 {
                if turn == job.rank() {
                    data[0] = round;
                    data[words - 1] = round;
                    job.push_notify(area.at(peer, 0), &data, area.at(peer, words), round)?;
                } else {
                    job.wait_from(By::Rank(peer), area.here(words), Until::Equal(round))?;
                    area.read(0, &mut got);
                    assert!(got[0] == round && got[words - 1] == round, "data after its flag");
                }
            }
        }
        let time = begin.elapsed();
        check_whole(&got, words, "pushed");
        job.barrier()?;
        Ok(time.as_nanos() as f64 / (2 * ROUND_TRIPS) as f64)
    }

    /// Six words to a handler, which sends them back to another: half of the round trip, ns.
    fn active_message(&self) -> Result<f64> {
        let job = self.job;
        let pings = job.handled(PING);
        let pongs = job.handled(PONG);
        job.barrier()?;
        let begin = Instant::now();
        if job.rank() == 0 {
            for round in 1..=ROUND_TRIPS {
                job.send(1, PING, round, [1, 2, 3, 4, 5, round], &[])?;
                job.wait_handled(By::Rank(1), PONG, pongs + round)?;
            }
        } else {
            job.wait_handled(By::Rank(0), PING, pings + ROUND_TRIPS)?;
        }
        let time = begin.elapsed();
        job.barrier()?;
        Ok(time.as_nanos() as f64 / (2 * ROUND_TRIPS) as f64)
    }

    /// A call with its reply: the whole round trip, ns.
    fn call(&self) -> Result<f64> {
        self.calls(1)
    }

    /// A call to this rank's own network interface, ns.
    fn null_call(&self) -> Result<f64> {
        self.calls(0)
    }

    fn calls(&self, target: usize) -> Result<f64> {
        let job = self.job;
        let before = job.handled(NULL);
        job.barrier()?;
        let begin = Instant::now();
        if job.rank() == 0 {
            for round in 0..ROUND_TRIPS {
                let reply = job.call(target, NULL, [round; 6], &[])?;
                assert_eq!(reply, [round; 6], "a reply was damaged");
            }
        } else if target == 1 {
            job.wait_handled(By::Rank(0), NULL, before + ROUND_TRIPS)?;
        }
        let time = begin.elapsed();
        job.barrier()?;
        Ok(time.as_nanos() as f64 / ROUND_TRIPS as f64)
    }

    /// Reads of 8 bytes, ns each.
    fn pull(&self) -> Result<f64> {
        self.flags.set(0, 4711 + self.job.rank() as u64);
        self.one_sided(|bench| {
            let mut sum = 0;
            for _ in 0..OPERATIONS {
                sum += bench.job.pull_one(bench.flags.at(1, 0))?;
            }
            assert_eq!(sum, OPERATIONS * 4712, "what was read");
            Ok(())
        })
    }

    /// Additions to a peer's word, ns each.
    fn fetch_add(&self) -> Result<f64> {
        self.flags.set(0, 0);
        let time = self.one_sided(|bench| {
            for count in 0..OPERATIONS {
                assert_eq!(bench.job.fetch_add(bench.flags.at(1, 0), 1)?, count, "the value from before");
            }
            Ok(())
        })?;
        assert!(self.job.rank() == 0 || self.flags.get(0) == OPERATIONS, "the sum");
        Ok(time)
    }

    fn one_sided(&self, work: impl Fn(&Bench<'_>) -> Result<()>) -> Result<f64> {
        self.job.barrier()?;
        let begin = Instant::now();
        if self.job.rank() == 0 {
            work(self)?;
        }
        let time = begin.elapsed();
        self.job.barrier()?;
        Ok(time.as_nanos() as f64 / OPERATIONS as f64)
    }

    /// Words with a notification each into a ring that the peer empties, million/s.
    fn rate(&self) -> Result<f64> {
        const COUNT: u64 = 1_000_000;
        /// The peer tells how far it is once per so many entries.
        const CREDIT: u64 = RING as u64 / 4;
        let (job, ring) = (self.job, &self.ring);
        let credit = 2 * RING + 8;
        for entry in 0..RING {
            ring.write(2 * entry, &[0, 0]);
        }
        ring.set(credit, 0);
        job.barrier()?;
        let begin = Instant::now();
        if job.rank() == 0 {
            let mut room = RING as u64;
            for number in 1..=COUNT {
                if number > room {
                    let consumed =
                        job.wait_from(By::Rank(1), ring.here(credit), Until::AtLeast(number - RING as u64))?;
                    room = consumed + RING as u64;
                }
                let entry = 2 * ((number - 1) % RING as u64) as usize;
                job.push_notify(ring.at(1, entry), &[number * 3], ring.at(1, entry + 1), number)?;
            }
            job.wait_from(By::Rank(1), ring.here(credit), Until::AtLeast(COUNT))?;
        } else {
            for number in 1..=COUNT {
                let entry = 2 * ((number - 1) % RING as u64) as usize;
                job.wait_from(By::Rank(0), ring.here(entry + 1), Until::Equal(number))?;
                assert_eq!(ring.get(entry), number * 3, "an entry was damaged");
                if number % CREDIT == 0 || number == COUNT {
                    job.word(ring.at(0, credit), number)?;
                }
            }
        }
        let time = begin.elapsed();
        job.barrier()?;
        Ok(COUNT as f64 / time.as_secs_f64() / 1e6)
    }

    /// Ping-pong of messages: half of the round trip, ns.
    fn send(&self, bytes: usize, mode: Mode) -> Result<f64> {
        let (job, messages, peer, words) = (self.job, &self.messages, self.peer(), bytes / 8);
        let round_trips = if bytes > 64 { ROUND_TRIPS / 4 } else { ROUND_TRIPS };
        let (mut data, mut got) = (limit::large_vector(words), vec![0u64; words]);
        messages.set_mode(mode);
        job.barrier()?;
        let begin = Instant::now();
        for round in 1..=round_trips {
            for turn in 0..2 {
                if turn == job.rank() {
                    data[0] = round;
                    data[words - 1] = round;
                    messages.send(&data, peer, 0)?;
                } else {
                    messages.recv(&mut got, peer, 0)?;
                    assert!(got[0] == round && got[words - 1] == round, "a message was damaged");
                }
            }
        }
        let time = begin.elapsed();
        check_whole(&got, words, "sent");
        messages.set_mode(Mode::Standard);
        job.barrier()?;
        Ok(time.as_nanos() as f64 / (2 * round_trips) as f64)
    }

    /// Windows of messages of 8 bytes, each in its slot, with an answer per window: million/s.
    fn send_rate(&self) -> Result<f64> {
        const WINDOWS: u64 = 3000;
        let (job, messages) = (self.job, &self.messages);
        job.barrier()?;
        let begin = Instant::now();
        for window in 0..WINDOWS {
            if job.rank() == 0 {
                for slot in 0..OUTSTANDING {
                    messages.send(&[window + slot as u64], 1, slot)?;
                }
                messages.recv(&mut [0u64], 1, OUTSTANDING)?;
            } else {
                let mut got = [0u64];
                for slot in 0..OUTSTANDING {
                    messages.recv(&mut got, 0, slot)?;
                    assert_eq!(got[0], window + slot as u64, "a message was damaged");
                }
                messages.send(&[window], 0, OUTSTANDING)?;
            }
        }
        let time = begin.elapsed();
        job.barrier()?;
        Ok((WINDOWS * OUTSTANDING as u64) as f64 / time.as_secs_f64() / 1e6)
    }

    /// Messages of one size from private memory to private memory, GB/s.
    fn send_bandwidth(&self, bytes: usize) -> Result<f64> {
        let (job, messages, words) = (self.job, &self.messages, bytes / 8);
        let rounds = rounds_for(bytes).min(1000);
        let mut into = limit::large_vector(words);
        into.fill(0);
        job.barrier()?;
        let begin = Instant::now();
        for _ in 0..rounds {
            if job.rank() == 0 {
                messages.send(&self.own[..words], 1, 0)?;
            } else {
                messages.recv(&mut into, 0, 0)?;
            }
        }
        if job.rank() == 0 {
            messages.recv(&mut [0u64], 1, 1)?;
        } else {
            messages.send(&[1u64], 0, 1)?;
        }
        let time = begin.elapsed().as_secs_f64();
        assert!(job.rank() == 0 || into == self.own[..words], "messages of {bytes} bytes");
        job.barrier()?;
        Ok((bytes * rounds) as f64 / time / 1e9)
    }

    /// The job's own barrier, µs.
    fn barrier(&self, rounds: u64) -> Result<f64> {
        self.job.barrier()?;
        let begin = Instant::now();
        for _ in 0..rounds {
            self.job.barrier()?;
        }
        Ok(begin.elapsed().as_nanos() as f64 / rounds as f64 / 1e3)
    }

    /// Pushes of one size, GB/s.
    fn push_bandwidth(&self, bytes: usize) -> Result<f64> {
        let words = bytes / 8;
        let rounds = rounds_for(bytes);
        let time = self.timed(|bench| {
            for _ in 0..rounds {
                bench.job.push(bench.bulk.at(1, 0), &bench.own[..words])?;
            }
            bench.job.flush(1)
        })?;
        if self.job.rank() == 1 {
            let mut got = vec![0u64; words];
            self.bulk.read(0, &mut got);
            assert!(got == self.own[..words], "pushed bytes of size {bytes}");
            self.bulk.write(0, &vec![0u64; words]);
        }
        self.job.barrier()?;
        Ok((bytes * rounds) as f64 / time / 1e9)
    }

    /// Pulls of one size, GB/s.
    fn pull_bandwidth(&self, bytes: usize) -> Result<f64> {
        let words = bytes / 8;
        let rounds = rounds_for(bytes);
        if self.job.rank() == 1 {
            self.bulk.write(0, &self.own[..words]);
        }
        let mut into = limit::large_vector(words);
        into.fill(0);
        let into = std::cell::RefCell::new(into);
        let time = self.timed(|bench| {
            for _ in 0..rounds {
                bench.job.pull(bench.bulk.at(1, 0), &mut into.borrow_mut()[..words])?;
            }
            Ok(())
        })?;
        assert!(self.job.rank() == 1 || into.borrow()[..words] == self.own[..words], "pulled bytes of size {bytes}");
        Ok((bytes * rounds) as f64 / time / 1e9)
    }

    /// Seconds that rank 0 needs for `work`; rank 1 waits meanwhile.
    fn timed(&self, work: impl Fn(&Bench<'_>) -> Result<()>) -> Result<f64> {
        self.job.barrier()?;
        let begin = Instant::now();
        if self.job.rank() == 0 {
            work(self)?;
        }
        let time = begin.elapsed().as_secs_f64();
        self.job.barrier()?;
        Ok(time)
    }
}

/// All words between the first and the last, which every round has checked, are those of the pattern.
fn check_whole(got: &[u64], words: usize, what: &str) {
    if words > 2 {
        assert!(got[1..words - 1] == limit::large_vector(words)[1..words - 1], "{what} words were damaged");
    }
}

fn rounds_for(bytes: usize) -> usize {
    (BANDWIDTH_BYTES / bytes).clamp(2, 50_000)
}

impl Kind {
    /// The unit of its figures.
    pub fn unit(self) -> Unit {
        match self {
            Kind::LimitCopy | Kind::LimitCopyTwo | Kind::Push | Kind::PullBandwidth => Unit::GigabytesPerSecond,
            Kind::SendBandwidth => Unit::GigabytesPerSecond,
            Kind::Rate | Kind::SendRate => Unit::MillionPerSecond,
            Kind::Barrier => Unit::Microseconds,
            Kind::Start => Unit::Milliseconds,
            _ => Unit::Nanoseconds,
        }
    }
}
