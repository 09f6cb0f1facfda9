//! Choices that were measured (`hikyaku tune`), in a file of one section per machine.
//!
//! ```text
//! [[machine]]
//! host = "name"
//! cores = 2
//! measured = 1794718800
//! choices = [
//!     "broadcast 16 524288 stage",
//!     "broadcast 16 524288 leaders udp",
//! ]
//! ```
//! A choice names the call, the largest number of ranks and of bytes of its class (or `more`), and the version; one between hosts also the
//! network that it was measured on.

use super::address;
use super::choice::{Call, Choices, Version};
use super::topology;
use crate::transport::endpoints;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Once;

/// Names another file than the usual one.
pub const FILE_VARIABLE: &str = "HIKYAKU_TUNE";

/// What choices depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its name.
    pub host: String,
    /// Cores that ranks may use.
    pub cores: usize,
}

impl Machine {
    /// This one.
    pub fn here() -> Machine {
        let name = rustix::system::uname();
        let host: String = name.nodename().to_string_lossy().chars().filter(|c| !c.is_control() && *c != '"').collect();
        Machine { host, cores: topology::cores().len() }
    }
}

/// What was measured on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuned {
    /// Where.
    pub machine: Machine,
    /// When: seconds since 1970.
    pub measured: u64,
    /// What came out on one host.
    pub choices: Choices,
    /// What came out between hosts, by the name of the network.
    pub between: BTreeMap<String, Choices>,
}

impl Default for Tuned {
    /// Nothing, of this machine.
    fn default() -> Tuned {
        Tuned { machine: Machine::here(), measured: 0, choices: Choices::default(), between: BTreeMap::new() }
    }
}

impl Tuned {
    /// The choices for jobs on one host, and over this network.
    pub fn over(&self, network: &str) -> Choices {
        self.between.get(network).map_or(self.choices, |far| self.choices.with_far(far))
    }

    /// Takes over what was measured: a choice between hosts for this network.
    pub fn set(&mut self, network: &str, call: Call, ranks: usize, bytes: usize, version: Version) {
        let choices = match version.is_far() {
            true => self.between.entry(network.into()).or_default(),
            false => &mut self.choices,
        };
        choices.set(call, ranks, bytes, version);
    }

    /// The network that jobs over hosts use which are started here, as choices name it.
    pub fn network_here() -> String {
        address::of_this_host().map_or_else(|_| endpoints::USUAL.into(), endpoints::expected)
    }

    /// The choices that hold for jobs that are started here.
    pub fn choices_here() -> Choices {
        let Some(tuned) = Tuned::here() else { return Choices::default() };
        // Looking for adapters takes longer than all the rest.
        if tuned.between.is_empty() { tuned.choices } else { tuned.over(&Tuned::network_here()) }
    }

    /// The file: what `HIKYAKU_TUNE` names, or `hikyaku/tune.toml` in the user's configuration. `None` without a home.
    pub fn path() -> Option<PathBuf> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = || set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")));
        set(FILE_VARIABLE).or_else(|| Some(folder()?.join("hikyaku").join("tune.toml")))
    }

    /// What was measured on this machine, if there is a file that tells. One that cannot be understood is warned of, once.
    pub fn here() -> Option<Tuned> {
        let path = Tuned::path()?;
        match Tuned::load(&path) {
            Ok(all) => all.into_iter().find(|tuned| tuned.machine == Machine::here()),
            Err(problem) => {
                static WARNED: Once = Once::new();
                WARNED.call_once(|| {
                    // Without a standard error there is nobody to tell.
                    let _ = writeln!(std::io::stderr(), "hikyaku: {problem}; the built-in choices are used");
                });
                None
            }
        }
    }

    /// What a file tells, of all machines; nothing if there is none.
    pub fn load(path: &Path) -> Result<Vec<Tuned>, String> {
        match read(path) {
            Ok(text) => parse(&text).map_err(|(line, problem)| format!("{}, line {line}: {problem}", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
        }
    }

    /// Fails if [`Tuned::save`] could not write the file, which is found out before anything is measured.
    pub fn check_writable(path: &Path) -> std::io::Result<()> {
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Err(no_file());
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let new = new_name(path);
        std::fs::File::create(&new)?;
        std::fs::remove_file(new)
    }

    /// Writes this into a file, in the place of what it told of the same machine. A file that cannot be understood is
    /// written anew.
    pub fn save(&self, path: &Path) -> std::io::Result<()> {
        let mut all = Tuned::load(path).unwrap_or_default();
        all.retain(|other| other.machine != self.machine);
        all.push(self.clone());
        let text: String = all.iter().map(Tuned::to_text).collect();
        // What is no file must not be put away for one.
        Tuned::check_writable(path)?;
        // Whoever reads it meanwhile sees the old one or the new one.
        let new = new_name(path);
        std::fs::write(&new, format!("# Which version of a collective is used; written by `hikyaku tune`.\n{text}"))?;
        std::fs::rename(&new, path)
    }

    fn to_text(&self) -> String {
        let Tuned { machine: Machine { host, cores }, measured, choices, between } = self;
        let lines = |choices: &Choices, network: &str| {
            let line = |(call, ranks, bytes, version): (Call, usize, usize, Version)| {
                let (ranks, bytes) = (limit_text(ranks), limit_text(bytes));
                format!("    \"{} {ranks} {bytes} {}{network}\",\n", call.name(), version.name())
            };
            choices.iter().map(line).collect::<String>()
        };
        let between = between.iter().map(|(network, choices)| lines(choices, &format!(" {network}")));
        let choices: String = std::iter::once(lines(choices, "")).chain(between).collect();
        format!("\n[[machine]]\nhost = \"{host}\"\ncores = {cores}\nmeasured = {measured}\nchoices = [\n{choices}]\n")
    }
}

const UNLIMITED: &str = "more";

fn limit_text(limit: usize) -> String {
    if limit == usize::MAX { UNLIMITED.into() } else { limit.to_string() }
}

/// The part of TOML that is written here; or the line that is something else.
fn parse(text: &str) -> Result<Vec<Tuned>, (usize, String)> {
    let mut all: Vec<Tuned> = Vec::new();
    let mut in_list = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let wrong = |problem: &str| (index + 1, format!("{problem}: {line}"));
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line == "[[machine]]" && !in_list {
            let machine = Machine { host: String::new(), cores: 0 };
            all.push(Tuned { machine, ..Tuned::default() });
            continue;
        }
        let tuned = all.last_mut().ok_or_else(|| wrong("no machine"))?;
        if in_list {
            in_list = line != "]";
            if in_list {
                let choice = line.strip_suffix(',').unwrap_or(line);
                let choice = choice.strip_prefix('"').and_then(|choice| choice.strip_suffix('"'));
                let (call, ranks, bytes, version, network) =
                    choice.and_then(parse_choice).ok_or_else(|| wrong("no choice"))?;
                tuned.set(network, call, ranks, bytes, version);
            }
            continue;
        }
        let (key, value) = line.split_once('=').ok_or_else(|| wrong("not understood"))?;
        let (key, value) = (key.trim(), value.trim());
        match key {
            "host" => {
                let host = value.strip_prefix('"').and_then(|host| host.strip_suffix('"'));
                tuned.machine.host = host.ok_or_else(|| wrong("no name"))?.into();
            }
            "cores" => tuned.machine.cores = value.parse().map_err(|_| wrong("no number"))?,
            "measured" => tuned.measured = value.parse().map_err(|_| wrong("no number"))?,
            "choices" if value == "[" => in_list = true,
            _ => return Err(wrong("not understood")),
        }
    }
    match in_list {
        true => Err((text.lines().count(), "the file ends in the middle".into())),
        false => Ok(all),
    }
}

fn parse_choice(text: &str) -> Option<(Call, usize, usize, Version, &str)> {
    let limit = |text: &str| if text == UNLIMITED { Some(usize::MAX) } else { text.parse().ok() };
    let mut words = text.split_whitespace();
    let call = words.next().and_then(|name| Call::ALL.into_iter().find(|call| call.name() == name))?;
    let (ranks, bytes) = (words.next().and_then(limit)?, words.next().and_then(limit)?);
    let version = words.next().and_then(Version::named)?;
    let network = match version.is_far() {
        // Those without a name are from when there was no other network.
        true => words.next().unwrap_or(endpoints::USUAL),
        false => "",
    };
    let is_name = network.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
    (is_name && words.next().is_none() && call.has(version, bytes)).then_some((call, ranks, bytes, version, network))
}

/// The longest file that is read: one of some hundred machines.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Reads a file, and nothing else: a device may have no end, and a pipe no writer.
fn read(path: &Path) -> std::io::Result<String> {
    // Opening a pipe would wait for a writer without this.
    let file = std::fs::File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(no_file());
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    match text.len() as u64 <= FILE_BYTES_MAX {
        true => Ok(text),
        false => Err(std::io::Error::other("it is longer than 1 MB")),
    }
}

fn no_file() -> std::io::Error {
    std::io::Error::other("it is no file")
}

/// Where a file is written before it takes its place.
fn new_name(path: &Path) -> PathBuf {
    path.with_extension(format!("new.{}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that somebody else has written.
    #[test]
    fn fuzz_tune() {
        let written = |version| tuned("host", version).to_text().into_bytes();
        let mut samples = Version::ALL.map(written).to_vec();
        samples.extend(Version::FAR.map(written));
        samples
            .push(b"# text\n[[machine]]\nhost = \"a b\"\nchoices = [\n    \"broadcast 16 more stage\",\n]\n".to_vec());
        crate::fuzz::run("tune", &samples, |input| {
            let text = String::from_utf8_lossy(input);
            let Ok(all) = parse(&text) else { return };
            for tuned in all {
                for (call, _, bytes, version) in tuned.between.values().chain([&tuned.choices]).flat_map(Choices::iter)
                {
                    assert!(call.has(version, bytes));
                }
                for (network, far) in &tuned.between {
                    for (call, ranks, bytes, version) in far.iter() {
                        assert_eq!(tuned.over(network).get_far(call, ranks, bytes), Some(version));
                    }
                }
                // Names are written as they were read, unless they end what they stand in.
                if !tuned.machine.host.contains('\r') {
                    assert_eq!(parse(&tuned.to_text()), Ok(vec![tuned]));
                }
            }
        });
    }

    fn tuned(host: &str, version: Version) -> Tuned {
        let machine = Machine { host: host.into(), cores: 3 };
        let mut tuned = Tuned { machine, measured: 1_794_718_800, ..Tuned::default() };
        for (call, ranks, bytes, version) in Choices::all(version).iter() {
            tuned.set("ofi:tcp;ofi_rxm", call, ranks, bytes, version);
        }
        tuned
    }

    #[test]
    fn choices_between_hosts_hold_for_the_network_that_they_were_measured_on() {
        let mut tuned = tuned("a", Version::Flat);
        tuned.set("udp", Call::Reduce, 4, 64, Version::Leaders);
        tuned.set("udp", Call::Reduce, 4, 64, Version::Tree);
        let again = parse(&tuned.to_text()).unwrap().pop().unwrap();
        assert_eq!(again, tuned);
        let version = |network: &str| again.over(network).get_far(Call::Reduce, 4, 64);
        assert_eq!(
            ["udp", "ofi:tcp;ofi_rxm", "ofi:verbs;ofi_rxm"].map(version),
            [Some(Version::Leaders), Some(Version::Flat), None]
        );
        let near = |network: &str| again.over(network).get(Call::Reduce, 4, 64);
        assert_eq!(["udp", "post"].map(near), [Some(Version::Tree); 2]);
        let old = "[[machine]]\nhost = \"a\"\nchoices = [\n\"barrier 2 64 flat\",\n]\n";
        assert_eq!(parse(old).unwrap()[0].over("udp").get_far(Call::Barrier, 2, 64), Some(Version::Flat));
    }

    #[test]
    fn a_file_keeps_what_is_known_of_each_machine() {
        let folder = std::env::temp_dir().join(format!("hikyaku-tune-{}", std::process::id()));
        let path = folder.join("inner").join("tune.toml");
        assert_eq!(Tuned::load(&path), Ok(vec![]));
        tuned("a", Version::Tree).save(&path).unwrap();
        tuned("b", Version::Stage).save(&path).unwrap();
        tuned("a", Version::Direct).save(&path).unwrap();
        assert_eq!(Tuned::load(&path), Ok(vec![tuned("b", Version::Stage), tuned("a", Version::Direct)]));
        // A damaged one is told of, and replaced.
        std::fs::write(&path, "[[machine]]\nhost = \"a\"\nchoices = [\n").unwrap();
        let problem = Tuned::load(&path).unwrap_err();
        assert!(problem.contains("tune.toml, line 3: the file ends in the middle"), "{problem}");
        tuned("a", Version::Tree).save(&path).unwrap();
        assert_eq!(Tuned::load(&path), Ok(vec![tuned("a", Version::Tree)]));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn every_line_is_checked() {
        let section = |line: &str| format!("[[machine]]\nhost = \"a\"\ncores = 1\nchoices = [\n{line}\n]\n");
        assert!(
            parse(&section("\"barrier 2 64 tree\",")).is_ok() && parse(&section("\"barrier 2 64 flat udp\",")).is_ok()
        );
        for line in [
            "barrier 2 64 tree",
            "\"barrier 2 64 stage\",",
            "\"barrier 2 64\",",
            "\"barrier two 64 tree\",",
            "\"dance 2 64 tree\",",
            "\"barrier 2 64 tree 5\",",
            "\"barrier 2 64 flat udp 5\",",
            "\"barrier 2 64 flat u\"p\",",
        ] {
            assert_eq!(parse(&section(line)).unwrap_err().0, 5, "{line}");
        }
        assert_eq!(parse("host = \"a\"").unwrap_err().0, 1);
        assert_eq!(parse("[[machine]]\ncores = many").unwrap_err().0, 2);
        assert_eq!(parse("[[machine]]\nweather = 3").unwrap_err().0, 2);
    }
}
