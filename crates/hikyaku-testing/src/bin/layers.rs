//! One rank of a case of the layers above the network interface (messages, collectives), named on the command line.

#[path = "../../../hikyaku/tests/collective/cases.rs"]
#[allow(missing_docs)]
mod collective;
#[path = "../../../hikyaku/tests/message/cases.rs"]
mod message;

fn main() {
    hikyaku_testing::watchdog::watch_process();
    let name = std::env::args().nth(1).unwrap_or_default();
    let job = hikyaku::Job::start().unwrap();
    if let Some((_, _, body)) = message::CASES.iter().find(|case| case.0 == name) {
        body(&job).unwrap();
    } else if let Some((_, body)) = collective::CASES.iter().find(|case| case.0 == name) {
        body(&job);
    } else {
        panic!("no such case: {name}");
    }
    job.barrier().unwrap();
    println!("passed");
}
