//! `hikyaku run --output DIR`: a file of standard output and one of standard error for each rank.

mod support;

use std::path::{Path, PathBuf};
use support::{Trial, err, out, script};

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("output-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

const PRINTS: &str = "echo out $HIKYAKU_RANK; printf 'unfinished'; echo err $HIKYAKU_RANK >&2";

fn assert_files(folder: &Path) {
    assert_eq!(names(folder), ["rank-0.err", "rank-0.out", "rank-1.err", "rank-1.out"]);
    for rank in 0..2 {
        assert_eq!(read(folder, &format!("rank-{rank}.out")), format!("out {rank}\nunfinished"));
        assert_eq!(read(folder, &format!("rank-{rank}.err")), format!("err {rank}\n"));
    }
}

#[test]
fn each_rank_has_its_files_and_nothing_is_shown() {
    let folder = folder("each").join("made/on the way");
    // Twice: files of an earlier job are overwritten.
    for _ in 0..2 {
        let output = Trial::with(&["-n", "2", "--output", folder.to_str().unwrap(), "sh", "-c", PRINTS]).run();
        assert_eq!((out(&output), err(&output), output.status.code()), ("".into(), "".into(), Some(0)));
        assert_files(&folder);
    }
}

#[test]
fn over_hosts_the_launcher_writes_the_files() {
    let folder = folder("hosts");
    // Hosts without a network: what is printed travels through the agents alone.
    let agent = script("output-agent", "shift; exec \"$@\"");
    let hosts = ["--hosts", "a,b", "--agent", agent.to_str().unwrap()];
    let output = Trial::with(&hosts).args(&["--output", folder.to_str().unwrap(), "sh", "-c", PRINTS]).run();
    assert_eq!((out(&output), err(&output), output.status.code()), ("".into(), "".into(), Some(0)));
    assert_files(&folder);
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error_before_anything_starts() {
    let base = folder("none");
    std::fs::create_dir(&base).unwrap();
    std::fs::write(base.join("file"), "").unwrap();
    let (inside, started) = (base.join("file/logs"), base.join("started"));
    let agent = script("output-agent-none", "shift; exec \"$@\"");
    for hosts in [&["-n", "1"][..], &["--hosts", "a", "--agent", agent.to_str().unwrap()]] {
        let touch = ["--output", inside.to_str().unwrap(), "touch", started.to_str().unwrap()];
        let output = Trial::with(hosts).args(&touch).run();
        let expected = format!("hikyaku: cannot create {}: Not a directory (os error 20)\n", inside.display());
        assert_eq!((err(&output), output.status.code()), (expected, Some(1)));
        assert!(!started.exists());
    }
}

#[test]
fn a_full_disk_is_told_once_and_the_job_goes_on() {
    let folder = folder("full");
    std::fs::create_dir(&folder).unwrap();
    let full = folder.join("rank-0.out");
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    let lost = format!(
        "hikyaku: cannot write {}: No space left on device (os error 28); the rest of this output is lost\n",
        full.display()
    );
    let whole = format!("{lost}hikyaku: the job has succeeded, but a part of its output is lost (see above)\n");
    // The pause has what is printed come in two pieces.
    let prints = "echo one; sleep 0.2; echo two; echo err >&2; exit $STATUS";
    for (status, told) in
        [("0", whole), ("3", format!("{lost}hikyaku: rank 0 exited with status 3; the job has ended\n"))]
    {
        let arguments =
            ["--output", folder.to_str().unwrap(), "--env", &format!("STATUS={status}"), "sh", "-c", prints];
        let output = Trial::with(&arguments).run();
        assert_eq!(err(&output), told);
        assert_eq!(output.status.code(), Some(if status == "0" { 1 } else { 3 }));
        assert_eq!(read(&folder, "rank-0.err"), "err\n");
    }
}
