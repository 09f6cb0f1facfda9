//! Faults 11 and 12 for messages and collectives: more ranks than cores, ranks that wait for long, and ranks that flood
//! one that does not receive. The program `laden` does the work and checks itself.

use hikyaku::launch::{Ending, Launcher, Outcome};
use hikyaku_testing::watchdog::watched;

fn run(arguments: &[&str], ranks: usize, cross: &str) -> Outcome {
    let what = format!("{arguments:?}, {ranks} ranks, cross {cross}");
    let launcher = Launcher::new(env!("CARGO_BIN_EXE_laden")).args(arguments).ranks(ranks).env("HIKYAKU_CROSS", cross);
    let outcome = watched(&what, || launcher.capture(true).run().unwrap());
    for (rank, (ending, output)) in outcome.endings.iter().zip(&outcome.output).enumerate() {
        let errors = String::from_utf8_lossy(&output.errors);
        assert_eq!(*ending, Ending::Exited(0), "{what}, rank {rank}: {errors}");
    }
    print!("{what}: {}", String::from_utf8_lossy(&outcome.output[0].output));
    outcome
}

#[test]
fn fault_11_many_ranks_on_few_cores_make_progress() {
    for cross in ["on", "off"] {
        run(&["busy"], 16, cross);
    }
}

#[test]
fn fault_11_ranks_that_wait_for_a_message_or_a_collective_use_no_processor_time() {
    // With fewer ranks than cores they spin at first. Of two ranks one waits, in the way that is named.
    for (first, ranks) in [("0", 2), ("3", 2), ("5", 2), ("0", 16)] {
        let outcome = run(&["idle", first], ranks, "on");
        for output in &outcome.output[1..] {
            print!("{}", String::from_utf8_lossy(&output.output));
        }
    }
}

#[test]
fn fault_12_members_that_run_ahead_are_held_back_and_lose_nothing() {
    for name in ["broadcast 1", "broadcast 500", "broadcast 20000", "reduce 1", "reduce 500", "reduce 20000"] {
        for cross in ["on", "off"] {
            run(&["ahead", name], 3, cross);
        }
    }
}

#[test]
fn fault_12_a_flood_is_held_back_and_loses_nothing() {
    for name in ["short", "bounce", "long", "any", "spool", "spool any"] {
        for cross in ["on", "off"] {
            run(&["flood", name], 3, cross);
        }
    }
}
