//! The line: taking a ticket, and handing on to whoever has the next.

use super::queue::{Desk, Holder, Mark, Turn, Words};
use super::search::Found;
use super::turn::{RawMutex, Stand};
use crate::error::{Error, Result};
use crate::job::Job;
use crate::ni::Hold;
use crate::planted::{Bug, planted};

impl RawMutex {
    /// Takes a ticket, or comes back to the one it has. Gives the turn too, if it is that ticket's.
    pub(super) fn line_up(&self, job: &Job) -> Result<(u64, Option<Turn>)> {
        // No panic of a handler comes between: a ticket that nobody knows of would never be handed on.
        let (_hold, desk) = (Hold::enter(), Desk::of(self, job));
        let (away, waits) = (Holder::GaveUp(job.rank()), Holder::Waits(job.rank()));
        if let Stand::Drawn(ticket) = self.stand.get() {
            return self.name_drawn(&desk, ticket);
        }
        if let Stand::Away(ticket) = self.stand.get() {
            desk.mark(Mark::Has(ticket))?;
            if desk.rename(ticket, away, waits)? || desk.holder(ticket)? == waits {
                return Ok((ticket, desk.turn_of(ticket)?));
            }
            // It was passed over.
            self.stand.set(Stand::Out);
        }
        match (self.draw(&desk)?, self.stand.get()) {
            (Some(turn), _) => Ok((turn.ticket(), Some(turn))),
            (None, Stand::Drawn(ticket)) => self.name_drawn(&desk, ticket),
            (None, _) => unreachable!("a ticket was drawn"),
        }
    }

    /// Takes a ticket, and if it is its turn, names it; gives the turn then.
    #[inline(always)]
    pub(super) fn draw(&self, desk: &Desk<impl Words>) -> Result<Option<Turn>> {
        desk.mark(Mark::Takes)?;
        let ticket = desk.draw()?;
        let lost = |error| self.lose(ticket, error);
        let Some(turn) = desk.turn_of(ticket).map_err(lost)? else {
            self.stand.set(Stand::Drawn(ticket));
            return Ok(None);
        };
        desk.name_owner(ticket).map_err(lost)?;
        desk.mark(Mark::Has(ticket)).map_err(lost)?;
        Ok(Some(turn))
    }

    /// The manager cannot be reached any more, for a ticket that this rank has just drawn.
    fn lose(&self, ticket: u64, error: Error) -> Error {
        self.stand.set(Stand::Away(ticket));
        error
    }

    /// Names a ticket that has to wait; gives the turn if it has come meanwhile.
    fn name_drawn(&self, desk: &Desk<impl Words>, ticket: u64) -> Result<(u64, Option<Turn>)> {
        self.stand.set(Stand::Away(ticket));
        desk.name_waiting(ticket)?;
        desk.mark(Mark::Has(ticket))?;
        Ok((ticket, desk.turn_of(ticket)?))
    }

    pub(super) fn draw_if_free(&self, job: &Job) -> Result<Option<Turn>> {
        let (_hold, desk) = (Hold::enter(), Desk::of(self, job));
        let drawn = match Desk::at_hand(self, job) {
            Some(desk) => self.draw_next(&desk)?,
            None => self.draw_next(&desk)?,
        };
        if drawn.is_some() {
            return Ok(drawn);
        }
        // It may be that of a rank that is gone.
        let is_patrol = self.is_patrol_due(job);
        let may_be_free = is_patrol || job.ni.departures() != 0;
        match may_be_free && self.look(job, None, is_patrol)? == Found::Free {
            true => self.draw_next(&desk),
            false => Ok(None),
        }
    }

    /// Takes the next ticket, if it is that one's turn.
    #[inline(always)]
    fn draw_next(&self, desk: &Desk<impl Words>) -> Result<Option<Turn>> {
        desk.mark(Mark::Takes)?;
        let turn = desk.turn()?;
        let ticket = turn.ticket();
        if !desk.draw_if_next(ticket)? {
            desk.mark(Mark::Nothing)?;
            return Ok(None);
        }
        let lost = |error| self.lose(ticket, error);
        desk.name_owner(ticket).map_err(lost)?;
        desk.mark(Mark::Has(ticket)).map_err(lost)?;
        Ok(Some(turn))
    }

    /// Makes it the next one's turn, and gives who that is; none if it was made another's before.
    #[inline(always)]
    pub(super) fn pass(&self, desk: &Desk<impl Words>, turn: Turn, next: Turn) -> Result<Option<Holder>> {
        if desk.move_turn(turn, next)? { desk.holder(next.ticket()).map(Some) } else { Ok(None) }
    }

    /// Tells whoever has the ticket whose turn it is now, and passes over those that were given up.
    pub(super) fn hand_on(&self, job: &Job, turn: Turn) -> Result<()> {
        self.hand_to(job, turn, Desk::of(self, job).holder(turn.ticket())?)
    }

    /// The same, of a ticket whose slot says this.
    pub(super) fn hand_to(&self, job: &Job, mut turn: Turn, mut holder: Holder) -> Result<()> {
        let desk = Desk::of(self, job);
        for _ in 0..=self.size {
            let ticket = turn.ticket();
            let next = match holder {
                Holder::Unnamed => return Ok(()),
                Holder::Waits(rank) if rank == job.rank() => return Ok(()),
                Holder::Waits(rank) => {
                    // One that is gone is found by those who wait, and one that cannot be told finds out by itself.
                    if job.ni.departures() == 0 || job.ni.end_of(rank).is_none() {
                        let _ = self.tell(job, rank, turn);
                    }
                    return Ok(());
                }
                Holder::GaveUp(_) if planted(Bug::TicketNotPassed) => return Ok(()),
                Holder::GaveUp(rank) => match desk.rename(ticket, Holder::GaveUp(rank), Holder::Passed)? {
                    true => turn.next(),
                    // It has come back.
                    false => turn,
                },
                Holder::Passed => turn.next(),
            };
            if next != turn && !desk.move_turn(turn, next)? {
                // Somebody else does the rest.
                return Ok(());
            }
            turn = next;
            holder = desk.holder(turn.ticket())?;
        }
        Ok(())
    }
}
