//! A rank's network interface: what it has ([`Base`]), and what it receives with.

use super::base::{Base, Settings};
use super::receive::engine::Engine;
use super::receive::intake::Intake;
use super::receive::unhandled::Unhandled;
use super::state::failure::Hold;
use crate::error::Result;
use crate::sync::bell::ANY;
use crate::sync::brief::{Brief, BriefGuard};
use crate::transport::Interface;
use crate::transport::core::{Loss, Token};
use crate::transport::remote_memory::End;
use crate::transport::shm::layout::JobMemory;
use crate::transport::shm::ring::{self, Packet};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// One rank's network interface, as the rank itself holds it.
pub(crate) struct Ni {
    base: Base,
    /// Messages, and the handlers that run for them. Whoever finds it taken does without, mostly; the few who wait for it may wait for handlers.
    engine: Brief<Engine>,
    /// What has come from far ranks.
    intake: Intake,
}

impl Deref for Ni {
    type Target = Base;

    #[inline(always)]
    fn deref(&self) -> &Base {
        &self.base
    }
}

impl std::fmt::Debug for Ni {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ni").field("rank", &self.rank).finish_non_exhaustive()
    }
}

impl Ni {
    pub fn new(memory: Arc<JobMemory>, settings: Settings) -> Result<Arc<Ni>> {
        let engine = Brief::new(Engine::new(&memory.layout));
        Ok(Arc::new(Ni { base: Base::new(memory, settings)?, engine, intake: Intake::default() }))
    }

    /// Runs the handlers of messages that have arrived. `None` if another thread is doing so right now, else
    /// whether there was anything to do.
    #[inline]
    pub fn progress(&self) -> Option<bool> {
        let arrived = |source, position| ring::arrived(self.memory.ring(self.local, source), position);
        let attached = |word| self.memory.attached(self.local, word).load(Ordering::Relaxed);
        let has_more = || self.intake.has_put_off() || self.intake.has_unsent(self) || self.has_lost_relays();
        let far = || self.far.as_ref().is_some_and(|far| far.has_arrived() || has_more());
        let is_busy = self.lookout.anything(arrived, attached);
        if is_busy || far() { self.enter_engine(is_busy) } else { Some(false) }
    }

    /// Looks for what far ranks have sent, and runs the engine: if there is something for it, or it is known to be `busy`.
    fn enter_engine(&self, is_busy: bool) -> Option<bool> {
        if self.size() == 0 {
            // The messages are the parent's, not a forked child's.
            return Some(false);
        }
        if self.far.is_some() {
            self.note_poll();
        }
        let received = self.receive() == Some(true);
        if !is_busy && !self.intake.has_put_off() {
            // What concerns memory alone is done, and mostly there is nothing else.
            if received {
                self.notify(self.rank, ANY);
            }
            return Some(received);
        }
        let mut engine = self.engine.try_lock()?;
        let (worked, panic) = engine.run(self, &self.intake);
        drop(engine);
        let worked = worked || received;
        if worked {
            // Other threads of this rank may sleep until one of these handlers has run.
            self.notify(self.rank, ANY);
        }
        if let Some(panic) = panic {
            self.failure.go_on(panic);
            // Threads of this rank that sleep have something to raise.
            self.mine().bell.ring_all();
        }
        Some(worked)
    }

    /// Does what far ranks ask for, as far as no handler of the program must run for it; whether there was anything to do.
    /// `None` if another thread is at it.
    pub fn serve_far(&self) -> Option<bool> {
        let worked = self.receive();
        if worked == Some(true) {
            self.notify(self.rank, ANY);
        }
        worked
    }

    fn receive(&self) -> Option<bool> {
        self.far.as_ref().and_then(|far| self.intake.receive(self, &**far))
    }

    /// Tells everybody which of their operations are done here, before this rank leaves: nobody can ask then.
    pub fn answer_unasked(&self) {
        let handled = self.engine.try_lock().map(|mut engine| engine.answer_unasked(self));
        if self.far.is_some() {
            self.intake.answer_unasked(self, handled.unwrap_or_default());
        }
    }

    /// Messages for which no handler of this rank has run.
    pub fn unhandled(&self) -> Unhandled {
        let mut unhandled = Unhandled::default();
        if let Some(mut engine) = self.engine.try_lock() {
            engine.count_unhandled(self, &mut unhandled);
        }
        self.intake.count_unhandled(&mut unhandled);
        unhandled
    }

    /// Whether something was sent on for others, and ranks have ended: perhaps those that it was sent to.
    fn has_lost_relays(&self) -> bool {
        !self.relays.is_empty() && self.departures() != 0
    }

    /// Whether packets of far ranks wait for something.
    fn has_put_off(&self) -> bool {
        self.lookout.has_put_off() || self.intake.has_put_off()
    }

    /// The engine, waiting for whoever runs handlers right now. Never called from a handler.
    pub fn engine(&self) -> BriefGuard<'_, Engine> {
        self.engine.lock()
    }
}

impl Interface for Ni {
    fn take(&self, from: usize, packet: &Packet, payload: &[u8]) -> bool {
        self.intake.take(self, from, packet, payload);
        if packet.is_message() {
            let _hold = Hold::as_interface();
            Ni::progress(self);
        }
        self.has_put_off()
    }

    fn lose(&self, rank: usize, tried: &str) {
        self.base.lose(rank, Loss::Unreachable(tried.to_owned()));
        self.go_on();
    }

    fn progress(&self) -> bool {
        let _hold = Hold::as_interface();
        Ni::progress(self);
        self.has_put_off()
    }

    fn go_on(&self) {
        if self.intake.has_unsent(self) || self.has_lost_relays() {
            self.intake.go_on(self);
        }
    }

    fn complete(&self, token: Token, end: End) {
        self.base.complete(token, end);
    }

    fn landed(&self) {
        self.notify(self.rank, ANY);
    }
}
