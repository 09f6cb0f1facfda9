//! `hikyaku sim papers`: the figures of the papers beside what the simulator and this machine make of them.
//!
//! | file | concept |
//! |---|---|
//! | `figures.toml`, `figure` | what the papers say |
//! | `experiment` | their experiments on models of their machines |
//! | `page` | the page |

mod experiment;
mod figure;
mod page;

use crate::bench::Measured;
use std::path::PathBuf;

/// Repeat the papers' experiments on models of their machines, and write a page that compares.
///
/// For each figure the page has the paper's number, the simulated one, the difference, and what this machine does today if
/// that is given: `hikyaku bench --json > bench.json`, then `--measured bench.json`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Where to write the page; - prints it
    #[arg(short, long, value_name = "FILE", default_value = "docs/papers.md")]
    out: PathBuf,

    /// What `hikyaku bench --json` has printed on this machine
    #[arg(long, value_name = "FILE")]
    measured: Option<PathBuf>,
}

pub fn run(Arguments { out, measured }: Arguments) -> Result<(), String> {
    let measured = measured.as_deref().map(Measured::read).transpose()?;
    let page = page::write(measured.as_ref())?;
    if out.as_os_str() == "-" {
        say_on!("{page}");
        return Ok(());
    }
    std::fs::write(&out, page).map_err(|error| format!("cannot write {}: {error}", out.display()))?;
    say!("{}", out.display());
    Ok(())
}
