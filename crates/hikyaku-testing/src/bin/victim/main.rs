//! A program to do harm to: each role is one rank's behaviour in a fault test of `tests/faults.rs`. What it prints is
//! what the tests look at.

mod buffers;
mod deaths;
mod ordinary;
mod start;

use hikyaku::Job;

fn main() {
    ordinary::note_actions();
    let arguments: Vec<String> = std::env::args().collect();
    let role = arguments.get(1).map(String::as_str).unwrap_or("");
    match role {
        "early" => deaths::early(),
        "forbid" => hikyaku_testing::seccomp::forbid_cross_memory(),
        "few-files" => start::limit_files(&arguments[2]),
        "fail" => start::fail_calls(&arguments[2]),
        "exit-beside" => hikyaku_testing::ends::prepare_to_linger(),
        "skew" => return start::introduce_as_another_version(),
        _ => {}
    }
    let job = match Job::start() {
        Ok(job) => job,
        Err(error) => {
            println!("start: {error}");
            std::process::exit(7);
        }
    };
    let outcome = match role {
        "start" | "few-files" | "fail" => Ok(()),
        "early" => job.barrier(),
        "barrier" => deaths::barrier(&job),
        "flag" => deaths::flag(&job),
        "pull" => deaths::pull(&job),
        "handler" => deaths::handler(&job),
        "full-ring" => deaths::full_ring(&job),
        "spin" => ordinary::spin(&job),
        "stuck" => ordinary::stuck(&job),
        "give-up" => deaths::give_up(&job),
        "loop" => ordinary::endless(&job),
        "idle" => ordinary::idle(&job),
        "fork" => ordinary::fork(&job),
        "signals" => ordinary::signals(&job),
        "forbid" => buffers::forbidden(&job),
        "too-much" => buffers::too_much(&job),
        "pinned" => deaths::pinned(&job),
        "pinning" => deaths::pinning(&job),
        "exit" => deaths::exit_unannounced(&job),
        "exit-beside" => hikyaku_testing::ends::exit_beside(&job),
        "killed-inside" => hikyaku_testing::ends::killed_inside(&job),
        "bad-buffer" => buffers::bad_buffer(&job),
        "unwatched" => deaths::unwatched(&job),
        other => panic!("no such role: {other}"),
    };
    if let Err(error) = outcome {
        println!("error: {error}");
        std::process::exit(9);
    }
}
