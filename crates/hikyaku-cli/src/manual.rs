//! Man pages and completions of shells, for `make install`.

use clap::CommandFactory;
use clap_complete::Shell;
use std::path::{Path, PathBuf};

/// Where to write what.
#[derive(clap::Args)]
pub struct Arguments {
    /// The folder of man pages
    pages: PathBuf,
    /// The folders of completions
    #[arg(value_name = "SHELL=FOLDER", value_parser = place)]
    completions: Vec<(Shell, PathBuf)>,
}

fn place(text: &str) -> Result<(Shell, PathBuf), String> {
    let (shell, folder) = text.split_once('=').ok_or("a shell and a folder, as bash=/usr/share/bash-completion")?;
    Ok((shell.parse()?, folder.into()))
}

pub fn write<P: CommandFactory>(arguments: &Arguments) -> Result<(), String> {
    let text = |folder: &Path| format!("cannot write to {}", folder.display());
    let pages = &arguments.pages;
    clap_mangen::generate_to(P::command(), pages).map_err(|error| format!("{}: {error}", text(pages)))?;
    for (shell, folder) in &arguments.completions {
        clap_complete::generate_to(*shell, &mut P::command(), "hikyaku", folder)
            .map_err(|error| format!("{}: {error}", text(folder)))?;
    }
    Ok(())
}
