//! Which cores ranks run on.

mod support;

use hikyaku_testing::netns::Network;
use hikyaku_testing::patience::eventually;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use support::{HIKYAKU, Trial, err, out, signal, sorted};

/// The cores of this machine that tests may use.
fn cores() -> usize {
    String::from_utf8(Command::new("nproc").output().unwrap().stdout).unwrap().trim().parse().unwrap()
}

/// Does something where no other job has cores: each network of its own has claims of its own.
fn undisturbed(work: impl FnOnce() + Send) {
    let Some(network) = Network::new(1) else { return };
    network.on(Some(0), work);
}

/// How many cores each rank finds.
fn found(options: &[&str]) -> Vec<usize> {
    let output = Trial::with(options).args(&["nproc"]).run();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    out(&output).lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn a_rank_that_is_alone_keeps_all_cores() {
    for bind in ["core", "share", "none"] {
        assert_eq!(found(&["-n", "1", "--bind", bind]), [cores()], "{bind}");
    }
}

#[test]
fn ranks_have_one_core_each_or_equal_shares_or_all() {
    let all = cores();
    if all < 2 {
        return;
    }
    undisturbed(|| {
        assert_eq!(found(&["-n", "2"]), [1, 1]);
        assert_eq!(found(&["-n", "2", "--bind", "core"]), [1, 1]);
        assert_eq!(found(&["-n", "2", "--bind", "none"]), [all, all]);
        let many = (all + 1).to_string();
        assert_eq!(found(&["-n", &many, "--bind", "share"]), vec![all; all + 1], "too many to be bound");
    });
}

#[test]
fn shares_do_not_overlap() {
    let all = cores();
    if all < 2 {
        return;
    }
    undisturbed(|| {
        let list = "grep Cpus_allowed_list /proc/self/status";
        let output = Trial::with(&["-n", "2", "--bind", "share", "-v", "sh", "-c", list]).run();
        let (lines, errors) = (out(&output), err(&output));
        let lists = sorted(&lines);
        assert!(lists.len() == 2 && lists[0] != lists[1], "{lists:?}");
        // What was told is what ranks find.
        let places: Vec<&str> = errors.lines().filter_map(|line| Some(line.split_once(" on core")?.1)).collect();
        let told: Vec<usize> = places
            .iter()
            .flat_map(|place| place.trim_start_matches('s').split(','))
            .map(|core| core.trim().parse().unwrap())
            .collect();
        let mut once = told.clone();
        once.sort();
        once.dedup();
        assert_eq!((told.len(), told.len() % 2), (once.len(), 0), "{errors}");
        assert_eq!(found(&["-n", "2", "--bind", "share"]), vec![told.len() / 2; 2]);
        assert!(told.len() > all / 2, "one more core for each would not fit: {errors}");
    });
}

/// Starts two ranks that stay, which may run on the first two cores alone; gives where the first was bound.
fn bound(bind: &str) -> (Child, String) {
    let mut command = Command::new("taskset");
    command.args(["-c", "0,1", HIKYAKU, "run", "-n", "2", "--bind", bind, "--verbose", "sleep", "1000"]);
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let place = line.split("is process ").nth(1).unwrap().trim_start_matches(char::is_numeric);
    (child, place.trim().to_owned())
}

fn end(mut child: Child) {
    signal(child.id(), "-KILL");
    child.wait().unwrap();
}

#[test]
fn jobs_side_by_side_do_not_share_cores() {
    if cores() < 2 {
        return;
    }
    undisturbed(|| {
        for (one, other) in [("core", "core"), ("core", "share"), ("share", "core"), ("share", "share")] {
            let (first, place) = bound(one);
            let (second, place_of_second) = bound(other);
            end(second);
            end(first);
            assert!(place.starts_with("on core"), "{place}");
            assert_eq!(place_of_second, ", not bound: other jobs have the cores");
            eventually("the cores stay taken", || {
                let (third, place) = bound(other);
                end(third);
                place.starts_with("on core").then_some(())
            });
        }
    });
}
