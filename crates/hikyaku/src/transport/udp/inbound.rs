//! From the data of frames, in order, to packets: those that share a frame are told apart, those cut into parts are put together.

use super::batch::Inbox;
use crate::planted::{Bug, planted};
use crate::transport::core::Sink;
use crate::transport::packet;
use crate::transport::shm::ring::Packet;

/// What only the one who polls touches.
pub struct Inbound {
    pub inbox: Inbox,
    pub joiner: Joiner,
    /// Looks that have found nothing.
    pub looks: u32,
}

/// Puts messages together.
pub struct Joiner {
    payload_max: usize,
    /// Messages of which parts have come, by rank; made for those that send any.
    partial: Box<[Option<Box<Partial>>]>,
}

#[derive(Default)]
struct Partial {
    packet: Packet,
    /// Bytes of the whole payload; `None` between messages.
    bytes: Option<usize>,
    payload: Vec<u8>,
}

/// Why data are none that a correct rank sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl Joiner {
    /// For messages of so many ranks.
    pub fn new(payload_max: usize, size: usize) -> Joiner {
        Joiner { payload_max, partial: (0..size).map(|_| None).collect() }
    }

    /// Hands the packets that are whole with the data of a frame to the sink.
    pub fn take(&mut self, from: u32, part: bool, data: &[u8], sink: &mut dyn Sink) -> Result<(), Malformed> {
        if !part {
            return self.take_whole(from, data, sink);
        }
        if self.add_part(from, data)? {
            self.hand_out(from, sink);
        }
        Ok(())
    }

    /// Hands the packets in the data of a frame to the sink.
    #[inline]
    pub fn take_whole(&mut self, from: u32, data: &[u8], sink: &mut dyn Sink) -> Result<(), Malformed> {
        if self.partial[from as usize].as_ref().is_some_and(|partial| partial.bytes.is_some()) {
            return Err(Malformed);
        }
        let mut rest = data;
        while !rest.is_empty() {
            let (packet, bytes, behind) = packet::decode(rest).ok_or(Malformed)?;
            let (payload, behind) = behind.split_at_checked(bytes).ok_or(Malformed)?;
            sink.message(from as usize, &packet, payload);
            rest = behind;
        }
        Ok(())
    }

    /// Adds a part of a message; whether it is whole now, and to be handed out.
    pub fn add_part(&mut self, from: u32, data: &[u8]) -> Result<bool, Malformed> {
        let partial = self.partial[place(from)].get_or_insert_default();
        let (bytes, data) = match partial.bytes {
            Some(bytes) => (bytes, data),
            None => {
                let (packet, bytes, data) = packet::decode(data).ok_or(Malformed)?;
                if bytes > self.payload_max {
                    return Err(Malformed);
                }
                partial.packet = packet;
                if !planted(Bug::PartsKept) {
                    partial.payload.clear();
                }
                partial.payload.reserve(bytes);
                (bytes, data)
            }
        };
        partial.bytes = Some(bytes);
        if partial.payload.len() + data.len() > bytes {
            partial.bytes = None;
            return Err(Malformed);
        }
        partial.payload.extend_from_slice(data);
        Ok(partial.payload.len() == bytes || planted(Bug::PartsHandedOutEarly))
    }

    /// Hands the message that has become whole to the sink.
    pub fn hand_out(&mut self, from: u32, sink: &mut dyn Sink) {
        if let Some(partial) = &mut self.partial[place(from)] {
            partial.bytes = None;
            sink.message(from as usize, &partial.packet, &partial.payload);
        }
    }

    /// Keeps no room for the next message of a rank that has not begun one.
    pub fn rest(&mut self, from: u32) {
        self.partial[from as usize].take_if(|partial| partial.bytes.is_none());
    }

    /// Forgets what has come of a message of this rank.
    pub fn forget(&mut self, from: u32) {
        self.partial[from as usize] = None;
    }
}

/// Where the parts of a rank's message are.
fn place(from: u32) -> usize {
    if planted(Bug::PartsMixed) { 0 } else { from as usize }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::core::{Loss, Token};

    #[derive(Default)]
    struct Taken(Vec<(usize, u64, Vec<u8>)>);

    impl Sink for Taken {
        fn message(&mut self, from: usize, packet: &Packet, payload: &[u8]) {
            self.0.push((from, packet.address, payload.to_vec()));
        }
        fn completed(&mut self, _: Token) {}
        fn lost(&mut self, _: usize, _: Loss) {}
    }

    fn message(address: u64, payload: &[u8]) -> Vec<u8> {
        let packet = Packet { address, ..Packet::default() };
        [&packet::encode(&packet, payload.len() as u32)[..], payload].concat()
    }

    #[test]
    fn packets_that_share_a_frame_are_told_apart_and_parts_put_together() {
        let (mut joiner, mut taken) = (Joiner::new(100, 9), Taken::default());
        let both = [message(1, b"one"), message(2, b""), message(3, b"three")].concat();
        assert_eq!(joiner.take(7, false, &both, &mut taken), Ok(()));
        let long = message(4, &[9; 100]);
        for part in long.chunks(40) {
            assert_eq!(joiner.take(7, true, part, &mut taken), Ok(()));
            assert_eq!(joiner.take(8, false, &message(5, b"five"), &mut taken), Ok(()), "another rank");
        }
        let addresses: Vec<_> =
            taken.0.iter().map(|(from, address, payload)| (*from, *address, payload.len())).collect();
        assert_eq!(addresses, [(7, 1, 3), (7, 2, 0), (7, 3, 5), (8, 5, 4), (8, 5, 4), (7, 4, 100), (8, 5, 4)]);
    }

    #[test]
    fn a_rank_at_rest_keeps_room_for_the_message_it_has_begun_alone() {
        let (mut joiner, mut taken) = (Joiner::new(100, 9), Taken::default());
        let long = message(4, &[9; 100]);
        for part in long.chunks(70) {
            joiner.rest(7);
            assert_eq!(joiner.take(7, true, part, &mut taken), Ok(()));
        }
        assert_eq!(taken.0, [(7, 4, vec![9; 100])]);
        assert!(joiner.partial[7].is_some());
        joiner.rest(7);
        assert!(joiner.partial[7].is_none());
    }

    #[test]
    fn parts_of_several_ranks_and_of_one_message_after_another_do_not_mix() {
        let (mut joiner, mut taken) = (Joiner::new(100, 9), Taken::default());
        let long = |from: u32, address| message(address, &[from as u8; 100]);
        for address in [1, 2] {
            let (seven, eight) = (long(7, address), long(8, address));
            for (one, other) in seven.chunks(70).zip(eight.chunks(70)) {
                assert_eq!(joiner.take(7, true, one, &mut taken), Ok(()));
                assert_eq!(joiner.take(8, true, other, &mut taken), Ok(()));
            }
        }
        let order: Vec<_> = taken.0.iter().map(|(from, address, _)| (*from, *address)).collect();
        assert_eq!(order, [(7, 1), (8, 1), (7, 2), (8, 2)]);
        assert!(taken.0.iter().all(|(from, _, payload)| *payload == [*from as u8; 100]));
    }

    #[test]
    fn planted_bugs_are_caught() {
        let bugs = [Bug::PartsMixed, Bug::PartsKept, Bug::PartsHandedOutEarly];
        crate::planted::catches(parts_of_several_ranks_and_of_one_message_after_another_do_not_mix, &bugs);
    }

    #[test]
    fn nonsense_of_a_peer_is_refused() {
        let (mut joiner, mut taken) = (Joiner::new(100, 9), Taken::default());
        let mut lies = message(1, b"one");
        lies[4] = 4;
        assert_eq!(joiner.take(7, false, &lies, &mut taken), Err(Malformed));
        assert_eq!(joiner.take(7, false, &lies[..5], &mut taken), Err(Malformed));
        assert_eq!(joiner.take(7, true, &message(1, &[0; 101]), &mut taken), Err(Malformed), "too long");
        lies[4] = 2;
        assert_eq!(joiner.take(7, true, &lies, &mut taken), Err(Malformed), "more than it says");
        lies[4] = 4;
        assert_eq!(joiner.take(7, true, &lies, &mut taken), Ok(()));
        assert_eq!(joiner.take(7, false, &message(1, b"one"), &mut taken), Err(Malformed), "in the middle of another");
        assert!(taken.0.is_empty());
    }
}
