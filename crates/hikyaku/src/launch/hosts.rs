//! Which ranks run on which hosts.
//!
//! ```text
//!   a:2,b,a:1        ranks 0 and 1 on a, 2 on b, 3 on a
//! ```
//! A file says the same in lines: `a 2`, `a slots=2`, `a:2` or `a`; what follows a `#` is a remark.

use crate::error::{Error, Result};
use crate::job::neighborhood::RANK_COUNT_MAX;

/// Hosts and their ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    names: Vec<String>,
    host_of: Vec<u32>,
}

impl Hosts {
    /// Reads a list as `a:2,b:2`: hosts in the order of ranks, each with its number of ranks, 1 if none is said. A host may
    /// come again. A name with colons stands in brackets: `[fe80::1]:2`.
    pub fn parse(list: &str) -> Result<Hosts> {
        let mut hosts = Hosts { names: Vec::new(), host_of: Vec::new() };
        for entry in list.split(',') {
            let (name, slots) = name_and_slots(entry.trim())?;
            hosts.add(name, slots)?;
        }
        Ok(hosts)
    }

    /// Reads the text of a file of hosts.
    pub fn from_lines(text: &str) -> Result<Hosts> {
        let mut hosts = Hosts { names: Vec::new(), host_of: Vec::new() };
        for (line, number) in text.lines().zip(1..) {
            let words: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().collect();
            let at_line = |error: Error| invalid(format!("line {number}: {error}"));
            let (name, slots) = match words[..] {
                [] => continue,
                [entry] => name_and_slots(entry).map_err(at_line)?,
                [name, count] => (name, slots(name, count.strip_prefix("slots=").unwrap_or(count)).map_err(at_line)?),
                _ => return Err(at_line(invalid(format!("`{}` is not `name slots=N`", line.trim())))),
            };
            hosts.add(name, slots).map_err(at_line)?;
        }
        if hosts.names.is_empty() {
            return Err(invalid("the file names no host; a line is `name slots=N`".into()));
        }
        Ok(hosts)
    }

    /// The first `ranks` of them.
    pub fn first(mut self, ranks: usize) -> Result<Hosts> {
        if ranks == 0 || ranks > self.host_of.len() {
            let slots = self.host_of.len();
            return Err(invalid(format!("{ranks} ranks are asked for, and the hosts have slots for {slots}")));
        }
        self.host_of.truncate(ranks);
        // Hosts are numbered as they come first, so those left without ranks are the last ones.
        let used = self.host_of.iter().max().map_or(0, |last| *last as usize + 1);
        self.names.truncate(used);
        Ok(self)
    }

    /// The names of the hosts, each once.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The host of each rank, as a place in [`Hosts::names`].
    pub fn host_of(&self) -> &[u32] {
        &self.host_of
    }

    /// The ranks of one host.
    pub(super) fn ranks_of(&self, host: usize) -> Vec<usize> {
        ranks_of(&self.host_of, host)
    }

    fn add(&mut self, name: &str, slots: usize) -> Result<()> {
        check_name(name)?;
        let host = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        if self.host_of.len() + slots > RANK_COUNT_MAX {
            return Err(invalid(format!("a job has at most {RANK_COUNT_MAX} ranks")));
        }
        self.host_of.extend(std::iter::repeat_n(host as u32, slots));
        Ok(())
    }
}

/// The ranks of one host, given the host of each.
pub(super) fn ranks_of(host_of: &[u32], host: usize) -> Vec<usize> {
    (0..host_of.len()).filter(|rank| host_of[*rank] as usize == host).collect()
}

fn invalid(text: String) -> Error {
    Error::Invalid(text)
}

fn name_and_slots(entry: &str) -> Result<(&str, usize)> {
    if let Some(rest) = entry.strip_prefix('[') {
        let (name, rest) = rest.split_once(']').ok_or_else(|| invalid(format!("`{entry}` has no closing bracket")))?;
        return match rest.strip_prefix(':') {
            Some(count) => Ok((name, slots(name, count)?)),
            None if rest.is_empty() => Ok((name, 1)),
            None => Err(invalid(format!("`{entry}` is not a host as [name]:ranks"))),
        };
    }
    match entry.split_once(':') {
        Some((name, count)) => Ok((name, slots(name, count)?)),
        None => Ok((entry, 1)),
    }
}

fn slots(name: &str, count: &str) -> Result<usize> {
    match count.parse() {
        Ok(0) => {
            Err(invalid(format!("host {name} is named but has no slots: say {name}:N with N ranks, or leave it out")))
        }
        Ok(count) => Ok(count),
        Err(_) => Err(invalid(format!("host {name}: `{count}` is not a number of ranks; write {name}:2"))),
    }
}

/// A name becomes a word of the agent command: it must not be taken for an option or for anything else there.
fn check_name(name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(invalid("a host without a name; write as in a:2,b:2".into()));
    }
    let is_plain = |c: char| c.is_alphanumeric() || "-_.@:%".contains(c);
    if name.starts_with('-') || !name.chars().all(is_plain) {
        return Err(invalid(format!("`{name}` cannot be the name of a host")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_give_each_rank_its_host() {
        let hosts = Hosts::parse("a:2,b,a:1,user@c.net:2").unwrap();
        assert_eq!(hosts.names(), ["a", "b", "user@c.net"]);
        assert_eq!(hosts.host_of(), [0, 0, 1, 0, 2, 2]);
        assert_eq!(hosts.ranks_of(0), [0, 1, 3]);
        assert_eq!(Hosts::parse("[fe80::1]:2,[::1]").unwrap().names(), ["fe80::1", "::1"]);
    }

    #[test]
    fn files_say_the_same() {
        let text = "# the cluster\na 2\n\nb slots=1 # slow\n a:1 \nuser@c.net slots=2\n";
        assert_eq!(Hosts::from_lines(text).unwrap(), Hosts::parse("a:2,b,a:1,user@c.net:2").unwrap());
        let error = |text: &str| Hosts::from_lines(text).unwrap_err().to_string();
        assert!(error("a 2\nb x\n").contains("line 2: host b"), "{}", error("a 2\nb x\n"));
        assert!(error("a max_slots 2 3").contains("name slots=N"));
        assert!(error("# nobody").contains("no host"));
    }

    #[test]
    fn fewer_ranks_take_the_first_slots() {
        let hosts = Hosts::parse("a:2,b:2").unwrap();
        assert_eq!(hosts.clone().first(2).unwrap(), Hosts::parse("a:2").unwrap());
        assert_eq!(hosts.clone().first(3).unwrap().host_of(), [0, 0, 1]);
        let error = hosts.first(5).unwrap_err().to_string();
        assert!(error.contains("5 ranks") && error.contains("slots for 4"), "{error}");
    }

    #[test]
    fn mistakes_are_explained() {
        let error = |list: &str| Hosts::parse(list).unwrap_err().to_string();
        assert!(error("a:0").contains("host a is named but has no slots"));
        assert!(error("a:x").contains("`x` is not a number of ranks"));
        assert!(error("a,,b").contains("without a name"));
        assert!(error("").contains("without a name"));
        assert!(error("-oProxyCommand=x:1").contains("cannot be the name"));
        assert!(error("a b:1").contains("cannot be the name"));
        assert!(error("a:99999999").contains("at most 65536"));
        assert!(error("[::1:2").contains("bracket"));
        assert!(Hosts::parse(&format!("a:{}", usize::MAX)).is_err());
    }
}
