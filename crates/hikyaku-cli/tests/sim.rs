//! `hikyaku sim` as a user would: tables, traces, and the page about the papers.

use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const HIKYAKU: &str = env!("CARGO_BIN_EXE_hikyaku");

fn sim(arguments: &[&str]) -> Output {
    Command::new(HIKYAKU).arg("sim").args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// What a command that succeeds prints.
fn shown(arguments: &[&str]) -> String {
    let output = sim(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A file of this test's own.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> File {
        File(std::env::temp_dir().join(format!("hikyaku-{}-{name}", std::process::id())))
    }

    fn name(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_simulated_machine_has_the_tables_of_a_real_one() {
    let tables = shown(&["bench", "--machine", "ndr", "--ranks", "4", "--only", "messages", "--only", "collectives"]);
    for row in ["8 B, one way", "8 B synchronous, one way", "16 MB in job memory", "barrier of the job, 4 ranks"] {
        assert!(tables.contains(row), "{row}: {tables}");
    }
    assert!(tables.contains("simulated ndr") && tables.contains("allreduce 8 B, 4 ranks"), "{tables}");
    assert!(!tables.contains("peer") && !tables.contains("x limit"), "nothing to compare with: {tables}");
    assert!(!tables.contains("remote operations"), "only what was asked for: {tables}");
}

/// More ranks than calls of a collective: some never are its root.
#[test]
fn a_benchmark_may_have_more_ranks_than_calls() {
    let page = shown(&["bench", "--ranks", "17", "--only", "collectives"]);
    assert!(page.contains("reduce"), "{page}");
}

#[test]
fn figures_are_those_of_the_model_and_the_same_every_time() {
    let run = || shown(&["bench", "--machine", "sr8000", "-n", "2", "--only", "messages", "--json", "--seed", "7"]);
    let text = run();
    assert_eq!(text, run(), "the same seed");
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((json["simulated"]["machine"].as_str(), json["simulated"]["seed"].as_u64()), (Some("sr8000"), Some(7)));
    let figure = |kind: &str, bytes: u64| {
        let figures = json["ours"].as_array().unwrap();
        let figure = figures.iter().find(|it| it["kind"] == kind && it["bytes"] == bytes);
        figure.unwrap_or_else(|| panic!("no {kind}: {json}"))["values"][0].as_f64().unwrap()
    };
    // Data out 8.1, start of the receive 0.5, header in 4.7 us.
    assert!((figure("send_synchronous", 8) - 13_300.0).abs() < 100.0);
    // A link of 1000 MB/s.
    assert!((0.99..=1.0).contains(&figure("send_bandwidth", 16 << 20)));
}

#[test]
fn machines_are_listed_and_an_unknown_one_is_told_which_there_are() {
    let list = shown(&["machines"]);
    assert!(["sr8000", "myrinet", "ndr"].iter().all(|name| list.lines().any(|line| line.starts_with(name))), "{list}");
    let output = sim(&["bench", "--machine", "abacus"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("abacus") && error.contains("sr8000, myrinet"), "{error}");
    let output = sim(&["bench", "--only", "start"]);
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("try --only messages"));
}

#[test]
fn every_arrow_of_a_trace_has_both_ends_inside_slices() {
    for program in ["barrier", "ring", "broadcast", "allreduce", "call"] {
        let file = File::new(&format!("{program}.json"));
        shown(&["timeline", program, "--machine", "ndr", "--ranks", "4", "--out", file.name()]);
        let trace: Value = serde_json::from_str(&std::fs::read_to_string(&file.0).unwrap()).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
        let names: Vec<_> = of("M").iter().filter_map(|event| event["args"]["name"].as_str()).collect();
        assert_eq!(names, ["ndr, 4 ranks", "rank 0", "rank 1", "rank 2", "rank 3"]);
        let (slices, begins, ends) = (of("X"), of("s"), of("f"));
        assert!(begins.len() >= 8 && begins.len() == ends.len() && slices.len() == 2 * begins.len(), "{program}");
        let ends: HashMap<u64, &Value> = ends.into_iter().map(|end| (end["id"].as_u64().unwrap(), end)).collect();
        let time = |event: &Value, field: &str| event[field].as_f64().unwrap();
        let inside = |arrow: &Value| {
            let around = |it: &&&Value| it["tid"] == arrow["tid"] && time(it, "ts") == time(arrow, "ts");
            slices.iter().filter(around).count() == 1
        };
        for begin in begins {
            let end = ends[&begin["id"].as_u64().unwrap()];
            assert!(inside(begin) && inside(end), "{program}: {begin} {end}");
            assert!(begin["tid"] == end["tid"] || time(begin, "ts") < time(end, "ts"), "{program}: {begin} {end}");
        }
    }
}

/// What the simulator has to show: figures that follow from parameters that do not contain them.
#[test]
fn the_page_about_the_papers_has_predictions_close_to_what_was_measured() {
    let file = File::new("papers.md");
    shown(&["papers", "--out", file.name()]);
    let page = std::fs::read_to_string(&file.0).unwrap();
    // The cells of a row: figure, nodes, paper, simulated, difference.
    let row = |figure: &str, nodes: &str| -> Vec<String> {
        let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        let fits = |cells: &Vec<String>| cells.len() > 5 && cells[1].starts_with(figure) && cells[2] == nodes;
        page.lines().map(cells).find(fits).unwrap_or_else(|| panic!("no {figure}: {page}"))
    };
    let within = |figure: &str, nodes: &str, paper: &str, percent: f64| {
        let row = row(figure, nodes);
        assert_eq!(row[3], paper, "{row:?}");
        let difference: f64 = row[5].trim_end_matches(" %").parse().unwrap();
        assert!(difference.abs() <= percent && row[6] == "predicted", "{row:?}");
    };
    within("message, one way", "2", "12.80 us", 10.0);
    within("600 receives posted ahead, each", "2", "7.03 us", 10.0);
    within("long message", "2", "999 MB/s", 1.0);
    within("broadcast, tree of messages", "16", "250 MB/s", 10.0);
    within("barrier in the NI", "2", "23.79 us", 15.0);
    within("barrier in the NI", "4", "31.45 us", 15.0);
    within("barrier in the NI", "8", "38.67 us", 15.0);
    // No reading of the paper's tables explains 9.9; what they do explain is what the simulator must find.
    let posted = row("message whose receive was posted ahead", "2");
    let simulated: f64 = posted[4].trim_end_matches(" us").parse().unwrap();
    assert!((simulated - 7.9).abs() < 0.1, "{posted:?}");
    // The paper does not tell the size of its buffers, on which this depends: those of the library are not as large.
    let hardware = row("broadcast, hardware", "16");
    let simulated: f64 = hardware[4].trim_end_matches(" MB/s").parse().unwrap();
    assert!(hardware[3] == "877 MB/s" && (simulated - 992.0).abs() < 5.0, "{hardware:?}");
}

#[test]
fn what_was_measured_here_stands_beside() {
    let (file, page) = (File::new("bench.json"), File::new("measured.md"));
    let bench = r#"{"ours": [{"kind": "send_synchronous", "bytes": 8, "ranks": 2, "values": [250.0, 260.0, 240.0]}],
        "peers": [{"peer": "Slow 1.0", "test": "send_synchronous", "bytes": 8, "ranks": 2, "value": 900.0},
                  {"peer": "Fast 2.0", "test": "send_synchronous", "bytes": 8, "ranks": 2, "value": 500.0}]}"#;
    std::fs::write(&file.0, bench).unwrap();
    shown(&["papers", "--out", page.name(), "--measured", file.name()]);
    let text = std::fs::read_to_string(&page.0).unwrap();
    assert!(text.contains("| 0.25 us (Fast 2.0 0.50 us) |") && text.contains("| not measured |"), "{text}");
    std::fs::write(&file.0, "{}").unwrap();
    let output = sim(&["papers", "--out", "-", "--measured", file.name()]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("hikyaku bench --json"), "{error}");
}
