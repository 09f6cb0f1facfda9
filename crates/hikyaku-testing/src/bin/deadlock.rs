//! A rank that makes a mistake: `deadlock NAME` as a rank of a job, `deadlock NAME threads` as a job of threads.

use hikyaku::{Job, Result};
use hikyaku_testing::deadlock;
use hikyaku_testing::unhandled::PROGRAMS;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = &arguments[0];
    let run = |job: &Job| {
        let program = || PROGRAMS.iter().find(|program| program.name == name).expect("a program");
        deadlock::run(name, job).unwrap_or_else(|| (program().run)(job))
    };
    if arguments.len() > 1 {
        return hikyaku::local(2, run)?.into_iter().collect();
    }
    run(&Job::start()?)
}
