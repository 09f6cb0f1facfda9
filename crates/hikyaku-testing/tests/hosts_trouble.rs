//! Jobs over hosts in which ranks are killed or leave early, and links are cut: the others learn of it by name, in time. And a
//! rank that computes is written to all the same.

use hikyaku::launch::{Ending, Launcher, OnDeath, Outcome};
use hikyaku_testing::chance::Chance;
use hikyaku_testing::leftovers::Watch;
use hikyaku_testing::mortal;
use hikyaku_testing::netns::Network;
use hikyaku_testing::patience::{assert_prompt, eventually};
use hikyaku_testing::support::lock;
use hikyaku_testing::watchdog::watched;
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const AFAR: &str = env!("CARGO_BIN_EXE_afar");
/// What those are promised who wait for a rank that ends: its agent tells the launcher, which tells the other agents.
const SOON: Duration = Duration::from_millis(500);
/// Nothing was heard for so long when a host counts as unreachable.
const SILENCE: Duration = Duration::from_secs(5);
/// By what hosts reach each other.
const TRANSPORTS: [&str; 3] = ["udp", "ofi", "ofi datagram"];
/// Two ranks on each of two hosts.
const HOST_OF: [usize; 4] = [0, 1, 0, 1];

/// By this transport, and endpoints of this kind.
fn by(transport: &str, launcher: Launcher) -> Launcher {
    let (network, endpoint) = transport.split_once(' ').unwrap_or((transport, ""));
    launcher.env("HIKYAKU_TRANSPORT", network).env("HIKYAKU_OFI_ENDPOINT", endpoint)
}

fn text(outcome: &Outcome, rank: usize) -> String {
    let output = &outcome.output[rank];
    String::from_utf8_lossy(&output.output).into_owned() + &String::from_utf8_lossy(&output.errors)
}

/// The number after a word that the rank has printed at the start of a line.
fn number(outcome: &Outcome, rank: usize, word: &str) -> Option<u64> {
    let text = text(outcome, rank);
    text.lines().find_map(|line| line.strip_prefix(word)?.split_whitespace().next()?.parse().ok())
}

/// The last rank ends; gives how long after that the last of the others learned of it, each by `word` and its number.
fn end_one(network: &Network, transport: &str, role: &str, call: &str, word: &str) -> Duration {
    let (what, last) = (format!("{role} while others are in {call}, by {transport}"), HOST_OF.len() - 1);
    let launcher = network.launcher(AFAR, AFAR, &HOST_OF).args([role, call]).on_death(OnDeath::Continue);
    let launcher = by(transport, launcher);
    let outcome = watched(&what, || launcher.run().unwrap());
    let ended = number(&outcome, last, "ended ").unwrap_or_else(|| panic!("{what}: {}", text(&outcome, last)));
    let mut slowest = 0;
    for rank in 0..last {
        let said = text(&outcome, rank);
        assert_eq!(outcome.endings[rank], Ending::Exited(0), "{what}, rank {rank}: {said}");
        assert_eq!(number(&outcome, rank, word), Some(last as u64), "{what}, rank {rank}: {said}");
        slowest = slowest.max(number(&outcome, rank, "learned ").unwrap().saturating_sub(ended));
    }
    let slowest = Duration::from_nanos(slowest);
    println!("{what}: learned after {slowest:?}");
    assert_prompt(slowest, SOON, &what);
    slowest
}

#[test]
fn fault_1_a_death_on_another_host_reaches_those_who_wait() {
    let Some(network) = Network::new(2) else { return };
    for transport in TRANSPORTS {
        for call in ["recv", "long send", "barrier", "allreduce", "long allreduce", "wait"] {
            end_one(&network, transport, "killed", call, "dead ");
        }
    }
}

#[test]
fn a_rank_that_leaves_early_is_told_of() {
    let Some(network) = Network::new(2) else { return };
    for transport in TRANSPORTS {
        for call in ["recv", "long send", "barrier", "allreduce", "wait"] {
            end_one(&network, transport, "leaves", call, "left ");
        }
    }
}

/// How often something is tried: as often as the variable says, or so often.
fn attempts(variable: &str, usual: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// As `tests/mortality.rs` does on one host: at a random moment of every kind of call; afterwards the others go on. Each kind is met once,
/// or `HIKYAKU_DEATHS` times, by one transport after the other.
#[test]
fn fault_1_a_death_on_another_host_in_every_kind_of_message_and_collective() {
    let Some(network) = Network::new(2) else { return };
    die_in_each(&network, &|| mortal::loops().map(|(name, _)| name).collect());
}

/// And of what is built on remote memory.
#[test]
fn fault_1_a_death_on_another_host_in_every_service_and_access() {
    let Some(network) = Network::new(2) else { return };
    die_in_each(&network, &|| mortal::services().map(|(name, _)| name).collect());
}

/// The owner of a lock dies on another host than its manager: one of those who wait is told.
#[test]
fn fault_2_the_next_in_line_is_told_of_an_owner_on_another_host() {
    let Some(network) = Network::new(2) else { return };
    for transport in TRANSPORTS {
        let launcher = network.launcher(env!("CARGO_BIN_EXE_mortal"), AFAR, &HOST_OF).args(["held lock", "0"]);
        let launcher = by(transport, launcher).on_death(OnDeath::Continue);
        let outcome = watched("held lock", || launcher.run().unwrap());
        let last = HOST_OF.len() - 1;
        for rank in 0..last {
            assert!(text(&outcome, rank).contains("went on"), "{transport}, rank {rank}: {}", text(&outcome, rank));
        }
        let learned: Vec<u64> = (0..last).filter_map(|rank| number(&outcome, rank, "learned ")).collect();
        assert_eq!(learned.len(), 1, "{transport}: {outcome:?}");
        let took = Duration::from_nanos(learned[0].saturating_sub(number(&outcome, last, "died ").unwrap()));
        println!("{transport}: the next in line had the lock after {took:?}");
        assert_prompt(took, SOON, transport);
    }
}

/// Each kind of call by one transport after the other.
fn die_in_each(network: &Network, names: &dyn Fn() -> Vec<&'static str>) {
    let (mut chance, mut failed) = (Chance::new(5, 0), Vec::new());
    let calls = |round: usize| {
        names().into_iter().zip(round..).map(|(name, index)| (name, TRANSPORTS[index % TRANSPORTS.len()]))
    };
    for (name, transport) in (0..attempts("HIKYAKU_DEATHS", 1)).flat_map(calls) {
        let life = Duration::from_micros(5000 + chance.below(20_000) as u64);
        let arguments = [name, &life.as_micros().to_string()];
        let launcher = network.launcher(env!("CARGO_BIN_EXE_mortal"), AFAR, &HOST_OF).args(arguments);
        let launcher = by(transport, launcher).on_death(OnDeath::Continue);
        let outcome = watched(name, || launcher.run().unwrap());
        for rank in 0..HOST_OF.len() - 1 {
            let (said, ending) = (text(&outcome, rank), &outcome.endings[rank]);
            if *ending != Ending::Exited(0) || !said.contains("went on") {
                failed.push(format!("{name} by {transport}, killed after {life:?}, rank {rank}: {ending:?} {said}"));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A folder in which ranks and test tell each other how far they are.
struct Signs(PathBuf);

impl Signs {
    fn new(name: &str) -> Signs {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name} {}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Signs(folder)
    }

    fn await_all(&self, what: &str) {
        self.await_first(what, HOST_OF.len());
    }

    fn await_first(&self, what: &str, ranks: usize) {
        let is_there = |rank: usize| self.0.join(format!("{what} {rank}")).exists();
        eventually(what, || (0..ranks).all(is_there).then_some(()));
    }

    /// The process of a rank that is ready.
    fn process(&self, rank: usize) -> Pid {
        let text = std::fs::read_to_string(self.0.join(format!("ready {rank}"))).unwrap();
        Pid::from_raw(text.parse().unwrap()).unwrap()
    }
}

impl Drop for Signs {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_host_whose_link_is_cut_becomes_unreachable_from_both_sides() {
    let Some(network) = Network::new(2) else { return };
    let calls = ["exchange", "long exchange", "recv"];
    for (call, transport) in calls.into_iter().flat_map(|call| ["udp", "ofi"].map(|transport| (call, transport))) {
        let signs = Signs::new(call);
        let launcher = network.launcher(AFAR, AFAR, &HOST_OF).args(["cut", call]).arg(&signs.0);
        let (launcher, call) = (by(transport, launcher), format!("{call} by {transport}"));
        let (outcome, cut) = std::thread::scope(|scope| {
            let cutter = scope.spawn(|| {
                signs.await_all("ready");
                std::thread::sleep(Duration::from_millis(200));
                network.set_link(1, false);
                now_ns()
            });
            let outcome = watched(&call, || launcher.run().unwrap());
            (outcome, cutter.join().unwrap())
        });
        network.set_link(1, true);
        assert_eq!(outcome.status(), 0, "{call}: {outcome:?}");
        for rank in 0..HOST_OF.len() {
            let said = text(&outcome, rank);
            assert_eq!(number(&outcome, rank, "unreachable "), Some(rank as u64 ^ 1), "{call}, rank {rank}: {said}");
            let learned = number(&outcome, rank, "learned ").unwrap();
            let took = Duration::from_nanos(learned.saturating_sub(cut));
            println!("{call}, rank {rank}: {said} {took:?} after the cut");
            // Not at once: it could have been mended.
            assert!(took > SILENCE / 2, "{call}, rank {rank}: {took:?}");
            assert_prompt(took, SILENCE, format!("{call}, rank {rank}"));
        }
    }
}

/// Jobs whose links are cut at the same time: each waits for seconds.
const CUTS_AT_ONCE: usize = 10;

/// One cut of a link of a job that works, from its first moment on: everyone has an error that names a rank within the
/// bound, the job ends, and nothing is left of it. Gives how long that took.
fn cut_at_random(seed: u64) -> Duration {
    let Some(network) = Network::new(2) else { return Duration::ZERO };
    let mut chance = Chance::new(seed, 3);
    let watch = Watch::new(env!("CARGO_TARGET_TMPDIR"));
    let longest_us = chance.pick(&[100_000, 500_000, 2_000_000]);
    let pause = Duration::from_micros(chance.below(longest_us) as u64);
    let (host, transport) = (chance.below(2), TRANSPORTS[seed as usize % TRANSPORTS.len()]);
    let what = format!("seed {seed} by {transport}, cut after {pause:?}");
    let launcher = network.launcher(AFAR, AFAR, &HOST_OF).arg("works").env("TMPDIR", watch.folder());
    let launcher = by(transport, launcher);
    let (outcome, cut) = std::thread::scope(|scope| {
        let cutter = scope.spawn(|| {
            std::thread::sleep(pause);
            network.set_link(host, false);
            now_ns()
        });
        let outcome = watched(&what, || launcher.run().unwrap());
        (outcome, cutter.join().unwrap())
    });
    assert_eq!(outcome.status(), 0, "{what}: {outcome:?}");
    let mut slowest = 0;
    for rank in 0..HOST_OF.len() {
        let said = text(&outcome, rank);
        let named = ["unreachable ", "left ", "dead "].iter().find_map(|word| number(&outcome, rank, word));
        assert!(named.is_some_and(|peer| peer < 4 && peer != rank as u64), "{what}, rank {rank}: {said}");
        slowest = slowest.max(number(&outcome, rank, "learned ").unwrap().saturating_sub(cut));
    }
    let unreachable = (0..HOST_OF.len()).filter(|rank| number(&outcome, *rank, "unreachable ").is_some()).count();
    assert!(unreachable > 0, "{what}: {outcome:?}");
    let slowest = Duration::from_nanos(slowest);
    assert_prompt(slowest, SILENCE, &what);
    let folder = watch.folder().to_str().unwrap().as_bytes();
    let is_ours = |process: &std::fs::DirEntry| {
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable.strip_prefix(b"TMPDIR=") == Some(folder))
    };
    eventually("processes stay", || {
        let mut processes = std::fs::read_dir("/proc").unwrap().flatten();
        (!processes.any(|process| is_ours(&process))).then_some(())
    });
    watch.check();
    slowest
}

/// A few times, or as often as `HIKYAKU_CUTS` says; by one transport after the other.
#[test]
fn fault_15_a_link_is_cut_at_any_moment() {
    let cuts = attempts("HIKYAKU_CUTS", 4);
    let (next, slowest) = (AtomicUsize::new(0), Mutex::new(Duration::ZERO));
    std::thread::scope(|scope| {
        for _ in 0..CUTS_AT_ONCE.min(cuts) {
            scope.spawn(|| {
                while let Some(seed) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed < cuts) {
                    let took = cut_at_random(seed as u64);
                    let mut slowest = lock(&slowest);
                    *slowest = took.max(*slowest);
                }
            });
        }
    });
    println!("{} cuts, the slowest rank learned of it after {:?}", cuts, lock(&slowest));
}

#[test]
fn a_link_that_is_mended_in_time_is_no_trouble() {
    let Some(network) = Network::new(2) else { return };
    let signs = Signs::new("mended");
    let launcher = network.launcher(AFAR, AFAR, &HOST_OF).arg("mended").arg(&signs.0);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            signs.await_all("ready");
            network.set_link(1, false);
            std::thread::sleep(Duration::from_secs(1));
            network.set_link(1, true);
            std::fs::write(signs.0.join("mended"), "").unwrap();
        });
        watched("mended", || launcher.run().unwrap())
    });
    for rank in 0..HOST_OF.len() {
        assert!(text(&outcome, rank).contains("went on"), "rank {rank}: {}", text(&outcome, rank));
    }
    assert_eq!(outcome.status(), 0);
}

/// Nobody on another host can tell a process that is stopped from one that is gone, so it is lost when it was silent for too long.
#[test]
fn fault_10_a_rank_of_another_host_that_is_stopped_for_long_becomes_unreachable() {
    let Some(network) = Network::new(2) else { return };
    for transport in TRANSPORTS {
        stop_one(&network, transport);
    }
}

fn stop_one(network: &Network, transport: &str) {
    let (signs, last) = (Signs::new(&format!("stopped {transport}")), HOST_OF.len() - 1);
    let launcher = network.launcher(AFAR, AFAR, &HOST_OF).arg("stopped").arg(&signs.0).on_death(OnDeath::Continue);
    let launcher = by(transport, launcher);
    let (outcome, stopped) = std::thread::scope(|scope| {
        let stopper = scope.spawn(|| {
            signs.await_all("ready");
            kill_process(signs.process(last), Signal::STOP).unwrap();
            let stopped = now_ns();
            signs.await_first("learned", last);
            kill_process(signs.process(last), Signal::KILL).unwrap();
            stopped
        });
        let outcome = watched("stopped", || launcher.run().unwrap());
        (outcome, stopper.join().unwrap())
    });
    assert_eq!(outcome.endings[last], Ending::Killed(9), "it was stopped, and did not end before");
    for rank in (0..last).filter(|rank| HOST_OF[*rank] != HOST_OF[last]) {
        let said = text(&outcome, rank);
        assert_eq!(number(&outcome, rank, "unreachable "), Some(last as u64), "rank {rank}: {said}");
        let took = Duration::from_nanos(number(&outcome, rank, "learned ").unwrap().saturating_sub(stopped));
        println!("rank {rank} by {transport}: {said} {took:?} after it was stopped");
        assert!(took > SILENCE / 2, "rank {rank}: {took:?}");
        assert_prompt(took, SILENCE, format!("rank {rank} by {transport}"));
    }
}

#[test]
fn fault_10_a_rank_of_another_host_that_is_continued_in_time_goes_on() {
    let Some(network) = Network::new(2) else { return };
    let (signs, last) = (Signs::new("continued"), HOST_OF.len() - 1);
    let launcher = network.launcher(AFAR, AFAR, &HOST_OF).arg("mended").arg(&signs.0);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            signs.await_all("ready");
            kill_process(signs.process(last), Signal::STOP).unwrap();
            std::thread::sleep(Duration::from_secs(2));
            kill_process(signs.process(last), Signal::CONT).unwrap();
            std::fs::write(signs.0.join("mended"), "").unwrap();
        });
        watched("continued", || launcher.run().unwrap())
    });
    for rank in 0..HOST_OF.len() {
        assert!(text(&outcome, rank).contains("went on"), "rank {rank}: {}", text(&outcome, rank));
    }
    assert_eq!(outcome.status(), 0);
}

#[test]
fn a_push_lands_in_a_rank_that_computes() {
    let Some(network) = Network::new(2) else { return };
    let launcher = network.launcher(AFAR, AFAR, &HOST_OF[..2]).arg("computes");
    let outcome = watched("computes", || launcher.run().unwrap());
    assert_eq!(outcome.status(), 0, "{}{}", text(&outcome, 0), text(&outcome, 1));
    let times = times(text(&outcome, 1), "landed ");
    assert_eq!(times.len(), 20);
    println!("landed after {:?} (median), {:?} (slowest)", times[10], times[19]);
    assert_prompt(times[10], Duration::from_millis(100), "most pushes landed");
}

/// The times in nanoseconds of lines that begin so, from the shortest to the longest.
fn times(said: impl AsRef<str>, what: &str) -> Vec<Duration> {
    let times =
        said.as_ref().lines().filter_map(|line| line.strip_prefix(what)?.parse().ok().map(Duration::from_nanos));
    let mut times: Vec<_> = times.collect();
    times.sort();
    times
}

#[test]
fn a_message_that_was_taken_is_told_though_its_receiver_computes() {
    let Some(network) = Network::new(2) else { return };
    for transport in TRANSPORTS {
        let launcher = by(transport, network.launcher(AFAR, AFAR, &HOST_OF[..2]).arg("takes"));
        let outcome = watched("takes", || launcher.run().unwrap());
        assert_eq!(outcome.status(), 0, "{}{}", text(&outcome, 0), text(&outcome, 1));
        let times = times(text(&outcome, 0), "told ");
        assert_eq!(times.len(), 5);
        println!("{transport}: told after {:?} (median), {:?} (slowest)", times[2], times[4]);
        assert_prompt(times[2], Duration::from_millis(250), "most were told");
    }
}

fn now_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
