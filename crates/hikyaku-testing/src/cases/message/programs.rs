//! Random programs of messages, and the model they are compared with.
//!
//! A program is a list of messages that all ranks walk through, each doing its part. The model is a queue for each pair,
//! slot and domain: whatever a receive gets must be the head of the queue that it says it came from. A receive that names
//! no slot or no source may so get a message of a later step; it is repeated until that of its own step has come. When a
//! rank leaves a step all earlier messages to it have arrived, so that every program ends.

use super::pattern;
use hikyaku::message::{Messages, Mode, PreparedReceive, PreparedSend, ReceiveHandle, Scope, SendHandle};
use hikyaku::{By, Error, Event, Job, Result};
use std::collections::HashMap;
use std::time::Duration;

/// Slots that any message uses; one more is kept for prepared transfers.
pub const SLOTS: usize = 4;
/// The job, all ranks the other way round, and the even or the odd ones.
pub const GROUPS: usize = 3;

/// What a process is told that runs one, before the program itself.
pub const NAME: &str = "program";

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// To a slot of its pair.
    Slot,
    /// To a receiver that names no source.
    AnyRank,
    /// By a transfer that was set up once.
    Prepared,
}

/// How it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// Waits for its receive.
    Synchronous,
    /// As the library sees fit.
    Standard,
    /// Copied at once.
    Buffered,
    /// Buffered after a while.
    Patient,
    /// Non-blocking, and waited for when its slot is needed again.
    Later,
}

/// How it is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiving {
    /// Says from whom and by which slot.
    Named,
    /// Says from whom.
    AnySlot,
    /// Non-blocking, and posted some steps ahead.
    Early,
}

/// All of them.
pub const DOMAINS: [Domain; 3] = [Domain::Slot, Domain::AnyRank, Domain::Prepared];
/// All of them.
pub const SENDINGS: [Sending; 5] =
    [Sending::Synchronous, Sending::Standard, Sending::Buffered, Sending::Patient, Sending::Later];
/// All of them.
pub const RECEIVINGS: [Receiving; 3] = [Receiving::Named, Receiving::AnySlot, Receiving::Early];

/// One message. Ranks are those of the job.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Whose slots: below [`GROUPS`].
    pub group: usize,
    /// The sender.
    pub from: usize,
    /// The receiver.
    pub to: usize,
    /// The slot.
    pub slot: usize,
    /// Where it goes.
    pub domain: Domain,
    /// Its length.
    pub bytes: usize,
    /// How it is sent.
    pub sending: Sending,
    /// How it is received.
    pub receiving: Receiving,
    /// Steps by which an early receive is ahead; others come late by a time of so many units, so that messages gather.
    pub ahead: usize,
}

impl Step {
    /// What messages of one queue have in common.
    fn lane(&self) -> [usize; 5] {
        [self.group, self.from, self.to, self.slot, self.domain as usize]
    }

    fn mode(&self) -> Mode {
        match self.sending {
            Sending::Synchronous => Mode::Synchronous,
            Sending::Standard | Sending::Later => Mode::Standard,
            Sending::Buffered => Mode::Spool(Duration::ZERO),
            Sending::Patient => Mode::Spool(Duration::from_micros(50)),
        }
    }

    fn numbers(&self) -> [usize; 9] {
        let forms = [self.domain as usize, self.sending as usize, self.receiving as usize];
        [self.group, self.from, self.to, self.slot, forms[0], self.bytes, forms[1], forms[2], self.ahead]
    }
}

/// As an argument of a process.
pub fn encode(steps: &[Step]) -> String {
    let numbers = steps.iter().flat_map(Step::numbers).map(|number| number.to_string());
    numbers.collect::<Vec<_>>().join(" ")
}

/// A program from such a text.
///
/// # Panics
/// If it is none.
pub fn decode(text: &str) -> Vec<Step> {
    let numbers: Vec<usize> = text.split_whitespace().map(|number| number.parse().expect("a number")).collect();
    let step = |numbers: &[usize]| Step {
        group: numbers[0],
        from: numbers[1],
        to: numbers[2],
        slot: numbers[3],
        domain: DOMAINS[numbers[4]],
        bytes: numbers[5],
        sending: SENDINGS[numbers[6]],
        receiving: RECEIVINGS[numbers[7]],
        ahead: numbers[8],
    };
    numbers.chunks(9).map(step).collect()
}

/// What a rank has seen.
#[derive(Default)]
struct Seen {
    /// Receives that took a message of a later step.
    choices: usize,
    /// Steps whose receive was posted early.
    early: Vec<usize>,
}

/// A rank's part of a program; gives how many receives had a choice, and took a message of a later step.
pub fn follow(job: &Job, steps: &[Step]) -> Result<usize> {
    let world = job.new_world()?;
    let reversed = world.split(Some(0), -(job.rank() as i64))?.expect("all join");
    let half = world.split(Some(job.rank() as u64 % 2), 0)?.expect("all join");
    let messages = [job.messages(SLOTS + 1)?, reversed.messages(SLOTS + 1)?, half.messages(SLOTS + 1)?];
    messages.iter().try_for_each(|messages| messages.set_spare(10_000_000))?;
    let data: Vec<Vec<u8>> = steps.iter().enumerate().map(|(number, step)| pattern(number, step.bytes)).collect();
    let mut rooms: Vec<Vec<u8>> = steps.iter().map(|step| vec![0xEE; step.bytes + 9]).collect();
    let mut seen = Seen::default();
    messages[0].scope(|first| {
        messages[1].scope(|second| {
            messages[2].scope(|third| {
                let mut walk = Walk {
                    job,
                    me: job.rank(),
                    size: job.size(),
                    steps,
                    data: &data,
                    messages: &messages,
                    scopes: [first, second, third],
                    taken: vec![false; steps.len()],
                    rooms: rooms.iter_mut().map(|room| Some(&mut room[..])).collect(),
                    receives: HashMap::new(),
                    sends: HashMap::new(),
                    prepared: Prepared::new(job.rank(), steps, &messages[0])?,
                    seen: &mut seen,
                };
                (0..steps.len()).try_for_each(|number| walk.step(number))?;
                walk.end()
            })
        })
    })?;
    for number in seen.early {
        let (room, data) = (&rooms[number], &data[number]);
        let behind = &room[data.len()..];
        assert!(room.starts_with(data) && behind == [0xEE; 9], "message {number}: {:?}", steps[number]);
    }
    for messages in &messages {
        while messages.check_spool()?.remaining > 0 {}
    }
    let [_, of_reversed, of_half] = messages;
    reversed.free_messages(of_reversed)?;
    half.free_messages(of_half)?;
    job.barrier()?;
    Ok(seen.choices)
}

/// A rank on its way.
struct Walk<'s, 'env> {
    job: &'s Job,
    me: usize,
    size: usize,
    steps: &'env [Step],
    data: &'env [Vec<u8>],
    messages: &'s [Messages<'s>; GROUPS],
    scopes: [&'s Scope<'s, 'env>; GROUPS],
    taken: Vec<bool>,
    /// For receives that are posted early.
    rooms: Vec<Option<&'env mut [u8]>>,
    /// Under way, by step.
    receives: HashMap<usize, ReceiveHandle>,
    /// Under way, by lane.
    sends: HashMap<[usize; 5], SendHandle>,
    prepared: Prepared<'s>,
    seen: &'s mut Seen,
}

impl Walk<'_, '_> {
    fn step(&mut self, number: usize) -> Result<()> {
        for later in number..self.steps.len() {
            if later <= number + self.steps[later].ahead {
                self.post_early(later)?;
            }
        }
        if self.steps[number].from == self.me {
            self.send(number)?;
        }
        if self.steps[number].to == self.me && !self.taken[number] {
            self.come_late(self.steps[number])?;
        }
        while self.steps[number].to == self.me && !self.taken[number] {
            self.receive(number)?;
        }
        Ok(())
    }

    /// Lets time pass; in a simulation nothing else does.
    fn come_late(&self, step: Step) -> Result<()> {
        if step.receiving == Receiving::Early || step.ahead == 0 {
            return Ok(());
        }
        let time = Duration::from_micros(20 * step.ahead as u64);
        match self.job.wait_any(By::Rank(self.me), &[Event::Handler(0, u64::MAX)], Some(time)) {
            Err(Error::Timeout { .. }) => Ok(()),
            other => panic!("{other:?} instead of a timeout"),
        }
    }

    /// What a rank of the job is called in a group, and the other way round.
    fn name(&self, group: usize, rank: usize) -> usize {
        [rank, self.size - 1 - rank, rank / 2][group]
    }

    fn rank(&self, group: usize, name: usize) -> usize {
        [name, self.size - 1 - name, 2 * name + self.me % 2][group]
    }

    fn head(&self, lane: [usize; 5]) -> Option<usize> {
        (0..self.steps.len()).find(|number| self.steps[*number].lane() == lane && !self.taken[*number])
    }

    /// Posts a receive, unless its slot must first be used by another one.
    fn post_early(&mut self, number: usize) -> Result<()> {
        let step = self.steps[number];
        let is_first = || self.head(step.lane()) == Some(number);
        if step.to != self.me || step.receiving != Receiving::Early || !is_first() {
            return Ok(());
        }
        match step.domain {
            Domain::AnyRank => {}
            Domain::Prepared => self.prepared.start_receive(step.from, number)?,
            Domain::Slot => {
                if let Some(room) = self.rooms[number].take() {
                    let handle = self.scopes[step.group].irecv(room, self.name(step.group, step.from), step.slot)?;
                    self.receives.insert(number, handle);
                }
            }
        }
        Ok(())
    }

    fn send(&mut self, number: usize) -> Result<()> {
        let (step, data) = (self.steps[number], &self.data[number]);
        let (messages, scope) = (&self.messages[step.group], self.scopes[step.group]);
        let to = self.name(step.group, step.to);
        if let Some(last) = self.sends.remove(&step.lane()) {
            scope.wait_send(last)?;
        }
        messages.set_mode(step.mode());
        match (step.domain, step.sending) {
            (Domain::Prepared, _) => self.prepared.send(step.to, data)?,
            (Domain::AnyRank, _) => messages.send_any(data, to, step.slot)?,
            (Domain::Slot, Sending::Later) => {
                self.sends.insert(step.lane(), scope.isend(data, to, step.slot)?);
            }
            (Domain::Slot, _) => messages.send(data, to, step.slot)?,
        }
        Ok(())
    }

    /// One receive of the kind that the step says.
    fn receive(&mut self, number: usize) -> Result<()> {
        let step = self.steps[number];
        let messages = &self.messages[step.group];
        let from = self.name(step.group, step.from);
        if step.domain == Domain::Prepared {
            let data = &self.data[number];
            self.prepared.start_receive(step.from, number)?;
            assert!(self.prepared.receive(step.from)? == data, "message {number}: {step:?}");
            self.taken[number] = true;
            return Ok(());
        }
        if let Some(handle) = self.receives.remove(&number) {
            assert_eq!(self.scopes[step.group].wait_receive(handle)?, step.bytes, "message {number}: {step:?}");
            self.seen.early.push(number);
            self.taken[number] = true;
            return Ok(());
        }
        let mut room = vec![0u8; self.steps.iter().map(|step| step.bytes).max().unwrap_or(0)];
        let (name, slot, len) = match (step.domain, step.receiving) {
            (Domain::AnyRank, _) => {
                let received = messages.recv_any(&mut room, step.slot)?;
                (received.rank, received.slot, received.len)
            }
            (_, Receiving::AnySlot) => {
                let received = messages.recv_any_slot(&mut room, from)?;
                (received.rank, received.slot, received.len)
            }
            _ => (from, step.slot, messages.recv(&mut room, from, step.slot)?),
        };
        let lane = [step.group, self.rank(step.group, name), self.me, slot, step.domain as usize];
        let head = self.head(lane).unwrap_or_else(|| panic!("{len} bytes of {lane:?} that nobody sent, in {step:?}"));
        assert!(room[..len] == self.data[head], "message {head}, {len} bytes: {:?}, in {step:?}", self.steps[head]);
        self.taken[head] = true;
        self.seen.choices += (head != number) as usize;
        Ok(())
    }

    fn end(mut self) -> Result<()> {
        for (lane, handle) in self.sends.drain() {
            self.scopes[lane[0]].wait_send(handle)?;
        }
        self.prepared.end()
    }
}

/// Transfers that were set up once, by peer.
struct Prepared<'m> {
    sends: HashMap<usize, PreparedSend<'m, u8>>,
    receives: HashMap<usize, PreparedReceive<'m, u8>>,
    /// Steps whose receive was started.
    started: Vec<usize>,
}

impl<'m> Prepared<'m> {
    fn new(me: usize, steps: &[Step], messages: &'m Messages<'m>) -> Result<Prepared<'m>> {
        let (mut sends, mut receives) = (HashMap::new(), HashMap::new());
        for step in steps.iter().filter(|step| step.domain == Domain::Prepared) {
            if step.from == me && !sends.contains_key(&step.to) {
                sends.insert(step.to, messages.prepare_send(vec![0; step.bytes], step.to, SLOTS)?);
            }
            if step.to == me && !receives.contains_key(&step.from) {
                receives.insert(step.from, messages.prepare_recv(vec![0; step.bytes], step.from, SLOTS)?);
            }
        }
        Ok(Prepared { sends, receives, started: Vec::new() })
    }

    fn send(&mut self, to: usize, data: &[u8]) -> Result<()> {
        let send = self.sends.get_mut(&to).expect("prepared");
        send.wait()?;
        send.data_mut()?.copy_from_slice(data);
        send.start()
    }

    fn start_receive(&mut self, from: usize, number: usize) -> Result<()> {
        if self.started.contains(&number) {
            return Ok(());
        }
        self.started.push(number);
        self.receives.get_mut(&from).expect("prepared").start()
    }

    fn receive(&mut self, from: usize) -> Result<&[u8]> {
        self.receives.get_mut(&from).expect("prepared").wait()
    }

    fn end(&mut self) -> Result<()> {
        self.sends.values_mut().try_for_each(PreparedSend::wait)
    }
}
