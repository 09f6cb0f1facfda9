//! What handlers do when something comes, and the program's own thread in its calls and while it waits for anything else: sending.

use super::inbox::Inbox;
use super::outgoing::Outgoing;
use super::wire::{self, Answer, Told};
use crate::error::Error;
use crate::exchange::Buffers;
use crate::ni::{Background, Context, LibraryHandler, Message, Port, background, refuse_in_handler};
use crate::sync::brief::{Brief, BriefGuard};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// What handlers and the program share.
pub(super) struct Shared {
    tables: Brief<Tables>,
    handler: OnceLock<LibraryHandler>,
    /// Counts what has come.
    news: AtomicU64,
}

pub(super) struct Tables {
    pub inbox: Inbox,
    /// What receivers have said.
    answers: Vec<(usize, Answer)>,
    /// What senders are to be told when there is room for it; until then nothing more of theirs is handled.
    owed: HashMap<usize, Answer>,
}

impl Shared {
    pub fn new(size: usize, buffers: Buffers) -> Arc<Shared> {
        let tables = Tables { inbox: Inbox::new(size, buffers), answers: Vec::new(), owed: HashMap::new() };
        Arc::new(Shared { tables: Brief::new(tables), handler: OnceLock::new(), news: AtomicU64::new(0) })
    }

    /// Whoever has them must not run handlers.
    pub fn tables(&self) -> BriefGuard<'_, Tables> {
        self.tables.lock()
    }

    pub fn news(&self) -> u64 {
        self.news.load(Ordering::Acquire)
    }

    /// Something has come. What no correct rank says is dropped.
    pub fn hear(&self, context: &mut Context<'_>, message: &Message<'_>) {
        let source = message.source;
        let Some(told) = wire::read(message.address, &message.arguments, message.payload) else { return };
        let Some(handler) = self.handler.get() else { return context.retry_later() };
        let mut tables = self.tables();
        match told {
            Told::Answer(answer) => tables.answers.push((source, answer)),
            Told::Packet(packet) => {
                // A packet that was handled before, and whose answer found no room.
                let owed = tables.owed.remove(&source);
                if let Some(answer) = owed.or_else(|| tables.inbox.take_packet(source, packet)) {
                    let (address, arguments) = answer.words();
                    if let Err(Error::Busy { .. }) = context.tell(source, *handler, address, arguments) {
                        tables.owed.insert(source, answer);
                        context.retry_later();
                    }
                }
            }
        }
        drop(tables);
        // Only handlers write this, one at a time.
        self.news.store(self.news.load(Ordering::Relaxed) + 1, Ordering::Release);
    }
}

/// What has gone over the network, for those who compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// Packets that this rank has sent, those that went again included.
    pub sent: u64,
    /// Packets that it has to send again, because one was refused.
    pub resent: u64,
    /// Packets that this rank has refused.
    pub refused: u64,
}

/// See above.
pub(super) struct Mover {
    pub port: Port,
    pub handler: LibraryHandler,
    pub shared: Arc<Shared>,
    seen: Cell<u64>,
    /// By receiver: those that something was sent to.
    outgoing: RefCell<BTreeMap<usize, Outgoing>>,
    /// Receivers that do not have everything.
    pending: Cell<usize>,
    /// What senders are to be told that handlers do not tell them.
    calls: RefCell<Vec<(usize, Answer)>>,
    traffic: Cell<Traffic>,
}

impl Mover {
    pub fn new(port: Port, handler: LibraryHandler, shared: Arc<Shared>) -> Mover {
        let _ = shared.handler.set(handler);
        Mover {
            port,
            handler,
            shared,
            seen: Cell::new(0),
            outgoing: RefCell::default(),
            pending: Cell::new(0),
            calls: RefCell::default(),
            traffic: Cell::default(),
        }
    }

    pub fn traffic(&self) -> Traffic {
        Traffic { refused: self.shared.tables().inbox.refusals, ..self.traffic.get() }
    }

    /// Takes a message over, if there is room for it here.
    pub fn add(&self, rank: usize, tag: u64, data: &[u8]) -> bool {
        // Further up it is at work.
        let Ok(mut outgoing) = self.outgoing.try_borrow_mut() else { return false };
        let to = outgoing.entry(rank).or_default();
        if !to.has_room(data.len()) {
            return false;
        }
        self.pending.set(self.pending.get() + usize::from(to.is_done()));
        to.add(tag, data);
        true
    }

    /// Whether a rank does not have everything.
    pub fn is_pending(&self, rank: usize) -> bool {
        self.outgoing.borrow().get(&rank).is_some_and(|to| !to.is_done())
    }

    /// A receiver that does not have everything.
    pub fn first_pending(&self) -> Option<usize> {
        self.outgoing.borrow().iter().find(|(_, to)| !to.is_done()).map(|(rank, _)| *rank)
    }

    /// Nothing is kept for a rank any more.
    pub fn give_up(&self, rank: usize) {
        if let Some(to) = self.outgoing.borrow_mut().get_mut(&rank) {
            to.give_up();
        }
    }

    /// Whether nobody is to be told anything.
    pub fn has_called(&self) -> bool {
        self.calls.borrow().is_empty()
    }

    /// Does what can be done now. It runs no handlers and waits for nothing.
    pub fn step(&self) {
        // Inside another call, and in a forked child, nothing is sent.
        if refuse_in_handler().is_err() || self.port.ni().is_forked() {
            return;
        }
        let (Ok(mut outgoing), Ok(mut calls)) = (self.outgoing.try_borrow_mut(), self.calls.try_borrow_mut()) else {
            return;
        };
        let news = self.shared.news();
        if news != self.seen.replace(news) {
            self.hear_answers(&mut outgoing);
        }
        self.shared.tables().inbox.take_calls(&mut calls);
        calls.retain(|(rank, answer)| !self.call(*rank, *answer));
        if self.pending.get() > 0 {
            outgoing.iter_mut().for_each(|(rank, to)| self.send_to(*rank, to));
            self.pending.set(outgoing.values().filter(|to| !to.is_done()).count());
        }
    }

    fn hear_answers(&self, outgoing: &mut BTreeMap<usize, Outgoing>) {
        let answers = std::mem::take(&mut self.shared.tables().answers);
        let mut traffic = self.traffic.get();
        for (rank, answer) in answers {
            traffic.resent += outgoing.get_mut(&rank).map_or(0, |to| to.hear(answer));
        }
        self.traffic.set(traffic);
        background::moved();
    }

    /// Tells a rank something; false while there is no room for that.
    fn call(&self, rank: usize, answer: Answer) -> bool {
        let (address, arguments) = answer.words();
        match self.port.try_post(rank, self.handler, address, arguments, &[]) {
            Ok(false) => false,
            // It may be this rank, which has something to hear now.
            Ok(true) => {
                background::moved();
                true
            }
            // It has ended.
            Err(_) => true,
        }
    }

    fn send_to(&self, rank: usize, to: &mut Outgoing) {
        let mut traffic = self.traffic.get();
        while let Some(packet) = to.next() {
            let (address, arguments, payload) = packet.words();
            match self.port.try_post(rank, self.handler, address, arguments, payload) {
                Ok(true) => {
                    to.sent();
                    traffic.sent += 1;
                    background::moved();
                }
                Ok(false) => break,
                // It has ended.
                Err(_) => to.give_up(),
            }
        }
        self.traffic.set(traffic);
    }
}

impl Background for Mover {
    fn advance(&self, _: bool) {
        self.step();
    }
}
