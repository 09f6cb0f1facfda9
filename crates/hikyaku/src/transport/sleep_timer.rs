//! Ending a sleep earlier than was known when it began.
//!
//! The thread that serves a transport sleeps until something comes, or until what [`super::core::Transport::arm`] says. What another
//! thread posts meanwhile may be due before that: to be sent again if it is lost, or sent at all if it waits for company. That
//! thread may go on computing, so it sets a timer that ends the sleep: one system call for a sleep, however much is posted, and nobody
//! wakes before the time.

use crate::error::{Error, Result};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The timer. Times are nanoseconds of the caller's clock. Both calls are made with the transport's lock held, so they never overlap.
#[derive(Debug)]
pub struct SleepTimer {
    descriptor: OwnedFd,
    /// Until when the latest sleep lasts.
    until: AtomicU64,
    is_set: AtomicBool,
}

impl SleepTimer {
    /// A timer, while nobody sleeps.
    ///
    /// # Errors
    /// When there is no descriptor left.
    pub fn new() -> Result<SleepTimer> {
        let descriptor = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)
            .map_err(|errno| Error::system("timerfd_create", errno))?;
        Ok(SleepTimer { descriptor, until: AtomicU64::new(0), is_set: AtomicBool::new(false) })
    }

    /// Somebody is about to sleep until then, or until [`SleepTimer::descriptor`] is readable.
    pub fn sleep_until(&self, until: u64) {
        if self.is_set.load(Ordering::Relaxed) {
            self.is_set.store(false, Ordering::Relaxed);
            // None; and whatever has expired is forgotten.
            self.set_to(0);
        }
        self.until.store(until, Ordering::Relaxed);
    }

    /// Something is to be done at `at`; it is `now`.
    #[inline]
    pub fn due(&self, now: u64, at: u64) {
        if at < self.until.load(Ordering::Relaxed) {
            self.end_sleep(now, at);
        }
    }

    #[cold]
    fn end_sleep(&self, now: u64, at: u64) {
        self.until.store(at, Ordering::Relaxed);
        self.is_set.store(true, Ordering::Relaxed);
        self.set_to(at.saturating_sub(now).max(1));
    }

    fn set_to(&self, nanoseconds: u64) {
        let nothing = Timespec { tv_sec: 0, tv_nsec: 0 };
        let time =
            Timespec { tv_sec: (nanoseconds / 1_000_000_000) as i64, tv_nsec: (nanoseconds % 1_000_000_000) as _ };
        let time = Itimerspec { it_interval: nothing, it_value: time };
        // It fails for times that cannot be, and these can.
        let _ = timerfd_settime(&self.descriptor, TimerfdTimerFlags::empty(), &time);
    }

    /// Readable when the sleep is over.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, poll};
    use std::time::{Duration, Instant};

    /// Whether it ends a sleep of so long.
    fn ends(timer: &SleepTimer, time: Duration) -> bool {
        let mut polled = [PollFd::from_borrowed_fd(timer.descriptor(), PollFlags::IN)];
        let time = Timespec { tv_sec: 0, tv_nsec: time.as_nanos() as _ };
        poll(&mut polled, Some(&time)).unwrap() == 1
    }

    #[test]
    fn a_sleep_ends_when_something_is_due_before_its_end() {
        const MS: u64 = 1_000_000;
        let timer = SleepTimer::new().unwrap();
        timer.due(5, 6);
        assert!(!ends(&timer, Duration::from_millis(2)), "nobody sleeps");
        timer.sleep_until(100 * MS);
        timer.due(MS, 100 * MS);
        assert!(!ends(&timer, Duration::from_millis(2)), "it ends then by itself");
        let begin = Instant::now();
        timer.due(MS, 11 * MS);
        timer.due(MS, 90 * MS);
        assert!(ends(&timer, Duration::from_millis(900)));
        assert!(begin.elapsed() >= Duration::from_millis(10));
        timer.sleep_until(u64::MAX);
        assert!(!ends(&timer, Duration::from_millis(2)), "that was for the sleep before");
        timer.due(20 * MS, 19 * MS);
        assert!(ends(&timer, Duration::from_millis(900)), "late");
    }
}
