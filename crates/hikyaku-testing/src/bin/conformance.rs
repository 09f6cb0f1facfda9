//! One rank that runs cases, one after the other: `hikyaku run -n RANKS conformance CASE...`. Without an argument it lists the
//! cases and how many ranks each needs. `conformance program TEXT` follows a random program of messages.

use hikyaku::Job;
use hikyaku_testing::programs;
use hikyaku_testing::{Ranks, case, cases, runner, watchdog};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.is_empty() {
        for case in cases() {
            match case.ranks {
                Ranks::Exactly(ranks) => println!("{ranks} {}", case.name),
                Ranks::Any => println!("any {}", case.name),
            }
        }
        return;
    }
    let program = (arguments[0] == programs::NAME).then(|| arguments[1].as_str());
    let named = |name: &String| {
        case(name).unwrap_or_else(|| {
            eprintln!("no case {name}; without an argument, all are listed");
            std::process::exit(2)
        })
    };
    let cases: Vec<_> = if program.is_some() { Vec::new() } else { arguments.iter().map(named).collect() };
    watchdog::watch_process();
    hikyaku_ofi::install();
    let job = Job::start().unwrap_or_else(|error| panic!("cannot start: {error}"));
    for (number, case) in cases.iter().enumerate() {
        assert!(case.sizes(&[job.size()]).contains(&job.size()), "{case:?} with {} ranks", job.size());
        if number > 0 {
            job.barrier().unwrap_or_else(|error| panic!("before {case:?}: {error}"));
        }
        case.run(&job);
    }
    if let Some(program) = program {
        programs::follow(&job, &programs::decode(program)).expect("a program to the end");
    }
    println!("{}", runner::PASSED);
}
