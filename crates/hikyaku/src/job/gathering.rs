//! The ranks of a host come together at a socket of one of them, which makes the host's memory and hands it to the others.
//!
//! Both ends check that the other belongs to the same user. The socket is closed before the job begins.

use super::card::Card;
use super::neighborhood::Neighborhood;
use super::wire::{self, Absence, Hello, Hosts, Welcome};
use super::{join, topology};
use crate::error::{Error, Result};
use crate::memory::segment::Segment;
use crate::transport::shm::layout::{FORMAT, JobMemory};
use bytemuck::{Pod, Zeroable};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// Connections that may wait to be looked at.
const BACKLOG: i32 = 4096;
/// How much longer than the one who makes the memory the others wait, to hear from it who is missing.
const ANSWER_TIME: Duration = Duration::from_secs(1);

/// When ranks that have not come are missed.
pub(super) struct Deadline {
    pub at: Instant,
    /// How long they had.
    pub after: Duration,
}

/// This rank's place in the job, its host's memory and, over several hosts, who is where.
pub(super) type Place = (Welcome, JobMemory, Option<Neighborhood>);

/// What a rank says to the one who makes the memory.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Arrival {
    hello: Hello,
    rank: u64,
    secret: u64,
    /// The cores it may use.
    cores: topology::Cores,
}

/// Comes to the rank whose card this is.
pub(super) fn come(rank: usize, leader: usize, card: &Card, deadline: &Deadline) -> Result<Place> {
    let gone =
        || Error::Launcher { reason: format!("rank {leader}, which makes the job's memory, has ended or given up") };
    let socket = new_socket()?;
    rustix::net::connect(&socket, &card.address()?).map_err(|_| gone())?;
    wire::check_user(&socket)?;
    let arrival = Arrival { hello: Hello::new(), rank: rank as u64, secret: card.secret, cores: topology::allowed() };
    wire::send(socket.as_fd(), &arrival, None).map_err(|_| gone())?;
    await_answer(&socket, leader, deadline)?;
    let (welcome, file) = wire::receive::<Welcome>(socket.as_fd())?.ok_or_else(gone)?;
    let other_protocol = || Error::Launcher { reason: format!("rank {leader} speaks another protocol") };
    if !welcome.is_valid() {
        return Err(other_protocol());
    }
    if let Some(error) = welcome.refused() {
        return Err(error);
    }
    let file = file.filter(|_| welcome.rank == arrival.rank).ok_or_else(other_protocol)?;
    let layout = welcome.layout()?;
    let memory = JobMemory { segment: Segment::open(file, layout.total_bytes())?, layout };
    if welcome.hosts <= 1 {
        return Ok((welcome, memory, None));
    }
    await_answer(&socket, leader, deadline)?;
    let (hosts, table) = wire::receive::<Hosts>(socket.as_fd())?.ok_or_else(gone)?;
    let table = table.filter(|_| hosts.is_valid()).ok_or_else(other_protocol)?;
    let neighborhood = Neighborhood::from_file(table)?;
    if !join::agree(&welcome, &neighborhood) {
        return Err(other_protocol());
    }
    Ok((welcome, memory, Some(neighborhood)))
}

fn await_answer(socket: &OwnedFd, leader: usize, deadline: &Deadline) -> Result<()> {
    match wire::await_input(&mut [PollFd::new(socket, PollFlags::IN)], deadline.at + ANSWER_TIME)? {
        true => Ok(()),
        false => Err(Error::Launcher { reason: format!("rank {leader} has not answered in time") }),
    }
}

/// Who has come to the one who makes the memory so far.
pub(super) struct Gathering<'a> {
    listener: &'a OwnedFd,
    secret: u64,
    /// The other ranks of the host, and their sockets.
    arrived: Vec<(usize, Option<OwnedFd>)>,
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
    /// These ranks are to come, in rising order.
    pub fn new(listener: &'a OwnedFd, secret: u64, others: impl Iterator<Item = usize>) -> Gathering<'a> {
        let arrived = others.map(|rank| (rank, None)).collect();
        Gathering { listener, secret, arrived, strangers: Vec::new(), cores: topology::allowed() }
    }

    /// Waits until all have come. If one does not, those who have are told.
    pub fn complete(&mut self, deadline: &Deadline) -> Result<()> {
        while self.arrived.iter().any(|(_, socket)| socket.is_none()) {
            self.advance(deadline).inspect_err(|error| self.refuse(error))?;
        }
        Ok(())
    }

    /// How many cores those who have come may use.
    pub fn core_count(&self) -> usize {
        self.cores.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Those who have come, with their sockets.
    pub fn arrived(&self) -> impl Iterator<Item = (usize, &OwnedFd)> {
        self.arrived.iter().filter_map(|(rank, socket)| Some((*rank, socket.as_ref()?)))
    }

    /// Waits for something to happen, and sees to it.
    fn advance(&mut self, deadline: &Deadline) -> Result<()> {
        let ranks = self.arrived().map(|(rank, socket)| (Source::Rank(rank), socket));
        let strangers = self.strangers.iter().enumerate().map(|(index, it)| (Source::Stranger(index), it));
        let sources: Vec<_> = [(Source::Listener, self.listener)].into_iter().chain(ranks).chain(strangers).collect();
        let mut polled: Vec<_> = sources.iter().map(|(_, socket)| PollFd::new(*socket, PollFlags::IN)).collect();
        if !wire::await_input(&mut polled, deadline.at)? {
            let missing = self.arrived.iter().filter(|(_, socket)| socket.is_none()).map(|(rank, _)| *rank);
            return Err(Error::StartTimeout { missing: missing.collect(), after: deadline.after });
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
        let place = self.arrived.binary_search_by_key(&(arrival.rank as usize), |(rank, _)| *rank);
        if let Some((_, place)) =
            place.ok().map(|place| &mut self.arrived[place]).filter(|(_, it)| fits && it.is_none())
        {
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
        for (_, socket) in self.arrived() {
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

/// The socket of the card.
pub(super) fn listen(card: &Card) -> Result<OwnedFd> {
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

    /// Strangers that say anything to the one who makes the memory, and one that answers anything.
    #[test]
    fn fuzz_hello() {
        use rustix::net::{SendFlags, socketpair};
        let card = Card::new(&[]).unwrap();
        let listener = listen(&card).unwrap();
        let arrival = Arrival { hello: Hello::new(), rank: 1, secret: card.secret, cores: topology::allowed() };
        let welcome = Welcome { size: 2, near: 2, hosts: 1, ports: 4, heap_half_bytes: 1 << 20, ..Welcome::new() };
        let samples = [
            bytemuck::bytes_of(&arrival).to_vec(),
            bytemuck::bytes_of(&welcome).to_vec(),
            bytemuck::bytes_of(&Welcome::refusal(1, Absence::Late(Duration::from_secs(1)))).to_vec(),
            bytemuck::bytes_of(&Hello::new()).to_vec(),
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
            let mut gathering = Gathering::new(&listener, card.secret, 1..4);
            gathering.strangers.push(ours);
            gathering.hear(0);
            assert!(gathering.arrived.len() == 3 && gathering.strangers.is_empty());
        });
    }

    /// Two of three others have come.
    #[test]
    fn those_who_have_come_hear_who_is_missing() {
        let card = Card::new(&[]).unwrap();
        let listener = listen(&card).unwrap();
        // Of a host with ranks 1, 3, 4 and 9.
        let mut gathering = Gathering::new(&listener, card.secret, [3, 4, 9].into_iter());
        let in_time = Deadline { at: Instant::now() + Duration::from_secs(20), after: Duration::from_secs(20) };
        let [stranger, first, second] = [2, 3, 4].map(|rank| {
            let socket = new_socket().unwrap();
            rustix::net::connect(&socket, &card.address().unwrap()).unwrap();
            let arrival = Arrival { hello: Hello::new(), rank, secret: card.secret, cores: topology::allowed() };
            wire::send(socket.as_fd(), &arrival, None).unwrap();
            socket
        });
        while gathering.arrived().count() < 2 {
            gathering.advance(&in_time).unwrap();
        }
        let heard = |socket: &OwnedFd| wire::receive::<Welcome>(socket.as_fd()).unwrap().unwrap().0.refused();
        let too_late = Deadline { at: Instant::now(), after: Duration::from_secs(20) };
        let error = gathering.advance(&too_late).unwrap_err();
        gathering.refuse(&error);
        for socket in [&first, &second] {
            assert!(matches!(heard(socket), Some(Error::StartTimeout { missing, .. }) if missing == [9]));
        }
        assert!(wire::receive::<Welcome>(stranger.as_fd()).unwrap().is_none(), "a rank of another host was answered");
        drop(second);
        let error = gathering.advance(&in_time).unwrap_err();
        gathering.refuse(&error);
        assert!(matches!(heard(&first), Some(Error::PeerDead { rank: 4 })));
        assert!(Welcome { size: 2, ..Welcome::new() }.refused().is_none());
    }
}
