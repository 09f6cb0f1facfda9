//! Jobs of far more ranks than cores: what a rank takes for itself does not grow with slots and ranks it has nothing to do with.
//! The program `crowd` does the work and checks itself.

use hikyaku::launch::{Ending, Launcher};
use hikyaku_testing::watchdog::watched;

/// What rank 0 prints.
fn run(arguments: &[&str], ranks: usize) -> String {
    let what = format!("{arguments:?}, {ranks} ranks");
    let launcher = Launcher::new(env!("CARGO_BIN_EXE_crowd")).args(arguments).ranks(ranks);
    let outcome = watched(&what, || launcher.capture(true).run().unwrap());
    for (rank, (ending, output)) in outcome.endings.iter().zip(&outcome.output).enumerate() {
        let errors = String::from_utf8_lossy(&output.errors);
        assert_eq!(*ending, Ending::Exited(0), "{what}, rank {rank}: {errors}");
    }
    let output = String::from_utf8_lossy(&outcome.output[0].output).into_owned();
    print!("{what}: {output}");
    output
}

/// With 1,024 slots, after it has talked with four ranks in a few of them.
#[test]
fn a_rank_of_many_takes_little_memory_for_itself() {
    let told = run(&["memory"], 96);
    let kilobytes: u64 = told.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kilobytes <= 4096, "{told}");
}

#[test]
fn blocks_of_many_ranks_reach_each_other() {
    run(&["alltoall", "2", "2"], 40);
}
