//! A rank that makes a mistake: `deadlock NAME` as a rank of a job, `deadlock NAME threads` as a job of threads.

use hikyaku_testing::deadlock::MISTAKES;

fn main() -> hikyaku::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mistake = MISTAKES.iter().find(|mistake| mistake.name == arguments[0]).expect("a mistake");
    if arguments.len() > 1 {
        return hikyaku::local(2, mistake.run)?.into_iter().collect();
    }
    (mistake.run)(&hikyaku::Job::start()?)
}
