//! Messages that are left when a rank leaves: nobody runs their handlers any more, and that is worth a word.

use crate::ni::wire::message::HANDLER_COUNT;
use crate::transport::shm::ring::Packet;
use std::collections::BTreeMap;

/// How many, by handler and sender.
#[derive(Debug, Default)]
pub(crate) struct Unhandled(BTreeMap<(u16, usize), u64>);

/// What to do about it.
const REMEDY: &str = "A barrier, or `sync` of the rank that sends, waits until messages were handled.";

impl Unhandled {
    /// One more, if it is for a handler of the program.
    pub fn add(&mut self, source: usize, packet: &Packet) {
        if packet.is_for_program() && packet.handler < HANDLER_COUNT {
            *self.0.entry((packet.handler, source)).or_default() += 1;
        }
    }

    /// What is said of it, if there are any.
    pub fn text(&self, rank: usize) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        let each = |((handler, source), count): (&(u16, usize), &u64)| {
            format!("{count} for handler {handler} from rank {source}")
        };
        let each: Vec<_> = self.0.iter().map(each).collect();
        let count = messages(self.0.values().sum());
        Some(format!("rank {rank} has ended and left {count} unhandled: {}. {REMEDY}", each.join(", ")))
    }
}

/// What the sender says of messages to a rank that had ended before.
pub(crate) fn sent_in_vain(rank: usize, to: usize, count: u64) -> String {
    format!("rank {rank} has sent {} to rank {to}, which has ended without handling them. {REMEDY}", messages(count))
}

fn messages(count: u64) -> String {
    format!("{count} message{}", if count == 1 { "" } else { "s" })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::transport::packet::kind;

    #[test]
    fn messages_of_the_program_are_counted_by_handler_and_sender() {
        let mut unhandled = Unhandled::default();
        assert_eq!(unhandled.text(0), None);
        let packet = |kind, handler| Packet { kind, handler, ..Packet::default() };
        unhandled.add(2, &packet(kind::ASK, 0));
        unhandled.add(2, &packet(kind::ROUTED, 7));
        assert_eq!(unhandled.text(0), None);
        unhandled.add(2, &packet(kind::USER, 7));
        let text = unhandled.text(1).unwrap();
        assert!(
            text.starts_with("rank 1 has ended and left 1 message unhandled: 1 for handler 7 from rank 2. "),
            "{text}"
        );
        unhandled.add(2, &packet(kind::CALL, 7));
        unhandled.add(0, &packet(kind::USER, 3));
        let text = unhandled.text(1).unwrap();
        let counted = "left 3 messages unhandled: 1 for handler 3 from rank 0, 2 for handler 7 from rank 2. ";
        assert!(text.contains(counted), "{text}");
    }
}
