//! One rank of a job whose last rank dies: `mortal LOOP MICROSECONDS`, as `tests/mortality.rs` says.

use hikyaku::Job;
use std::time::Duration;

fn main() {
    hikyaku_testing::watchdog::watch_process();
    hikyaku_ofi::install();
    let arguments: Vec<String> = std::env::args().collect();
    let life = Duration::from_micros(arguments[2].parse().unwrap());
    let job = Job::start().unwrap();
    hikyaku_testing::mortal::live(&job, &arguments[1], life).unwrap();
}
