//! A program that makes a mistake: `mistakes processes NAME` as a rank of a job, `mistakes threads NAME` and `mistakes simulated NAME`
//! with two ranks here. It ends as a user's program would that passes errors on to `main`.

use hikyaku::collective::{Max, Sum};
use hikyaku::sim::{Machine, Sim};
use hikyaku::{Job, Result};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (place, name) = (arguments.next().unwrap(), arguments.next().unwrap());
    match &place[..] {
        "processes" => err(&Job::start()?, &name),
        "threads" => first(hikyaku::local(2, |job| err(job, &name))?),
        "simulated" => first(Sim::new(Machine::plain(), 2, 1).run(|job| err(job, &name))?.results),
        other => panic!("{other}?"),
    }
}

/// What rank 0 says, or if that is nothing, what rank 1 does.
fn first(results: Vec<Result<()>>) -> Result<()> {
    results.into_iter().collect::<Result<Vec<()>>>().map(drop)
}

fn err(job: &Job, name: &str) -> Result<()> {
    let is_first = job.rank() == 0;
    match name {
        "panic" if is_first => panic!("on purpose"),
        "error" if is_first => job.flush(7),
        "exit" if is_first => std::process::exit(3),
        "panic" | "error" | "exit" => job.barrier(),
        "none" => job.barrier(),
        "abort" if !is_first => std::process::abort(),
        "abort" => job.barrier(),
        // Ends well, but does not leave its job.
        "silent" => {
            job.barrier()?;
            std::process::exit(0)
        }
        // Each takes so many megabytes.
        "greedy" => {
            let bytes = std::env::var("MEGABYTES").unwrap().parse::<usize>().unwrap() << 20;
            let taken = job.symmetric::<u8>(bytes)?;
            println!("taken");
            job.barrier()?;
            drop(taken);
            Ok(())
        }
        "trap" => {
            println!("ready");
            job.barrier()?;
            std::thread::sleep(std::time::Duration::from_secs(1000));
            Ok(())
        }
        "operation" => match is_first {
            true => job.world()?.allreduce(&mut [1.0; 10], Sum),
            false => job.world()?.allreduce(&mut [1.0; 10], Max),
        },
        "count" => job.world()?.allreduce(&mut vec![1.0; 10 + job.rank()], Sum),
        "root" => job.world()?.broadcast(&mut vec![1u8; 100_000], job.rank()),
        "call" => match is_first {
            true => job.world()?.barrier(),
            false => job.world()?.allgather(&[1.0], &mut [0.0; 2]),
        },
        "memory" => job.symmetric::<u64>(10 + job.rank()).map(drop),
        "type" => {
            let messages = job.messages(1)?;
            if is_first {
                return messages.send(&[1.0f32; 3], 1, 0);
            }
            messages.recv(&mut [0.0f64; 2], 0, 0).map(drop)
        }
        "circle" => {
            // Each receives from the next rank before it sends to the one before.
            let (messages, ranks) = (job.messages(1)?, job.size());
            messages.recv(&mut [0u64], (job.rank() + 1) % ranks, 0)?;
            messages.send(&[1u64], (job.rank() + ranks - 1) % ranks, 0)
        }
        "workers" => {
            let (endpoints, ranks) = (job.endpoints(1, 1)?, job.size());
            std::thread::scope(|threads| {
                for endpoint in endpoints {
                    threads.spawn(move || {
                        endpoint
                            .run(|worker| worker.messages().recv(&mut [0u64], (worker.rank() + 1) % ranks, 0).map(drop))
                    });
                }
            });
            Ok(())
        }
        other => panic!("{other}?"),
    }
}
