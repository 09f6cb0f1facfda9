//! A launcher to do harm to: starts the program `victim` beside it as three ranks, as the fault tests say.

use hikyaku::launch::Launcher;
use hikyaku_testing::os;
use hikyaku_testing::watchdog::{Limits, watched_with};
use std::time::Duration;

fn main() {
    // Whoever stopped it may be killed before letting it go on: it ends with the test at the latest.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).unwrap();
    let arguments: Vec<String> = std::env::args().collect();
    let victim = std::env::current_exe().unwrap().with_file_name("victim");
    let role = &arguments[1];
    match arguments[2].as_str() {
        "direct" => drop(Launcher::new(&victim).arg(role).ranks(3).run()),
        // The rank is a grandchild: its parent is a shell that does not turn into it.
        "shell" => {
            let script = format!("{} {role}; true", victim.display());
            drop(Launcher::new("sh").args(["-c", &script]).ranks(3).run());
        }
        "few-files" => few_files(&victim),
        "watched" => {
            let (still, busy) = (Duration::from_secs(4), Duration::from_secs(4));
            let limits = Limits { still, busy, clock: Duration::from_secs(600) };
            watched_with(limits, role, || drop(Launcher::new(&victim).arg(role).ranks(2).run()));
        }
        other => panic!("no such way to start: {other}"),
    }
}

/// Allows ever more descriptors until a job starts: each failure must be an error, and leave nothing open.
fn few_files(victim: &std::path::Path) {
    let launcher = Launcher::new(victim).arg("start").ranks(3).capture(true);
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = open();
    let mut failures = 0;
    for limit in 3..64 {
        os::limit_files(limit);
        let started = launcher.run();
        os::limit_files(4096);
        assert_eq!(open(), before, "descriptors stayed open after {failures} failures");
        match started {
            Ok(outcome) if outcome.status() == 0 => {
                println!("{failures} clean failures, then succeeded with {limit} descriptors");
                return;
            }
            _ => failures += 1,
        }
    }
    panic!("a job of three ranks never started");
}
