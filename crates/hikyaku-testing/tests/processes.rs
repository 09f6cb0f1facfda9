//! The conformance suite with ranks as processes, one test per case: once where the kernel lets a process reach
//! another's private memory, once by messages to its owner.

use hikyaku::launch::Launcher;
use hikyaku_testing::{case, watchdog};

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
    let case = case(name).expect("listed");
    let program = Launcher::new(env!("CARGO_BIN_EXE_conformance")).arg(name).ranks(case.ranks).capture(true);
    let launcher = variables.iter().fold(program, |launcher, (name, value)| launcher.env(name, value));
    let outcome = watchdog::watched(name, || launcher.run().expect("a job of processes"));
    if let Some(first) = outcome.first_failure {
        for (rank, printed) in outcome.output.iter().enumerate() {
            println!("rank {rank} ended by {:?} and said:", outcome.endings[rank]);
            println!("{}{}", String::from_utf8_lossy(&printed.output), String::from_utf8_lossy(&printed.errors));
        }
        panic!("rank {first} failed first");
    }
}
