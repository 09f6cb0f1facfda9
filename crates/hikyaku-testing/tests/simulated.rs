//! The conformance suite in virtual time, one test per case.

use hikyaku::sim::{Machine, Sim};
use hikyaku_testing::{case, watchdog};

macro_rules! tests {
    ($($theme:ident { $($case:ident: $ranks:expr),* $(,)? })*) => {
        $(mod $theme {
            $(#[test]
            fn $case() {
                super::run(concat!(stringify!($theme), "::", stringify!($case)));
            })*
        })*
    };
}
hikyaku_testing::for_each_case!(tests);

/// What virtual time has no place for, and why.
const OUTSIDE: [(&str, &str); 0] = [];

fn run(name: &str) {
    if OUTSIDE.iter().any(|(outside, _)| *outside == name) {
        return;
    }
    let case = case(name).expect("listed");
    watchdog::watched(name, || Sim::new(Machine::plain(), case.ranks, 1).run(case.run).expect("a simulated job"));
}
