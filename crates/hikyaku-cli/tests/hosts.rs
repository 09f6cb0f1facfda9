//! `hikyaku run --hosts` as a user would: hosts are network namespaces, and `nsenter` starts the agents.

mod support;

use hikyaku_testing::netns::Network;
use hikyaku_testing::patience::{assert_prompt, eventually};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};
use support::{HIKYAKU, Trial, err, out, signal, sorted};

/// The hosts of a test, or nothing where there can be none.
macro_rules! network {
    ($count:expr) => {
        match Network::new($count) {
            Some(network) => network,
            None => return,
        }
    };
}

#[test]
fn ranks_know_their_place_in_any_layout() {
    let network = network!(3);
    // Host and rank there of each rank; the ranks of each host.
    type Layout<'a> = (&'a [(usize, usize)], &'a [(usize, usize)], [usize; 3]);
    let layouts: [Layout<'_>; 3] = [
        (&[(0, 2), (1, 2)], &[(0, 0), (0, 1), (1, 0), (1, 1)], [2, 2, 0]),
        (&[(2, 1), (0, 1), (1, 1), (0, 1)], &[(2, 0), (0, 0), (1, 0), (0, 1)], [2, 1, 1]),
        (&[(1, 3)], &[(1, 0), (1, 1), (1, 2)], [0, 3, 0]),
    ];
    let script = "echo $HIKYAKU_RANK of $HIKYAKU_SIZE, $HIKYAKU_LOCAL_RANK of $HIKYAKU_LOCAL_SIZE on $HIKYAKU_HOST \
                  of $HIKYAKU_HOSTS with $(ip -4 -o address show dev eth0 | grep -o '10\\.77\\.0\\.[0-9]*/')";
    for (slots, places, near) in layouts {
        let output = Trial::new(&network, slots).args(&["sh", "-c", script]).run();
        let hosts = near.iter().filter(|ranks| **ranks > 0).count();
        let expected = places.iter().enumerate().map(|(rank, (host, local))| {
            let (size, near, name, address) = (places.len(), near[*host], network.host(*host), network.address(*host));
            format!("{rank} of {size}, {local} of {near} on {name} of {hosts} with {address}/")
        });
        assert_eq!(sorted(&out(&output)), expected.collect::<Vec<_>>(), "{}", err(&output));
        assert!(output.status.success());
    }
}

#[test]
fn folder_and_environment_are_those_of_the_launcher() {
    let network = network!(2);
    let folder = std::fs::canonicalize(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut trial = Trial::new(&network, &[(0, 1), (1, 1)]);
    trial.command.current_dir(&folder).env("HIKYAKU_SOMETHING", "a b").env("OTHER", "c").env("PATH", "/bin:/usr/bin");
    let script = "echo $(pwd) \"$HIKYAKU_SOMETHING\" $GIVEN $PATH";
    let output = trial.args(&["--env", "GIVEN=x=y", "--env", "NOT_SET", "sh", "-c", script]).run();
    let expected = format!("{} a b x=y /bin:/usr/bin", folder.display());
    assert_eq!(sorted(&out(&output)), [&expected, &expected], "{}", err(&output));

    // Named alone, a variable is passed on; an agent that begins with nothing shows what travels.
    let agent = support::script("clean", "shift; exec env -i \"$@\"");
    for (options, seen) in [(&[] as &[_], "-"), (&["--env", "OTHER"], "c")] {
        let mut trial = Trial::with(&["--hosts", "a,b", "--agent", agent.to_str().unwrap()]).args(options);
        trial.command.env("OTHER", "c");
        let output = trial.args(&["sh", "-c", "echo ${OTHER:--}"]).run();
        assert_eq!(out(&output), format!("{seen}\n{seen}\n"), "{}", err(&output));
    }
}

/// What is called `ssh` here does what matters: it joins its words, and a shell on the host takes them apart.
#[test]
fn ssh_starts_agents_of_a_program_wherever_that_is() {
    let network = network!(2);
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("it's a ssh {}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (program, ssh) = (folder.join("hikyaku"), folder.join("ssh"));
    std::fs::hard_link(HIKYAKU, &program).unwrap();
    let text = "while [ $1 = -o ]; do shift 2; done; net=/run/netns/$1; shift; exec nsenter --net=$net sh -c \"$*\"";
    std::fs::rename(support::script("ssh", text), &ssh).unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let arguments = ["--hosts", &network.list(&[(0, 1), (1, 1)]), "sh", "-c", "echo $HIKYAKU_RANK"];
    let mut trial = Trial::of_program(&program, &arguments);
    trial.command.env("PATH", path);
    let output = trial.run();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(sorted(&out(&output)), ["0", "1"], "{}", err(&output));
}

#[test]
fn output_of_all_hosts_comes_in_whole_tagged_lines() {
    let network = network!(2);
    let script =
        "for i in 1 2 3 4 5 6 7 8; do printf 'a%s' $HIKYAKU_RANK; sleep 0.002; printf 'b%s\\n' $HIKYAKU_RANK; done";
    let output = Trial::new(&network, &[(0, 1), (1, 2)]).args(&["sh", "-c", script]).run();
    for (rank, chunk) in sorted(&out(&output)).chunks(8).enumerate() {
        assert!(chunk.iter().all(|line| *line == format!("a{rank}b{rank}")), "{chunk:?}");
    }
    assert_eq!(out(&output).lines().count(), 24);
    let script = "echo out; echo err >&2; printf unfinished";
    let output = Trial::new(&network, &[(0, 1), (1, 1)]).args(&["--tag", "sh", "-c", script]).run();
    assert_eq!(sorted(&out(&output)), ["[0] out", "[0] unfinished", "[1] out", "[1] unfinished"]);
    assert_eq!(sorted(&err(&output)), ["[0] err", "[1] err"]);
}

/// Far more than any window, while the reader takes its time.
#[test]
fn much_output_and_a_slow_reader_lose_nothing() {
    let network = network!(2);
    let mut trial = Trial::new(&network, &[(0, 1), (1, 1)]).args(&["sh", "-c", "seq -f $HIKYAKU_RANK:%.0f 200000"]);
    let mut child = trial.start();
    std::thread::sleep(Duration::from_millis(300));
    let mut next = [1, 1];
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let (rank, number) = line.split_once(':').unwrap();
        let rank: usize = rank.parse().unwrap();
        assert_eq!(number.parse(), Ok(next[rank]), "of rank {rank}");
        next[rank] += 1;
    }
    assert_eq!(next, [200_001; 2]);
    assert!(child.wait().unwrap().success());
    trial.await_end();
}

#[test]
fn standard_input_goes_to_rank_0_alone_wherever_it_is() {
    let network = network!(2);
    let mut trial = Trial::new(&network, &[(1, 1), (0, 1)]).args(&["--tag", "sh", "-c", "cat | cksum"]);
    trial.command.stdin(Stdio::piped());
    let mut child = trial.start();
    // Far more than is ever on its way.
    let text: Vec<u8> = (0..3_000_000u32).map(|number| (number % 251) as u8).collect();
    child.stdin.take().unwrap().write_all(&text).unwrap();
    let output = child.wait_with_output().unwrap();
    let mut sum = std::process::Command::new("cksum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    sum.stdin.take().unwrap().write_all(&text).unwrap();
    let sum = out(&sum.wait_with_output().unwrap());
    assert_eq!(sorted(&out(&output)), [format!("[0] {}", sum.trim()), "[1] 4294967295 0".into()], "{}", err(&output));
    trial.await_end();
}

#[test]
fn a_rank_0_that_does_not_read_is_no_trouble() {
    let network = network!(2);
    let mut trial = Trial::new(&network, &[(0, 1), (1, 1)]).args(&["sh", "-c", "exec <&-; sleep 0.2; echo done"]);
    trial.command.stdin(Stdio::piped());
    let mut child = trial.start();
    // The launcher stops reading; the job ends all the same.
    let _ = child.stdin.take().unwrap().write_all(&vec![b'x'; 500_000]);
    let output = child.wait_with_output().unwrap();
    assert_eq!(out(&output), "done\ndone\n", "{}", err(&output));
    trial.await_end();
}

#[test]
fn the_first_failing_status_is_the_status() {
    let network = network!(2);
    let script = "[ $HIKYAKU_RANK = 1 ] && exit 42; exec sleep 1000";
    let begin = Instant::now();
    let output = Trial::new(&network, &[(0, 1), (1, 1), (0, 1)]).args(&["sh", "-c", script]).run();
    assert_eq!(output.status.code(), Some(42));
    assert!(err(&output).contains("rank 1 exited with status 42"), "{}", err(&output));
    assert_prompt(begin.elapsed(), Duration::from_secs(2), "the job ended");

    let script = "[ $HIKYAKU_RANK = 2 ] && kill -SEGV $$; exec sleep 1000";
    let output = Trial::new(&network, &[(0, 2), (1, 1)]).args(&["sh", "-c", script]).run();
    assert_eq!(output.status.code(), Some(128 + 11));
}

#[test]
fn ranks_that_ignore_being_asked_are_killed_within_a_second() {
    let network = network!(2);
    let script = "trap '' TERM; [ $HIKYAKU_RANK = 1 ] && exit 1; while :; do sleep 0.05; done";
    let begin = Instant::now();
    let output = Trial::new(&network, &[(0, 1), (1, 2)]).args(&["sh", "-c", script]).run();
    assert_eq!(output.status.code(), Some(1));
    assert_prompt(begin.elapsed(), Duration::from_secs(2), "the job ended");
}

#[test]
fn others_go_on_if_asked_to() {
    let network = network!(2);
    let script = "[ $HIKYAKU_RANK = 1 ] && exit 3; sleep 0.5; echo done";
    let output = Trial::new(&network, &[(0, 1), (1, 2)]).args(&["--on-death", "continue", "sh", "-c", script]).run();
    assert_eq!((output.status.code(), out(&output).as_str()), (Some(3), "done\ndone\n"));
}

#[test]
fn signals_are_passed_on() {
    let network = network!(2);
    let script = "trap 'echo got it; exit 5' USR1 TERM INT; echo ready; while :; do sleep 0.01; done";
    for kind in ["-USR1", "-TERM", "-INT"] {
        let mut trial = Trial::new(&network, &[(0, 1), (1, 1)]).args(&["sh", "-c", script]);
        let mut child = trial.start();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for _ in 0..2 {
            assert_eq!(lines.next().unwrap().unwrap(), "ready");
        }
        signal(child.id(), kind);
        assert_eq!(child.wait().unwrap().code(), Some(5));
        assert_eq!(lines.map(Result::unwrap).collect::<Vec<_>>(), ["got it", "got it"]);
        trial.await_end();
    }
}

/// What Ctrl-Z and `fg` do.
#[test]
fn a_launcher_that_is_stopped_stops_the_ranks_until_it_goes_on() {
    let network = network!(2);
    let mut trial = Trial::new(&network, &[(0, 1), (1, 1)]).args(&["sleep", "1000"]);
    let mut child = trial.start();
    let ranks = trial.await_running("sleep 1000", 2);
    let state = |process: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.chars().next().unwrap()
    };
    let all_stopped = |stopped: bool| {
        let all = ranks.iter().chain([&child.id()]).all(|process| (state(*process) == 'T') == stopped);
        all.then_some(())
    };
    signal(child.id(), "-TSTP");
    eventually("they go on", || all_stopped(true));
    signal(child.id(), "-CONT");
    eventually("they do not go on", || all_stopped(false));
    signal(child.id(), "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
    trial.await_end();
}

#[test]
fn a_second_signal_kills() {
    let network = network!(2);
    let script = "trap '' TERM; echo ready; while :; do sleep 0.01; done";
    let mut trial = Trial::new(&network, &[(0, 1), (1, 1)]).args(&["sh", "-c", script]);
    let mut child = trial.start();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (0..2).for_each(|_| assert_eq!(lines.next().unwrap().unwrap(), "ready"));
    let status = loop {
        signal(child.id(), "-TERM");
        std::thread::sleep(Duration::from_millis(50));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
    };
    assert_eq!(status.code(), Some(128 + 9));
    trial.await_end();
}

#[test]
fn processes_left_behind_by_ranks_end_with_the_job() {
    let network = network!(2);
    let script = "(setsid sleep 1000 >/dev/null 2>&1 &) ; exit 0";
    // Which is checked there.
    assert!(Trial::new(&network, &[(0, 1), (1, 1)]).args(&["sh", "-c", script]).run().status.success());
}

#[test]
fn ranks_that_print_end_when_nobody_reads_any_more() {
    let network = network!(2);
    let mut trial = Trial::new(&network, &[(0, 1), (1, 1)]).args(&["yes"]);
    let mut child = trial.start();
    let mut first = [0; 2];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"y\n");
    assert_eq!(child.wait().unwrap().code(), Some(128 + 13));
    trial.await_end();
}

#[test]
fn ranks_of_one_far_host_join_their_job() {
    let network = network!(1);
    let output = Trial::new(&network, &[(0, 3)]).args(&[HIKYAKU, "rank", "probe"]).run();
    assert!(output.status.success() && out(&output).contains("private="), "{}{}", out(&output), err(&output));
}

/// What they say of each other, which rank 0 prints.
#[test]
fn ranks_of_several_hosts_join_one_job() {
    let network = network!(2);
    let output = Trial::new(&network, &[(0, 1), (1, 2)]).args(&[HIKYAKU, "rank", "probe"]).run();
    assert!(output.status.success() && err(&output).is_empty(), "{}{}", out(&output), err(&output));
    // The last rank is on another host: its private memory is out of reach.
    assert_eq!(out(&output), "private=messages\n");
}

/// The programs of `examples/rust`, which check their results, over hosts in several layouts and over a bad network.
#[test]
fn programs_run_over_hosts() {
    let network = network!(3);
    let examples = support::examples();
    let programs: [(&str, &[&str], &str); 7] = [
        ("ring", &["200", "100"], "ranks and added up: as expected"),
        ("heat", &["50", "60", "120"], "the same as computed by one rank"),
        ("sort", &["30000", "7"], "the same count, sum and parity as before"),
        ("columns", &["60", "50", "12"], "ranks came out as expected"),
        ("table", &["5000", "15"], "entries): as expected"),
        ("queue", &["3"], ": as expected"),
        ("jacobi", &["100", "40"], "the same as computed by one rank"),
    ];
    let layouts: [&[(usize, usize)]; 3] = [&[(0, 1), (1, 1)], &[(0, 1), (1, 1), (0, 1)], &[(2, 2), (0, 1), (1, 1)]];
    for (program, arguments, verdict) in programs {
        for (turn, slots) in layouts.into_iter().enumerate() {
            let mut trial =
                Trial::new(&network, slots).args(&[examples.join(program).to_str().unwrap()]).args(arguments);
            if turn == 2 {
                trial.command.env("HIKYAKU_UDP_FAULTS", "loss=0.02,double=0.02,reorder=0.02,damage=0.01,seed=7");
            }
            let output = trial.run();
            let (out, err) = (out(&output), err(&output));
            assert!(output.status.success() && err.is_empty(), "{program}: {}\n{out}{err}", output.status);
            assert!(out.lines().last().is_some_and(|line| line.ends_with(verdict)), "{program}: {out}");
        }
    }
}

#[test]
fn whoever_does_not_come_is_named() {
    let network = network!(2);
    let late = format!("[ $HIKYAKU_RANK -gt 0 ] && exec sleep 1000; exec {HIKYAKU} rank probe");
    let output = Trial::new(&network, &[(0, 1), (1, 2)]).args(&["--start-timeout", "1", "sh", "-c", &late]).run();
    let said = err(&output);
    assert!(said.contains("ranks [1] did not join the job within 1 s"), "{said}");
    let host = network.host(1);
    assert!(said.contains(&format!("ranks 1 and 2 on host {host} did not join within 1 s")), "{said}");
    assert_eq!(output.status.code(), Some(1));

    // One that ends without joining is not waited for.
    for (end, text) in [("exit 0", "rank 2 has left"), ("exit 7", "rank 2 died")] {
        let script = format!("[ $HIKYAKU_RANK = 2 ] && {end}; exec {HIKYAKU} rank probe");
        let output = Trial::new(&network, &[(0, 2), (1, 1)]).args(&["sh", "-c", &script]).run();
        assert!(err(&output).contains(text), "{}", err(&output));
    }
}
