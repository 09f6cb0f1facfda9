//! A work queue that all ranks take from and add to, under a lock.
//!
//! The work is an integral. A task is an interval: whoever takes it either finds its part of the integral good enough and adds it to the
//! sum, or puts back the two halves. Where the function is wild there is more to do, so nobody knows beforehand who will do how much.
//!
//! The queue is plain memory of rank 0, whose program does nothing for the others.
//!
//! ```text
//! cargo build --release --bins --examples
//! target/release/hikyaku run -n 4 -- target/release/examples/queue [DIGITS]
//! ```

use hikyaku::{Error, Job, Mutex, Result, Symmetric};
use std::process::ExitCode;

/// Intervals that the queue holds at most. The last one put back is taken first, so there are few.
const ROOM: usize = 10_000;

/// Words of the queue: how many tasks lie there, how many are not done yet, and the sum.
const WAITING: usize = 0;
const UNDONE: usize = 1;
const SUM: usize = 2;

fn main() -> ExitCode {
    let digits = std::env::args().nth(1).map_or(Some(9), |text| text.parse().ok()).filter(|digits| *digits <= 12);
    let Some(digits) = digits else {
        eprintln!("usage: queue [DIGITS], at most 12");
        return ExitCode::FAILURE;
    };
    match run(digits) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("queue: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Queue<'j> {
    job: &'j Job,
    mutex: Mutex<'j>,
    words: Symmetric<f64>,
    tasks: Symmetric<[f64; 2]>,
}

fn run(digits: i32) -> Result<bool> {
    let job = Job::start()?;
    let queue = Queue { job: &job, mutex: job.mutex(0)?, words: job.symmetric(3)?, tasks: job.symmetric(ROOM)? };
    if job.rank() == 0 {
        queue.locked(|| queue.put(&[[0.0, 1.0]], 1.0))?;
    }
    job.barrier()?;
    let (mut done, precision) = (0, 10f64.powi(-digits));
    while let Some(task) = queue.take()? {
        done += 1;
        let [begin, end] = task;
        let middle = (begin + end) / 2.0;
        let (coarse, fine) = (area(begin, end), area(begin, middle) + area(middle, end));
        queue.locked(|| match (coarse - fine).abs() <= precision * (end - begin) {
            true => queue.finish(fine),
            false => queue.put(&[[begin, middle], [middle, end]], 1.0),
        })?;
    }
    job.barrier()?;
    let (sum, expected) = (job.pull_one(queue.words.at(0, SUM))?, exact());
    let is_right = (sum - expected).abs() < 100.0 * precision;
    if !is_right {
        eprintln!("queue: the sum is {sum}, not {expected}");
    }
    let mut most = [done];
    job.world()?.allreduce(&mut most, hikyaku::collective::Max)?;
    let mut all = [done];
    job.world()?.allreduce(&mut all, hikyaku::collective::Sum)?;
    if job.rank() == 0 && is_right {
        println!("{} tasks by {} ranks ({} at most), sum {sum:.9}: as expected", all[0], job.size(), most[0]);
    }
    Ok(is_right)
}

impl Queue<'_> {
    /// Does something while no other rank does.
    fn locked<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let guard = self.mutex.lock()?;
        if guard.owner_died() {
            return Err(Error::Invalid("a rank died with the queue in its hands".into()));
        }
        let result = work()?;
        guard.unlock()?;
        Ok(result)
    }

    /// The next task; `None` when all are done.
    fn take(&self) -> Result<Option<[f64; 2]>> {
        loop {
            let (task, is_over) = self.locked(|| {
                let mut counts = [0.0; 2];
                self.job.pull(self.words.at(0, WAITING), &mut counts)?;
                let [waiting, undone] = counts;
                if waiting == 0.0 {
                    return Ok((None, undone == 0.0));
                }
                self.job.push(self.words.at(0, WAITING), &[waiting - 1.0])?;
                Ok((Some(self.job.pull_one(self.tasks.at(0, waiting as usize - 1))?), false))
            })?;
            if task.is_some() || is_over {
                return Ok(task);
            }
            // Others are at work, and may put something back.
            self.job.progress();
            std::thread::yield_now();
        }
    }

    /// Puts tasks back. With them there are `more` tasks to be done than before.
    fn put(&self, tasks: &[[f64; 2]], more: f64) -> Result<()> {
        let mut counts = [0.0; 2];
        self.job.pull(self.words.at(0, WAITING), &mut counts)?;
        self.job.push(self.tasks.at(0, counts[WAITING] as usize), tasks)?;
        self.job.push(self.words.at(0, WAITING), &[counts[WAITING] + tasks.len() as f64, counts[UNDONE] + more])
    }

    /// A task is done.
    fn finish(&self, area: f64) -> Result<()> {
        let mut words = [0.0; 2];
        self.job.pull(self.words.at(0, UNDONE), &mut words)?;
        let [undone, sum] = words;
        self.job.push(self.words.at(0, UNDONE), &[undone - 1.0, sum + area])
    }
}

/// What is integrated: it has a narrow peak.
fn function(x: f64) -> f64 {
    1.0 / (1e-3 + (x - 0.3).powi(2))
}

/// The integral from 0 to 1, by its formula.
fn exact() -> f64 {
    let width = 1e-3f64.sqrt();
    ((0.7 / width).atan() + (0.3 / width).atan()) / width
}

/// An estimate of the integral over an interval (Simpson).
fn area(begin: f64, end: f64) -> f64 {
    (end - begin) / 6.0 * (function(begin) + 4.0 * function((begin + end) / 2.0) + function(end))
}
