//! What ranks say of themselves through a launcher of another library: texts of one word, in characters that no launcher minds.
//!
//! Each begins with the format of whoever says it, so that a rank of another version is known as such whatever follows.

use super::bytes::{Reader, Writer};
use super::choice::Choices;
use super::neighborhood::Secret;
use super::wire::{self, ENDPOINT_BYTES_MAX};
use crate::error::{Error, Result};
use crate::ni::random;
use crate::transport::shm::layout::{CHOICE_WORDS, FORMAT};
use rustix::net::SocketAddrUnix;

/// Bytes of the longest name of a host.
const HOST_BYTES_MAX: usize = 128;
/// What a rank says instead if it cannot take part.
pub(super) const FAILED: &str = "hikyaku/failed";

/// Where a rank is, and how it is reached there and from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Card {
    pub host: String,
    /// The name of the socket at which it hands out memory, should that be its part.
    pub name: u64,
    /// What whoever comes to that socket must know.
    pub secret: u64,
    /// How its transport is reached; empty if it has none.
    pub endpoint: Box<[u8]>,
}

impl Card {
    /// A card of this process.
    pub fn new(endpoint: &[u8]) -> Result<Card> {
        Ok(Card { host: host()?, name: random()?, secret: random()?, endpoint: endpoint.into() })
    }

    pub fn text(&self) -> String {
        let mut writer = Writer::new();
        writer.bytes(self.host.as_bytes()).u64(self.name).u64(self.secret).bytes(&self.endpoint);
        to_text(&writer.finish())
    }

    /// Reads the card of a rank.
    pub fn parse(rank: usize, text: &str) -> Result<Card> {
        let bytes = from_text(rank, text)?;
        let mut reader = Reader::new(&bytes);
        let read = |reader: &mut Reader<'_>| {
            let host = std::str::from_utf8(reader.bytes(HOST_BYTES_MAX)?).ok()?.to_owned();
            let (name, secret) = (reader.u64()?, reader.u64()?);
            let endpoint = reader.bytes(ENDPOINT_BYTES_MAX)?.into();
            reader.end(Card { host, name, secret, endpoint })
        };
        read(&mut reader).ok_or_else(|| strange(rank))
    }

    /// An address that is in no file system and goes with its socket.
    pub fn address(&self) -> Result<SocketAddrUnix> {
        let name = format!("hikyaku-{:016x}", self.name);
        SocketAddrUnix::new_abstract_name(name.as_bytes()).map_err(|e| Error::system("bind", e))
    }

    /// The machine of the host: several hosts may share one, if they are namespaces of it.
    pub fn machine(&self) -> &str {
        self.host.split('.').next().unwrap_or_default()
    }
}

/// What rank 0 decides for all, if they are on several hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    /// What proves that somebody belongs to the job.
    pub secret: Secret,
    pub job: u64,
    pub ports: u64,
    pub heap_bytes: u64,
    pub start_timeout_ms: u64,
}

impl Terms {
    pub fn text(&self) -> String {
        let mut writer = Writer::new();
        writer.raw(self.secret.bytes()).u64(self.job).u64(self.ports).u64(self.heap_bytes).u64(self.start_timeout_ms);
        to_text(&writer.finish())
    }

    pub fn parse(text: &str) -> Result<Terms> {
        let bytes = from_text(0, text)?;
        let mut reader = Reader::new(&bytes);
        let read = |reader: &mut Reader<'_>| {
            let secret = Secret::from_bytes(reader.array()?);
            let (job, ports) = (reader.u64()?, reader.u64()?);
            let (heap_bytes, start_timeout_ms) = (reader.u64()?, reader.u64()?);
            reader.end(Terms { secret, job, ports, heap_bytes, start_timeout_ms })
        };
        read(&mut reader).ok_or_else(|| strange(0))
    }
}

/// The choices of rank 0, by which all go.
pub(super) fn choices_text(choices: &Choices) -> String {
    let mut writer = Writer::new();
    for word in choices.words() {
        writer.u64(word);
    }
    to_text(&writer.finish())
}

/// Reads them.
pub(super) fn parse_choices(text: &str) -> Result<[u64; CHOICE_WORDS]> {
    let bytes = from_text(0, text)?;
    let mut reader = Reader::new(&bytes);
    let words: Option<Vec<u64>> = (0..CHOICE_WORDS).map(|_| reader.u64()).collect();
    let words = words.and_then(|words| reader.end(words)).and_then(|words| words.try_into().ok());
    words.ok_or_else(|| strange(0))
}

/// One number.
pub(super) fn number_text(number: u64) -> String {
    to_text(&number.to_le_bytes())
}

/// Reads it.
pub(super) fn parse_number(rank: usize, text: &str) -> Result<u64> {
    let bytes = from_text(rank, text)?;
    bytes.try_into().map(u64::from_le_bytes).map_err(|_| strange(rank))
}

fn to_text(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("hikyaku/{FORMAT}/{digits}")
}

fn from_text(rank: usize, text: &str) -> Result<Vec<u8>> {
    if text == FAILED {
        return Err(cannot(rank));
    }
    let mut parts = text.split('/');
    let (Some("hikyaku"), Some(format), Some(digits)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(strange(rank));
    };
    let format = format.parse().map_err(|_| strange(rank))?;
    if format != FORMAT {
        return Err(wire::other_format(&format!("rank {rank}"), format));
    }
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
    bytes.filter(|_| digits.len().is_multiple_of(2) && parts.next().is_none()).ok_or_else(|| strange(rank))
}

/// What a rank says is not shown: it may be a secret.
fn strange(rank: usize) -> Error {
    Error::Launcher { reason: format!("what rank {rank} says through the launcher is nothing that a rank says") }
}

/// The rank has said that it has failed.
pub(super) fn cannot(rank: usize) -> Error {
    Error::Launcher {
        reason: format!("rank {rank} cannot make the job's memory, or take part; its own error says why"),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    /// What PMI-1 carries.
    const VALUE_BYTES_MAX: usize = 1024;

    fn check(text: &str) {
        assert!(text.chars().all(|c| c.is_ascii_graphic() && c != '=' && c != ';'), "{text}");
        assert!(text.len() < VALUE_BYTES_MAX, "{} bytes", text.len());
    }

    fn terms() -> Terms {
        let secret = Secret::random().unwrap();
        Terms { secret, job: 5, ports: 16, heap_bytes: u64::MAX, start_timeout_ms: 30_000 }
    }

    #[test]
    fn what_is_said_is_one_word_and_comes_back() {
        let card = Card::new(&[7; ENDPOINT_BYTES_MAX]).unwrap();
        check(&card.text());
        assert_eq!(Card::parse(3, &card.text()).unwrap(), card);
        assert!(card.host.len() <= HOST_BYTES_MAX && card.host.starts_with(card.machine()));
        let terms = terms();
        check(&terms.text());
        assert_eq!(Terms::parse(&terms.text()).unwrap(), terms);
        let choices = Choices::default();
        check(&choices_text(&choices));
        assert_eq!(parse_choices(&choices_text(&choices)).unwrap(), choices.words());
        assert_eq!(parse_number(3, &number_text(77)).unwrap(), 77);
    }

    #[test]
    fn other_words_are_refused() {
        let right = Card::new(b"udp:10.0.0.1:4000").unwrap().text();
        let (longer, odd) = (format!("{right}00"), format!("{right}0"));
        for text in ["", "hikyaku", "hikyaku/x/00", "other/9/00", &right[..right.len() - 2], &longer, &odd] {
            assert!(Card::parse(1, text).is_err(), "{text}");
        }
        let newer = right.replacen(&format!("/{FORMAT}/"), &format!("/{}/", FORMAT + 1), 1);
        let error = Card::parse(1, &newer).unwrap_err().to_string();
        assert!(error.contains("rebuild") && error.contains("rank 1"), "{error}");
        let error = Card::parse(4, FAILED).unwrap_err().to_string();
        assert!(error.contains("rank 4 cannot"), "{error}");
    }

    #[test]
    fn secrets_are_not_shown() {
        let terms = terms();
        let digits: String = terms.secret.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        let spoiled = format!("{}00", terms.text());
        assert!(spoiled.contains(&digits));
        let error = format!("{:?}", Terms::parse(&spoiled).unwrap_err());
        assert!(!error.contains(&digits) && !format!("{terms:?}").contains(&digits));
    }

    #[test]
    fn fuzz_cards() {
        let card = Card::new(b"udp:10.0.0.1:4000").unwrap();
        let samples = [card.text(), terms().text(), choices_text(&Choices::default()), number_text(5), FAILED.into()];
        crate::fuzz::run("cards", &samples.map(String::into_bytes), |input| {
            let text = String::from_utf8_lossy(input);
            if let Ok(card) = Card::parse(1, &text) {
                assert_eq!(Card::parse(1, &card.text()).unwrap(), card);
                card.address().unwrap();
            }
            let _ = (Terms::parse(&text), parse_choices(&text), parse_number(2, &text));
        });
    }
}
