//! The rules of remote memory, on the smallest version.

use super::*;
use crate::memory::atomic::Atomic;
use crate::transport::core::Loss;

#[derive(Default)]
struct Taken {
    ended: Vec<(u64, std::result::Result<Option<u64>, RemoteFailure>)>,
    landed: Vec<usize>,
}

impl Sink for Taken {
    fn message(&mut self, _: usize, _: &Packet, _: &[u8]) {}
    fn completed(&mut self, token: Token) {
        self.ended.push((token.0, Ok(None)));
    }
    fn lost(&mut self, _: usize, _: Loss) {}
    fn fetched(&mut self, token: Token, before: u64) {
        self.ended.push((token.0, Ok(Some(before))));
    }
    fn failed(&mut self, token: Token, why: RemoteFailure) {
        self.ended.push((token.0, Err(why)));
    }
    fn landed(&mut self, from: usize) {
        self.landed.push(from);
    }
}

fn taken(end: &MemoryEndpoint) -> Taken {
    let mut taken = Taken::default();
    end.poll(&mut taken);
    taken
}

/// Memory of rank 1, and both ends.
fn with_memory(test: impl FnOnce(&mut Vec<MemoryEndpoint>, &[AtomicU64], Registration)) {
    let memory: Vec<AtomicU64> = (0..8).map(AtomicU64::new).collect();
    let mut ends = memory_endpoints(2).unwrap();
    // SAFETY: atomics, which outlive the ends.
    let registration = unsafe { ends[1].register(memory.as_ptr() as *mut u8, 64).unwrap() };
    test(&mut ends, &memory, registration);
    drop(ends);
}

fn put(end: &MemoryEndpoint, data: &[u8], key: RemoteKey, offset: u64, then: Option<(u64, u64)>, token: u64) {
    let place = |offset| RemotePlace { key, offset };
    let then = then.map(|(offset, word)| (place(offset), word));
    let (from, bytes) = (data.as_ptr(), data.len());
    let put = Put { from, bytes, to: place(offset), then, event: then.is_some(), fence: false };
    // SAFETY: the source is read during the call.
    assert_eq!(unsafe { end.put(1, &put, Token(token)) }.unwrap(), Start::Started);
}

#[test]
fn a_put_lands_while_its_target_does_nothing() {
    with_memory(|ends, memory, registration| {
        put(&ends[0], &[0xab; 12], registration.key, 4, Some((32, 99)), 7);
        let words: Vec<u64> = memory.iter().map(|word| word.load(Ordering::Acquire)).collect();
        assert_eq!(words, [0xabab_abab_0000_0000, u64::MAX / 255 * 0xab, 2, 3, 99, 5, 6, 7]);
        assert_eq!(taken(&ends[0]).ended, [(7, Ok(None))]);
        assert_eq!(taken(&ends[1]).landed, [0], "and it is told when it looks");
    });
}

#[test]
fn bytes_are_got_and_words_changed() {
    with_memory(|ends, memory, registration| {
        let place = |offset| RemotePlace { key: registration.key, offset };
        let mut got = [0u64; 2];
        let get = Get { from: place(16), into: got.as_mut_ptr().cast(), bytes: 16, fence: true };
        // SAFETY: written during the call.
        unsafe { ends[0].get(1, &get, Token(1)) }.unwrap();
        let change = Change { at: place(40), operation: Atomic::Add(10), event: false, fence: true };
        ends[0].change(1, &change, Token(2)).unwrap();
        assert_eq!((got, memory[5].load(Ordering::Relaxed)), ([2, 3], 15));
        assert_eq!(taken(&ends[0]).ended, [(1, Ok(None)), (2, Ok(Some(5)))]);
    });
}

#[test]
fn a_wrong_key_and_wrong_bounds_reach_nothing() {
    with_memory(|ends, memory, registration| {
        let key = registration.key;
        put(&ends[0], &[1; 8], RemoteKey { key: key.key + 1, ..key }, 0, None, 1);
        put(&ends[0], &[1; 8], key, 57, None, 2);
        put(&ends[0], &[1; 8], key, u64::MAX - 3, None, 3);
        put(&ends[0], &[1; 8], key, 0, Some((4, 1)), 4);
        let refused = Err(RemoteFailure::Refused);
        assert_eq!(taken(&ends[0]).ended, [(1, refused), (2, refused), (3, refused), (4, refused)]);
        ends[1].deregister(&registration);
        put(&ends[0], &[1; 8], key, 0, None, 5);
        assert_eq!(taken(&ends[0]).ended, [(5, refused)]);
        assert!((0..8).all(|index| memory[index as usize].load(Ordering::Relaxed) == index));
    });
}

#[test]
fn what_goes_to_an_end_that_is_gone_is_lost() {
    with_memory(|ends, memory, registration| {
        ends.pop();
        put(&ends[0], &[1; 8], registration.key, 0, None, 1);
        assert_eq!(taken(&ends[0]).ended, [(1, Err(RemoteFailure::Lost))]);
        assert_eq!(memory[0].load(Ordering::Relaxed), 0);
    });
}

#[test]
fn who_never_polls_is_busy_in_the_end() {
    with_memory(|ends, _, registration| {
        let place = RemotePlace { key: registration.key, offset: 0 };
        let change = Change { at: place, operation: Atomic::Add(1), event: false, fence: false };
        let busy = (0..).find(|number| ends[0].change(1, &change, Token(*number)).unwrap() == Start::Busy);
        assert_eq!(busy, Some(NEWS_MAX as u64));
        assert_eq!(taken(&ends[0]).ended.len(), NEWS_MAX);
        assert_eq!(ends[0].change(1, &change, Token(0)).unwrap(), Start::Started);
    });
}
