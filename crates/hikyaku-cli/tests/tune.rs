//! `hikyaku tune` as a user would: what it measures, stores and explains, and what happens without its file.

use hikyaku_testing::netns::Network;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const HIKYAKU: &str = env!("CARGO_BIN_EXE_hikyaku");

/// A file of this test's own.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> File {
        File(std::env::temp_dir().join(format!("hikyaku-{}-{name}.toml", std::process::id())))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(HIKYAKU);
        command.args(arguments).env("HIKYAKU_TUNE", &self.0).stdin(Stdio::null());
        command
    }

    fn attempt(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn hikyaku(&self, arguments: &[&str]) -> Output {
        let output = self.attempt(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_was_measured_is_shown_stored_and_used() {
    let file = File::new("end-to-end");
    let before = file.hikyaku(&["info", "-n", "3"]);
    assert!(out(&before).contains("built in") && !out(&before).contains("(measured)"), "{}", out(&before));
    assert_eq!(err(&before), "", "a missing file is no problem");

    let quick = ["tune", "-n", "2,3", "--rounds", "1", "--time", "1", "--max", "64K"];
    let shown = out(&file.hikyaku(&[&quick[..], &["--dry-run"]].concat()));
    assert!(shown.contains("broadcast") && shown.contains("chosen") && !file.0.exists(), "{shown}");

    let shown = out(&file.hikyaku(&quick));
    // A barrier, and five sizes of three calls, for two numbers of ranks; a headline, and two lines on the file.
    assert_eq!(shown.lines().count(), 1 + 2 * 16 + 2, "{shown}");
    let stored = std::fs::read_to_string(&file.0).unwrap();
    assert_eq!(stored.matches("\"allreduce 4 ").count(), 5, "{stored}");
    assert_eq!(stored.matches("\"barrier 2 ").count(), 1, "{stored}");

    let info = out(&file.hikyaku(&["info", "-n", "3"]));
    let collectives = info.split("\nCollectives").nth(1).unwrap_or_default();
    let line = |call: &str| collectives.lines().find(|line| line.trim().starts_with(call)).unwrap_or_default();
    assert!(line("barrier").contains("(measured)"), "{info}");
    assert!(line("allreduce up to").contains("(measured)"), "{info}");
    assert!(collectives.contains("(default)"), "nobody measured large ones: {info}");
    // Nor so many ranks.
    assert!(!out(&file.hikyaku(&["info", "-n", "9"])).contains("(measured)"));
}

/// Those between hosts, beside those that were measured on one.
#[test]
fn versions_over_hosts_are_measured_by_a_job_over_hosts() {
    let Some(network) = Network::new(2) else { return };
    let file = File::new("hosts");
    let quick = ["--rounds", "1", "--time", "1", "--max", "8"];
    file.hikyaku(&[&["tune", "-n", "4"], &quick[..]].concat());
    let hosts = network.list(&[(0, 2), (1, 2)]);
    let over = ["tune", "--hosts", &hosts, "--agent", "nsenter --net=/run/netns/{host}"];
    let shown = out(&file.hikyaku(&[&over[..], &quick].concat()));
    assert!(["flat", "leaders", "shares"].iter().all(|version| shown.contains(version)), "{shown}");
    let stored = std::fs::read_to_string(&file.0).unwrap();
    assert_eq!(stored.matches("\"allreduce 4 64 ").count(), 2, "{stored}");
    let info = out(&file.hikyaku(&["info", "-n", "4"]));
    let line = |call: &str| info.lines().find(|line| line.trim().starts_with(call)).unwrap_or_default();
    assert!(line("allreduce over hosts up to").contains("(measured)"), "{info}");
    assert!(line("allreduce up to").contains("(measured)"), "{info}");
    assert!(stored.contains(" udp\""), "{stored}");
    // What holds for one network says nothing about another one.
    let info = out(&file.command(&["info", "-n", "4"]).env("HIKYAKU_TRANSPORT", "ofi").output().unwrap());
    let line = |call: &str| info.lines().find(|line| line.trim().starts_with(call)).unwrap_or_default();
    assert!(line("allreduce over hosts").contains("(default)"), "{info}");
    assert!(line("allreduce up to").contains("(measured)"), "{info}");
}

/// Every rank of a job uses the table of whoever started it. One that measures says so if another version is used than
/// the one that it was told.
#[test]
fn a_stored_choice_is_used_by_all_ranks() {
    let file = File::new("trees");
    file.hikyaku(&["tune", "-n", "2", "--rounds", "1", "--time", "1", "--max", "8"]);
    let stored = std::fs::read_to_string(&file.0).unwrap();
    let trees =
        stored.replace(" buffers\"", " tree\"").replace(" direct\"", " tree\"").replace("barrier 2 ", "barrier 4 ");
    std::fs::write(&file.0, trees.replace(" 2 64 ", " 4 64 ")).unwrap();
    let info = out(&file.hikyaku(&["info", "-n", "3"]));
    assert!(info.contains("tree: a tree of messages (measured)"), "{info}");
    let by = |version| ["run", "-n", "3", "--on-death", "continue", HIKYAKU, "rank", "tune", version, "1", "8"];
    let figures = out(&file.hikyaku(&by("tree")));
    assert_eq!(figures.lines().count(), 4, "{figures}");
    let refused = file.attempt(&by("buffers"));
    let told = err(&refused).matches("barrier of 0 bytes is done by tree, not by buffers").count();
    assert_eq!((told, out(&refused).as_str()), (3, ""), "{}", err(&refused));
}

#[test]
fn a_damaged_file_is_warned_of_and_not_used() {
    let file = File::new("damaged");
    std::fs::write(&file.0, "[[machine]]\nhost = \"here\"\ncores = 2\nchoices = [\n    \"barrier 2 64 magic\",\n]\n")
        .unwrap();
    let output = file.hikyaku(&["run", "-n", "2", "true"]);
    let expected = ", line 5: no choice: \"barrier 2 64 magic\",; the built-in choices are used";
    assert!(err(&output).contains(expected), "{}", err(&output));
    assert_eq!(err(&output).lines().count(), 1, "warned of once: {}", err(&output));
    // One of another machine is nothing to warn of.
    std::fs::write(&file.0, "[[machine]]\nhost = \"elsewhere\"\ncores = 2\nmeasured = 5\nchoices = [\n]\n").unwrap();
    assert_eq!(err(&file.hikyaku(&["run", "-n", "2", "true"])), "");
}
