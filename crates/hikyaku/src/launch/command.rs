//! The command that starts the agent of a host: `ssh` or whatever the user says.

use super::child;
use crate::error::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// How agents are started if nobody says otherwise: without questions, and noticing when the other host falls silent.
pub(super) const SSH: &str = "ssh -o BatchMode=yes -o ServerAliveInterval=5 {host}";

/// How the agent of a host is started.
#[derive(Clone, Debug)]
pub(super) struct AgentCommand {
    words: Vec<OsString>,
}

impl AgentCommand {
    /// From a template as `ssh -p 2222 {host}`, whose words are separated by spaces; without `{host}` the host comes last.
    /// Without a template, agents of other hosts are started by `ssh`, and that of this host without it.
    pub fn new(template: Option<&str>, host: &str, program: &OsStr) -> Result<AgentCommand> {
        let mut words: Vec<OsString> = match template {
            None if is_this_host(host) => Vec::new(),
            template => from_template(template.unwrap_or(SSH), host)?,
        };
        // What ssh is given it joins, and a shell takes it apart again.
        let has_shell = words.first().is_some_and(|word| Path::new(word).file_name() == Some(OsStr::new("ssh")));
        words.push(if has_shell { quoted(program) } else { program.to_owned() });
        words.push("agent".into());
        Ok(AgentCommand { words })
    }

    /// The command, as a user would type it.
    pub fn as_text(&self) -> String {
        let words: Vec<_> = self.words.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    /// Starts it, with pipes for all it reads and prints and with the signals of `mask` blocked.
    pub fn start(&self, mask: Option<libc::sigset_t>) -> Result<Child> {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        child::without_terminal(&mut command, mask);
        command.spawn().map_err(|error| {
            let name = self.words[0].to_string_lossy();
            match error.raw_os_error() {
                Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EAGAIN) => {
                    Error::System { call: "fork", errno: error.raw_os_error().unwrap_or(libc::EAGAIN) }
                }
                _ => Error::Invalid(format!(
                    "cannot start `{name}`, which is to start agents: {error}; install it, or say another command with \
                     --agent, as in --agent 'ssh -p 2222 {{host}}'"
                )),
            }
        })
    }
}

fn from_template(template: &str, host: &str) -> Result<Vec<OsString>> {
    let mut words: Vec<OsString> =
        template.split_whitespace().map(|word| word.replace("{host}", host).into()).collect();
    if words.is_empty() {
        return Err(Error::Invalid("the agent command is empty; say as in --agent 'ssh {host}'".into()));
    }
    if !template.contains("{host}") {
        words.push(host.into());
    }
    Ok(words)
}

/// Whether that is the name of this host.
fn is_this_host(host: &str) -> bool {
    let own = rustix::system::uname();
    ["localhost", "127.0.0.1", "::1"].contains(&host) || own.nodename().to_bytes() == host.as_bytes()
}

/// A word that a shell takes for itself.
fn quoted(word: &OsStr) -> OsString {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+=:@,".contains(byte);
    if word.as_bytes().iter().all(is_plain) {
        return word.to_owned();
    }
    let text: Vec<&[u8]> = word.as_bytes().split(|byte| *byte == b'\'').collect();
    let mut whole = b"'".to_vec();
    whole.extend(text.join(&b"'\\''"[..]));
    whole.push(b'\'');
    OsStr::from_bytes(&whole).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(template: Option<&str>, host: &str, program: &str) -> String {
        AgentCommand::new(template, host, OsStr::new(program)).unwrap().as_text()
    }

    #[test]
    fn templates_name_the_host_where_they_say() {
        assert_eq!(text(Some("nsenter --net=/run/netns/{host}"), "a", "/x/h"), "nsenter --net=/run/netns/a /x/h agent");
        assert_eq!(text(Some("rsh"), "a", "h"), "rsh a h agent");
        assert_eq!(
            text(None, "a", "/opt/hikyaku"),
            "ssh -o BatchMode=yes -o ServerAliveInterval=5 a /opt/hikyaku agent"
        );
        assert_eq!(text(None, "localhost", "/opt/hikyaku"), "/opt/hikyaku agent");
        assert!(AgentCommand::new(Some(" "), "a", OsStr::new("h")).is_err());
    }

    #[test]
    fn what_a_shell_reads_is_quoted() {
        assert_eq!(text(Some("/usr/bin/ssh"), "a", "/my files/h"), "/usr/bin/ssh a '/my files/h' agent");
        assert_eq!(text(Some("ssh"), "a", "/it's/h"), r"ssh a '/it'\''s/h' agent");
        assert_eq!(text(Some("rsh"), "a", "/my files/h"), "rsh a /my files/h agent");
    }
}
