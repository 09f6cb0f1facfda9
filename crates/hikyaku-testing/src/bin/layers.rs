//! One rank of a case of the layers above the network interface (messages, collectives), named on the command line.

#[path = "../../../hikyaku/tests/message/cases.rs"]
mod cases;
#[path = "../../../hikyaku/tests/collective/cases.rs"]
#[allow(missing_docs)]
mod collective;
#[path = "../../../hikyaku/tests/message/programs.rs"]
#[allow(missing_docs, dead_code)]
mod programs;

fn main() {
    hikyaku_testing::watchdog::watch_process();
    let name = std::env::args().nth(1).unwrap_or_default();
    let job = hikyaku::Job::start().unwrap();
    if name == programs::NAME {
        let program = std::env::args().nth(2).unwrap_or_default();
        programs::follow(&job, &programs::decode(&program)).unwrap();
    } else if let Some((_, _, body)) = cases::CASES.iter().find(|case| case.0 == name) {
        body(&job).unwrap();
    } else if let Some((_, body)) = collective::CASES.iter().find(|case| case.0 == name) {
        body(&job);
    } else {
        panic!("no such case: {name}");
    }
    job.barrier().unwrap();
    println!("passed");
}
