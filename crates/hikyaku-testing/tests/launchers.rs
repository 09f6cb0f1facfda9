//! Ranks that launchers of other libraries start on several hosts: they find out who is where, work together, and keep the promises
//! about ranks that die and links that are cut.
//!
//! Launchers lose the output of jobs that fail, so each rank prints into a file.

use hikyaku_testing::cluster::{Cluster, Kind, RANKS};
use hikyaku_testing::mpi::{RANK_IN_SHELL, said};
use hikyaku_testing::patience::{assert_prompt, eventually};
use hikyaku_testing::watchdog::watched;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

const AFAR: &str = env!("CARGO_BIN_EXE_afar");
/// What those are promised who wait for a rank of another host that ends.
const SOON: Duration = Duration::from_millis(500);
/// Nothing was heard for so long when a host counts as unreachable.
const SILENCE: Duration = Duration::from_secs(5);

/// A job under a launcher.
struct Trial<'c> {
    cluster: &'c Cluster,
    kind: Kind,
    folder: PathBuf,
}

impl<'c> Trial<'c> {
    fn new(cluster: &'c Cluster, kind: Kind, name: &str) -> Trial<'c> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("launchers-{kind:?}-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        Trial { cluster, kind, folder }
    }

    /// Starts the role; `{}` in its arguments is the folder. `after` is what the shell between launcher and rank does when the rank
    /// has ended: a launcher ends the others as soon as it learns of a death.
    fn start(&self, role: &str, after: &str) -> Child {
        let folder = self.folder.display().to_string();
        let role = role.replace("{}", &folder);
        let exec = if after.is_empty() { "exec " } else { "" };
        let script = format!(r#"{exec}"$0" {role} > {folder}/{RANK_IN_SHELL} 2>&1{after}"#);
        let mut command = self.cluster.launch(self.kind);
        command.args(["sh", "-c", &script, AFAR]).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// What a rank has printed.
    fn text(&self, rank: usize) -> String {
        fs::read_to_string(self.folder.join(rank.to_string())).unwrap_or_default()
    }

    fn texts(&self) -> Vec<String> {
        (0..RANKS).map(|rank| self.text(rank)).collect()
    }

    /// The number after a word that the rank has printed at the start of a line.
    fn number(&self, rank: usize, word: &str) -> Option<u64> {
        let text = self.text(rank);
        text.lines().find_map(|line| line.strip_prefix(word)?.split_whitespace().next()?.parse().ok())
    }

    /// The processes of all ranks, when all are ready.
    fn await_ready(&self) -> Vec<Pid> {
        let process = |rank: usize| {
            let text = fs::read_to_string(self.folder.join(format!("ready {rank}"))).ok()?;
            Pid::from_raw(text.parse().ok()?)
        };
        eventually(&format!("{:?}: ranks are ready", self.kind), || (0..RANKS).map(process).collect())
    }

    fn finish(&self, child: Child) -> Output {
        watched(&format!("{:?}", self.kind), || child.wait_with_output().unwrap())
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

fn now_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Whether a process runs.
fn is_alive(process: Pid) -> bool {
    let state = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_pid())).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ") && !state.contains(") X ")
}

fn parent(process: Pid) -> Pid {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_pid())).unwrap();
    let parent = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap().parse().unwrap();
    Pid::from_raw(parent).unwrap()
}

/// Four ranks on two hosts, in turn; near are those of the same host.
#[test]
fn ranks_of_several_hosts_find_their_places_and_work() {
    let Some(cluster) = Cluster::new() else { return };
    for kind in cluster.kinds() {
        let trial = Trial::new(&cluster, kind, "placed");
        let begin = Instant::now();
        let output = trial.finish(trial.start("placed", ""));
        assert!(kind.has_ended_well(output.status), "{kind:?}: {} {:?}", said(&output), trial.texts());
        for rank in 0..RANKS {
            let expected = format!("placed {rank} of {RANKS} on 2 hosts");
            assert!(trial.text(rank).contains(&expected), "{kind:?}: {:?}", trial.texts());
        }
        println!("{kind:?}: {:?}", begin.elapsed());
    }
}

#[test]
fn fault_1_a_death_on_another_host_reaches_those_who_wait() {
    let Some(cluster) = Cluster::new() else { return };
    for kind in cluster.kinds() {
        for (role, word) in [("killed barrier", "dead "), ("killed recv", "dead "), ("leaves wait", "left ")] {
            let trial = Trial::new(&cluster, kind, "ends");
            trial.finish(trial.start(role, "; sleep 1"));
            let last = RANKS - 1;
            let ended = trial.number(last, "ended ").unwrap_or_else(|| panic!("{kind:?} {role}: {:?}", trial.texts()));
            for rank in 0..last {
                assert_eq!(trial.number(rank, word), Some(last as u64), "{kind:?} {role}: {:?}", trial.texts());
                let took = Duration::from_nanos(trial.number(rank, "learned ").unwrap().saturating_sub(ended));
                println!("{kind:?} {role}: rank {rank} learned after {took:?}");
                assert_prompt(took, SOON, format!("{kind:?} {role}: rank {rank}"));
            }
        }
    }
}

#[test]
#[ignore = "takes minutes: scripts/launchers runs it"]
fn a_rank_that_exits_without_a_word_has_left() {
    let Some(cluster) = Cluster::new() else { return };
    for kind in cluster.kinds() {
        let trial = Trial::new(&cluster, kind, "exits");
        let output = trial.finish(trial.start("exits", ""));
        assert!(kind.has_ended_well(output.status), "{kind:?}: {} {:?}", said(&output), trial.texts());
        for rank in 0..RANKS - 1 {
            assert_eq!(trial.number(rank, "left "), Some(RANKS as u64 - 1), "{kind:?}: {:?}", trial.texts());
        }
    }
}

/// Launchers speak over the same link, and end when it is mended.
#[test]
#[ignore = "takes minutes: scripts/launchers runs it"]
fn fault_15_a_host_whose_link_is_cut_becomes_unreachable() {
    let Some(cluster) = Cluster::new() else { return };
    for kind in cluster.kinds() {
        let trial = Trial::new(&cluster, kind, "cut");
        let child = trial.start("cut recv {}", "; sleep 1");
        trial.await_ready();
        std::thread::sleep(Duration::from_millis(200));
        let cut = now_ns();
        cluster.network.set_link(2, false);
        let learned = |rank: usize| trial.folder.join(format!("learned {rank}")).exists();
        eventually("all learn", || (0..RANKS).all(learned).then_some(()));
        cluster.network.set_link(2, true);
        trial.finish(child);
        for rank in 0..RANKS {
            let texts = trial.texts();
            assert_eq!(trial.number(rank, "unreachable "), Some(rank as u64 ^ 1), "{kind:?}: {texts:?}");
            let took = Duration::from_nanos(trial.number(rank, "learned ").unwrap().saturating_sub(cut));
            println!("{kind:?}: rank {rank} learned {took:?} after the cut");
            assert_prompt(took, SILENCE + Duration::from_secs(2), format!("{kind:?}: rank {rank}"));
        }
    }
}

/// With a host's daemon its ranks end, and then all others, by themselves or by the launcher.
#[test]
#[ignore = "takes minutes: scripts/launchers runs it"]
fn fault_5_ranks_end_with_the_daemon_of_their_host() {
    let Some(kinds) = Cluster::new().map(|cluster| cluster.kinds()) else { return };
    for kind in kinds {
        // Its own: Slurm does not use a node again for a while that has lost a daemon.
        let Some(cluster) = Cluster::new() else { return };
        let trial = Trial::new(&cluster, kind, "daemon");
        let child = trial.start("waits {}", "");
        let ranks = trial.await_ready();
        let begin = Instant::now();
        // The second rank is on the second host.
        kill_process(parent(ranks[1]), Signal::KILL).unwrap();
        let there = |rank: &usize| rank % 2 == 1;
        eventually("ranks of the host end", || {
            (!(0..RANKS).filter(there).any(|rank| is_alive(ranks[rank]))).then_some(())
        });
        println!("{kind:?}: ranks of the host ended after {:?}", begin.elapsed());
        assert_prompt(begin.elapsed(), Duration::from_secs(1), format!("{kind:?}: ranks ended with their daemon"));
        // The first rank waits in a barrier, and learns of it by silence if the launcher does not end it before.
        eventually("the first rank ends", || (!is_alive(ranks[0])).then_some(()));
        println!("{kind:?}: rank 0 ended after {:?}: {:?}", begin.elapsed(), trial.text(0));
        assert_prompt(begin.elapsed(), SILENCE + Duration::from_secs(2), format!("{kind:?}: rank 0 ended"));
        eventually("all ranks end", || (!ranks.iter().any(|rank| is_alive(*rank))).then_some(()));
        // Some launchers wait for the daemon for minutes.
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        trial.finish(child);
    }
}
