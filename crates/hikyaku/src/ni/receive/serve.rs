//! The owner's side: what a peer asks for is decoded, found, performed and answered. Nothing the peer says is believed.

use super::outbox::{Outbox, answer, refuse};
use super::relay::send_on;
use crate::error::Refusal;
use crate::memory::parts;
use crate::ni::base::{Base, NI_PORT};
use crate::ni::reach::follow::Spot;
use crate::ni::reach::perform::Found;
use crate::ni::wire::command::Way;
use crate::ni::wire::operation::{Act, Data, Operation, REACHED};
use crate::ni::wire::target::{Locals, Target};
use crate::ni::wire::token;
use crate::planted::{Bug, planted};
use crate::sync::bell::ANY;
use crate::transport::packet::verb;
use crate::transport::shm::layout::AreaKind;
use crate::transport::shm::ring::Packet;

/// What an arrival gives that is the last.
const LAST: u64 = 1;

/// Performs an operation on this rank's memory and answers as far as the initiator wants it.
pub(super) fn serve(ni: &Base, outbox: &mut Outbox, source: usize, packet: &Packet, payload: &[u8]) {
    // An area that is found stays meanwhile: a revocation by another thread of this rank waits for the guard.
    // Far ranks and near ones may be served at once, by two threads.
    let guard = if outbox.is_for_far() { ni.own_areas.far_guard() } else { ni.own_areas.guard(NI_PORT) };
    let _inside = guard.enter(ni.fences);
    let operation = Operation::decode(ni.rank, packet, payload).ok_or(Refusal::OutOfBounds);
    let done = operation.and_then(|operation| perform(ni, source, &operation, outbox.scratch()));
    if let (verb::ARRIVE, Ok(([LAST, ..], _))) = (packet.handler, &done) {
        release(ni, outbox, packet.arguments[2]);
    }
    match done {
        Ok((_, data)) if packet.handler == verb::COPY => {
            send_on(ni, outbox, source, (packet, payload), data, |operation| write_near(ni, operation));
        }
        // There is room for it: that was asked before.
        Ok((words, data)) if token::is_answered(packet.address) => {
            if token::is_counted(packet.address) {
                outbox.note_asked(source, packet.address);
            }
            drop(answer(ni, outbox, source, packet.address, words, data));
        }
        Ok(_) if token::is_lazy(packet.address) => outbox.note_unasked(source, packet.address),
        Err(reason) if token::is_refused(packet.address) => {
            refuse(ni, outbox, source, packet, reason);
            if token::is_lazy(packet.address) {
                outbox.note_unasked(source, packet.address);
            }
        }
        _ => {}
    }
}

/// Tells all who take part that all have come to a barrier, whose words are in bounds at this offset. It never waits: there is room to keep what
/// cannot be sent now, as was asked before.
fn release(ni: &Base, outbox: &mut Outbox, offset: u64) {
    let tell = |operation: &Operation<'_>| {
        if !planted(Bug::ReleasesKept) {
            // Whoever has ended needs none.
            let _ = outbox.send_on(ni, operation, token::QUIET);
        }
    };
    if let Some(roll) = ni.roll(&Target::in_heap(ni.rank, offset as usize)) {
        ni.release(&roll, offset, || {}, tell);
    }
}

/// Words, and bytes that can be read as long as the guard is held and what was packed is left alone.
type Answer<'a> = ([u64; 6], Data<'a>);

/// Of what is done and has nothing to say.
const DONE: Answer<'static> = ([0; 6], Data::EMPTY);

/// What is answered.
fn perform<'a>(
    ni: &Base,
    source: usize,
    operation: &Operation<'a>,
    packed: &mut Vec<u8>,
) -> Result<Answer<'a>, Refusal> {
    let Operation { at, act, .. } = operation;
    if act.carried() > ni.payload_max(source) as u64 {
        return Err(Refusal::OutOfBounds);
    }
    match act {
        Act::Open => open(ni, at),
        Act::PushThrough { .. } | Act::PullThrough { .. } => through(ni, at, act, packed),
        Act::Arrive { number } => {
            // Who shares memory with the manager counts by itself, and what follows goes to far ranks too.
            let roll = ni.roll(at).filter(|_| !ni.is_near(source)).ok_or(Refusal::OutOfBounds)?;
            let is_last = roll.count(source, *number);
            Ok(([if is_last { LAST } else { 0 }, 0, 0, 0, 0, 0], Data::EMPTY))
        }
        Act::Pin { .. } => {
            let id = at.area().ok_or(Refusal::OutOfBounds)?;
            ni.own_target(at, act.span())?;
            let is_pinned = ni.pins.pin(at.key(), source, || ni.own_areas.is(id, at.key()));
            if is_pinned { Ok(DONE) } else { Err(Refusal::UnknownArea) }
        }
        Act::Unpin => {
            if ni.pins.release(at.key(), source) {
                // Whoever waits to take the area away.
                ni.notify(ni.rank, ANY);
            }
            Ok(DONE)
        }
        Act::Settle => Ok(DONE),
        _ => match at.several() {
            Some(locals) => push_to_several(ni, at, locals, act).map(|()| DONE),
            None => on_bytes(ni, source, at, act, packed),
        },
    }
}

/// Tells what a peer needs to use an area, or the heap.
fn open(ni: &Base, at: &Target) -> Result<Answer<'static>, Refusal> {
    if at.is_heap() {
        let [base, key, bytes] = ni.direct.as_ref().map_or([0; 3], |direct| direct.own_key());
        return Ok(([base, key, bytes, 0, 0, 0], Data::EMPTY));
    }
    let area = at.area().and_then(|id| ni.look_up(ni.rank, id).ok()).ok_or(Refusal::UnknownArea)?;
    // Of an address nobody else needs more than how it is aligned, and no operation asks for more than this.
    let start = if area.kind == AreaKind::Private { area.start % 16 } else { area.start };
    let reach = ni.direct.as_ref().zip(area.pointer(ni, 0));
    // SAFETY: an area of this rank stays until it was revoked, which waits for the guard that the caller holds, and then takes
    // the key back; everybody accesses it by racing copies and atomic words.
    let reach = reach.and_then(|(direct, start)| unsafe { direct.lend(area.key, start, area.bytes) });
    let (flag, base, key) = reach.map_or((0, 0, 0), |reach| (REACHED, reach.base, reach.key));
    Ok(([area.key, area.kind as u64 | flag, start, area.bytes as u64, base, key], Data::EMPTY))
}

/// Writes, changes or reads bytes of this rank. The caller holds the guard of own areas.
#[inline]
fn on_bytes<'a>(
    ni: &Base,
    source: usize,
    at: &Target,
    act: &Act<'a>,
    packed: &mut Vec<u8>,
) -> Result<Answer<'a>, Refusal> {
    let span = act.span();
    // Held while a window is written. A window is for writing.
    let windows = at.is_window().then(|| ni.windows.table());
    let target = match (&windows, act) {
        // Read by whoever sends more than a packet through it.
        (None, Act::Pull { bytes: 8, .. }) if at.is_register() => ni.own_register(at)?.as_ptr().cast(),
        (None, _) => ni.own_target(at, span)?,
        (Some(windows), Act::Push(_) | Act::PushThen { .. } | Act::PushAdd { .. }) => {
            windows.find(source, at.key(), at.offset, span).ok_or(Refusal::UnknownArea)?
        }
        (Some(_), _) => return Err(Refusal::OutOfBounds),
    };
    let then = match act.beside() {
        Some((then, bytes)) => ni.own_target(&at.beside(then), bytes)?,
        None => target,
    };
    let found = Found { target, then };
    if !found.is_aligned_for(act) {
        return Err(Refusal::OutOfBounds);
    }
    // SAFETY: this rank's own memory, found for this operation; an area stays while the caller holds the guard, a window while
    // the table is locked.
    let before = unsafe { ni.perform(ni.rank, act, found) };
    // SAFETY: as above.
    if act.data().is_some() { Ok(DONE) } else { Ok(unsafe { read(act, target, before, packed) }) }
}

/// What an operation answers that is done: bytes from its target on, or the word from `before`.
///
/// # Safety
/// The target was found for this operation, in the heap or an area, and stays as long as the answer is used; nobody touches what is
/// packed until then.
unsafe fn read<'a>(act: &Act<'_>, target: *mut u8, before: u64, packed: &mut Vec<u8>) -> Answer<'a> {
    let (position, data) = match *act {
        // SAFETY: the caller's promise, here and below.
        Act::Copy { bytes, .. } => (0, unsafe { Data::shared(target, bytes as usize) }),
        // SAFETY: as above.
        Act::Pull { bytes, position } => (position, unsafe { Data::shared(target, bytes as usize) }),
        Act::PullBlocks { block, count, distance, position } => {
            let (block, count) = (block as usize, count as usize);
            packed.resize(block * count, 0);
            // SAFETY: as above; there is room for all of them.
            unsafe { parts::copy_blocks((packed.as_mut_ptr(), block), (target, distance as usize), block, count) };
            // SAFETY: as above.
            (position, unsafe { Data::shared(packed.as_ptr(), packed.len()) })
        }
        Act::PullMarked { marks, unit, units, position } => {
            let (unit, units) = (unit as usize, units as usize);
            packed.resize(unit * units, 0);
            // SAFETY: as above; there are as many marks.
            let bytes = unsafe { parts::pack_by(marks.start(), packed.as_mut_ptr(), target, unit, units) };
            // SAFETY: as above.
            (position, unsafe { Data::shared(packed.as_ptr(), bytes) })
        }
        _ => (before, Data::EMPTY),
    };
    ([position, 0, 0, 0, 0, 0], data)
}

/// Writes or reads where a pointer of this rank leads. The caller holds the guard of own areas.
fn through<'a>(ni: &Base, at: &Target, act: &Act<'a>, packed: &mut Vec<u8>) -> Result<Answer<'a>, Refusal> {
    let word = ni.own_pointer(at)?;
    let (way, skip, mut here, bytes) = match *act {
        Act::PushThrough { data, skip } => (Way::Write, skip, data.start().cast_mut(), data.len() as u64),
        Act::PullThrough { bytes, skip } => {
            packed.resize(bytes as usize, 0);
            (Way::Read, skip, packed.as_mut_ptr(), bytes)
        }
        _ => return Err(Refusal::OutOfBounds),
    };
    let begin = if planted(Bug::SkipForgotten) { 0 } else { skip };
    ni.follow((ni.rank, word), way, (begin, bytes), |landing| {
        let Spot::Here(there) = landing.at else { return Err(Refusal::UnknownArea) };
        // SAFETY: inside an area of this rank, which stays while the caller holds the guard; here are as many bytes in all.
        unsafe { landing.move_mapped(way, there, here) };
        here = here.wrapping_add(landing.block * landing.count);
        Ok(())
    })?;
    // SAFETY: until it is answered nobody touches what was packed.
    let answer = if way == Way::Read { unsafe { Data::shared(packed.as_ptr(), packed.len()) } } else { Data::EMPTY };
    Ok(([skip, 0, 0, 0, 0, 0], answer))
}

/// Writes what another rank has asked this one to send on, to memory of this rank, or to the heap of one that is near. The caller holds
/// the guard of own areas.
fn write_near(ni: &Base, Operation { at, act, .. }: &Operation<'_>) -> Result<(), Refusal> {
    // Areas of others are opened by whoever wants to write there, and may be revoked.
    if at.rank != ni.rank && at.area().is_some() {
        return Err(Refusal::UnknownArea);
    }
    let find = |at: &Target, bytes| match at.rank == ni.rank {
        true => ni.own_target(at, bytes),
        false => ni.common_bytes(at, bytes).ok_or(Refusal::OutOfBounds),
    };
    let target = find(at, act.span())?;
    let then = match act.beside() {
        Some((then, bytes)) => find(&at.beside(then), bytes)?,
        None => target,
    };
    let found = Found { target, then };
    let from = act.data().map_or(0, |data| data.start().addr());
    // What is copied must not be what is written.
    let overlaps = from.abs_diff(target.addr()) < act.span() as usize;
    if overlaps || !found.is_aligned_for(act) {
        return Err(Refusal::OutOfBounds);
    }
    // SAFETY: found for this operation, in memory of this host, which stays mapped, or in an area, which stays while the caller holds
    // the guard.
    unsafe { ni.perform(at.rank, act, found) };
    Ok(())
}

/// Writes the same to the heaps of several ranks of this host, if all of them are there.
fn push_to_several(ni: &Base, at: &Target, locals: Locals, act: &Act<'_>) -> Result<(), Refusal> {
    let is_push = matches!(
        act,
        Act::Push(_)
            | Act::PushThen { .. }
            | Act::PushAdd { .. }
            | Act::Word(_)
            | Act::PushBlocks { .. }
            | Act::PushMarked { .. }
    );
    if !is_push {
        return Err(Refusal::OutOfBounds);
    }
    let find = |rank: usize| {
        let target = ni.common_bytes(&Target::in_heap(rank, at.offset as usize), act.span())?;
        let then = match act.beside() {
            Some((then, bytes)) => ni.common_bytes(&Target::in_heap(rank, then as usize), bytes)?,
            None => target,
        };
        Some(Found { target, then }).filter(|found| found.is_aligned_for(act))
    };
    let rank_of = |local: usize| ni.routes.near().get(local).copied();
    // Looked at first, so that all of them get it or none.
    if locals.numbers().any(|local| rank_of(local).and_then(find).is_none()) {
        return Err(Refusal::OutOfBounds);
    }
    let last = locals.numbers().last();
    for local in locals.numbers() {
        if planted(Bug::LastOfSeveralForgotten) && last == Some(local) {
            continue;
        }
        if let Some((rank, found)) = rank_of(local).and_then(|rank| Some((rank, find(rank)?))) {
            // SAFETY: found for this operation, in memory of this host, which stays mapped.
            unsafe { ni.perform(rank, act, found) };
        }
    }
    Ok(())
}
