//! Programs that end before their messages were handled: the rank on which they lie says so, and nobody fails.

use hikyaku::launch::Launcher;
use hikyaku::sim::{Machine, Sim};
use hikyaku_testing::unhandled::{PROGRAMS, Program};
use hikyaku_testing::watchdog::watched;
use std::process::Command;

const BINARY: &str = env!("CARGO_BIN_EXE_deadlock");
const REMEDY: &str = "A barrier, or `sync` of the rank that sends, waits until messages were handled.";

fn line(program: &Program) -> String {
    format!("hikyaku: {}{REMEDY}\n", program.said)
}

#[test]
fn processes_say_which_messages_were_not_handled() {
    for program in &PROGRAMS {
        let run = || Launcher::new(BINARY).arg(program.name).ranks(2).capture(true).run().unwrap();
        let outcome = watched(program.name, run);
        assert_eq!(outcome.status(), 0, "{outcome:?}");
        let said = outcome.output.iter().map(|output| String::from_utf8_lossy(&output.errors));
        assert_eq!(said.collect::<Vec<_>>(), ["".into(), line(program)]);
    }
}

#[test]
fn threads_say_which_messages_were_not_handled() {
    for program in &PROGRAMS {
        let run = || Command::new(BINARY).args([program.name, "threads"]).output().unwrap();
        let output = watched(program.name, run);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), line(program));
    }
}

#[test]
fn a_simulation_tells_which_messages_were_not_handled() {
    for program in &PROGRAMS {
        let run = Sim::new(Machine::plain(), 2, 1).run(program.run).unwrap();
        assert!(run.results.into_iter().all(|result| result.is_ok()));
        assert_eq!(run.remarks, [format!("{}{REMEDY}", program.said)]);
    }
    // On one host too, where the message lies in shared memory.
    let run = Sim::new(Machine::plain(), 2, 1).hosts(|_| 0).run(PROGRAMS[1].run).unwrap();
    assert_eq!(run.remarks, [format!("{}{REMEDY}", PROGRAMS[1].said)]);
}

/// Nothing is said of messages that were handled.
#[test]
fn a_program_that_waits_for_its_messages_hears_nothing() {
    let run = Sim::new(Machine::plain(), 3, 1).hosts(|rank| rank % 2).run(|job| {
        job.register_handler(7, |_, _| {})?;
        job.barrier()?;
        (0..3).try_for_each(|peer| job.send(peer, 7, 0, [0; 6], &[]))?;
        job.barrier()
    });
    let run = run.unwrap();
    assert!(run.results.into_iter().all(|result| result.is_ok()));
    assert!(run.remarks.is_empty(), "{:?}", run.remarks);
}
