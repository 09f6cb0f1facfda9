//! Messages and collectives as processes, with private memory reached directly and by other ways.

#[path = "../../hikyaku/tests/collective/cases.rs"]
#[allow(missing_docs, dead_code)]
mod collective;
#[path = "../../hikyaku/tests/message/cases.rs"]
#[allow(dead_code)]
mod message;

use hikyaku::Config;
use hikyaku::collective::{Choices, Version};
use hikyaku::launch::Launcher;
use hikyaku_testing::watchdog::watched;

fn check(name: &str, ranks: usize, cross: &str) {
    check_by(Config::default(), name, ranks, cross);
}

fn check_by(config: Config, name: &str, ranks: usize, cross: &str) {
    let launcher =
        Launcher::new(env!("CARGO_BIN_EXE_layers")).arg(name).ranks(ranks).env("HIKYAKU_CROSS", cross).config(config);
    let outcome = watched(name, || launcher.capture(true).run().unwrap());
    for (rank, output) in outcome.output.iter().enumerate() {
        let errors = String::from_utf8_lossy(&output.errors);
        assert!(output.output.ends_with(b"passed\n"), "{name}, {ranks} ranks, cross {cross}, rank {rank}: {errors}");
    }
    assert_eq!(outcome.status(), 0, "{name}");
}

#[test]
fn messages() {
    for (name, ranks, _) in message::CASES {
        for cross in ["on", "off"] {
            check(name, *ranks, cross);
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
                check_by(config, name, ranks, cross);
            }
        }
    }
}
