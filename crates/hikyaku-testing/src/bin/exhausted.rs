//! A machine that runs out of something at any moment: every system call that takes a resource fails once, the first,
//! the second and so on, while a job does a little of everything.
//!
//! `exhausted local`: ranks are threads. `exhausted launcher`: the launcher's calls fail. `exhausted rank CALL NTH`: is
//! one rank of a job; the calls of rank 1 fail. Each must succeed or end with an error of the library; afterwards
//! nothing may be left open, and the same must succeed again.

use hikyaku::collective::Sum;
use hikyaku::launch::{Ending, Launcher};
use hikyaku::{Error, Job, Result, Until};
use hikyaku_testing::nth::{self, Call, Counted};
use std::time::Duration;

fn main() {
    hikyaku_ofi::install();
    let arguments: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = arguments.iter().skip(1).map(String::as_str).collect();
    match words[..] {
        ["local"] => sweep(|| hikyaku::local(3, everything)?.into_iter().collect()),
        ["launcher"] => sweep(launch),
        ["work"] => end_with(start_and_work()),
        ["rank", name, number] => be_rank(nth::call(name).unwrap(), number.parse().unwrap()),
        _ => panic!("no such way: {words:?}"),
    }
}

/// Lets every call of every kind fail once.
fn sweep(attempt: fn() -> Result<()>) {
    // What a process takes only once is there before anything is counted.
    attempt().unwrap();
    for call in nth::CALLS {
        let (mut failed, mut number) = (0, 0);
        loop {
            number += 1;
            let what = format!("{} {number}", call.name);
            let before = open_files();
            let Counted { result, calls } = nth::failing(call, number, attempt);
            assert_eq!(open_files(), before, "{what}: descriptors stayed open");
            if calls < number {
                result.unwrap();
                break;
            }
            failed += result.is_err() as usize;
            attempt().unwrap_or_else(|error| panic!("{what}, tried again: {error}"));
        }
        println!("{}: {} failed in turn, {failed} errors", call.name, number - 1);
    }
}

fn open_files() -> Vec<String> {
    let entries = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let mut names: Vec<_> = entries
        .filter_map(|entry| Some(format!("{:?} {:?}", entry.file_name(), std::fs::read_link(entry.path()).ok()?)))
        .collect();
    names.sort();
    names
}

fn launch() -> Result<()> {
    // Few ranks, so that on most machines they are bound to cores too.
    let launcher = Launcher::new(std::env::current_exe().unwrap()).arg("work").ranks(2).capture(true);
    let outcome = launcher.supervise(true).run()?;
    for (ending, output) in outcome.endings.iter().zip(&outcome.output) {
        let said = String::from_utf8_lossy(&output.errors);
        // 7: an error of the library. A rank that did not hear of it in time is ended.
        let expected = matches!(ending, Ending::Exited(0 | 7) | Ending::Killed(libc::SIGTERM | libc::SIGKILL));
        assert!(expected, "{ending:?}: {said}");
    }
    match outcome.first_failure {
        None => Ok(()),
        Some(rank) => Err(Error::PeerDead { rank }),
    }
}

/// A rank whose nth call fails, from its start on.
fn be_rank(call: &'static Call, number: usize) {
    if std::env::var("HIKYAKU_RANK").as_deref() != Ok("1") {
        return end_with(start_and_work());
    }
    let Counted { result, calls } = nth::failing(call, number, start_and_work);
    println!("{calls} calls");
    end_with(result);
}

fn start_and_work() -> Result<()> {
    everything(&Job::start()?)
}

fn end_with(result: Result<()>) {
    if let Err(error) = result {
        println!("error: {error}");
        std::process::exit(7);
    }
}

/// A little of everything that takes something of the machine.
fn everything(job: &Job) -> Result<()> {
    let (rank, next) = (job.rank(), (job.rank() + 1) % job.size());
    let before = (rank + job.size() - 1) % job.size();
    let table = job.symmetric::<u64>(100_000)?;
    let flag = job.symmetric::<u64>(8)?;
    job.register_handler(1, |context, message| drop(context.reply(message.arguments)))?;
    job.barrier()?;

    job.push_notify(table.at(next, 0), &vec![7; 100_000], flag.at(next, 0), 1)?;
    // Late, so that the others fall asleep.
    if rank == 0 {
        std::thread::sleep(Duration::from_millis(1));
        job.word(flag.at(next, 1), 1)?;
    } else {
        job.wait(flag.here(1), Until::Equal(1))?;
        job.word(flag.at(next, 1), 1)?;
    }
    job.wait(flag.here(0), Until::Equal(1))?;

    let area = job.area::<u64>(1, 100_000)?;
    let registered = job.register(2, vec![rank as u64; 50_000])?;
    let port = job.open()?;
    let serving = job.start_ni_thread()?;
    let event = job.event_descriptor()?;
    job.barrier()?;
    let mut there = vec![0; 50_000];
    job.pull(job.open_area::<u64>(next, 2)?.at(0), &mut there)?;
    assert!(there.iter().all(|word| *word == next as u64));
    port.push(job.open_area::<u64>(next, 1)?.at(0), &there)?;
    assert_eq!(port.call(next, 1, [5; 6], &[1; 500])?, [5; 6]);
    job.barrier()?;
    drop((event, serving, port, area, registered));

    let messages = job.messages(4)?;
    messages.set_spare(1 << 20)?;
    for bytes in [8, 4000, 1 << 20] {
        let (data, mut got) = (vec![rank as u8; bytes], vec![0; bytes]);
        messages.scope(|scope| {
            let receive = scope.irecv(&mut got, before, 0)?;
            messages.send(&data, next, 0)?;
            scope.wait_receive(receive)
        })?;
        assert!(got.iter().all(|byte| *byte == before as u8));
    }
    let world = job.new_world()?;
    let sum = (0..job.size() as u64).sum();
    for len in [1, 1000, 200_000] {
        let mut numbers = vec![rank as u64; len];
        world.allreduce(&mut numbers, Sum)?;
        assert!(numbers.iter().all(|number| *number == sum));
        world.broadcast(&mut numbers, 0)?;
    }
    world.free()?;
    job.free(table)?;
    job.barrier()
}
