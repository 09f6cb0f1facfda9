//! A rank that makes a mistake: `deadlock NAME` as a rank of a job, `deadlock NAME threads` as a job of threads.

use hikyaku_testing::deadlock::MISTAKES;
use hikyaku_testing::unhandled::PROGRAMS;

fn main() -> hikyaku::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mistakes = MISTAKES.iter().map(|mistake| (mistake.name, mistake.run));
    let mistakes = mistakes.chain(PROGRAMS.iter().map(|program| (program.name, program.run)));
    let (_, run) = mistakes.into_iter().find(|(name, _)| *name == arguments[0]).expect("a mistake");
    if arguments.len() > 1 {
        return hikyaku::local(2, run)?.into_iter().collect();
    }
    run(&hikyaku::Job::start()?)
}
