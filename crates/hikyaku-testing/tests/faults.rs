//! The faults of the foundation, provoked for real: processes are killed, limits are lowered, calls are forbidden.
//! Each test names the promise it checks.

use hikyaku::launch::{Ending, Launcher, OnDeath, Outcome};
use hikyaku_testing::chance::Chance;
use hikyaku_testing::leftovers::Watch;
use hikyaku_testing::patience::{assert_prompt, eventually};
use hikyaku_testing::watchdog::{output, watched};
use rustix::process::{Pid, Signal};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const VICTIM: &str = env!("CARGO_BIN_EXE_victim");

fn job(role: &str, ranks: usize) -> Launcher {
    Launcher::new(VICTIM).arg(role).ranks(ranks).capture(true)
}

fn run(role: &str, ranks: usize) -> Outcome {
    watched(role, || job(role, ranks).run().unwrap())
}

fn text(outcome: &Outcome, rank: usize) -> String {
    let output = &outcome.output[rank];
    String::from_utf8_lossy(&output.output).into_owned() + &String::from_utf8_lossy(&output.errors)
}

/// Every rank but the last says `word` and ends well; the last is killed.
fn check_survivors(role: &str, ranks: usize, word: &str) {
    let outcome = watched(role, || job(role, ranks).on_death(OnDeath::Continue).run().unwrap());
    for rank in 0..ranks - 1 {
        assert_eq!(outcome.endings[rank], Ending::Exited(0), "{role}, rank {rank}: {}", text(&outcome, rank));
        assert!(text(&outcome, rank).contains(word), "{role}, rank {rank}: {}", text(&outcome, rank));
    }
    assert_eq!(outcome.endings[ranks - 1], Ending::Killed(9));
}

#[test]
fn fault_1_a_death_in_a_barrier_reaches_everyone() {
    check_survivors("barrier", 4, "survived");
}

#[test]
fn fault_1_a_death_wakes_those_who_sleep_for_a_flag() {
    check_survivors("flag", 4, "survived");
}

#[test]
fn fault_1_a_death_during_pulls() {
    check_survivors("pull", 3, "survived");
}

#[test]
fn fault_1_a_death_in_a_handler_reaches_the_caller() {
    check_survivors("handler", 3, "survived");
}

#[test]
fn fault_1_and_12_a_death_ends_sends_that_wait_for_room() {
    check_survivors("full-ring", 3, "survived");
}

#[test]
fn fault_1_a_death_ends_pins() {
    check_survivors("pinned", 3, "survived");
}

#[test]
fn fault_1_a_death_while_a_pin_is_asked_for() {
    for _ in 0..8 {
        check_survivors("pinning", 3, "survived");
    }
}

/// Whoever takes an area away waits for those inside, but not for the dead, also while their launcher keeps what is left of
/// their processes.
#[test]
fn fault_1_a_death_inside_an_operation_does_not_hold_up_a_revocation() {
    for cross in ["on", "off"] {
        let killed = job("killed-inside", 2).on_death(OnDeath::Continue).env("HIKYAKU_CROSS", cross);
        let outcome = watched("killed-inside", || killed.run().unwrap());
        assert_eq!(outcome.endings, [Ending::Exited(0), Ending::Killed(9)], "{}", text(&outcome, 0));
        assert!(text(&outcome, 0).contains("survived"), "{}", text(&outcome, 0));
    }
}

/// Whoever would tell of the death is stopped.
#[test]
fn fault_1_a_death_that_nobody_tells_of_is_found_out() {
    let mut launcher = Command::new(env!("CARGO_BIN_EXE_launcher"));
    launcher.args(["unwatched", "direct"]).env("HIKYAKU_CROSS", "on");
    let output = output(&mut launcher);
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("found out by itself"), "{said}");
}

/// Others may learn of a death by their own system calls, and end of it, before the launcher looks.
#[test]
fn fault_1_a_killed_rank_is_the_one_that_failed() {
    let script = r#"[ "$HIKYAKU_RANK" = 1 ] && kill -9 $$; exit 3"#;
    let running = Launcher::new("sh").args(["-c", script]).ranks(3).capture(true).start().unwrap();
    let is_over = |process: &u32| std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap().contains(") Z ");
    eventually("the end of the ranks", || running.processes().iter().all(is_over).then_some(()));
    let outcome = running.wait().unwrap();
    assert_eq!((outcome.first_failure, outcome.status()), (Some(1), 128 + 9));
    assert_eq!(outcome.endings[0], Ending::Exited(3));
}

#[test]
fn a_rank_that_exits_without_a_word_has_left() {
    let outcome = run("exit", 3);
    assert_eq!(outcome.status(), 0, "{}", text(&outcome, 0));
    assert!(text(&outcome, 0).contains("survived"));
}

#[test]
fn fault_22_a_rank_that_exits_has_left_when_its_process_is_gone() {
    let outcome = watched("exit-beside", || job("exit-beside", 3).run().unwrap());
    assert_eq!(outcome.status(), 0, "{}", text(&outcome, 0));
    assert!((0..2).all(|rank| text(&outcome, rank).contains("survived")));
}

/// 4 and 7 of the benchmark's promises: whatever dies whenever, the job ends within a second, and nothing stays.
#[test]
fn fault_4_jobs_killed_at_random_moments_leave_nothing() {
    let count = std::env::var("HIKYAKU_TEST_KILLS").ok().and_then(|v| v.parse().ok()).unwrap_or(1000);
    let watch = Watch::new(env!("CARGO_TARGET_TMPDIR"));
    let mut chance = Chance::new(4, 0);
    let mut slowest = Duration::ZERO;
    for run in 0..count {
        let (pick, delay) = (chance.below(4), Duration::from_micros(chance.below(30_000) as u64));
        let running = job("loop", 4).env("TMPDIR", watch.folder()).start().unwrap();
        let process = running.processes()[pick];
        let killer = std::thread::spawn(move || {
            std::thread::sleep(delay);
            // The launcher has not reaped it yet.
            let process = Pid::from_raw(process as i32).expect("a process");
            let _ = rustix::process::kill_process(process, Signal::KILL);
            Instant::now()
        });
        let (outcome, ended) = watched("a killed job", || (running.wait().unwrap(), Instant::now()));
        let took = ended.saturating_duration_since(killer.join().unwrap());
        slowest = slowest.max(took);
        assert_prompt(took, Duration::from_secs(1), format!("run {run} ended"));
        assert_eq!(outcome.endings[pick], Ending::Killed(9), "run {run}");
        assert_eq!(outcome.first_failure, Some(pick), "run {run}");
    }
    println!("{count} runs, slowest end {slowest:?}");
    watch.check();
}

/// Needs a launcher that can be killed: this test program itself, in another role.
#[test]
fn fault_5_ranks_end_with_their_launcher() {
    for role in ["spin", "loop"] {
        for through_shell in [false, true] {
            let mut launcher = Command::new(env!("CARGO_BIN_EXE_launcher"))
                .args([role, if through_shell { "shell" } else { "direct" }])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let ranks = eventually("the ranks", || {
                let found = descendants(launcher.id()).into_iter().filter(|id| is_victim(*id)).collect::<Vec<_>>();
                (found.len() == 3).then_some(found)
            });
            // Long enough to be joined in most runs; dying earlier must work too.
            std::thread::sleep(Duration::from_millis(100));
            launcher.kill().unwrap();
            launcher.wait().unwrap();
            let begin = Instant::now();
            eventually("the end of the ranks", || ranks.iter().all(|id| !is_victim(*id)).then_some(()));
            assert_prompt(begin.elapsed(), Duration::from_secs(1), format!("{role}: ranks ended"));
        }
    }
}

fn descendants(process: u32) -> Vec<u32> {
    let list = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    let children: Vec<u32> = list.split_whitespace().filter_map(|id| id.parse().ok()).collect();
    children.iter().copied().chain(children.iter().flat_map(|id| descendants(*id))).collect()
}

fn is_victim(process: u32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    let state = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    name.trim() == "victim" && !state.contains(") Z ")
}

#[test]
fn fault_6_a_death_before_the_start_is_reported_by_name() {
    let outcome = job("early", 3).on_death(OnDeath::Continue).run().unwrap();
    assert_eq!(outcome.endings[1], Ending::Killed(9));
    for rank in [0, 2] {
        assert_eq!(outcome.endings[rank], Ending::Exited(7), "{}", text(&outcome, rank));
        assert!(text(&outcome, rank).contains("rank 1 died"), "{}", text(&outcome, rank));
    }
}

#[test]
fn fault_6_a_rank_that_never_joins_is_named_after_the_time_allowed() {
    let script = r#"if [ "$HIKYAKU_RANK" = 1 ]; then exec sleep 1000; else exec "$0" start; fi"#;
    // Long enough for those that do join, and much shorter than what the test takes if nobody looks at it.
    let config = hikyaku::Config { start_timeout: Duration::from_secs(3), ..Default::default() };
    let launcher = Launcher::new("sh").args(["-c", script, VICTIM]).ranks(3).capture(true).config(config);
    let outcome = watched("a rank that never joins", || launcher.run().unwrap());
    let first = outcome.first_failure.unwrap();
    assert!(text(&outcome, first).contains("ranks [1] did not join"), "{}", text(&outcome, first));
}

#[test]
fn fault_7_a_limit_that_is_too_small_is_an_error_that_says_how_much_is_needed() {
    for limit in ["-v 200000", "-f 1000"] {
        let script = format!("ulimit {limit}; exec {VICTIM} start");
        let output = Command::new("sh").args(["-c", &script]).env("HIKYAKU_HEAP", "1G").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(7), "ulimit {limit}: {said} {:?}", output.status);
        assert!(said.contains("bytes are needed"), "ulimit {limit}: {said}");
    }
    let outcome = run("too-much", 2);
    assert_eq!(outcome.status(), 0, "{}", text(&outcome, 0));
}

#[test]
fn fault_9_forbidden_system_calls_are_noticed_and_done_without() {
    let outcome = run("forbid", 3);
    for rank in 0..3 {
        assert!(text(&outcome, rank).contains("reached"), "{}", text(&outcome, rank));
    }
    assert_eq!(outcome.status(), 0);
}

#[test]
fn fault_11_idle_ranks_use_no_processor_time() {
    let outcome = run("idle", 16);
    for rank in 0..16 {
        assert_eq!(outcome.endings[rank], Ending::Exited(0), "{}", text(&outcome, rank));
    }
    print!("{}", text(&outcome, 1));
}

#[test]
fn fault_13_a_forked_child_is_refused_and_its_parent_unharmed() {
    let outcome = run("fork", 3);
    for rank in 0..3 {
        assert!(text(&outcome, rank).contains("parent unharmed"), "{}", text(&outcome, rank));
    }
    assert_eq!(outcome.status(), 0);
}

#[test]
fn fault_14_signals_belong_to_the_application() {
    let outcome = run("signals", 3);
    for rank in 0..3 {
        assert!(text(&outcome, rank).contains("undisturbed"), "{}", text(&outcome, rank));
    }
    assert_eq!(outcome.status(), 0);
}

#[test]
fn fault_17_a_message_from_or_to_memory_that_is_not_there_is_an_error_on_both_sides() {
    let launcher = job("bad-buffer", 2).env("HIKYAKU_CROSS", "on");
    let outcome = watched("bad-buffer", || launcher.run().unwrap());
    for rank in 0..2 {
        assert!(text(&outcome, rank).contains("told"), "{}", text(&outcome, rank));
    }
    assert_eq!(outcome.status(), 0);
}

/// A launcher of another version: the rank says which versions meet, and starts no job.
#[test]
fn fault_17_a_launcher_of_another_version_is_refused() {
    use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
    use std::os::fd::AsRawFd;
    // Not close-on-exec: the rank inherits its end, as from a launcher.
    let (ours, theirs) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::empty(), None).unwrap();
    let socket = theirs.as_raw_fd().to_string();
    let rank = Command::new(VICTIM).arg("start").env("HIKYAKU_SOCKET", socket).stdout(Stdio::piped()).spawn().unwrap();
    drop(theirs);
    let mut hello = [0u8; 512];
    let (_, bytes) = rustix::net::recv(&ours, &mut hello[..], RecvFlags::empty()).unwrap();
    assert_eq!(bytes, 32 + 256, "hello: magic, format, process, and how it is reached");
    let mut welcome = [0u64; 11];
    welcome[0] = u64::from_be_bytes(*b"hikyaku\0");
    welcome[1] = 999;
    let bytes: Vec<u8> = welcome.iter().flat_map(|word| word.to_ne_bytes()).collect();
    rustix::net::send(&ours, &bytes, SendFlags::empty()).unwrap();
    let output = rank.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert!(said.contains("format 999"), "{said}");
}

/// A rank of another version: it is told the launcher's, and is not given the job's memory.
#[test]
fn fault_17_a_rank_of_another_version_gets_no_memory() {
    let outcome = run("skew", 2);
    for rank in 0..2 {
        assert!(text(&outcome, rank).contains("no memory came"), "{}", text(&outcome, rank));
    }
}

/// In a process of its own, since limits are per process: with ever more descriptors allowed, the launcher fails
/// cleanly until it succeeds.
#[test]
fn fault_18_running_out_of_descriptors_is_a_clean_error_and_a_retry_succeeds() {
    let output = Command::new(env!("CARGO_BIN_EXE_launcher")).args(["start", "few-files"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("then succeeded"), "{said}");
}

#[test]
fn fault_18_a_rank_without_descriptors_says_so() {
    for count in ["4", "5"] {
        let outcome = Launcher::new(VICTIM).args(["few-files", count]).ranks(2).capture(true).run().unwrap();
        if outcome.status() != 0 {
            let first = outcome.first_failure.unwrap();
            assert_eq!(outcome.status(), 7, "{}", text(&outcome, first));
            assert!(text(&outcome, first).contains("start: "), "{}", text(&outcome, first));
        }
    }
}

#[test]
fn fault_18_a_system_call_that_fails_is_a_clean_error() {
    for call in ["memfd_create", "ftruncate", "fallocate", "madvise", "getrandom", "membarrier"] {
        let output = Command::new(VICTIM).args(["fail", call]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        // Without membarrier every notification executes a full fence; all else is needed.
        let expected = if call == "membarrier" { 0 } else { 7 };
        assert_eq!(output.status.code(), Some(expected), "{call}: {said} {:?}", output.status);
        assert_eq!(said.starts_with("start: "), expected == 7, "{call}: {said}");
    }
    for call in ["madvise", "recvmsg", "membarrier"] {
        let outcome = Launcher::new(VICTIM).args(["fail", call]).ranks(2).capture(true).run().unwrap();
        let first = outcome.first_failure.unwrap();
        assert_eq!(outcome.endings[first], Ending::Exited(7), "{call}: {}", text(&outcome, first));
        assert!(text(&outcome, first).starts_with("start: "), "{call}: {}", text(&outcome, first));
    }
}

#[test]
fn fault_19_a_launcher_that_cannot_be_talked_to_is_an_error() {
    let foreign: [(&str, &str); 4] =
        [("OMPI_COMM_WORLD_SIZE", "4"), ("PMI_SIZE", "2"), ("PMIX_RANK", "0"), ("SLURM_STEP_NUM_TASKS", "8")];
    let wrong: [(&str, &str); 3] = [("HIKYAKU_SOCKET", "99"), ("HIKYAKU_SOCKET", "0"), ("HIKYAKU_SOCKET", "nonsense")];
    let single = foreign.into_iter().chain(wrong).map(|variable| vec![variable]);
    let absent = [
        vec![("PMI_FD", "99"), ("PMI_RANK", "0"), ("PMI_SIZE", "2")],
        vec![("PMI_FD", "1"), ("PMI_RANK", "0"), ("PMI_SIZE", "2")],
        vec![("PMI_FD", "5"), ("PMI_RANK", "2"), ("PMI_SIZE", "2")],
        vec![("PMI_FD", "5")],
        vec![("PMIX_NAMESPACE", "nobody"), ("PMIX_RANK", "0")],
    ];
    for variables in single.chain(absent) {
        let output = Command::new(VICTIM).arg("start").envs(variables.clone()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(7), "{variables:?}: {said}");
        assert!(said.contains("hikyaku run"), "{variables:?}: {said}");
    }
    let alone = Command::new(VICTIM).arg("start").output().unwrap();
    assert!(alone.status.success(), "a program started alone is a job of one");
}
