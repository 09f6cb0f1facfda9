//! PMI-1: one line per question, one line per answer, words of the form `key=value`, on a socket inherited from the launcher.
//!
//! ```text
//!   cmd=init pmi_version=1 pmi_subversion=1      cmd=response_to_init rc=0 pmi_version=1 ...
//!   cmd=get_my_kvsname                           cmd=my_kvsname kvsname=...
//!   cmd=put kvsname=... key=... value=...        cmd=put_result rc=0
//!   cmd=barrier_in                               cmd=barrier_out      when all ranks have asked
//!   cmd=get kvsname=... key=...                  cmd=get_result rc=0 value=...
//!   cmd=finalize                                 cmd=finalize_ack
//! ```
//! An MPI library in this process speaks on the same socket. It finds nothing changed: hydra answers `init` as often as it is
//! asked, every answer is read to its last byte and no further, and `finalize` is left to it; without MPI it is said at the end
//! of the process. Only no other thread may be inside an MPI call meanwhile.

use super::{Exchange, mapping, mpi, nobody_came, unusable};
use crate::error::{Error, Result};
use crate::job::{inherited, wire};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

const PROTOCOL: &str = "PMI-1";
/// The key under which hydra says which rank is on which host.
const MAPPING_KEY: &str = "PMI_process_mapping";
/// Longer lines than any launcher sends.
const LINE_BYTES_MAX: usize = 8192;
/// How long the launcher may take for an answer that needs nobody else.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// How long it may take for the last one.
const GOODBYE_TIME: Duration = Duration::from_secs(1);

/// The socket to the launcher, and what it has said at the start.
pub struct Text {
    socket: OwnedFd,
    rank: usize,
    size: usize,
    space: String,
}

impl Text {
    /// Introduces this process.
    pub fn open() -> Result<Text> {
        let (rank, size) = (number("PMI_RANK")?, number("PMI_SIZE")?);
        if rank >= size {
            return Err(unusable(PROTOCOL, format!("it says that this is rank {rank} of {size}")));
        }
        let mut text = Text { socket: own_socket(number("PMI_FD")?)?, rank, size, space: String::new() };
        let version = text.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init")?;
        if version.get("pmi_version") != Some("1") {
            return Err(unusable(PROTOCOL, "it speaks another version of the protocol"));
        }
        let space = text.ask("cmd=get_my_kvsname", "my_kvsname")?;
        text.space = space.get("kvsname").ok_or_else(|| unusable(PROTOCOL, "it has no room for keys"))?.to_owned();
        Ok(text)
    }

    fn look_up(&self, key: &str) -> Result<Option<String>> {
        let line = self.converse(&format!("cmd=get kvsname={} key={key}", self.space), soon())?;
        let answer = Answer::parse(line, "get_result")?;
        Ok(answer.is_success().then(|| answer.get("value").unwrap_or_default().to_owned()))
    }

    /// Asks a question that must succeed.
    fn ask(&self, question: &str, kind: &str) -> Result<Answer> {
        let answer = Answer::parse(self.converse(question, soon())?, kind)?;
        if answer.is_success() { Ok(answer) } else { Err(unusable(PROTOCOL, format!("it refuses {question}"))) }
    }

    /// A question and its answer, if it comes in time.
    fn converse(&self, question: &str, deadline: Instant) -> Result<Option<String>> {
        let line = format!("{question}\n");
        let mut left = line.as_bytes();
        while !left.is_empty() {
            match rustix::net::send(&self.socket, left, SendFlags::NOSIGNAL) {
                Ok(sent) => left = &left[sent..],
                Err(Errno::INTR) => {}
                Err(error) => return Err(lost(error)),
            }
        }
        self.read_line(deadline)
    }

    fn read_line(&self, deadline: Instant) -> Result<Option<String>> {
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') {
            if !wire::await_input(&mut [PollFd::new(&self.socket, PollFlags::IN)], deadline)? {
                return Ok(None);
            }
            let mut buffer = [0; 1024];
            let seen = match rustix::net::recv(&self.socket, &mut buffer, RecvFlags::PEEK) {
                Ok((_, 0)) => return Err(unusable(PROTOCOL, "the launcher has closed its socket")),
                Ok((_, seen)) => seen,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(lost(error)),
            };
            // What follows the line belongs to whoever asks next.
            let wanted = buffer[..seen].iter().position(|byte| *byte == b'\n').map_or(seen, |end| end + 1);
            match rustix::net::recv(&self.socket, &mut buffer[..wanted], RecvFlags::empty()) {
                Ok((_, taken)) => line.extend_from_slice(&buffer[..taken]),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(lost(error)),
            }
            if line.len() > LINE_BYTES_MAX {
                return Err(unusable(PROTOCOL, "it sends endless lines"));
            }
        }
        String::from_utf8(line).map(Some).map_err(|_| unusable(PROTOCOL, "it does not send text"))
    }
}

impl Exchange for Text {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn spans_hosts(&self) -> Result<bool> {
        let mapping = self.look_up(MAPPING_KEY)?;
        Ok(mapping.and_then(|text| mapping::spans_hosts(&text, self.size)).unwrap_or(true))
    }

    fn put(&self, topic: &str, text: &str) -> Result<()> {
        let line = format!("cmd=put kvsname={} key={} value={text}", self.space, key(self.rank, topic));
        let answer = Answer::parse(self.converse(&line, soon())?, "put_result")?;
        // The text may be a secret, so it is not shown.
        if answer.is_success() { Ok(()) } else { Err(unusable(PROTOCOL, format!("it does not pass on a {topic}"))) }
    }

    fn fence(&self, deadline: Instant) -> Result<()> {
        let line = self.converse("cmd=barrier_in", deadline)?.ok_or_else(|| nobody_came(PROTOCOL))?;
        Answer::parse(Some(line), "barrier_out").map(drop)
    }

    fn get(&self, rank: usize, topic: &str) -> Result<String> {
        let found = self.look_up(&key(rank, topic))?;
        found.ok_or_else(|| unusable(PROTOCOL, format!("it has lost the {topic} of rank {rank}")))
    }

    fn say_goodbye(&self) {
        // MPI says it itself, some libraries as late as now, and would be ended by a signal if nobody listened any more.
        if !mpi::was_initialized() {
            let _ = self.converse("cmd=finalize", Instant::now() + GOODBYE_TIME);
        }
    }
}

/// The key of what a rank says on a topic: all ranks share one space of keys.
fn key(rank: usize, topic: &str) -> String {
    format!("hikyaku-{topic}-{rank}")
}

/// The words of one line.
struct Answer(Vec<(String, String)>);

impl Answer {
    /// The words of `line`, which must be an answer of this kind.
    fn parse(line: Option<String>, kind: &str) -> Result<Answer> {
        let line = line.ok_or_else(|| unusable(PROTOCOL, "it does not answer"))?;
        let words = line.split_whitespace().filter_map(|word| word.split_once('='));
        let answer = Answer(words.map(|(key, value)| (key.to_owned(), value.to_owned())).collect());
        if answer.get("cmd") != Some(kind) {
            return Err(unusable(PROTOCOL, format!("it answers {:?} where {kind} was expected", line.trim_end())));
        }
        Ok(answer)
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    fn is_success(&self) -> bool {
        self.get("rc").is_none_or(|code| code == "0")
    }
}

fn soon() -> Instant {
    Instant::now() + ANSWER_TIME
}

fn number<T: std::str::FromStr>(variable: &str) -> Result<T> {
    let text = std::env::var(variable).unwrap_or_default();
    text.trim().parse().map_err(|_| unusable(PROTOCOL, format!("{variable}={text} is no number")))
}

/// A descriptor of our own for the socket: MPI closes the other one when it ends.
fn own_socket(number: i32) -> Result<OwnedFd> {
    let refused = |error| unusable(PROTOCOL, format!("PMI_FD={number} cannot be used ({error})"));
    inherited::copy_socket(number).map_err(refused)
}

fn lost(error: Errno) -> Error {
    unusable(PROTOCOL, format!("its socket fails ({error})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType};

    /// A client, and the launcher's end of its socket.
    fn pair() -> (Text, OwnedFd) {
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        (Text { socket: ours, rank: 0, size: 2, space: "space".into() }, theirs)
    }

    fn say(launcher: &OwnedFd, text: &str) {
        assert_eq!(rustix::net::send(launcher, text.as_bytes(), SendFlags::empty()), Ok(text.len()));
    }

    fn briefly() -> Instant {
        Instant::now() + Duration::from_millis(50)
    }

    #[test]
    fn answers_are_read_to_their_end_and_no_further() {
        let (client, launcher) = pair();
        let long = "x".repeat(3000);
        say(&launcher, &format!("cmd=get_result rc=0 msg=success value={long}\ncmd=next\n"));
        assert_eq!(client.look_up("key").unwrap(), Some(long));
        assert_eq!(client.read_line(briefly()).unwrap().as_deref(), Some("cmd=next\n"));
    }

    #[test]
    fn a_missing_key_is_no_error_and_a_refusal_is_one() {
        let (client, launcher) = pair();
        say(&launcher, "cmd=put_result rc=-1\n");
        let error = client.put("terms", "a-secret").unwrap_err().to_string();
        assert!(error.contains("terms") && !error.contains("a-secret"), "{error}");
        say(&launcher, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
        assert_eq!(client.look_up("key").unwrap(), None);
        say(&launcher, "cmd=put_result rc=-1\n");
        assert!(client.ask("cmd=put", "put_result").is_err());
    }

    #[test]
    fn a_rank_speaks_and_all_hear() {
        let (client, launcher) = pair();
        say(&launcher, "cmd=put_result rc=0\ncmd=barrier_out\ncmd=get_result rc=0 value=word\n");
        client.put("card", "word").unwrap();
        client.fence(briefly()).unwrap();
        assert_eq!(client.get(7, "card").unwrap(), "word");
        let mut asked = [0; 1024];
        let (_, bytes) = rustix::net::recv(&launcher, &mut asked, RecvFlags::empty()).unwrap();
        let expected = "cmd=put kvsname=space key=hikyaku-card-0 value=word\ncmd=barrier_in\n\
                        cmd=get kvsname=space key=hikyaku-card-7\n";
        assert_eq!(std::str::from_utf8(&asked[..bytes]).unwrap(), expected);
    }

    #[test]
    fn nonsense_and_an_end_are_errors() {
        for answer in ["\n", "cmd=other rc=0\n", "no words at all\n", "=\n", "cmd\n"] {
            let (client, launcher) = pair();
            say(&launcher, answer);
            assert!(client.fence(briefly()).is_err(), "{answer:?}");
        }
        let (client, launcher) = pair();
        drop(launcher);
        assert!(client.fence(briefly()).is_err());
        let (client, launcher) = pair();
        let endless = move || while rustix::net::send(&launcher, &[b'x'; 512], SendFlags::NOSIGNAL).is_ok() {};
        let feeder = std::thread::spawn(endless);
        assert!(client.read_line(soon()).is_err());
        drop(client);
        feeder.join().unwrap();
    }

    /// A launcher that says anything, and then no more.
    #[test]
    fn fuzz_pmi_text() {
        let samples = [
            "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\ncmd=my_kvsname kvsname=space\n",
            "cmd=put_result rc=0\ncmd=barrier_out\ncmd=get_result rc=0 value=word\n",
            "cmd=get_result rc=0 msg=success value=(vector,(0,1,4),(1,2,3))\n",
            "cmd=get_result rc=-1 msg=key_not_found value=unknown\n",
        ];
        crate::fuzz::run("pmi-text", &samples.map(|text| text.as_bytes().to_vec()), |input| {
            let (client, launcher) = pair();
            let _ = rustix::net::send(&launcher, input, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
            let _ = rustix::net::shutdown(&launcher, rustix::net::Shutdown::Write);
            match input.len() % 3 {
                0 => {
                    let told = client.put("card", "word").and_then(|()| client.fence(soon()));
                    drop(told.and_then(|()| client.get(1, "card")));
                }
                1 => drop(client.spans_hosts()),
                _ => drop(
                    client.ask("cmd=init", "response_to_init").map(|answer| answer.get("pmi_version") == Some("1")),
                ),
            }
            let text = String::from_utf8_lossy(input);
            let _ = mapping::spans_hosts(&text, input.len());
        });
    }

    #[test]
    fn ranks_that_do_not_come_are_missed() {
        let (client, launcher) = pair();
        say(&launcher, "cmd=barrier_");
        let error = client.fence(briefly()).unwrap_err().to_string();
        assert!(error.contains("every rank must start hikyaku"), "{error}");
    }
}
