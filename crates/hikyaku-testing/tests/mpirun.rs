//! Ranks that the launchers of MPI libraries start: they do what they do under our own, and keep its promises.

use hikyaku_testing::mpi::{self, Family, Mpi, RANK_IN_SHELL, said};
use hikyaku_testing::patience::{assert_prompt, eventually};
use hikyaku_testing::watchdog::{output, watched};
use hikyaku_testing::{case, leftovers};
use rustix::net::{self, AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use std::cell::RefCell;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

const VICTIM: &str = env!("CARGO_BIN_EXE_victim");

/// A folder for what ranks print: launchers lose output of jobs that fail.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mpirun-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    folder
}

/// Runs a role of the victim; what each rank printed. Launchers end the survivors of a death at once; a shell between them
/// and the rank keeps it from them for long enough to hear what the survivors say.
/// Nothing of ours is left in the folder for temporary files.
fn run_victim(mpi: &Mpi, ranks: usize, role: &str) -> Vec<String> {
    let (folder, temporary) = (folder(role), folder("temporary"));
    let script = format!(r#""$0" {role} > {} 2>&1; sleep 1"#, folder.join(RANK_IN_SHELL).display());
    output(mpi.patiently(ranks).args(["sh", "-c", &script, VICTIM]).env("TMPDIR", &temporary));
    assert_eq!(leftovers::files_in(&[&temporary]), [""; 0]);
    (0..ranks).map(|rank| fs::read_to_string(folder.join(rank.to_string())).unwrap()).collect()
}

/// Whether a process runs.
fn is_alive(process: &str) -> bool {
    let state = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ") && !state.contains(") X ")
}

/// Whether a process has come so far that it watches its peers.
fn has_joined(process: &str) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let mut names = threads.filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok());
    names.any(|name| name.trim() == "hikyaku-watch")
}

#[test]
fn cases_of_every_kind() {
    let names = [
        "memory::symmetric_memory_starts_zeroed",
        "operations::push_reaches_every_rank",
        "operations::a_job_of_one",
        "notification::a_barrier_orders_everything",
        "atomics::concurrent_adds_add_up",
        "registered::the_route_is_the_one_asked_for",
        "messages::messages_of_a_pair_stay_in_order",
        "calls::everyone_calls_everyone",
        "waiting::a_rank_that_left_ends_waits_for_it",
        "ports::threads_communicate_at_once",
        "layers::different_collectives_never_match",
        "fork::a_forked_child_is_refused",
        "fork::a_forked_child_ends_cleanly",
    ];
    for (mpi, name) in mpi::installations().iter().flat_map(|mpi| names.map(|name| (mpi, name))) {
        let mut command = mpi.patiently(case(name).expect("listed").sizes(&[])[0]);
        command.arg(env!("CARGO_BIN_EXE_conformance")).arg(name).env("HIKYAKU_EXPECT_ROUTE", "direct");
        let output = output(&mut command);
        assert!(output.status.success(), "{mpi:?} {name}: {}", said(&output));
    }
}

#[test]
fn a_death_reaches_everyone_who_waits() {
    let shared = || leftovers::files_in(&[Path::new("/dev/shm")]);
    let before = shared();
    for mpi in mpi::installations() {
        for role in ["barrier", "flag", "handler", "full-ring"] {
            let printed = run_victim(&mpi, 4, role);
            assert!(printed[..3].iter().all(|text| text.contains("survived")), "{mpi:?} {role}: {printed:?}");
        }
    }
    assert_eq!(shared(), before);
}

#[test]
fn a_rank_that_exits_without_a_word_has_left() {
    for mpi in mpi::installations() {
        let output = mpi.succeed(3, Path::new(VICTIM), &["exit"]);
        assert_eq!(said(&output).matches("survived").count(), 2, "{mpi:?}: {}", said(&output));
    }
}

/// Any thread may call `exit`: until the process is gone, another may be copying into a buffer of a peer.
#[test]
fn fault_22_a_rank_that_exits_has_left_when_its_process_is_gone() {
    for mpi in mpi::installations() {
        let output = mpi.succeed(3, Path::new(VICTIM), &["exit-beside"]);
        assert_eq!(said(&output).matches("survived").count(), 2, "{mpi:?}: {}", said(&output));
    }
}

/// A rank that fails does not say goodbye, and so the launchers end the others.
#[test]
fn a_rank_that_fails_ends_the_job() {
    for mpi in mpi::installations() {
        // The others spin for ever: a launcher that does not end them is a hang.
        let output = output(mpi.patiently(2).args([VICTIM, "give-up"]));
        assert!(!output.status.success(), "{mpi:?}: {}", said(&output));
    }
}

#[test]
fn ranks_that_wait_in_vain_are_told() {
    for mpi in mpi::installations() {
        let script = format!(r#"[ {RANK_IN_SHELL} = 1 ] && exec sleep 3; exec "$0" start"#);
        let mut command = mpi.patiently(3);
        let output = output(command.args(["sh", "-c", &script, VICTIM]).env("HIKYAKU_START_TIMEOUT", "1"));
        assert!(said(&output).contains("every rank must start hikyaku"), "{mpi:?}: {}", said(&output));
    }
}

/// An address space too small for the job's memory on rank 0 alone.
#[test]
fn everyone_hears_that_rank_0_cannot() {
    for mpi in mpi::installations() {
        let script = format!(r#"[ {RANK_IN_SHELL} = 0 ] && export HIKYAKU_HEAP=9000T; "$0" start; sleep 1"#);
        let output = output(mpi.patiently(3).args(["sh", "-c", &script, VICTIM]));
        assert_eq!(said(&output).matches("rank 0 cannot make").count(), 2, "{mpi:?}: {}", said(&output));
        assert_eq!(said(&output).matches("bytes are needed").count(), 1, "{mpi:?}: {}", said(&output));
    }
}

/// The launchers are told of two hosts, and their way to either leads back here: ranks find out that they share memory.
#[test]
fn hosts_that_are_one_are_found_out() {
    let folder = folder("hosts");
    let agent = folder.join("agent");
    // ssh [options] host command; a temporary folder for each host.
    let script = r#"#!/bin/sh
        while [ "${1#-}" != "$1" ]; do shift; done
        export TMPDIR="$(dirname "$0")/$1"; mkdir -p "$TMPDIR"; shift
        exec sh -c "$*""#;
    fs::write(&agent, script).unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    let agent = agent.to_str().unwrap();
    for mpi in mpi::installations() {
        let mut command = mpi.patiently(2);
        match mpi.family {
            Family::Mpich => command.args(["-launcher", "ssh", "-launcher-exec", agent, "-hosts", "here,there"]),
            Family::OpenMpi => {
                // The names of the setting in versions 4 and 5.
                command.env("OMPI_MCA_plm_rsh_agent", agent).env("PRTE_MCA_plm_ssh_agent", agent);
                command.args(["--map-by", "node", "--host", "here:1,there:1"])
            }
        };
        let output = output(command.args([env!("CARGO_BIN_EXE_afar"), "placed"]));
        assert!(output.status.success(), "{mpi:?}: {}", said(&output));
        assert_eq!(said(&output).matches("of 2 on 1 hosts").count(), 2, "{mpi:?}: {}", said(&output));
    }
}

#[test]
fn ranks_end_with_the_launcher() {
    for mpi in mpi::installations() {
        let folder = folder("launcher");
        let (file, program) = (folder.join(RANK_IN_SHELL), r#"exec "$0" spin"#);
        let script = format!("echo $$ > {0}.part; mv {0}.part {0}; {program}", file.display());
        // What a killed launcher leaves in its own folder goes with ours.
        let mut command = mpi.launch(3);
        command.args(["sh", "-c", &script, VICTIM]).env("TMPDIR", &folder);
        let mut launcher = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let files: Vec<PathBuf> = (0..3).map(|rank| folder.join(rank.to_string())).collect();
        eventually("ranks start", || files.iter().all(|file| file.exists()).then_some(()));
        let ranks: Vec<String> = files.iter().map(|file| fs::read_to_string(file).unwrap().trim().to_owned()).collect();
        eventually("ranks join", || ranks.iter().all(|rank| has_joined(rank)).then_some(()));
        launcher.kill().unwrap();
        launcher.wait().unwrap();
        let begin = Instant::now();
        eventually("ranks end", || (!ranks.iter().any(|rank| is_alive(rank))).then_some(()));
        assert_prompt(begin.elapsed(), Duration::from_secs(1), format!("{mpi:?}: ranks ended"));
    }
}

/// Whoever connects to the socket of rank 0 without being a rank is left standing, and the job starts all the same.
#[test]
fn strangers_do_not_disturb_the_start() {
    for mpi in mpi::installations() {
        let gate = folder("strangers").join("gate");
        let script = format!(
            r#"while [ {RANK_IN_SHELL} = 1 ] && [ ! -e {} ]; do sleep 0.05; done; exec "$0" start"#,
            gate.display()
        );
        let all = || {
            let list = fs::read_to_string("/proc/net/unix").unwrap();
            let names = list.lines().filter_map(|line| line.split_once("@hikyaku-"));
            names.map(|(_, name)| format!("hikyaku-{}", name.trim())).collect::<Vec<_>>()
        };
        let before = all();
        let mut command = mpi.patiently(2);
        let running = command.args(["sh", "-c", &script, VICTIM]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        // Other jobs of this machine may come and go meanwhile.
        let new = || all().into_iter().filter(|name| !before.contains(name)).collect::<Vec<_>>();
        let strangers = RefCell::new(Vec::new());
        eventually("rank 0 listens", || {
            let come_to = |name: &String| (0..50).filter_map(|bytes| come(name, bytes)).collect::<Vec<_>>();
            strangers.borrow_mut().extend(new().iter().flat_map(come_to));
            (!strangers.borrow().is_empty()).then_some(())
        });
        fs::write(&gate, "").unwrap();
        let output = watched("strangers", || running.unwrap().wait_with_output().unwrap());
        assert!(output.status.success(), "{mpi:?}: {}", said(&output));
        drop(strangers);
    }
}

/// Connects and says so many bytes that mean nothing; `None` if nobody listens there any more.
fn come(name: &str, bytes: usize) -> Option<OwnedFd> {
    let socket = net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    match net::connect(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap()) {
        Err(rustix::io::Errno::CONNREFUSED) => return None,
        other => other.unwrap(),
    }
    if bytes > 0 {
        net::send(&socket, &vec![0x77; 8 * bytes], SendFlags::NOSIGNAL).unwrap();
    }
    Some(socket)
}
