//! Copies between two other ranks, as the owner of the bytes sees them: it is asked for a part, sends it on to where it belongs, and
//! tells whoever has asked when it is there. It never waits: what finds no room now is kept, or is not begun.
//!
//! ```text
//!   initiator              here                              target
//!   Copy  ---------------> found, checked
//!                          near: written at once
//!                          far:  Push, with a number ------> found, checked, written
//!   answer or refusal <--- passed on, by the number <------- answer or refusal
//! ```

use super::outbox::{Outbox, answer, pass_on, pass_refusal_on, refuse};
use crate::error::Refusal;
use crate::ni::base::{Base, NI_PORT};
use crate::ni::state::awaited::By;
use crate::ni::state::relay::Relay;
use crate::ni::wire::onward::{COPY_MAX, Onward};
use crate::ni::wire::operation::{Act, Data, Manner, Operation};
use crate::ni::wire::tail::Tail;
use crate::ni::wire::token;
use crate::planted::{Bug, planted};
use crate::transport::packet::{kind, verb};
use crate::transport::shm::ring::Packet;

/// Whether a packet asks for something to be sent on for which there is no room now.
pub(super) fn must_wait(ni: &Base, outbox: &Outbox, packet: &Packet, payload: &[u8]) -> bool {
    match (packet.kind, packet.handler) {
        (kind::ROUTED, verb::COPY) => {}
        // The last of them sets off a packet to each host.
        (kind::ROUTED, verb::ARRIVE) => return outbox.is_full(),
        _ => return false,
    }
    let to = Onward::decode(payload).map(|onward| onward.to.rank).filter(|rank| !ni.is_near(*rank));
    to.is_some_and(|rank| ni.relays.is_full() || outbox.is_crowded(rank))
}

/// Sends on what was found, for `source`, who has asked by this packet; or has it written at once, where the target is near.
pub(super) fn send_on(
    ni: &Base,
    outbox: &mut Outbox,
    source: usize,
    (packet, payload): (&Packet, &[u8]),
    data: Data<'_>,
    write: impl FnOnce(&Operation<'_>) -> Result<(), Refusal>,
) {
    let [.., position, is_last] = packet.arguments;
    // Whoever shares memory with this rank does it by itself, and answers go to far ranks alone.
    let onward = Onward::decode(payload).filter(|_| outbox.is_for_far() && data.len() <= COPY_MAX);
    let target = onward.and_then(|onward| onward.part(position)).filter(|at| ni.check_rank(at.rank).is_ok());
    let (Some(onward), Some(at)) = (onward, target) else {
        return refuse(ni, outbox, source, packet, Refusal::OutOfBounds);
    };
    let word;
    let act = match onward.then.filter(|_| is_last != 0) {
        None => Act::Push(data),
        Some((then, value)) => {
            word = value;
            Act::PushThen { data, then, tail: Tail::Words(std::slice::from_ref(&word)) }
        }
    };
    let operation = Operation { at, act, manner: Manner::Plain };
    let relay = Relay { initiator: source, token: packet.address, to: at.rank };
    if ni.is_near(at.rank) {
        return match write(&operation) {
            Ok(()) if token::is_answered(packet.address) => {
                drop(answer(ni, outbox, source, packet.address, [0; 6], Data::EMPTY))
            }
            Err(reason) if token::is_refused(packet.address) => pass_refusal_on(ni, outbox, relay, reason as u64),
            _ => {}
        };
    }
    let is_there =
        data.len() <= ni.payload_max(at.rank) && (ni.departures() == 0 || ni.find_departed(By::Rank(at.rank)).is_ok());
    if !token::is_answered(packet.address) {
        // It only asks whether the target is still there, which the transport finds out.
        let _ = if is_there { outbox.send_on(ni, &operation, token::QUIET) } else { Ok(()) };
        return;
    }
    let number = ni.relays.add(relay);
    let sent = is_there && outbox.send_on(ni, &operation, token::transferred(NI_PORT, number)).is_ok();
    if !sent && ni.relays.take(number, at.rank).is_some() {
        pass_refusal_on(ni, outbox, relay, Refusal::Unreached as u64);
    }
    if planted(Bug::RelayAnsweredEarly) && ni.relays.take(number, at.rank).is_some() {
        pass_on(ni, outbox, relay);
    }
}

/// The target of something that was sent on has answered, or refused it.
pub(super) fn take_end(ni: &Base, outbox: &mut Outbox, source: usize, token: u64, refusal: Option<u64>) {
    let Some(relay) = ni.relays.take(token::number_of(token), source) else { return };
    match refusal {
        None => pass_on(ni, outbox, relay),
        Some(reason) => pass_refusal_on(ni, outbox, relay, reason),
    }
}

/// What was sent on to ranks that have ended is refused.
#[cold]
pub(super) fn refuse_lost(ni: &Base, outbox: &mut Outbox) {
    for relay in ni.relays.take_lost(|rank| ni.find_departed(By::Rank(rank)).is_err()) {
        pass_refusal_on(ni, outbox, relay, Refusal::Unreached as u64);
    }
}
