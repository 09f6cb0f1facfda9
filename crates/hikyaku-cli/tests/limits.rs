//! Limits of memory that control groups have, as containers do: errors instead of kills. Where no group can be made, as by most users,
//! nothing is tested.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use support::{HIKYAKU, err, examples, out};

const MB: usize = 1 << 20;

/// A control group with a limit of memory, of whichever version this machine has.
struct Group(PathBuf);

impl Group {
    fn new(name: &str, bytes: usize) -> Option<Group> {
        let name = format!("hikyaku-test-{name}-{}", std::process::id());
        for (root, limit) in [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")] {
            let folder = Path::new(root).join(&name);
            if std::fs::create_dir(&folder).is_err() {
                continue;
            }
            let group = Group(folder);
            if std::fs::write(group.0.join(limit), bytes.to_string()).is_ok() {
                return Some(group);
            }
        }
        None
    }

    /// Runs a script in the group.
    fn run(&self, script: &str, megabytes: usize) -> Output {
        let script = format!("echo $$ > {}/cgroup.procs && {script}", self.0.display());
        let mut command = Command::new("sh");
        command.args(["-c", &script]).env("MEGABYTES", megabytes.to_string()).stdin(Stdio::null());
        hikyaku_testing::watchdog::output(&mut command)
    }

    /// Runs two ranks in the group, each of which takes so much.
    fn take(&self, megabytes: usize) -> Output {
        let program = examples().join("mistakes");
        self.run(&format!("exec {HIKYAKU} run -n 2 {} processes greedy", program.display()), megabytes)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // What has just ended may still be in it.
        hikyaku_testing::patience::eventually("the group is busy", || std::fs::remove_dir(&self.0).ok());
    }
}

#[test]
fn what_one_rank_could_have_but_not_all_is_an_error_at_all() {
    let Some(group) = Group::new("all", 512 * MB) else { return };
    for _ in 0..6 {
        let output = group.take(300);
        let said = err(&output);
        assert_eq!(output.status.code(), Some(1), "{:?}: {said}", output.status);
        assert!(
            said.contains("memory limit of the control group (cgroup), less a margin for its programs, leaves"),
            "{said}"
        );
        assert_eq!(out(&output), "");
    }
    let output = group.take(190);
    assert_eq!((out(&output), output.status.code()), ("taken\ntaken\n".into(), Some(0)), "{}", err(&output));
}

#[test]
fn files_that_the_system_keeps_are_no_use_of_memory() {
    let Some(group) = Group::new("files", 256 * MB) else { return };
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("limits-{}", std::process::id()));
    let written = group.run(&format!("head -c 220M /dev/zero > {0} && sync {0}", file.display()), 0);
    assert!(written.status.success(), "{}", err(&written));
    let output = group.take(75);
    std::fs::remove_file(&file).unwrap();
    assert_eq!((out(&output), output.status.code()), ("taken\ntaken\n".into(), Some(0)), "{}", err(&output));
}
