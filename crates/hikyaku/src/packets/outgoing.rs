//! Messages that their receivers do not have yet.

use super::wire::{Answer, PACKET_BYTES, Packet};
use crate::planted::{Bug, planted};
use std::collections::VecDeque;

/// So much is kept for a receiver, in bytes, or one message.
const KEPT_MAX: usize = 256 << 10;
/// What a message costs besides its bytes.
const OVERHEAD: usize = 64;

/// What is kept for one receiver.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// Messages that it has not acknowledged, in order.
    letters: VecDeque<Letter>,
    cost: usize,
    /// The packet that goes next, and how many there are.
    next: u64,
    written: u64,
    /// The next one was refused.
    is_refused: bool,
    /// One that the receiver asks for again, though its refusal has not come yet: handlers and programs send by different ways.
    asked: Option<u64>,
}

#[derive(Debug)]
struct Letter {
    tag: u64,
    data: Box<[u8]>,
    /// The numbers of its packets.
    first: u64,
    end: u64,
}

impl Outgoing {
    /// Whether a message may be added.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.letters.is_empty() || self.cost + bytes + OVERHEAD <= KEPT_MAX
    }

    /// Adds a message.
    pub fn add(&mut self, tag: u64, data: &[u8]) {
        let first = self.written;
        self.written += data.len().div_ceil(PACKET_BYTES).max(1) as u64;
        self.cost += data.len() + OVERHEAD;
        self.letters.push_back(Letter { tag, data: data.into(), first, end: self.written });
    }

    /// The packet that may go now.
    pub fn next(&self) -> Option<Packet<'_>> {
        if self.next == self.written || self.is_refused && !planted(Bug::RefusalIgnored) {
            return None;
        }
        let letter = self.letters.get(self.letters.partition_point(|letter| letter.end <= self.next))?;
        let from = (self.next - letter.first) as usize * PACKET_BYTES;
        let data = &letter.data[from..letter.data.len().min(from + PACKET_BYTES)];
        Some(Packet { number: self.next, tag: letter.tag, whole: letter.data.len(), from, data })
    }

    /// The next packet has gone.
    pub fn sent(&mut self) {
        self.next += 1;
    }

    /// The receiver has said something; how many packets go again. What it cannot say is nothing.
    pub fn hear(&mut self, answer: Answer) -> u64 {
        let oldest = self.letters.front().map_or(self.written, |letter| letter.first);
        match answer {
            Answer::Taken(number) if number <= self.next => {
                let count = self.letters.partition_point(|letter| letter.end <= number);
                self.cost -= self.letters.drain(..count).map(|letter| letter.data.len() + OVERHEAD).sum::<usize>();
                0
            }
            Answer::Refused(number) if (oldest..self.next).contains(&number) => {
                self.is_refused = self.asked.take_if(|asked| *asked == number).is_none();
                std::mem::replace(&mut self.next, number) - number
            }
            Answer::Again(number) if self.is_refused && number == self.next => {
                self.is_refused = false;
                0
            }
            Answer::Again(number) if (oldest..self.next).contains(&number) => {
                self.asked = Some(number);
                0
            }
            Answer::Taken(_) | Answer::Refused(_) | Answer::Again(_) => 0,
        }
    }

    /// Whether the receiver has everything.
    pub fn is_done(&self) -> bool {
        self.letters.is_empty()
    }

    /// The receiver is gone.
    pub fn give_up(&mut self) {
        self.letters.clear();
        self.cost = 0;
        self.next = self.written;
        self.is_refused = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(outgoing: &mut Outgoing, count: usize) -> Vec<(u64, u64, usize)> {
        let mut sent = Vec::new();
        while let Some(packet) = outgoing.next().filter(|_| sent.len() < count) {
            sent.push((packet.number, packet.tag, packet.data.len()));
            outgoing.sent();
        }
        sent
    }

    #[test]
    fn a_refused_packet_goes_again_with_all_behind_it() {
        let mut outgoing = Outgoing::default();
        outgoing.add(1, &[1; 10]);
        outgoing.add(2, &vec![2; 2 * PACKET_BYTES + 5]);
        outgoing.add(3, &[]);
        let all = [(0, 1, 10), (1, 2, PACKET_BYTES), (2, 2, PACKET_BYTES), (3, 2, 5), (4, 3, 0)];
        assert_eq!(sent(&mut outgoing, 4), all[..4]);
        assert_eq!(outgoing.hear(Answer::Taken(1)), 0);
        assert_eq!(outgoing.hear(Answer::Refused(1)), 3);
        assert_eq!(sent(&mut outgoing, 9), []);
        assert_eq!(outgoing.hear(Answer::Again(1)), 0);
        assert_eq!(sent(&mut outgoing, 9), all[1..]);
        outgoing.hear(Answer::Taken(4));
        assert!(!outgoing.is_done());
        outgoing.hear(Answer::Taken(5));
        assert!(outgoing.is_done());
    }

    #[test]
    fn a_refusal_may_be_overtaken_by_what_takes_it_back() {
        let mut outgoing = Outgoing::default();
        (0..3).for_each(|tag| outgoing.add(tag, &[1; 10]));
        assert_eq!(sent(&mut outgoing, 9).len(), 3);
        outgoing.hear(Answer::Again(1));
        assert_eq!(outgoing.hear(Answer::Refused(1)), 2);
        assert_eq!(sent(&mut outgoing, 9).len(), 2);
        outgoing.hear(Answer::Refused(1));
        assert_eq!(sent(&mut outgoing, 9), [], "the next refusal is another one");
    }

    #[test]
    fn what_no_receiver_says_is_nothing() {
        let mut outgoing = Outgoing::default();
        outgoing.add(1, &[1; 10]);
        for answer in
            [Answer::Taken(1), Answer::Taken(u64::MAX), Answer::Refused(0), Answer::Refused(7), Answer::Again(0)]
        {
            assert_eq!(outgoing.hear(answer), 0);
            assert!(!outgoing.is_done());
        }
        assert_eq!(sent(&mut outgoing, 9), [(0, 1, 10)]);
        outgoing.hear(Answer::Taken(1));
        assert_eq!(outgoing.hear(Answer::Refused(0)), 0, "it was taken before");
        assert!(outgoing.is_done() && outgoing.next().is_none());
    }

    #[test]
    fn a_receiver_is_kept_so_much_for_or_one_message() {
        let mut outgoing = Outgoing::default();
        assert!(outgoing.has_room(1 << 30));
        outgoing.add(0, &vec![0; KEPT_MAX]);
        assert!(!outgoing.has_room(0));
        outgoing.give_up();
        assert!(outgoing.has_room(1 << 30) && outgoing.next().is_none());
    }
}
