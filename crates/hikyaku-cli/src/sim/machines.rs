//! `hikyaku sim machines`: which models there are.

use hikyaku::sim::Machine;

/// List the models of machines: what they are, and where their numbers come from.
#[derive(clap::Args)]
pub struct Arguments {}

pub fn run(Arguments {}: Arguments) -> Result<(), String> {
    for machine in Machine::shipped() {
        say!("{:<16}{}\n{:<16}{}", machine.name, machine.title, "", machine.source);
    }
    Ok(())
}
