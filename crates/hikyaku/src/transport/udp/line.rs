//! One peer: the link to it, the keys of both directions, and what the link holds.

use super::batch::Batch;
use super::head::{HEAD_BYTES, Head, What, is_sealed};
use super::piece::{CacheLine, Copied, Lent, Piece, Span, lines};
use super::replay::Replay;
use super::seal::Seal;
use super::{Counters, SECRET_BYTES};
use crate::memory::copy::expect_write;
use crate::transport::core::{Body, Loss, Posted, Token};
use crate::transport::packet::{Encoded, PACKET_BYTES_MAX};
use crate::transport::reliable::serial::Serial;
use crate::transport::reliable::{Arrival, Body as Said, Link, Settings, Time};

/// Data of a frame that messages are copied into at most, however long frames may be: what waits takes memory.
const COPIED_BYTES_MAX: usize = 8 << 10;
/// Frames as short as this pass everywhere.
pub const FRAME_BYTES_SAFE: usize = 1232;
/// Frames that are taken before the peer is told in any case: some trains. It is told when there is nothing more to take, too.
const UNTOLD_MAX: usize = 128;
/// Frames under way that are much: a peer has told of some by then.
const FILLING_MIN: usize = UNTOLD_MAX;
/// Frames under way from which on short messages wait for company: acknowledgements will come.
const COMPANY_MIN: usize = 4;
/// Frames that are acknowledged and kept until the next was sent, at most.
const BEHIND_MAX: usize = 2;

/// One peer.
pub struct Line {
    pub link: Link<Piece>,
    pub rank: u32,
    /// The number of the way to it.
    pub way: u32,
    seal: Seal,
    /// The peer's life and what opens its frames, once one has come.
    opener: Option<(u64, Seal)>,
    replay: Replay,
    /// Of the next frame.
    number: u64,
    /// The peer answers when it has heard a frame of this number or a later one.
    asked_number: u64,
    /// Bytes of the longest frame that the path takes.
    frame_max: usize,
    lent: Vec<Option<Lent>>,
    lent_free: Vec<u32>,
    /// Memory for frames to copy into. What became free last is used first: it is in the caches, perhaps.
    spare: Vec<Box<[CacheLine]>>,
    /// Buffers for frames that come early.
    spare_early: Vec<Vec<u8>>,
    /// It may have something to send.
    pub is_dirty: bool,
    /// All that was not sent yet may wait for company.
    is_unhurried: bool,
    /// Somebody had more to send than there was room for, and waits.
    turned_away: bool,
    /// Why the peer is lost, if it is.
    pub loss: Option<Loss>,
    /// The code of the network when it did not take a frame.
    pub refused: Option<i32>,
}

/// What became of a frame that came.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// Nothing to hand out.
    Nothing,
    /// Its data come next; whether they are a part of a message, and whether others that came early come then.
    Data { part: bool, early: bool },
    /// The peer has left.
    Farewell,
}

/// Who this rank is.
#[derive(Clone, Copy)]
pub struct Myself {
    pub rank: u32,
    pub life: u64,
    pub secret: Option<[u8; SECRET_BYTES]>,
}

impl Line {
    pub fn new(me: &Myself, rank: u32, way: u32, frame_max: usize, settings: Settings) -> Line {
        Line {
            link: Link::new(settings, me.life),
            rank,
            way,
            seal: Seal::new(me.secret.as_ref(), me.rank, rank, me.life),
            opener: None,
            replay: Replay::new(),
            number: 0,
            asked_number: 0,
            frame_max,
            lent: Vec::new(),
            lent_free: Vec::new(),
            spare: Vec::new(),
            spare_early: Vec::new(),
            is_dirty: false,
            is_unhurried: true,
            turned_away: false,
            loss: None,
            refused: None,
        }
    }

    /// Data that fit a frame.
    fn data_max(&self) -> usize {
        self.frame_max - HEAD_BYTES
    }

    /// The path takes no longer frames than this.
    pub fn set_frame_max(&mut self, bytes: usize) {
        self.frame_max = bytes.max(HEAD_BYTES + PACKET_BYTES_MAX + 8);
        self.link.path().set_frame_bytes(self.frame_max as u64);
    }

    pub fn frame_max(&self) -> usize {
        self.frame_max
    }

    /// Takes a message whose body is lent.
    pub fn lend(&mut self, packet: Encoded, body: Body, token: Token) -> Posted {
        let lent = Lent::new(packet, body, token);
        let (bytes, each) = (lent.len(), self.data_max());
        if self.link.room() < bytes.div_ceil(each) {
            self.turned_away = true;
            return Posted::Busy;
        }
        let message = self.lent_free.pop().unwrap_or_else(|| {
            self.lent.push(None);
            self.lent.len() as u32 - 1
        });
        self.lent[message as usize] = Some(lent);
        for offset in (0..bytes).step_by(each) {
            let here = each.min(bytes - offset);
            self.push(Piece::Lent(Span { message, offset: offset as u32, bytes: here as u32 }), here);
        }
        Posted::Posted
    }

    /// Takes a message and copies its body.
    ///
    /// # Safety
    /// The body can be read.
    #[inline]
    pub unsafe fn copy(&mut self, packet: &[u8], body: &Body) -> Posted {
        let bytes = packet.len() + body.len();
        let each = self.data_max().min(COPIED_BYTES_MAX);
        let part = bytes > each;
        if let Some(Piece::Copied(last)) = self.link.newest_unsent()
            && !last.part
            && last.room() >= bytes
        {
            last.add(packet);
            // SAFETY: the caller's promise.
            unsafe { last.add_body(body, 0, body.len()) };
            let bytes = last.bytes as usize - HEAD_BYTES;
            self.link.grown(bytes);
            return Posted::Done;
        }
        // A division takes as long as the rest of this.
        if self.link.room() < if part { bytes.div_ceil(each) } else { 1 } {
            self.turned_away = true;
            return Posted::Busy;
        }
        let mut offset = 0;
        let mut before = packet.len();
        while offset < body.len() || before > 0 {
            let mut copied = self.frame(HEAD_BYTES + each, part);
            copied.add(&packet[..before]);
            let here = (each - before).min(body.len() - offset);
            // SAFETY: the caller's promise.
            unsafe { copied.add_body(body, offset, here) };
            (offset, before) = (offset + here, 0);
            let data = copied.bytes as usize - HEAD_BYTES;
            self.push(Piece::Copied(copied), data);
        }
        Posted::Done
    }

    /// A message is about to be taken, which may wait or not.
    pub fn hurry(&mut self, is_patient: bool) {
        self.is_unhurried = is_patient && (self.is_unhurried || self.link.newest_unsent().is_none());
    }

    /// Whether nothing is lost by sending later: there are only messages that may wait, and acknowledgements of few frames. In a
    /// conversation they ride on what this rank says next.
    #[inline]
    pub fn can_wait(&self) -> bool {
        (self.is_unhurried || !self.link.has_unsent()) && !self.link.is_pressed(UNTOLD_MAX)
    }

    /// Whether much is under way, and nobody is to be told when it is acknowledged.
    pub fn is_filling(&self) -> bool {
        self.link.under_way() >= FILLING_MIN && !self.turned_away && self.lent.len() == self.lent_free.len()
    }

    /// Whether there is room again for whoever found none; told once.
    pub fn has_room_again(&mut self) -> bool {
        let again = self.turned_away && self.link.room() > 0;
        self.turned_away &= !again;
        again
    }

    /// A frame of so many bytes to copy into, of which others follow if it is a part.
    #[inline]
    fn frame(&mut self, bytes: usize, part: bool) -> Copied {
        let mut memory = self.spare.pop();
        // Others are from before the path was found to take less.
        while memory.as_ref().is_some_and(|memory| memory.len() != Copied::lines(bytes)) {
            memory = self.spare.pop();
        }
        if part && let Some(next) = self.spare.last_mut() {
            expect_write(next.as_mut_ptr().cast(), size_of_val(&**next));
        }
        Copied::new(memory.unwrap_or_else(|| lines(size_of::<CacheLine>() * Copied::lines(bytes))), bytes, part)
    }

    #[inline]
    fn push(&mut self, piece: Piece, bytes: usize) {
        let pushed = self.link.push(piece, bytes);
        debug_assert!(pushed.is_ok(), "there is room");
    }

    /// Whether what was posted should wait for more: enough is under way to bring an acknowledgement, and the last frame is not
    /// full.
    pub fn is_patient(&mut self) -> bool {
        self.link.under_way() >= COMPANY_MIN
            && matches!(self.link.newest_unsent(), Some(Piece::Copied(last)) if !last.part && last.room() > PACKET_BYTES_MAX)
    }

    /// Puts the next frame into the batch; false if there is none. [`Line::went`] follows when it was sent.
    #[inline]
    pub fn stage(&mut self, me: &Myself, batch: &mut Batch) -> bool {
        let Some((acknowledged, said, _)) = self.link.next() else { return false };
        let mut head = Head {
            from: me.rank,
            life: me.life,
            number: self.number,
            heard: self.replay.highest().map_or(0, |highest| highest.wrapping_add(1)) as u32,
            acknowledged,
            what: What::Farewell,
        };
        self.number += 1;
        let link = |body, part| What::Link { body, part };
        let nowhere = (std::ptr::null(), 0);
        let parts = match said {
            Said::Data { serial, answer, message: Piece::Copied(copied) } => {
                head.what = link(Said::Data { serial, answer, message: () }, copied.part);
                let frame = copied.frame();
                head.write(frame, &mut self.seal);
                [(frame.as_ptr(), frame.len()), nowhere, nowhere]
            }
            Said::Data { serial, answer, message: Piece::Lent(span) } => {
                let Some(lent) = &self.lent[span.message as usize] else { return false };
                let (offset, bytes) = (span.offset as usize, span.bytes as usize);
                head.what = link(Said::Data { serial, answer, message: () }, bytes < lent.len());
                if self.seal.is_open() {
                    let (packet, [one, other]) = lent.part(offset, bytes);
                    let frame = batch.stage(HEAD_BYTES + packet.len());
                    head.write_open(frame, bytes);
                    frame[HEAD_BYTES..].copy_from_slice(packet);
                    [(frame.as_ptr(), frame.len()), one, other]
                } else {
                    // Others may write to the body meanwhile: what is sealed is a copy.
                    let frame = batch.stage(HEAD_BYTES + bytes);
                    lent.copy(offset, &mut frame[HEAD_BYTES..]);
                    head.write(frame, &mut self.seal);
                    [(frame.as_ptr(), frame.len()), nowhere, nowhere]
                }
            }
            Said::Data { message: Piece::Early { .. }, .. } => return false,
            Said::Acknowledgement { answer } => {
                head.what = link(Said::Acknowledgement { answer }, false);
                [head_alone(&head, &mut self.seal, batch), nowhere, nowhere]
            }
            Said::Request { first, count } => {
                head.what = link(Said::Request { first, count }, false);
                [head_alone(&head, &mut self.seal, batch), nowhere, nowhere]
            }
        };
        let bytes: usize = parts.iter().map(|(_, bytes)| bytes).sum();
        batch.add(self.rank, self.way, bytes > self.frame_max, &parts);
        true
    }

    /// Whether nothing is left to be said, after something was that acknowledges all that came.
    pub fn has_said_all(&self) -> bool {
        !self.link.has_unsent() && !self.link.is_pressed(1)
    }

    /// Puts a farewell into the batch.
    pub fn stage_farewell(&mut self, me: &Myself, batch: &mut Batch) {
        let head = Head {
            from: me.rank,
            life: me.life,
            number: self.number,
            heard: 0,
            acknowledged: Serial(0),
            what: What::Farewell,
        };
        self.number += 1;
        let frame = head_alone(&head, &mut self.seal, batch);
        batch.add(self.rank, self.way, false, &[frame]);
    }

    /// Whether a frame is of this peer and new; it is counted if not.
    #[inline]
    pub fn admits(&mut self, me: &Myself, head: &Head, frame: &[u8], counters: &mut Counters) -> bool {
        match &mut self.opener {
            Some((life, seal)) if *life == head.life => {
                if !is_sealed(frame, head.number, seal) {
                    counters.forged += 1;
                    return false;
                }
            }
            // Another life of the peer: there is only one in a job.
            Some(_) => {
                counters.strays += 1;
                return false;
            }
            None => {
                let mut seal = Seal::new(me.secret.as_ref(), head.from, me.rank, head.life);
                if !is_sealed(frame, head.number, &mut seal) {
                    counters.forged += 1;
                    return false;
                }
                self.opener = Some((head.life, seal));
            }
        }
        let is_new = self.replay.is_new(head.number);
        counters.replayed += u64::from(!is_new);
        is_new
    }

    /// Takes a frame that was admitted. Tokens of bodies that are free now go to `completed`.
    #[inline]
    pub fn hear(&mut self, now: Time, head: &Head, frame: &[u8], completed: &mut dyn FnMut(Token)) -> Heard {
        let What::Link { body, part } = head.what else { return Heard::Farewell };
        let body = match body {
            Said::Data { serial, answer, .. } => Said::Data { serial, answer, message: &frame[HEAD_BYTES..] },
            Said::Acknowledgement { answer } => Said::Acknowledgement { answer },
            Said::Request { first, count } => Said::Request { first, count },
        };
        // How many frames the peer has heard of, from their lower bits.
        let unheard = (self.number as u32).wrapping_sub(head.heard);
        let answers = self.number.checked_sub(unheard.into()).is_some_and(|heard| heard > self.asked_number);
        if answers {
            self.asked_number = self.number;
        }
        let Line { link, spare_early, .. } = self;
        let keep = |data: &[u8], is_next: bool| {
            (!is_next).then(|| {
                let mut frame = spare_early.pop().unwrap_or_default();
                frame.clear();
                frame.extend_from_slice(data);
                Piece::Early { frame, part }
            })
        };
        let heard = match link.hear(now, head.acknowledged, body, answers, keep) {
            Some(Arrival::Passed) => Heard::Data { part, early: link.has_message() },
            _ => Heard::Nothing,
        };
        if heard == Heard::Nothing || !self.may_settle_later() {
            self.settle(now, completed);
        }
        heard
    }

    /// Whether nobody notices when what was acknowledged is let go of only after the next frame: in a conversation the sink waits
    /// for the data that have brought the acknowledgement, and then the peer for that frame.
    fn may_settle_later(&self) -> bool {
        self.link.behind() <= BEHIND_MAX && !self.turned_away && self.lent.len() == self.lent_free.len()
    }

    /// Lets go of what was acknowledged. Tokens of bodies that are free now go to `completed`.
    #[inline]
    pub fn settle(&mut self, now: Time, completed: &mut dyn FnMut(Token)) {
        let Line { link, lent, lent_free, spare, .. } = self;
        link.settle(now, &mut |piece| release(piece, lent, lent_free, spare, completed));
    }

    /// Its frames of a batch were sent: now there is time for what was put off.
    pub fn went(&mut self, now: Time) {
        self.link.went(now);
        // Nothing was lent of what may be let go of so late.
        self.settle(now, &mut |_| debug_assert!(false, "a loan that is over is told of at once"));
    }

    /// The next data that came early and whose turn it is.
    pub fn next_early(&mut self) -> Option<(Vec<u8>, bool)> {
        match self.link.next_message()? {
            Piece::Early { frame, part } => Some((frame, part)),
            Piece::Copied(_) | Piece::Lent(_) => None,
        }
    }

    /// Takes the buffer of such data back.
    pub fn give_back(&mut self, frame: Vec<u8>) {
        self.spare_early.push(frame);
    }

    /// The peer is lost: everything is let go.
    pub fn give_up(&mut self, why: Loss, completed: &mut dyn FnMut(Token)) {
        self.loss = Some(why);
        let Line { link, lent, lent_free, spare, .. } = self;
        link.give_up(&mut |piece| release(piece, lent, lent_free, spare, completed));
        (self.spare, self.spare_early) = (Vec::new(), Vec::new());
    }

    /// Nothing has come for a while, and nothing is under way: what was kept for the next messages is let go. Whether it is so.
    pub fn rest(&mut self, now: Time, after: Time) -> bool {
        let is_idle = self.link.is_settled() && now.saturating_sub(self.link.heard_at()) >= after;
        if is_idle {
            (self.spare, self.spare_early) = (Vec::new(), Vec::new());
        }
        is_idle
    }

    /// A body is copied so that its owner has it back; false if no such token is under way.
    pub fn recall(&mut self, token: Token) -> bool {
        let Some(lent) = self.lent.iter_mut().flatten().find(|lent| lent.token == Some(token)) else { return false };
        lent.recall();
        true
    }
}

fn head_alone(head: &Head, seal: &mut Seal, batch: &mut Batch) -> (*const u8, usize) {
    let frame = batch.stage(HEAD_BYTES);
    head.write(frame, seal);
    (frame.as_ptr(), HEAD_BYTES)
}

/// Lets go of a piece that was acknowledged.
#[inline]
fn release(
    piece: Piece,
    lent: &mut [Option<Lent>],
    lent_free: &mut Vec<u32>,
    spare: &mut Vec<Box<[CacheLine]>>,
    completed: &mut dyn FnMut(Token),
) {
    match piece {
        Piece::Copied(copied) => spare.push(copied.memory),
        Piece::Lent(span) => {
            let place = &mut lent[span.message as usize];
            // The last piece is acknowledged last.
            if place.as_ref().is_some_and(|lent| (span.offset + span.bytes) as usize == lent.len()) {
                lent_free.push(span.message);
                place.take().and_then(|lent| lent.token).into_iter().for_each(completed);
            }
        }
        Piece::Early { .. } => (),
    }
}
