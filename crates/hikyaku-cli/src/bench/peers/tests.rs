//! What the peers really print, and the processes they leave.

use std::process::Command;
use std::time::Duration;

use super::process::{Process, Running, parse_stat, tree_below};
use super::*;
use hikyaku_testing::patience::eventually;

#[test]
fn versions_are_read_from_every_launcher() {
    for (text, name) in [
        ("mpirun (Open MPI) 5.0.11\n\nReport bugs to https://...\n", "Open MPI 5.0.11"),
        ("mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs", "Open MPI 4.1.4"),
        ("HYDRA build details:\n    Version:      4.0.2\n    Release Date: Thu", "MPICH 4.0.2"),
    ] {
        assert_eq!(mpi::parse_version(text).map(|it| it.0).as_deref(), Some(name));
    }
    assert_eq!(mpi::parse_version("some other mpirun, Version: 3"), None);
    assert_eq!(ucx::parse_version("# Version 1.13.1\n# Git branch"), Some("1.13.1"));
    assert_eq!(ucx::parse_version("# Library version: 1.17.0\n# Library path"), Some("1.17.0"));
}

#[test]
fn lines_of_the_program_are_read_and_others_are_not() {
    let text = "[vm:04808] a warning of the launcher\n\
        {\"test\":\"send\",\"bytes\":8,\"ranks\":2,\"value\":443.1960,\"unit\":\"ns\"}\n\
        {\"test\":\"send\",\"bytes\":8,\"ranks\":2,\"value\":541.5978,\"unit\":\"ns\"}\n";
    let request = |test, bytes| Request { test, bytes, ranks: 2, brief: false };
    let asked = request(Test::Send, 8);
    let values = vec![(asked, vec![443.196, 541.5978])];
    assert_eq!(mpi::parse_lines(text, &[request(Test::Put, 8), asked]), (values, None));
    for other in [request(Test::Send, 64), request(Test::Put, 8)] {
        assert!(mpi::parse_lines(text, &[other]).1.is_some());
    }
    // What came before the damage counts.
    let damaged = format!("{text}{{\"test\":\"se");
    let (values, error) = mpi::parse_lines(&damaged, &[asked]);
    assert!(values[0].1.len() == 2 && error.is_some());
}

#[test]
fn one_start_measures_all_tests_of_a_number_of_ranks() {
    let command = || PathBuf::from("mpirun");
    let machine = Machine { cpus: vec![0, 1], cores: 2 };
    let peer = |kind| Peer { name: "a peer".into(), kind, machine: machine.clone(), folder: None };
    let requests = [(Test::Send, 8, 2), (Test::Barrier, 0, 16), (Test::Start, 0, 16), (Test::Put, 8, 2)]
        .map(|(test, bytes, ranks)| Request { test, bytes, ranks, brief: false });
    let [send, barrier, start, put] = requests;
    let open_mpi = peer(Kind::OpenMpi { compiler: command(), launcher: command() });
    assert_eq!(open_mpi.batches(&requests), [vec![send, put], vec![barrier], vec![start]]);
    let mpich = peer(Kind::Mpich { compiler: command(), launcher: command() });
    assert_eq!(mpich.batches(&requests), [vec![send, put], vec![start]]);
    let ucx = peer(Kind::Ucx { perftest: command() });
    assert_eq!(ucx.batches(&requests), [vec![send], vec![put]]);
}

#[test]
fn the_table_of_ucx_is_read() {
    let text = "\
+--------------+--------------+------------------------------+---------------------+-----------------------+
|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall |  average  |  overall  |
+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+
Final:                   100   1712.287  1737.740  1737.740     9207.36    9207.36         575         575
";
    let near = |test, value: f64| (ucx::parse_table(text, test).unwrap() / value - 1.0).abs() < 1e-3;
    assert!(near(Test::PutBandwidth, 9.6546));
    assert!(near(Test::Put, 1_739_130.0));
    assert_eq!(ucx::parse_table("no table", Test::Put), None);
    assert_eq!(ucx::parse_table("Final: 100 1.0", Test::Put), None);
}

#[test]
fn the_median_lies_between_low_and_high() {
    let request = Request { test: Test::Send, bytes: 8, ranks: 2, brief: false };
    let sample = summarize("a peer", request, vec![3.0, 1.0, 9.0, 2.0]);
    assert_eq!((sample.low, sample.value, sample.high), (1.0, 2.5, 9.0));
    assert_eq!((sample.repetitions, sample.unit), (4, "ns"));
}

#[test]
fn names_are_the_same_in_json() {
    let native = [Test::FetchAdd, Test::PutBandwidth, Test::ActiveMessage, Test::Send, Test::SendPrepared];
    let blacs = [Test::BlacsSend, Test::BlacsSubmatrix, Test::BlacsGridinfo, Test::BlacsCombine, Test::Eigenvalues];
    for test in native.into_iter().chain(blacs) {
        assert_eq!(serde_json::to_string(&test).unwrap(), format!("\"{}\"", test.name()));
    }
}

#[test]
fn a_program_that_fails_after_its_last_figure_has_failed() {
    let folder = Folder::create().unwrap();
    let request = Request { test: Test::Send, bytes: 8, ranks: 2, brief: false };
    let line = r#"{"test":"send","bytes":8,"ranks":2,"value":1.5,"unit":"ns"}"#;
    let measure = |script: String| {
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh"]);
        mpi::measure(command, &[request], |_| 1, folder.path())
    };
    let figures = vec![(request, vec![1.5])];
    assert_eq!(measure(format!("echo '{line}'")), (figures.clone(), None));
    let (values, error) = measure(format!("echo '{line}'; echo 'mpi: rank 1: wrong data' >&2; exit 3"));
    assert_eq!(values, figures);
    assert!(error.is_some_and(|error| error.contains("wrong data")));
    let (values, error) = measure("exit 0".into());
    assert!(values.is_empty() && error.is_some_and(|error| error.contains("gave no figures")));
}

#[test]
fn a_tree_holds_all_that_descend() {
    let stat = "12 (a (b) c) S 7 12 12 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 555 1000 2 3";
    assert_eq!(parse_stat(stat), Some(Process { id: 12, parent: 7, started: 555 }));
    let all = [(1, 0), (7, 1), (12, 7), (13, 12), (14, 1)].map(|(id, parent)| Process { id, parent, started: 0 });
    let mut ids: Vec<u32> = tree_below(7, &all).iter().map(|it| it.id).collect();
    ids.sort();
    assert_eq!(ids, [7, 12, 13]);
}

#[test]
fn at_the_limit_nothing_is_left_running() {
    let folder = Folder::create().unwrap();
    // Like a launcher: its child has a session of its own, and takes no notice of a polite request.
    let script = "echo begun; setsid sh -c 'trap \"\" TERM; echo $$; sleep 1000; sleep 1000' & wait";
    let mut command = Command::new("sh");
    let running = Running::start(command.args(["-c", script]), folder.path()).unwrap();
    // Long enough for it to say who it is.
    let error = running.finish(Duration::from_secs(2)).success("it").unwrap_err();
    let id = error.rsplit(' ').next().unwrap();
    assert!(error.contains("begun") && id.parse::<u32>().is_ok(), "{error}");
    // A killed process takes a moment to vanish.
    let gone = || {
        let state = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        state.is_empty() || state.contains(") Z ")
    };
    eventually(&format!("the end of process {id}"), || gone().then_some(()));
}

#[test]
fn folders_go_away() {
    let folder = Folder::create().unwrap();
    let path = folder.path().to_owned();
    assert!(path.is_dir());
    drop(folder);
    assert!(!path.exists());
}
