//! The misuse suite on threads, on simulated hosts, and as processes, with private memory reached directly and by messages to its
//! owner.

use hikyaku::launch::{Ending, Launcher};
use hikyaku::sim::{Machine, NicOrder, Sim};
use hikyaku_testing::misuse::{End, Program, program};
use hikyaku_testing::watchdog::watched;
use std::panic::catch_unwind;
use std::time::Duration;

macro_rules! tests {
    ($($theme:ident { $($program:ident: $ranks:literal $(=> $end:ident)?),* $(,)? })*) => {
        $(mod $theme {
            $(mod $program {
                const NAME: &str = concat!(stringify!($theme), "::", stringify!($program));

                #[test]
                fn on_threads() {
                    crate::on_threads(NAME);
                }

                #[test]
                fn on_simulated_hosts() {
                    crate::on_simulated_hosts(NAME);
                }

                #[test]
                fn as_processes() {
                    crate::as_processes(NAME, "on");
                }

                #[test]
                fn as_processes_by_messages() {
                    crate::as_processes(NAME, "off");
                }
            })*
        })*
    };
}
hikyaku_testing::for_each_misuse!(tests);

fn on_threads(name: &str) {
    let Program { ranks, end, run, .. } = *program(name).expect("listed");
    let ended = watched(name, || catch_unwind(|| hikyaku::local(ranks, run).expect("a job of threads")));
    match (end, ended) {
        (End::Well, Err(panic)) => std::panic::resume_unwind(panic),
        (End::Panics, Ok(_)) => panic!("{name} should have panicked"),
        _ => {}
    }
}

/// Programs that are not for simulated hosts.
const NOT_SIMULATED: [&str; 10] = [
    // They need threads, or time that goes on inside a function: a simulated rank has neither.
    "handlers::a_handlers_panic_is_caught_by_one_thread_of_two",
    "memory::a_handler_takes_an_area_away",
    "memory::areas_are_taken_away_from_peers_that_push_and_call",
    "memory::an_area_is_dropped_under_a_lock_that_handlers_take",
    "messages::a_function_receives_what_its_rank_waits_for",
    "functions::two_jobs_use_each_others_groups",
    // They say what near members find out by looking at each other.
    "disagreement::memory_is_asked_for_that_others_ask_for_messages",
    "disagreement::an_earlier_call_differs_too",
    "functions::a_function_of_a_call_under_way_calls_its_own_group",
    "groups::memory_is_allocated_after_a_panic_in_an_allocation",
];

/// Each rank on a host of its own, and two hosts of several; by packets, and with network interfaces that reach memory by
/// themselves.
fn on_simulated_hosts(name: &str) {
    let Program { ranks, end, run, .. } = *program(name).expect("listed");
    if ranks == 1 || NOT_SIMULATED.contains(&name) {
        return;
    }
    for (hosts, order) in [
        (ranks, None),
        (2, None),
        (ranks, Some(NicOrder::AnyOrder)),
        (2, Some(NicOrder::InOrder)),
        (2, Some(NicOrder::TransfersOnly)),
    ] {
        let sim = Sim::new(Machine::plain(), ranks, 1).hosts(|rank| rank % hosts).time_limit(Duration::from_secs(1000));
        let sim = if let Some(order) = order { sim.remote_memory(order) } else { sim };
        let ended = watched(name, || catch_unwind(|| sim.run(run).expect("a simulated job")));
        match (end, ended) {
            (End::Well, Err(panic)) => std::panic::resume_unwind(panic),
            (End::Panics, Ok(_)) => panic!("{name} should have panicked"),
            _ => {}
        }
    }
}

/// With less memory of the job than the program asks for.
#[test]
fn a_message_that_finds_no_memory_is_not_announced() {
    as_processes_with("exchange::a_message_finds_no_memory", &[("HIKYAKU_CROSS", "off"), ("HIKYAKU_HEAP", "16M")]);
}

fn as_processes(name: &str, cross: &str) {
    as_processes_with(name, &[("HIKYAKU_CROSS", cross)]);
}

fn as_processes_with(name: &str, settings: &[(&str, &str)]) {
    let Program { ranks, end, .. } = *program(name).expect("listed");
    let launcher = Launcher::new(env!("CARGO_BIN_EXE_misuse")).arg(name).ranks(ranks);
    let launcher = settings.iter().fold(launcher, |launcher, (name, value)| launcher.env(name, value));
    let outcome = watched(name, || launcher.capture(true).run().expect("a job of processes"));
    let first = outcome.first_failure.map(|rank| outcome.endings[rank]);
    // What a panic ends with; a signal would be a crash.
    let expected = match end {
        End::Well => None,
        End::Panics => Some(Ending::Exited(101)),
    };
    if first != expected {
        for (rank, printed) in outcome.output.iter().enumerate() {
            println!("rank {rank} ended by {:?} and said:", outcome.endings[rank]);
            println!("{}{}", String::from_utf8_lossy(&printed.output), String::from_utf8_lossy(&printed.errors));
        }
        panic!("{name}: the first failure was {first:?}, not {expected:?}");
    }
}
