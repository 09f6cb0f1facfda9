//! One rank that runs one case of the conformance suite: `hikyaku run -n RANKS conformance CASE`.
//! Without an argument it lists the cases and how many ranks each needs.

use hikyaku::Job;
use hikyaku_testing::{case, cases, watchdog};

fn main() {
    let Some(name) = std::env::args().nth(1) else {
        for case in cases() {
            println!("{} {}", case.ranks, case.name);
        }
        return;
    };
    let Some(case) = case(&name) else {
        eprintln!("no case {name}; without an argument, all are listed");
        std::process::exit(2);
    };
    watchdog::watch_process();
    let job = Job::start().unwrap_or_else(|error| panic!("cannot start: {error}"));
    assert_eq!(job.size(), case.ranks, "{name} needs {} ranks", case.ranks);
    (case.run)(&job);
}
