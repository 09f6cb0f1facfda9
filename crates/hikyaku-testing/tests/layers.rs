//! Messages and collectives as processes, with private memory reached directly and by other ways.

mod random;

use hikyaku::Config;
use hikyaku::collective::{Choices, Version};
use hikyaku::launch::Launcher;
use hikyaku_testing::programs;
use hikyaku_testing::runner;
use hikyaku_testing::{Suite, suite, watchdog};
use proptest::prelude::*;

fn launcher(config: Config, ranks: usize, cross: &str) -> Launcher {
    Launcher::new(env!("CARGO_BIN_EXE_conformance")).ranks(ranks).env("HIKYAKU_CROSS", cross).config(config)
}

/// Runs cases as processes; `any` are pairs of a number of ranks and whether private memory is reached directly.
fn check(config: Config, which: Suite, any: &[(usize, &str)]) {
    for (ranks, cross) in any {
        let what = format!("as processes, cross {cross}");
        runner::check_together(&what, &|ranks, _| launcher(config, ranks, cross), suite(which), &[*ranks]);
    }
}

#[test]
fn messages() {
    // The number of ranks is that of the case.
    check(Config::default(), Suite::Messages, &[(2, "on"), (2, "off")]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(15))]

    /// Random programs of messages, as `message.rs` runs them on threads.
    #[test]
    fn random_programs(two in random::program(2), four in random::program(4)) {
        for (steps, ranks) in [(two, 2), (four, 4)] {
            for cross in ["on", "off"] {
                let launcher = launcher(Config::default(), ranks, cross).capture(true);
                let launcher = launcher.args([programs::NAME, &programs::encode(&steps)]);
                let ran = watchdog::watched("a random program", || runner::processes(launcher));
                prop_assert!(ran.is_ok(), "{ranks} ranks, cross {cross}: {}", ran.unwrap_err());
            }
        }
    }
}

#[test]
fn collectives() {
    check(Config::default(), Suite::Collectives, &[(2, "on"), (2, "off"), (5, "on"), (8, "off")]);
}

#[test]
fn collectives_by_each_version() {
    for version in Version::ALL {
        let config = Config { choices: Choices::all(version), ..Config::default() };
        check(config, Suite::Collectives, &[(2, "on"), (5, "on"), (3, "off")]);
    }
}
