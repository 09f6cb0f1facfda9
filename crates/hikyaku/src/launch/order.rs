//! What the launcher tells the agent of a host: the job, and which part of it is that host's.

use super::task::{Seats, Task};
use super::{Bind, hosts};
use crate::job::Config;
use crate::job::bytes::{Reader, Writer};
use crate::job::choice::Choices;
use crate::job::neighborhood::{RANK_COUNT_MAX, Secret, are_hosts};
use crate::transport::shm::layout::CHOICE_WORDS;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

/// The longest text, as of an argument: Linux has 128 KB.
const WORD_BYTES_MAX: usize = 128 * 1024;
const WORD_COUNT_MAX: usize = 64 * 1024;

/// How ranks may be bound, by number.
const BINDS: [Bind; 3] = [Bind::None, Bind::Core, Bind::Share];

/// The job, and the part of a host in it.
#[derive(Debug)]
pub(super) struct Order {
    pub task: Task,
    pub job: u64,
    /// What only ranks of the job know.
    pub secret: Secret,
    /// The host of each rank.
    pub host_of: Vec<u32>,
    /// Which of those the agent serves.
    pub host: usize,
    /// Its name, as the user has given it.
    pub name: String,
    /// Where programs are started.
    pub folder: OsString,
    /// Whether rank 0 is given input.
    pub has_input: bool,
}

impl Order {
    /// The ranks of the agent's host, and how many others are on its machine.
    pub fn seats(&self, machine_ranks: usize, machine_ranks_before: usize) -> Seats {
        let hosts = self.host_of.iter().max().map_or(0, |last| *last as usize + 1);
        let ranks = self.ranks();
        let (size, host) = (self.host_of.len(), Some(self.name.clone()));
        Seats { size, ranks, hosts, host, machine_ranks, machine_ranks_before }
    }

    /// The ranks of the agent's host.
    pub fn ranks(&self) -> Vec<usize> {
        hosts::ranks_of(&self.host_of, self.host)
    }

    pub fn encode(&self, out: &mut Writer) {
        let Task { program, arguments, variables, config, bind, tty } = &self.task;
        out.u64(self.job).raw(self.secret.bytes());
        out.count(self.host_of.len());
        self.host_of.iter().for_each(|host| {
            out.u32(*host);
        });
        out.count(self.host).bytes(self.name.as_bytes()).bytes(self.folder.as_bytes()).u8(u8::from(self.has_input));
        out.bytes(program.as_bytes()).count(arguments.len());
        arguments.iter().for_each(|argument| {
            out.bytes(argument.as_bytes());
        });
        out.count(variables.len());
        variables.iter().for_each(|(name, value)| {
            out.bytes(name.as_bytes()).bytes(value.as_bytes());
        });
        out.u64(config.ports as u64).u64(config.heap_bytes).u64(config.start_patience().as_millis() as u64);
        config.choices.words().iter().for_each(|word| {
            out.u64(*word);
        });
        out.u8(BINDS.iter().position(|it| it == bind).unwrap_or(0) as u8).u8(u8::from(*tty));
    }

    pub fn decode(from: &mut Reader<'_>) -> Option<Order> {
        let (job, secret) = (from.u64()?, Secret::from_bytes(from.array()?));
        let host_of = from.list(RANK_COUNT_MAX, Reader::u32).filter(|host_of| are_hosts(host_of))?;
        let host = from.u32()?;
        host_of.contains(&host).then_some(())?;
        let name = String::from_utf8(from.bytes(WORD_BYTES_MAX)?.to_vec()).ok()?;
        let (folder, has_input) = (word(from)?, from.u8()? != 0);
        let program = word(from)?;
        let arguments = from.list(WORD_COUNT_MAX, word)?;
        let variables = from.list(WORD_COUNT_MAX, |from| Some((variable(from)?, word(from)?)))?;
        let config = Config {
            ports: usize::try_from(from.u64()?).ok()?,
            heap_bytes: from.u64()?,
            start_timeout: Duration::from_millis(from.u64()?),
            choices: {
                let mut words = [0; CHOICE_WORDS];
                for word in &mut words {
                    *word = from.u64()?;
                }
                Choices::from_words(words)
            },
        };
        let bind = *BINDS.get(from.u8()? as usize)?;
        let tty = from.u8()? != 0;
        let task = Task { program, arguments, variables, config, bind, tty };
        Some(Order { task, job, secret, host_of, host: host as usize, name, folder, has_input })
    }
}

/// A word of a command line: without the byte that would end it.
fn word(from: &mut Reader<'_>) -> Option<OsString> {
    let bytes = from.bytes(WORD_BYTES_MAX)?;
    (!bytes.contains(&0)).then(|| OsString::from_vec(bytes.to_vec()))
}

/// The name of a variable.
fn variable(from: &mut Reader<'_>) -> Option<OsString> {
    word(from).filter(|name| !name.is_empty() && !name.as_bytes().contains(&b'='))
}

#[cfg(test)]
pub(super) fn sample() -> Order {
    let variables = vec![("HIKYAKU_TEST".into(), "1".into())];
    let task = Task {
        program: "./solver".into(),
        arguments: vec!["in put".into(), "".into()],
        variables,
        config: Config::default(),
        bind: Bind::Core,
        tty: true,
    };
    let secret = Secret::from_bytes([5; 32]);
    let (name, folder) = ("b".into(), "/work".into());
    Order { task, job: 77, secret, host_of: vec![0, 1, 0, 2], host: 1, name, folder, has_input: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_names_the_ranks_of_its_host() {
        let seats = Order { host: 0, ..sample() }.seats(2, 0);
        assert_eq!((seats.size, seats.ranks, seats.hosts), (4, vec![0, 2], 3));
    }

    #[test]
    fn orders_that_cannot_be_are_refused() {
        let read = |order: Order| {
            let mut out = Writer::new();
            order.encode(&mut out);
            Order::decode(&mut Reader::new(&out.finish())).is_some()
        };
        assert!(read(sample()));
        assert!(!read(Order { host: 3, ..sample() }), "a host without ranks");
        assert!(!read(Order { host_of: vec![0, 2], ..sample() }), "a host nobody is on");
        assert!(!read(Order { folder: OsString::from_vec(b"a\0b".to_vec()), ..sample() }));
        let task = Task { variables: vec![("A=B".into(), "1".into())], ..sample().task };
        assert!(!read(Order { task, ..sample() }));
    }
}
