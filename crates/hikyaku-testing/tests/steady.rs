//! Send and receive take no allocation and no system call once a pair has talked.

use hikyaku::launch::{Ending, Launcher, Outcome};
use hikyaku_testing::watchdog;

fn run(fault: &str) -> Outcome {
    let launcher = Launcher::new(env!("CARGO_BIN_EXE_steady")).arg(fault).ranks(2).capture(true);
    watchdog::watched(fault, || launcher.run().expect("a job of two processes"))
}

fn text(outcome: &Outcome, rank: usize) -> String {
    let output = &outcome.output[rank];
    String::from_utf8_lossy(&output.output).into_owned() + &String::from_utf8_lossy(&output.errors)
}

#[test]
fn send_and_receive_take_no_allocation_and_no_system_call() {
    let outcome = run("none");
    for rank in 0..2 {
        let text = text(&outcome, rank);
        assert_eq!(outcome.endings[rank], Ending::Exited(0), "rank {rank} (31: it made a system call): {text}");
        assert!(text.contains("steady"), "rank {rank}: {text}");
    }
}

#[test]
fn allocations_would_be_noticed() {
    let outcome = run("allocate");
    let rank = outcome.first_failure.expect("a rank that allocates fails");
    let text = text(&outcome, rank);
    assert!(text.contains("\n2 allocations in send and receive") && text.contains("steady.rs"), "{text}");
}

#[test]
fn one_system_call_would_be_noticed() {
    let outcome = run("call");
    let rank = outcome.first_failure.expect("a rank that makes a system call fails");
    assert_eq!(outcome.endings[rank], Ending::Killed(libc::SIGSYS), "{}", text(&outcome, rank));
}
