//! The conformance suite with ranks as processes, one test per case: once where the kernel lets a process reach
//! another's private memory, once by messages to its owner.

use hikyaku::launch::Launcher;
use hikyaku_testing::case;
use hikyaku_testing::runner::{self, Kind};

macro_rules! tests {
    ($($theme:ident { $($case:ident: $ranks:expr),* $(,)? })*) => {
        mod direct {
            $(mod $theme {
                $(#[test]
                fn $case() {
                    let name = concat!(stringify!($theme), "::", stringify!($case));
                    crate::run(name, &[("HIKYAKU_EXPECT_ROUTE", "direct")]);
                })*
            })*
        }
        mod by_messages {
            $(mod $theme {
                $(#[test]
                fn $case() {
                    let name = concat!(stringify!($theme), "::", stringify!($case));
                    crate::run(name, &[("HIKYAKU_CROSS", "off"), ("HIKYAKU_EXPECT_ROUTE", "messages")]);
                })*
            })*
        }
    };
}
hikyaku_testing::for_each_case!(tests);

fn run(name: &str, variables: &[(&str, &str)]) {
    let launcher = |ranks, _| {
        let program = Launcher::new(env!("CARGO_BIN_EXE_conformance")).ranks(ranks);
        variables.iter().fold(program, |launcher, (name, value)| launcher.env(name, value))
    };
    runner::check("as processes", &Kind::Processes(&launcher), case(name), &[]);
}
