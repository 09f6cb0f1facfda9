//! Hosts, agents and launchers that are missing, silent, strange, or killed: errors that say what to do, and nothing left.

mod support;

use hikyaku::launch::{Hosts, Launcher};
use hikyaku_testing::chance::Chance;
use hikyaku_testing::leftovers::Watch;
use hikyaku_testing::netns::{AGENT, Network};
use hikyaku_testing::patience::{assert_prompt, eventually};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::{HIKYAKU, Trial, err, out, script, signal};

macro_rules! network {
    ($count:expr) => {
        match Network::new($count) {
            Some(network) => network,
            None => return,
        }
    };
}

/// What `hikyaku run` says of a mistake, having failed.
fn complaint(arguments: &[&str]) -> String {
    let output = Trial::with(arguments).run();
    assert_eq!(output.status.code(), Some(1), "{}{}", out(&output), err(&output));
    err(&output)
}

#[test]
fn mistakes_in_hosts_are_explained() {
    for (arguments, text) in [
        (&["--hosts", "a:0", "true"] as &[_], "host a is named but has no slots"),
        (&["--hosts", "a:x", "true"], "`x` is not a number of ranks"),
        (&["--hosts", "a:1,-oX:1", "true"], "cannot be the name of a host"),
        (&["--hosts", "a:2", "-n", "3", "true"], "slots for 2"),
        (&["--hostfile", "/no/such/file", "true"], "/no/such/file"),
        (&["--agent", "ssh", "true"], "name them with --hosts"),
        (&["--env", "=x", "true"], "a variable has a name"),
    ] {
        assert!(complaint(arguments).contains(text), "{arguments:?}: {}", complaint(arguments));
    }
    let help = out(&Command::new(HIKYAKU).args(["run", "--help"]).output().unwrap());
    for word in ["--hosts a:2,b:2", "--hostfile", "ssh -p 2222", "HIKYAKU_LOCAL_RANK"] {
        assert!(help.contains(word), "{help}");
    }
}

#[test]
fn a_file_names_hosts() {
    let network = network!(2);
    let file = script("hostfile", &format!("{} slots=1\n{} 2 # more", network.host(0), network.host(1)));
    let options = ["--hostfile", file.to_str().unwrap(), "--agent", AGENT];
    let output = Trial::with(&options).args(&["--tag", "sh", "-c", "echo $HIKYAKU_HOST"]).run();
    let (first, second) = (network.host(0), network.host(1));
    let expected = [format!("[0] {first}"), format!("[1] {second}"), format!("[2] {second}")];
    assert_eq!(support::sorted(&out(&output)), expected, "{}", err(&output));
    let output = Trial::with(&options).args(&["-n", "2", "sh", "-c", "echo $HIKYAKU_SIZE"]).run();
    assert_eq!(out(&output), "2\n2\n");
}

#[test]
fn agents_that_cannot_be_are_explained() {
    let network = network!(1);
    let host = network.host(0);
    let hosts = format!("{host}:1");
    let with_agent = |agent: &str| complaint(&["--hosts", &hosts, "--start-timeout", "1", "--agent", agent, "true"]);

    let said = with_agent("no-such-command");
    assert!(said.contains(host) && said.contains("cannot start `no-such-command`"), "{said}");
    let said = complaint(&["--hosts", "no-such-namespace:1", "--agent", AGENT, "true"]);
    assert!(said.contains("host no-such-namespace: no agent answers") && said.contains("No such file"), "{said}");
    let refused = script("refused", "echo Permission denied >&2; exit 255");
    let said = with_agent(refused.to_str().unwrap());
    assert!(said.contains("it said: Permission denied") && said.contains("without a password?"), "{said}");
    let said = with_agent("echo Welcome,");
    assert!(said.contains("says \"Welcome,") && said.contains("login scripts"), "{said}");
    let silent = script("silent", "exec sleep 1000");
    let said = with_agent(silent.to_str().unwrap());
    assert!(said.contains("no answer within 1 s"), "{said}");
    // One of another version: its protocol is 99.
    let old = script(
        "old",
        "printf '\\034\\000\\000\\000\\000Aukaykih\\143\\000\\000\\000\\006\\0\\0\\0\\0\\0\\0\\0\\003\\0\\0\\0old'; cat >/dev/null",
    );
    let said = with_agent(old.to_str().unwrap());
    assert!(said.contains("its agent is hikyaku old (protocol 99, format 6)"), "{said}");
    assert!(said.contains("install the same version there"), "{said}");
    let said = complaint(&["--hosts", &hosts, "--agent", AGENT, "--agent-program", "/no/hikyaku", "true"]);
    assert!(said.contains("is hikyaku installed there in the same place?"), "{said}");
}

#[test]
fn what_a_host_lacks_is_told_of_that_host() {
    let network = network!(2);
    let output = Trial::new(&network, &[(0, 1), (1, 1)]).args(&["no-such-program"]).run();
    let said = err(&output);
    assert!(said.contains("host hikyaku-") && said.contains("cannot start no-such-program"), "{said}");
    assert!(said.contains("it is not in PATH"), "{said}");
    assert_eq!(output.status.code(), Some(127));
    let output = Trial::new(&network, &[(0, 1), (1, 1)]).args(&["/etc/passwd"]).run();
    assert_eq!(output.status.code(), Some(126), "{}", err(&output));
    // A folder that only the launcher can be in.
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("hosts-folder");
    std::fs::create_dir_all(&folder).unwrap();
    let agent = script("folderless", &format!("shift; rmdir {}; exec \"$@\"", folder.display()));
    let mut trial = Trial::with(&["--hosts", "a", "--agent", agent.to_str().unwrap(), "true"]);
    trial.command.current_dir(&folder);
    assert!(err(&trial.run()).contains("host a: cannot enter the folder"));
}

#[test]
fn garbage_on_the_input_of_an_agent_ends_it_with_an_error() {
    let mut chance = Chance::new(7, 0);
    for length in [1, 4, 5, 100, 100_000] {
        let mut agent = Command::new(HIKYAKU);
        agent.arg("agent").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut agent = agent.spawn().unwrap();
        let garbage: Vec<u8> = (0..length).map(|_| chance.number() as u8 | 0x80).collect();
        let _ = agent.stdin.take().unwrap().write_all(&garbage);
        let output = agent.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let expected =
            if length < 4 { "the launcher has ended" } else { "nothing that a launcher of this version says" };
        assert!(err(&output).contains(expected), "{length}: {}", err(&output));
    }
}

/// A launcher that goes mad ends the ranks too.
#[test]
fn garbage_in_the_middle_of_a_job_ends_the_ranks() {
    let agent = script("mad", "shift; { dd bs=1 count=\"$(cat $MAD)\" 2>/dev/null; sleep 0.3; yes; } | \"$@\"");
    // How many bytes the launcher says until its ranks run; more than that come every second.
    let count = script("mad-count", "");
    let listener = script("mad-listener", &format!("shift; tee {} | \"$@\"", count.display()));
    let mut trial = Trial::with(&["--hosts", "a", "--agent", listener.to_str().unwrap(), "sleep", "1000"]);
    let mut child = trial.start();
    trial.await_running("sleep 1000", 1);
    let said =
        eventually("it says nothing", || Some(std::fs::metadata(&count).unwrap().len()).filter(|length| *length > 100));
    signal(child.id(), "-TERM");
    child.wait().unwrap();
    trial.await_end();
    std::fs::write(&count, said.to_string()).unwrap();
    let mut trial = Trial::with(&["--hosts", "a", "--agent", agent.to_str().unwrap(), "sleep", "1000"]);
    trial.command.env("MAD", &count);
    let output = trial.run();
    assert_eq!(output.status.code(), Some(128 + 9), "{}", err(&output));
    assert!(err(&output).contains("nothing that a launcher of this version says"), "{}", err(&output));
}

#[test]
fn a_silent_host_is_lost() {
    let network = network!(2);
    let mut trial = Trial::new(&network, &[(0, 1), (1, 1)]).args(&["--host-timeout", "1", "sleep", "1000"]);
    let mut child = trial.start();
    trial.await_running("sleep 1000", 2);
    let agents = trial.agents(child.id());
    let begin = Instant::now();
    signal(agents[1], "-STOP");
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(128 + 9), "{said}");
    assert!(said.contains("is lost with rank") && said.contains("it has been silent for 1 s"), "{said}");
    assert_prompt(begin.elapsed(), Duration::from_secs(4), "the job ended");
    trial.await_end();
}

/// The secret is in the first message to an agent, behind length, kind, magic, protocol and the job's number.
#[test]
fn the_secret_is_on_no_command_line_and_in_no_environment() {
    let copy = script("copy", "");
    let agent = script("listener", &format!("shift; tee {} | \"$@\"", copy.display()));
    let mut trial = Trial::with(&["--hosts", "a:2", "--agent", agent.to_str().unwrap(), "sleep", "1000"]);
    let mut child = trial.start();
    trial.await_running("sleep 1000", 2);
    let said = eventually("nothing was said", || Some(std::fs::read(&copy).unwrap()).filter(|said| said.len() > 57));
    assert_eq!(&said[5..13], b"Aukaykih");
    let secret = said[25..57].to_vec();
    assert!(secret.iter().any(|byte| *byte != 0));
    let hexadecimal: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut looked_at = 0;
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        for file in ["cmdline", "environ"] {
            let Ok(bytes) = std::fs::read(process.path().join(file)) else { continue };
            looked_at += 1;
            for secret in [&secret[..], &secret[..8], hexadecimal.as_bytes()] {
                assert!(!bytes.windows(secret.len()).any(|part| part == secret), "{:?}", process.path());
            }
        }
    }
    assert!(looked_at >= 2 * trial.processes().len());
    signal(child.id(), "-KILL");
    child.wait().unwrap();
    trial.await_end();
}

/// How often each is killed: `HIKYAKU_KILLS`, or a few times.
fn kills() -> usize {
    std::env::var("HIKYAKU_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(8)
}

/// Kills something at random moments, from the first moment of the job on. Everything ends in time, and nothing is left.
fn kill_at_random(
    seed: u64,
    pick: impl Fn(&Trial, u32, &mut Chance) -> Option<u32>,
    check: impl Fn(Option<i32>, &str),
) {
    let network = network!(2);
    let mut chance = Chance::new(seed, 0);
    let watch = Watch::new(env!("CARGO_TARGET_TMPDIR"));
    let waiting = format!("[ $HIKYAKU_RANK = 0 ] && exec sleep 1000; exec {HIKYAKU} rank probe");
    for _ in 0..kills() {
        // Half of the jobs consist of ranks that wait for the first, which does not join.
        let program = if chance.once_in(2) { "exec sleep 1000" } else { &waiting };
        let mut trial = Trial::new(&network, &[(0, 1), (1, 2), (0, 1)]).args(&["sh", "-c", program]);
        trial.command.env("TMPDIR", watch.folder());
        let mut child = trial.start();
        let longest_us = chance.pick(&[30_000, 150_000]);
        let pause = Duration::from_micros(chance.below(longest_us) as u64);
        std::thread::sleep(pause);
        let victim = eventually("nobody to kill", || pick(&trial, child.id(), &mut chance));
        let begin = Instant::now();
        signal(victim, "-KILL");
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let status = child.wait().unwrap();
        trial.await_end();
        assert_prompt(begin.elapsed(), Duration::from_millis(1500), format!("all ended after {pause:?}: {said}"));
        check(status.code(), &said);
    }
    watch.check();
}

#[test]
fn a_rank_is_killed_at_any_moment() {
    let pick = |trial: &Trial, _: u32, chance: &mut Chance| {
        let ranks = trial.running("sleep 1000");
        (!ranks.is_empty()).then(|| chance.pick(&ranks))
    };
    kill_at_random(1, pick, |status, said| {
        assert_eq!(status, Some(128 + 9), "{said}");
        assert!(said.contains("was killed by signal 9"), "{said}");
    });
}

#[test]
fn an_agent_is_killed_at_any_moment() {
    let pick = |trial: &Trial, launcher: u32, chance: &mut Chance| {
        let agents = trial.agents(launcher);
        (!agents.is_empty()).then(|| chance.pick(&agents))
    };
    kill_at_random(2, pick, |status, said| {
        // Before the start it is an error of the start.
        let at_start = status == Some(1) && said.contains("host hikyaku-");
        let later = status == Some(128 + 9) && said.contains("is lost with") && said.contains("was killed by signal 9");
        assert!(at_start || later, "{status:?}: {said}");
    });
}

#[test]
fn the_launcher_is_killed_at_any_moment() {
    kill_at_random(3, |_, launcher, _| Some(launcher), |status, said| assert_eq!(status, None, "{said}"));
}

/// As a library, in a process that goes on.
#[test]
fn launchers_leave_no_descriptors_open() {
    let network = network!(2);
    let hosts = Hosts::parse(&network.list(&[(0, 1), (1, 2)])).unwrap();
    let launcher = |program: &str| {
        Launcher::new("sh").args(["-c", program]).hosts(hosts.clone()).agent(AGENT).agent_program(HIKYAKU).capture(true)
    };
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let run = || {
        let outcome = launcher("echo $HIKYAKU_RANK; exit $HIKYAKU_RANK").run().unwrap();
        assert!(outcome.first_failure.is_some_and(|rank| outcome.endings[rank].status() == rank as i32));
        assert_eq!(outcome.output[2].output, b"2\n");
        assert!(launcher("true").agent("no-such-command").run().is_err());
        assert!(launcher("true").agent("false").run().is_err());
        drop(launcher("exec sleep 1000").start().unwrap());
    };
    run();
    let before = open();
    (0..3).for_each(|_| run());
    // Other tests of this process open and close some meanwhile.
    eventually("descriptors stay open", || (open() <= before).then_some(()));
}
