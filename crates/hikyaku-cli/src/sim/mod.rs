//! `hikyaku sim`: programs on machines that are not here, in virtual time.
//!
//! | file | concept |
//! |---|---|
//! | `bench` | the tables of `hikyaku bench` |
//! | `chaos` | random programs while things go wrong |
//! | `machines` | which models there are |
//! | `timeline`, `trace` | who sent what to whom, as a trace |
//! | `papers` | the papers' figures beside ours |

mod bench;
mod chaos;
mod machines;
mod papers;
mod timeline;
mod trace;

use hikyaku::sim::Machine;
use std::process::ExitCode;

/// Run things on a simulated machine, in virtual time.
///
/// The library runs unchanged; only the network is a model: what starting an operation costs, how long a packet takes, which
/// stages are busy meanwhile. `hikyaku sim machines` lists the models. The same seed always gives the same run.
#[derive(clap::Args)]
#[command(
    after_help = "Try:\n  hikyaku sim machines                             which machines there are\n  hikyaku sim bench --machine sr8000 --ranks 16    the tables of hikyaku bench\n  hikyaku sim timeline ring --ranks 4              a trace of every packet, for Perfetto\n  hikyaku sim papers --out -                       the papers' figures beside simulated ones\n  hikyaku sim chaos --seeds 1000                   random programs while things go wrong"
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Bench(bench::Arguments),
    Chaos(chaos::Arguments),
    Machines(machines::Arguments),
    Timeline(timeline::Arguments),
    Papers(papers::Arguments),
}

pub fn run(arguments: Arguments) -> Result<ExitCode, String> {
    match arguments.command {
        Command::Chaos(arguments) => return chaos::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
        Command::Machines(arguments) => machines::run(arguments),
        Command::Timeline(arguments) => timeline::run(arguments),
        Command::Papers(arguments) => papers::run(arguments),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// What every simulated job is started with.
#[derive(clap::Args)]
struct Place {
    /// The machine: a name from `hikyaku sim machines`, or a file in the same format
    #[arg(long, value_name = "NAME", default_value = "ndr", value_parser = machine)]
    machine: Box<Machine>,

    /// Ranks, each on a host of its own
    #[arg(short = 'n', long, value_name = "N", default_value_t = 16, value_parser = ranks)]
    ranks: usize,

    /// The seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// A shipped machine by its name, or one from a file.
fn machine(name: &str) -> Result<Box<Machine>, String> {
    match name.ends_with(".toml") {
        true => {
            let text = std::fs::read_to_string(name).map_err(|error| format!("cannot read {name}: {error}"))?;
            Machine::parse(&text)
        }
        false => Machine::named(name),
    }
    .map(Box::new)
    .map_err(|error| match error {
        hikyaku::Error::Invalid(text) => format!("{text}; or give a file whose name ends in .toml"),
        other => other.to_string(),
    })
}

fn ranks(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(ranks @ 2..=4096) => Ok(ranks),
        _ => Err("2 to 4096 ranks".into()),
    }
}
