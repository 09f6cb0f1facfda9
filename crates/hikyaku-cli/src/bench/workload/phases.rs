//! Where the time of an 8-byte message goes: the phases of a send and of a receive.
//!
//! The calls are timed from outside, one by one, in situations that differ by one phase: nothing is added to them. Ranks
//! are processes of one machine, which has one clock.
//!
//! | phase | how it is found |
//! |---|---|
//! | send: start | the call, when the last answer has brought the header: that the slot is free |
//! | send: header in | what the call takes longer when it must fetch the header from where the receiver wrote it |
//! | send: data out | from the end of the call to the end of the receive that waits for it |
//! | receive: start | the call, when this core has written the message itself |
//! | receive: data in | what the call takes longer when it must fetch a message that has come before |
//! | receive: header out | from the end of the call to the end of a send that waits until its message is taken |
//!
//! A short message does not wait for its receive, so the header is that of the next one, and not on the way of this one.

use super::Round;
use super::message::Talk;
use crate::bench::plan::{Kind, median};
use hikyaku::Result;
use hikyaku::message::Mode;
use rustix::time::{ClockId, clock_gettime};

/// Calls that are timed.
const CALLS: u64 = 500;
/// Long enough for the other side to wait, and not so long that it does something else meanwhile.
const WAITING_NS: f64 = 300.0;
/// Long enough for a message to have come.
const COMING_NS: f64 = 2000.0;

impl Talk<'_> {
    pub(super) fn phases(&self, round: &mut Round<'_>) -> Result<()> {
        let clock = clock_cost();
        let (call, way) = self.sends_to_a_waiting_receive(0)?;
        let (call_fetching, _) = self.sends_to_a_waiting_receive(1)?;
        let (own, other) = (self.receives_of_own_messages()?, self.receives_of_messages_that_are_there()?);
        round.note(Kind::SendStart, 8, call - clock);
        round.note(Kind::SendHeaderIn, 8, call_fetching - call);
        round.note(Kind::SendDataOut, 8, way - call);
        round.note(Kind::ReceiveStart, 8, own - clock);
        round.note(Kind::ReceiveHeaderOut, 8, self.headers_out()?);
        round.note(Kind::ReceiveDataIn, 8, other - own);
        self.job.barrier()
    }

    /// Rank 0 sends in the given slot, and is answered in slot 0. The time of its call, and from the begin of that to the
    /// end of the receive, both with one look at the clock.
    fn sends_to_a_waiting_receive(&self, slot: usize) -> Result<(f64, f64)> {
        let (mut calls, mut ways) = (Vec::new(), Vec::new());
        for stamp in self.stamps(CALLS) {
            if self.job.rank() == 0 {
                pause(WAITING_NS);
                let begin = now();
                self.messages.send(&[stamp], 1, slot)?;
                let end = now();
                calls.push(between(begin, end));
                ways.push(between(begin, self.take(0)?));
            } else {
                let got = self.take(slot)?;
                self.messages.send(&[now()], 0, 0)?;
                assert_eq!(got, stamp, "a message was damaged");
            }
        }
        Ok((median(&calls), median(&ways)))
    }

    fn receives_of_own_messages(&self) -> Result<f64> {
        let (me, mut calls) = (self.job.rank(), Vec::new());
        for stamp in self.stamps(CALLS) {
            self.messages.send(&[stamp], me, 0)?;
            calls.push(self.timed_receive(me, stamp)?);
        }
        Ok(median(&calls))
    }

    /// Rank 0 asks in slot 1 for a message in slot 0.
    fn receives_of_messages_that_are_there(&self) -> Result<f64> {
        let mut calls = Vec::new();
        for stamp in self.stamps(CALLS) {
            if self.job.rank() == 0 {
                self.messages.send(&[stamp], 1, 1)?;
                pause(COMING_NS);
                calls.push(self.timed_receive(1, stamp)?);
            } else {
                let stamp = self.take(1)?;
                self.messages.send(&[stamp], 0, 0)?;
            }
        }
        Ok(median(&calls))
    }

    fn timed_receive(&self, from: usize, stamp: u64) -> Result<f64> {
        let mut got = [0u64];
        let begin = now();
        self.messages.recv(&mut got, from, 0)?;
        let end = now();
        assert_eq!(got, [stamp], "a message was damaged");
        Ok(between(begin, end))
    }

    /// Rank 0 waits until its message is taken, and then hears when that was.
    fn headers_out(&self) -> Result<f64> {
        let mut times = Vec::new();
        let mode = self.messages.mode();
        for stamp in self.stamps(CALLS) {
            if self.job.rank() == 0 {
                self.messages.set_mode(Mode::Synchronous);
                self.messages.send(&[stamp], 1, 0)?;
                let known = now();
                self.messages.set_mode(mode);
                times.push(between(self.take(0)?, known));
            } else {
                pause(WAITING_NS);
                let got = self.take(0)?;
                self.messages.send(&[now()], 0, 0)?;
                assert_eq!(got, stamp, "a message was damaged");
            }
        }
        Ok(median(&times))
    }

    /// The next message of the other rank.
    fn take(&self, slot: usize) -> Result<u64> {
        let mut got = [0u64];
        self.messages.recv(&mut got, self.peer(), slot)?;
        Ok(got[0])
    }
}

/// The machine's clock, ns.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// From one time to another, which may be a little earlier where two ranks looked at the clock.
fn between(from: u64, to: u64) -> f64 {
    to.wrapping_sub(from) as i64 as f64
}

/// What one look at the clock takes.
fn clock_cost() -> f64 {
    let looks: Vec<f64> = (0..CALLS).map(|_| between(now(), now())).collect();
    median(&looks)
}

fn pause(time_ns: f64) {
    let begin = now();
    while between(begin, now()) < time_ns {}
}
