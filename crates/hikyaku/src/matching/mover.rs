//! What the program's own thread does for matched messages, in its calls and while it waits for anything else: sending, and moving long
//! messages.

use super::buffer::Room;
use super::incoming::Incoming;
use super::keys::Pattern;
use super::lane::{Frame, LINES, Reader};
use super::outgoing::Outgoing;
use super::tables::{ReceiveId, Tables, Tasks};
use super::wire::{self, Told};
use crate::error::Result;
use crate::message::Carrier;
use crate::ni::{Background, LibraryHandler, Message, Port, background, refuse_in_handler};
use crate::sync::brief::{Brief, BriefGuard};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What handlers and the program share.
pub(super) struct Shared {
    tables: Brief<Tables>,
    /// Counts what has come.
    news: AtomicU64,
    /// Counts what has come that the program's thread must do something about.
    tasks: AtomicU64,
}

impl Shared {
    pub fn new(tables: Tables) -> Arc<Shared> {
        Arc::new(Shared { tables: Brief::new(tables), news: AtomicU64::new(0), tasks: AtomicU64::new(0) })
    }

    /// Whoever has them must not run handlers.
    #[inline]
    pub fn tables(&self) -> BriefGuard<'_, Tables> {
        self.tables.lock()
    }

    #[inline(always)]
    pub fn news(&self) -> u64 {
        self.news.load(Ordering::Acquire)
    }

    /// Something has come. What no correct rank says is dropped.
    #[inline]
    pub fn hear(&self, message: &Message<'_>) {
        let source = message.source;
        let Some(told) = wire::read(message.address, &message.arguments, message.payload) else { return };
        let mut tables = self.tables();
        match told {
            Told::Message { key, data, after } => tables.hear_message(source, key, data, after),
            Told::Offer { key, offer, after } => tables.hear_offer(source, key, offer, after),
            Told::Lane => tables.hear_lane(source),
            Told::Call { which, slot } => tables.call(source, which, slot),
            Told::Credit(bytes) => tables.credit(source, bytes),
        }
        // Only handlers write these, one at a time.
        let count = |of: &AtomicU64| of.store(of.load(Ordering::Relaxed) + 1, Ordering::Release);
        if tables.has_tasks() {
            count(&self.tasks);
        }
        count(&self.news);
    }
}

/// See above.
pub(super) struct Mover {
    pub port: Port,
    pub handler: LibraryHandler,
    pub shared: Arc<Shared>,
    pub carrier: Carrier,
    /// The tasks that were taken; `None` if there are others.
    seen: Cell<Option<u64>>,
    /// Counts what has ended by what this does.
    ended: Cell<u64>,
    /// Its messages are being freed: nothing moves any more.
    is_halted: Cell<bool>,
    /// What there is to do.
    tasks: RefCell<Tasks>,
    /// Where the lanes of all senders begin in the heap of every rank.
    pub(super) lanes_start: usize,
    /// Those of ranks that have begun to write.
    lanes: RefCell<Vec<Reader>>,
    pub(super) outgoing: RefCell<Outgoing>,
    pub(super) incoming: RefCell<Incoming>,
}

/// When something may have changed for an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp(u64, u64);

impl Mover {
    pub fn new(
        port: Port,
        handler: LibraryHandler,
        shared: Arc<Shared>,
        carrier: Carrier,
        lanes_start: usize,
        first: u64,
    ) -> Mover {
        let size = port.size();
        Mover {
            port,
            handler,
            shared,
            carrier,
            seen: Cell::new(None),
            ended: Cell::new(0),
            is_halted: Cell::new(false),
            tasks: RefCell::default(),
            lanes_start,
            lanes: RefCell::default(),
            outgoing: RefCell::new(Outgoing::new(size, first)),
            incoming: RefCell::new(Incoming::new()),
        }
    }

    #[inline(always)]
    pub fn stamp(&self) -> Stamp {
        Stamp(self.shared.news(), self.ended.get())
    }

    pub(super) fn note_ended(&self) {
        self.ended.set(self.ended.get() + 1);
        background::moved();
    }

    /// Begins a receive, and says whether it has ended. If its message is there and long, the next step moves it.
    #[inline]
    pub fn post(&self, pattern: Pattern, room: Room) -> (ReceiveId, bool) {
        let mut tables = self.shared.tables();
        let posted = tables.post(pattern, room);
        self.note_matched(&tables);
        posted
    }

    /// Receives may have been matched without news.
    #[inline(always)]
    pub(super) fn note_matched(&self, tables: &Tables) {
        if tables.has_tasks() {
            self.seen.set(None);
        }
    }

    /// From now on it does nothing: the slots are stopped next, and are not to be asked any more.
    pub fn halt(&self) {
        self.is_halted.set(true);
        self.lanes.borrow_mut().clear();
    }

    /// Does what can be done now. It runs no handlers and waits for nothing.
    #[inline]
    pub fn step(&self) {
        let tasks = self.shared.tasks.load(Ordering::Acquire);
        if Some(tasks) != self.seen.get() {
            self.open_lanes();
        }
        // First: it may find something to do.
        self.read_lanes();
        let is_new = Some(tasks) != self.seen.get();
        if is_new || !self.is_idle() {
            self.work(is_new.then_some(tasks));
        }
    }

    /// From now on reads the lanes to which ranks have begun to write. Also where nothing else can be done: what they sent before they
    /// left is there.
    #[inline(never)]
    fn open_lanes(&self) {
        let ni = self.port.ni();
        let Ok(mut lanes) = self.lanes.try_borrow_mut() else { return };
        if ni.is_forked() || self.is_halted.get() {
            return;
        }
        for rank in self.shared.tables().take_begun() {
            // No correct rank says it twice, or from another host.
            if ni.is_near(rank) && lanes.iter().all(|lane| lane.writer != rank) {
                lanes.push(Reader::new(self.lanes_start, rank));
            }
        }
    }

    /// Takes the short messages that have come.
    #[inline]
    fn read_lanes(&self) {
        // Further up they are being read.
        let Ok(mut lanes) = self.lanes.try_borrow_mut() else { return };
        for lane in lanes.iter_mut() {
            if let Some(frame) = lane.next(self.port.ni()) {
                self.read_lane(lane, frame);
            }
        }
    }

    /// From its next frame on.
    #[inline]
    fn read_lane(&self, lane: &mut Reader, frame: Frame) {
        let ni = self.port.ni();
        // To a forked child it does not belong.
        if ni.is_forked() {
            return;
        }
        let mut tables = self.shared.tables();
        let (before, mut next) = (lane.read(), Some(frame));
        while let Some(frame) = next
            && tables.has_told(lane.writer, frame.told)
        {
            lane.show(ni, &frame, |data| tables.take_frame(lane.writer, frame.key, data, frame.lines()));
            lane.advance(ni, frame.lines());
            // No more than a lane holds: others may go on writing.
            next = lane.next(ni).filter(|_| lane.read() - before < LINES);
        }
        if lane.read() != before {
            self.note_matched(&tables);
            self.note_ended();
        }
    }

    fn is_idle(&self) -> bool {
        // What is borrowed is at work.
        self.outgoing.try_borrow().is_ok_and(|outgoing| outgoing.is_idle())
            && self.incoming.try_borrow().is_ok_and(|incoming| incoming.is_idle())
            && self.tasks.try_borrow().is_ok_and(|tasks| tasks.is_empty())
    }

    #[inline(never)]
    fn work(&self, new: Option<u64>) {
        // Inside another call nothing is begun that has to be waited for, and to a forked child it does not belong.
        if refuse_in_handler().is_err() || self.port.ni().is_forked() || self.is_halted.get() {
            return;
        }
        let Ok(mut tasks) = self.tasks.try_borrow_mut() else { return };
        if self.outgoing.try_borrow_mut().is_err() || self.incoming.try_borrow_mut().is_err() {
            // Further up it is at work.
            return;
        }
        if let Some(new) = new {
            // Before they are taken: what comes meanwhile is new again.
            self.seen.set(Some(new));
            self.shared.tables().take_tasks(&mut tasks);
        }
        let Tasks { matched, called, credit, due } = &mut *tasks;
        credit.drain(..).for_each(|(rank, bytes)| self.outgoing.borrow_mut().take_credit(rank, bytes));
        self.move_outgoing();
        called.retain(|(rank, which, slot)| !self.answer_call(*rank, *which, *slot));
        self.move_incoming(matched);
        due.retain(|rank| !self.pay(*rank));
    }

    /// Tells a rank for how much more there is room; false while there is no room for that.
    fn pay(&self, rank: usize) -> bool {
        let owed = self.shared.tables().owed(rank);
        match self.tell(rank, owed as u64, wire::credit()) {
            Ok(false) => false,
            Ok(true) => {
                self.shared.tables().pay(rank, owed);
                true
            }
            // It sends nothing any more.
            Err(_) => true,
        }
    }

    /// Tells a rank something; false while there is no room for it.
    pub(super) fn tell(&self, rank: usize, address: u64, arguments: crate::ni::Arguments) -> Result<bool> {
        self.port.try_post(rank, self.handler, address, arguments, &[])
    }
}

impl Background for Mover {
    fn advance(&self, _: bool) {
        self.step();
    }
}
