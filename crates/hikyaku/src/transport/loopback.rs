//! The smallest transport: queues between endpoints of one process. It is the one to copy from.
//!
//! Rests on: a lock for each rank. Leaves out: everything that makes a network hard; [`udp`](super::udp) has that.
//!
//! What a transport must have is marked by number:
//!
//! 1. An endpoint per rank, and a way for endpoints to find each other: here all are made at once, by [`endpoints`].
//! 2. `post`: refuses what can never be sent, says *busy* while there is no room (so that memory is bounded), and otherwise takes the
//!    packet and its body. Here the body is always copied, so tokens are not used.
//! 3. `poll`: hands out what has arrived, without a lock that `post` needs, because the sink may post; and only in one thread at a
//!    time, because packets have an order.
//! 4. Something to sleep on: a descriptor that is readable while `poll` has something to hand out. Here it is an event counter of
//!    the kernel (`eventfd`), which whoever posts adds to and whoever polls empties first.
//! 5. Loss: an endpoint that is dropped is lost to all others, once, after everything it has sent.
//!
//! A version with remote memory, which no transport must have, is in `loopback/memory.rs`.

mod memory;

pub use memory::{MemoryEndpoint, memory_endpoints};

use super::core::{Armed, Body, Capabilities, Loss, Posted, Sink, Token, Transport};
use super::shm::ring::Packet;
use crate::error::{Error, Result};
use crate::sync::brief::{lock, lock_now};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Packets that wait for one rank at most.
const QUEUE_MAX: usize = 1024;
/// Bytes of the longest body.
const PAYLOAD_MAX: usize = 56 << 10;

/// What has come for one rank.
struct Mailbox {
    queue: Mutex<VecDeque<Item>>,
    /// Readable while something is in the queue, or soon will be.
    bell: OwnedFd,
    /// Its endpoint was dropped.
    is_over: AtomicBool,
}

enum Item {
    Message { from: usize, packet: Packet, payload: Vec<u8> },
    Left { rank: usize },
}

impl Mailbox {
    fn new() -> Result<Mailbox> {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
            .map_err(|errno| Error::system("eventfd", errno))?;
        Ok(Mailbox { queue: Mutex::new(VecDeque::new()), bell, is_over: AtomicBool::new(false) })
    }

    /// Nobody panics with this lock.
    fn queue(&self) -> MutexGuard<'_, VecDeque<Item>> {
        lock(&self.queue)
    }

    fn ring(&self) {
        // It fails only when the counter is full, and then it is readable.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }
}

/// One rank's end.
pub struct Endpoint {
    rank: usize,
    /// Of all ranks.
    mailboxes: Arc<[Mailbox]>,
    /// Held by whoever polls.
    polling: Mutex<()>,
    /// Buffers that were emptied, for the next bodies that arrive here.
    spare: Arc<[Mutex<Vec<Vec<u8>>>]>,
}

/// (1) Endpoints for so many ranks.
///
/// # Errors
/// When the kernel gives no descriptors.
pub fn endpoints(count: usize) -> Result<Vec<Endpoint>> {
    let mailboxes = (0..count).map(|_| Mailbox::new()).collect::<Result<Vec<_>>>()?;
    let mailboxes: Arc<[Mailbox]> = mailboxes.into();
    let spare: Arc<[Mutex<Vec<Vec<u8>>>]> = (0..count).map(|_| Mutex::default()).collect();
    let endpoint =
        |rank| Endpoint { rank, mailboxes: mailboxes.clone(), polling: Mutex::default(), spare: spare.clone() };
    Ok((0..count).map(endpoint).collect())
}

impl Endpoint {
    fn mailbox(&self) -> &Mailbox {
        &self.mailboxes[self.rank]
    }

    fn spare(&self, rank: usize) -> MutexGuard<'_, Vec<Vec<u8>>> {
        lock(&self.spare[rank])
    }
}

impl Transport for Endpoint {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new(PAYLOAD_MAX)
    }

    /// (2)
    unsafe fn post(&self, to: usize, packet: &Packet, body: Body, _: Option<Token>) -> Result<Posted> {
        let size = self.mailboxes.len();
        let mailbox = self.mailboxes.get(to).ok_or(Error::NoSuchRank { rank: to, size })?;
        if body.len() > PAYLOAD_MAX {
            return Err(Error::PayloadTooLong { bytes: body.len(), max: PAYLOAD_MAX });
        }
        let mut payload = self.spare(to).pop().unwrap_or_default();
        payload.resize(body.len(), 0);
        // SAFETY: the caller says that the body can be read; the target is as long.
        unsafe { body.copy(0, &mut payload) };
        let mut queue = mailbox.queue();
        if mailbox.is_over.load(Ordering::Relaxed) {
            return Err(Loss::Left.error(to));
        }
        if queue.len() >= QUEUE_MAX {
            drop(queue);
            self.spare(to).push(payload);
            return Ok(Posted::Busy);
        }
        queue.push_back(Item::Message { from: self.rank, packet: *packet, payload });
        drop(queue);
        mailbox.ring();
        Ok(Posted::Done)
    }

    /// (3)
    fn poll(&self, sink: &mut dyn Sink) -> bool {
        let Some(_polling) = lock_now(&self.polling) else { return false };
        let mut any = false;
        // Emptied first: whoever posts from now on rings again.
        let _ = rustix::io::read(&self.mailbox().bell, &mut [0; 8]);
        // No more than there may be at a time, or two that answer each other would never return.
        for _ in 0..QUEUE_MAX {
            let Some(item) = ({ self.mailbox().queue().pop_front() }) else { return any };
            any = true;
            match item {
                Item::Message { from, packet, payload } => {
                    sink.message(from, &packet, &payload);
                    self.spare(self.rank).push(payload);
                }
                Item::Left { rank } => sink.lost(rank, Loss::Left),
            }
        }
        self.mailbox().ring();
        any
    }

    fn has_arrived(&self) -> bool {
        !self.mailbox().queue().is_empty()
    }

    /// (4)
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.mailbox().bell.as_fd())
    }

    fn arm(&self) -> Armed {
        if self.has_arrived() { Armed::Ready } else { Armed::Until(None) }
    }

    /// What is in the peer's queue is delivered.
    fn drained_but(&self, _: &dyn Fn(usize) -> bool) -> bool {
        true
    }
}

/// (5)
impl Drop for Endpoint {
    fn drop(&mut self) {
        {
            let mut queue = self.mailbox().queue();
            self.mailbox().is_over.store(true, Ordering::Relaxed);
            queue.clear();
        }
        for mailbox in &*self.mailboxes {
            let mut queue = mailbox.queue();
            if !mailbox.is_over.load(Ordering::Relaxed) {
                queue.push_back(Item::Left { rank: self.rank });
                drop(queue);
                mailbox.ring();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    #[derive(Default)]
    struct Taken(Vec<(usize, u64, Vec<u8>)>, Vec<usize>);

    impl Sink for Taken {
        fn message(&mut self, from: usize, packet: &Packet, payload: &[u8]) {
            self.0.push((from, packet.address, payload.to_vec()));
        }
        fn completed(&mut self, _: Token) {}
        fn lost(&mut self, rank: usize, why: Loss) {
            assert_eq!(why, Loss::Left);
            self.1.push(rank);
        }
    }

    fn post(from: &Endpoint, to: usize, address: u64, body: &[u8]) -> Result<Posted> {
        let packet = Packet { address, ..Packet::default() };
        // SAFETY: the body outlives the call, and is copied.
        unsafe { from.post(to, &packet, Body::of(body), Some(Token(1))) }
    }

    fn is_readable(end: &Endpoint) -> bool {
        let descriptor = end.descriptor().unwrap();
        poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&Timespec::default())).unwrap() == 1
    }

    #[test]
    fn packets_arrive_once_in_order_and_wake() {
        let ends = endpoints(2).unwrap();
        let mut taken = Taken::default();
        assert_eq!((ends[1].arm(), is_readable(&ends[1])), (Armed::Until(None), false));
        for address in 0..3 {
            assert_eq!(post(&ends[0], 1, address, &[address as u8; 5]).unwrap(), Posted::Done);
        }
        assert_eq!((ends[1].arm(), is_readable(&ends[1])), (Armed::Ready, true));
        assert!(ends[1].poll(&mut taken) && !ends[1].poll(&mut taken) && !is_readable(&ends[1]));
        assert_eq!(taken.0, [(0, 0, vec![0; 5]), (0, 1, vec![1; 5]), (0, 2, vec![2; 5])]);
    }

    #[test]
    fn a_full_queue_is_busy_until_it_is_polled() {
        let ends = endpoints(2).unwrap();
        let count = (0..).find(|number| post(&ends[0], 1, *number, &[]).unwrap() == Posted::Busy).unwrap();
        assert_eq!(count, QUEUE_MAX as u64);
        ends[1].poll(&mut Taken::default());
        assert_eq!(post(&ends[0], 1, 0, &[]).unwrap(), Posted::Done);
    }

    /// A sink that answers, and polls where it may not.
    struct Echo<'a>(&'a Endpoint);

    impl Sink for Echo<'_> {
        fn message(&mut self, from: usize, packet: &Packet, payload: &[u8]) {
            assert_eq!(post(self.0, from, packet.address + 1, payload).unwrap(), Posted::Done);
            assert!(!self.0.poll(&mut Taken::default()));
        }
        fn completed(&mut self, _: Token) {}
        fn lost(&mut self, _: usize, _: Loss) {}
    }

    #[test]
    fn a_sink_may_post() {
        let ends = endpoints(2).unwrap();
        let mut taken = Taken::default();
        post(&ends[0], 1, 1, b"there").unwrap();
        ends[1].poll(&mut Echo(&ends[1]));
        ends[0].poll(&mut taken);
        assert_eq!(taken.0, [(1, 2, b"there".to_vec())]);
    }

    #[test]
    fn an_endpoint_that_is_dropped_is_lost_after_all_it_sent() {
        let mut ends = endpoints(3).unwrap();
        let mut taken = Taken::default();
        post(&ends[2], 0, 7, &[]).unwrap();
        drop(ends.pop());
        assert!(matches!(post(&ends[0], 2, 1, &[]), Err(Error::PeerLeft { rank: 2 })));
        assert!(matches!(post(&ends[0], 3, 1, &[]), Err(Error::NoSuchRank { .. })));
        assert!(matches!(post(&ends[0], 1, 1, &[0; PAYLOAD_MAX + 1]), Err(Error::PayloadTooLong { .. })));
        ends[0].poll(&mut taken);
        assert_eq!((taken.0, taken.1), (vec![(2, 7, vec![])], vec![2]));
    }
}
