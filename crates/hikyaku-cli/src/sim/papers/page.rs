//! The page that compares, in Markdown.

use super::experiment::simulate;
use super::figure::{Figure, Status, all};
use crate::bench::{Kind, Measured};
use hikyaku::sim::Machine;
use std::fmt::Write;

const INTRODUCTION: &str = "\
# The papers' figures

Written by `hikyaku sim papers`; do not edit.

The library runs here, unchanged, on models of the machines that the papers measured. The models take their parameters from
the papers' tables ([machines](../crates/hikyaku/machines/README.md)); none was adjusted to a number that it should predict.
So a difference below is a difference: of the library's protocol from the paper's, or of the model from the machine.

* **predicted**: follows from parameters that do not contain it. This is what counts.
* **input**: a parameter of the model, or what one was worked out from. A simulated number only shows that the model holds
  what was put in.
* **depends on what is not said**: the notes say on what, and what the readings are. A simulated number is one of them.
* **no number is given**: a simulated number has nothing to be compared with.
* **cannot be derived**, **another library**: not simulated.

*Here* is this library on the machine that wrote the page, with the best peer in brackets: another machine, decades later, all
ranks on one host. It shows what became of the same operation, not whether a prediction was right.
";

/// The page; with what was measured here, if that is known.
pub fn write(measured: Option<&Measured>) -> Result<String, String> {
    let (mut page, figures) = (INTRODUCTION.to_owned(), all());
    let mut papers: Vec<&str> = figures.iter().map(|figure| figure.paper.as_str()).collect();
    papers.dedup();
    for paper in papers {
        let figures: Vec<&Figure> = figures.iter().filter(|figure| figure.paper == paper).collect();
        section(&mut page, paper, &figures, measured).map_err(|error| format!("{paper}: {error}"))?;
    }
    Ok(page)
}

fn section(
    page: &mut String,
    paper: &str,
    figures: &[&Figure],
    measured: Option<&Measured>,
) -> Result<(), Box<dyn std::error::Error>> {
    let machine = Machine::named(&figures[0].machine)?;
    writeln!(page, "\n## {}\n\n{}.\nSimulated: {}.\n", heading(paper), machine.source, machine.title)?;
    writeln!(page, "| figure | nodes | paper | simulated | difference | | here |\n|---|--:|--:|--:|--:|---|---|")?;
    for figure in figures {
        let Figure { what, place, ranks, unit, value, status, .. } = figure;
        let simulated = simulate(figure).transpose().map_err(|error| format!("{}: {error}", figure.id))?;
        let shown = |value: Option<f64>| value.map_or("-".into(), |value| format!("{} {unit}", number(value)));
        let difference = simulated.zip(*value).map(|(simulated, paper)| (simulated / paper - 1.0) * 100.0);
        let difference = difference.map_or("-".into(), |percent| format!("{percent:+.1} %"));
        let nodes = if *ranks > 0 { ranks.to_string() } else { "-".into() };
        let (paper, simulated, status) = (shown(*value), shown(simulated), status.name());
        let here = here(figure, measured);
        writeln!(page, "| {what} ({place}) | {nodes} | {paper} | {simulated} | {difference} | {status} | {here} |")?;
    }
    writeln!(page, "\nWhat the papers say, and how the numbers come about:\n")?;
    for Figure { what, ranks, quote, note, .. } in figures {
        let nodes = if *ranks > 0 { format!(", {ranks} nodes") } else { String::new() };
        let note = if note.is_empty() { String::new() } else { format!(" {}.", note.trim_end_matches('.')) };
        writeln!(page, "* {what}{nodes}: \"{quote}\".{note}")?;
    }
    Ok(())
}

fn heading(paper: &str) -> String {
    let mut letters = paper.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn number(value: f64) -> String {
    match value {
        v if v.fract() == 0.0 => format!("{v}"),
        v if v >= 100.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// What the operation of a figure takes on this machine.
fn here(figure: &Figure, measured: Option<&Measured>) -> String {
    let (kind, bytes, ranks) = match figure.id.as_str() {
        "fmpl-bare-write" => (Kind::Word, 8, 2),
        "fmpl-latency" => (Kind::SendSynchronous, 8, 2),
        "fmpl-send-start" => (Kind::SendStart, 8, 2),
        "fmpl-receive-start" => (Kind::ReceiveStart, 8, 2),
        "fmpl-posted-gap" => (Kind::PostGap, 8, 2),
        "fmpl-posted-latency" => (Kind::PostedMany, 8, 2),
        "fmpl-bandwidth" => (Kind::SendBandwidth, 16 << 20, 2),
        "fmpl-broadcast-tree" | "fmpl-broadcast-hardware" => (Kind::BroadcastBandwidth, 8 << 20, figure.ranks),
        "fmpl-broadcast-short" => (Kind::Broadcast, 8 << 10, figure.ranks),
        "fmpl-barrier" => (Kind::Barrier, 0, figure.ranks),
        "am-reply" => (Kind::NullCall, 0, 2),
        "am-barrier-2" | "am-barrier-4" | "am-barrier-8" => (Kind::JobBarrier, 0, figure.ranks),
        _ => return "-".into(),
    };
    match measured {
        None if figure.status == Status::Peer => "-".into(),
        None => "run `hikyaku bench`".into(),
        Some(measured) => measured.show(kind, bytes, ranks).unwrap_or_else(|| "not measured".into()),
    }
}
