//! Ranks started by a launcher of another library, which gives them nothing but their numbers and one text: the first makes
//! the job's memory and hands it to the others.
//!
//! ```text
//!   rank 0                                          other ranks
//!   makes the memory, listens on a socket
//!   that is in no file system
//!   card: host, name, secret   --- launcher --->    on the same host?
//!                              <--- socket ----     Arrival (rank, secret, cores)
//!   all have come
//!                              ---- socket --->     Welcome + descriptor of the memory
//!                                                   or who is missing
//! ```
//! Both ends check that the other belongs to the same user. The socket is closed before the job begins.

use super::pmi::Exchange;
use super::wire::{self, Absence, Hello, Welcome};
use super::{Config, topology};
use crate::error::{Error, Result};
use crate::memory::segment::Segment;
use crate::ni::random;
use crate::sync::fence::Fences;
use crate::transport::shm::layout::{FORMAT, JobMemory, Layout};
use bytemuck::{Pod, Zeroable};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// Connections that may wait to be looked at.
const BACKLOG: i32 = 4096;
/// How much longer than rank 0 the others wait, to hear from it who is missing.
const ANSWER_TIME: Duration = Duration::from_secs(1);

/// When ranks that have not come are missed.
struct Deadline {
    at: Instant,
    /// How long they had.
    after: Duration,
}

/// This rank's place in the job, and the job's memory.
pub(super) fn meet(exchange: &dyn Exchange, config: &Config) -> Result<(Welcome, JobMemory)> {
    let patience = config.start_patience();
    let deadline = Deadline { at: Instant::now() + patience, after: patience };
    if exchange.spans_hosts()? {
        return Err(several_hosts());
    }
    if exchange.rank() == 0 { lead(exchange, config, &deadline) } else { follow(exchange, &deadline) }
}

/// Rank 0's part.
fn lead(exchange: &dyn Exchange, config: &Config, deadline: &Deadline) -> Result<(Welcome, JobMemory)> {
    let size = exchange.size();
    let prepared = prepare(size, config);
    // The others are told also if it has failed, rather than left waiting.
    let text = prepared.as_ref().map_or_else(|_| FAILED.to_owned(), |(_, card, _)| card.to_string());
    exchange.broadcast(Some(&text), deadline.at)?;
    let (memory, card, listener) = prepared?;
    let layout = memory.layout;
    let mut gathering = Gathering::new(&listener, card.secret, size);
    while !gathering.is_complete() {
        gathering.advance(deadline).inspect_err(|error| gathering.refuse(error))?;
    }
    let cores = gathering.cores.iter().map(|word| word.count_ones() as usize).sum();
    let welcome = Welcome {
        size: size as u64,
        near: size as u64,
        hosts: 1,
        ports: layout.ports as u64,
        heap_half_bytes: layout.heap_half_bytes as u64,
        job: random()?,
        fences: Fences::for_processes() as u64,
        // Launchers bind ranks to cores, so that each sees its own only.
        crowded: (size > cores) as u64,
        launcher: rustix::process::getppid().map_or(0, |process| process.as_raw_pid() as u64),
        start_timeout_ms: config.start_patience().as_millis() as u64,
        ..Welcome::new()
    };
    for (rank, socket) in (1..).zip(gathering.arrived.iter().flatten()) {
        // Whoever has died meanwhile is missed when all wait for each other.
        let _ = wire::send(socket.as_fd(), &Welcome { rank, local: rank, ..welcome }, Some(memory.segment.file()));
    }
    Ok((welcome, memory))
}

/// All that can fail before the others are called.
fn prepare(size: usize, config: &Config) -> Result<(JobMemory, Card, OwnedFd)> {
    let layout = Layout::new(size, config.ports, config.heap_bytes)?;
    let memory = JobMemory::create(layout, config.choices.words())?;
    let card = Card { format: FORMAT, host: host()?, name: random()?, secret: random()? };
    let listener = listen(&card)?;
    Ok((memory, card, listener))
}

/// The part of every other rank.
fn follow(exchange: &dyn Exchange, deadline: &Deadline) -> Result<(Welcome, JobMemory)> {
    let card = Card::parse(&exchange.broadcast(None, deadline.at)?)?;
    if card.host != host()? {
        return Err(several_hosts());
    }
    let gone = || Error::Launcher { reason: "rank 0, which makes the job's memory, has ended or given up".into() };
    let socket = new_socket()?;
    rustix::net::connect(&socket, &card.address()?).map_err(|_| gone())?;
    wire::check_user(&socket)?;
    let arrival =
        Arrival { hello: Hello::new(), rank: exchange.rank() as u64, secret: card.secret, cores: topology::allowed() };
    wire::send(socket.as_fd(), &arrival, None).map_err(|_| gone())?;
    if !wire::await_input(&mut [PollFd::new(&socket, PollFlags::IN)], deadline.at + ANSWER_TIME)? {
        return Err(Error::Launcher { reason: "rank 0 has not answered in time".into() });
    }
    let (welcome, file) = wire::receive::<Welcome>(socket.as_fd())?.ok_or_else(gone)?;
    let other_protocol = || Error::Launcher { reason: "rank 0 speaks another protocol".into() };
    if !welcome.is_valid() {
        return Err(other_protocol());
    }
    if let Some(error) = welcome.refused() {
        return Err(error);
    }
    let file = file.filter(|_| welcome.rank == arrival.rank).ok_or_else(other_protocol)?;
    let layout = welcome.layout()?;
    Ok((welcome, JobMemory { segment: Segment::open(file, layout.total_bytes())?, layout }))
}

/// What a rank says to rank 0.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Arrival {
    hello: Hello,
    rank: u64,
    secret: u64,
    /// The cores it may use.
    cores: topology::Cores,
}

/// Who has come to rank 0 so far.
struct Gathering<'a> {
    listener: &'a OwnedFd,
    secret: u64,
    /// The sockets of the ranks after 0.
    arrived: Vec<Option<OwnedFd>>,
    /// Sockets of those who have not said who they are.
    strangers: Vec<OwnedFd>,
    /// The cores of all.
    cores: topology::Cores,
}

#[derive(Clone, Copy)]
enum Source {
    Listener,
    Rank(usize),
    Stranger(usize),
}

impl<'a> Gathering<'a> {
    fn new(listener: &'a OwnedFd, secret: u64, size: usize) -> Gathering<'a> {
        let arrived = (1..size).map(|_| None).collect();
        Gathering { listener, secret, arrived, strangers: Vec::new(), cores: topology::allowed() }
    }

    fn is_complete(&self) -> bool {
        self.arrived.iter().all(Option::is_some)
    }

    /// Waits for something to happen, and sees to it.
    fn advance(&mut self, deadline: &Deadline) -> Result<()> {
        let ranks = self.arrived.iter().enumerate().filter_map(|(i, it)| Some((Source::Rank(i + 1), it.as_ref()?)));
        let strangers = self.strangers.iter().enumerate().map(|(index, it)| (Source::Stranger(index), it));
        let sources: Vec<_> = [(Source::Listener, self.listener)].into_iter().chain(ranks).chain(strangers).collect();
        let mut polled: Vec<_> = sources.iter().map(|(_, socket)| PollFd::new(*socket, PollFlags::IN)).collect();
        if !wire::await_input(&mut polled, deadline.at)? {
            let missing = (1..=self.arrived.len()).filter(|rank| self.arrived[rank - 1].is_none()).collect();
            return Err(Error::StartTimeout { missing, after: deadline.after });
        }
        let ready = sources.iter().zip(&polled).filter(|(_, fd)| !fd.revents().is_empty());
        let ready: Vec<Source> = ready.map(|((source, _), _)| *source).collect();
        // From the last to the first, since strangers are taken out of their list.
        for source in ready.into_iter().rev() {
            match source {
                Source::Stranger(index) => self.hear(index),
                // Ranks that have come say nothing more.
                Source::Rank(rank) => return Err(Error::PeerDead { rank }),
                Source::Listener => self.accept()?,
            }
        }
        Ok(())
    }

    /// Whoever says the right thing is a rank; anybody else is not answered.
    fn hear(&mut self, index: usize) {
        let socket = self.strangers.swap_remove(index);
        let Ok(Some((arrival, _))) = wire::receive::<Arrival>(socket.as_fd()) else { return };
        let fits = arrival.hello.is_valid() && arrival.hello.format == FORMAT && arrival.secret == self.secret;
        let place = self.arrived.get_mut((arrival.rank as usize).wrapping_sub(1));
        if let Some(place) = place.filter(|place| fits && place.is_none()) {
            *place = Some(socket);
            self.cores.iter_mut().zip(arrival.cores).for_each(|(all, theirs)| *all |= theirs);
        }
    }

    /// Tells those who have come who is missing. Whoever comes later finds nobody.
    fn refuse(&self, error: &Error) {
        let refusal = match error {
            Error::PeerDead { rank } => Welcome::refusal(*rank, Absence::Dead),
            Error::StartTimeout { missing, after } if !missing.is_empty() => {
                Welcome::refusal(missing[0], Absence::Late(*after))
            }
            _ => return,
        };
        for socket in self.arrived.iter().flatten() {
            let _ = wire::send(socket.as_fd(), &refusal, None);
        }
    }

    fn accept(&mut self) -> Result<()> {
        match rustix::net::accept_with(self.listener, SocketFlags::CLOEXEC) {
            Ok(socket) if wire::check_user(&socket).is_ok() => self.strangers.push(socket),
            Ok(_) | Err(Errno::INTR | Errno::CONNABORTED) => {}
            Err(error) => return Err(Error::system("accept", error)),
        }
        Ok(())
    }
}

/// What rank 0 tells all through the launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Card {
    format: u64,
    host: String,
    name: u64,
    secret: u64,
}

impl std::fmt::Display for Card {
    /// One word, in characters that no launcher minds.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "hikyaku/{}/{:x}/{:x}/{}", self.format, self.name, self.secret, self.host)
    }
}

impl Card {
    fn parse(text: &str) -> Result<Card> {
        if text == FAILED {
            return Err(Error::Launcher {
                reason: "rank 0 cannot make the job's memory; its own error says why".into(),
            });
        }
        let strange = || Error::Launcher { reason: format!("rank 0 says {text:?}, which is no address of a job") };
        let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
        let fields: Vec<&str> = text.split('/').collect();
        let ["hikyaku", format, rest @ ..] = &fields[..] else { return Err(strange()) };
        let format = format.parse().map_err(|_| strange())?;
        if format != FORMAT {
            return Err(wire::other_format("rank 0", format));
        }
        let [name, secret, host] = rest else { return Err(strange()) };
        let (Some(name), Some(secret)) = (hexadecimal(name), hexadecimal(secret)) else { return Err(strange()) };
        Ok(Card { format, host: (*host).to_owned(), name, secret })
    }

    /// An address that is in no file system and goes with its socket.
    fn address(&self) -> Result<SocketAddrUnix> {
        let name = format!("hikyaku-{:016x}", self.name);
        SocketAddrUnix::new_abstract_name(name.as_bytes()).map_err(|e| Error::system("bind", e))
    }
}

/// What rank 0 tells instead if it cannot make the job's memory.
const FAILED: &str = "hikyaku/failed";

/// What two processes must have in common to share memory, processes' numbers and addresses of sockets.
fn host() -> Result<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let space = |name| std::fs::read_link(format!("/proc/self/ns/{name}"));
    let unknown = |error: std::io::Error| Error::System { call: "/proc", errno: error.raw_os_error().unwrap_or(0) };
    let parts = [boot, space("pid").map(as_text), space("net").map(as_text)];
    let parts = parts.into_iter().collect::<std::io::Result<Vec<_>>>().map_err(unknown)?;
    let word = |text: &str| text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect::<String>();
    Ok(parts.iter().map(|part| word(part)).collect::<Vec<_>>().join("."))
}

fn as_text(path: std::path::PathBuf) -> String {
    path.to_string_lossy().into_owned()
}

fn several_hosts() -> Error {
    Error::Launcher {
        reason: "the launcher has started ranks on several hosts or in separate containers; \
                 under it hikyaku works on one host: start all ranks there, or over hosts by `hikyaku run --hosts`"
            .into(),
    }
}

fn listen(card: &Card) -> Result<OwnedFd> {
    let listener = new_socket()?;
    rustix::net::bind(&listener, &card.address()?).map_err(|e| Error::system("bind", e))?;
    rustix::net::listen(&listener, BACKLOG).map_err(|e| Error::system("listen", e))?;
    Ok(listener)
}

fn new_socket() -> Result<OwnedFd> {
    rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .map_err(|e| Error::system("socket", e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_one_word_and_comes_back() {
        let card = Card { format: FORMAT, host: host().unwrap(), name: u64::MAX, secret: 7 };
        let text = card.to_string();
        assert!(text.chars().all(|c| c.is_ascii_graphic() && c != '=' && c != ';'), "{text}");
        // What PMI-1 carries.
        assert!(text.len() < 1024);
        assert_eq!(Card::parse(&text).unwrap(), card);
    }

    #[test]
    fn other_cards_are_refused() {
        for text in ["", "hikyaku", "hikyaku/x/1/2/host", "other/2/1/2/host", "hikyaku/2/g/2/host", "hikyaku/2/1/2"] {
            assert!(Card::parse(text).is_err(), "{text}");
        }
        let newer = Card { format: FORMAT + 1, host: "host".into(), name: 1, secret: 2 };
        let error = Card::parse(&newer.to_string()).unwrap_err().to_string();
        assert!(error.contains("rebuild"), "{error}");
    }

    /// Strangers that say anything to rank 0, a rank 0 and a launcher that answer anything.
    #[test]
    fn fuzz_hello() {
        use rustix::net::{SendFlags, socketpair};
        let card = Card { format: FORMAT, host: "host".into(), name: random().unwrap(), secret: 5 };
        let listener = listen(&card).unwrap();
        let arrival = Arrival { hello: Hello::new(), rank: 1, secret: 5, cores: topology::allowed() };
        let welcome = Welcome { size: 2, near: 2, hosts: 1, ports: 4, heap_half_bytes: 1 << 20, ..Welcome::new() };
        let samples = [
            bytemuck::bytes_of(&arrival).to_vec(),
            bytemuck::bytes_of(&welcome).to_vec(),
            bytemuck::bytes_of(&Welcome::refusal(1, Absence::Late(Duration::from_secs(1)))).to_vec(),
            bytemuck::bytes_of(&Hello::new()).to_vec(),
            card.to_string().into_bytes(),
        ];
        crate::fuzz::run("hello", &samples, |input| {
            let [ours, theirs] = {
                let (one, other) =
                    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
                [one, other]
            };
            for _ in 0..4 {
                let _ = rustix::net::send(&theirs, input, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
            }
            drop(theirs);
            if let Ok(Some((welcome, _))) = wire::receive::<Welcome>(ours.as_fd()) {
                let _ = (welcome.is_valid(), welcome.refused());
                if let Ok(layout) = welcome.layout() {
                    let last = crate::transport::shm::layout::Local(layout.count as u32 - 1);
                    assert!(layout.heap(last) + 2 * layout.heap_half_bytes <= layout.total_bytes());
                    assert!((welcome.local as usize) < layout.count);
                }
            }
            let _ = wire::receive::<Hello>(ours.as_fd())
                .map(|said| said.map(|(hello, _)| (hello.is_valid(), hello.endpoint().map(<[u8]>::len))));
            let mut gathering = Gathering::new(&listener, card.secret, 4);
            gathering.strangers.push(ours);
            gathering.hear(0);
            assert!(gathering.arrived.len() == 3 && gathering.strangers.is_empty());
            if let Ok(card) = Card::parse(&String::from_utf8_lossy(input)) {
                assert_eq!(Card::parse(&card.to_string()).unwrap(), card);
                card.address().unwrap();
            }
        });
    }

    /// Two of three others have come to rank 0.
    #[test]
    fn those_who_have_come_hear_who_is_missing() {
        let card = Card { format: FORMAT, host: "host".into(), name: random().unwrap(), secret: 5 };
        let listener = listen(&card).unwrap();
        let mut gathering = Gathering::new(&listener, card.secret, 4);
        let in_time = Deadline { at: Instant::now() + Duration::from_secs(20), after: Duration::from_secs(20) };
        let [first, second] = [1, 2].map(|rank| {
            let socket = new_socket().unwrap();
            rustix::net::connect(&socket, &card.address().unwrap()).unwrap();
            let arrival = Arrival { hello: Hello::new(), rank, secret: card.secret, cores: topology::allowed() };
            wire::send(socket.as_fd(), &arrival, None).unwrap();
            socket
        });
        while gathering.arrived.iter().flatten().count() < 2 {
            gathering.advance(&in_time).unwrap();
        }
        let heard = |socket: &OwnedFd| wire::receive::<Welcome>(socket.as_fd()).unwrap().unwrap().0.refused();
        let too_late = Deadline { at: Instant::now(), after: Duration::from_secs(20) };
        let error = gathering.advance(&too_late).unwrap_err();
        gathering.refuse(&error);
        for socket in [&first, &second] {
            assert!(matches!(heard(socket), Some(Error::StartTimeout { missing, .. }) if missing == [3]));
        }
        drop(second);
        let error = gathering.advance(&in_time).unwrap_err();
        gathering.refuse(&error);
        assert!(matches!(heard(&first), Some(Error::PeerDead { rank: 2 })));
        assert!(Welcome { size: 2, ..Welcome::new() }.refused().is_none());
    }
}
