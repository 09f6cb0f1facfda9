//! The `hikyaku` program: starts jobs, measures, and explains what the library does on this machine.

#[macro_use]
mod say;

mod bench;
mod elf;
mod info;
mod manual;
mod run;
mod sim;
mod tune;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Communication built on remote memory operations.
#[derive(Parser)]
#[command(
    name = "hikyaku",
    version,
    about,
    after_help = "Try:\n  hikyaku bench                     what this machine can do, beside MPI and UCX\n  hikyaku run -n 4 ./program        start a program as 4 ranks\n  hikyaku run --hosts a:2,b:2 ...   the same over hosts\n  hikyaku info                      what was found here, and which mechanism is used for what\n  hikyaku tune                      measure the collectives' versions here, and use the fastest\n  hikyaku sim bench --machine ndr   what another machine could do, simulated\n  hikyaku sim chaos                 random programs in virtual time while things go wrong"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Arguments),
    Bench(bench::Arguments),
    Info(info::Arguments),
    Tune(tune::Arguments),
    Sim(sim::Arguments),
    /// Man pages and completions of shells; for `make install`.
    #[command(hide = true)]
    Manual(manual::Arguments),
    /// The agent of a host; started by `hikyaku run --hosts`.
    #[command(hide = true)]
    Agent,
    /// One rank of the benchmark or of a probe; started by the other commands.
    #[command(hide = true)]
    Rank {
        #[command(subcommand)]
        role: Role,
    },
}

#[derive(Subcommand)]
enum Role {
    /// Measures some parts of the benchmark.
    Bench {
        /// The parts.
        parts: Vec<bench::Part>,
    },
    /// Finds out how ranks reach each other.
    Probe,
    /// Measures one version of the collectives.
    Tune {
        /// Its name.
        version: String,
        /// How long to measure each figure.
        time_ms: u64,
        /// The largest size.
        max: usize,
    },
}

/// This program, to be started as a launcher or as the ranks of a job.
fn this_program() -> Result<std::path::PathBuf, String> {
    std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))
}

fn main() -> ExitCode {
    hikyaku_ofi::install();
    let result = match Arguments::parse().command {
        Command::Run(arguments) => run::run(arguments),
        Command::Agent => {
            hikyaku::launch::serve_as_agent().map(|()| ExitCode::SUCCESS).map_err(|error| error.to_string())
        }
        Command::Manual(arguments) => manual::write::<Arguments>(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Bench(arguments) => bench::run(arguments),
        Command::Info(arguments) => info::run(arguments),
        Command::Rank { role: Role::Bench { parts } } => bench::rank(&parts),
        Command::Tune(arguments) => tune::run(arguments),
        Command::Sim(arguments) => sim::run(arguments),
        Command::Rank { role: Role::Probe } => info::probe_rank(),
        Command::Rank { role: Role::Tune { version, time_ms, max } } => tune::rank(&version, time_ms, max),
    };
    match result {
        Ok(status) => status,
        Err(message) => {
            complain!("hikyaku: {message}");
            ExitCode::FAILURE
        }
    }
}
