//! Faults 1 and 3 for messages and collectives: a rank is killed at random moments of every kind of call. The others
//! learn of it by name, and go on.

use hikyaku::Config;
use hikyaku::collective::{Choices, Version};
use hikyaku::launch::{Ending, Launcher, OnDeath, Outcome};
use hikyaku_testing::chance::Chance;
use hikyaku_testing::patience::assert_prompt;
use hikyaku_testing::{leftovers::Watch, mortal, mortal::torn, watchdog::watched};
use std::time::Duration;

/// What survivors are promised.
const SOON: Duration = Duration::from_millis(100);
/// Later than any other load of the machine explains.
const NEVER: Duration = Duration::from_secs(2);

/// Runs one job whose last rank dies after `life`; gives how long after that the last survivor learned of it.
fn kill_one(name: &str, ranks: usize, cross: &str, life: Duration) -> Duration {
    kill_one_by(Config::default(), name, ranks, cross, life)
}

fn kill_one_by(config: Config, name: &str, ranks: usize, cross: &str, life: Duration) -> Duration {
    end_one(libc::SIGKILL, config, name, ranks, cross, life)
}

/// Runs one job whose last rank gets a signal after `life`; gives how long after that the last survivor learned of its end.
fn end_one(signal: i32, config: Config, name: &str, ranks: usize, cross: &str, life: Duration) -> Duration {
    run_one(signal, config, name, ranks, cross, life).0
}

/// The same, and what all of them said.
fn run_one(signal: i32, config: Config, name: &str, ranks: usize, cross: &str, life: Duration) -> (Duration, Outcome) {
    let what = format!("{name}, {ranks} ranks, cross {cross}, killed after {life:?}");
    let watch = Watch::new(env!("CARGO_TARGET_TMPDIR"));
    let launcher = Launcher::new(env!("CARGO_BIN_EXE_mortal"))
        .args([name, &life.as_micros().to_string()])
        .ranks(ranks)
        .env("HIKYAKU_CROSS", cross)
        .env("TMPDIR", watch.folder())
        .config(config)
        .on_death(OnDeath::Continue)
        .capture(true);
    let outcome = watched(&what, || launcher.run().unwrap());
    let died = moment(&outcome, ranks - 1, "died ").unwrap_or_else(|| panic!("{what}: {}", text(&outcome, ranks - 1)));
    assert_eq!(outcome.endings[ranks - 1], Ending::Killed(signal), "{what}: {}", text(&outcome, ranks - 1));
    let mut slowest = Duration::ZERO;
    for rank in 0..ranks - 1 {
        let said = text(&outcome, rank);
        assert_eq!(outcome.endings[rank], Ending::Exited(0), "{what}, rank {rank}: {said}");
        assert!(said.contains("went on"), "{what}, rank {rank}: {said}");
        if let Some(learned) = moment(&outcome, rank, "learned ") {
            slowest = slowest.max(Duration::from_nanos(learned.saturating_sub(died)));
        }
    }
    assert_prompt(slowest, NEVER, format!("{what}: learned"));
    watch.check();
    (slowest, outcome)
}

fn text(outcome: &Outcome, rank: usize) -> String {
    let output = &outcome.output[rank];
    String::from_utf8_lossy(&output.output).into_owned() + &String::from_utf8_lossy(&output.errors)
}

fn moment(outcome: &Outcome, rank: usize, word: &str) -> Option<u64> {
    text(outcome, rank).lines().find_map(|line| line.strip_prefix(word)?.parse().ok())
}

/// Every loop, with cores to spare and without, with private memory reached directly and not.
#[test]
fn fault_1_a_death_in_every_kind_of_message_and_collective() {
    let mut chance = Chance::new(1, 0);
    let (mut runs, mut times) = (0, Vec::new());
    for turn in 0..3 {
        for (name, _) in mortal::loops() {
            for (ranks, cross) in [(2, "on"), (4, "on"), (if turn % 2 == 0 { 2 } else { 4 }, "off")] {
                let life = Duration::from_micros(chance.below(5000) as u64);
                times.push((kill_one(name, ranks, cross, life), name));
                runs += 1;
            }
        }
    }
    times.sort();
    let ((slowest, name), median) = (times[runs - 1], times[runs / 2].0);
    println!("{runs} deaths; learned after {median:?} (median), {slowest:?} (slowest, {name})");
    // Beside other programs a single one may take longer.
    assert_prompt(median, SOON, "most survivors learned");
}

/// What is built on remote memory, with several ranks and with one that is left alone.
#[test]
fn fault_1_a_death_in_every_service_and_access() {
    let (mut chance, mut times) = (Chance::new(4, 0), Vec::new());
    for (name, _) in mortal::services() {
        for ranks in [2, 4] {
            // What they need is made meanwhile.
            let life = Duration::from_micros(chance.below(20_000) as u64);
            times.push((kill_one(name, ranks, "on", life), name));
        }
    }
    times.sort();
    let ((slowest, name), median) = (times[times.len() - 1], times[times.len() / 2].0);
    println!("{} deaths; learned after {median:?} (median), {slowest:?} (slowest, {name})", times.len());
    assert_prompt(median, SOON, "most survivors learned");
}

/// The first of those who wait gets the lock, and alone is told; then the others get it.
#[test]
fn fault_2_the_next_in_line_is_told_that_an_owner_has_died() {
    for (ranks, cross) in [(2, "on"), (4, "on"), (4, "off")] {
        let (took, outcome) = run_one(libc::SIGKILL, Config::default(), "held lock", ranks, cross, Duration::ZERO);
        let told = (0..ranks - 1).filter(|rank| moment(&outcome, *rank, "learned ").is_some()).count();
        assert_eq!(told, 1, "of {ranks} ranks");
        println!("{ranks} ranks, cross {cross}: the next in line had the lock after {took:?}");
    }
}

/// Every version of the calls that have several.
#[test]
fn fault_1_a_death_in_every_version_of_a_collective() {
    let mut chance = Chance::new(2, 0);
    let calls = ["barrier", "broadcast", "reduce", "allreduce"];
    let calls = calls.into_iter().chain(["long broadcast", "long reduce", "long allreduce", "long non-blocking calls"]);
    for (version, name) in Version::ALL.into_iter().flat_map(|version| calls.clone().map(move |name| (version, name))) {
        let config = Config { choices: Choices::all(version), ..Config::default() };
        for (ranks, cross) in [(2, "on"), (4, "on"), (4, "off")] {
            println!("{name} by {}, {ranks} ranks, cross {cross}", version.name());
            kill_one_by(config, name, ranks, cross, Duration::from_micros(chance.below(5000) as u64));
        }
    }
}

/// Not at a random moment, but between the first and the last piece of what it sends.
#[test]
fn fault_3_a_sender_that_dies_in_the_midst_of_its_copy() {
    // Contributions go in pieces by this version.
    let config = Config { choices: Choices::all(Version::Buffers), ..Config::default() };
    let mut times = Vec::new();
    for (case, ranks) in torn::CASES.iter().flat_map(|case| [2, 4].map(|ranks| (case, ranks))) {
        let name = format!("torn {}", case.name);
        times.push(end_one(case.signal, config, &name, ranks, case.cross, Duration::ZERO));
        println!("{}, {ranks} ranks: learned after {:?}", case.name, times[times.len() - 1]);
    }
    times.sort();
    let median = times[times.len() / 2];
    assert_prompt(median, SOON, "most survivors learned");
}

#[test]
fn fault_3_a_sender_that_dies_while_it_fills_a_buffer_harms_no_other_sender() {
    let mut chance = Chance::new(3, 0);
    for _ in 0..40 {
        kill_one("crowd", 4, "on", Duration::from_micros(chance.below(8000) as u64));
    }
}
