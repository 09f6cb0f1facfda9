//! The time of an endpoint.

use crate::transport::reliable::Time;

/// Reads the time. It begins when the endpoint is made.
#[derive(Clone, Copy)]
pub struct Clock {
    epoch_ns: u64,
}

impl Clock {
    pub fn start() -> Clock {
        Clock { epoch_ns: nanoseconds() }
    }

    #[inline]
    pub fn now(self) -> Time {
        1000 * (nanoseconds() - self.epoch_ns)
    }
}

/// What the clock says that [`Instant`](std::time::Instant) reads, whose differences take as long as the clock itself.
fn nanoseconds() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    1_000_000_000 * now.tv_sec as u64 + now.tv_nsec as u64
}
