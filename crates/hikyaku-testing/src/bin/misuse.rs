//! One rank that runs one program of the misuse suite: `hikyaku run -n RANKS misuse PROGRAM`.
//! Without an argument it lists the programs and how many ranks each needs.

#![forbid(unsafe_code)]

use hikyaku::Job;
use hikyaku_testing::misuse::{program, programs};
use hikyaku_testing::watchdog;

fn main() {
    let Some(name) = std::env::args().nth(1) else {
        for program in programs() {
            println!("{} {} ({:?})", program.ranks, program.name, program.end);
        }
        return;
    };
    let Some(program) = program(&name) else {
        eprintln!("no program {name}; without an argument, all are listed");
        std::process::exit(2);
    };
    watchdog::watch_process();
    let job = Job::start().unwrap_or_else(|error| panic!("cannot start: {error}"));
    assert_eq!(job.size(), program.ranks, "{name} needs {} ranks", program.ranks);
    (program.run)(&job);
}
