//! Ranks of several hosts that wait for each other for ever: the launcher says so, as on one host.

mod support;

use hikyaku_testing::netns::Network;
use hikyaku_testing::patience::assert_prompt;
use std::io::{BufRead, BufReader};
use std::time::Duration;
use support::{Trial, err, examples, signal};

/// Where a call stands in the program: at the first line after `arm` with `call`.
fn place(arm: &str, call: &str) -> String {
    let text = include_str!("programs/mistakes.rs");
    let lines = || text.lines().enumerate().skip_while(|(_, line)| !line.contains(arm));
    let (line, column) = lines().find_map(|(line, text)| Some((line + 1, text.find(call)? + 1))).unwrap();
    format!("crates/hikyaku-cli/tests/programs/mistakes.rs:{line}:{column}")
}

/// The time in a text, and the text without times.
fn without_times(text: &str) -> (Duration, String) {
    let moved = text.split_once("nothing has moved for ").unwrap().1.split_once(" s").unwrap().0;
    // Not `0.`, the last word of a sentence.
    let is_time = |word: &str| word.parse::<f64>().is_ok() && word.contains('.') && !word.ends_with('.');
    let mut lines = Vec::new();
    for line in text.lines() {
        let words = line.split(' ').map(|word| if is_time(word) { "T" } else { word });
        lines.push(words.collect::<Vec<_>>().join(" ").replace("T s: every", "T: every"));
    }
    (Duration::from_secs_f64(moved.parse().unwrap()), lines.join("\n"))
}

fn expected(place: &str) -> String {
    let row = |rank: usize, next: usize| format!("  {rank}     recv(8 bytes, slot 0)  rank {next}  T s  {place}");
    format!(
        "hikyaku: nothing has moved for T: every rank waits\n  \
           rank  waits in               for     since  at\n\
         {}\n{}\n{}\n\
         Rank 0 waits for rank 1, which waits for rank 2, which waits for rank 0.",
        row(0, 1),
        row(1, 2),
        row(2, 0)
    )
}

#[test]
fn a_circle_over_hosts_is_told_and_ended() {
    let Some(network) = Network::new(2) else { return };
    for (name, place) in [("circle", place("\"circle\"", "recv(")), ("workers", place("\"workers\"", "recv("))] {
        let program = examples().join("mistakes");
        let trial = Trial::new(&network, &[(0, 2), (1, 1)]).args(&["--on-deadlock", "end", "--"]);
        let output = trial.args(&[program.to_str().unwrap(), "processes", name]).run();
        assert_eq!(output.status.code(), Some(124), "{}", err(&output));
        let (moved, text) = without_times(&err(&output));
        let told = format!("{}\nThe job is ended.", expected(&place));
        assert!(text.starts_with(&told), "{text}\nwhere there should be\n{told}");
        assert_prompt(moved, Duration::from_secs(2), name);
    }
}

#[test]
fn a_circle_over_hosts_is_told_and_the_job_waits_on() {
    let Some(network) = Network::new(3) else { return };
    let program = examples().join("mistakes");
    let mut trial = Trial::new(&network, &[(0, 1), (1, 1), (2, 1)]).args(&["--"]);
    trial = trial.args(&[program.to_str().unwrap(), "processes", "circle"]);
    let mut child = trial.start();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let text: Vec<String> = lines.take(6).collect();
    let (moved, text) = without_times(&text.join("\n"));
    assert_eq!(text, expected(&place("\"circle\"", "recv(")));
    assert_prompt(moved, Duration::from_secs(2), "told");
    assert!(child.try_wait().unwrap().is_none(), "the job waits on");
    signal(child.id(), "-TERM");
    child.wait().unwrap();
    trial.await_end();
}
