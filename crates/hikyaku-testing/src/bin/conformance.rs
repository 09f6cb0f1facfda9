//! One rank that runs one case: `hikyaku run -n RANKS conformance CASE`. Without an argument it lists the cases and how many
//! ranks each needs. `conformance program TEXT` follows a random program of messages.

use hikyaku::Job;
use hikyaku_testing::programs;
use hikyaku_testing::{Ranks, case, cases, runner, watchdog};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(name) = arguments.next() else {
        for case in cases() {
            match case.ranks {
                Ranks::Exactly(ranks) => println!("{ranks} {}", case.name),
                Ranks::Any => println!("any {}", case.name),
            }
        }
        return;
    };
    let known = case(&name);
    if known.is_none() && name != programs::NAME {
        eprintln!("no case {name}; without an argument, all are listed");
        std::process::exit(2);
    }
    watchdog::watch_process();
    let job = Job::start().unwrap_or_else(|error| panic!("cannot start: {error}"));
    match known {
        Some(case) => {
            assert!(case.sizes(&[job.size()]).contains(&job.size()), "{case:?} with {} ranks", job.size());
            case.run(&job);
        }
        None => {
            let program = arguments.next().expect("a program");
            programs::follow(&job, &programs::decode(&program)).expect("a program to the end");
        }
    }
    println!("{}", runner::PASSED);
}
