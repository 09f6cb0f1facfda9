//! The watchdog itself: what hangs is ended, with the stacks of all who take part, and nothing of it stays.

use hikyaku_testing::patience::eventually;
use std::path::Path;
use std::process::{Command, Output};

/// Starts a job of two ranks that never ends, under a watchdog.
fn hang(role: &str) -> (Output, String) {
    let mut launcher = Command::new(env!("CARGO_BIN_EXE_launcher"));
    let output = launcher.args([role, "watched"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{said}");
    let ranks: Vec<String> = String::from_utf8_lossy(&output.stdout)
        .lines()
        // The launcher may see a rank end before it is ended itself.
        .filter_map(|line| Some(line.split_once(' ')?.1.to_owned()).filter(|rank| rank.parse::<u32>().is_ok()))
        .collect();
    assert_eq!(ranks.len(), 2, "{output:?}");
    for rank in &ranks {
        assert!(said.contains(&format!("process {rank}: ")), "{said}");
        let is_gone = || !Path::new("/proc").join(rank).join("exe").exists();
        eventually("the ranks end too", || is_gone().then_some(()));
    }
    (output, said)
}

/// Whether it was said where the ranks are, by the kernel, and by a debugger if there is one.
fn tells_where(said: &str) -> bool {
    let has_debugger = Command::new("gdb").arg("--version").output().is_ok();
    said.contains("state ") && (!has_debugger || said.contains("bin/victim/ordinary.rs:"))
}

#[test]
fn processes_that_sleep_for_ever_hang() {
    let (_, said) = hang("stuck");
    assert!(said.contains("stuck hangs: nothing has moved for 4s"), "{said}");
    assert!(tells_where(&said), "{said}");
}

#[test]
fn processes_that_spin_for_ever_hang() {
    let (_, said) = hang("spin");
    assert!(said.contains("spin hangs: more than 4s of processor time were used"), "{said}");
    assert!(tells_where(&said), "{said}");
}
