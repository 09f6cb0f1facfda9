//! The rules of remote memory, over libfabric's `tcp` on this machine, or over `verbs` (`scripts/rdma`): transfers alone, one endpoint
//! for each that is under way.

mod support;

use hikyaku::spi::{
    Armed, Get, Loss, Packet, Put, RemoteFailure, RemoteKey, RemoteMemory, RemotePlace, Sink, Start, Token, Transport,
};
use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SECRET: [u8; 32] = [7; 32];
const BYTES: usize = 1 << 20;

#[derive(Default)]
struct Taken {
    ended: Vec<(u64, Result<(), RemoteFailure>)>,
    lost: Vec<usize>,
}

impl Sink for Taken {
    fn message(&mut self, _: usize, _: &Packet, _: &[u8]) {
        panic!("there are no packets");
    }
    fn completed(&mut self, token: Token) {
        self.ended.push((token.0, Ok(())));
    }
    fn failed(&mut self, token: Token, why: RemoteFailure) {
        self.ended.push((token.0, Err(why)));
    }
    fn lost(&mut self, rank: usize, _: Loss) {
        self.lost.push(rank);
    }
}

/// All endpoints, and what the first one has heard.
struct Net {
    ends: Vec<Arc<dyn Transport>>,
    has_adapter: bool,
    taken: RefCell<Taken>,
}

impl Net {
    fn new(count: usize) -> Net {
        let (ends, addresses) = support::endpoints(hikyaku_ofi::network(), &vec![SECRET; count]);
        Net { ends, has_adapter: support::has_adapter(&addresses), taken: RefCell::default() }
    }

    /// What a transfer whose connection has broken ends by.
    fn broken(&self) -> RemoteFailure {
        if self.has_adapter { RemoteFailure::Withdrawn } else { RemoteFailure::Lost }
    }

    /// As the service thread does between two sleeps.
    fn poll(&self) {
        self.ends[0].arm();
        self.ends[0].poll(&mut *self.taken.borrow_mut());
        self.ends[1..].iter().for_each(|end| _ = end.poll(&mut Taken::default()));
    }

    /// The next operations that end, in the order of their tokens.
    fn ended(&self, count: usize) -> Vec<(u64, Result<(), RemoteFailure>)> {
        let begin = Instant::now();
        while self.taken.borrow().ended.len() < count {
            self.poll();
            assert!(begin.elapsed() < Duration::from_secs(60), "it never ends");
        }
        let mut ended = std::mem::take(&mut self.taken.borrow_mut().ended);
        ended.sort_by_key(|(token, _)| *token);
        ended
    }

    /// Starts an operation, as soon as there is a connection and room.
    fn start(&self, mut operation: impl FnMut(&dyn RemoteMemory) -> hikyaku::Result<Start>) {
        let begin = Instant::now();
        while operation(memory(&self.ends[0])).unwrap() == Start::Busy {
            self.poll();
            assert!(begin.elapsed() < Duration::from_secs(60), "there is never room");
        }
    }

    fn put(&self, bytes: &[u8], (rank, to): (usize, RemotePlace), token: u64) {
        // SAFETY: the tests keep the bytes until the token is back, or they were reclaimed.
        self.start(|memory| unsafe { memory.put(rank, &put_of(bytes, to), Token(token)) });
    }

    /// Puts until no put is withdrawn: until there is an endpoint with a connection.
    fn prepare(&self, bytes: &[u8], to: (usize, RemotePlace)) {
        let begin = Instant::now();
        loop {
            self.put(bytes, to, u64::MAX);
            match self.ended(1)[..] {
                [(u64::MAX, Ok(()))] => return,
                [(u64::MAX, Err(RemoteFailure::Withdrawn))] => {}
                ref ended => panic!("{ended:?}"),
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "there is never a connection");
        }
    }

    fn get(&self, bytes: &mut [u8], from: RemotePlace, token: u64) {
        let get = Get { from, into: bytes.as_mut_ptr(), bytes: bytes.len(), fence: false };
        // SAFETY: as above.
        self.start(|memory| unsafe { memory.get(1, &get, Token(token)) });
    }
}

fn put_of(bytes: &[u8], to: RemotePlace) -> Put {
    Put { from: bytes.as_ptr(), bytes: bytes.len(), to, then: None, event: false, fence: false }
}

fn memory(end: &Arc<dyn Transport>) -> &dyn RemoteMemory {
    end.remote_memory().expect("tcp has it")
}

/// Registers bytes that stay until the endpoints are gone.
fn register(end: &Arc<dyn Transport>, bytes: &mut [u8]) -> RemoteKey {
    // SAFETY: they are dropped after the endpoints, and read only when nothing is under way.
    unsafe { memory(end).register(bytes.as_mut_ptr(), bytes.len()) }.unwrap().key
}

#[test]
fn bytes_are_written_and_read_without_the_program() {
    let mut there = vec![0u8; BYTES + 100];
    let net = Net::new(2);
    let key = register(&net.ends[1], &mut there);
    let bytes: Vec<u8> = (0..BYTES).map(|at| (at * 7) as u8).collect();
    net.prepare(&[0], (1, RemotePlace { key, offset: 0 }));
    net.put(&bytes, (1, RemotePlace { key, offset: 100 }), 1);
    assert_eq!(net.ended(1), [(1, Ok(()))]);
    let mut back = vec![0; BYTES];
    net.get(&mut back, RemotePlace { key, offset: 100 }, 2);
    assert_eq!(net.ended(1), [(2, Ok(()))]);
    assert!(back == bytes);
    assert!(net.ends[0].drained());
    drop(net);
    assert!(there[..100].iter().all(|byte| *byte == 0) && there[100..] == bytes[..]);
}

#[test]
fn several_transfers_are_under_way_at_once_and_a_fence_waits() {
    let mut there = vec![0u8; 8 * BYTES];
    let net = Net::new(2);
    let key = register(&net.ends[1], &mut there);
    let bytes: Vec<Vec<u8>> = (0..8).map(|number| vec![number + 1; BYTES]).collect();
    let begin = Instant::now();
    loop {
        for (number, bytes) in bytes.iter().enumerate() {
            let place = RemotePlace { key, offset: (number * BYTES) as u64 };
            net.put(bytes, (1, place), number as u64);
        }
        let ended = net.ended(8);
        assert!(ended.iter().map(|(token, _)| *token).eq(0..8), "{ended:?}");
        // Until there is an endpoint for each.
        if ended.iter().all(|(_, end)| end.is_ok()) {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{ended:?}");
    }
    let (first, place) = (put_of(&bytes[6], RemotePlace { key, offset: 0 }), RemotePlace { key, offset: 0 });
    let fenced = Put { fence: true, ..put_of(&bytes[7], place) };
    // SAFETY: the bytes stay until both have ended.
    net.start(|memory| unsafe { memory.put(1, &first, Token(8)) });
    // SAFETY: as above.
    assert_eq!(unsafe { memory(&net.ends[0]).put(1, &fenced, Token(9)) }.unwrap(), Start::Busy);
    assert!(!net.ends[0].drained());
    // SAFETY: as above.
    net.start(|memory| unsafe { memory.put(1, &fenced, Token(9)) });
    assert_eq!(net.ended(2), [(8, Ok(())), (9, Ok(()))]);
    drop(net);
    assert!(there.chunks(BYTES).zip([8, 2, 3, 4, 5, 6, 7, 8]).all(|(part, byte)| part.iter().all(|it| *it == byte)));
}

/// The interface asks for neither. The target ends the connection, so it counts as lost; with an adapter, that of the transfer alone.
#[test]
fn a_wrong_key_and_bytes_outside_write_and_read_nothing() {
    for (is_put, is_known, offset) in [(true, false, 0), (true, true, 1), (false, false, 0), (false, true, 1)] {
        let mut there = vec![0u8; BYTES];
        let net = Net::new(2);
        let key = register(&net.ends[1], &mut there);
        net.prepare(&[0], (1, RemotePlace { key, offset: 0 }));
        let key = RemoteKey { key: if is_known { key.key } else { key.key ^ 1 }, ..key };
        let (mut bytes, place) = (vec![1u8; BYTES], RemotePlace { key, offset });
        if is_put {
            net.put(&bytes, (1, place), 1);
        } else {
            net.get(&mut bytes, place, 1);
        }
        assert_eq!(net.ended(1), [(1, Err(net.broken()))]);
        drop(net);
        assert!(there.iter().all(|byte| *byte == 0) && bytes.iter().all(|byte| *byte == 1));
    }
}

/// The peer is not polled, so nothing ends by itself, unless an adapter does it.
#[test]
fn bytes_are_taken_back_from_a_transfer_that_does_not_end() {
    let mut there = vec![1u8; 8 * BYTES];
    let net = Net::new(2);
    let key = register(&net.ends[1], &mut there);
    let place = RemotePlace { key, offset: 0 };
    for (round, is_put) in [true, false].into_iter().enumerate() {
        let token = |number: u64| 10 * round as u64 + number;
        // Adapters take no constants.
        let few = [1; 100];
        net.prepare(&few, (1, place));
        let mut bytes = vec![2u8; 8 * BYTES];
        if is_put {
            net.put(&bytes, (1, place), token(2));
        } else {
            net.get(&mut bytes, place, token(2));
        }
        for _ in 0..100 {
            net.ends[0].poll(&mut *net.taken.borrow_mut());
        }
        assert!(net.has_adapter || net.taken.borrow().ended.is_empty());
        let begin = Instant::now();
        memory(&net.ends[0]).reclaim(Token(token(2)));
        assert!(begin.elapsed() < Duration::from_secs(10));
        // Nothing comes here any more, whatever the peer does.
        bytes.fill(4);
        let ended = net.ended(1);
        let has_come = net.has_adapter && ended == [(token(2), Ok(()))];
        assert!(has_come || ended == [(token(2), Err(RemoteFailure::Lost))], "{ended:?}");
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(300) {
            net.poll();
        }
        assert!(bytes.iter().all(|byte| *byte == 4));
        // And the next one is a new beginning.
        net.prepare(&bytes, (1, place));
        net.put(&bytes, (1, place), token(3));
        assert_eq!(net.ended(1), [(token(3), Ok(()))]);
        net.get(&mut bytes, place, token(4));
        assert_eq!(net.ended(1), [(token(4), Ok(()))]);
        assert!(bytes.iter().all(|byte| *byte == 4));
    }
}

#[test]
fn transfers_with_a_rank_that_is_gone_are_lost() {
    let mut there = vec![0u8; BYTES];
    let mut net = Net::new(2);
    let key = register(&net.ends[1], &mut there);
    let bytes = vec![1; BYTES];
    let place = RemotePlace { key, offset: 0 };
    net.prepare(&bytes, (1, place));
    drop(net.ends.pop());
    // SAFETY: the bytes stay until the token is back.
    let start = |net: &Net| unsafe { memory(&net.ends[0]).put(1, &put_of(&bytes, place), Token(2)) };
    let begin = Instant::now();
    while let Ok(started) = start(&net) {
        if started == Start::Started {
            let ended = net.ended(1);
            assert!(
                [RemoteFailure::Lost, RemoteFailure::Withdrawn].iter().any(|why| ended == [(2, Err(*why))]),
                "{ended:?}"
            );
        }
        net.poll();
        assert!(begin.elapsed() < Duration::from_secs(60), "it is never lost");
    }
    while net.taken.borrow().lost != [1] {
        net.poll();
        assert!(begin.elapsed() < Duration::from_secs(60), "it is never lost");
    }
    // From then on the others sleep until something comes.
    while net.ends[0].arm() != Armed::Until(None) {
        net.poll();
        assert!(begin.elapsed() < Duration::from_secs(60), "it never sleeps");
    }
    assert!(net.ends[0].descriptor().is_some());
}

/// The program does not wait until an endpoint is opened and connected: packets do what is put until then.
#[test]
fn the_first_transfers_wait_for_no_connection() {
    let mut there = vec![0u8; BYTES];
    let net = Net::new(2);
    let key = register(&net.ends[1], &mut there);
    let (bytes, place) = (vec![1; BYTES], RemotePlace { key, offset: 0 });
    // SAFETY: the bytes stay until the token is back.
    assert_eq!(unsafe { memory(&net.ends[0]).put(1, &put_of(&bytes, place), Token(1)) }.unwrap(), Start::Started);
    net.ends[0].poll(&mut *net.taken.borrow_mut());
    assert_eq!(net.taken.borrow().ended, [(1, Err(RemoteFailure::Withdrawn))]);
    net.taken.borrow_mut().ended.clear();
    assert!(net.ends[0].drained());
    net.prepare(&bytes, (1, place));
}

/// One endpoint has connections to all ranks, and keeps them.
#[test]
fn many_ranks_in_turn_are_reached_by_one_endpoint() {
    let count = 40;
    let mut there = vec![vec![0u8; 20_000]; count];
    let net = Net::new(count);
    let keys: Vec<_> = net.ends.iter().zip(&mut there).map(|(end, bytes)| register(end, bytes)).collect();
    let (bytes, mut opened) = (vec![5; 20_000], Vec::new());
    for (rank, key) in keys.iter().enumerate().skip(1) {
        net.prepare(&bytes, (rank, RemotePlace { key: *key, offset: 0 }));
        opened.push(std::fs::read_dir("/proc/self/fd").unwrap().count());
    }
    // A connection has two ends, here and at the target.
    assert!(net.has_adapter || opened[38] - opened[0] <= 2 * 38 + 8, "{opened:?}");
    for (rank, key) in keys.iter().enumerate().skip(1) {
        net.put(&bytes, (rank, RemotePlace { key: *key, offset: 0 }), rank as u64);
        assert_eq!(net.ended(1), [(rank as u64, Ok(()))]);
    }
    drop(net);
    assert!(there[1..].iter().all(|bytes| bytes.iter().all(|byte| *byte == 5)));
}
