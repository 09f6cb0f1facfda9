//! Ranks under wrappers: shells, `time`, debuggers. What joins is not what was started, and a wrapper may keep its end to itself.

mod support;

use hikyaku_testing::chance::Chance;
use hikyaku_testing::netns::Network;
use hikyaku_testing::patience::{assert_prompt, eventually};
use std::io::{BufRead, BufReader};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use support::{Trial, err, examples, out, signal};

/// A script for the shell, which stays: `%` is the program that makes a mistake, or none.
fn script(text: &str) -> String {
    text.replace('%', &format!("{} processes", examples().join("mistakes").display()))
}

fn run(options: &[&str], text: &str) -> Output {
    Trial::with(options).args(&["sh", "-c", &script(text)]).run()
}

/// Runs its arguments as Python does if nobody says more: without the descriptors of the launcher, and whatever becomes of it.
const PYTHON: &str = "import subprocess, sys; subprocess.run(sys.argv[1:])";

/// How a command ends by the signal of `abort`.
const ABORTED: Option<i32> = Some(128 + 6);

#[test]
fn a_crash_is_noticed_at_once_whatever_the_wrapper_makes_of_it() {
    // The last passes it on, the others do not.
    for after in ["sleep 1000", "sleep 1000 & wait", "true", "exit $?"] {
        let begin = Instant::now();
        let output = run(&["-n", "2"], &format!("% abort; {after}"));
        assert_eq!(output.status.code(), ABORTED, "{after}: {}", err(&output));
        let said = err(&output);
        assert!(said.contains("hikyaku: rank 1 was killed by signal 6; the job has ended\n"), "{after}: {said}");
        assert!(said.contains("Error: rank 1 died"), "{after}: {said}");
        assert_prompt(begin.elapsed(), Duration::from_secs(3), after);
    }
}

#[test]
fn a_failure_that_the_wrapper_hides_is_the_status() {
    let output = run(&["-n", "2"], "% exit; true");
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    assert!(err(&output).contains("rank 0 exited with status 3"), "{}", err(&output));
}

#[test]
fn the_others_and_the_wrapper_go_on_if_asked_to() {
    let output = run(&["-n", "2", "--on-death", "continue"], "% abort; sleep 0.7; echo after $HIKYAKU_RANK");
    assert_eq!(output.status.code(), ABORTED, "{}", err(&output));
    assert_eq!(support::sorted(&out(&output)), ["after 0", "after 1"]);
}

#[test]
fn whoever_ends_well_under_a_wrapper_has_not_failed() {
    for text in ["% none; true", "% silent; true", "% silent; sleep 0.3", "% silent & wait $!; exit 0"] {
        let output = run(&["-n", "3"], text);
        assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()), "{text}");
    }
    // Its own failures are still the wrapper's.
    assert_eq!(run(&["-n", "2"], "% none; exit 4").status.code(), Some(4));
}

#[test]
fn common_wrappers_do_not_hide_a_crash() {
    let program = examples().join("mistakes");
    let program = program.to_str().unwrap();
    let wrappers: [&[&str]; 6] = [
        &["time", program],
        &["gdb", "-nx", "-batch", "-ex", "run", "-ex", "continue", "--args", program],
        &["setsid", "--wait", program],
        &["numactl", "--localalloc", program],
        &["valgrind", "-q", "--tool=none", program],
        &["python3", "-c", PYTHON, program],
    ];
    for wrapper in wrappers {
        if Command::new(wrapper[0]).arg("--version").output().is_err() {
            eprintln!("not run: there is no {}", wrapper[0]);
            continue;
        }
        let run =
            |mistake| Trial::with(&["-n", "2", "--heap", "64M"]).args(wrapper).args(&["processes", mistake]).run();
        let output = run("abort");
        assert_eq!(output.status.code(), ABORTED, "{wrapper:?}: {}{}", out(&output), err(&output));
        // A debugger that is to continue what has ended complains, and valgrind takes its time.
        if !["gdb", "valgrind"].contains(&wrapper[0]) {
            let output = run("none");
            assert_eq!(output.status.code(), Some(0), "{wrapper:?}: {}{}", out(&output), err(&output));
        }
    }
}

#[test]
fn python_may_pass_descriptors_on_or_not_and_catch_what_it_runs() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("not run: there is no python3");
        return;
    }
    let program = examples().join("mistakes").display().to_string();
    let python = |text: &str, mistake: &str| {
        let text = format!("import os, subprocess, sys, threading\n{text}");
        Trial::with(&["-n", "2", "python3", "-c", &text, &program, "processes", mistake]).run()
    };
    for passes in [
        "subprocess.run(sys.argv[1:], check=True)",
        "subprocess.run(sys.argv[1:], check=True, close_fds=False)",
        "subprocess.run(sys.argv[1:], check=True, start_new_session=True)",
        "print(subprocess.check_output(sys.argv[1:]).decode())",
        "os.execv(sys.argv[1], sys.argv[1:])",
        // One after the other.
        "[subprocess.run(sys.argv[1:], check=True) for _ in range(3)]",
        // From a thread that ends before the program does.
        "started = []\n\
         thread = threading.Thread(target=lambda: started.append(subprocess.Popen(sys.argv[1:])))\n\
         thread.start(); thread.join()\n\
         sys.exit(started[0].wait())",
    ] {
        let output = python(passes, "none");
        assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()), "{passes}");
    }
    // What Python makes of the end of its program does not count.
    for hides in
        ["subprocess.run(sys.argv[1:])", "subprocess.run(sys.argv[1:], close_fds=False); import time; time.sleep(1000)"]
    {
        let begin = Instant::now();
        let output = python(hides, "abort");
        assert_eq!(output.status.code(), ABORTED, "{hides}: {}", err(&output));
        assert_prompt(begin.elapsed(), Duration::from_secs(5), hides);
    }
}

#[test]
fn signals_reach_the_program_and_its_wrapper() {
    let text = script("trap 'echo wrapper' USR1; % trap; echo rank: $?; exit 9");
    // The end of one rank does not end the wrapper of the other before it has had its say.
    let mut trial = Trial::with(&["-n", "2", "--on-death", "continue", "sh", "-c", &text]);
    let mut job = trial.start();
    let mut lines = BufReader::new(job.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!([lines.next().unwrap(), lines.next().unwrap()], ["ready", "ready"]);
    // The wrapper hears it when its program has ended.
    signal(job.id(), "-USR1");
    let rest: Vec<String> = lines.collect();
    assert_eq!(rest.iter().filter(|line| *line == "wrapper").count(), 2, "{rest:?}");
    assert_eq!(rest.iter().filter(|line| **line == format!("rank: {}", 128 + 10)).count(), 2, "{rest:?}");
    let said = std::io::read_to_string(job.stderr.take().unwrap()).unwrap();
    assert_eq!(job.wait().unwrap().code(), Some(128 + 10), "{said}");
    trial.await_end();
}

#[test]
fn a_program_whose_wrapper_is_killed_ends_too() {
    let mut trial = Trial::with(&["-n", "2", "sh", "-c", &script("% trap; true")]);
    let mut job = trial.start();
    let mut lines = BufReader::new(job.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!([lines.next().unwrap(), lines.next().unwrap()], ["ready", "ready"]);
    let wrappers = trial.running(&format!("sh -c {}", script("% trap; true")));
    signal(wrappers[0], "-KILL");
    assert_eq!(eventually("the job stays", || job.try_wait().unwrap()).code(), Some(128 + 9));
    trial.await_end();
}

/// Kills one rank's program under its wrapper at some moment of the start; gives whether it was there to be killed.
fn kill_at_start(chance: &mut Chance) -> bool {
    // The wrapper says 0 whatever has happened, and the other rank says how its program has ended.
    let text = script("% trap; status=$?; echo ended $status; [ $HIKYAKU_RANK = 1 ] || exit $status; sleep 1");
    let mut trial = Trial::with(&["-n", "2", "--start-timeout", "20", "sh", "-c", &text]);
    let mut job = trial.start();
    let program = script("% trap");
    let found = eventually("no program", || {
        let mut of_rank_1 = trial.running(&program).into_iter().filter(|process| {
            let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|it| it == b"HIKYAKU_RANK=1")
        });
        of_rank_1.next()
    });
    std::thread::sleep(Duration::from_micros(chance.below(6000) as u64));
    signal(found, "-KILL");
    let status = eventually("the job stays", || job.try_wait().unwrap());
    trial.await_end();
    let said = std::io::read_to_string(job.stdout.take().unwrap()).unwrap();
    let errors = std::io::read_to_string(job.stderr.take().unwrap()).unwrap();
    assert!(matches!(status.code(), Some(137 | 1)), "{status}: {said}{errors}");
    said.contains("ended 137") || errors.contains("signal 9")
}

#[test]
fn kills_at_any_moment_of_the_start_under_a_wrapper_end_the_job() {
    let times = std::env::var("HIKYAKU_TEST_KILLS").map_or(10, |times| times.parse().unwrap());
    let mut chance = Chance::new(22, 0);
    let killed = (0..times).filter(|_| kill_at_start(&mut chance)).count();
    assert!(killed > times / 2, "{killed} of {times}");
}

#[test]
fn a_wrapper_may_close_descriptors() {
    let closes = "for n in $(seq 3 60); do eval \"exec $n>&-\"; done; % none; exit $?";
    let output = Trial::with(&["-n", "3", "bash", "-c", &script(closes)]).run();
    assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()));
    let output = Trial::with(&["-n", "2", "bash", "-c", &script(&closes.replace("none", "abort"))]).run();
    assert_eq!(output.status.code(), ABORTED, "{}", err(&output));
    // Without the launcher it says what could be done.
    let output = run(&[], "exec 3>&-; HIKYAKU_SOCKET=77 HIKYAKU_DOOR=hikyaku/door/none:0:1 % none");
    assert!(err(&output).contains("let descriptors be passed on (in Python: close_fds=False)"), "{}", err(&output));
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_wrapper_may_run_one_program_after_the_other() {
    for text in ["% none && % none", "for i in 1 2 3 4 5; do % none || exit 1; done", "% silent && % none && % silent"]
    {
        let output = run(&["-n", "3"], text);
        assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()), "{text}");
    }
    // A crash of the second one is noticed, too.
    let output = run(&["-n", "2"], "% none; % abort; sleep 1000");
    assert_eq!(output.status.code(), ABORTED, "{}", err(&output));
    // Whoever waits for a rank whose wrapper has ended is told.
    let output = run(&["-n", "2"], "% none; [ $HIKYAKU_RANK = 1 ] || % none");
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(err(&output).contains("rank 1 has left the job"), "{}", err(&output));
}

#[test]
fn two_programs_of_one_rank_at_a_time_are_refused() {
    let output = run(
        &["-n", "2"],
        "pipe=$(mktemp -u); mkfifo $pipe; % trap > $pipe & first=$!; read ready < $pipe; rm $pipe
        % none; status=$?; kill $first; exit $status",
    );
    // Of the program that was refused, or of the one that was then ended.
    assert!(matches!(output.status.code(), Some(1 | 143)), "{}", err(&output));
    assert!(err(&output).contains("each rank is one program at a time"), "{}", err(&output));
}

#[test]
fn over_hosts_too() {
    let Some(network) = Network::new(2) else { return };
    let begin = Instant::now();
    let output = Trial::new(&network, &[(0, 1), (1, 1)]).args(&["sh", "-c", &script("% abort; sleep 1000")]).run();
    assert_eq!(output.status.code(), ABORTED, "{}", err(&output));
    assert!(err(&output).contains("rank 1 was killed by signal 6"), "{}", err(&output));
    assert_prompt(begin.elapsed(), Duration::from_secs(8), "the job ended");
}
