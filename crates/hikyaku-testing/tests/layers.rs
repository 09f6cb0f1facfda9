//! Messages and collectives as processes, with private memory reached directly and by other ways.

#[path = "../../hikyaku/tests/message/cases.rs"]
#[allow(dead_code)]
mod cases;
#[path = "../../hikyaku/tests/collective/cases.rs"]
#[allow(missing_docs, dead_code)]
mod collective;
#[path = "../../hikyaku/tests/message/programs.rs"]
#[allow(dead_code)]
mod programs;
#[path = "../../hikyaku/tests/message/random.rs"]
mod random;

use hikyaku::Config;
use hikyaku::collective::{Choices, Version};
use hikyaku::launch::Launcher;
use hikyaku_testing::watchdog::watched;
use proptest::prelude::*;

fn check(name: &str, ranks: usize, cross: &str) {
    check_by(Config::default(), &[name], ranks, cross);
}

fn check_by(config: Config, arguments: &[&str], ranks: usize, cross: &str) {
    let program = Launcher::new(env!("CARGO_BIN_EXE_layers"));
    let launcher = program.args(arguments).ranks(ranks).env("HIKYAKU_CROSS", cross).config(config);
    let name = arguments[0];
    let outcome = watched(name, || launcher.capture(true).run().unwrap());
    // Of all ranks: the first that complains may only have noticed the end of another.
    let errors = |rank: usize| format!("rank {rank}: {}", String::from_utf8_lossy(&outcome.output[rank].errors));
    let has_passed = outcome.output.iter().all(|output| output.output.ends_with(b"passed\n"));
    assert!(
        has_passed,
        "{name}, {ranks} ranks, cross {cross}\n{}",
        (0..ranks).map(errors).collect::<Vec<_>>().join("\n")
    );
    assert_eq!(outcome.status(), 0, "{name}");
}

#[test]
fn messages() {
    for (name, ranks, _) in cases::CASES {
        for cross in ["on", "off"] {
            check(name, *ranks, cross);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(15))]

    /// Random programs of messages, as `hikyaku/tests/message.rs` runs them on threads.
    #[test]
    fn random_programs(two in random::program(2), four in random::program(4)) {
        for (steps, ranks) in [(two, 2), (four, 4)] {
            for cross in ["on", "off"] {
                check_by(Config::default(), &[programs::NAME, &programs::encode(&steps)], ranks, cross);
            }
        }
    }
}

#[test]
fn collectives() {
    for (name, _) in collective::CASES {
        for (ranks, cross) in [(2, "on"), (2, "off"), (5, "on"), (8, "off")] {
            check(name, ranks, cross);
        }
    }
}

#[test]
fn collectives_by_each_version() {
    for version in Version::ALL {
        let config = Config { choices: Choices::all(version), ..Config::default() };
        for (name, _) in collective::CASES {
            for (ranks, cross) in [(2, "on"), (5, "on"), (3, "off")] {
                check_by(config, &[name], ranks, cross);
            }
        }
    }
}
