//! `hikyaku sim`: jobs in virtual time.

mod chaos;

use clap::Subcommand;
use std::process::ExitCode;

/// Runs jobs in virtual time, on models of machines.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Chaos(chaos::Arguments),
}

/// Does it.
pub fn run(arguments: Arguments) -> Result<ExitCode, String> {
    match arguments.command {
        Command::Chaos(arguments) => chaos::run(arguments),
    }
}
