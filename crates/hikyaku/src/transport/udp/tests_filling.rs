//! Posting much without a look at what comes.

use super::tests::{PATIENCE, Taken, bytes, endpoints, plain, poll_until, post};
use super::*;
use crate::transport::core::{Posted, Transport};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::time::Instant;

/// Whether something lies at the socket of an endpoint.
fn is_readable(end: &Endpoint) -> bool {
    let descriptor = end.descriptor().unwrap();
    let mut polled = [PollFd::new(&descriptor, PollFlags::IN)];
    rustix::event::poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() == 1
}

#[test]
fn whoever_posts_much_hears_acknowledgements_meanwhile() {
    let narrow = Config { frame_max: 1472, ..plain() };
    let ends = endpoints(&[narrow.clone(), narrow]);
    let body = bytes(3, 56 << 10);
    let mut taken = [Taken::default(), Taken::default()];
    // The path is known to carry much then.
    let known = 30;
    for number in 0..known {
        assert_eq!(post(&ends[0], 1, number, &body, None), Posted::Done);
        poll_until(&ends, &mut taken, |taken| taken[1].messages.len() as u64 > number && ends[0].drained());
    }
    // From here on rank 0 does not poll. All that follows are some windows of frames.
    for number in known..known + 100 {
        assert_eq!(post(&ends[0], 1, number, &body, None), Posted::Done, "message {number}");
        let start = Instant::now();
        while taken[1].messages.len() as u64 <= number || !is_readable(&ends[0]) {
            ends[1].poll(&mut taken[1]);
            assert!(start.elapsed() < PATIENCE, "{:?} {:?}", ends[0].counters(), ends[1].counters());
        }
    }
    for (number, (from, address, payload)) in taken[1].messages.iter().enumerate() {
        assert_eq!((*from, *address), (0, number as u64));
        assert!(*payload == body, "message {number}");
    }
}
