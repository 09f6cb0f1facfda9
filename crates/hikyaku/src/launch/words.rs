//! What the launcher and the agent of a host say to each other, through the agent's standard input and output.
//!
//! ```text
//!   launcher                                      agent
//!                                        <---     Hi (protocol, format of memory)
//!   Order (what to run, the secret)      --->
//!                                        <---     Ready (how large heaps can be here, on which machine)
//!   Go (how large they are everywhere)   --->
//!                                        <---     Started (processes)
//!                                        <---     Arrived (a rank, how it is reached), one by one
//!   Table (how each is reached)          --->     when all have; or Refuse
//!   Input, Shown, Unread, Signal         --->
//!   News (ranks of other hosts)          <-->     Output, Ended (ranks of this one), Consumed
//!                                        <---     Finished
//! ```
//! Both say `Alive` every second. An agent that cannot do its part says `Failed` and why. Everything is read as if an enemy
//! had written it; the other side of a stream that makes no sense is given up.

use super::Ending;
use super::host::{Departure, Ended};
use super::order::Order;
use crate::job::bytes::{Reader, Writer};
use crate::job::neighborhood::RANK_COUNT_MAX;
use crate::job::standstill::{Presence, Standing, View};
use crate::job::wire::{Absence, ENDPOINT_BYTES_MAX};
use crate::transport::shm::layout::{Blame, FORMAT, PORT_COUNT_MAX, State};
use crate::transport::shm::waiting::Whom;
use std::time::Duration;

/// Moves on with every change of this file or of [`Order`].
pub(super) const PROTOCOL: u32 = 4;
/// Whatever a launcher says fits.
pub(super) const TO_AGENT_BYTES_MAX: usize = 64 << 20;
/// Whatever an agent says fits.
pub(super) const TO_LAUNCHER_BYTES_MAX: usize = 1 << 20;
/// Bytes of input or output in one message.
pub(super) const PIECE_BYTES_MAX: usize = 16 * 1024;
/// Input that may be on its way to rank 0.
pub(super) const INPUT_WINDOW_BYTES: usize = 64 * 1024;
/// The longest name of a machine.
pub(super) const MACHINE_BYTES_MAX: usize = 64;
const TEXT_BYTES_MAX: usize = 16 * 1024;

const MAGIC: u64 = u64::from_be_bytes(*b"hikyakuA");

/// What a launcher says.
#[derive(Debug)]
pub(super) enum ToAgent {
    /// The job, and the part of this host in it.
    Order(Box<Order>),
    /// All hosts are ready: now the ranks are started.
    Go(Go),
    /// How each rank of the job is reached.
    Table { endpoints: Vec<Box<[u8]>> },
    /// There is no job without this rank.
    Refuse { rank: usize, absence: Absence },
    /// A rank of another host has ended.
    News { rank: usize, departure: Departure },
    /// A signal for all ranks.
    Signal(i32),
    /// Input of rank 0; nothing at its end.
    Input(Vec<u8>),
    /// So many bytes of output were shown.
    Shown(usize),
    /// Nobody reads what this rank prints.
    Unread { rank: usize, is_error: bool },
    /// The launcher runs.
    Alive,
}

/// What an agent says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ToLauncher {
    /// Who it is.
    Hi(Hi),
    /// It knows what to do; half a heap can be so large here, and this names the machine the host is, or is a part of.
    Ready { heap_half_bytes: u64, machine: Box<[u8]> },
    /// The processes of its ranks.
    Started { processes: Vec<u32> },
    /// It cannot.
    Failed(String),
    /// Nor can its ranks: this program does not start.
    CannotStart { program: String, reason: String, exists: bool },
    /// A rank has said hello.
    Arrived { rank: usize, endpoint: Box<[u8]> },
    /// A rank has ended.
    Ended(Ended),
    /// A rank has printed something; nothing at the end.
    Output { rank: usize, is_error: bool, bytes: Vec<u8> },
    /// Rank 0 has taken so many bytes of input.
    Consumed(usize),
    /// Rank 0 takes no more input.
    Deaf,
    /// All its ranks have ended, and all they have printed was said.
    Finished,
    /// It runs.
    Alive,
    /// A rank has begun or ended a long wait.
    Waits(View),
}

/// What an agent must know of the other hosts to start its ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Go {
    /// The size of a half heap on all hosts.
    pub heap_half_bytes: u64,
    /// Ranks on its machine: several hosts may be parts of one.
    pub machine_ranks: usize,
    /// How many of them are on hosts before this one.
    pub machine_ranks_before: usize,
}

/// Who an agent is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hi {
    pub protocol: u32,
    pub format: u64,
    pub version: String,
}

impl Hi {
    /// Who speaks here.
    pub fn here() -> Hi {
        Hi { protocol: PROTOCOL, format: FORMAT, version: env!("CARGO_PKG_VERSION").into() }
    }
}

impl ToAgent {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::new();
        match self {
            // Before anything that a later protocol may change.
            ToAgent::Order(order) => order.encode(out.u8(0).u64(MAGIC).u32(PROTOCOL)),
            ToAgent::Go(go) => {
                out.u8(1).u64(go.heap_half_bytes).count(go.machine_ranks).count(go.machine_ranks_before);
            }
            ToAgent::Table { endpoints } => {
                out.u8(2).count(endpoints.len());
                endpoints.iter().for_each(|endpoint| {
                    out.bytes(endpoint);
                });
            }
            ToAgent::Refuse { rank, absence } => encode_absence(out.u8(3).count(*rank), *absence),
            ToAgent::News { rank, departure } => encode_departure(out.u8(4).count(*rank), departure),
            ToAgent::Signal(signal) => {
                out.u8(5).u32(*signal as u32);
            }
            ToAgent::Input(bytes) => {
                out.u8(6).bytes(bytes);
            }
            ToAgent::Shown(bytes) => {
                out.u8(7).u64(*bytes as u64);
            }
            ToAgent::Unread { rank, is_error } => {
                out.u8(8).count(*rank).u8(u8::from(*is_error));
            }
            ToAgent::Alive => {
                out.u8(9);
            }
        }
        out.finish()
    }

    pub fn decode(bytes: &[u8]) -> Option<ToAgent> {
        let mut from = Reader::new(bytes);
        let message = match from.u8()? {
            0 => {
                let is_ours = from.u64()? == MAGIC && from.u32()? == PROTOCOL;
                ToAgent::Order(Box::new(Order::decode(&mut from).filter(|_| is_ours)?))
            }
            1 => ToAgent::Go(Go {
                heap_half_bytes: from.u64()?,
                machine_ranks: from.u32()? as usize,
                machine_ranks_before: from.u32()? as usize,
            }),
            2 => {
                let endpoint = |from: &mut Reader<'_>| Some(from.bytes(ENDPOINT_BYTES_MAX)?.into());
                ToAgent::Table { endpoints: from.list(RANK_COUNT_MAX, endpoint)? }
            }
            3 => ToAgent::Refuse { rank: rank(&mut from)?, absence: absence(&mut from)? },
            4 => ToAgent::News { rank: rank(&mut from)?, departure: departure(&mut from)? },
            5 => ToAgent::Signal(i32::try_from(from.u32()?).ok().filter(|signal| (1..=64).contains(signal))?),
            6 => ToAgent::Input(from.bytes(PIECE_BYTES_MAX)?.to_vec()),
            7 => ToAgent::Shown(usize::try_from(from.u64()?).ok()?),
            8 => ToAgent::Unread { rank: rank(&mut from)?, is_error: boolean(&mut from)? },
            9 => ToAgent::Alive,
            _ => return None,
        };
        from.end(message)
    }
}

impl ToLauncher {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::new();
        match self {
            ToLauncher::Hi(hi) => {
                out.u8(0).u64(MAGIC).u32(hi.protocol).u64(hi.format).bytes(hi.version.as_bytes());
            }
            ToLauncher::Ready { heap_half_bytes, machine } => {
                out.u8(1).u64(*heap_half_bytes).bytes(machine);
            }
            ToLauncher::Started { processes } => {
                out.u8(2).count(processes.len());
                processes.iter().for_each(|process| {
                    out.u32(*process);
                });
            }
            ToLauncher::Failed(text) => {
                out.u8(3).bytes(short(text));
            }
            ToLauncher::CannotStart { program, reason, exists } => {
                out.u8(12).bytes(short(program)).bytes(short(reason)).u8(u8::from(*exists));
            }
            ToLauncher::Arrived { rank, endpoint } => {
                out.u8(4).count(*rank).bytes(endpoint);
            }
            ToLauncher::Ended(ended) => {
                let (how, number) = match ended.ending {
                    Ending::Exited(status) => (0, status),
                    Ending::Killed(signal) => (1, signal),
                    Ending::Unknown => (2, 0),
                };
                out.u8(5).count(ended.rank).u8(how).u32(number as u32).u8(u8::from(ended.joined));
                encode_departure(&mut out, &ended.departure);
                out.u64(ended.blame.map_or(0, Blame::word));
            }
            ToLauncher::Output { rank, is_error, bytes } => {
                out.u8(6).count(*rank).u8(u8::from(*is_error)).bytes(bytes);
            }
            ToLauncher::Consumed(bytes) => {
                out.u8(7).u64(*bytes as u64);
            }
            ToLauncher::Deaf => {
                out.u8(8);
            }
            ToLauncher::Finished => {
                out.u8(9);
            }
            ToLauncher::Alive => {
                out.u8(10);
            }
            ToLauncher::Waits(view) => encode_view(out.u8(11), view),
        }
        out.finish()
    }

    pub fn decode(bytes: &[u8]) -> Option<ToLauncher> {
        let mut from = Reader::new(bytes);
        let message = match from.u8()? {
            0 => {
                (from.u64()? == MAGIC).then_some(())?;
                let (protocol, format) = (from.u32()?, from.u64()?);
                ToLauncher::Hi(Hi { protocol, format, version: text(&mut from)? })
            }
            1 => ToLauncher::Ready { heap_half_bytes: from.u64()?, machine: from.bytes(MACHINE_BYTES_MAX)?.into() },
            2 => ToLauncher::Started { processes: from.list(RANK_COUNT_MAX, Reader::u32)? },
            3 => ToLauncher::Failed(text(&mut from)?),
            4 => ToLauncher::Arrived { rank: rank(&mut from)?, endpoint: from.bytes(ENDPOINT_BYTES_MAX)?.into() },
            5 => {
                let (rank, how, number) = (rank(&mut from)?, from.u8()?, from.u32()? as i32);
                let ending = match how {
                    0 => Ending::Exited(number),
                    1 => Ending::Killed(number),
                    2 => Ending::Unknown,
                    _ => return None,
                };
                let joined = boolean(&mut from)?;
                let departure = departure(&mut from)?;
                let blame = Blame::from_word(from.u64()?, RANK_COUNT_MAX);
                ToLauncher::Ended(Ended { rank, ending, joined, departure, blame })
            }
            6 => {
                let (rank, is_error) = (rank(&mut from)?, boolean(&mut from)?);
                ToLauncher::Output { rank, is_error, bytes: from.bytes(PIECE_BYTES_MAX)?.to_vec() }
            }
            7 => ToLauncher::Consumed(usize::try_from(from.u64()?).ok()?),
            8 => ToLauncher::Deaf,
            9 => ToLauncher::Finished,
            10 => ToLauncher::Alive,
            11 => ToLauncher::Waits(view(&mut from)?),
            12 => {
                let (program, reason) = (text(&mut from)?, text(&mut from)?);
                ToLauncher::CannotStart { program, reason, exists: boolean(&mut from)? }
            }
            _ => return None,
        };
        from.end(message)
    }
}

fn rank(from: &mut Reader<'_>) -> Option<usize> {
    Some(from.u32()? as usize).filter(|rank| *rank < RANK_COUNT_MAX)
}

fn boolean(from: &mut Reader<'_>) -> Option<bool> {
    match from.u8()? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

/// As much of a text as is said.
fn short(text: &str) -> &[u8] {
    &text.as_bytes()[..text.len().min(TEXT_BYTES_MAX)]
}

/// What people read: without what could confuse a terminal.
fn text(from: &mut Reader<'_>) -> Option<String> {
    let text = String::from_utf8_lossy(from.bytes(TEXT_BYTES_MAX)?).into_owned();
    Some(text.chars().filter(|c| !c.is_control() || *c == '\n').collect())
}

fn encode_departure(out: &mut Writer, departure: &Departure) {
    let state = match departure.state {
        State::Left => 1,
        State::Parted => 2,
        State::Unreachable => 3,
        _ => 0,
    };
    out.u8(state).u64(departure.arrivals);
}

fn departure(from: &mut Reader<'_>) -> Option<Departure> {
    let state = match from.u8()? {
        0 => State::Dead,
        1 => State::Left,
        2 => State::Parted,
        3 => State::Unreachable,
        _ => return None,
    };
    Some(Departure { state, arrivals: from.u64()? })
}

fn encode_view(out: &mut Writer, view: &View) {
    let presence = match view.presence {
        Presence::Works => 0,
        Presence::Waits => 1,
        Presence::Gone => 2,
    };
    out.count(view.rank).u8(presence).u64(view.arrivals).count(view.waits.len());
    for wait in &view.waits {
        let (how, number) = match wait.whom {
            Whom::Anyone => (0, 0),
            Whom::Rank(rank) => (1, rank as u64),
            Whom::Barrier(number) => (2, number),
        };
        out.count(wait.wait.0).u64(wait.wait.1).u8(how).u64(number).u64(wait.waited.as_millis() as u64);
        out.u8(u8::from(wait.ends)).bytes(wait.call.as_bytes()).bytes(wait.place.as_bytes());
    }
}

fn view(from: &mut Reader<'_>) -> Option<View> {
    let rank = rank(from)?;
    let presence = match from.u8()? {
        0 => Presence::Works,
        1 => Presence::Waits,
        2 => Presence::Gone,
        _ => return None,
    };
    let arrivals = from.u64()?;
    let wait = |from: &mut Reader<'_>| {
        let wait = (from.u32()? as usize, from.u64()?);
        let (how, number) = (from.u8()?, from.u64()?);
        let whom = match how {
            0 => Whom::Anyone,
            1 => Whom::Rank(usize::try_from(number).ok()?),
            2 => Whom::Barrier(number),
            _ => return None,
        };
        let waited = Duration::from_millis(from.u64()?);
        Some(Standing { wait, whom, waited, ends: boolean(from)?, call: text(from)?, place: text(from)? })
    };
    Some(View { rank, presence, arrivals, waits: from.list(PORT_COUNT_MAX, wait)? })
}

fn encode_absence(out: &mut Writer, absence: Absence) {
    match absence {
        Absence::Dead => out.u8(0),
        Absence::Left => out.u8(1),
        Absence::Late(time) => out.u8(2).u64(time.as_millis() as u64),
    };
}

fn absence(from: &mut Reader<'_>) -> Option<Absence> {
    match from.u8()? {
        0 => Some(Absence::Dead),
        1 => Some(Absence::Left),
        2 => Some(Absence::Late(Duration::from_millis(from.u64()?))),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
